/* The functions of the public header. */
#define _GNU_SOURCE
#include "assay/assay.h"

#include "config.h"
#include "library/connection.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 16, MOST_TENSORS = 1 << 16, TYPES = ASSAY_INT2 + 1 };

struct assay {
    pthread_mutex_t mutex;
    struct connection connection;
    struct assay_model *models; /* a list of all */
};

struct assay_model {
    struct assay *assay;
    struct assay_model *next;
    struct packet load;    /* the request by which the program gets it */
    uint64_t number, told; /* its number there, and since which start of the program */
    struct packet names;   /* the reply, which holds the names */
    size_t n_inputs, n_outputs;
    const char **inputs, **outputs;
};

struct assay_values {
    struct packet reply;
    size_t count;
    struct assay_value *items;
    void **texts; /* of each of strings, what its data points to */
};

/* The public part comes first. */
struct verdict_owner {
    struct assay_verdict verdict;
    struct packet reply;
};
struct tolerances_owner {
    struct assay_tolerances tolerances;
    struct packet reply;
    struct assay_tolerance items[];
};

const char *assay_version(void)
{
    return ASSAY_VERSION;
}

static enum assay_status no_memory(struct assay_error *error)
{
    return connection_fail(error, ASSAY_NO_MEMORY, "there is no memory for it");
}

static enum assay_status usage(struct assay_error *error, const char *what)
{
    return connection_fail(error, ASSAY_USAGE, "%s", what);
}

static enum assay_status not_whole(struct assay_error *error)
{
    return connection_fail(error, ASSAY_BROKEN, "the answer of assay-judge is not whole");
}

enum assay_status assay_open(struct assay **assay, const struct assay_options *options,
                             struct assay_error *error)
{
    struct assay_options all = ASSAY_OPTIONS;
    *assay = NULL;
    if (options && (options->size < sizeof(size_t) || options->size > sizeof all))
        return usage(error, "the options' size is not that of this library: begin with ASSAY_OPTIONS");
    if (options)
        memcpy(&all, options, options->size);
    if (all.sandbox < 0 || all.sandbox > 2 || !(all.deadline >= 0))
        return usage(error, "sandbox takes 0, 1 or 2, and the deadline is not below 0");
    struct assay *made = calloc(1, sizeof *made);
    if (!made)
        return no_memory(error);
    pthread_mutex_init(&made->mutex, NULL);
    enum assay_status status = connection_init(&made->connection, &all, error);
    if (!status)
        status = connection_start(&made->connection, error);
    if (status)
        assay_close(made);
    else
        *assay = made;
    return status;
}

static void free_model(struct assay_model *model)
{
    packet_release(&model->load);
    packet_release(&model->names);
    free(model->inputs);
    free(model->outputs);
    free(model);
}

void assay_close(struct assay *assay)
{
    if (!assay)
        return;
    connection_close(&assay->connection);
    for (struct assay_model *model = assay->models, *next; model; model = next) {
        next = model->next;
        free_model(model);
    }
    pthread_mutex_destroy(&assay->mutex);
    free(assay);
}

/* ---- Models ---- */

static const char **take_names(struct packet *reply, size_t *count)
{
    *count = packet_take_count(reply, 2 * sizeof(uint64_t));
    const char **names = calloc(*count + 1, sizeof *names);
    for (size_t i = 0; names && i < *count; i++)
        names[i] = packet_take_text(reply);
    return names;
}

/* Tells the program of the model, unless it knows it. */
static enum assay_status tell(struct assay_model *model, struct assay_error *error)
{
    struct connection *connection = &model->assay->connection;
    enum assay_status status = connection_start(connection, error);
    if (status || model->told == connection->started)
        return status;
    struct packet reply;
    status = connection_ask(connection, &model->load, &reply, error);
    if (!status) {
        model->number = packet_take(&reply);
        model->told = connection->started;
    }
    if (!status && !model->inputs) {
        model->inputs = take_names(&reply, &model->n_inputs);
        model->outputs = take_names(&reply, &model->n_outputs);
        model->names = reply;
        return !model->inputs || !model->outputs ? no_memory(error) : reply.bad ? not_whole(error) : ASSAY_OK;
    }
    packet_release(&reply);
    return status;
}

/* Takes over the request. */
static enum assay_status add_model(struct assay *assay, struct packet *load, struct assay_model **model,
                                   struct assay_error *error)
{
    struct assay_model *made = calloc(1, sizeof *made);
    *model = NULL;
    if (!made) {
        packet_release(load);
        return no_memory(error);
    }
    made->assay = assay;
    made->load = *load;
    pthread_mutex_lock(&assay->mutex);
    enum assay_status status = tell(made, error);
    if (!status) {
        made->next = assay->models;
        assay->models = made;
    }
    pthread_mutex_unlock(&assay->mutex);
    if (status)
        free_model(made);
    else
        *model = made;
    return status;
}

