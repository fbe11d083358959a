/* From nothing, or from a shape: constants, ranges; and quantisation, which is arithmetic with constants. */
#include "emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int constant_tensor(struct emit *e, struct tensor *tensor)
{
    const char *name = e->constant(e->context, tensor, e->err);
    return name ? emit_out(e, 0, "%s", name) : -1;
}

/* A list attribute as a tensor of rank 1, a number as one of rank 0. */
static int constant_numbers(struct emit *e)
{
    const int64_t *ints;
    const float *floats;
    size_t count;
    struct tensor tensor;
    struct shape shape = {.rank = 1};
    enum dtype type = DTYPE_INT64;
    int64_t one_int = emit_attr(e, "value_int", 0);
    float one_float = node_float(e->node, "value_float", 0);
    const void *data;
    if (node_attribute(e->node, "value_int") || node_attribute(e->node, "value_float")) {
        bool is_int = node_attribute(e->node, "value_int") != NULL;
        shape.rank = 0;
        type = is_int ? DTYPE_INT64 : DTYPE_FLOAT;
        data = is_int ? (const void *)&one_int : (const void *)&one_float;
        count = 1;
    } else if (node_ints(e->node, "value_ints", &ints, &count)) {
        data = ints;
    } else if (node_floats(e->node, "value_floats", &floats, &count)) {
        type = DTYPE_FLOAT;
        data = floats;
    } else {
        return emit_unsupported(e, "a value of another kind");
    }
    shape.dims[0] = (int64_t)count;
    if (tensor_from_bytes(&tensor, type, &shape, data, count * dtype_size(type), e->err) < 0)
        return -1;
    return constant_tensor(e, &tensor);
}

static int write_constant(struct emit *e)
{
    const Onnx__TensorProto *proto = node_tensor(e->node, "value");
    const Onnx__AttributeProto *sparse = node_attribute(e->node, "sparse_value");
    struct tensor tensor;
    if (sparse && sparse->sparse_tensor) {
        if (model_sparse_read(sparse->sparse_tensor, &tensor, e->err) < 0)
            return -1;
    } else if (!proto) {
        return constant_numbers(e);
    } else if (model_tensor_read(proto, &tensor, e->err) < 0) {
        return -1;
    }
    return constant_tensor(e, &tensor);
}

static int write_constant_of_shape(struct emit *e)
{
    const Onnx__TensorProto *proto = node_tensor(e->node, "value");
    struct tensor tensor;
    int64_t dims[TENSOR_MAX_RANK];
    size_t count;
    enum dtype type = DTYPE_FLOAT;
    long double value = 0;
    int scalar;
    if (emit_list(e, 0, dims, TENSOR_MAX_RANK, &count) < 0)
        return -1;
    if (proto) {
        if (model_tensor_read(proto, &tensor, e->err) < 0)
            return -1;
        type = tensor.type;
        value = tensor.count ? tensor_get(&tensor, 0) : 0;
        tensor_release(&tensor);
    }
    if (emit_scalar(e, type, &scalar) < 0)
        return -1;
    return emit_out(e, 0, "torch.full(%s, %s, dtype=%d)", emit_ints(e, dims, count),
                    emit_number(e, type, value), scalar);
}

static int write_eye_like(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t type = emit_attr(e, "dtype", (int64_t)emit_type(e, 0)), k = emit_attr(e, "k", 0);
    int scalar;
    if (x->rank != 2)
        return emit_invalid(e, "rank %d", x->rank);
    if (dtype_check(type, NULL) < 0)
        return emit_unsupported(e, "type %d", (int)type);
    if (emit_scalar(e, (enum dtype)type, &scalar) < 0)
        return -1;
    if (k == 0)
        return emit_out(e, 0, "torch.eye(%" PRId64 ", %" PRId64 ", dtype=%d)", x->dims[0], x->dims[1],
                        scalar);
    return emit_out(e, 0,
                    "torch.to(torch.eq(torch.unsqueeze(torch.arange(%" PRId64
                    "), 0), torch.unsqueeze(torch.add(torch.arange(%" PRId64 "), %" PRId64 "), 1)), %d)",
                    x->dims[1], x->dims[0], k, scalar);
}

static int write_range(struct emit *e)
{
    long double start, limit, delta;
    enum dtype type = emit_type(e, 0);
    int scalar;
    if (emit_scalar_value(e, 0, &start) < 0 || emit_scalar_value(e, 1, &limit) < 0 ||
        emit_scalar_value(e, 2, &delta) < 0 || emit_scalar(e, type, &scalar) < 0)
        return -1;
    if (delta == 0)
        return emit_invalid(e, "a delta of 0");
    if (!((limit - start) / delta > 0)) /* the library refuses what ONNX calls empty */
        return emit_out(e, 0, "torch.zeros([0], dtype=%d)", scalar);
    return emit_out(e, 0, "torch.arange(%s, %s, %s, dtype=%d)", emit_number(e, type, start),
                    emit_number(e, type, limit), emit_number(e, type, delta), scalar);
}

