#include "engine/adapter_check.h"

#include "base/str.h"
#include "engine/dialogue.h"
#include "engine/knobs.h"
#include "engine/paths.h"
#include "model/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 2,
    COLUMNS = 3,
    LARGE = 400 * 1000,
    SHARED = 2 * WIRE_SHARED_LEAST / ROWS / (int)sizeof(float), /* columns that use the shared memory */
    TO_EXIT = 5                                                 /* seconds */
};

/* Operators that leave a positive number as it is: an engine has one of them. */
static const char *const operators[] = {"Relu", "Identity", "Abs", "LeakyRelu"};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* What was wrong with an answer: what it says, that it is an error, that it is no answer to the request, or
 * that there is none. */
enum fault { FAULT_SAYS, FAULT_ERROR, FAULT_GARBLED, FAULT_NONE };

struct exam {
    struct dialogue talk;
    const struct engine_spec *spec;
    double deadline;
    uint64_t id;          /* of the last request put, */
    uint64_t heard;       /* and of the last answered */
    const char *operator; /* that the engine has; NULL: none */
    bool cannot_run;      /* a step that others depend on failed: they would fail for the same reason */
    bool gone;            /* the process: nothing more can be tried */
    bool offered;         /* the shared memory */
    enum fault fault;     /* the first of the present step, */
    const char *blamed;   /* in the answer to this request, "load" */
    bool lacks;           /* an answer of the present step was that something is unsupported */
    struct str said;      /* of the present step */
    struct wire_message reply;
};

static bool fail(struct exam *exam, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct exam *exam, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str_clear(&exam->said);
    str_add(&exam->said, text);
    return false;
}

/* The first fault of a step is what it is about. */
static void blame(struct exam *exam, enum fault fault, const char *request)
{
    if (exam->blamed)
        return;
    exam->fault = fault;
    exam->blamed = request;
}

/* The reply to the next request that was put. False: there is none, and why. */
static bool hear(struct exam *exam, const char *request)
{
    struct str why;
    str_init(&why);
    wire_message_release(&exam->reply);
    exam->gone = dialogue_hear(&exam->talk, &exam->reply, &why) != 0;
    bool good = !exam->gone;
    exam->heard++;
    if (exam->gone) {
        blame(exam, exam->talk.stop == DIALOGUE_GARBLED ? FAULT_GARBLED : FAULT_NONE, request);
        fail(exam, "to %s: %s", request, why.data);
    } else if (exam->reply.reply->id != exam->heard) {
        good = fail(exam, "the answer to %s, request %llu, says that it answers request %llu", request,
                    (unsigned long long)exam->heard, (unsigned long long)exam->reply.reply->id);
        exam->gone = true; /* who is asked what is lost */
        blame(exam, FAULT_GARBLED, request);
    } else if (exam->reply.reply->error) {
        exam->lacks |= exam->reply.reply->error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED;
    }
    str_release(&why);
    return good;
}

static const char *class_name(const Assay__Error *error)
{
    return error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED ? "unsupported"
           : error->class_ == ASSAY__ERROR__CLASS__REJECTED  ? "rejected"
                                                             : "failed";
}

/* Hears a result of this kind. */
static bool hear_result(struct exam *exam, const char *request, Assay__Reply__ResultCase kind)
{
    if (!hear(exam, request))
        return false;
    const Assay__Reply *reply = exam->reply.reply;
    if (reply->error) {
        blame(exam, FAULT_ERROR, request);
        return fail(exam, "to %s: %s: %.400s", request, class_name(reply->error), reply->error->message);
    }
    if (reply->result_case == kind)
        return true;
    blame(exam, FAULT_GARBLED, request);
    return fail(exam, "the answer to %s is to another question", request);
}

static bool hear_done(struct exam *exam)
{
    return hear_result(exam, "unload", ASSAY__REPLY__RESULT_DONE);
}

/* Models. */

struct plan {
    const char *operator;
    const char *domain; /* "" for ONNX's own */
    int64_t rows, columns;
    bool weights; /* an Add of zeros, which are an initialiser, behind the operator */
    bool two;     /* two outputs: y, and z, which applies the operator to y */
};