enum assay_status assay_model_load(struct assay *assay, const char *path, struct assay_model **model,
                                   struct assay_error *error)
{
    char *whole = realpath(path, NULL); /* it may be read again, from another folder */
    struct packet load = {0};
    packet_put(&load, PACKET_LOAD);
    packet_put_text(&load, whole ? whole : path);
    free(whole);
    return add_model(assay, &load, model, error);
}

enum assay_status assay_model_parse(struct assay *assay, const void *bytes, size_t size,
                                    struct assay_model **model, struct assay_error *error)
{
    struct packet load = {0};
    packet_put(&load, PACKET_PARSE);
    packet_put_bytes(&load, bytes, size);
    return add_model(assay, &load, model, error);
}

void assay_model_free(struct assay_model *model)
{
    if (!model)
        return;
    struct assay *assay = model->assay;
    struct packet request = {0}, reply = {0};
    pthread_mutex_lock(&assay->mutex);
    for (struct assay_model **at = &assay->models; *at; at = &(*at)->next)
        if (*at == model) {
            *at = model->next;
            break;
        }
    packet_put(&request, PACKET_UNLOAD);
    packet_put(&request, model->number);
    if (assay->connection.fd >= 0 && model->told == assay->connection.started)
        connection_ask(&assay->connection, &request, &reply, NULL);
    pthread_mutex_unlock(&assay->mutex);
    packet_release(&request);
    packet_release(&reply);
    free_model(model);
}

const char *assay_model_input(const struct assay_model *model, size_t index)
{
    return index < model->n_inputs ? model->inputs[index] : NULL;
}

const char *assay_model_output(const struct assay_model *model, size_t index)
{
    return index < model->n_outputs ? model->outputs[index] : NULL;
}

/* ---- Tensors ---- */

/* Bytes of an element; 0 for strings. Numbers of less than 8 bits: elements of a byte, as a negative number.
 */
static int element_size(enum assay_type type)
{
    static const signed char sizes[TYPES] = {
        [ASSAY_FLOAT32] = 4,        [ASSAY_UINT8] = 1,          [ASSAY_INT8] = 1,
        [ASSAY_UINT16] = 2,         [ASSAY_INT16] = 2,          [ASSAY_INT32] = 4,
        [ASSAY_INT64] = 8,          [ASSAY_BOOL] = 1,           [ASSAY_FLOAT16] = 2,
        [ASSAY_FLOAT64] = 8,        [ASSAY_UINT32] = 4,         [ASSAY_UINT64] = 8,
        [ASSAY_COMPLEX64] = 8,      [ASSAY_COMPLEX128] = 16,    [ASSAY_BFLOAT16] = 2,
        [ASSAY_FLOAT8E4M3FN] = 1,   [ASSAY_FLOAT8E4M3FNUZ] = 1, [ASSAY_FLOAT8E5M2] = 1,
        [ASSAY_FLOAT8E5M2FNUZ] = 1, [ASSAY_FLOAT8E8M0] = 1,     [ASSAY_UINT4] = -2,
        [ASSAY_INT4] = -2,          [ASSAY_FLOAT4E2M1] = -2,    [ASSAY_UINT2] = -4,
        [ASSAY_INT2] = -4,
    };
    return sizes[type];
}

/* The number of elements; false when the tensor makes no sense. */
static bool count_elements(const struct assay_tensor *tensor, size_t *count)
{
    *count = 1;
    if ((int)tensor->type <= 0 || (int)tensor->type >= TYPES || tensor->rank < 0 ||
        tensor->rank > MOST_RANK || (tensor->rank && !tensor->shape))
        return false;
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0)
            return false;
    for (int i = 0; i < tensor->rank; i++) {
        size_t dim = (size_t)tensor->shape[i];
        if (dim && *count > ((size_t)1 << 40) / dim)
            return false;
        *count *= dim;
    }
    return tensor->data || !*count;
}

static bool is_dense(const struct assay_tensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->rank; tensor->strides && i-- > 0;) {
        if (tensor->shape[i] > 1 && tensor->strides[i] != step)
            return false;
        step *= tensor->shape[i];
    }
    return true;
}

