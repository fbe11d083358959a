#include "library/server.h"

#include "base/file.h"
#include "base/file_map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "bounds/bounded.h"
#include "case/inputs.h"
#include "compare/compare.h"
#include "config.h"
#include "engine/handover.h"
#include "engine/panel.h"
#include "engine/wire_bounds.h"
#include "library/packet.h"
#include "model/valid.h"
#include "recorded/recorded.h"
#include "tensor/narrow.h"
#include "tolerances/tolerances.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 1 << 16, MOST_TENSORS = 1 << 16, PAYLOAD_LIMIT_GB = 64 };

struct loaded {
    uint64_t number;
    struct model *model;
    char *path; /* "" for one from memory */
};

struct server {
    struct arena arena;
    struct registry *registry;
    struct panel panel; /* the reference, and the engines that were asked so far */
    struct pool_options limits;
    size_t n_models, room;
    struct loaded *models;
    uint64_t last;
    bool open;
};

/* The tensors of a request. */
struct given {
    size_t count;
    struct value *values;
};

/* The values of enum assay_status, in the order of enum error_code. */
static uint64_t status_of(enum error_code code)
{
    static const uint64_t statuses[] = {
        [ERROR_NONE] = 0,      [ERROR_MEMORY] = 1, [ERROR_IO] = 2,
        [ERROR_FORMAT] = 3,    [ERROR_LIMIT] = 4,  [ERROR_INVALID] = 6,
        [ERROR_NOT_FOUND] = 7, [ERROR_USAGE] = 8,  [ERROR_UNSUPPORTED] = 5,
    };
    return statuses[code];
}

/* Elements that share bytes, as in ONNX files, have a byte each here. */
static int tensor_from_given(struct tensor *tensor, enum dtype type, const struct shape *shape,
                             const void *data, size_t size, struct error *err)
{
    if (!narrow_is_packed(type))
        return tensor_from_bytes(tensor, type, shape, data, size, err);
    if (tensor_alloc(tensor, type, shape, 0, err))
        return -1;
    size_t packed = narrow_packed_size(type, tensor->count);
    if (size == packed) {
        narrow_unpack(type, data, tensor->count, tensor->data);
        return 0;
    }
    tensor_release(tensor);
    return error_set(err, ERROR_FORMAT, "a tensor of %s has %zu bytes of data, and needs %zu",
                     dtype_name(type), size, packed);
}

static int take_tensor(struct packet *request, struct value *value, struct error *err)
{
    struct shape shape = {0};
    struct tensor tensor;
    size_t size;
    const char *name = packet_take_text(request);
    uint64_t type = packet_take(request), rank = packet_take(request);
    value_init(value);
    if (rank > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "a tensor has %llu axes, and %d are the most",
                         (unsigned long long)rank, TENSOR_MAX_RANK);
    shape.rank = (int)rank;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = (int64_t)packet_take(request);
    const void *data = packet_take_bytes(request, &size);
    if (request->bad || type > DTYPE_COUNT || dtype_check((int64_t)type, err))
        return error_set(err, ERROR_USAGE, "a tensor has no element type of ONNX");
    if (tensor_from_given(&tensor, (enum dtype)type, &shape, data, size, err))
        return *name ? error_prefix(err, "%s", name) : -1;
    if (*name)
        value_set_name(value, name);
    value_set_tensor(value, &tensor);
    return 0;
}

static int take_given(struct packet *request, struct given *given, struct error *err)
{
    *given = (struct given){0};
    size_t count = packet_take_count(request, 4 * sizeof(uint64_t));
    if (request->bad || count > MOST_TENSORS)
        return error_set(err, ERROR_LIMIT, "the request is not whole");
    given->values = memory_zeroed(count + 1, sizeof *given->values);
    for (; given->count < count; given->count++)
        if (take_tensor(request, &given->values[given->count], err)) {
            value_release(&given->values[given->count]);
            return -1;
        }
    return 0;
}

static void release_given(struct given *given)
{
    if (given->values)
        values_free(given->values, given->count);
    *given = (struct given){0};
}

static const struct loaded *find_model(const struct server *server, uint64_t number, struct error *err)
{
    for (size_t i = 0; i < server->n_models; i++)
        if (server->models[i].number == number)
            return &server->models[i];
    error_set(err, ERROR_USAGE, "the model was freed");
    return NULL;
}

