#include "engine/wire.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

const struct wire_limits wire_default_limits = {.message = (size_t)16 << 20, .payload = (size_t)8 << 30};

/* Payloads up to this size are copied behind their message; larger ones are written from where they are. */
enum { COPY_LIMIT = 4096, MAX_VECTORS = 64 };

void wire_bounds_init(struct wire_bounds *bounds)
{
    bounds->present = bounds->narrow = false;
    tensor_init(&bounds->exact);
    tensor_init(&bounds->rest);
    tensor_init(&bounds->hard);
    tensor_init(&bounds->likely);
}

void wire_bounds_release(struct wire_bounds *bounds)
{
    tensor_release(&bounds->exact);
    tensor_release(&bounds->rest);
    tensor_release(&bounds->hard);
    tensor_release(&bounds->likely);
    bounds->present = false;
}

void wire_bounds_free(struct wire_bounds *bounds, size_t count)
{
    for (size_t i = 0; bounds && i < count; i++)
        wire_bounds_release(&bounds[i]);
    free(bounds);
}

void wire_out_init(struct wire_out *out)
{
    memset(out, 0, sizeof *out);
    arena_init(&out->arena);
}

void wire_out_release(struct wire_out *out)
{
    free(out->bytes);
    free(out->pieces);
    arena_release(&out->arena);
    wire_out_init(out);
}

void wire_out_clear(struct wire_out *out)
{
    out->length = out->count = out->next = out->done = 0;
}

bool wire_out_empty(const struct wire_out *out)
{
    return out->next == out->count;
}

static const uint8_t *piece_data(const struct wire_out *out, const struct wire_piece *piece)
{
    return piece->data ? piece->data : out->bytes + piece->offset;
}

static size_t gather(const struct wire_out *out, struct iovec vectors[MAX_VECTORS])
{
    size_t count = 0;
    for (size_t i = out->next; i < out->count && count < MAX_VECTORS; i++, count++) {
        size_t skip = i == out->next ? out->done : 0;
        vectors[count].iov_base = (void *)(uintptr_t)(piece_data(out, &out->pieces[i]) + skip);
        vectors[count].iov_len = out->pieces[i].size - skip;
    }
    return count;
}

static void advance(struct wire_out *out, size_t written)
{
    out->done += written;
    while (out->next < out->count && out->done >= out->pieces[out->next].size) {
        out->done -= out->pieces[out->next].size;
        out->next++;
    }
}

int wire_out_write(struct wire_out *out, int fd, struct error *err)
{
    while (!wire_out_empty(out)) {
        struct iovec vectors[MAX_VECTORS];
        ssize_t written = writev(fd, vectors, (int)gather(out, vectors));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (written < 0)
            return error_errno(err, "cannot write");
        advance(out, (size_t)written);
    }
    wire_out_clear(out);
    return 1;
}

void wire_out_copy(const struct wire_out *out, struct str *to)
{
    for (size_t i = out->next; i < out->count; i++) {
        size_t skip = i == out->next ? out->done : 0;
        str_append(to, piece_data(out, &out->pieces[i]) + skip, out->pieces[i].size - skip);
    }
}

static struct wire_piece *add_piece(struct wire_out *out)
{
    out->pieces = memory_grow(out->pieces, &out->room, out->count + 1, sizeof *out->pieces);
    struct wire_piece *piece = &out->pieces[out->count++];
    memset(piece, 0, sizeof *piece);
    return piece;
}

/* Room for `size` bytes in our own buffer, joined to the last piece when that lies there too. */
static uint8_t *own_bytes(struct wire_out *out, size_t size)
{
    out->bytes = memory_grow(out->bytes, &out->capacity, out->length + size, 1);
    struct wire_piece *last = out->count > out->next ? &out->pieces[out->count - 1] : NULL;
    if (!last || last->data) {
        last = add_piece(out);
        last->offset = out->length;
    }
    last->size += size;
    uint8_t *at = out->bytes + out->length;
    out->length += size;
    return at;
}

static void put_length(struct wire_out *out, size_t length)
{
    uint8_t *at = own_bytes(out, 4);
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(length >> (8 * i));
}