static void add_foreign_domain(struct model *model, Onnx__NodeProto *node, const char *domain)
{
    Onnx__ModelProto *proto = model->proto;
    Onnx__OperatorSetIdProto **sets = arena_array(&model->arena, 2, sizeof *sets);
    sets[0] = proto->opset_import[0];
    sets[1] = arena_alloc(&model->arena, sizeof **sets);
    onnx__operator_set_id_proto__init(sets[1]);
    sets[1]->domain = node->domain = arena_strdup(&model->arena, domain);
    sets[1]->has_version = true;
    sets[1]->version = 1;
    proto->opset_import = sets;
    proto->n_opset_import = 2;
}

static void make_model(const struct plan *plan, uint8_t **data, size_t *size)
{
    struct shape shape = shape_make(2, (int64_t[]){plan->rows, plan->columns});
    struct model *model = model_new(13);
    struct error err;
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    Onnx__NodeProto *node = model_add_node(model, plan->operator, NULL, 1, (const char *[]){"x"}, 1,
                                           (const char *[]){plan->weights ? "h" : "y"});
    if (*plan->domain)
        add_foreign_domain(model, node, plan->domain);
    if (plan->weights) {
        struct tensor zeros;
        tensor_init(&zeros);
        if (tensor_alloc(&zeros, DTYPE_FLOAT, &shape, SIZE_MAX, &err))
            abort(); /* a few bytes */
        model_add_initializer(model, "w", &zeros);
        tensor_release(&zeros);
        model_add_node(model, "Add", NULL, 2, (const char *[]){"h", "w"}, 1, (const char *[]){"y"});
    }
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    if (plan->two) {
        model_add_node(model, plan->operator, NULL, 1, (const char *[]){"y"}, 1, (const char *[]){"z"});
        model_add_output(model, "z", DTYPE_FLOAT, &shape);
    }
    if (model_to_bytes(model, data, size, &err))
        abort(); /* a model of two nodes can be packed */
    model_free(model);
}

static void put_bytes(struct exam *exam, const void *data, size_t size, const char *wanted)
{
    struct wire_out *out = &exam->talk.worker.pending;
    wire_put_load(
        out, ++exam->id,
        &(struct wire_load){.model = data, .size = size, .n_outputs = wanted ? 1 : 0, .outputs = &wanted});
}

/* Small models are copied into what is sent. */
static void put_load(struct exam *exam, const struct plan *plan, const char *wanted)
{
    uint8_t *data;
    size_t size;
    make_model(plan, &data, &size);
    put_bytes(exam, data, size, wanted);
    free(data);
}

static struct plan usual(const struct exam *exam)
{
    return (struct plan){.operator= exam->operator? exam->operator: operators[0],
                         .domain = "",
                         .rows = ROWS,
                         .columns = COLUMNS };
}

/* Inputs: positive numbers of which no two are alike. */

static struct value make_input(double first, int64_t rows, int64_t columns)
{
    struct shape shape = shape_make(2, (int64_t[]){rows, columns});
    struct tensor tensor;
    struct value value;
    struct error err;
    tensor_init(&tensor);
    value_init(&value);
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, SIZE_MAX, &err))
        abort();
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, (long double)first + (long double)i / 4);
    value_set_name(&value, "x");
    value_set_tensor(&value, &tensor);
    return value;
}

static void put_run(struct exam *exam, const struct value *input)
{
    wire_put_run(&exam->talk.worker.pending, ++exam->id, input, 1, WIRE_NO_BOUNDS);
}

static void put_unload(struct exam *exam)
{
    wire_put_unload(&exam->talk.worker.pending, ++exam->id);
}

/* The answer to a run must be the input. */
static bool hear_values(struct exam *exam, const struct value *input, const char *name)
{
    char shape[SHAPE_TEXT_SIZE];
    if (!hear_result(exam, "run", ASSAY__REPLY__RESULT_VALUES))
        return false;
    if (exam->reply.count != 1)
        return fail(exam, "%zu values in the answer to run, and 1 was due: %s", exam->reply.count, name);
    const struct value *got = &exam->reply.values[0];
    if (got->kind != VALUE_TENSOR || got->count != 1)
        return fail(exam, "the value %s in the answer to run is no tensor", name);
    const struct tensor *a = &got->tensors[0], *b = &input->tensors[0];
    if (a->type != b->type || !shape_equal(&a->shape, &b->shape))
        return fail(exam, "%s is %s %s, and float32 [%lld,%lld] was due", name, dtype_name(a->type),
                    shape_text(&a->shape, shape), (long long)b->shape.dims[0], (long long)b->shape.dims[1]);
    for (size_t i = 0; i < a->count; i++)
        if (tensor_get(a, i) != tensor_get(b, i))
            return fail(exam, "element %zu of %s is %Lg, and %s of the input is %Lg", i, name,
                        tensor_get(a, i), exam->operator, tensor_get(b, i));
    return true;
}

