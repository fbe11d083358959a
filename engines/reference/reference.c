/*
 * The operator table as an engine in its own process.
 *
 * Asked for bounds it gives exact values with both bounds. Not asked for them, or with a fault or a
 * disturbance planted, it behaves like any engine: every value is rounded into its type. knob
 * disturb=NODE[@ELEMENT] moves one element of that node's first output by a relative 1e-3, for measuring what
 * the judge notices, and disturb=NODE@ELEMENT*SHARE by that share of the largest value of the output;
 * disturb=NODE@HOW:HEAD spoils one head of an output [batch, heads, rows, columns].
 */
#include "adapter.h"

#include "config.h"

#include "base/heap.h"
#include "engine/wire_bounds.h"
#include "eval/gradient.h"
#include "fault.h"
#include "fault_memory.h"
#include "graph.h"
#include "one_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float disturbance = 1e-3F;

struct reference {
    struct adapter_graph graph;
    struct evaluator *exact, *rounded; /* made when first needed */
    struct fault_scene scene;
    struct one_value one_value; /* `op` is "" when none is planted */
    char *disturbed;            /* node name, or NULL */
    size_t element;             /* of that node's first output; or a head, in which HOW says what is spoilt */
    const char *how;            /* NULL: a single element */
    double share; /* of the output's largest value, by which that one is moved; 0: by a relative 1e-3 */
    bool open;    /* some value of the last run is */
    bool narrow;  /* its bounds are narrower than they were without call->narrow */
};

static bool on(const struct adapter_call *call, const char *knob)
{
    return strcmp(adapter_knob(call->adapter, knob), "on") == 0;
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct reference *reference = calloc(1, sizeof *reference);
    if (!reference)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    *engine = reference;
    str_add(version, ASSAY_VERSION);
    const char *fault = adapter_knob(call->adapter, "fault");
    if (strcmp(fault, "none") != 0 && !(reference->scene.fault = fault_find(fault)))
        return adapter_fail(call, ADAPTER_REJECTED, "no fault is called %s; see assay engines --faults",
                            fault);
    const char *one = adapter_knob(call->adapter, "one-value");
    if (strcmp(one, "none") != 0 && !one_value_read(&reference->one_value, one))
        return adapter_fail(call, ADAPTER_REJECTED,
                            "one-value=%s is not OP:TYPE:PATTERN:HOW, such as Sqrt:float16:15361:3", one);
    if (!reference->scene.fault) /* what a fault does to memory shows best in new memory */
        heap_keep_freed();
    struct fault_scene *scene = &reference->scene;
    int reload = adapter_choice(call, "reload");
    scene->optimised = strcmp(adapter_knob(call->adapter, "opt"), "all") == 0;
    scene->threads = adapter_number(call, "threads", 1, 256);
    scene->bound = on(call, "binding");
    scene->reload = reload < 0 ? RELOAD_NO : (enum fault_reload)reload;
    scene->memory = fault_memory_new();
    return scene->threads < 0 || reload < 0 ? -1 : 0;
}

/* Ways in which kernels of attention go wrong in one head: another scale, another head's data, a row or a
 * column left out. */
static const char *const ways[] = {"scaled", "neighbour", "row", "column"};

static void spoil_head(const struct reference *reference, struct bounded *out)
{
    const int64_t *d = out->shape.dims;
    if (out->shape.rank != 4 || d[1] < 2 || (int64_t)reference->element >= d[1])
        return;
    size_t rows = (size_t)d[2], columns = (size_t)d[3], head = rows * columns;
    for (size_t b = 0; b < (size_t)d[0]; b++) {
        long double *at = out->value + (b * (size_t)d[1] + reference->element) * head;
        const long double *other = (int64_t)reference->element + 1 < d[1] ? at + head : at - head;
        for (size_t i = 0; i < head; i++)
            if (reference->how == ways[0])
                at[i] *= 1 + (long double)disturbance;
            else if (reference->how == ways[1])
                at[i] = other[i];
            else if (reference->how == ways[2] ? i / columns == rows - 1 : i % columns == columns - 1)
                at[i] = 0;
    }
}

static void move_element(const struct reference *reference, struct bounded *out)
{
    size_t at = reference->element % out->count;
    long double largest = 0;
    for (size_t i = 0; i < out->count; i++)
        if (isfinite(out->value[i]) && fabsl(out->value[i]) > largest)
            largest = fabsl(out->value[i]);
    out->value[at] += reference->share > 0 ? (long double)reference->share * (largest > 0 ? largest : 1)
                                           : out->value[at] * (long double)disturbance;
}

static int disturb_hook(void *context, struct op_call *call)
{
    const struct reference *reference = context;
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    bool here = call->node->name && strcmp(call->node->name, reference->disturbed) == 0;
    if (here && reference->how && out->value && dtype_is_float(out->type)) {
        spoil_head(reference, out);
    } else if (here && out->value && out->count && dtype_is_float(out->type)) {
        move_element(reference, out);
    }
    return 0;
}

