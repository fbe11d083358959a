#include "eval/value_types.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/index.h"

#include <stdlib.h>

enum { KNOWN_ELEMENTS = 256 }; /* of constants whose values matter to shapes: axes, pads, sizes */

static struct bounded *slot(struct value_types *types, const char *name)
{
    size_t number;
    if (map_get(&types->names, name, &number))
        return &types->values[number];
    types->values = memory_grow(types->values, &types->capacity, types->count + 1, sizeof *types->values);
    map_set(&types->names, name, types->count);
    struct bounded *value = &types->values[types->count++];
    bounded_init(value);
    return value;
}

static void note_info(struct value_types *types, const Onnx__ValueInfoProto *info)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        dtype_check(info->type->tensor_type->elem_type, NULL))
        return;
    struct bounded *value = slot(types, info->name);
    if (value->type != DTYPE_NONE)
        return;
    const Onnx__TensorShapeProto *shape = info->type->tensor_type->shape;
    value->type = (enum dtype)info->type->tensor_type->elem_type;
    value->shape.rank = -1;
    if (!shape || shape->n_dim > TENSOR_MAX_RANK)
        return;
    for (size_t i = 0; i < shape->n_dim; i++) {
        if (shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ||
            shape->dim[i]->dim_value < 0)
            return;
        value->shape.dims[i] = shape->dim[i]->dim_value;
    }
    value->shape.rank = (int)shape->n_dim;
    if (shape_count(&value->shape, &value->count, NULL))
        value->shape.rank = -1;
}

/* Small constants with their values: a Reshape needs its shape. */
static void note_weight(struct value_types *types, const struct model *model, size_t number,
                        const Onnx__TensorProto *tensor, size_t n_dims, const int64_t *dims)
{
    if (dtype_check(tensor->data_type, NULL) || n_dims > TENSOR_MAX_RANK)
        return;
    struct shape shape = shape_make((int)n_dims, dims);
    size_t count;
    if (shape_count(&shape, &count, NULL))
        return;
    struct bounded *value = slot(types, tensor->name);
    bounded_release(value);
    bounded_init(value);
    struct tensor small;
    if (count <= KNOWN_ELEMENTS && tensor->data_type != DTYPE_STRING &&
        model_weight(model, number, &small, NULL) == 0) {
        if (bounded_from_tensor(value, &small, NULL))
            bounded_init(value);
        tensor_release(&small);
    }
    value->type = (enum dtype)tensor->data_type;
    value->shape = shape;
    value->count = count;
}

static void note_initializer(struct value_types *types, const struct model *model, size_t number)
{
    const Onnx__TensorProto *tensor = model->graph->initializer[number];
    note_weight(types, model, number, tensor, tensor->n_dims, tensor->dims);
}

static void note_sparse(struct value_types *types, const struct model *model, size_t number)
{
    const Onnx__SparseTensorProto *sparse = model->graph->sparse_initializer[number];
    if (sparse->values)
        note_weight(types, model, model->graph->n_initializer + number, sparse->values, sparse->n_dims,
                    sparse->dims);
}

/* False when an input is not known well enough. */
static bool gather_inputs(const struct value_types *types, const Onnx__NodeProto *node,
                          const struct bounded **inputs)
{
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = value_types_find(types, node->input[i]);
        if (*node->input[i] && (!inputs[i] || inputs[i]->type == DTYPE_NONE || inputs[i]->shape.rank < 0))
            return false;
    }
    return true;
}

/* Bodies may run for long. */
static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            return true;
    return false;
}

/* What the model says itself need not be inferred. */
static bool all_known(const struct value_types *types, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const struct bounded *value = value_types_find(types, node->output[i]);
        if (*node->output[i] && (!value || value->type == DTYPE_NONE || value->shape.rank < 0))
            return false;
    }
    return true;
}

static void infer(struct value_types *types, const struct model *model, const Onnx__NodeProto *node)
{
    if (has_body(node) || all_known(types, node))
        return;
    const struct bounded **inputs = memory_zeroed(node->n_input + 1, sizeof *inputs);
    struct bounded *outputs = memory_zeroed(node->n_output + 1, sizeof *outputs);
    for (size_t i = 0; i < node->n_output; i++)
        bounded_init(&outputs[i]);
    bool done =
        gather_inputs(types, node, inputs) &&
        infer_node(model_opset(model), node, inputs, node->n_input, outputs, node->n_output, NULL) == 0;
    for (size_t i = 0; i < node->n_output; i++) {
        struct bounded *value = *node->output[i] ? slot(types, node->output[i]) : NULL;
        if (done && value && (value->type == DTYPE_NONE || value->shape.rank < 0)) {
            *value = outputs[i];
            bounded_init(&outputs[i]);
        }
        bounded_release(&outputs[i]);
    }
    free(outputs);
    free(inputs);
}

/* The sizes that a model declares may be symbolic, or those of other inputs. */
static void note_given(struct value_types *types, const char *name, const struct value *input)
{
    if (!input || input->kind != VALUE_TENSOR)
        return;
    struct bounded *value = slot(types, name);
    value->type = input->tensors[0].type;
    value->shape = input->tensors[0].shape;
    if (shape_count(&value->shape, &value->count, NULL))
        value->shape.rank = -1;
}

static void note_declared(struct value_types *types, const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_value_info; i++)
        note_info(types, graph->value_info[i]);
    for (size_t i = 0; i < graph->n_output; i++)
        note_info(types, graph->output[i]);
}

static bool is_given(const struct value *inputs, size_t n_inputs, const char *name)
{
    for (size_t i = 0; i < n_inputs; i++)
        if (inputs[i].name && text_equal(inputs[i].name, name))
            return true;
    return false;
}

/* An initialiser is only a default where an input of its name is given. */
static void infer_all(struct value_types *types, const struct model *model, const struct value *inputs,
                      size_t n_inputs)
{
    const Onnx__GraphProto *graph = model->graph;
    struct model_index index;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (!is_given(inputs, n_inputs, graph->initializer[i]->name))
            note_initializer(types, model, i);
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        note_sparse(types, model, i);
    if (model_index_init(&index, model, NULL))
        return;
    for (size_t i = 0; i < graph->n_node; i++)
        infer(types, model, graph->node[index.order[i]]);
    model_index_release(&index);
}

void value_types_init(struct value_types *types, const struct model *model)
{
    *types = (struct value_types){0};
    map_init(&types->names);
    for (size_t i = 0; i < model->graph->n_input; i++)
        note_info(types, model->graph->input[i]);
    note_declared(types, model);
    infer_all(types, model, NULL, 0);
}

void value_types_init_for(struct value_types *types, const struct model *model, const struct value *inputs,
                          size_t n_inputs)
{
    *types = (struct value_types){0};
    map_init(&types->names);
    for (size_t i = 0; i < model->graph->n_input; i++) {
        const char *name = model->graph->input[i]->name;
        note_given(types, name, value_for_input(inputs, n_inputs, name, i));
    }
    infer_all(types, model, inputs, n_inputs);
    note_declared(types, model);
}

void value_types_release(struct value_types *types)
{
    for (size_t i = 0; i < types->count; i++)
        bounded_release(&types->values[i]);
    free(types->values);
    map_release(&types->names);
}

const struct bounded *value_types_find(const struct value_types *types, const char *name)
{
    size_t number;
    return *name && map_get(&types->names, name, &number) ? &types->values[number] : NULL;
}