/* One model on one input, all requests at once, as Assay sends them. */
static bool run_model(struct exam *exam, const struct plan *plan, double first, const char *wanted)
{
    struct value input = make_input(first, plan->rows, plan->columns);
    put_load(exam, plan, wanted);
    put_run(exam, &input);
    put_unload(exam);
    bool loaded = hear_result(exam, "load", ASSAY__REPLY__RESULT_LOADED);
    bool ran = false;
    if (loaded)
        ran = hear_values(exam, &input, wanted ? wanted : "y");
    else if (!exam->gone)
        exam->gone = !hear(exam, "run"); /* the rest of what was sent is answered, too */
    struct str first_fault;
    str_init(&first_fault);
    str_add(&first_fault, exam->said.data);
    bool unloaded = !exam->gone && hear_done(exam);
    if (first_fault.length)
        fail(exam, "%s", first_fault.data);
    str_release(&first_fault);
    value_release(&input);
    return loaded && ran && unloaded;
}

/* Steps, in order. Each says in exam->said what it saw. */

static bool step_start(struct exam *exam)
{
    struct error err;
    char *libexec = paths_libexec();
    exam->gone = dialogue_start(&exam->talk, exam->spec, libexec, exam->deadline, &err) != 0;
    free(libexec);
    if (exam->gone)
        return fail(exam, "%s", err.message);
    wire_put_hello(&exam->talk.worker.pending, ++exam->id, exam->spec->knobs, exam->spec->knob_names,
                   exam->spec->knob_values, exam->talk.worker.shared_size, false);
    exam->offered = exam->talk.worker.shared_size > 0;
    hear(exam, "hello");
    static const char launcher[] = "; last on stderr: assay-launch: ";
    const char *refused = strstr(exam->said.data, launcher);
    if (refused)
        return fail(exam, "%s", refused + sizeof launcher - 1);
    return !(exam->gone && exam->talk.worker.ended && !exam->talk.worker.killed &&
             dialogue_was_unread(&exam->talk)) ||
           fail(exam, "%s", exam->said.data + strlen("to hello: "));
}

static bool check_knobs(struct exam *exam, const Assay__Welcome *welcome)
{
    struct error err;
    if (knobs_check(exam->spec, welcome, &err))
        return fail(exam, "%s, and it did not refuse it", err.message);
    for (size_t i = 0; i < welcome->n_knobs; i++)
        if (!*welcome->knobs[i]->name)
            return fail(exam, "knob %zu has no name", i);
    return true;
}

static bool step_hello(struct exam *exam)
{
    if (exam->gone)
        return false;
    const Assay__Reply *reply = exam->reply.reply;
    exam->gone = true; /* unless all is well */
    if (reply->error) {
        blame(exam, FAULT_ERROR, "hello");
        return fail(exam, "it refused: %s: %.400s", class_name(reply->error), reply->error->message);
    }
    if (reply->result_case != ASSAY__REPLY__RESULT_WELCOME)
        return fail(exam, "the answer to hello is no welcome");
    const Assay__Welcome *welcome = reply->welcome;
    if (welcome->protocol != WIRE_PROTOCOL)
        return fail(exam, "it speaks protocol %u, and Assay speaks %d", welcome->protocol, WIRE_PROTOCOL);
    exam->gone = false;
    if (!welcome->shared)
        worker_unshare(&exam->talk.worker);
    if (!*welcome->name || !*welcome->version)
        return fail(exam, "its welcome has no %s", *welcome->name ? "version" : "name");
    if (!check_knobs(exam, welcome))
        return false;
    str_printf(&exam->said, "%s %s, protocol %u, %zu knob%s, ", welcome->name, welcome->version,
               welcome->protocol, welcome->n_knobs, welcome->n_knobs == 1 ? "" : "s");
    if (welcome->n_operators)
        str_printf(&exam->said, "%zu operators", welcome->n_operators);
    else
        str_add(&exam->said, "operators not told");
    return true;
}