static void put_payload(struct wire_out *out, const void *data, size_t size)
{
    const uint8_t *at = data;
    if (out->into && size) {
        memcpy(out->into, data, size);
        out->into += wire_place_size(size);
        return;
    }
    while (size) {
        size_t chunk = size < WIRE_CHUNK ? size : WIRE_CHUNK;
        put_length(out, chunk);
        if (chunk <= COPY_LIMIT) {
            memcpy(own_bytes(out, chunk), at, chunk);
        } else {
            struct wire_piece *piece = add_piece(out);
            piece->data = at;
            piece->size = chunk;
        }
        at += chunk;
        size -= chunk;
    }
}

void wire_out_place(struct wire_out *out, void *shared, struct wire_place place)
{
    out->shared = shared;
    out->place = place;
}

static void describe_place(Assay__Place *to, size_t offset, size_t size)
{
    assay__place__init(to);
    to->offset = offset;
    to->size = size;
}

/* Whether payloads that take `size` bytes go to the shared memory, as *to then says. */
static bool use_place(struct wire_out *out, size_t size, Assay__Place *to)
{
    if (!out->shared || size < WIRE_SHARED_LEAST || size > out->place.size)
        return false;
    describe_place(to, out->place.offset, size);
    out->into = out->shared + out->place.offset;
    out->place.offset += size;
    out->place.size -= size;
    return true;
}

static void end_message(struct wire_out *out)
{
    out->shared = out->into = NULL;
}

static void put_message(struct wire_out *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    put_length(out, size);
    protobuf_c_message_pack(message, own_bytes(out, size));
    arena_clear(&out->arena);
}

static char *as_text(const char *text)
{
    return (char *)(uintptr_t)(text ? text : "");
}

/* protobuf-c wants char * even where it only reads. */
static char **as_texts(const char *const *texts)
{
    return (char **)(uintptr_t)texts;
}

static void describe_tensor(struct wire_out *out, Assay__Tensor *to, const struct tensor *tensor)
{
    assay__tensor__init(to);
    to->type = (uint32_t)tensor->type;
    to->size = tensor->size;
    to->n_dims = (size_t)tensor->shape.rank;
    to->dims = arena_copy(&out->arena, tensor->shape.dims, to->n_dims * sizeof *to->dims);
}

static void describe_value(struct wire_out *out, Assay__Value *to, const struct value *value,
                           const struct wire_bounds *bounds)
{
    static const Assay__Value__Kind kinds[] = {
        [VALUE_NONE] = ASSAY__VALUE__KIND__NONE,
        [VALUE_TENSOR] = ASSAY__VALUE__KIND__TENSOR,
        [VALUE_SEQUENCE] = ASSAY__VALUE__KIND__SEQUENCE,
    };
    assay__value__init(to);
    to->name = as_text(value->name);
    to->kind = kinds[value->kind];
    to->n_tensors = value->count;
    to->tensors = arena_array(&out->arena, value->count, sizeof *to->tensors);
    Assay__Tensor *tensors = arena_array(&out->arena, value->count, sizeof *tensors);
    for (size_t i = 0; i < value->count; i++) {
        describe_tensor(out, &tensors[i], &value->tensors[i]);
        to->tensors[i] = &tensors[i];
    }
    if (bounds && bounds->present) {
        to->bounds = arena_alloc(&out->arena, sizeof *to->bounds);
        assay__bounds__init(to->bounds);
        to->bounds->exact = bounds->exact.size > 0;
        to->bounds->open = bounds->open;
        to->bounds->narrow = bounds->narrow;
    }
}

static Assay__Value **describe_values(struct wire_out *out, const struct value *values, size_t count,
                                      const struct wire_bounds *bounds)
{
    Assay__Value **list = arena_array(&out->arena, count, sizeof *list);
    Assay__Value *items = arena_array(&out->arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        describe_value(out, &items[i], &values[i], bounds ? &bounds[i] : NULL);
        list[i] = &items[i];
    }
    return list;
}