static int hello(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    uint64_t protocol = packet_take(request);
    const char *version = packet_take_text(request);
    if (protocol != PACKET_PROTOCOL)
        return error_set(
            err, ERROR_USAGE,
            "libassay %s speaks protocol %llu, and assay-judge %s speaks %d: install both of one "
            "version",
            version, (unsigned long long)protocol, ASSAY_VERSION, PACKET_PROTOCOL);
    double deadline = packet_take_double(request);
    uint64_t memory = packet_take(request), sandbox = packet_take(request);
    size_t count = packet_take_count(request, 2 * sizeof(uint64_t));
    const char **files = arena_array(&server->arena, count + 1, sizeof *files);
    for (size_t i = 0; i < count; i++)
        files[i] = arena_strdup(&server->arena, packet_take_text(request));
    if (request->bad || server->open || sandbox > SANDBOX_OFF || !(deadline >= 0))
        return error_set(err, ERROR_USAGE, "the options make no sense");
    static const struct given_labels none;
    server->limits = (struct pool_options){
        .deadline = deadline, .memory = (size_t)memory, .sandbox = (enum sandbox_mode)sandbox};
    limits_set(
        (struct limits){deadline > 0 ? deadline : POOL_DEADLINE, memory ? (size_t)memory : POOL_MEMORY});
    if (registry_open(&server->registry, files, count, err) ||
        panel_open(&server->panel, server->registry, &none, &server->limits, err) ||
        panel_add_reference(&server->panel, server->registry, err))
        return -1;
    server->open = true;
    packet_put(reply, PACKET_PROTOCOL);
    packet_put_text(reply, ASSAY_VERSION);
    return 0;
}

static void put_names(struct packet *reply, const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    struct inputs inputs = {0};
    bool known = !inputs_init(&inputs, model, NULL);
    packet_put(reply, known ? inputs.count : 0);
    for (size_t i = 0; known && i < inputs.count; i++)
        packet_put_text(reply, inputs.slots[i].name);
    inputs_release(&inputs);
    packet_put(reply, graph->n_output);
    for (size_t i = 0; i < graph->n_output; i++)
        packet_put_text(reply, graph->output[i]->name);
}

/* Takes over the model. */
static int keep_model(struct server *server, struct model *model, const char *path, struct packet *reply,
                      struct error *err)
{
    if (server->n_models == MOST_MODELS || model_valid(model, err)) {
        model_free(model);
        return server->n_models == MOST_MODELS ? error_set(err, ERROR_LIMIT, "too many models are loaded")
                                               : -1;
    }
    server->models = memory_grow(server->models, &server->room, server->n_models + 1, sizeof *server->models);
    server->models[server->n_models++] = (struct loaded){++server->last, model, memory_strdup(path)};
    packet_put(reply, server->last);
    put_names(reply, model);
    return 0;
}

static int load(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct model *model;
    const char *path = packet_take_text(request);
    char *inside = file_join(path, "model.onnx");
    int status = model_load(&model, file_exists(inside) ? inside : path, err);
    if (!status && keep_model(server, model, path, reply, err))
        status = error_prefix(err, "%s", path);
    free(inside);
    return status;
}

static int parse(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct model *model;
    size_t size;
    const void *bytes = packet_take_bytes(request, &size);
    return model_parse(&model, bytes ? bytes : "", size, err) ? -1
                                                              : keep_model(server, model, "", reply, err);
}

static int unload(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    (void)reply;
    const struct loaded *found = find_model(server, packet_take(request), err);
    if (!found)
        return -1;
    struct loaded *at = &server->models[found - server->models];
    model_free(at->model);
    free(at->path);
    *at = server->models[--server->n_models];
    return 0;
}

/* ---- Values ---- */

static void put_row(struct packet *reply, const struct tensor *row)
{
    packet_put_bytes(reply, row ? row->data : NULL, row ? row->size : 0);
}

static void put_elements(struct packet *reply, const struct tensor *tensor)
{
    if (!narrow_is_packed(tensor->type)) {
        packet_put_bytes(reply, tensor->data, tensor->size);
        return;
    }
    void *packed = packet_put_room(reply, narrow_packed_size(tensor->type, tensor->count));
    if (packed)
        narrow_pack(tensor->type, tensor->data, tensor->count, packed);
}

