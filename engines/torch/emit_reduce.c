/* Along axes: reductions, arg max, running sums, top k, softmax. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

struct reduction {
    const char *x;
    const char *axes, *keep; /* texts */
    int64_t axis[TENSOR_MAX_RANK];
    size_t count;
    bool none; /* nothing to reduce: the result is the input */
};

/* Axes came as an input with opset 18, for ReduceSum with 13. */
static int read_reduction(struct emit *e, struct reduction *r)
{
    int rank = emit_shape(e, 0)->rank;
    r->x = emit_in(e, 0);
    r->keep = emit_attr(e, "keepdims", 1) ? "True" : "False";
    if (emit_axes(e, 1, rank, r->axis, &r->count) < 0)
        return -1;
    r->none = r->count == 0 && emit_attr(e, "noop_with_empty_axes", 0) != 0;
    if (r->count == 0) {
        /* A scalar has an axis 0 to the library. */
        r->count = rank ? (size_t)rank : 1;
        for (size_t i = 0; i < r->count; i++)
            r->axis[i] = (int64_t)i;
    }
    r->axes = emit_ints(e, r->axis, r->count);
    return 0;
}

/* Forms with x, axes and keep, in this order. `alike`: on no axes the result is the input itself. */
static int write_reduction(struct emit *e, const char *before, const char *after, bool alike, dtype_set types)
{
    struct reduction r;
    if (!dtype_in(emit_type(e, 0), types))
        return emit_unsupported(e, "not of %s", dtype_name(emit_type(e, 0)));
    if (read_reduction(e, &r) < 0)
        return -1;
    if (r.none)
        return alike ? emit_out(e, 0, "%s", r.x) : emit_unsupported(e, "no axes, noop_with_empty_axes");
    return emit_out(e, 0, "%s%s, %s, %s%s", before, r.x, r.axes, r.keep, after);
}

static const char *kept_type(struct emit *e, const char *closing)
{
    return emit_text(e, ", dtype=%d)%s", face_scalar_type(emit_type(e, 0)), closing);
}

static int write_sum(struct emit *e)
{
    return write_reduction(e, "torch.sum(", kept_type(e, ""), true, DTYPES_NUMBER);
}

static int write_mean(struct emit *e)
{
    return write_reduction(e, "torch.mean(", ")", true, DTYPES_FLOAT);
}

static int write_max(struct emit *e)
{
    return write_reduction(e, "torch.amax(", ")", true, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL));
}

static int write_min(struct emit *e)
{
    return write_reduction(e, "torch.amin(", ")", true, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL));
}

static int write_log_sum(struct emit *e)
{
    return write_reduction(e, "torch.log(torch.sum(", "))", false, DTYPES_FLOAT);
}

static int write_log_sum_exp(struct emit *e)
{
    return write_reduction(e, "torch.logsumexp(", ")", false, DTYPES_FLOAT);
}

static int write_norm(struct emit *e, int p)
{
    struct reduction r;
    if (read_reduction(e, &r) < 0)
        return -1;
    if (r.none)
        return emit_unsupported(e, "no axes, noop_with_empty_axes");
    if (emit_is_float(e, 0))
        return emit_out(e, 0, "torch.norm(%s, %d, %s, %s)", r.x, p, r.axes, r.keep);
    if (p != 1)
        return emit_unsupported(e, "not of %s", dtype_name(emit_type(e, 0)));
    return emit_out(e, 0, "torch.sum(torch.abs(%s), %s, %s%s", r.x, r.axes, r.keep, kept_type(e, ""));
}

static int write_l1(struct emit *e)
{
    return write_norm(e, 1);
}

static int write_l2(struct emit *e)
{
    return write_norm(e, 2);
}

static int write_sum_square(struct emit *e)
{
    struct reduction r;
    if (read_reduction(e, &r) < 0)
        return -1;
    if (r.none)
        return emit_unsupported(e, "no axes, noop_with_empty_axes");
    return emit_out(e, 0, "torch.sum(torch.mul(%s, %s), %s, %s%s", r.x, r.x, r.axes, r.keep,
                    kept_type(e, ""));
}

