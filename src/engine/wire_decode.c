/*
 * The decoder: bytes from the other side, which may be anything.
 *
 * A message is unpacked into an arena whose size is limited by the frame's own, because a hostile frame of
 * empty submessages would otherwise unpack into some sixty times its size. Payload memory is taken only after
 * the sum of all announced sizes was held against the limit and each against its tensor's shape; payloads are
 * then copied straight to where they belong, from the portions or from the shared memory.
 */
#include "engine/wire.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNPACK_BASE = 64 * 1024,
    UNPACK_FACTOR = 32,      /* lists of short names take about 20 times their frame */
    KEEP_LIMIT = 1 << 20,    /* arena and frame buffer kept from one message to the next */
    MAX_TENSORS = 100 * 1000 /* in one message */
};

enum state { READ_LENGTH, READ_MESSAGE, READ_CHUNK_LENGTH, READ_CHUNK, BROKEN };

/* Where a payload goes. */
struct target {
    uint8_t *data;
    size_t size;
};

struct wire_decoder {
    bool replies;
    struct wire_limits limits;
    enum state state;
    uint8_t length[4];
    size_t have;  /* bytes of the length, the frame or the chunk so far */
    size_t frame; /* bytes of the frame or chunk */
    uint8_t *buffer;
    size_t capacity;
    struct arena arena;
    size_t arena_limit;
    struct wire_message message; /* in the making */
    struct target *targets;
    size_t n_targets, room, target; /* target: the one being filled */
    size_t filled;                  /* bytes of it */
    size_t announced;               /* payload bytes so far */
    size_t tensors;
    uint8_t *shared; /* the shared memory, of which the next message may use `allowed` */
    struct wire_place allowed;
    bool placed;      /* this message's payloads lie there */
    size_t at, after; /* the next of them, and the end of the last */
};

static void forget_borrowed(struct wire_message *message)
{
    for (size_t i = 0; i < message->count; i++)
        for (size_t j = 0; j < message->values[i].count; j++)
            message->values[i].tensors[j].data = NULL;
    message->model = NULL;
}

void wire_message_release(struct wire_message *message)
{
    if (message->borrowed)
        forget_borrowed(message);
    wire_bounds_free(message->bounds, message->count);
    if (message->values)
        values_free(message->values, message->count);
    free(message->model);
    memset(message, 0, sizeof *message);
}

void wire_read_trace(const Assay__Reply *reply, struct trace *trace)
{
    for (size_t i = 0; i < reply->n_trace; i++) {
        const Assay__TraceStep *from = reply->trace[i];
        struct trace_step step = {
            .kind = from->kind == ASSAY__TRACE_STEP__KIND__PASS ? TRACE_PASS : TRACE_KERNEL,
            .name = from->name,
            .device = from->device,
            .pass = from->pass,
            .n_outputs = from->n_outputs,
            .outputs = (const char *const *)from->outputs,
        };
        trace_add(trace, &step);
    }
}

struct wire_decoder *wire_decoder_new(bool replies, const struct wire_limits *limits)
{
    struct wire_decoder *decoder = memory_zeroed(1, sizeof *decoder);
    decoder->replies = replies;
    decoder->limits = limits ? *limits : wire_default_limits;
    arena_init(&decoder->arena);
    return decoder;
}

void wire_decoder_free(struct wire_decoder *decoder)
{
    if (!decoder)
        return;
    wire_message_release(&decoder->message);
    arena_release(&decoder->arena);
    free(decoder->targets);
    free(decoder->buffer);
    free(decoder);
}

static bool is_text(uint8_t byte)
{
    return (byte >= 0x20 && byte != 0x7F) || byte == '\n' || byte == '\t' || byte == '\r';
}

void wire_decoder_rest(const struct wire_decoder *decoder, struct str *out)
{
    if (wire_decoder_idle(decoder) || decoder->state == BROKEN)
        return;
    if (decoder->state == READ_LENGTH || decoder->state == READ_MESSAGE) {
        size_t length = decoder->state == READ_LENGTH ? decoder->have : 4;
        const uint8_t *newline = memchr(decoder->length, '\n', length);
        size_t text = newline ? (size_t)(newline - decoder->length) : length;
        bool printed = text > 0;
        for (size_t i = 0; i < text; i++)
            printed = printed && is_text(decoder->length[i]);
        if (printed && (newline || decoder->state == READ_LENGTH)) {
            str_printf(out,
                       "wrote text where a message was due: '%.*s'; stdout is for messages alone, so "
                       "print to stderr",
                       (int)text, (const char *)decoder->length);
            return;
        }
    }
    if (decoder->state == READ_MESSAGE)
        str_printf(out, "began a message of %zu bytes and wrote %zu of them", decoder->frame, decoder->have);
    else
        str_add(out, decoder->state == READ_LENGTH ? "began a message" : "did not write all of its payloads");
}