static size_t place_values(const struct value *values, size_t count, const struct wire_bounds *bounds)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < values[i].count; j++)
            size += wire_place_size(values[i].tensors[j].size);
        if (bounds && bounds[i].present)
            size += wire_place_size(bounds[i].exact.size) + wire_place_size(bounds[i].rest.size) +
                    wire_place_size(bounds[i].hard.size) + wire_place_size(bounds[i].likely.size);
    }
    return size;
}

static void put_payloads(struct wire_out *out, const struct value *values, size_t count,
                         const struct wire_bounds *bounds)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < values[i].count; j++)
            put_payload(out, values[i].tensors[j].data, values[i].tensors[j].size);
        if (bounds && bounds[i].present) {
            put_payload(out, bounds[i].exact.data, bounds[i].exact.size);
            put_payload(out, bounds[i].rest.data, bounds[i].rest.size);
            put_payload(out, bounds[i].hard.data, bounds[i].hard.size);
            put_payload(out, bounds[i].likely.data, bounds[i].likely.size);
        }
    }
}

/* A request whose payloads take `size` bytes of shared memory. */
static void put_request(struct wire_out *out, Assay__Request *request, size_t size)
{
    Assay__Place payloads, room;
    if (use_place(out, size, &payloads))
        request->payloads = &payloads;
    if (out->shared && out->place.size) {
        describe_place(&room, out->place.offset, out->place.size);
        request->room = &room;
    }
    put_message(out, &request->base);
}

void wire_put_hello(struct wire_out *out, uint64_t id, size_t knobs, const char *const *names,
                    const char *const *values, size_t shared_size, bool times)
{
    Assay__Request request = ASSAY__REQUEST__INIT;
    Assay__Hello hello = ASSAY__HELLO__INIT;
    request.id = id;
    request.verb_case = ASSAY__REQUEST__VERB_HELLO;
    request.hello = &hello;
    hello.protocol = WIRE_PROTOCOL;
    hello.shared_size = shared_size;
    hello.times = times;
    hello.n_knobs = knobs;
    hello.knobs = arena_array(&out->arena, knobs, sizeof *hello.knobs);
    for (size_t i = 0; i < knobs; i++) {
        hello.knobs[i] = arena_alloc(&out->arena, sizeof **hello.knobs);
        assay__knob__init(hello.knobs[i]);
        hello.knobs[i]->name = as_text(names[i]);
        hello.knobs[i]->value = as_text(values[i]);
    }
    put_message(out, &request.base);
}

void wire_put_load(struct wire_out *out, uint64_t id, const struct wire_load *from)
{
    Assay__Request request = ASSAY__REQUEST__INIT;
    Assay__Load load = ASSAY__LOAD__INIT;
    request.id = id;
    request.verb_case = ASSAY__REQUEST__VERB_LOAD;
    request.load = &load;
    load.model_size = from->model ? from->size : 0;
    load.path = as_text(from->model ? NULL : from->path);
    load.n_outputs = from->n_outputs;
    load.outputs = as_texts(from->outputs);
    load.trace = from->trace;
    put_request(out, &request, wire_place_size((size_t)load.model_size));
    put_payload(out, from->model, (size_t)load.model_size);
    end_message(out);
}

void wire_put_run(struct wire_out *out, uint64_t id, const struct value *inputs, size_t count,
                  unsigned bounds)
{
    Assay__Request request = ASSAY__REQUEST__INIT;
    Assay__Run run = ASSAY__RUN__INIT;
    request.id = id;
    request.verb_case = ASSAY__REQUEST__VERB_RUN;
    request.run = &run;
    run.n_inputs = count;
    run.inputs = describe_values(out, inputs, count, NULL);
    run.bounds = bounds & WIRE_BOUNDS;
    run.narrow = (bounds & WIRE_NARROW_BOUNDS) == WIRE_NARROW_BOUNDS;
    run.only_judged = bounds & WIRE_ONLY_JUDGED;
    put_request(out, &request, place_values(inputs, count, NULL));
    put_payloads(out, inputs, count, NULL);
    end_message(out);
}