/* The library multiplies along one axis at a time. */
static int write_prod(struct emit *e)
{
    struct reduction r;
    if (read_reduction(e, &r) < 0)
        return -1;
    const char *x = r.x;
    for (size_t i = r.count; i-- > 0 && !r.none;)
        x = emit_let(e, "torch.prod(%s, %" PRId64 ", %s%s", x, r.axis[i], r.keep, kept_type(e, ""));
    return emit_out(e, 0, "%s", x);
}

/* One axis of input 0 from the attribute, as a number in [0, rank). */
static int read_axis(struct emit *e, int64_t otherwise, int64_t *axis)
{
    return emit_axis(e, emit_attr(e, "axis", otherwise), emit_shape(e, 0)->rank, axis);
}

static int write_arg(struct emit *e, const char *function)
{
    int64_t axis;
    const char *keep = emit_attr(e, "keepdims", 1) ? "True" : "False", *x = emit_in(e, 0);
    if (read_axis(e, 0, &axis) < 0)
        return -1;
    if (emit_attr(e, "select_last_index", 0) == 0)
        return emit_out(e, 0, "torch.%s(%s, %" PRId64 ", %s)", function, x, axis, keep);
    return emit_out(e, 0, "torch.rsub(torch.%s(torch.flip(%s, [%" PRId64 "]), %" PRId64 ", %s), %" PRId64 ")",
                    function, x, axis, axis, keep, emit_shape(e, 0)->dims[axis] - 1);
}

static int write_argmax(struct emit *e)
{
    return write_arg(e, "argmax");
}

static int write_argmin(struct emit *e)
{
    return write_arg(e, "argmin");
}

/* Without the last element and behind a zero, when exclusive: subtracting x would lose infinities. */
static int write_cumsum(struct emit *e)
{
    long double value;
    int64_t axis;
    const char *x = emit_in(e, 0);
    bool reverse = emit_attr(e, "reverse", 0) != 0;
    if (emit_scalar_value(e, 1, &value) < 0 ||
        emit_axis(e, (int64_t)value, emit_shape(e, 0)->rank, &axis) < 0)
        return -1;
    int64_t size = emit_shape(e, 0)->dims[axis];
    if (reverse)
        x = emit_let(e, "torch.flip(%s, [%" PRId64 "])", x, axis);
    if (emit_attr(e, "exclusive", 0) != 0 && size > 0) {
        x = emit_let(e,
                     "torch.cat([torch.zeros_like(torch.narrow(%s, %" PRId64
                     ", 0, 1)), torch.narrow(%s, %" PRId64 ", 0, %" PRId64 ")], %" PRId64 ")",
                     x, axis, x, axis, size - 1, axis);
    }
    x = emit_let(e, "torch.cumsum(%s, %" PRId64 ", dtype=%d)", x, axis, face_scalar_type(emit_type(e, 0)));
    return reverse ? emit_out(e, 0, "torch.flip(%s, [%" PRId64 "])", x, axis) : emit_out(e, 0, "%s", x);
}

static int write_topk(struct emit *e)
{
    long double k;
    int64_t axis;
    if (emit_has(e, 1) ? emit_scalar_value(e, 1, &k) < 0 : (k = (long double)emit_attr(e, "k", -1)) < 0)
        return -1;
    if (read_axis(e, -1, &axis) < 0)
        return -1;
    const char *largest = emit_attr(e, "largest", 1) ? "True" : "False", *x = emit_in(e, 0);
    if (!emit_wants(e, 1))
        return emit_out(e, 0, "torch.topk(%s, %" PRId64 ", %" PRId64 ", %s, %s)[0]", x, (int64_t)k, axis,
                        largest, emit_attr(e, "sorted", 1) ? "True" : "False");
    /* Of equal elements the one with the lower index comes first, which topk does not promise. */
    const char *both =
        emit_let(e, "torch.sort(%s, stable=True, dim=%" PRId64 ", descending=%s)", x, axis, largest);
    for (size_t i = 0; i < 2; i++)
        emit_out(e, i, "torch.narrow(%s[%zu], %" PRId64 ", 0, %" PRId64 ")", both, i, axis, (int64_t)k);
    return 0;
}

