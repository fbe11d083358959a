/* Places a subgraph block of a plan: sizes, inputs, nodes (place_subgraph of planner.h). */
#include "generate/planner.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "generate/expression.h"
#include "generate/subgraph.h"
#include "model/build.h"
#include "model/tree.h"

#include <stdlib.h>
#include <string.h>

/* A subgraph while it is placed in the model. */
struct instance {
    struct planner *g;
    const struct subgraph *graph;
    enum dtype type; /* that "float" stands for here */
    struct rng shapes, params;
    int64_t sizes[SUBGRAPH_SYMBOLS];
    bool bound[SUBGRAPH_SYMBOLS];
    bool any_known; /* the shape of inputs of any rank */
    struct shape any;
    size_t *values; /* of each of the subgraph's values: its number in the model */
    struct subgraph_changes changes;
    struct error *err;
};

static enum dtype type_here(const struct instance *n, enum dtype type)
{
    return type == DTYPE_FLOAT ? n->type : type;
}

/* The value of a variable size, which is drawn when it is first needed. */
static int64_t size_of(struct instance *n, size_t symbol)
{
    const struct subgraph_symbol *s = &n->graph->symbols[symbol];
    if (!n->bound[symbol]) {
        n->sizes[symbol] = s->low + s->step * rng_range(&n->shapes, 0, (s->high - s->low) / s->step);
        n->bound[symbol] = true;
    }
    return n->sizes[symbol];
}

static bool lookup(const void *context, const char *name, size_t length, int64_t *value)
{
    /* The lookup may draw a size, though the expression passes its context as const. */
    struct instance *n = (struct instance *)(uintptr_t)context;
    for (size_t i = 0; i < n->graph->n_symbols; i++)
        if (strlen(n->graph->symbols[i].name) == length &&
            strncmp(n->graph->symbols[i].name, name, length) == 0) {
            *value = size_of(n, i);
            return true;
        }
    return false;
}

static int evaluate(struct instance *n, size_t expression, int64_t *value)
{
    return expression_eval(n->graph->expressions[expression], lookup, n, value, n->err);
}

/* Resolves a number of the text: itself, or the value of the expression that it marks. */
static int resolve(struct instance *n, int64_t number, int64_t *value)
{
    size_t expression;
    if (subgraph_mark(n->graph, number, &expression))
        return evaluate(n, expression, value);
    *value = number;
    return 0;
}

static int64_t nearest(const struct subgraph_symbol *s, int64_t size)
{
    if (size <= s->low)
        return s->low;
    int64_t within = size > s->high ? s->high : size;
    return s->low + (within - s->low) / s->step * s->step;
}

/* The shape of an input; `fed` is that of the value it gets, of the same rank, or NULL. */
static int input_shape(struct instance *n, const struct subgraph_input *input, const struct shape *fed,
                       struct shape *shape)
{
    *shape = (struct shape){.rank = input->rank};
    for (int i = 0; fed && i < input->rank; i++) {
        size_t symbol = (size_t)input->dims[i].number;
        if (input->dims[i].kind == DIM_SYMBOL && !n->bound[symbol]) {
            n->sizes[symbol] = nearest(&n->graph->symbols[symbol], fed->dims[i]);
            n->bound[symbol] = true;
        }
    }
    for (int i = 0; i < input->rank; i++) {
        const struct subgraph_dim *dim = &input->dims[i];
        shape->dims[i] = dim->kind == DIM_SYMBOL ? size_of(n, (size_t)dim->number) : dim->number;
        if (dim->kind == DIM_EXPRESSION && evaluate(n, (size_t)dim->number, &shape->dims[i]))
            return -1;
        if (shape->dims[i] < 0 || shape->dims[i] > PLAN_ELEMENTS)
            return error_set(n->err, ERROR_LIMIT, "a dimension of input %s would become %lld", input->name,
                             (long long)shape->dims[i]);
    }
    if (shape_span(shape, 0, shape->rank) > SUBGRAPH_CONSTANT)
        return error_set(n->err, ERROR_LIMIT, "input %s would become too large", input->name);
    return 0;
}

/* ---- New values ---- */

