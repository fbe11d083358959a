/* Tensors to matrices and back. What the library cannot hold is unsupported; nothing is rounded here. */
#include "opencv.h"

#include <math.h>
#include <string.h>

const Onnx__ValueInfoProto *opencv_declared(Onnx__ValueInfoProto *const *infos, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(infos[i]->name, name) == 0)
            return infos[i];
    return NULL;
}

/* Up to 4.x every input becomes float32 inside, whatever its matrix: integers beyond 2^24 and most numbers of
 * float64 would be rounded. */
static int check_exact(struct adapter_call *call, const struct value *value, const struct tensor *tensor)
{
    bool integers = dtype_in(tensor->type, DTYPES_INTEGER) && dtype_size(tensor->type) >= 4;
    if (face_has_all_types() || !(integers || tensor->type == DTYPE_DOUBLE))
        return 0;
    for (size_t i = 0; i < tensor->count; i++) {
        long double element = tensor_get(tensor, i);
        if (!isnan(element) && (long double)(float)element != element) {
            return adapter_fail(call, ADAPTER_UNSUPPORTED,
                                "input '%s': the library keeps %s as float32, which cannot hold %.17Lg",
                                value->name, dtype_name(tensor->type), element);
        }
    }
    return 0;
}

int opencv_input(struct adapter_call *call, const struct value *value)
{
    struct opencv *opencv = call->engine;
    char message[FACE_MESSAGE_SIZE];
    if (value->kind != VALUE_TENSOR)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s' is no tensor", value->name);
    const struct tensor *tensor = &value->tensors[0];
    if (!face_takes(tensor->type)) {
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s': the library has no %s", value->name,
                            dtype_name(tensor->type));
    }
    if (tensor->count == 0 && !face_has_all_types())
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s': the library has no empty tensors",
                            value->name);
    if (check_exact(call, value, tensor) < 0)
        return -1;
    if (face_set_input(opencv->net, value->name, tensor, message) < 0)
        return opencv_fail(call, OPENCV_STAGE_RUN, message);
    return 0;
}

/* The declared shape with the dims it names; -1 where it names none. False when not even the rank is known.
 */
static bool declared_shape(const Onnx__ValueInfoProto *info, struct shape *shape)
{
    const Onnx__TypeProto__Tensor *type = info && info->type ? info->type->tensor_type : NULL;
    if (!type || !type->shape || type->shape->n_dim > TENSOR_MAX_RANK)
        return false;
    shape->rank = (int)type->shape->n_dim;
    for (int i = 0; i < shape->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dims[i] = known ? dim->dim_value : -1;
    }
    return true;
}

static bool is_open(const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return true;
    return false;
}

/*
 * Up to 4.x the least rank is 2, and [N] comes back as [N,1]. Where the model has tensors of rank 0 or 1 and
 * the result differs from the declared shape in ones only, the declared one is what the library meant. With
 * dims left open nobody can say where the ones belong, unless all the rest is one dim.
 */
static void restore_rank(const struct opencv *opencv, const Onnx__ValueInfoProto *info, struct tensor *tensor)
{
    struct shape shape;
    int at = 0;
    if (face_has_all_types() || !opencv->flat || !declared_shape(info, &shape))
        return;
    if (is_open(&shape) && shape.rank != 1)
        return;
    const struct shape *given = &tensor->shape;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] == 1)
            continue;
        while (at < given->rank && given->dims[at] == 1)
            at++;
        if (shape.dims[i] < 0)
            shape.dims[i] = at < given->rank ? given->dims[at] : 1;
        else if (at == given->rank || given->dims[at] != shape.dims[i])
            return;
        at += at < given->rank;
    }
    while (at < given->rank)
        if (given->dims[at++] != 1)
            return;
    tensor->shape = shape;
}

static bool fits(const struct tensor *tensor, enum dtype type)
{
    for (size_t i = 0; i < tensor->count; i++) {
        long double element = tensor_get(tensor, i);
        if (!(element >= dtype_lowest(type) && element <= dtype_highest(type)) || truncl(element) != element)
            return false;
    }
    return true;
}

static int convert(struct adapter_call *call, struct tensor *tensor, enum dtype type)
{
    struct tensor converted;
    struct error err = {0};
    if (tensor_alloc(&converted, type, &tensor->shape, 0, &err) < 0)
        return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(&converted, i, tensor_get(tensor, i));
    tensor_release(tensor);
    *tensor = converted;
    return 0;
}

/*
 * Up to 4.x results are float32 (or int8) whatever the model says. An integer or bool output is brought back
 * to its type when every element is one of its values; else it stays as it is, and the judge sees another
 * type. Other floats would need rounding, which is the library's business: it lacks them. 5.0 computes each
 * type in itself, except float16.
 */
static int restore_type(struct adapter_call *call, const Onnx__ValueInfoProto *info, struct tensor *tensor)
{
    const Onnx__TypeProto__Tensor *declared = info && info->type ? info->type->tensor_type : NULL;
    if (!declared || declared->elem_type == (int32_t)tensor->type)
        return 0;
    enum dtype type =
        dtype_check(declared->elem_type, NULL) < 0 ? DTYPE_NONE : (enum dtype)declared->elem_type;
    bool half = type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16;
    if (face_has_all_types() && !(half && tensor->type == DTYPE_FLOAT))
        return 0;
    if (!dtype_in(type, DTYPES_INTEGER | DTYPE_BIT(DTYPE_BOOL))) {
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "output '%s': the library computes %s in %s",
                            info->name, dtype_name(type), dtype_name(tensor->type));
    }
    return fits(tensor, type) ? convert(call, tensor, type) : 0;
}

int opencv_output(struct adapter_call *call, size_t number, struct value *value)
{
    struct opencv *opencv = call->engine;
    const Onnx__GraphProto *graph = opencv->model->graph;
    const Onnx__ValueInfoProto *info =
        opencv_declared(graph->output, graph->n_output, opencv->outputs[number]);
    char message[FACE_MESSAGE_SIZE];
    struct tensor tensor;
    tensor_init(&tensor);
    if (face_output(opencv->net, number, &tensor, message) < 0)
        return opencv_fail(call, OPENCV_STAGE_RUN, message);
    restore_rank(opencv, info, &tensor);
    if (restore_type(call, info, &tensor) < 0) {
        tensor_release(&tensor);
        return -1;
    }
    value_set_tensor(value, &tensor);
    return 0;
}
