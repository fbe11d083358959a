#include "guide/coverage_record.h"

#include "base/hash.h"
#include "base/map.h"
#include "guide/coverage_param.h"

/* Constants of at most this many elements are parameters (axes, pads, shapes), not data. */
enum { SMALL_CONSTANT = 16 };

struct recorder {
    struct coverage_record *record;
    const struct model *model;
    const struct coverage_shapes *shapes;
    int opset;
    struct map producers, constants; /* name -> node, initialiser */
};

void coverage_record_init(struct coverage_record *record)
{
    *record = (struct coverage_record){0};
    arena_init(&record->arena);
}

void coverage_record_release(struct coverage_record *record)
{
    arena_release(&record->arena);
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

static uint64_t hash_input(const struct recorder *t, uint64_t hash, const char *name)
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

static unsigned input_class(const struct recorder *t, size_t index, const Onnx__NodeProto *proto)
{
    if (index >= proto->n_input || !*proto->input[index])
        return PARAM_INPUT_OMITTED;
    return map_has(&t->constants, proto->input[index]) ? PARAM_INPUT_CONSTANT : PARAM_INPUT_COMPUTED;
}

static void record_params(const struct recorder *t, struct coverage_node *node, const Onnx__NodeProto *proto)
{
    const struct op_param *p = node->row ? node->row->params : NULL;
    for (size_t i = 0; p && p[i].name && i < COVERAGE_PARAMS; i++) {
        bool there = (!p[i].since || t->opset >= p[i].since) && (!p[i].until || t->opset <= p[i].until);
        if (there)
            node->classes[i] = (uint8_t)(p[i].kind == PARAM_INPUT ? input_class(t, p[i].input, proto)
                                                                  : param_class(&p[i], proto));
    }
}

static void record_node(struct recorder *t, size_t number)
{
    struct coverage_node *node = &t->record->nodes[number];
    const Onnx__NodeProto *proto = t->model->graph->node[number];
    size_t producer;
    uint64_t attributes = 0;
    node->op = arena_strdup(&t->record->arena, op_title(proto));
    node->row = op_of(proto);
    for (size_t i = 0; i < proto->n_input; i++) {
        node->vector = hash_input(t, node->vector, proto->input[i]);
        if (!*proto->input[i] || map_has(&t->constants, proto->input[i]))
            continue;
        node->in++;
        if (map_get(&t->producers, proto->input[i], &producer))
            t->record->nodes[producer].out++;
    }
    /* The order of attributes has no meaning, so their hashes are added. */
    for (size_t i = 0; i < proto->n_attribute; i++)
        attributes += hash_attribute(proto->attribute[i]);
    node->vector = hash_combine(node->vector, attributes);
    record_params(t, node, proto);
}

static void record_edges(struct recorder *t)
{
    struct coverage_record *record = t->record;
    for (size_t i = 0; i < record->n_nodes; i++)
        record->nodes[i].to =
            arena_array(&record->arena, record->nodes[i].out + 1, sizeof *record->nodes[i].to);
    for (size_t i = 0; i < record->n_nodes; i++) {
        const Onnx__NodeProto *proto = t->model->graph->node[i];
        size_t producer;
        for (size_t k = 0; k < proto->n_input; k++)
            if (!map_has(&t->constants, proto->input[k]) &&
                map_get(&t->producers, proto->input[k], &producer))
                record->nodes[producer].to[record->nodes[producer].n_to++] = (uint32_t)i;
    }
}

void coverage_record_model(struct coverage_record *record, const struct model *model,
                           const struct coverage_shapes *shapes)
{
    struct recorder t = {.record = record, .model = model, .shapes = shapes, .opset = model_opset(model)};
    const Onnx__GraphProto *graph = model->graph;
    arena_clear(&record->arena);
    map_init(&t.producers);
    map_init(&t.constants);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&t.constants, graph->initializer[i]->name, i);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k])
                map_set(&t.producers, graph->node[i]->output[k], i);
    record->n_nodes = graph->n_node;
    record->nodes = arena_array(&record->arena, graph->n_node + 1, sizeof *record->nodes);
    for (size_t i = 0; i < graph->n_node; i++)
        record_node(&t, i);
    record_edges(&t);
    map_release(&t.producers);
    map_release(&t.constants);
}