/* Goes to the next element in row-major order; *at: how many elements from the first. */
static void advance(const struct assay_tensor *tensor, int64_t *index, int64_t *at)
{
    for (int i = tensor->rank; i-- > 0;) {
        *at += tensor->strides[i];
        if (++index[i] < tensor->shape[i])
            return;
        *at -= tensor->strides[i] * tensor->shape[i];
        index[i] = 0;
    }
}

static void put_strided(struct packet *packet, const struct assay_tensor *tensor, size_t count, size_t size)
{
    uint8_t *to = packet_put_room(packet, count * size);
    int64_t index[MOST_RANK] = {0}, at = 0;
    for (size_t i = 0; to && i < count; i++) {
        memcpy(to + i * size, (const char *)tensor->data + at * (int64_t)size, size);
        advance(tensor, index, &at);
    }
}

/* Each as 4 bytes of its length, and its bytes. */
static bool put_strings(struct packet *packet, const struct assay_tensor *tensor, size_t count)
{
    const char *const *texts = tensor->data;
    size_t size = 0;
    if (!is_dense(tensor))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!texts[i] || strlen(texts[i]) > UINT32_MAX)
            return false;
        size += sizeof(uint32_t) + strlen(texts[i]);
    }
    uint8_t *to = packet_put_room(packet, size);
    for (size_t i = 0; to && i < count; i++) {
        uint32_t length = (uint32_t)strlen(texts[i]);
        memcpy(to, &length, sizeof length);
        memcpy(to + sizeof length, texts[i], length);
        to += sizeof length + length;
    }
    return true;
}

static bool put_tensor(struct packet *packet, const struct assay_tensor *tensor)
{
    size_t count;
    if (!count_elements(tensor, &count))
        return false;
    int size = element_size(tensor->type);
    packet_put_text(packet, tensor->name);
    packet_put(packet, (uint64_t)tensor->type);
    packet_put(packet, (uint64_t)tensor->rank);
    for (int i = 0; i < tensor->rank; i++)
        packet_put(packet, (uint64_t)tensor->shape[i]);
    if (size == 0)
        return put_strings(packet, tensor, count);
    if (size < 0 && !is_dense(tensor))
        return false;
    if (size < 0)
        packet_put_bytes(packet, tensor->data, (count + (size_t)-size - 1) / (size_t)-size);
    else if (is_dense(tensor))
        packet_put_bytes(packet, tensor->data, count * (size_t)size);
    else
        put_strided(packet, tensor, count, (size_t)size);
    return true;
}

static enum assay_status put_tensors(struct packet *packet, const struct assay_tensor *tensors, size_t count,
                                     struct assay_error *error)
{
    packet_put(packet, count);
    if (count > MOST_TENSORS)
        return usage(error, "these are too many tensors");
    for (size_t i = 0; i < count; i++)
        if (!put_tensor(packet, &tensors[i]))
            return connection_fail(error, ASSAY_USAGE,
                                   "tensor %zu (%s): type, shape, strides or data make no sense", i,
                                   tensors[i].name ? tensors[i].name : "without a name");
    return ASSAY_OK;
}

/* ---- Requests ---- */

/* What a request is about. */
struct question {
    enum packet_request kind;
    const char *engine; /* or NULL */
    double number;      /* PACKET_TOLERANCES only */
    const struct assay_model *model;
    const struct assay_tensor *inputs, *others;
    size_t n_inputs, n_others;
    bool has_others;
};

static enum assay_status put_question(struct packet *request, const struct question *question,
                                      struct assay_error *error)
{
    packet_put(request, question->kind);
    if (question->engine)
        packet_put_text(request, question->engine);
    if (question->kind == PACKET_TOLERANCES)
        packet_put_double(request, question->number);
    packet_put(request, question->model->number);
    enum assay_status status = put_tensors(request, question->inputs, question->n_inputs, error);
    if (!status && question->has_others)
        status = put_tensors(request, question->others, question->n_others, error);
    return status;
}

/* The caller releases the reply, also after a failure. */
static enum assay_status ask(struct assay *assay, const struct question *question, struct packet *reply,
                             struct assay_error *error)
{
    struct packet request = {0};
    *reply = (struct packet){0};
    if (question->model->assay != assay)
        return usage(error, "the model belongs to another handle");
    pthread_mutex_lock(&assay->mutex);
    enum assay_status status = tell((struct assay_model *)question->model, error);
    if (!status)
        status = put_question(&request, question, error);
    if (!status)
        status = connection_ask(&assay->connection, &request, reply, error);
    pthread_mutex_unlock(&assay->mutex);
    packet_release(&request);
    return status;
}

/* ---- Values ---- */

