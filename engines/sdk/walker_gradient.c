/*
 * The walk backwards. Every value has its derivative, which starts as what is given for the graph's outputs;
 * each node, the last one first, adds to those of its inputs. Slopes come from the rows; what is done here is
 * only the addition where several nodes use a value.
 */
#include "base/memory.h"
#include "walker_slots.h"

#include <stdlib.h>
#include <string.h>

struct reverse {
    const struct walker *walker;
    struct walk_slot *slots;
    struct tensor *derivatives; /* one for each value; DTYPE_NONE: 0 */
    bool *dependent;            /* values that depend on a wanted one */
    struct error *err;
};

static size_t number_of(const struct reverse *r, const char *name)
{
    const struct index_value *known = model_index_find(&r->walker->graph.index, name);
    return known ? (size_t)(known - r->walker->graph.index.values) : SIZE_MAX;
}

/* The tensor is taken over. */
static void add(struct tensor *sum, struct tensor *term)
{
    if (sum->type == DTYPE_NONE) {
        *sum = *term;
    } else if (sum->type == DTYPE_FLOAT) {
        float *to = sum->data;
        const float *from = term->data;
        for (size_t i = 0; i < sum->count; i++)
            to[i] += from[i];
        tensor_release(term);
    } else {
        for (size_t i = 0; i < sum->count; i++)
            tensor_set(sum, i, tensor_get(sum, i) + tensor_get(term, i));
        tensor_release(term);
    }
    tensor_init(term);
}

static bool is_leaf(const struct reverse *r, size_t number)
{
    const struct index_value *value = &r->walker->graph.index.values[number];
    return value->source != SOURCE_NODE && r->slots[number].view &&
           dtype_is_float(r->slots[number].view->type);
}

static int check_wanted(const struct reverse *r, const struct adapter_gradient *request)
{
    for (size_t i = 0; i < request->n_wanted; i++) {
        size_t number = number_of(r, request->wanted[i]);
        if (number == SIZE_MAX || !is_leaf(r, number))
            return error_set(r->err, ERROR_INVALID,
                             "the model has no input or initialiser '%.100s' of floats", request->wanted[i]);
    }
    return 0;
}

static bool any_dependent(const struct reverse *r, size_t node)
{
    const struct model_index *index = &r->walker->graph.index;
    for (size_t i = 0; i < index->n_uses[node]; i++)
        if (r->dependent[index->uses[node][i]])
            return true;
    return false;
}

static int find_dependents(struct reverse *r, const struct adapter_gradient *request)
{
    const struct model_index *index = &r->walker->graph.index;
    for (size_t i = 0; i < index->count; i++) {
        if (walker_weight(r->walker, r->slots, i, r->err))
            return -1;
        r->dependent[i] = is_leaf(r, i) && adapter_wants(request, index->values[i].name);
    }
    for (size_t i = 0; i < index->model->graph->n_node; i++) {
        const Onnx__NodeProto *node = index->model->graph->node[index->order[i]];
        bool any = any_dependent(r, index->order[i]);
        for (size_t k = 0; any && k < node->n_output; k++) {
            size_t number = *node->output[k] ? number_of(r, node->output[k]) : SIZE_MAX;
            if (number != SIZE_MAX && r->slots[number].view)
                r->dependent[number] = dtype_is_float(r->slots[number].view->type);
        }
    }
    return 0;
}

static int take_upstream(struct reverse *r, const struct adapter_gradient *request)
{
    for (size_t i = 0; i < request->n_upstream; i++) {
        const struct value *given = &request->upstream[i];
        size_t number = number_of(r, given->name);
        const struct tensor *own = number == SIZE_MAX ? NULL : r->slots[number].view;
        if (!own || given->kind != VALUE_TENSOR || given->tensors->type != own->type ||
            !shape_equal(&given->tensors->shape, &own->shape))
            return error_set(r->err, ERROR_INVALID, "the derivative of output '%.100s' does not fit it",
                             given->name);
        struct tensor copy;
        if (tensor_copy(&copy, given->tensors, r->err))
            return -1;
        add(&r->derivatives[number], &copy);
    }
    return 0;
}

/* The derivative by the first output, which must be the only one that has any. NULL: none has. */
static const struct tensor *upstream_of(const struct reverse *r, const Onnx__NodeProto *node, size_t *beyond)
{
    const struct tensor *first = NULL;
    *beyond = 0;
    for (size_t i = 0; i < node->n_output; i++) {
        size_t number = *node->output[i] ? number_of(r, node->output[i]) : SIZE_MAX;
        if (number == SIZE_MAX || r->derivatives[number].type == DTYPE_NONE)
            continue;
        if (i == 0)
            first = &r->derivatives[number];
        else
            *beyond = i;
    }
    return first;
}

static int prepare_slopes(const struct reverse *r, struct walk_gradient *g, bool *wanted)
{
    const Onnx__NodeProto *node = g->call->node;
    for (size_t i = 0; i < node->n_input; i++) {
        size_t number = *node->input[i] ? number_of(r, node->input[i]) : SIZE_MAX;
        const struct tensor *in = g->call->inputs[i];
        if (number == SIZE_MAX || !r->dependent[number] || !in)
            continue;
        wanted[i] = true;
        if (tensor_alloc(&g->slopes[i], in->type, &in->shape, 0, r->err))
            return -1;
        if (g->slopes[i].size) /* NaN, should the row forget an element */
            memset(g->slopes[i].data, 0xFF, g->slopes[i].size);
    }
    return 0;
}

