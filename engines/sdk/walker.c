#include "walker_slots.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "guarded_inputs.h"

#include <stdlib.h>
#include <string.h>

/* Inputs that shapes may depend on (shape, axes, pads, scales) are short. */
enum { SHAPE_INPUT_LIMIT = 64 };

/* What the walker does itself: the result is known with the shapes, or is the first input in another shape.
 */
static const char *const known_operators[] = {"Constant", "Shape", "Size", NULL};
static const char *const copying_operators[] = {"Flatten", "Identity",  "Reshape",
                                                "Squeeze", "Unsqueeze", NULL};

static bool listed(const char *const *list, const Onnx__NodeProto *node)
{
    for (; *list; list++)
        if (strcmp(*list, node->op_type) == 0)
            return true;
    return false;
}

static bool default_domain(const Onnx__NodeProto *node)
{
    return !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
}

static const struct walk_row *find_row(const struct walker *walker, const Onnx__NodeProto *node)
{
    if (default_domain(node))
        for (const struct walk_row *row = walker->library->rows; row->name; row++)
            if (strcmp(row->name, node->op_type) == 0)
                return row;
    return NULL;
}

bool walker_copies(const Onnx__NodeProto *node)
{
    return default_domain(node) && listed(copying_operators, node);
}

static bool done_here(const Onnx__NodeProto *node)
{
    return default_domain(node) && (listed(known_operators, node) || listed(copying_operators, node));
}

static void poison(struct tensor *tensor)
{
    if (tensor->size)
        memset(tensor->data, dtype_is_float(tensor->type) ? 0xFF : 0xA5, tensor->size);
}

/* Type and shape of an input, with its values where shapes may depend on them. */
static int describe(struct bounded *b, const struct tensor *tensor, bool first, struct error *err)
{
    bool data = first && dtype_is_float(tensor->type);
    if (!data && tensor->count <= SHAPE_INPUT_LIMIT && tensor->type != DTYPE_STRING)
        return bounded_from_tensor(b, tensor, err);
    return bounded_alloc(b, tensor->type, &tensor->shape, true, err);
}

/* The shape rule. `outputs` are n bounded values to be released by the caller. */
static int infer(const struct walk_call *call, struct bounded *outputs, size_t n)
{
    struct bounded *inputs = memory_zeroed(call->n_inputs, sizeof *inputs);
    const struct bounded **views = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    int result = 0;
    for (size_t i = 0; !result && i < call->n_inputs; i++) {
        if (!call->inputs[i])
            continue;
        result = describe(&inputs[i], call->inputs[i], i == 0, call->err);
        views[i] = &inputs[i];
    }
    if (!result)
        result = infer_node(call->opset, call->node, views, call->n_inputs, outputs, n, call->err);
    for (size_t i = 0; i < call->n_inputs; i++)
        bounded_release(&inputs[i]);
    free(inputs);
    free(views);
    return result;
}

static int do_here(struct walk_call *call, const struct bounded *inferred)
{
    if (listed(known_operators, call->node))
        return inferred[0].value ? bounded_to_tensor(&inferred[0], &call->outputs[0], call->err)
                                 : walk_unsupported(call, "its value is not known from shapes");
    const struct tensor *in = call->inputs[0];
    return tensor_from_bytes(&call->outputs[0], in->type, &inferred[0].shape, in->data, in->size, call->err);
}

static int check_row(struct walk_call *call)
{
    const struct tensor *in = walk_input(call, 0);
    if (!in)
        return walk_unsupported(call, "without its first input");
    if (!dtype_in(in->type, call->row->types))
        return walk_unsupported(call, "of type %s", dtype_name(in->type));
    if (in->shape.rank < call->row->min_rank || in->shape.rank > call->row->max_rank)
        return walk_unsupported(call, "of rank %d", in->shape.rank);
    return 0;
}

static int call_row(struct walk_call *call, const struct bounded *inferred)
{
    if (check_row(call))
        return -1;
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (inferred[i].type == DTYPE_NONE)
            continue;
        if (tensor_alloc(&call->outputs[i], inferred[i].type, &inferred[i].shape, 0, call->err))
            return -1;
        guarded_memory_name(call->outputs[i].data, "output", call->node->output[i]);
        poison(&call->outputs[i]);
    }
    return call->row->run(call);
}

static int borrow_node(const struct walker *walker, struct walk_call *call, const struct value *captured,
                       size_t n_captured)
{
    struct bounded *results = memory_zeroed(call->n_outputs, sizeof *results);
    int result = evaluate_node(walker->graph.model, call->node, call->inputs, captured, n_captured, NULL,
                               NULL, results, call->n_outputs, call->err);
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (!result && results[i].type != DTYPE_NONE)
            result = bounded_to_tensor(&results[i], &call->outputs[i], call->err);
        bounded_release(&results[i]);
    }
    free(results);
    return result;
}

