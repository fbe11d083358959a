#include "model/widen.h"

#include "model/build.h"
#include "model/tree.h"

#include <string.h>

struct widening {
    struct arena *arena;
    struct error *err;
};

static bool is_narrower(int64_t type)
{
    return type == DTYPE_FLOAT || type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16;
}

int tensor_widen(struct tensor *wide, const struct tensor *tensor, struct error *err)
{
    if (!is_narrower(tensor->type))
        return tensor_copy(wide, tensor, err);
    if (tensor_alloc(wide, DTYPE_DOUBLE, &tensor->shape, 0, err))
        return -1;
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(wide, i, tensor_get(tensor, i));
    return 0;
}

static int widen_tensor(const struct widening *widening, Onnx__TensorProto *proto)
{
    struct tensor narrow, wide;
    if (!is_narrower(proto->data_type))
        return 0;
    if (model_tensor_read(proto, &narrow, widening->err))
        return -1;
    int status = tensor_widen(&wide, &narrow, widening->err);
    tensor_release(&narrow);
    if (status)
        return -1;
    *proto = *model_tensor_write(widening->arena, proto->name, &wide);
    tensor_release(&wide);
    return 0;
}

/* The constant of a node whose attributes say its numbers but not their type, which is then float32. */
static int set_constant(const struct widening *widening, Onnx__NodeProto *node, const char *instead,
                        const struct shape *shape, const float *values)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, DTYPE_DOUBLE, shape, 0, widening->err))
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, values[i]);
    if (instead)
        node_remove_attribute(node, instead);
    node_set_tensor(widening->arena, node, "value", &tensor);
    tensor_release(&tensor);
    return 0;
}

static int widen_node(const struct widening *widening, Onnx__NodeProto *node)
{
    static const char *const types[] = {"to", "dtype"};
    const float zero = 0, *values = &zero;
    size_t count;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_narrower(node_int(node, types[i], 0)))
            node_set_int(widening->arena, node, types[i], DTYPE_DOUBLE);
    if (strcmp(node->op_type, "ConstantOfShape") == 0 && !node_attribute(node, "value"))
        return set_constant(widening, node, NULL, &(struct shape){1, {1}}, values);
    if (!node_is_constant(node))
        return 0;
    const Onnx__AttributeProto *one = node_attribute(node, "value_float");
    if (one) {
        float value = one->f;
        return set_constant(widening, node, "value_float", &(struct shape){0}, &value);
    }
    if (node_floats(node, "value_floats", &values, &count))
        return set_constant(widening, node, "value_floats", &(struct shape){1, {(int64_t)count}}, values);
    return 0;
}

static int widen_message(void *context, ProtobufCMessage *message)
{
    const struct widening *widening = context;
    if (message->descriptor == &onnx__tensor_proto__descriptor)
        return widen_tensor(widening, (Onnx__TensorProto *)message);
    if (message->descriptor == &onnx__node_proto__descriptor)
        return widen_node(widening, (Onnx__NodeProto *)message);
    if (message->descriptor == &onnx__type_proto__tensor__descriptor) {
        Onnx__TypeProto__Tensor *type = (Onnx__TypeProto__Tensor *)message;
        type->elem_type = is_narrower(type->elem_type) ? DTYPE_DOUBLE : type->elem_type;
    }
    if (message->descriptor == &onnx__type_proto__sparse_tensor__descriptor) {
        Onnx__TypeProto__SparseTensor *type = (Onnx__TypeProto__SparseTensor *)message;
        type->elem_type = is_narrower(type->elem_type) ? DTYPE_DOUBLE : type->elem_type;
    }
    return 0;
}

int model_widen(struct model **wide, const struct model *model, struct error *err)
{
    if (model_clone(wide, model, err))
        return -1;
    struct widening widening = {&(*wide)->arena, err};
    (*wide)->path = NULL;
    if (tree_each(&(*wide)->proto->base, widen_message, &widening) == 0)
        return 0;
    model_free(*wide);
    return -1;
}