static int put_value(struct packet *reply, const struct value *value, const struct wire_bounds *bounds,
                     struct error *err)
{
    if (value->kind != VALUE_TENSOR)
        return error_set(err, ERROR_UNSUPPORTED, "the output %s is no tensor but a sequence or an optional",
                         value->name ? value->name : "");
    const struct tensor *tensor = &value->tensors[0];
    packet_put_text(reply, value->name);
    packet_put(reply, (uint64_t)tensor->type);
    packet_put(reply, (uint64_t)tensor->shape.rank);
    for (int i = 0; i < tensor->shape.rank; i++)
        packet_put(reply, (uint64_t)tensor->shape.dims[i]);
    packet_put(reply, tensor->count);
    put_elements(reply, tensor);
    bool bounded = bounds && bounds->present && dtype_is_real(tensor->type);
    packet_put(reply, bounded);
    if (!bounded)
        return 0;
    /* The exact values of whole numbers are those of the tensor. */
    double *exact = packet_put_room(reply, tensor->count * sizeof *exact);
    const double *wide = bounds->exact.count == tensor->count ? bounds->exact.data : NULL;
    for (size_t i = 0; exact && i < tensor->count; i++)
        exact[i] = wide ? wide[i] : (double)tensor_get(tensor, i);
    put_row(reply, bounds->hard.count == tensor->count ? &bounds->hard : NULL);
    put_row(reply, bounds->likely.count == tensor->count ? &bounds->likely : NULL);
    return 0;
}

/* What a result other than an answer means for whoever asked for values. */
static int refused(const char *engine, const struct result *result, struct error *err)
{
    struct str words;
    str_init(&words);
    result_words(result, &words);
    enum error_code code = result->outcome == OUTCOME_REJECTED    ? ERROR_INVALID
                           : result->outcome == OUTCOME_NO_ENGINE ? ERROR_NOT_FOUND
                           : result->outcome == OUTCOME_MEMORY    ? ERROR_LIMIT
                                                                  : ERROR_UNSUPPORTED;
    error_set(err, code, "%s: %s%s%s", engine, outcome_name(result->outcome), words.length ? ": " : "",
              words.data);
    str_release(&words);
    return -1;
}

/* Runs one engine of the pool on one model and sample. */
static int run_on(struct server *server, int engine, const struct loaded *loaded, const struct given *given,
                  struct result *result, struct error *err)
{
    struct handover handover = {0};
    struct job job = {.engine = engine,
                      .n_inputs = given->count,
                      .inputs = given->values,
                      .bounds = engine == server->panel.reference};
    result_init(result);
    int status = handover_open(&handover, server->panel.pool, loaded->model, err);
    if (!status) {
        handover_give(&handover, &job);
        status = pool_run_one(server->panel.pool, &job, result, err);
    }
    handover_close(&handover);
    return status;
}

static int put_values(const char *engine, const struct result *result, struct packet *reply,
                      struct error *err)
{
    if (result->outcome != OUTCOME_OK)
        return refused(engine, result, err);
    packet_put(reply, result->count);
    for (size_t i = 0; i < result->count; i++)
        if (put_value(reply, &result->outputs[i], result->bounds ? &result->bounds[i] : NULL, err))
            return -1;
    return 0;
}

/* The model and the inputs, which every request about answers begins with; values without a name get those of
 * the model. */
static const struct loaded *take_case(struct server *server, struct packet *request, struct given *given,
                                      struct error *err)
{
    struct inputs inputs = {0};
    const struct loaded *loaded = find_model(server, packet_take(request), err);
    if (take_given(request, given, loaded ? err : NULL) || !loaded)
        return NULL;
    bool fits = !inputs_of_values(&inputs, loaded->model, given->values, given->count, err);
    for (size_t i = 0; fits && i < given->count && i < inputs.count; i++)
        if (!given->values[i].name)
            value_set_name(&given->values[i], inputs.slots[i].name);
    fits = fits && !inputs_fit(loaded->model, given->values, given->count, err);
    inputs_release(&inputs);
    return fits ? loaded : NULL;
}

static int reference(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct given given = {0};
    struct result result;
    result_init(&result);
    const struct loaded *loaded = take_case(server, request, &given, err);
    int status = loaded ? run_on(server, server->panel.reference, loaded, &given, &result, err) : -1;
    if (!status)
        status = put_values("the reference", &result, reply, err);
    result_release(&result);
    release_given(&given);
    return status;
}