static bool step_load(struct exam *exam)
{
    struct plan plan = usual(exam);
    for (size_t i = 0; i < OPERATORS; i++) {
        plan.operator= operators[i];
        put_load(exam, &plan, NULL);
        if (hear_result(exam, "load", ASSAY__REPLY__RESULT_LOADED)) {
            exam->operator= operators[i];
            str_clear(&exam->said);
            str_printf(&exam->said, "%s on float32 [%d,%d]", exam->operator, ROWS, COLUMNS);
            return true;
        }
        bool lacks = !exam->gone && exam->reply.reply->error &&
                     exam->reply.reply->error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED;
        if (!lacks)
            return false;
    }
    return fail(exam, "it supports none of Relu, Identity, Abs and LeakyRelu: %s",
                exam->reply.reply->error->message);
}

static bool run_loaded(struct exam *exam, double first)
{
    struct value input = make_input(first, ROWS, COLUMNS);
    put_run(exam, &input);
    bool good = hear_values(exam, &input, "y");
    value_release(&input);
    return good;
}

static bool step_run(struct exam *exam)
{
    return run_loaded(exam, 5);
}

static bool step_run_again(struct exam *exam)
{
    return run_loaded(exam, 9);
}

static bool step_unload(struct exam *exam)
{
    put_unload(exam);
    return hear_done(exam);
}

static bool step_second(struct exam *exam)
{
    struct plan plan = usual(exam);
    return run_model(exam, &plan, 17, NULL) && run_model(exam, &plan, 23, NULL);
}

static bool step_replace(struct exam *exam)
{
    struct plan plan = usual(exam), wide = plan;
    wide.columns = COLUMNS + 2;
    put_load(exam, &plan, NULL);
    return hear_result(exam, "load", ASSAY__REPLY__RESULT_LOADED) && run_model(exam, &wide, 31, NULL);
}

static bool step_weights(struct exam *exam)
{
    struct plan plan = usual(exam);
    plan.weights = true;
    if (run_model(exam, &plan, 37, NULL))
        return true;
    if (!exam->lacks)
        return false;
    str_clear(&exam->said);
    str_add(&exam->said, "not tried with Add, which it does not support");
    return true;
}

static bool step_wanted(struct exam *exam)
{
    struct plan plan = usual(exam);
    plan.two = true;
    return run_model(exam, &plan, 41, "z") && run_model(exam, &plan, 43, "y");
}

static bool step_large(struct exam *exam)
{
    struct plan plan = usual(exam);
    plan.columns = LARGE;
    bool good = run_model(exam, &plan, 1, NULL);
    if (good)
        str_printf(&exam->said, "%d bytes in chunks of 1 MiB", ROWS * LARGE * 4);
    return good;
}

/* A run whose input lies in this half of the shared memory. Gives the room for its answer. */
static struct wire_place put_run_shared(struct exam *exam, int half, const struct value *input)
{
    struct worker *worker = &exam->talk.worker;
    size_t size = worker->shared_size / 2;
    wire_out_place(&worker->pending, worker->shared, (struct wire_place){(size_t)half * size, size});
    put_run(exam, input);
    return worker->pending.place;
}

/* Hears the answer to a run, whose payloads may lie at this place; *there tells whether they do. */
static bool hear_shared(struct exam *exam, struct wire_place room, const struct value *input, bool *there)
{
    struct worker *worker = &exam->talk.worker;
    wire_decoder_share(worker->decoder, worker->shared, room);
    bool good = hear_values(exam, input, "y");
    *there = good && exam->reply.reply->payloads;
    wire_decoder_share(worker->decoder, worker->shared, (struct wire_place){0});
    return good;
}

/* Two runs under way, one in each half of the memory, as Assay sends them. */
static bool step_shared(struct exam *exam)
{
    if (!exam->talk.worker.shared) {
        str_add(&exam->said, exam->offered ? "it does not use it, and need not" : "there is none to offer");
        return true;
    }
    struct plan plan = usual(exam);
    plan.columns = SHARED;
    struct value inputs[] = {make_input(53, ROWS, SHARED), make_input(59, ROWS, SHARED)};
    struct wire_place rooms[2];
    bool there[2] = {0};
    put_load(exam, &plan, NULL);
    for (int i = 0; i < 2; i++)
        rooms[i] = put_run_shared(exam, i, &inputs[i]);
    put_unload(exam);
    bool good = hear_result(exam, "load", ASSAY__REPLY__RESULT_LOADED);
    for (int i = 0; i < 2 && good; i++)
        good = hear_shared(exam, rooms[i], &inputs[i], &there[i]);
    if (good && hear_done(exam))
        str_printf(&exam->said, "inputs in the shared memory, outputs %s",
                   there[0] && there[1] ? "too" : "in chunks");
    else
        good = false;
    for (int i = 0; i < 2; i++)
        value_release(&inputs[i]);
    exam->gone |= !good; /* some of what was sent may not be answered yet */
    return good;
}