bool wire_decoder_idle(const struct wire_decoder *decoder)
{
    return decoder->state == READ_LENGTH && decoder->have == 0;
}

void wire_decoder_share(struct wire_decoder *decoder, uint8_t *shared, struct wire_place place)
{
    decoder->shared = shared;
    decoder->allowed = place;
}

static void *unpack_alloc(void *context, size_t size)
{
    struct wire_decoder *decoder = context;
    if (size > decoder->arena_limit - decoder->arena.total)
        return NULL;
    void *data = arena_alloc(&decoder->arena, size);
    if (decoder->arena.total > decoder->arena_limit)
        decoder->arena.total = decoder->arena_limit; /* alignment went over the edge: no more from here */
    return data;
}

static void unpack_free(void *context, void *pointer)
{
    (void)context, (void)pointer;
}

static void add_target(struct wire_decoder *decoder, void *data, size_t size)
{
    decoder->targets =
        memory_grow(decoder->targets, &decoder->room, decoder->n_targets + 1, sizeof *decoder->targets);
    decoder->targets[decoder->n_targets++] = (struct target){.data = data, .size = size};
}

/* More than this no engine has: whoever announces it did not mean it. */
static const uint64_t believable = (uint64_t)1 << 40;

static int announce(struct wire_decoder *decoder, uint64_t size, struct error *err)
{
    size_t left = decoder->limits.payload - decoder->announced;
    if (size > left && size <= believable)
        return error_set(err, ERROR_MEMORY,
                         "a payload of %" PRIu64 " MB does not fit into the %zu MB allowed (--memory)",
                         size >> 20, decoder->limits.payload >> 20);
    if (size > left)
        return error_set(err, ERROR_LIMIT, "a payload of %" PRIu64 " bytes announced; %zu are allowed", size,
                         decoder->limits.payload);
    decoder->announced += (size_t)size;
    return 0;
}

/* The next payload in the shared memory. */
static int next_placed(struct wire_decoder *decoder, size_t size, uint8_t **data, struct error *err)
{
    size_t left = decoder->after - decoder->at;
    if (size > left || wire_place_size(size) > left)
        return error_set(err, ERROR_FORMAT, "a payload of %zu bytes where %zu are left in shared memory",
                         size, left);
    *data = decoder->shared + decoder->at;
    decoder->at += wire_place_size(size);
    return 0;
}

/* Memory for a payload: filled from the shared memory, lying there, or to be filled by chunks. */
static int take_payload(struct wire_decoder *decoder, uint64_t announced, void **data, struct error *err)
{
    uint8_t *placed = NULL;
    size_t size = (size_t)announced;
    *data = NULL;
    if (announce(decoder, announced, err))
        return -1;
    if (size == 0)
        return 0;
    if (decoder->placed && next_placed(decoder, size, &placed, err))
        return -1;
    if (decoder->message.borrowed) {
        *data = placed;
        return 0;
    }
    if (!(*data = malloc(size)))
        return error_set(err, ERROR_MEMORY, "no memory for a payload of %zu bytes", size);
    if (placed)
        memcpy(*data, placed, size);
    else
        add_target(decoder, *data, size);
    return 0;
}

static int read_shape(const Assay__Tensor *from, struct shape *shape, struct error *err)
{
    if (from->n_dims > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "a tensor of rank %zu", from->n_dims);
    *shape = shape_make((int)from->n_dims, from->dims);
    return 0;
}

/* A string tensor's payload is as long as its strings: any size that holds their lengths. */
static int read_strings(struct wire_decoder *decoder, struct tensor *to, const Assay__Tensor *from,
                        const struct shape *shape, struct error *err)
{
    size_t count;
    if (shape_count(shape, &count, err))
        return -1;
    if (count > from->size / 4)
        return error_set(err, ERROR_FORMAT, "%zu strings announced with %" PRIu64 " bytes", count,
                         from->size);
    if (take_payload(decoder, from->size, &to->data, err))
        return -1;
    to->type = DTYPE_STRING;
    to->shape = *shape;
    to->count = count;
    to->size = (size_t)from->size;
    return 0;
}

