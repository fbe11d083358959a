/* Tensors to the library's arguments and back. What the library cannot hold is unsupported; nothing is
 * rounded here. */
#include "ref.h"

#include "base/memory.h"

#include <string.h>

struct type_pair {
    enum dtype type;
    migraphx_shape_datatype_t theirs;
};

static const struct type_pair types[] = {
    {DTYPE_BOOL, migraphx_shape_bool_type},
    {DTYPE_FLOAT16, migraphx_shape_half_type},
    {DTYPE_BFLOAT16, migraphx_shape_bf16_type},
    {DTYPE_FLOAT, migraphx_shape_float_type},
    {DTYPE_DOUBLE, migraphx_shape_double_type},
    {DTYPE_UINT8, migraphx_shape_uint8_type},
    {DTYPE_INT8, migraphx_shape_int8_type},
    {DTYPE_UINT16, migraphx_shape_uint16_type},
    {DTYPE_INT16, migraphx_shape_int16_type},
    {DTYPE_INT32, migraphx_shape_int32_type},
    {DTYPE_INT64, migraphx_shape_int64_type},
    {DTYPE_UINT32, migraphx_shape_uint32_type},
    {DTYPE_UINT64, migraphx_shape_uint64_type},
    {DTYPE_FLOAT8E4M3FN, migraphx_shape_fp8e4m3fn_type},
    {DTYPE_FLOAT8E4M3FNUZ, migraphx_shape_fp8e4m3fnuz_type},
    {DTYPE_FLOAT8E5M2, migraphx_shape_fp8e5m2_type},
    {DTYPE_FLOAT8E5M2FNUZ, migraphx_shape_fp8e5m2fnuz_type},
};

bool migraphx_type_of(enum dtype type, migraphx_shape_datatype_t *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            *out = types[i].theirs;
            return true;
        }
    return false;
}

static bool type_from(migraphx_shape_datatype_t theirs, enum dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].theirs == theirs) {
            *out = types[i].type;
            return true;
        }
    return false;
}

static migraphx_status make_shape(migraphx_shape_t *shape, migraphx_shape_datatype_t type,
                                  const struct shape *dims)
{
    size_t lengths[TENSOR_MAX_RANK];
    for (int i = 0; i < dims->rank; i++)
        lengths[i] = (size_t)dims->dims[i];
    return dims->rank ? migraphx_shape_create(shape, type, lengths, (size_t)dims->rank)
                      : migraphx_shape_create_scalar(shape, type);
}

int migraphx_input(struct adapter_call *call, const struct value *value, migraphx_argument_t *argument)
{
    migraphx_shape_datatype_t type;
    migraphx_shape_t shape;
    if (value->kind != VALUE_TENSOR)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s' is no tensor", value->name);
    const struct tensor *tensor = &value->tensors[0];
    if (!migraphx_type_of(tensor->type, &type))
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s': the library has no %s", value->name,
                            dtype_name(tensor->type));
    /* A dim of 0 stands there for one that is not known, and is read as 1. */
    if (tensor->count == 0)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "input '%s': the library has no empty tensors",
                            value->name);
    if (make_shape(&shape, type, &tensor->shape) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    migraphx_status status = migraphx_argument_create(argument, shape, tensor->data);
    migraphx_shape_destroy(shape);
    return status == migraphx_status_success ? 0 : migraphx_refuse(call, ADAPTER_FAILED);
}

/* A scalar is a vector of one element whose stride is 0. Where the model declares a rank, that says which is
 * meant. */
static bool is_scalar(const size_t *lengths, const size_t *strides, size_t rank,
                      const Onnx__ValueInfoProto *declared)
{
    const Onnx__TypeProto__Tensor *type = declared && declared->type ? declared->type->tensor_type : NULL;
    if (rank != 1 || lengths[0] != 1)
        return false;
    return type && type->shape ? type->shape->n_dim == 0 : strides[0] == 0;
}

/* Copies elements that lie with these strides into a dense tensor. */
static void copy_elements(struct tensor *tensor, const char *from, const size_t *lengths,
                          const size_t *strides, size_t rank)
{
    size_t size = dtype_size(tensor->type), index[TENSOR_MAX_RANK] = {0};
    char *to = tensor->data;
    for (size_t i = 0; i < tensor->count; i++) {
        size_t at = 0;
        for (size_t axis = 0; axis < rank; axis++)
            at += index[axis] * strides[axis];
        memcpy(to + i * size, from + at * size, size);
        for (size_t axis = rank; axis-- > 0 && ++index[axis] == lengths[axis];)
            index[axis] = 0;
    }
}

int migraphx_output(struct adapter_call *call, const_migraphx_argument_t argument,
                    const Onnx__ValueInfoProto *declared, struct value *value)
{
    const_migraphx_shape_t shape;
    migraphx_shape_datatype_t theirs;
    const size_t *lengths = NULL, *strides = NULL;
    size_t rank = 0, n_strides = 0;
    enum dtype type;
    char *buffer = NULL;
    struct error err = {0};
    if (migraphx_argument_shape(&shape, argument) || migraphx_shape_type(&theirs, shape) ||
        migraphx_shape_lengths(&lengths, &rank, shape) ||
        migraphx_shape_strides(&strides, &n_strides, shape) || migraphx_argument_buffer(&buffer, argument))
        return migraphx_refuse(call, ADAPTER_FAILED);
    if (!type_from(theirs, &type) || rank > TENSOR_MAX_RANK || n_strides != rank)
        return adapter_fail(call, ADAPTER_UNSUPPORTED,
                            "the library gives another kind of value than a plain tensor");
    struct shape dims = {.rank = is_scalar(lengths, strides, rank, declared) ? 0 : (int)rank};
    for (int i = 0; i < dims.rank; i++)
        dims.dims[i] = (int64_t)lengths[i];
    struct tensor tensor;
    if (tensor_alloc(&tensor, type, &dims, 0, &err) < 0)
        return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    copy_elements(&tensor, buffer, lengths, strides, rank);
    value_set_tensor(value, &tensor);
    return 0;
}