static void read_disturbance(struct reference *reference)
{
    const Onnx__ModelProto *proto = reference->graph.model->proto;
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *entry = proto->metadata_props[i];
        if (!entry->key || !entry->value || strcmp(entry->key, "disturb") != 0)
            continue;
        free(reference->disturbed);
        reference->disturbed = strdup(entry->value);
        char *at = reference->disturbed ? strrchr(reference->disturbed, '@') : NULL;
        char *colon = at ? strchr(at, ':') : NULL;
        reference->how = NULL;
        for (size_t k = 0; colon && k < sizeof ways / sizeof *ways; k++)
            if (strncmp(at + 1, ways[k], strlen(ways[k])) == 0 && at + 1 + strlen(ways[k]) == colon)
                reference->how = ways[k];
        char *end = NULL;
        reference->element = at ? (size_t)strtoull((colon ? colon : at) + 1, &end, 10) : 0;
        reference->share = end && *end == '*' ? strtod(end + 1, NULL) : 0;
        if (at)
            *at = '\0';
    }
}

static void unload(struct adapter_call *call)
{
    struct reference *reference = call->engine;
    if (!reference->graph.model)
        return;
    free(reference->disturbed);
    reference->disturbed = NULL;
    evaluator_free(reference->exact);
    evaluator_free(reference->rounded);
    reference->exact = reference->rounded = NULL;
    adapter_graph_unload(&reference->graph);
}

static int make_evaluator(struct reference *reference, bool bounds, struct evaluator **made,
                          struct error *err)
{
    struct evaluate_options options = {
        .round = !bounds, .open = &reference->open, .narrow = &reference->narrow};
    if (reference->scene.fault) {
        options.hook = fault_hook;
        options.gradient_hook = fault_gradient_hook;
        options.context = &reference->scene;
    } else if (*reference->one_value.op) {
        options.hook = one_value_hook;
        options.context = &reference->one_value;
    } else if (reference->disturbed) {
        options.hook = disturb_hook;
        options.context = reference;
    }
    if (*made)
        return 0;
    return evaluator_new(made, reference->graph.model, &options, err);
}

/* What the fault does to the model before it is evaluated; the index is then made anew. */
static int plant(struct reference *reference, const struct adapter_model *model, struct error *err)
{
    struct fault_scene *scene = &reference->scene;
    struct adapter_graph *graph = &reference->graph;
    scene->model = graph->model;
    scene->index = &graph->index;
    if (!scene->fault)
        return 0;
    scene->from_file = model->path != NULL;
    scene->loads = fault_memory_load(scene->memory, graph->model);
    if (scene->fault->load)
        scene->fault->load(scene);
    if (!scene->fault->edit)
        return 0;
    scene->fault->edit(scene, graph->model);
    graph->model->path = NULL;
    model_index_release(&graph->index);
    return model_index_init(&graph->index, graph->model, err);
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    struct reference *reference = call->engine;
    struct error err = {0};
    unload(call);
    if (adapter_graph_load(&reference->graph, model, loaded, &err))
        return adapter_fail_error(call, &err);
    if (on(call, "disturb"))
        read_disturbance(reference);
    if (plant(reference, model, &err))
        return adapter_fail_error(call, &err);
    /* Made here, so that an operator that the table lacks is said at load. */
    return make_evaluator(reference, true, &reference->exact, &err) ? adapter_fail_error(call, &err) : 0;
}

static int give(const struct reference *reference, struct adapter_outputs *outputs, const char *name,
                const struct bounded *b, bool bounds, struct error *err)
{
    struct tensor tensor;
    struct wire_bounds wire;
    int result = bounds ? bounds_to_wire(b, &tensor, &wire, err) : bounded_to_tensor(b, &tensor, err);
    if (result)
        return -1;
    value_set_tensor(adapter_output(outputs, name), &tensor);
    if (bounds) {
        wire.open = reference->open;
        wire.narrow = reference->narrow;
        *adapter_output_bounds(outputs) = wire;
    }
    return 0;
}

/* The evaluator for a request; *exact: its values have bounds. NULL when it cannot be made. */
static struct evaluator *evaluator_for(struct adapter_call *call, bool bounds, bool *exact, struct error *err)
{
    struct reference *reference = call->engine;
    if (!reference->graph.model) {
        error_set(err, ERROR_USAGE, "no model is loaded");
        return NULL;
    }
    *exact = bounds && !reference->scene.fault && !*reference->one_value.op && !on(call, "disturb") &&
             !on(call, "round");
    struct evaluator **evaluator = *exact ? &reference->exact : &reference->rounded;
    reference->open = reference->narrow = false;
    if (make_evaluator(reference, *exact, evaluator, err))
        return NULL;
    evaluator_set_direct(*evaluator, call->narrow);
    evaluator_set_only_judged(*evaluator, call->only_judged);
    return *evaluator;
}