static int make_tensor(struct wire_decoder *decoder, struct tensor *to, int64_t type,
                       const struct shape *shape, uint64_t announced, struct error *err)
{
    size_t count;
    if (dtype_check(type, err) || shape_count(shape, &count, err))
        return -1;
    size_t item = dtype_size((enum dtype)type);
    if (announced % item || announced / item != count) {
        char text[SHAPE_TEXT_SIZE];
        return error_set(err, ERROR_FORMAT, "a %s tensor of shape %s announced with %" PRIu64 " bytes",
                         dtype_name((enum dtype)type), shape_text(shape, text), announced);
    }
    if (take_payload(decoder, announced, &to->data, err))
        return -1;
    to->type = (enum dtype)type;
    to->shape = *shape;
    to->count = count;
    to->size = (size_t)announced;
    return 0;
}

static int read_tensor(struct wire_decoder *decoder, struct tensor *to, const Assay__Tensor *from,
                       struct error *err)
{
    struct shape shape;
    if (read_shape(from, &shape, err))
        return -1;
    if (from->type == DTYPE_STRING)
        return read_strings(decoder, to, from, &shape, err);
    return make_tensor(decoder, to, (int64_t)from->type, &shape, from->size, err);
}

static int read_bounds(struct wire_decoder *decoder, struct wire_bounds *to, const struct value *value,
                       const Assay__Bounds *from, struct error *err)
{
    if (!decoder->replies || value->kind != VALUE_TENSOR)
        return error_set(err, ERROR_FORMAT, "error bounds where there can be none");
    const struct tensor *of = &value->tensors[0];
    uint64_t size = (uint64_t)of->count * 8; /* count is at most 2^60 */
    if (from->exact && (make_tensor(decoder, &to->exact, DTYPE_DOUBLE, &of->shape, size, err) ||
                        make_tensor(decoder, &to->rest, DTYPE_DOUBLE, &of->shape, size, err)))
        return -1;
    if (make_tensor(decoder, &to->hard, DTYPE_DOUBLE, &of->shape, size, err) ||
        make_tensor(decoder, &to->likely, DTYPE_DOUBLE, &of->shape, size, err))
        return -1;
    to->present = true;
    to->open = from->open;
    to->narrow = from->narrow;
    return 0;
}

static int read_kind(const Assay__Value *from, enum value_kind *kind, struct error *err)
{
    switch (from->kind) {
    case ASSAY__VALUE__KIND__TENSOR:
        *kind = VALUE_TENSOR;
        return from->n_tensors == 1 ? 0 : error_set(err, ERROR_FORMAT, "a tensor value must hold one tensor");
    case ASSAY__VALUE__KIND__SEQUENCE:
        *kind = VALUE_SEQUENCE;
        return 0;
    case ASSAY__VALUE__KIND__NONE:
        *kind = VALUE_NONE;
        return from->n_tensors == 0 ? 0 : error_set(err, ERROR_FORMAT, "an absent value that holds tensors");
    default:
        return error_set(err, ERROR_FORMAT, "a value of unknown kind %d", (int)from->kind);
    }
}

static int read_value(struct wire_decoder *decoder, struct value *to, const Assay__Value *from,
                      struct error *err)
{
    enum value_kind kind = VALUE_NONE;
    if (read_kind(from, &kind, err))
        return -1;
    if (from->n_tensors > MAX_TENSORS - decoder->tensors)
        return error_set(err, ERROR_LIMIT, "a message of more than %d tensors", MAX_TENSORS);
    decoder->tensors += from->n_tensors;
    value_set_name(to, from->name);
    to->kind = kind;
    if (from->n_tensors)
        to->tensors = memory_zeroed(from->n_tensors, sizeof *to->tensors);
    for (size_t i = 0; i < from->n_tensors; i++) {
        tensor_init(&to->tensors[i]);
        to->count++;
        if (read_tensor(decoder, &to->tensors[i], from->tensors[i], err))
            return -1;
    }
    return 0;
}

/* Makes room for `more` values behind those there are; the message's count grows value by value, so that a
 * failure releases what was made. */