static int copy_slope(struct walk_gradient *g)
{
    if (g->wanted[0] && g->upstream->size)
        memcpy(g->slopes[0].data, g->upstream->data, g->upstream->size);
    return 0;
}

/* What nothing depends on: sums without terms, which libraries leave unwritten. */
static int zero_slopes(struct walk_gradient *g)
{
    for (size_t i = 0; i < g->call->n_inputs; i++)
        if (g->wanted[i] && g->slopes[i].size)
            memset(g->slopes[i].data, 0, g->slopes[i].size);
    return 0;
}

static int differentiate(const struct reverse *r, struct walk_gradient *g, size_t beyond)
{
    struct walk_call *call = g->call;
    if (beyond || !g->upstream)
        return walk_unsupported(call, "the gradient of output %zu", beyond);
    if (!g->upstream->count)
        return zero_slopes(g);
    bool row_takes = call->row && dtype_in(call->inputs[0]->type, call->row->types);
    if (!row_takes && walker_copies(call->node))
        return copy_slope(g);
    if (!row_takes || !call->row->gradient)
        return walk_unsupported(call, "%s has no gradient of it", r->walker->library->name);
    return call->row->gradient(g);
}

static void collect(struct reverse *r, const struct walk_gradient *g)
{
    for (size_t i = 0; i < g->call->node->n_input; i++)
        if (g->wanted[i])
            add(&r->derivatives[number_of(r, g->call->node->input[i])], &g->slopes[i]);
}

static int reverse_node(struct reverse *r, size_t number)
{
    const struct walker *walker = r->walker;
    const Onnx__NodeProto *node = walker->graph.model->graph->node[number];
    size_t beyond, n_outputs = node->n_output ? node->n_output : 1;
    const struct tensor *upstream = upstream_of(r, node, &beyond);
    if ((!upstream && !beyond) || !any_dependent(r, number))
        return 0;
    const struct tensor **inputs = memory_zeroed(node->n_input + 1, sizeof(struct tensor *));
    struct tensor *outputs = memory_zeroed(n_outputs, sizeof *outputs);
    struct tensor *slopes = memory_zeroed(node->n_input + 1, sizeof *slopes);
    bool *wanted = memory_zeroed(node->n_input + 1, sizeof *wanted);
    struct walk_call call = {.engine = walker->engine,
                             .adapter = walker->call,
                             .row = walker->rows[number],
                             .node = node,
                             .opset = walker->opset,
                             .n_inputs = node->n_input,
                             .inputs = inputs,
                             .n_outputs = n_outputs,
                             .outputs = outputs,
                             .err = r->err};
    struct walk_gradient g = {&call, upstream, wanted, slopes};
    for (size_t i = 0; i < node->n_input; i++)
        inputs[i] = *node->input[i] ? walker_slot(walker, r->slots, node->input[i])->view : NULL;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            outputs[i] = *walker_slot(walker, r->slots, node->output[i])->view;
    int result = prepare_slopes(r, &g, wanted);
    if (!result)
        result = differentiate(r, &g, beyond);
    if (!result)
        collect(r, &g);
    for (size_t i = 0; i < node->n_input; i++)
        tensor_release(&slopes[i]);
    free(wanted);
    free(slopes);
    free(outputs);
    free(inputs);
    return result;
}

static int give_derivatives(struct reverse *r, const struct adapter_gradient *request,
                            struct adapter_outputs *outputs)
{
    const struct model_index *index = &r->walker->graph.index;
    for (size_t i = 0; i < index->count; i++) {
        if (!is_leaf(r, i) || !adapter_wants(request, index->values[i].name))
            continue;
        struct tensor *derivative = &r->derivatives[i];
        const struct tensor *own = r->slots[i].view;
        if (derivative->type == DTYPE_NONE) {
            if (tensor_alloc(derivative, own->type, &own->shape, 0, r->err))
                return -1;
            if (derivative->size)
                memset(derivative->data, 0, derivative->size);
        }
        value_set_tensor(adapter_output(outputs, index->values[i].name), derivative);
        tensor_init(derivative);
    }
    return 0;
}

static int reverse_graph(struct reverse *r, const struct adapter_gradient *request,
                         struct adapter_outputs *outputs)
{
    const struct walker *walker = r->walker;
    if (walker_forward(walker, r->slots, request->inputs, request->n_inputs, r->err) ||
        find_dependents(r, request) || check_wanted(r, request) || take_upstream(r, request))
        return -1;
    for (size_t i = walker->graph.model->graph->n_node; i-- > 0;)
        if (reverse_node(r, walker->graph.index.order[i]))
            return -1;
    return give_derivatives(r, request, outputs);
}

int walker_gradient(struct adapter_call *call, const struct adapter_gradient *request,
                    struct adapter_outputs *outputs)
{
    struct walker *walker = call->engine;
    struct error err = {0};
    if (!walker->graph.model)
        return adapter_fail(call, ADAPTER_FAILED, "no model is loaded");
    size_t count = walker->graph.index.count;
    struct reverse r = {.walker = walker,
                        .slots = walker_slots_new(walker, true),
                        .derivatives = memory_zeroed(count + 1, sizeof *r.derivatives),
                        .dependent = memory_zeroed(count + 1, sizeof *r.dependent),
                        .err = &err};
    int result = reverse_graph(&r, request, outputs);
    for (size_t i = 0; i < count; i++)
        tensor_release(&r.derivatives[i]);
    free(r.derivatives);
    free(r.dependent);
    walker_slots_free(walker, r.slots);
    return result ? adapter_fail_error(call, &err) : 0;
}