/* Whether the walker computes the node itself, as its row does not take the type. */
static bool computed_here(const struct walk_call *call)
{
    return done_here(call->node) && (!call->row || !dtype_in(call->inputs[0]->type, call->row->types));
}

static int compute(const struct walker *walker, struct walk_call *call, const struct value *captured,
                   size_t n_captured)
{
    if (!call->row && !done_here(call->node))
        return borrow_node(walker, call, captured, n_captured);
    struct bounded *inferred = memory_zeroed(call->n_outputs, sizeof *inferred);
    int result = infer(call, inferred, call->n_outputs);
    if (!result)
        result = !computed_here(call) ? call_row(call, inferred) : do_here(call, inferred);
    for (size_t i = 0; i < call->n_outputs; i++)
        bounded_release(&inferred[i]);
    free(inferred);
    return result;
}

static void slot_drop(struct walk_slot *slot)
{
    tensor_release(&slot->own);
    tensor_init(&slot->own);
    slot->view = NULL;
}

struct walk_slot *walker_slot(const struct walker *walker, struct walk_slot *slots, const char *name)
{
    const struct index_value *value = model_index_find(&walker->graph.index, name);
    return value ? &slots[value - walker->graph.index.values] : NULL;
}

static void keep_outputs(const struct walker *walker, struct walk_slot *slots, const struct walk_call *call)
{
    for (size_t i = 0; i < call->node->n_output; i++) {
        if (!*call->node->output[i])
            continue;
        struct walk_slot *slot = walker_slot(walker, slots, call->node->output[i]);
        slot_drop(slot);
        slot->own = call->outputs[i];
        tensor_init(&call->outputs[i]);
        slot->view = &slot->own;
    }
}

/* What a node uses, by name, for bodies that capture; borrowed tensors, only the array is the caller's. */
static struct value *used_values(const struct walker *walker, const struct walk_slot *slots, size_t node,
                                 size_t *count)
{
    size_t n = walker->graph.index.n_uses[node];
    struct value *values = memory_zeroed(n, sizeof *values);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t number = walker->graph.index.uses[node][i];
        if (slots[number].view)
            values[(*count)++] = (struct value){
                .name = (char *)(uintptr_t)walker->graph.index.values[number].name,
                .kind = VALUE_TENSOR,
                .count = 1,
                .tensors = (struct tensor *)(uintptr_t)slots[number].view,
            };
    }
    return values;
}

static int gather_inputs(const struct walker *walker, struct walk_slot *slots, const Onnx__NodeProto *node,
                         const struct tensor **inputs, struct error *err)
{
    for (size_t i = 0; i < node->n_input; i++) {
        if (!*node->input[i])
            continue;
        const struct walk_slot *slot = walker_slot(walker, slots, node->input[i]);
        if (!slot || !slot->view)
            return error_set(err, ERROR_INVALID, "%s uses %s, which nothing before it makes", node->op_type,
                             node->input[i]);
        inputs[i] = slot->view;
    }
    return 0;
}

static bool outputs_made(const struct walk_call *call)
{
    for (size_t i = 0; i < call->node->n_output; i++)
        if (*call->node->output[i] && call->outputs[i].type == DTYPE_NONE)
            return false;
    return true;
}

/* Steps from `before` on are the node's. */
static void tell_node(struct walk_call *call, size_t before, bool computed)
{
    struct trace *trace = call->adapter->trace;
    const char *device = call->row && !computed_here(call) ? NULL
                         : done_here(call->node)           ? "walker"
                                                           : "reference";
    if (computed && trace->count == before)
        adapter_trace_kernel(call->adapter, call->node->op_type, device, NULL);
    trace_set_outputs(trace, before, (const char *const *)call->node->output, call->node->n_output);
}

static int run_node(const struct walker *walker, struct walk_slot *slots, size_t number, struct error *err)
{
    const Onnx__NodeProto *node = walker->graph.model->graph->node[number];
    size_t n_outputs = node->n_output ? node->n_output : 1, n_captured = 0;
    const struct tensor **inputs = memory_zeroed(node->n_input, sizeof(struct tensor *));
    struct tensor *outputs = memory_zeroed(n_outputs, sizeof *outputs);
    struct value *captured = NULL;
    struct walk_call call = {
        .engine = walker->engine,
        .adapter = walker->call,
        .row = walker->rows[number],
        .node = node,
        .opset = walker->opset,
        .n_inputs = node->n_input,
        .inputs = inputs,
        .n_outputs = n_outputs,
        .outputs = outputs,
        .err = err,
    };
    size_t told = adapter_traces(walker->call) ? walker->call->trace->count : 0;
    int result = gather_inputs(walker, slots, node, inputs, err);
    if (!call.row && !done_here(node))
        captured = used_values(walker, slots, number, &n_captured);
    bool gathered = !result;
    if (gathered)
        result = compute(walker, &call, captured, n_captured);
    if (gathered && adapter_traces(walker->call))
        tell_node(&call, told, result == 0);
    if (!result && !outputs_made(&call))
        result = walk_unsupported(&call, "one of its outputs");
    if (!result)
        keep_outputs(walker, slots, &call);
    for (size_t i = 0; i < n_outputs; i++)
        tensor_release(&outputs[i]);
    free(captured);
    free(outputs);
    free(inputs);
    return result;
}