static int read_values(struct wire_decoder *decoder, Assay__Value *const *list, size_t more,
                       struct error *err)
{
    struct wire_message *message = &decoder->message;
    for (size_t i = 0; i < more; i++) {
        struct value *value = &message->values[message->count];
        struct wire_bounds *bounds = message->bounds ? &message->bounds[message->count] : NULL;
        value_init(value);
        if (bounds)
            wire_bounds_init(bounds);
        message->count++;
        if (read_value(decoder, value, list[i], err))
            return -1;
        if (list[i]->bounds && !bounds)
            return error_set(err, ERROR_FORMAT, "error bounds in a request");
        if (list[i]->bounds && read_bounds(decoder, bounds, value, list[i]->bounds, err))
            return -1;
    }
    return 0;
}

static int make_values(struct wire_decoder *decoder, size_t count, struct error *err)
{
    if (count > MAX_TENSORS)
        return error_set(err, ERROR_LIMIT, "a message of %zu values", count);
    if (count)
        decoder->message.values = memory_zeroed(count, sizeof *decoder->message.values);
    return 0;
}

static int read_model(struct wire_decoder *decoder, uint64_t size, struct error *err)
{
    void *model;
    if (size == 0)
        return 0;
    if (take_payload(decoder, size, &model, err))
        return -1;
    decoder->message.model = model;
    decoder->message.model_size = (size_t)size;
    return 0;
}

static int read_load(struct wire_decoder *decoder, const Assay__Load *load, struct error *err)
{
    if ((load->model_size > 0) == (*load->path != '\0'))
        return error_set(err, ERROR_FORMAT, "a load request needs a model or a path, and not both");
    return read_model(decoder, load->model_size, err);
}

static int read_request(struct wire_decoder *decoder, const Assay__Request *request, struct error *err)
{
    switch (request->verb_case) {
    case ASSAY__REQUEST__VERB_HELLO:
    case ASSAY__REQUEST__VERB_UNLOAD:
        return 0;
    case ASSAY__REQUEST__VERB_LOAD:
        return read_load(decoder, request->load, err);
    case ASSAY__REQUEST__VERB_RUN:
        if (make_values(decoder, request->run->n_inputs, err))
            return -1;
        return read_values(decoder, request->run->inputs, request->run->n_inputs, err);
    case ASSAY__REQUEST__VERB_GRADIENT: {
        const Assay__Gradient *gradient = request->gradient;
        if (make_values(decoder, gradient->n_inputs + gradient->n_output_gradients, err) ||
            read_values(decoder, gradient->inputs, gradient->n_inputs, err))
            return -1;
        return read_values(decoder, gradient->output_gradients, gradient->n_output_gradients, err);
    }
    default:
        return error_set(err, ERROR_FORMAT, "a request without a verb");
    }
}

static bool any_bounds(const Assay__Values *values)
{
    for (size_t i = 0; i < values->n_values; i++)
        if (values->values[i]->bounds)
            return true;
    return false;
}

static int read_reply(struct wire_decoder *decoder, const Assay__Reply *reply, struct error *err)
{
    if (reply->error)
        return reply->result_case == ASSAY__REPLY__RESULT__NOT_SET
                   ? 0
                   : error_set(err, ERROR_FORMAT, "a reply with both an error and a result");
    if (reply->result_case == ASSAY__REPLY__RESULT__NOT_SET)
        return error_set(err, ERROR_FORMAT, "a reply without a result");
    if (reply->result_case == ASSAY__REPLY__RESULT_LOADED)
        return read_model(decoder, reply->loaded->written_size, err);
    if (reply->result_case != ASSAY__REPLY__RESULT_VALUES)
        return 0;
    const Assay__Values *values = reply->values;
    if (make_values(decoder, values->n_values, err))
        return -1;
    if (any_bounds(values))
        decoder->message.bounds = memory_zeroed(values->n_values, sizeof *decoder->message.bounds);
    return read_values(decoder, values->values, values->n_values, err);
}

static void reset_arena(struct wire_decoder *decoder)
{
    if (decoder->arena.total > KEEP_LIMIT)
        arena_release(&decoder->arena);
    else
        arena_clear(&decoder->arena);
    decoder->arena.total = 0;
    decoder->arena_limit = UNPACK_BASE + UNPACK_FACTOR * decoder->frame;
}

static bool lies_in(const Assay__Place *place, struct wire_place in)
{
    return place->offset % 64 == 0 && place->size <= in.size && place->offset >= in.offset &&
           place->offset - in.offset <= in.size - place->size;
}

static int check_place(const struct wire_decoder *decoder, const Assay__Place *place, struct error *err)
{
    if (lies_in(place, decoder->allowed))
        return 0;
    return error_set(err, ERROR_FORMAT,
                     "%" PRIu64 " bytes at %" PRIu64 " of the shared memory, where they may not be",
                     place->size, place->offset);
}