/* The table has one kernel for each operator. */
static void tell_kernels(struct adapter_call *call)
{
    const struct reference *reference = call->engine;
    const Onnx__GraphProto *graph = reference->graph.model->graph;
    for (size_t i = 0; adapter_traces(call) && i < graph->n_node; i++)
        adapter_trace(call, &(struct trace_step){.kind = TRACE_KERNEL,
                                                 .name = graph->node[i]->op_type,
                                                 .n_outputs = graph->node[i]->n_output,
                                                 .outputs = (const char *const *)graph->node[i]->output});
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct reference *reference = call->engine;
    struct error err = {0};
    bool exact;
    struct evaluator *evaluator = evaluator_for(call, bounds, &exact, &err);
    if (!evaluator)
        return adapter_fail_error(call, &err);
    tell_kernels(call);
    struct bounded *results;
    size_t n_results;
    if (evaluator_run(evaluator, inputs, count, (const char *const *)reference->graph.outputs,
                      reference->graph.n_outputs, &results, &n_results, &err))
        return adapter_fail_error(call, &err);
    int result = 0;
    for (size_t i = 0; i < n_results; i++) {
        if (!result)
            result = give(reference, outputs, reference->graph.outputs[i], &results[i], exact, &err);
        bounded_release(&results[i]);
    }
    free(results);
    return result ? adapter_fail_error(call, &err) : 0;
}

static int gradient(struct adapter_call *call, const struct adapter_gradient *request,
                    struct adapter_outputs *outputs)
{
    struct reference *reference = call->engine;
    struct error err = {0};
    bool exact;
    struct evaluator *evaluator = evaluator_for(call, request->bounds, &exact, &err);
    struct gradient_request asked = {
        .inputs = request->inputs,
        .n_inputs = request->n_inputs,
        .upstream = request->upstream,
        .n_upstream = request->n_upstream,
        .wanted = (const char *const *)request->wanted,
        .n_wanted = request->n_wanted,
    };
    struct gradient *gradients;
    size_t count;
    if (!evaluator || evaluator_gradient(evaluator, &asked, &gradients, &count, &err))
        return adapter_fail_error(call, &err);
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = give(reference, outputs, gradients[i].name, &gradients[i].slope, exact, &err);
    gradients_free(gradients, count);
    return result ? adapter_fail_error(call, &err) : 0;
}

static void stop(void *engine)
{
    struct reference *reference = engine;
    if (reference)
        fault_memory_free(reference->scene.memory);
    free(reference);
}

int main(int argc, char **argv)
{
    char *faults = fault_list();
    const char **operators = calloc(op_count() + 1, sizeof *operators);
    if (!operators)
        return 1;
    for (size_t i = 0; i < op_count(); i++)
        operators[i] = op_at(i)->name;
    struct adapter_knob knobs[] = {
        {.name = "fault", .values = "none|NAME", .value = "none", .help = faults, .kind = KNOB_KERNELS},
        {.name = "opt",
         .values = "none|all",
         .value = "none",
         .help = "all: planted faults of an optimiser are active",
         .kind = KNOB_GRAPH,
         .plain = "none"},
        {.name = "threads",
         .values = "1..256",
         .value = "1",
         .help = "how many threads planted faults take there to be; there is always one",
         .kind = KNOB_SCHEDULE},
        {.name = "binding",
         .values = "on|off",
         .value = "off",
         .help = "on: planted faults of bound inputs and outputs are active",
         .kind = KNOB_SCHEDULE},
        {.name = "reload",
         .values = "no|onnx|own",
         .value = "no",
         .help = "planted faults of models saved as ONNX, or in a format of their own, are active",
         .kind = KNOB_GRAPH,
         .plain = "no"},
        {.name = "round",
         .values = "on|off",
         .value = "off",
         .help = "round every value and give no bounds, as engines do",
         .kind = KNOB_KERNELS},
        {.name = "one-value",
         .values = "none|NAME",
         .value = "none",
         .help = "NAME is OP:TYPE:PATTERN:HOW: OP gives another result for one value of TYPE, the one with "
                 "the bits PATTERN (a number; two "
                 "with _ between for two operands): HOW is far, or so many steps of the type outside the "
                 "bounds",
         .kind = KNOB_KERNELS},
        {.name = "disturb",
         .values = "on|off",
         .value = "off",
         .help = "change the element that the model's metadata names, disturb = NODE@ELEMENT, by a relative "
                 "1e-3; "
                 "or spoil a head, disturb = NODE@scaled|neighbour|row|column:HEAD",
         .kind = KNOB_KERNELS},
        {0},
    };
    struct adapter adapter = {
        .name = "reference",
        .knobs = knobs,
        .operators = operators,
        .start = start,
        .load = load,
        .run = run,
        .gradient = gradient,
        .unload = unload,
        .stop = stop,
    };
    int status = adapter_main(&adapter, argc, argv);
    free(operators);
    free(faults);
    return status;
}
