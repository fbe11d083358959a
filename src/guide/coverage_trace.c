#include "guide/coverage_trace.h"

#include "base/hash.h"
#include "base/map.h"
#include "guide/coverage_param.h"

#include <string.h>

/* Constants of at most this many elements are parameters (axes, pads, shapes), not data. */
enum { SMALL_CONSTANT = 16 };

struct tracer {
    struct trace *trace;
    const struct model *model;
    const struct trace_shapes *shapes;
    int opset;
    struct map producers, constants; /* name -> node, initialiser */
};

void trace_init(struct trace *trace)
{
    *trace = (struct trace){0};
    arena_init(&trace->arena);
}

void trace_release(struct trace *trace)
{
    arena_release(&trace->arena);
}

static uint64_t hash_attribute(const Onnx__AttributeProto *a)
{
    uint64_t hash = hash_combine(hash_text(a->name), (uint64_t)a->type);
    hash = hash_combine(hash, (uint64_t)a->i);
    hash = hash_bytes(hash, &a->f, sizeof a->f);
    hash = hash_bytes(hash, a->s.data, a->s.len);
    hash = hash_bytes(hash, a->ints, a->n_ints * sizeof *a->ints);
    hash = hash_bytes(hash, a->floats, a->n_floats * sizeof *a->floats);
    for (size_t i = 0; i < a->n_strings; i++)
        hash = hash_bytes(hash, a->strings[i].data, a->strings[i].len);
    if (a->t)
        hash = hash_bytes(hash, a->t->dims, a->t->n_dims * sizeof *a->t->dims);
    return hash;
}

static uint64_t hash_shape(uint64_t hash, enum dtype type, const struct shape *shape)
{
    hash = hash_combine(hash, (uint64_t)type);
    return hash_bytes(hash, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
}

static uint64_t hash_constant(uint64_t hash, const Onnx__TensorProto *tensor)
{
    bool integer = tensor->data_type == DTYPE_INT64 || tensor->data_type == DTYPE_INT32;
    hash = hash_combine(hash, (uint64_t)tensor->data_type);
    hash = hash_bytes(hash, tensor->dims, tensor->n_dims * sizeof *tensor->dims);
    if (integer && tensor->raw_data.len <= SMALL_CONSTANT * sizeof(int64_t))
        hash = hash_bytes(hash, tensor->raw_data.data, tensor->raw_data.len);
    return hash;
}

static uint64_t hash_input(const struct tracer *t, uint64_t hash, const char *name)
{
    size_t number;
    enum dtype type;
    struct shape shape;
    if (!*name)
        return hash_combine(hash, 1);
    if (map_get(&t->constants, name, &number))
        return hash_constant(hash, t->model->graph->initializer[number]);
    if (t->shapes && t->shapes->find(t->shapes->context, name, &type, &shape))
        return hash_shape(hash, type, &shape);
    return hash_combine(hash, 2);
}

static unsigned input_class(const struct tracer *t, size_t index, const Onnx__NodeProto *proto)
{
    if (index >= proto->n_input || !*proto->input[index])
        return PARAM_INPUT_OMITTED;
    return map_has(&t->constants, proto->input[index]) ? PARAM_INPUT_CONSTANT : PARAM_INPUT_COMPUTED;
}

static void trace_params(const struct tracer *t, struct trace_node *node, const Onnx__NodeProto *proto)
{
    const struct op_param *p = node->row ? node->row->params : NULL;
    for (size_t i = 0; p && p[i].name && i < TRACE_PARAMS; i++) {
        bool there = (!p[i].since || t->opset >= p[i].since) && (!p[i].until || t->opset <= p[i].until);
        if (there)
            node->classes[i] = (uint8_t)(p[i].kind == PARAM_INPUT ? input_class(t, p[i].input, proto)
                                                                  : param_class(&p[i], proto));
    }
}

static void trace_node(struct tracer *t, size_t number)
{
    struct trace_node *node = &t->trace->nodes[number];
    const Onnx__NodeProto *proto = t->model->graph->node[number];
    size_t producer;
    uint64_t attributes = 0;
    node->op = arena_strdup(&t->trace->arena, op_title(proto));
    node->row = op_of(proto);
    for (size_t i = 0; i < proto->n_input; i++) {
        node->vector = hash_input(t, node->vector, proto->input[i]);
        if (!*proto->input[i] || map_has(&t->constants, proto->input[i]))
            continue;
        node->in++;
        if (map_get(&t->producers, proto->input[i], &producer))
            t->trace->nodes[producer].out++;
    }
    /* The order of attributes has no meaning, so their hashes are added. */
    for (size_t i = 0; i < proto->n_attribute; i++)
        attributes += hash_attribute(proto->attribute[i]);
    node->vector = hash_combine(node->vector, attributes);
    trace_params(t, node, proto);
}

static void trace_edges(struct tracer *t)
{
    struct trace *trace = t->trace;
    for (size_t i = 0; i < trace->n_nodes; i++)
        trace->nodes[i].to = arena_array(&trace->arena, trace->nodes[i].out + 1, sizeof *trace->nodes[i].to);
    for (size_t i = 0; i < trace->n_nodes; i++) {
        const Onnx__NodeProto *proto = t->model->graph->node[i];
        size_t producer;
        for (size_t k = 0; k < proto->n_input; k++)
            if (!map_has(&t->constants, proto->input[k]) &&
                map_get(&t->producers, proto->input[k], &producer))
                trace->nodes[producer].to[trace->nodes[producer].n_to++] = (uint32_t)i;
    }
}

void trace_model(struct trace *trace, const struct model *model, const struct trace_shapes *shapes)
{
    struct tracer t = {.trace = trace, .model = model, .shapes = shapes, .opset = model_opset(model)};
    const Onnx__GraphProto *graph = model->graph;
    arena_clear(&trace->arena);
    map_init(&t.producers);
    map_init(&t.constants);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&t.constants, graph->initializer[i]->name, i);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k])
                map_set(&t.producers, graph->node[i]->output[k], i);
    trace->n_nodes = graph->n_node;
    trace->nodes = arena_array(&trace->arena, graph->n_node + 1, sizeof *trace->nodes);
    for (size_t i = 0; i < graph->n_node; i++)
        trace_node(&t, i);
    trace_edges(&t);
    map_release(&t.producers);
    map_release(&t.constants);
}