/* Before opset 13 the input is a matrix, cut at the axis. */
static const char *as_matrix(struct emit *e, int64_t *axis)
{
    const struct shape *shape = emit_shape(e, 0);
    int64_t dims[2] = {1, 1};
    for (int i = 0; i < shape->rank; i++)
        dims[i >= *axis] *= shape->dims[i];
    *axis = 1;
    return emit_let(e, "torch.reshape(%s, %s)", emit_in(e, 0), emit_ints(e, dims, 2));
}

static int write_along(struct emit *e, const char *(*write)(struct emit *e, const char *x, int64_t axis))
{
    const struct shape *shape = emit_shape(e, 0);
    int64_t axis = emit_attr(e, "axis", e->opset >= 13 ? -1 : 1);
    bool matrix = e->opset < 13;
    if (!(matrix && axis == shape->rank) && emit_axis(e, axis, shape->rank, &axis) < 0)
        return -1;
    if (!matrix)
        return emit_out(e, 0, "%s", write(e, emit_in(e, 0), axis));
    const char *x = as_matrix(e, &axis);
    return emit_out(e, 0, "torch.reshape(%s, %s)", write(e, x, axis),
                    emit_ints(e, shape->dims, (size_t)shape->rank));
}

static const char *softmax(struct emit *e, const char *x, int64_t axis)
{
    return emit_text(e, "torch.softmax(%s, %" PRId64 ")", x, axis);
}

static const char *log_softmax(struct emit *e, const char *x, int64_t axis)
{
    return emit_text(e, "torch.log_softmax(%s, %" PRId64 ")", x, axis);
}

static const char *hardmax(struct emit *e, const char *x, int64_t axis)
{
    return emit_text(
        e, "torch.scatter(torch.zeros_like(%s), %" PRId64 ", torch.argmax(%s, %" PRId64 ", True), 1)", x,
        axis, x, axis);
}

static int write_softmax(struct emit *e)
{
    return write_along(e, softmax);
}

static int write_log_softmax(struct emit *e)
{
    return write_along(e, log_softmax);
}

static int write_hardmax(struct emit *e)
{
    size_t count;
    if (!shape_count(emit_shape(e, 0), &count, NULL) && count == 0) /* argmax wants an element */
        return emit_out(e, 0, "torch.zeros_like(%s)", emit_in(e, 0));
    return write_along(e, hardmax);
}

const struct emit_op emit_reduce[] = {
    {.name = "ArgMax", .write = write_argmax},
    {.name = "ArgMin", .write = write_argmin},
    {.name = "CumSum", .write = write_cumsum},
    {.name = "Hardmax", .write = write_hardmax},
    {.name = "LogSoftmax", .write = write_log_softmax},
    {.name = "ReduceL1", .write = write_l1},
    {.name = "ReduceL2", .write = write_l2},
    {.name = "ReduceLogSum", .write = write_log_sum},
    {.name = "ReduceLogSumExp", .write = write_log_sum_exp},
    {.name = "ReduceMax", .write = write_max},
    {.name = "ReduceMean", .write = write_mean},
    {.name = "ReduceMin", .write = write_min},
    {.name = "ReduceProd", .write = write_prod},
    {.name = "ReduceSum", .write = write_sum},
    {.name = "ReduceSumSquare", .write = write_sum_square},
    {.name = "Softmax", .write = write_softmax},
    {.name = "TopK", .write = write_topk},
    {.name = NULL},
};