/* Strings as texts that end with a 0; false when there is no memory or they are not whole. */
static bool take_strings(struct assay_value *value, void **owned)
{
    const uint8_t *from = value->data;
    size_t left = value->size;
    char **texts = calloc(1, value->count * sizeof *texts + value->size + value->count + 1);
    char *to = (char *)(texts + value->count);
    value->data = *owned = texts;
    for (size_t i = 0; texts && i < value->count; i++) {
        uint32_t length;
        if (left < sizeof length)
            return false;
        memcpy(&length, from, sizeof length);
        if (length > left - sizeof length)
            return false;
        memcpy(to, from + sizeof length, length);
        texts[i] = to;
        to += length + 1;
        from += sizeof length + length;
        left -= sizeof length + length;
    }
    return texts != NULL;
}

static const double *take_row(struct packet *reply, size_t count)
{
    size_t size;
    const double *row = packet_take_bytes(reply, &size);
    return size == count * sizeof *row && count ? row : NULL;
}

static bool take_value(struct packet *reply, struct assay_value *value, void **texts)
{
    value->name = packet_take_text(reply);
    value->type = (enum assay_type)packet_take(reply);
    uint64_t rank = packet_take(reply);
    value->shape = (const int64_t *)(const void *)(reply->data + reply->at);
    value->rank = rank <= MOST_RANK ? (int)rank : 0;
    for (int i = 0; i < value->rank; i++)
        packet_take(reply);
    value->count = (size_t)packet_take(reply);
    value->data = packet_take_bytes(reply, &value->size);
    bool bounded = packet_take(reply) != 0;
    if (bounded) {
        value->exact = take_row(reply, value->count);
        value->hard = take_row(reply, value->count);
        value->likely = take_row(reply, value->count);
    }
    if (value->type != ASSAY_STRING)
        return !reply->bad;
    return !reply->bad && value->count <= value->size && take_strings(value, texts);
}

static enum assay_status ask_values(struct assay *assay, const struct question *question,
                                    struct assay_values **values, struct assay_error *error)
{
    *values = NULL;
    struct assay_values *made = calloc(1, sizeof *made);
    if (!made)
        return no_memory(error);
    enum assay_status status = ask(assay, question, &made->reply, error);
    size_t count = status ? 0 : packet_take_count(&made->reply, 6 * sizeof(uint64_t));
    made->items = calloc(count + 1, sizeof *made->items);
    made->texts = calloc(count + 1, sizeof *made->texts);
    if (!status && (!made->items || !made->texts))
        status = no_memory(error);
    for (; !status && made->count < count; made->count++)
        if (!take_value(&made->reply, &made->items[made->count], &made->texts[made->count])) {
            free(made->texts[made->count]);
            status = not_whole(error);
        }
    if (!status && made->reply.bad)
        status = not_whole(error);
    if (status)
        assay_values_free(made);
    else
        *values = made;
    return status;
}

enum assay_status assay_reference(struct assay *assay, const struct assay_model *model,
                                  const struct assay_tensor *inputs, size_t n_inputs,
                                  struct assay_values **values, struct assay_error *error)
{
    const struct question question = {
        .kind = PACKET_REFERENCE, .model = model, .inputs = inputs, .n_inputs = n_inputs};
    return ask_values(assay, &question, values, error);
}

enum assay_status assay_run(struct assay *assay, const char *engine, const struct assay_model *model,
                            const struct assay_tensor *inputs, size_t n_inputs, struct assay_values **values,
                            struct assay_error *error)
{
    const struct question question = {
        .kind = PACKET_RUN, .engine = engine, .model = model, .inputs = inputs, .n_inputs = n_inputs};
    return ask_values(assay, &question, values, error);
}

size_t assay_values_count(const struct assay_values *values)
{
    return values->count;
}

const struct assay_value *assay_values_at(const struct assay_values *values, size_t index)
{
    return index < values->count ? &values->items[index] : NULL;
}

void assay_values_free(struct assay_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; i < values->count; i++)
        free(values->texts[i]);
    free(values->texts);
    free(values->items);
    packet_release(&values->reply);
    free(values);
}

/* ---- Verdicts ---- */

static void take_verdict(struct packet *reply, struct assay_verdict *verdict)
{
    verdict->answer = (enum assay_answer)packet_take(reply);
    verdict->word = packet_take_text(reply);
    verdict->sentence = packet_take_text(reply);
    verdict->output = packet_take_text(reply);
    verdict->element = packet_take(reply);
    verdict->expected = packet_take_double(reply);
    verdict->got = packet_take_double(reply);
    verdict->bound = packet_take_double(reply);
    verdict->factor = packet_take_double(reply);
    verdict->elements = packet_take(reply);
    verdict->judged = packet_take(reply);
    verdict->wrong = packet_take(reply);
    verdict->node = packet_take_text(reply);
}