static bool step_operator(struct exam *exam)
{
    struct plan plan = usual(exam);
    plan.operator= "NoSuchOperator";
    plan.domain = "assay.check";
    struct value input = make_input(1, ROWS, COLUMNS);
    put_load(exam, &plan, NULL);
    put_run(exam, &input);
    put_unload(exam);
    const Assay__Error *error = NULL;
    bool refused = false, right = false, good = hear(exam, "load");
    for (int i = 0; i < 2 && good; i++) {
        error = exam->reply.reply->error;
        if (error && !refused) {
            right = error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED;
            str_clear(&exam->said);
            str_printf(&exam->said, "%s: %.400s", class_name(error), error->message);
        }
        bool loaded_nothing = refused && i == 1 && !error;
        refused = refused || error;
        if (loaded_nothing)
            right = fail(exam, "it refused the model and then answered the run with values");
        if (i == 0)
            good = hear(exam, "run");
    }
    value_release(&input);
    if (!good)
        return false;
    if (!refused)
        fail(exam, "it loaded and ran a model with the operator NoSuchOperator of the domain assay.check");
    struct str found;
    str_init(&found);
    str_add(&found, exam->said.data);
    bool unloaded = hear_done(exam);
    if (unloaded)
        fail(exam, "%s", found.data);
    str_release(&found);
    return refused && right && unloaded;
}

static bool step_bad_model(struct exam *exam)
{
    static const char bytes[] = "this is no model";
    put_bytes(exam, bytes, sizeof bytes - 1, NULL);
    if (!hear(exam, "load"))
        return false;
    const Assay__Error *error = exam->reply.reply->error;
    if (!error)
        return fail(exam, "it loaded the bytes '%s'", bytes);
    if (error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED)
        return fail(exam, "it called the bytes '%s' unsupported: %.300s", bytes, error->message);
    struct str found;
    str_init(&found);
    str_printf(&found, "%s: %.300s", class_name(error), error->message);
    struct plan plan = usual(exam);
    bool good = run_model(exam, &plan, 47, NULL);
    if (good)
        fail(exam, "%s", found.data);
    str_release(&found);
    return good;
}

static bool step_gradient(struct exam *exam)
{
    struct plan plan = usual(exam);
    struct value input = make_input(1, ROWS, COLUMNS), slope = make_input(1, ROWS, COLUMNS);
    const char *wanted = "x";
    value_set_name(&slope, "y");
    put_load(exam, &plan, NULL);
    wire_put_gradient(&exam->talk.worker.pending, ++exam->id,
                      &(struct wire_gradient){.inputs = &input,
                                              .n_inputs = 1,
                                              .upstream = &slope,
                                              .n_upstream = 1,
                                              .wanted = &wanted,
                                              .n_wanted = 1});
    put_unload(exam);
    bool good = hear_result(exam, "load", ASSAY__REPLY__RESULT_LOADED) && hear(exam, "gradient");
    const Assay__Error *error = good ? exam->reply.reply->error : NULL;
    bool lacks = error && error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED;
    struct str found;
    str_init(&found);
    if (error)
        str_printf(&found, "%s: %.300s", class_name(error), error->message);
    else if (good)
        str_printf(&found, "%zu gradients", exam->reply.count);
    bool unloaded = good && hear_done(exam);
    if (unloaded)
        fail(exam, "%s", found.data);
    str_release(&found);
    value_release(&input);
    value_release(&slope);
    return unloaded && (!error || lacks);
}

static bool step_time(struct exam *exam)
{
    bool good = exam->talk.slowest < exam->deadline / 2;
    if (good)
        str_printf(&exam->said, "each within half of the %g s that are allowed", exam->deadline);
    else
        str_printf(&exam->said, "one answer took more than half of the %g s that are allowed",
                   exam->deadline);
    return good;
}

static bool step_end(struct exam *exam)
{
    struct str why;
    str_init(&why);
    bool good = dialogue_end(&exam->talk, TO_EXIT, &why) == 0;
    str_add(&exam->said, why.data);
    str_release(&why);
    return good;
}