/* The place in the panel of an engine, which is started when it is first asked for. */
static long find_engine(struct server *server, const char *label, struct error *err)
{
    long place = panel_find(&server->panel, label);
    if (place >= 0)
        return place;
    return panel_add(&server->panel, server->registry, given_typed(&server->arena, label), err);
}

static int run(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct given given = {0};
    struct result result;
    result_init(&result);
    const char *label = packet_take_text(request);
    const struct loaded *loaded = take_case(server, request, &given, err);
    long place = loaded ? find_engine(server, label, err) : -1;
    int status = place < 0 ? -1 : run_on(server, server->panel.engines[place], loaded, &given, &result, err);
    if (!status)
        status = put_values(label, &result, reply, err);
    result_release(&result);
    release_given(&given);
    return status;
}

/* ---- Verdicts ---- */

/* In the order of enum assay_answer. */
enum { RIGHT = 1, WRONG, UNJUDGED };

static uint64_t answer_of(enum heard heard)
{
    return heard == HEARD_JUDGED ? RIGHT : heard == HEARD_FINDING ? WRONG : UNJUDGED;
}

struct said {
    uint64_t answer;
    const char *word, *sentence, *output, *node;
    const struct verdict *verdict;
};

static void put_verdict(struct packet *reply, const struct said *said)
{
    static const struct verdict nothing;
    const struct verdict *v = said->verdict ? said->verdict : &nothing;
    bool of_element = v->judged > 0;
    packet_put(reply, said->answer);
    packet_put_text(reply, said->word);
    packet_put_text(reply, said->sentence);
    packet_put_text(reply, said->output);
    packet_put(reply, v->element);
    packet_put_double(reply, of_element ? (double)v->expected : NAN);
    packet_put_double(reply, of_element ? (double)v->got : NAN);
    packet_put_double(reply, of_element ? v->hard : NAN);
    packet_put_double(reply, v->factor);
    packet_put(reply, v->total);
    packet_put(reply, v->judged);
    packet_put(reply, v->wrong);
    packet_put_text(reply, said->node);
}

static const char *output_name(const struct model *model, const struct verdict *verdict)
{
    return verdict->output < model->graph->n_output ? model->graph->output[verdict->output]->name : "";
}

/* The outputs that were given, in the model's order, as if an engine had answered them. */
static int as_result(const struct model *model, struct given *outputs, struct result *result,
                     struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    result->outcome = OUTCOME_OK;
    result->stage = STAGE_RUN;
    result->outputs = memory_zeroed(graph->n_output + 1, sizeof *result->outputs);
    if (outputs->count != graph->n_output)
        return error_set(err, ERROR_USAGE, "the model has %zu outputs, and %zu are given", graph->n_output,
                         outputs->count);
    for (; result->count < graph->n_output; result->count++) {
        const char *name = graph->output[result->count]->name;
        const struct value *value = value_for_input(outputs->values, outputs->count, name, result->count);
        value_init(&result->outputs[result->count]);
        if (!value)
            return error_set(err, ERROR_USAGE, "the output %s is not given", name);
        if (value_copy(&result->outputs[result->count], value, err))
            return -1;
        value_set_name(&result->outputs[result->count], name);
    }
    return 0;
}

static void judge_result(const struct model *model, const struct result *expected, const struct result *got,
                         struct packet *reply)
{
    struct judgement judgement;
    const struct judge_entry entry = {.name = "the answer", .result = got};
    judge_case(&judgement, expected, &entry, 1);
    const struct verdict *verdict = &judgement.verdicts[0];
    /* Whether what is suspect is wrong can only be told by asking the engine. */
    bool told = judgement.by_reference && !verdict_is(verdict->kind, CLASS_SUSPECT);
    put_verdict(reply, &(struct said){.answer = told ? answer_of(verdict_heard(verdict)) : UNJUDGED,
                                      .word = verdict_name(verdict->kind),
                                      .sentence = judgement.by_reference ? verdict->text : judgement.reason,
                                      .output = output_name(model, verdict),
                                      .verdict = verdict});
    judgement_release(&judgement);
}