static int range_end(struct instance *n, const char *text, double *value)
{
    int64_t number;
    if (text_double(text, value))
        return 0;
    if (expression_eval(text, lookup, n, &number, n->err))
        return -1;
    *value = (double)number;
    return 0;
}

static int fill(struct instance *n, const struct subgraph_input *input, struct tensor *data, struct rng rng)
{
    double low, high;
    if (!input->filled) {
        fill_tensor(data, n->g->fill, rng);
        return 0;
    }
    if (range_end(n, input->low, &low) || range_end(n, input->high, &high))
        return -1;
    for (size_t i = 0; i < data->count; i++)
        tensor_set(
            data, i,
            dtype_is_float(data->type)
                ? (long double)rng_uniform(&rng, low, high)
                : (long double)rng_range(&rng, (int64_t)low, high < low ? (int64_t)low : (int64_t)high));
    return 0;
}

static int new_input(struct instance *n, size_t number, const struct shape *shape)
{
    const struct subgraph_input *input = &n->graph->inputs[number];
    struct tensor data;
    if (tensor_alloc(&data, type_here(n, input->type), shape, 0, n->err))
        return -1;
    int result = fill(n, input, &data, rng_split(&n->params, 500 + number));
    bool constant = rng_chance(&n->params, input->data ? 0.05 : input->filled ? 0.85 : 0.7);
    if (!result)
        n->values[number] = planner_tensor(n->g, &data, constant);
    tensor_release(&data);
    return result;
}

/* An initialiser of the block with the type and numbers of this instance. */
static int constant_here(struct instance *n, const Onnx__TensorProto *proto, struct tensor *data)
{
    struct tensor read;
    if (model_tensor_read(proto, &read, n->err))
        return -1;
    if (tensor_alloc(data, type_here(n, read.type), &read.shape, 0, n->err)) {
        tensor_release(&read);
        return -1;
    }
    int result = 0;
    for (size_t i = 0; !result && i < read.count; i++) {
        int64_t number = read.type == DTYPE_INT64 ? ((const int64_t *)read.data)[i] : 0;
        if (read.type == DTYPE_INT64)
            result = resolve(n, number, &number);
        tensor_set(data, i, read.type == DTYPE_INT64 ? (long double)number : tensor_get(&read, i));
    }
    tensor_release(&read);
    if (result)
        tensor_release(data);
    return result;
}

/* ---- Inputs ---- */

/* Adapts the next feed to the input. False when there is none, or it cannot be adapted. */
static bool take_feed(struct instance *n, size_t number)
{
    const struct subgraph_input *input = &n->graph->inputs[number];
    struct planner *g = n->g;
    struct shape shape;
    while (g->used_feeds < g->n_feeds) {
        size_t value = g->feeds[g->used_feeds++];
        if (planner_value(g, value)->value.count == 0)
            continue;
        if (range_wild(planner_value(g, value)) && !adapt_range(g, value, -100, 100, &value))
            continue;
        if (input->any_rank)
            shape = n->any_known ? n->any : planner_value(g, value)->value.shape;
        else if (!adapt_rank(g, value, input->rank, &value) ||
                 input_shape(n, input, &planner_value(g, value)->value.shape, &shape))
            continue;
        if (!adapt(g, value, type_here(n, input->type), &shape, &n->values[number]))
            continue;
        if (input->any_rank) {
            n->any = shape;
            n->any_known = true;
        }
        return true;
    }
    return false;
}

static struct shape any_shape(struct instance *n)
{
    struct shape shape = {.rank = (int)rng_range(&n->shapes, 0, 4)};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = rng_range(&n->shapes, 1, 5);
    return shape;
}

static int place_input(struct instance *n, size_t number)
{
    const struct subgraph_input *input = &n->graph->inputs[number];
    struct shape shape;
    if (input->constant) {
        struct tensor data;
        if (constant_here(n, input->constant, &data))
            return -1;
        n->values[number] = planner_tensor(n->g, &data, true);
        tensor_release(&data);
        return 0;
    }
    if (input->data && take_feed(n, number))
        return 0;
    if (input->any_rank) {
        n->any = n->any_known ? n->any : any_shape(n);
        n->any_known = true;
        return new_input(n, number, &n->any);
    }
    return input_shape(n, input, NULL, &shape) ? -1 : new_input(n, number, &shape);
}