/* How a step depends on others: steps marked MORE are tried only after all marked BASIC have passed. */
enum kind { OTHER, BASIC, MORE };

/* mend: what an adapter on one of the SDKs does about a wrong answer; protocol: what one without them writes.
 */
static const struct {
    const char *name;
    bool (*run)(struct exam *exam);
    enum kind kind;
    const char *mend, *protocol;
} steps[] = {
    {"starts", step_start, OTHER,
     "Run its command by hand: it must wait for input, and end when the input ends (Ctrl-D).", ""},
    {"answers hello", step_hello, OTHER,
     "'start' opens the library and gives its version; the adapter has a name, and each of its knobs one.",
     "Read a frame from stdin (a length of 4 bytes, little-endian, and as many bytes) and answer it by a "
     "Reply with the same id and a Welcome of protocol 1 with name, version and knobs. Flush stdout after "
     "each reply, and print nothing else there."},
    {"loads a model of one node", step_load, BASIC,
     "'load' must take a model of one of these operators on float32.",
     "Read the payload that follows Load (chunks until model_size bytes are there) and answer Loaded."},
    {"runs it", step_run, BASIC,
     "'run' gives each wanted output by its name, with the element type, the shape and the elements that the "
     "operator makes of the inputs: {\"y\": Tensor(1, [2, 3], data)} in Python, value_set_tensor of "
     "adapter_output(outputs, \"y\") in C.",
     "Read the payloads of all inputs, and answer Values: each output with type, dims and size, then its "
     "bytes in chunks of at most 1 MiB."},
    {"runs it again on other values", step_run_again, BASIC,
     "'run' computes from the inputs that it is given: keep nothing from one run to the next.",
     "Answer each Run by Values."},
    {"unloads it", step_unload, OTHER, "'unload' frees the model, and cannot fail.",
     "Answer Unload by Done, also when no model is loaded."},
    {"loads and runs a second and a third model", step_second, BASIC,
     "'load' begins anew: nothing of the last model may be left.",
     "Answer load, run and unload in this order, each by its own reply."},
    {"replaces a model that is still loaded", step_replace, MORE,
     "'load' while a model is loaded replaces it; the SDKs call 'unload' before.",
     "Load while a model is loaded replaces it."},
    {"takes initialisers from the model", step_weights, MORE,
     "The weights are values like the inputs: model.graph.initializers in Python, graph.initializer in C, "
     "in raw_data or in the typed fields.",
     "Answer Run by Values."},
    {"gives the wanted outputs and no others", step_wanted, MORE,
     "'run' gives the outputs that 'load' was asked for, in that order and no others: model.outputs in "
     "Python, model->outputs in C, where none means all graph outputs.",
     "Load.outputs names the outputs to give, in that order; when it is empty, all graph outputs are."},
    {"takes and gives tensors of several chunks", step_large, MORE,
     "A tensor has the bytes of all its elements; the SDKs cut it into chunks and join them.",
     "A payload comes in frames of at most 1 MiB until its size is reached, and goes out in the same way."},
    {"takes and gives tensors in the shared memory", step_shared, MORE,
     "What 'run' gives must be computed from the inputs of this run, wherever they lie in memory.",
     "Where a message has a place in payloads, its payloads lie there, in order, each at the next multiple "
     "of 64 bytes, and no chunks follow. The outputs may lie in the request's room, and nowhere else. An "
     "adapter that leaves Welcome.shared out need not know of it."},
    {"refuses an unknown operator as unsupported", step_operator, OTHER,
     "'load', or at the latest 'run', says what the library lacks: raise Unsupported(...) in Python, return "
     "adapter_fail(call, ADAPTER_UNSUPPORTED, ...) in C. Else each model that it cannot run is reported as a "
     "bug.",
     "Answer Load, or at the latest Run, by an Error of class UNSUPPORTED; the run after a failed load by an "
     "error, and Unload by Done."},
    {"survives bytes that are no model", step_bad_model, MORE,
     "'load' refuses what is no model: raise Rejected(...) in Python, return adapter_fail(call, "
     "ADAPTER_REJECTED, ...) in C (an error of another kind will do, but not unsupported), and the next "
     "model "
     "is loaded as ever.",
     "Answer Load by an Error of class REJECTED (FAILED will do) and go on with the next request."},
    {"answers a request for gradients", step_gradient, MORE,
     "An adapter without gradients leaves 'gradient' out, or says that they are unsupported.",
     "Read the payloads of the inputs and then of output_gradients. An engine that has no gradients answers "
     "by an Error of class UNSUPPORTED."},
    {"answers in time", step_time, OTHER,
     "Do what takes long once, in 'start', before hello is answered, or raise --deadline.",
     "Do what takes long once, before hello is answered, or raise --deadline."},
    {"ends when its input ends", step_end, OTHER,
     "Exit with status 0 when stdin is at its end, as the SDKs do once serve or adapter_main returns: "
     "workers "
     "are retired in this way, and a thread or a child of the library may not keep the process.",
     "Exit with status 0 when stdin is at its end: workers are retired in this way."},
};
enum { STEPS = sizeof steps / sizeof *steps };

