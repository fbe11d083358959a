/* Normalisations. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

static const char *epsilon(struct emit *e)
{
    return emit_attr_float(e, "epsilon", (double)1e-5F);
}

/* All axes but the channels'. */
static const char *batch_axes(struct emit *e)
{
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < emit_shape(e, 0)->rank; i++)
        if (i != 1)
            axes[count++] = i;
    return emit_ints(e, axes, count);
}

/* The running statistics are ONNX's: momentum weighs the old ones, and the variance is not corrected. */
static int train_batch_norm(struct emit *e)
{
    double momentum = (double)node_float(e->node, "momentum", 0.9F);
    const char *x = emit_in(e, 0), *axes = batch_axes(e), *old = emit_float(e, momentum);
    const char *rest = emit_float(e, (double)(1.F - (float)momentum));
    emit_out(e, 0, "torch.batch_norm(%s, %s, %s, None, None, True, 0., %s, False)", x, emit_in(e, 1),
             emit_in(e, 2), epsilon(e));
    emit_out(e, 1, "torch.add(torch.mul(%s, %s), torch.mul(torch.mean(%s, %s), %s))", emit_in(e, 3), old, x,
             axes, rest);
    return emit_out(e, 2, "torch.add(torch.mul(%s, %s), torch.mul(torch.var(%s, %s, False), %s))",
                    emit_in(e, 4), old, x, axes, rest);
}

/*
 * ONNX lets the input, scale and bias, and the statistics have three types; the library takes parameters of
 * the input's type, or of float32 beside bfloat16. Widening is exact and done here, anything else is lacking.
 */
static int parameter_type(struct emit *e, enum dtype *type)
{
    *type = emit_type(e, 0);
    for (size_t i = 1; i <= 4; i++)
        if (dtype_size(emit_type(e, i)) > dtype_size(*type))
            *type = emit_type(e, i);
    if (*type != emit_type(e, 0) && !(*type == DTYPE_FLOAT && emit_type(e, 0) == DTYPE_BFLOAT16))
        return emit_unsupported(e, "%s with parameters of %s", dtype_name(emit_type(e, 0)),
                                dtype_name(*type));
    for (size_t i = 1; i <= 4; i++)
        if (emit_type(e, i) != *type && dtype_size(emit_type(e, i)) == dtype_size(*type))
            return emit_unsupported(e, "parameters of %s and %s", dtype_name(emit_type(e, i)),
                                    dtype_name(*type));
    return 0;
}

static const char *widened(struct emit *e, size_t input, enum dtype type)
{
    if (emit_type(e, input) == type)
        return emit_in(e, input);
    return emit_text(e, "torch.to(%s, %d)", emit_in(e, input), face_scalar_type(type));
}

static int write_batch_norm(struct emit *e)
{
    enum dtype type;
    if (emit_shape(e, 0)->rank < 2)
        return emit_unsupported(e, "rank %d", emit_shape(e, 0)->rank);
    if (emit_attr(e, "training_mode", 0) != 0)
        return train_batch_norm(e);
    for (size_t i = 1; i < e->n_outputs; i++)
        if (emit_wants(e, i))
            return emit_unsupported(e, "statistics without training");
    if (parameter_type(e, &type) < 0)
        return -1;
    return emit_out(e, 0, "torch.batch_norm(%s, %s, %s, %s, %s, False, 0., %s, False)", emit_in(e, 0),
                    widened(e, 1, type), widened(e, 2, type), widened(e, 3, type), widened(e, 4, type),
                    epsilon(e));
}

static int write_instance_norm(struct emit *e)
{
    return emit_out(e, 0, "torch.instance_norm(%s, %s, %s, None, None, True, 0., %s, False)", emit_in(e, 0),
                    emit_in(e, 1), emit_in(e, 2), epsilon(e));
}

/* Scale and bias may broadcast in ONNX and may not in the library. */
static const char *spread(struct emit *e, size_t input, const char *list, const struct shape *shape)
{
    if (!emit_has(e, input) || shape_equal(emit_shape(e, input), shape))
        return emit_in(e, input);
    return emit_let(e, "%s.expand(%s)", emit_in(e, input), list);
}