/* Data inputs first, because they determine the sizes. */
static int place_inputs(struct instance *n)
{
    for (int data = 1; data >= 0; data--)
        for (size_t i = 0; i < n->graph->n_inputs; i++)
            if (n->graph->inputs[i].data == data && place_input(n, i))
                return -1;
    return 0;
}

/* ---- Nodes ---- */

static int patch_tensor(struct instance *n, Onnx__AttributeProto *attribute)
{
    struct tensor data;
    if (constant_here(n, attribute->t, &data))
        return -1;
    attribute->t =
        model_tensor_write(&n->g->m.model->arena, attribute->t->name ? attribute->t->name : "", &data);
    tensor_release(&data);
    return 0;
}

/* Turns value_float and value_floats of a Constant into a tensor of the type that "float" stands for here. */
static int patch_floats(struct instance *n, Onnx__NodeProto *node, const Onnx__AttributeProto *attribute)
{
    struct arena *arena = &n->g->m.model->arena;
    bool list = attribute->n_floats > 0;
    struct shape shape = {.rank = list ? 1 : 0, .dims = {(int64_t)attribute->n_floats}};
    struct tensor data;
    if (tensor_alloc(&data, n->type, &shape, 0, n->err))
        return -1;
    for (size_t i = 0; i < data.count; i++)
        tensor_set(&data, i, list ? attribute->floats[i] : attribute->f);
    node->n_attribute = 0;
    node_set_tensor(arena, node, "value", &data);
    tensor_release(&data);
    return 0;
}

static int patch_attribute(struct instance *n, Onnx__NodeProto *node, size_t number)
{
    Onnx__AttributeProto *attribute = node->attribute[number];
    bool constant = node_is_constant(node);
    if (constant && (attribute->n_floats || attribute->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT))
        return patch_floats(n, node, attribute);
    int result = resolve(n, attribute->i, &attribute->i);
    for (size_t i = 0; !result && i < attribute->n_ints; i++)
        result = resolve(n, attribute->ints[i], &attribute->ints[i]);
    if (!result && attribute->t)
        result = patch_tensor(n, attribute);
    return result;
}

/* Copies the attributes into the case, which outlives the block. */
static int patch(struct instance *n, const struct subgraph_node *from, Onnx__NodeProto *node)
{
    struct arena *arena = &n->g->m.model->arena;
    node->n_attribute = from->proto->n_attribute;
    node->attribute = arena_array(arena, node->n_attribute, sizeof *node->attribute);
    for (size_t i = 0; i < node->n_attribute; i++)
        node->attribute[i] =
            (Onnx__AttributeProto *)tree_copy(&from->proto->attribute[i]->base, arena, NULL, NULL);
    for (size_t i = 0; from->patched && i < node->n_attribute; i++)
        if (patch_attribute(n, node, i))
            return -1;
    return 0;
}

/* Leaves the node out: an input of the same type and shape, or a new value, replaces its output. */
static bool drop_node(struct instance *n, const struct subgraph_node *node, const struct bounded *outputs)
{
    struct planner *g = n->g;
    const struct bounded *out = &outputs[0];
    if (node->proto->n_output != 1 || out->value || out->count == 0)
        return false;
    for (size_t i = 0; i < node->proto->n_input; i++) {
        if (node->inputs[i] == SUBGRAPH_NONE)
            continue;
        const struct maker_value *v = planner_value(g, n->values[node->inputs[i]]);
        if (v->value.type == out->type && shape_equal(&v->value.shape, &out->shape)) {
            n->values[node->outputs[0]] = n->values[node->inputs[i]];
            return true;
        }
    }
    struct tensor data;
    if (tensor_alloc(&data, out->type, &out->shape, 0, NULL))
        return false;
    fill_tensor(&data, g->fill, rng_split(&n->params, 900));
    n->values[node->outputs[0]] = planner_tensor(g, &data, false);
    tensor_release(&data);
    return true;
}