static int judge(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct given given = {0}, outputs = {0};
    struct result expected, got;
    result_init(&expected);
    result_init(&got);
    const struct loaded *loaded = take_case(server, request, &given, err);
    int status = loaded ? take_given(request, &outputs, err) : -1;
    if (!status)
        status = as_result(loaded->model, &outputs, &got, err);
    if (!status)
        status = run_on(server, server->panel.reference, loaded, &given, &expected, err);
    if (!status && expected.outcome == OUTCOME_REJECTED)
        status = refused("the reference", &expected, err);
    if (!status)
        judge_result(loaded->model, &expected, &got, reply);
    result_release(&expected);
    result_release(&got);
    release_given(&outputs);
    release_given(&given);
    return status;
}

static uint64_t answer_of_recording(const struct recorded *recorded)
{
    enum recorded_kind kind = recorded->kind;
    bool open = kind == RECORDED_UNJUDGED || kind == RECORDED_ADDS_UP || kind == RECORDED_BITS;
    return kind == RECORDED_AGREES ? RIGHT : open || recorded->by_trial ? UNJUDGED : WRONG;
}

static void put_recorded(const struct recorded *recorded, struct packet *reply)
{
    static const struct recorded_look none = {.value = ""};
    bool names = recorded->kind != RECORDED_AGREES && recorded->first < recorded->count;
    const struct recorded_look *look = names ? &recorded->looks[recorded->first] : &none;
    struct verdict verdict = {.factor = look->beyond, .expected = NAN, .got = NAN, .hard = NAN};
    if (look->off_alone) {
        verdict.element = look->worst.place;
        verdict.expected = look->worst.expected;
        verdict.got = look->worst.got;
        verdict.hard = look->worst.bound;
    }
    for (size_t i = 0; i < recorded->count; i++) {
        verdict.total += recorded->looks[i].elements;
        verdict.judged +=
            recorded->looks[i].judged ? recorded->looks[i].elements - recorded->looks[i].open : 0;
        verdict.wrong += recorded->looks[i].off;
    }
    put_verdict(reply, &(struct said){.answer = answer_of_recording(recorded),
                                      .word = recorded_word(recorded->kind),
                                      .sentence = recorded->text,
                                      .output = look->value,
                                      .node = names ? recorded->nodes : "",
                                      .verdict = &verdict});
}

static int judge_values(struct server *server, struct packet *request, struct packet *reply,
                        struct error *err)
{
    struct given given = {0}, values = {0};
    struct inputs inputs = {0};
    struct dump recording = {0};
    struct recorded recorded = {0};
    struct recorded_options options = {.seconds = 20};
    const struct loaded *loaded = take_case(server, request, &given, err);
    int status = loaded ? take_given(request, &values, err) : -1;
    if (!status)
        status = inputs_of_values(&inputs, loaded->model, given.values, given.count, err);
    if (!status) {
        status = dump_of_values(&recording, loaded->model, values.values, values.count, err);
        if (!status)
            status = recorded_judge(&recorded, loaded->model, &recording, &inputs, &options, err);
        if (!status)
            put_recorded(&recorded, reply);
        recorded_release(&recorded);
        dump_close(&recording);
    }
    inputs_release(&inputs);
    release_given(&values);
    release_given(&given);
    return status;
}

static void put_engine(const struct compare *compare, const char *label, const struct model *model,
                       struct packet *reply)
{
    const struct engine_verdict *overall = &compare->verdicts.engine[0];
    struct str sentence, node;
    enum heard heard = HEARD_NOTHING;
    for (enum heard h = 0; h < HEARD_COUNT; h++)
        if (overall->heard[h])
            heard = h;
    str_init(&sentence);
    str_init(&node);
    str_printf(&sentence, "%s ", label);
    engine_verdict_sentence(overall, &sentence);
    for (size_t i = 0; i < overall->n_nodes; i++)
        str_printf(&node, "%s%s (%s)", i ? ", " : "", overall->operators[i], overall->nodes[i]);
    put_verdict(reply, &(struct said){.answer = answer_of(heard),
                                      .word = verdict_name(overall->verdict.kind),
                                      .sentence = sentence.data,
                                      .output = output_name(model, &overall->verdict),
                                      .node = node.data,
                                      .verdict = &overall->verdict});
    str_release(&sentence);
    str_release(&node);
}