static enum assay_status ask_verdict(struct assay *assay, const struct question *question,
                                     const struct assay_verdict **verdict, struct assay_error *error)
{
    *verdict = NULL;
    struct verdict_owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return no_memory(error);
    enum assay_status status = ask(assay, question, &owner->reply, error);
    if (!status) {
        take_verdict(&owner->reply, &owner->verdict);
        status = owner->reply.bad ? not_whole(error) : ASSAY_OK;
    }
    if (status)
        assay_verdict_free(&owner->verdict);
    else
        *verdict = &owner->verdict;
    return status;
}

enum assay_status assay_judge(struct assay *assay, const struct assay_model *model,
                              const struct assay_tensor *inputs, size_t n_inputs,
                              const struct assay_tensor *outputs, size_t n_outputs,
                              const struct assay_verdict **verdict, struct assay_error *error)
{
    const struct question question = {.kind = PACKET_JUDGE,
                                      .model = model,
                                      .inputs = inputs,
                                      .n_inputs = n_inputs,
                                      .others = outputs,
                                      .n_others = n_outputs,
                                      .has_others = true};
    return ask_verdict(assay, &question, verdict, error);
}

enum assay_status assay_judge_values(struct assay *assay, const struct assay_model *model,
                                     const struct assay_tensor *inputs, size_t n_inputs,
                                     const struct assay_tensor *values, size_t n_values,
                                     const struct assay_verdict **verdict, struct assay_error *error)
{
    const struct question question = {.kind = PACKET_JUDGE_VALUES,
                                      .model = model,
                                      .inputs = inputs,
                                      .n_inputs = n_inputs,
                                      .others = values,
                                      .n_others = n_values,
                                      .has_others = true};
    return ask_verdict(assay, &question, verdict, error);
}

enum assay_status assay_judge_engine(struct assay *assay, const char *engine, const struct assay_model *model,
                                     const struct assay_tensor *inputs, size_t n_inputs,
                                     const struct assay_verdict **verdict, struct assay_error *error)
{
    const struct question question = {.kind = PACKET_JUDGE_ENGINE,
                                      .engine = engine,
                                      .model = model,
                                      .inputs = inputs,
                                      .n_inputs = n_inputs};
    return ask_verdict(assay, &question, verdict, error);
}

void assay_verdict_free(const struct assay_verdict *verdict)
{
    struct verdict_owner *owner = (struct verdict_owner *)verdict;
    if (!owner)
        return;
    packet_release(&owner->reply);
    free(owner);
}

/* ---- Tolerances ---- */

static void take_tolerance(struct packet *reply, struct assay_tolerance *tolerance)
{
    tolerance->output = packet_take_text(reply);
    tolerance->rtol = packet_take_double(reply);
    tolerance->atol = packet_take_double(reply);
    tolerance->certain = packet_take(reply) != 0;
    tolerance->passes = packet_take_double(reply);
    tolerance->useful = packet_take(reply) != 0;
}

enum assay_status assay_tolerances_of(struct assay *assay, const struct assay_model *model,
                                      const struct assay_tensor *inputs, size_t n_inputs, double error_seen,
                                      const struct assay_tolerances **tolerances, struct assay_error *error)
{
    const struct question question = {.kind = PACKET_TOLERANCES,
                                      .number = error_seen,
                                      .model = model,
                                      .inputs = inputs,
                                      .n_inputs = n_inputs};
    struct packet reply;
    *tolerances = NULL;
    enum assay_status status = ask(assay, &question, &reply, error);
    size_t count = status ? 0 : packet_take_count(&reply, 6 * sizeof(uint64_t));
    struct tolerances_owner *owner = status ? NULL : calloc(1, sizeof *owner + count * sizeof *owner->items);
    if (!status && !owner)
        status = no_memory(error);
    for (size_t i = 0; owner && i < count; i++)
        take_tolerance(&reply, &owner->items[i]);
    if (!status && reply.bad)
        status = not_whole(error);
    if (status) {
        packet_release(&reply);
        free(owner);
        return status;
    }
    owner->tolerances = (struct assay_tolerances){count, owner->items};
    owner->reply = reply;
    *tolerances = &owner->tolerances;
    return ASSAY_OK;
}

void assay_tolerances_free(const struct assay_tolerances *tolerances)
{
    struct tolerances_owner *owner = (struct tolerances_owner *)tolerances;
    if (!owner)
        return;
    packet_release(&owner->reply);
    free(owner);
}