static int write_layer_norm(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t axis;
    struct shape normal = {0};
    if (emit_axis(e, emit_attr(e, "axis", -1), x->rank, &axis) < 0)
        return -1;
    if (emit_attr(e, "stash_type", 1) != 1 && (emit_wants(e, 1) || emit_type(e, 0) != DTYPE_DOUBLE))
        return emit_unsupported(e, "stash_type");
    for (int i = (int)axis; i < x->rank; i++)
        normal.dims[normal.rank++] = x->dims[i];
    const char *list = emit_ints(e, normal.dims, (size_t)normal.rank);
    const char *scale = spread(e, 1, list, &normal), *bias = spread(e, 2, list, &normal);
    if (!emit_wants(e, 1) && !emit_wants(e, 2))
        return emit_out(e, 0, "torch.layer_norm(%s, %s, %s, %s, %s, False)", emit_in(e, 0), list, scale, bias,
                        epsilon(e));
    if (emit_type(e, 0) != DTYPE_FLOAT)
        return emit_unsupported(e, "statistics of %s", dtype_name(emit_type(e, 0)));
    const char *all = emit_let(e, "torch.native_layer_norm(%s, %s, %s, %s, %s)", emit_in(e, 0), list, scale,
                               bias, epsilon(e));
    for (size_t i = 0; i < 3; i++)
        emit_out(e, i, "%s[%zu]", all, i);
    return 0;
}

/* Until opset 20 scale and bias are one number a group, later one a channel, as in the library. */
static int write_group_norm(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t groups = emit_attr(e, "num_groups", 0);
    if (x->rank < 2 || groups < 1 || x->dims[1] % groups != 0)
        return emit_invalid(e, "%" PRId64 " groups", groups);
    if (emit_attr(e, "stash_type", 1) != 1)
        return emit_unsupported(e, "stash_type");
    const char *scale = emit_in(e, 1), *bias = emit_in(e, 2);
    if (e->opset < 21) {
        scale = emit_let(e, "torch.repeat_interleave(%s, %" PRId64 ")", scale, x->dims[1] / groups);
        bias = emit_let(e, "torch.repeat_interleave(%s, %" PRId64 ")", bias, x->dims[1] / groups);
    }
    return emit_out(e, 0, "torch.group_norm(%s, %" PRId64 ", %s, %s, %s, False)", emit_in(e, 0), groups,
                    scale, bias, epsilon(e));
}

static int write_lp_normal(struct emit *e)
{
    int64_t axis, p = emit_attr(e, "p", 2);
    if (emit_axis(e, emit_attr(e, "axis", -1), emit_shape(e, 0)->rank, &axis) < 0)
        return -1;
    if (p != 1 && p != 2)
        return emit_invalid(e, "p %" PRId64, p);
    return emit_out(e, 0, "torch.div(%s, torch.norm(%s, %" PRId64 ", [%" PRId64 "], True))", emit_in(e, 0),
                    emit_in(e, 0), p, axis);
}

/* The library's own definition of local_response_norm: an average pool over the channels of the squares. */
static int write_lrn(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t size = emit_attr(e, "size", 0), rest = 1, before = (size - 1) / 2, after = size - 1 - before;
    if (x->rank < 2 || size < 1)
        return emit_invalid(e, "size %" PRId64, size);
    for (int i = 2; i < x->rank; i++)
        rest *= x->dims[i];
    if (rest * x->dims[0] * x->dims[1] == 0) /* the library does not pad what is empty */
        return emit_out(e, 0, "%s", emit_in(e, 0));
    int64_t flat[4] = {x->dims[0], 1, x->dims[1], rest}, pads[4] = {0, 0, before, after};
    const char *square = emit_let(e, "torch.reshape(torch.mul(%s, %s), %s)", emit_in(e, 0), emit_in(e, 0),
                                  emit_ints(e, flat, 4));
    const char *mean =
        emit_let(e, "torch.avg_pool2d(torch.constant_pad_nd(%s, %s, 0), [%" PRId64 ", 1], [1, 1])", square,
                 emit_ints(e, pads, 4), size);
    const char *scale = emit_let(e, "torch.pow(torch.add(torch.mul(%s, %s), %s), %s)", mean,
                                 emit_attr_float(e, "alpha", (double)1e-4F), emit_attr_float(e, "bias", 1),
                                 emit_attr_float(e, "beta", 0.75));
    return emit_out(e, 0, "torch.div(%s, torch.reshape(%s, %s))", emit_in(e, 0), scale,
                    emit_ints(e, x->dims, (size_t)x->rank));
}

const struct emit_op emit_normal[] = {
    {.name = "BatchNormalization", .write = write_batch_norm},
    {.name = "GroupNormalization", .write = write_group_norm},
    {.name = "InstanceNormalization", .write = write_instance_norm},
    {.name = "LRN", .write = write_lrn},
    {.name = "LayerNormalization", .write = write_layer_norm},
    {.name = "LpNormalization", .write = write_lp_normal},
    {.name = NULL},
};