/* As `assay compare` does with one sample. */
static int judge_engine(struct server *server, struct packet *request, struct packet *reply,
                        struct error *err)
{
    struct given given = {0};
    struct inputs inputs = {0};
    const char *label = packet_take_text(request);
    const struct loaded *loaded = take_case(server, request, &given, err);
    long place = loaded ? find_engine(server, label, err) : -1;
    int status = place < 0 ? -1 : inputs_of_values(&inputs, loaded->model, given.values, given.count, err);
    if (!status) {
        struct compare compare;
        struct panel one = server->panel;
        const struct compare_options options = {
            .thresholds = {.k = 1}, .batch = 1, .judge = 1, .operators = 1, .no_causes = true};
        one.count = 1;
        one.engines = &server->panel.engines[place];
        status = compare_run(&compare, *loaded->path ? loaded->path : "the model", loaded->model, &inputs,
                             &one, &options, err);
        if (!status)
            put_engine(&compare, label, loaded->model, reply);
        compare_release(&compare);
    }
    inputs_release(&inputs);
    release_given(&given);
    return status;
}

static int tolerances(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    struct given given = {0};
    struct tolerances fits = {0};
    double seen = packet_take_double(request);
    const struct loaded *loaded = take_case(server, request, &given, err);
    if (!(seen > 0))
        seen = 0.001;
    int status = loaded ? tolerances_init(&fits, loaded->model, PRECISION_OWN, false, err) : -1;
    if (!status)
        status = tolerances_add(&fits, given.values, given.count, NULL, 0, err);
    if (!status) {
        tolerances_finish(&fits);
        packet_put(reply, fits.count);
        for (size_t i = 0; i < fits.count; i++) {
            struct tolerance_choice choice = tolerances_choose(&fits.rows[i], seen);
            packet_put_text(reply, fits.rows[i].name);
            packet_put_double(reply, choice.least.rtol);
            packet_put_double(reply, choice.least.atol);
            packet_put(reply, choice.basis == BASIS_HARD);
            packet_put_double(reply, choice.passes);
            packet_put(reply, choice.most >= 0);
        }
    }
    tolerances_release(&fits);
    release_given(&given);
    return status;
}

static int answer(struct server *server, struct packet *request, struct packet *reply, struct error *err)
{
    static int (*const answers[])(struct server * server, struct packet * request, struct packet * reply,
                                  struct error * err) = {
        [PACKET_HELLO] = hello,
        [PACKET_LOAD] = load,
        [PACKET_PARSE] = parse,
        [PACKET_UNLOAD] = unload,
        [PACKET_REFERENCE] = reference,
        [PACKET_RUN] = run,
        [PACKET_JUDGE] = judge,
        [PACKET_JUDGE_VALUES] = judge_values,
        [PACKET_JUDGE_ENGINE] = judge_engine,
        [PACKET_TOLERANCES] = tolerances,
    };
    uint64_t kind = packet_take(request);
    if (kind >= sizeof answers / sizeof *answers || !answers[kind])
        return error_set(err, ERROR_USAGE, "there is no request %llu", (unsigned long long)kind);
    if (!server->open && kind != PACKET_HELLO)
        return error_set(err, ERROR_USAGE, "a request came before hello");
    return answers[kind](server, request, reply, err);
}

static void close_server(struct server *server)
{
    for (size_t i = 0; i < server->n_models; i++) {
        model_free(server->models[i].model);
        free(server->models[i].path);
    }
    free(server->models);
    panel_close(&server->panel);
    if (server->registry)
        registry_free(server->registry);
    arena_release(&server->arena);
}

int library_serve(int fd)
{
    struct server server = {.panel.reference = -1};
    struct packet request = {0};
    int got;
    arena_init(&server.arena);
    while ((got = packet_receive(fd, &request, (uint64_t)PAYLOAD_LIMIT_GB << 30, NULL, NULL)) == 1) {
        struct packet reply = {0}, body = {0};
        struct error err = {0};
        int status = answer(&server, &request, &body, &err);
        if (file_maps_were_cut())
            status =
                error_set(&err, ERROR_IO, "a file was cut off while it was read, so nothing here is certain");
        packet_put(&reply, status ? status_of(err.code) : 0);
        packet_put_text(&reply, status ? err.message : "");
        packet_put_bytes(&reply, status ? NULL : body.data, status ? 0 : body.length);
        bool lost = reply.failed || body.failed || packet_send(fd, &reply);
        packet_release(&reply);
        packet_release(&body);
        if (lost)
            break;
    }
    packet_release(&request);
    close_server(&server);
    return got < 0;
}
