#include "search/watched_values.h"

#include "model/build.h"
#include "model/index.h"
#include "model/inferred.h"
#include "tensor/dtype.h"

/* Elements of a tensor of floats, with 1 for each open dimension; 0 for any other type, or an unknown one. */
static int64_t elements_of(const Onnx__TypeProto *type)
{
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type->shape ||
        dtype_check(type->tensor_type->elem_type, NULL) ||
        !dtype_is_float((enum dtype)type->tensor_type->elem_type))
        return 0;
    int64_t count = 1;
    for (size_t i = 0; i < type->tensor_type->shape->n_dim && count <= WATCHED_ELEMENTS; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->tensor_type->shape->dim[i];
        bool open = dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        int64_t size = open || dim->dim_value < 1 ? 1 : dim->dim_value;
        count *= size > WATCHED_ELEMENTS ? WATCHED_ELEMENTS + 1 : size;
    }
    return count;
}

/* The outputs with those that are added behind them; they live in the model's arena. */
struct watched {
    struct model *model;
    const struct model_index *index; /* of the model with inferred types */
    Onnx__ValueInfoProto **outputs;
    size_t total;
    int64_t elements; /* of what was added */
};

static void add(struct watched *watched, const char *name)
{
    const struct index_value *value = *name ? model_index_find(watched->index, name) : NULL;
    if (!value || value->is_output)
        return;
    Onnx__TypeProto *type = model_index_type(watched->index, value, &watched->model->arena);
    int64_t elements = elements_of(type);
    if (!elements || elements > WATCHED_ELEMENTS - watched->elements)
        return;
    watched->elements += elements;
    watched->outputs[watched->total++] = value_info_make(&watched->model->arena, name, type);
}

int watch_values(struct model *model, struct error *err)
{
    Onnx__GraphProto *graph = model->graph;
    struct model_index index;
    struct model *inferred = model_inferred(model);
    size_t room = graph->n_output;
    if (!inferred)
        return 0;
    if (model_index_init(&index, inferred, err)) {
        model_free(inferred);
        return -1;
    }
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    struct watched watched = {.model = model, .index = &index, .total = graph->n_output};
    watched.outputs = arena_array(&model->arena, room + 1, sizeof *watched.outputs);
    for (size_t i = 0; i < graph->n_output; i++)
        watched.outputs[i] = graph->output[i];
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            add(&watched, graph->node[i]->output[k]);
    graph->output = watched.outputs;
    graph->n_output = watched.total;
    model->path = NULL;
    model_index_release(&index);
    model_free(inferred);
    return 0;
}