/* Where the payloads of the message lie, when they do not follow it. */
static int find_payloads(struct wire_decoder *decoder, struct error *err)
{
    const struct wire_message *message = &decoder->message;
    const Assay__Place *place = message->reply ? message->reply->payloads : message->request->payloads;
    const Assay__Place *room = message->reply ? NULL : message->request->room;
    if ((place && check_place(decoder, place, err)) || (room && check_place(decoder, room, err)))
        return -1;
    decoder->placed = place != NULL;
    decoder->at = place ? (size_t)place->offset : 0;
    decoder->after = place ? decoder->at + (size_t)place->size : 0;
    decoder->message.borrowed = place && !decoder->replies;
    return 0;
}

static int read_payloads(struct wire_decoder *decoder, struct error *err)
{
    int result = decoder->replies ? read_reply(decoder, decoder->message.reply, err)
                                  : read_request(decoder, decoder->message.request, err);
    if (!result && decoder->at != decoder->after)
        return error_set(err, ERROR_FORMAT, "%zu bytes of shared memory that belong to no payload",
                         decoder->after - decoder->at);
    return result;
}

static int unpack(struct wire_decoder *decoder, const uint8_t *data, struct error *err)
{
    ProtobufCAllocator allocator = {unpack_alloc, unpack_free, decoder};
    reset_arena(decoder);
    memset(&decoder->message, 0, sizeof decoder->message);
    decoder->n_targets = decoder->target = decoder->filled = decoder->announced = decoder->tensors = 0;
    if (decoder->replies)
        decoder->message.reply = assay__reply__unpack(&allocator, decoder->frame, data);
    else
        decoder->message.request = assay__request__unpack(&allocator, decoder->frame, data);
    if (!decoder->message.reply && !decoder->message.request)
        return error_set(err, ERROR_FORMAT, "a frame of %zu bytes that is no message", decoder->frame);
    return find_payloads(decoder, err) ? -1 : read_payloads(decoder, err);
}

static int check_strings(const struct wire_decoder *decoder, struct error *err)
{
    for (size_t i = 0; i < decoder->message.count; i++)
        for (size_t j = 0; j < decoder->message.values[i].count; j++) {
            const struct tensor *tensor = &decoder->message.values[i].tensors[j];
            if (tensor->type == DTYPE_STRING && tensor_strings_check(tensor, err))
                return -1;
        }
    return 0;
}

/* Takes bytes of a length; true when it is whole. */
static bool take_length(struct wire_decoder *decoder, const uint8_t **at, size_t *left)
{
    while (decoder->have < 4 && *left) {
        decoder->length[decoder->have++] = *(*at)++;
        (*left)--;
    }
    if (decoder->have < 4)
        return false;
    decoder->frame = (size_t)decoder->length[0] | (size_t)decoder->length[1] << 8 |
                     (size_t)decoder->length[2] << 16 | (size_t)decoder->length[3] << 24;
    decoder->have = 0;
    return true;
}

static void next_state(struct wire_decoder *decoder)
{
    decoder->state = decoder->target < decoder->n_targets ? READ_CHUNK_LENGTH : READ_LENGTH;
    decoder->have = 0;
}

/* Where the four bytes of a length are text, somebody printed to stdout: as a length they are far above any
 * limit. What follows them at `at` tells more of it. */
static int explain_text(const struct wire_decoder *decoder, const char *due, const uint8_t *at, size_t left,
                        struct error *err)
{
    enum { SHOWN = 60 };
    char text[SHOWN + 1] = {0};
    size_t length = 0;
    for (size_t i = 0; i < 4 && decoder->length[i] != '\n'; i++)
        text[length++] = (char)decoder->length[i];
    bool ended = length < 4;
    for (size_t i = 0; !ended && i < left && length < SHOWN && is_text(at[i]) && at[i] != '\n'; i++)
        text[length++] = (char)at[i];
    return error_set(err, ERROR_FORMAT,
                     "wrote text where %s was due: '%s'; stdout is for messages alone, so print to stderr",
                     due, text);
}

/* A printed line shorter than a length is text up to its newline; what comes behind is a message's. */
static bool holds_text(const struct wire_decoder *decoder, size_t limit)
{
    if (decoder->frame <= limit)
        return false;
    for (size_t i = 0; i < 4; i++) {
        if (!is_text(decoder->length[i]))
            return false;
        if (decoder->length[i] == '\n')
            return true;
    }
    return true;
}

