#include "model/retype.h"

#include "model/build.h"
#include "model/tree.h"

#include <string.h>

struct work {
    const struct retyping *retyping;
    struct arena *arena;
    struct error *err;
};

const struct retyping retyping_to_float64 = {
    DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16), DTYPE_DOUBLE};

static bool is_meant(const struct retyping *retyping, int64_t type)
{
    return type > 0 && type < DTYPE_COUNT && dtype_in((enum dtype)type, retyping->from);
}

int tensor_retype(struct tensor *out, const struct tensor *tensor, const struct retyping *retyping,
                  struct error *err)
{
    if (!is_meant(retyping, tensor->type))
        return tensor_copy(out, tensor, err);
    if (tensor_alloc(out, retyping->to, &tensor->shape, 0, err))
        return -1;
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(out, i, tensor_get(tensor, i));
    return 0;
}

static int retype_tensor(const struct work *work, Onnx__TensorProto *proto)
{
    struct tensor before, after;
    if (!is_meant(work->retyping, proto->data_type))
        return 0;
    if (model_tensor_read(proto, &before, work->err))
        return -1;
    int status = tensor_retype(&after, &before, work->retyping, work->err);
    tensor_release(&before);
    if (status)
        return -1;
    *proto = *model_tensor_write(work->arena, proto->name, &after);
    tensor_release(&after);
    return 0;
}

/* The constant of a node whose attributes say its numbers but not their type, which is then float32. */
static int set_constant(const struct work *work, Onnx__NodeProto *node, const char *instead,
                        const struct shape *shape, const float *values)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, work->retyping->to, shape, 0, work->err))
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, values[i]);
    if (instead)
        node_remove_attribute(node, instead);
    node_set_tensor(work->arena, node, "value", &tensor);
    tensor_release(&tensor);
    return 0;
}

static int retype_node(const struct work *work, Onnx__NodeProto *node)
{
    static const char *const types[] = {"to", "dtype"};
    const float zero = 0, *values = &zero;
    size_t count;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_meant(work->retyping, node_int(node, types[i], 0)))
            node_set_int(work->arena, node, types[i], work->retyping->to);
    if (!is_meant(work->retyping, DTYPE_FLOAT))
        return 0;
    if (strcmp(node->op_type, "ConstantOfShape") == 0 && !node_attribute(node, "value"))
        return set_constant(work, node, NULL, &(struct shape){1, {1}}, values);
    if (!node_is_constant(node))
        return 0;
    const Onnx__AttributeProto *one = node_attribute(node, "value_float");
    if (one) {
        float value = one->f;
        return set_constant(work, node, "value_float", &(struct shape){0}, &value);
    }
    if (node_floats(node, "value_floats", &values, &count))
        return set_constant(work, node, "value_floats", &(struct shape){1, {(int64_t)count}}, values);
    return 0;
}

static int32_t retyped(const struct work *work, int32_t type)
{
    return is_meant(work->retyping, type) ? (int32_t)work->retyping->to : type;
}

static int retype_message(void *context, ProtobufCMessage *message)
{
    const struct work *work = context;
    if (message->descriptor == &onnx__tensor_proto__descriptor)
        return retype_tensor(work, (Onnx__TensorProto *)message);
    if (message->descriptor == &onnx__node_proto__descriptor)
        return retype_node(work, (Onnx__NodeProto *)message);
    if (message->descriptor == &onnx__type_proto__tensor__descriptor) {
        Onnx__TypeProto__Tensor *type = (Onnx__TypeProto__Tensor *)message;
        type->elem_type = retyped(work, type->elem_type);
    }
    if (message->descriptor == &onnx__type_proto__sparse_tensor__descriptor) {
        Onnx__TypeProto__SparseTensor *type = (Onnx__TypeProto__SparseTensor *)message;
        type->elem_type = retyped(work, type->elem_type);
    }
    return 0;
}

int model_retype(struct model **out, const struct model *model, const struct retyping *retyping,
                 struct error *err)
{
    if (model_clone(out, model, err))
        return -1;
    struct work work = {retyping, &(*out)->arena, err};
    (*out)->path = NULL;
    if (tree_each(&(*out)->proto->base, retype_message, &work) == 0)
        return 0;
    model_free(*out);
    return -1;
}