int walker_weight(const struct walker *walker, struct walk_slot *slots, size_t value, struct error *err)
{
    const struct index_value *known = &walker->graph.index.values[value];
    struct walk_slot *slot = &slots[value];
    if (known->source != SOURCE_INITIALIZER || slot->view)
        return 0;
    if (model_weight(walker->graph.model, known->number, &slot->own, err)) {
        tensor_init(&slot->own);
        return -1;
    }
    guarded_memory_name(slot->own.data, "initialiser", known->name);
    slot->view = &slot->own;
    return 0;
}

static int step(const struct walker *walker, struct walk_slot *slots, size_t number, struct error *err)
{
    const struct model_index *index = &walker->graph.index;
    for (size_t i = 0; i < index->n_uses[number]; i++)
        if (walker_weight(walker, slots, index->uses[number][i], err))
            return -1;
    if (run_node(walker, slots, number, err))
        return -1;
    for (size_t i = 0; i < index->n_uses[number]; i++) {
        struct walk_slot *slot = &slots[index->uses[number][i]];
        if (slot->uses_left && --slot->uses_left == 0)
            slot_drop(slot);
    }
    return 0;
}

static int bind_inputs(const struct walker *walker, struct walk_slot *slots, const struct value *inputs,
                       size_t count, struct error *err)
{
    const Onnx__GraphProto *graph = walker->graph.model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        const struct value *given = value_for_input(inputs, count, name, i);
        const struct index_value *known = model_index_find(&walker->graph.index, name);
        if (!given && known && known->source == SOURCE_INITIALIZER)
            continue;
        if (!given)
            return error_set(err, ERROR_INVALID, "no value for input %s", name);
        if (given->kind != VALUE_TENSOR)
            return error_set(err, ERROR_UNSUPPORTED, "input %s is a sequence or an absent optional", name);
        walker_slot(walker, slots, name)->view = &given->tensors[0];
    }
    return 0;
}

static int give(const struct walker *walker, struct walk_slot *slots, struct adapter_outputs *outputs,
                struct error *err)
{
    for (size_t i = 0; i < walker->graph.n_outputs; i++) {
        const char *name = walker->graph.outputs[i];
        const struct index_value *known = model_index_find(&walker->graph.index, name);
        if (!known)
            return error_set(err, ERROR_NOT_FOUND, "the model has no value %s", name);
        size_t number = (size_t)(known - walker->graph.index.values);
        if (walker_weight(walker, slots, number, err))
            return -1;
        struct tensor copy;
        if (tensor_copy(&copy, slots[number].view, err))
            return -1;
        value_set_tensor(adapter_output(outputs, name), &copy);
    }
    return 0;
}

struct walk_slot *walker_slots_new(const struct walker *walker, bool keep)
{
    struct walk_slot *slots = memory_zeroed(walker->graph.index.count, sizeof *slots);
    for (size_t i = 0; i < walker->graph.index.count; i++) {
        const struct index_value *value = &walker->graph.index.values[i];
        tensor_init(&slots[i].own);
        slots[i].uses_left = keep || value->is_output ? 0 : value->consumers;
    }
    for (size_t i = 0; i < walker->graph.n_outputs; i++) {
        struct walk_slot *slot = walker_slot(walker, slots, walker->graph.outputs[i]);
        if (slot)
            slot->uses_left = 0;
    }
    return slots;
}

void walker_slots_free(const struct walker *walker, struct walk_slot *slots)
{
    for (size_t i = 0; i < walker->graph.index.count; i++)
        slot_drop(&slots[i]);
    free(slots);
}

int walker_forward(const struct walker *walker, struct walk_slot *slots, const struct value *inputs,
                   size_t count, struct error *err)
{
    int result = bind_inputs(walker, slots, inputs, count, err);
    for (size_t i = 0; !result && i < walker->graph.model->graph->n_node; i++)
        result = step(walker, slots, walker->graph.index.order[i], err);
    return result;
}