static int64_t bound(int64_t at, int rank)
{
    at = at < 0 ? at + rank : at;
    return at < 0 ? 0 : at > rank ? rank : at;
}

static int write_shape(struct emit *e)
{
    int rank = emit_shape(e, 0)->rank;
    int64_t start = bound(emit_attr(e, "start", 0), rank), end = bound(emit_attr(e, "end", rank), rank);
    return emit_out(e, 0, "torch.slice(torch._shape_as_tensor(%s), 0, %" PRId64 ", %" PRId64 ")",
                    emit_in(e, 0), start, end > start ? end : start);
}

/* ---- quantisation ---- */

/* Scale or zero point of an axis, shaped so that it broadcasts. */
static int along_axis(struct emit *e, size_t input, const char **text)
{
    const struct shape *x = emit_shape(e, 0), *s = emit_shape(e, input);
    int64_t axis, dims[TENSOR_MAX_RANK];
    *text = emit_in(e, input);
    if (s->rank == 0)
        return 0;
    if (s->rank > 1 || emit_attr(e, "block_size", 0) != 0)
        return emit_unsupported(e, "blocks");
    if (s->dims[0] == 1 && x->rank == 0)
        return emit_unsupported(e, "a scalar with scales of rank 1");
    if (emit_axis(e, emit_attr(e, "axis", 1), x->rank, &axis) < 0)
        return s->dims[0] == 1 ? (error_clear(e->err), 0) : -1;
    for (int i = 0; i < x->rank; i++)
        dims[i] = i == axis ? s->dims[0] : 1;
    *text = emit_let(e, "torch.reshape(%s, %s)", *text, emit_ints(e, dims, (size_t)x->rank));
    return 0;
}

static int write_quantize(struct emit *e)
{
    int64_t asked = emit_attr(e, "output_dtype", 0);
    enum dtype type = emit_has(e, 2) ? emit_type(e, 2) : DTYPE_UINT8;
    const char *scale, *zero = NULL;
    if (!emit_has(e, 2) && asked != 0)
        type = dtype_check(asked, NULL) < 0 ? DTYPE_NONE : (enum dtype)asked;
    if (type != DTYPE_UINT8 && type != DTYPE_INT8 && type != DTYPE_INT16)
        return emit_unsupported(e, "to %s", dtype_name(type));
    if (emit_type(e, 0) != DTYPE_FLOAT || emit_type(e, 1) != DTYPE_FLOAT)
        return emit_unsupported(e, "not of %s", dtype_name(emit_type(e, 0)));
    if (along_axis(e, 1, &scale) < 0 || (emit_has(e, 2) && along_axis(e, 2, &zero) < 0))
        return -1;
    const char *q = emit_let(e, "torch.round(torch.div(%s, %s))", emit_in(e, 0), scale);
    if (zero)
        q = emit_let(e, "torch.add(%s, %s)", q, zero);
    return emit_out(e, 0, "torch.to(torch.clamp(%s, %d, %d), %d)", q, (int)dtype_lowest(type),
                    (int)dtype_highest(type), face_scalar_type(type));
}

static int write_dequantize(struct emit *e)
{
    const char *scale, *zero = NULL;
    int64_t asked = emit_attr(e, "output_dtype", 0);
    if (emit_type(e, 1) != DTYPE_FLOAT)
        return emit_unsupported(e, "scales of %s", dtype_name(emit_type(e, 1)));
    if (asked != 0 && asked != DTYPE_FLOAT)
        return emit_unsupported(e, "to another type than float32");
    if (along_axis(e, 1, &scale) < 0 || (emit_has(e, 2) && along_axis(e, 2, &zero) < 0))
        return -1;
    /* Differences of 8-bit numbers need more bits; those of int32 are rounded as ONNX says. */
    const char *q = emit_let(e, "torch.to(%s, %d)", emit_in(e, 0), face_scalar_type(DTYPE_INT64));
    if (zero)
        q = emit_let(e, "torch.sub(%s, %s)", q, zero);
    return emit_out(e, 0, "torch.mul(torch.to(%s, %d), %s)", q, face_scalar_type(DTYPE_FLOAT), scale);
}

const struct emit_op emit_create[] = {
    {.name = "Constant", .write = write_constant},
    {.name = "ConstantOfShape", .write = write_constant_of_shape},
    {.name = "DequantizeLinear", .write = write_dequantize},
    {.name = "EyeLike", .write = write_eye_like},
    {.name = "QuantizeLinear", .write = write_quantize},
    {.name = "Range", .write = write_range},
    {.name = "Shape", .write = write_shape},
    {.name = "Size", .form = "torch.prod(torch._shape_as_tensor($0))"},
    {.name = NULL},
};