void wire_put_gradient(struct wire_out *out, uint64_t id, const struct wire_gradient *from)
{
    Assay__Request request = ASSAY__REQUEST__INIT;
    Assay__Gradient gradient = ASSAY__GRADIENT__INIT;
    request.id = id;
    request.verb_case = ASSAY__REQUEST__VERB_GRADIENT;
    request.gradient = &gradient;
    gradient.n_inputs = from->n_inputs;
    gradient.inputs = describe_values(out, from->inputs, from->n_inputs, NULL);
    gradient.n_output_gradients = from->n_upstream;
    gradient.output_gradients = describe_values(out, from->upstream, from->n_upstream, NULL);
    gradient.n_wanted = from->n_wanted;
    gradient.wanted = as_texts(from->wanted);
    gradient.bounds = from->bounds;
    put_request(out, &request,
                place_values(from->inputs, from->n_inputs, NULL) +
                    place_values(from->upstream, from->n_upstream, NULL));
    put_payloads(out, from->inputs, from->n_inputs, NULL);
    put_payloads(out, from->upstream, from->n_upstream, NULL);
    end_message(out);
}

void wire_put_unload(struct wire_out *out, uint64_t id)
{
    Assay__Request request = ASSAY__REQUEST__INIT;
    Assay__Unload unload = ASSAY__UNLOAD__INIT;
    request.id = id;
    request.verb_case = ASSAY__REQUEST__VERB_UNLOAD;
    request.unload = &unload;
    put_message(out, &request.base);
}

void wire_out_trace(struct wire_out *out, const struct trace *trace)
{
    out->trace = trace;
}

void wire_out_times(struct wire_out *out, uint64_t call_ns, uint64_t process_ns)
{
    out->call_ns = call_ns;
    out->process_ns = process_ns;
}

static void describe_step(Assay__TraceStep *to, const struct trace_step *step)
{
    static const Assay__TraceStep__Kind kinds[TRACE_KINDS] = {
        [TRACE_KERNEL] = ASSAY__TRACE_STEP__KIND__KERNEL,
        [TRACE_PASS] = ASSAY__TRACE_STEP__KIND__PASS,
    };
    assay__trace_step__init(to);
    to->kind = kinds[step->kind];
    to->name = as_text(step->name);
    to->device = as_text(step->device);
    to->pass = as_text(step->pass);
    to->n_outputs = step->n_outputs;
    to->outputs = as_texts(step->outputs);
}

/* What the reply tells besides its result. */
static void describe_work(struct wire_out *out, Assay__Reply *reply)
{
    const struct trace *trace = out->trace;
    reply->call_ns = out->call_ns;
    reply->process_ns = out->process_ns;
    out->trace = NULL;
    wire_out_times(out, 0, 0);
    if (!trace)
        return;
    Assay__TraceStep *steps = arena_array(&out->arena, trace->count, sizeof *steps);
    reply->n_trace = trace->count;
    reply->trace = arena_array(&out->arena, trace->count, sizeof *reply->trace);
    for (size_t i = 0; i < trace->count; i++) {
        describe_step(&steps[i], &trace->steps[i]);
        reply->trace[i] = &steps[i];
    }
}

void wire_put_values(struct wire_out *out, uint64_t id, const struct value *values, size_t count,
                     const struct wire_bounds *bounds)
{
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Values list = ASSAY__VALUES__INIT;
    reply.id = id;
    reply.result_case = ASSAY__REPLY__RESULT_VALUES;
    reply.values = &list;
    list.n_values = count;
    list.values = describe_values(out, values, count, bounds);
    Assay__Place payloads;
    if (use_place(out, place_values(values, count, bounds), &payloads))
        reply.payloads = &payloads;
    describe_work(out, &reply);
    put_message(out, &reply.base);
    put_payloads(out, values, count, bounds);
    end_message(out);
}

void wire_put_loaded(struct wire_out *out, const Assay__Reply *reply, const void *written, size_t size)
{
    Assay__Reply whole = *reply;
    Assay__Loaded loaded = *reply->loaded;
    loaded.written_size = size;
    whole.loaded = &loaded;
    put_message(out, &whole.base);
    put_payload(out, written, size);
    end_message(out);
}

void wire_put_reply(struct wire_out *out, const Assay__Reply *reply)
{
    Assay__Reply whole = *reply;
    describe_work(out, &whole);
    put_message(out, &whole.base);
}
