#include "model/build.h"

#include "model/function.h"

#include <string.h>

/* Makes room for one more item. Without known capacity the array moves to one twice as large. */
static void *extend(struct arena *arena, struct model_room *room, void *items, size_t count)
{
    if (items && room->items == items && count < room->capacity)
        return items;
    room->capacity = count < 4 ? 8 : count * 2;
    void **moved = arena_array(arena, room->capacity, sizeof *moved);
    if (count)
        memcpy(moved, items, count * sizeof *moved);
    room->items = moved;
    return moved;
}

Onnx__TypeProto *type_make(struct arena *arena, enum dtype type, const struct shape *shape)
{
    Onnx__TypeProto *proto = arena_alloc(arena, sizeof *proto);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(arena, sizeof *tensor);
    onnx__type_proto__init(proto);
    onnx__type_proto__tensor__init(tensor);
    proto->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    proto->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = type;
    if (!shape)
        return proto;
    tensor->shape = arena_alloc(arena, sizeof *tensor->shape);
    onnx__tensor_shape_proto__init(tensor->shape);
    tensor->shape->n_dim = (size_t)shape->rank;
    tensor->shape->dim = arena_array(arena, (size_t)shape->rank, sizeof *tensor->shape->dim);
    for (int i = 0; i < shape->rank; i++) {
        Onnx__TensorShapeProto__Dimension *dim = arena_alloc(arena, sizeof *dim);
        onnx__tensor_shape_proto__dimension__init(dim);
        if (shape->dims[i] >= 0) {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = shape->dims[i];
        }
        tensor->shape->dim[i] = dim;
    }
    return proto;
}

Onnx__ValueInfoProto *value_info_make(struct arena *arena, const char *name, Onnx__TypeProto *type)
{
    Onnx__ValueInfoProto *info = arena_alloc(arena, sizeof *info);
    onnx__value_info_proto__init(info);
    info->name = arena_strdup(arena, name);
    info->type = type;
    return info;
}

Onnx__ValueInfoProto *model_add_input(struct model *model, const char *name, enum dtype type,
                                      const struct shape *shape)
{
    struct arena *arena = &model->arena;
    Onnx__GraphProto *graph = model->graph;
    model->path = NULL;
    graph->input = extend(arena, &model->inputs, graph->input, graph->n_input);
    return graph->input[graph->n_input++] = value_info_make(arena, name, type_make(arena, type, shape));
}

Onnx__ValueInfoProto *model_add_output(struct model *model, const char *name, enum dtype type,
                                       const struct shape *shape)
{
    struct arena *arena = &model->arena;
    Onnx__GraphProto *graph = model->graph;
    model->path = NULL;
    graph->output = extend(arena, &model->outputs, graph->output, graph->n_output);
    return graph->output[graph->n_output++] = value_info_make(arena, name, type_make(arena, type, shape));
}

void model_add_initializer(struct model *model, const char *name, const struct tensor *tensor)
{
    Onnx__GraphProto *graph = model->graph;
    model->path = NULL;
    graph->initializer =
        extend(&model->arena, &model->initializers, graph->initializer, graph->n_initializer);
    graph->initializer[graph->n_initializer++] = model_tensor_write(&model->arena, name, tensor);
}

static char **copy_names(struct arena *arena, size_t count, const char *const *names)
{
    char **copy = arena_array(arena, count, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, names[i]);
    return copy;
}

static Onnx__NodeProto *make_node(struct arena *arena, const char *op_type, const char *name, size_t number,
                                  size_t inputs, const char *const *input, size_t outputs,
                                  const char *const *output)
{
    Onnx__NodeProto *node = arena_alloc(arena, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = arena_strdup(arena, op_type);
    node->name = name ? arena_strdup(arena, name) : arena_numbered(arena, op_type, "_", number);
    node->domain = arena_strdup(arena, "");
    node->n_input = inputs;
    node->input = copy_names(arena, inputs, input);
    node->n_output = outputs;
    node->output = copy_names(arena, outputs, output);
    return node;
}

Onnx__NodeProto *model_add_node(struct model *model, const char *op_type, const char *name, size_t inputs,
                                const char *const *input, size_t outputs, const char *const *output)
{
    Onnx__GraphProto *graph = model->graph;
    model->path = NULL;
    graph->node = extend(&model->arena, &model->nodes, graph->node, graph->n_node);
    Onnx__NodeProto *node =
        make_node(&model->arena, op_type, name, graph->n_node, inputs, input, outputs, output);
    graph->node[graph->n_node++] = node;
    return node;
}

void model_set_domain(struct model *model, Onnx__NodeProto *node, const char *domain)
{
    Onnx__ModelProto *proto = model->proto;
    struct arena *arena = &model->arena;
    node->domain = arena_strdup(arena, domain);
    if (model_opset_of(model, domain))
        return;
    Onnx__OperatorSetIdProto **imports = arena_array(arena, proto->n_opset_import + 1, sizeof *imports);
    memcpy(imports, proto->opset_import, proto->n_opset_import * sizeof *imports);
    Onnx__OperatorSetIdProto *added = arena_alloc(arena, sizeof *added);
    onnx__operator_set_id_proto__init(added);
    added->domain = arena_strdup(arena, domain);
    added->has_version = true;
    added->version = 1;
    imports[proto->n_opset_import++] = added;
    proto->opset_import = imports;
}

Onnx__GraphProto *graph_new(struct arena *arena, const char *name)
{
    Onnx__GraphProto *graph = arena_alloc(arena, sizeof *graph);
    onnx__graph_proto__init(graph);
    graph->name = arena_strdup(arena, name);
    return graph;
}

/* Makes room for one more item by copying the array: bodies are small. */
static void *one_more(struct arena *arena, void *items, size_t count)
{
    struct model_room none = {0};
    return extend(arena, &none, items, count);
}

Onnx__NodeProto *graph_add_node(struct arena *arena, Onnx__GraphProto *graph, const char *op_type,
                                const char *name, size_t inputs, const char *const *input, size_t outputs,
                                const char *const *output)
{
    graph->node = one_more(arena, graph->node, graph->n_node);
    Onnx__NodeProto *node = make_node(arena, op_type, name, graph->n_node, inputs, input, outputs, output);
    return graph->node[graph->n_node++] = node;
}

void graph_add_input(struct arena *arena, Onnx__GraphProto *graph, Onnx__ValueInfoProto *info)
{
    graph->input = one_more(arena, graph->input, graph->n_input);
    graph->input[graph->n_input++] = info;
}

void graph_add_output(struct arena *arena, Onnx__GraphProto *graph, Onnx__ValueInfoProto *info)
{
    graph->output = one_more(arena, graph->output, graph->n_output);
    graph->output[graph->n_output++] = info;
}

void graph_add_initializer(struct arena *arena, Onnx__GraphProto *graph, Onnx__TensorProto *tensor)
{
    graph->initializer = one_more(arena, graph->initializer, graph->n_initializer);
    graph->initializer[graph->n_initializer++] = tensor;
}

bool node_is_constant(const Onnx__NodeProto *node)
{
    return strcmp(node->op_type, "Constant") == 0;
}