static int walk_run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
                    struct adapter_outputs *outputs)
{
    (void)bounds;
    struct walker *walker = call->engine;
    struct error err = {0};
    if (!walker->graph.model)
        return adapter_fail(call, ADAPTER_FAILED, "no model is loaded");
    struct walk_slot *slots = walker_slots_new(walker, false);
    int result = walker_forward(walker, slots, inputs, count, &err);
    if (!result)
        result = give(walker, slots, outputs, &err);
    walker_slots_free(walker, slots);
    return result ? adapter_fail_error(call, &err) : 0;
}

static void walk_unload(struct adapter_call *call)
{
    struct walker *walker = call->engine;
    adapter_graph_unload(&walker->graph);
    free(walker->rows);
    walker->rows = NULL;
}

/* Every operator must be somebody's; those that are the reference's are reported, each once. */
static int settle_operators(struct walker *walker, struct adapter_loaded *loaded, struct error *err)
{
    const Onnx__GraphProto *graph = walker->graph.model->graph;
    struct map borrowed;
    map_init(&borrowed);
    int result = 0;
    walker->rows = memory_zeroed(graph->n_node + 1, sizeof *walker->rows);
    for (size_t i = 0; !result && i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        walker->rows[i] = find_row(walker, node);
        if (walker->rows[i] || done_here(node))
            continue;
        if (!walker->borrow || !default_domain(node) || !op_find(node->op_type))
            result = error_set(err, ERROR_UNSUPPORTED, "%s has no operator %s", walker->library->name,
                               node->op_type);
        else if (map_set(&borrowed, node->op_type, i))
            adapter_list_add(&loaded->borrowed, node->op_type);
    }
    map_release(&borrowed);
    return result;
}

static int walk_load(struct adapter_call *call, const struct adapter_model *model,
                     struct adapter_loaded *loaded)
{
    struct walker *walker = call->engine;
    struct error err = {0};
    walk_unload(call);
    if (adapter_graph_load(&walker->graph, model, loaded, &err))
        return adapter_fail_error(call, &err);
    walker->opset = model_opset(walker->graph.model);
    return settle_operators(walker, loaded, &err) ? adapter_fail_error(call, &err) : 0;
}

/* The table belongs to the adapter's struct; adapter_main has no other argument to carry it. */
struct walk_adapter {
    struct adapter adapter; /* first: call->adapter is also this */
    const struct walk_library *library;
};

static int walk_start(struct adapter_call *call, void **engine, struct str *version)
{
    const struct walk_library *library = ((const struct walk_adapter *)call->adapter)->library;
    struct walker *walker = memory_zeroed(1, sizeof *walker);
    walker->library = library;
    walker->call = call;
    walker->borrow = strcmp(adapter_knob(call->adapter, "borrow"), "on") == 0;
    if (walker->borrow) /* then it takes any */
        ((struct walk_adapter *)call->adapter)->adapter.operators = NULL;
    *engine = walker;
    return library->start ? library->start(call, &walker->engine, version) : 0;
}

static void walk_stop(void *engine)
{
    struct walker *walker = engine;
    if (walker && walker->library->stop)
        walker->library->stop(walker->engine);
    free(walker);
}

/* What the library has, and what the walker does itself; NULL-terminated, heap. */
static const char **list_operators(const struct walk_library *library, size_t n_rows)
{
    static const char *const *const own[] = {known_operators, copying_operators};
    const size_t most =
        n_rows + (sizeof known_operators + sizeof copying_operators) / sizeof *known_operators;
    const char **operators = memory_zeroed(most, sizeof *operators);
    size_t count = 0;
    for (size_t i = 0; i < n_rows; i++)
        operators[count++] = library->rows[i].name;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; own[k][i]; i++)
            operators[count++] = own[k][i];
    return operators;
}

int walker_main(const struct walk_library *library, int argc, char **argv)
{
    size_t n_rows = 0, n_knobs = 0;
    while (library->rows[n_rows].name)
        n_rows++;
    while (library->knobs && library->knobs[n_knobs].name)
        n_knobs++;
    const char **operators = list_operators(library, n_rows);
    struct adapter_knob *knobs = memory_zeroed(n_knobs + 2, sizeof *knobs);
    if (n_knobs)
        memcpy(knobs, library->knobs, n_knobs * sizeof *knobs);
    knobs[n_knobs] = (struct adapter_knob){
        .name = "borrow",
        .values = "on|off",
        .value = "off",
        .help = "compute operators that the library lacks by the reference",
        .kind = KNOB_KERNELS,
    };
    struct walk_adapter adapter = {
        .adapter =
            {
                .name = library->name,
                .knobs = knobs,
                .operators = operators,
                .start = walk_start,
                .load = walk_load,
                .run = walk_run,
                .gradient = walker_gradient,
                .unload = walk_unload,
                .stop = walk_stop,
            },
        .library = library,
    };
    int status = adapter_main(&adapter.adapter, argc, argv);
    free(knobs);
    free(operators);
    return status;
}