static int start_message(struct wire_decoder *decoder, const uint8_t *at, size_t left, struct error *err)
{
    if (decoder->replies && holds_text(decoder, decoder->limits.message))
        return explain_text(decoder, "a message", at, left, err);
    if (decoder->frame > decoder->limits.message)
        return error_set(err, ERROR_LIMIT, "a message of %zu bytes; %zu are allowed", decoder->frame,
                         decoder->limits.message);
    decoder->state = READ_MESSAGE;
    return 0;
}

/* A message that lies whole in the portion is unpacked from there; only a split one is put together first. */
static int take_message(struct wire_decoder *decoder, const uint8_t **at, size_t *left, struct error *err)
{
    size_t need = decoder->frame - decoder->have;
    size_t take = *left < need ? *left : need;
    const uint8_t *whole = *at;
    if (decoder->have || take < need) {
        decoder->buffer = memory_grow(decoder->buffer, &decoder->capacity, decoder->have + take, 1);
        memcpy(decoder->buffer + decoder->have, *at, take);
        whole = decoder->buffer;
    }
    decoder->have += take;
    *at += take;
    *left -= take;
    if (decoder->have < decoder->frame)
        return 0;
    int result = unpack(decoder, whole, err);
    if (decoder->capacity > KEEP_LIMIT) {
        free(decoder->buffer);
        decoder->buffer = NULL;
        decoder->capacity = 0;
    }
    if (!result)
        next_state(decoder);
    return result;
}

static int start_chunk(struct wire_decoder *decoder, const uint8_t *at, size_t left, struct error *err)
{
    const struct target *target = &decoder->targets[decoder->target];
    if (decoder->replies && holds_text(decoder, WIRE_CHUNK))
        return explain_text(decoder, "a chunk of payload", at, left, err);
    if (decoder->frame == 0 || decoder->frame > WIRE_CHUNK || decoder->frame > target->size - decoder->filled)
        return error_set(err, ERROR_FORMAT, "a chunk of %zu bytes where %zu of payload are left",
                         decoder->frame, target->size - decoder->filled);
    decoder->state = READ_CHUNK;
    return 0;
}

static void take_chunk(struct wire_decoder *decoder, const uint8_t **at, size_t *left)
{
    struct target *target = &decoder->targets[decoder->target];
    size_t need = decoder->frame - decoder->have;
    size_t take = *left < need ? *left : need;
    memcpy(target->data + decoder->filled, *at, take);
    decoder->filled += take;
    decoder->have += take;
    *at += take;
    *left -= take;
    if (decoder->have < decoder->frame)
        return;
    if (decoder->filled == target->size) {
        decoder->target++;
        decoder->filled = 0;
    }
    next_state(decoder);
}

/* Goes on as far as the bytes reach; 1 when a message is complete. */
static int step(struct wire_decoder *decoder, const uint8_t **at, size_t *left, struct error *err)
{
    for (;;) {
        bool in_message = true;
        int result = 0;
        switch (decoder->state) {
        case READ_LENGTH:
            if (!take_length(decoder, at, left))
                return 0;
            result = start_message(decoder, *at, *left, err);
            break;
        case READ_MESSAGE:
            if (decoder->have < decoder->frame && *left == 0)
                return 0;
            result = take_message(decoder, at, left, err);
            in_message = decoder->state != READ_LENGTH;
            break;
        case READ_CHUNK_LENGTH:
            if (!take_length(decoder, at, left))
                return 0;
            result = start_chunk(decoder, *at, *left, err);
            break;
        case READ_CHUNK:
            if (*left == 0)
                return 0;
            take_chunk(decoder, at, left);
            in_message = decoder->state != READ_LENGTH;
            break;
        case BROKEN:
            return error_set(err, ERROR_FORMAT, "the other side broke the protocol before");
        }
        if (result)
            return -1;
        if (!in_message)
            return check_strings(decoder, err) ? -1 : 1;
    }
}

int wire_decode(struct wire_decoder *decoder, const void *data, size_t size, size_t *used,
                struct wire_message *message, struct error *err)
{
    const uint8_t *at = data;
    size_t left = size;
    memset(message, 0, sizeof *message);
    int result = step(decoder, &at, &left, err);
    *used = size - left;
    if (result < 0) {
        decoder->state = BROKEN;
        wire_message_release(&decoder->message);
    } else if (result > 0) {
        *message = decoder->message;
        memset(&decoder->message, 0, sizeof decoder->message);
    }
    return result;
}