/* The function of an adapter on the SDKs that answers a request. */
static const char *callback(const char *request)
{
    return text_equal(request, "hello") ? "start" : request;
}

/*
 * What to do about a step that failed: it depends on how it did. A process that ended or hung did so in one
 * function of the adapter or in the library; an error is that function's own; what breaks the protocol is not
 * the business of who uses an SDK; and a wrong answer is told by the step.
 */
static const char *mend_of(const struct exam *exam, size_t number, struct arena *arena)
{
    const char *in = exam->blamed ? callback(exam->blamed) : "";
    /* That it did not start is no matter of one request. */
    enum fault fault = exam->blamed && number > 0 ? exam->fault : FAULT_SAYS;
    if (fault == FAULT_NONE && exam->talk.stop == DIALOGUE_SILENT)
        return arena_printf(arena,
                            "'%s' has not come back: look for what it waits for, or give it more time by "
                            "--deadline.",
                            in);
    if (fault == FAULT_NONE)
        return arena_printf(arena,
                            "The process ended while '%s' was at work, in the adapter or in the library that "
                            "it calls; what it wrote to stderr says why. An exception of Python is no "
                            "reason, as the SDK answers by it: look for a crash, or an exit.",
                            in);
    if (fault == FAULT_GARBLED)
        return arena_printf(arena, "%s The SDKs do so by themselves (docs/writing-an-engine.md).",
                            steps[number].protocol);
    if (fault == FAULT_ERROR && !exam->lacks)
        return arena_printf(arena,
                            "'%s' failed with these words: in Python it raised them, in C it passed them to "
                            "adapter_fail. What was asked is valid, and must work.",
                            in);
    return steps[number].mend;
}

static void try_step(struct adapter_check *check, struct exam *exam, size_t number)
{
    struct check_step *step = &check->steps[number];
    *step = (struct check_step){.name = steps[number].name, .mend = "", .found = ""};
    /* The first step only sends hello, so the second has to tell when there is no answer to it. */
    bool untold = exam->gone && number == 1 && check->steps[0].state == CHECK_HOLDS;
    bool hopeless = exam->cannot_run && steps[number].kind != OTHER;
    if ((exam->gone && !untold) || hopeless) {
        check->not_tried++;
        return;
    }
    if (!untold)
        str_clear(&exam->said);
    exam->lacks = false;
    if (!untold)
        exam->blamed = NULL;
    step->state = steps[number].run(exam) ? CHECK_HOLDS : CHECK_FAILS;
    bool first = number == 0 && step->state == CHECK_HOLDS; /* what it heard is for the second to tell */
    step->found = first ? "" : arena_strdup(&check->arena, exam->said.data);
    if (step->state == CHECK_FAILS)
        step->mend = mend_of(exam, number, &check->arena);
    check->failed += step->state == CHECK_FAILS;
    exam->cannot_run |= step->state == CHECK_FAILS && steps[number].kind == BASIC;
}

void adapter_check(struct adapter_check *check, const struct engine_spec *spec, double deadline)
{
    struct exam exam = {.spec = spec, .deadline = deadline};
    *check = (struct adapter_check){.count = STEPS};
    arena_init(&check->arena);
    str_init(&exam.said);
    check->steps = arena_array(&check->arena, STEPS, sizeof *check->steps);
    for (size_t i = 0; i < STEPS; i++)
        try_step(check, &exam, i);
    wire_message_release(&exam.reply);
    dialogue_close(&exam.talk);
    str_release(&exam.said);
}

void adapter_check_release(struct adapter_check *check)
{
    arena_release(&check->arena);
}