static int place_node(struct instance *n, size_t number)
{
    const struct subgraph_node *node = &n->graph->nodes[number];
    const Onnx__NodeProto *proto = node->proto;
    struct planner *g = n->g;
    const struct bounded *inputs[SUBGRAPH_INPUTS];
    const char *names[SUBGRAPH_INPUTS];
    struct bounded outputs[PLAN_OUTPUTS];
    Onnx__NodeProto made = *proto;
    if (proto->n_input > SUBGRAPH_INPUTS || proto->n_output > PLAN_OUTPUTS)
        return error_set(n->err, ERROR_LIMIT, "%s has too many inputs or outputs", proto->op_type);
    for (size_t i = 0; i < proto->n_input; i++) {
        const struct maker_value *v =
            node->inputs[i] == SUBGRAPH_NONE ? NULL : planner_value(g, n->values[node->inputs[i]]);
        inputs[i] = v ? &v->value : NULL;
        names[i] = v ? v->name : "";
    }
    if (patch(n, node, &made))
        return -1;
    int result = infer_node(g->m.opset, &made, inputs, proto->n_input, outputs, proto->n_output, n->err);
    for (size_t i = 0; !result && i < proto->n_output; i++)
        if (outputs[i].count > SUBGRAPH_CONSTANT)
            result = error_set(n->err, ERROR_LIMIT, "an output of %s is too large", proto->op_type);
    if (!result && !(number == n->changes.dropped && drop_node(n, node, outputs)))
        planner_keep(g, &made, node->op, names, outputs, node->outputs, n->values);
    for (size_t i = 0; i < proto->n_output; i++)
        bounded_release(&outputs[i]);
    return result;
}

/* Places a node twice; for each of its results, later nodes use that of the first or of the second one. */
static int place_twice(struct instance *n, size_t number)
{
    const struct subgraph_node *node = &n->graph->nodes[number];
    size_t before[PLAN_OUTPUTS], count = node->proto->n_output;
    if (place_node(n, number))
        return -1;
    for (size_t i = 0; i < count; i++)
        before[i] = node->outputs[i] == SUBGRAPH_NONE ? 0 : n->values[node->outputs[i]];
    if (place_node(n, number))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (node->outputs[i] != SUBGRAPH_NONE && rng_chance(&n->params, 0.5))
            n->values[node->outputs[i]] = before[i];
    return 0;
}

static int place_nodes(struct instance *n)
{
    for (size_t i = 0; i < n->graph->n_nodes; i++)
        if (i == n->changes.doubled ? place_twice(n, i) : place_node(n, i))
            return error_prefix(n->err, "node %zu", i);
    return 0;
}

static bool lacking(struct planner *g, const struct subgraph *graph, enum dtype type)
{
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (planner_lacks(g, graph->nodes[i].op, type))
            return true;
    return false;
}

/* Chooses the type that "float" stands for: that of the feed when the block allows it. */
static enum dtype choose_type(struct planner *g, const struct subgraph *graph, struct rng *rng)
{
    dtype_set set = graph->types, wanted = set & g->options->types;
    if (g->m.opset < 13)
        set &= ~DTYPE_BIT(DTYPE_BFLOAT16);
    if (g->n_feeds && dtype_in(planner_value(g, g->feeds[0])->value.type, set))
        return planner_value(g, g->feeds[0])->value.type;
    return draw_primary_type(rng, wanted ? wanted : set);
}

int place_subgraph(struct planner *g, const struct subgraph *graph, struct rng shapes, struct rng params,
                   struct rng changes, size_t *outputs, size_t *n_outputs, struct error *err)
{
    struct instance n = {.g = g, .graph = graph, .shapes = shapes, .params = params, .err = err};
    n.type = choose_type(g, graph, &n.params);
    if (n.type == DTYPE_NONE || lacking(g, graph, n.type))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the engine does not support the type or an operator of the block");
    n.changes = mutate_subgraph(graph->n_nodes, g->plan->rates, changes);
    n.values = memory_zeroed(graph->n_values, sizeof *n.values);
    int result = place_inputs(&n);
    if (!result)
        result = place_nodes(&n);
    *n_outputs = 0;
    for (size_t i = 0; !result && i < graph->n_outputs; i++)
        outputs[(*n_outputs)++] = n.values[graph->outputs[i]];
    free(n.values);
    return result;
}
