/*
 * Pad. Nothing is computed: elements move with their bounds.
 */
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

struct padding {
    enum pad_mode mode;
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK];
};

static int pad_mode(struct op_call *call, enum pad_mode *mode)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *name = call_string(call, "mode", "constant");
    for (int i = 0; i < (call->opset >= 19 ? 4 : 3); i++)
        if (strcmp(name, names[i]) == 0) {
            *mode = (enum pad_mode)i;
            return 0;
        }
    return call_invalid(call, "mode '%s' is not known", name);
}

static int read_padding(struct op_call *call, const struct bounded *x, struct padding *p)
{
    int64_t pads[2 * TENSOR_MAX_RANK];
    int axes[TENSOR_MAX_RANK];
    size_t count, n_axes = 0;
    bool given = false;
    memset(p, 0, sizeof *p);
    if (pad_mode(call, &p->mode) || call_int_list(call, 1, pads, 2 * TENSOR_MAX_RANK, &count) ||
        (call->opset >= 18 && move_axes(call, 3, 18, x->shape.rank, axes, &n_axes, &given)))
        return -1;
    if (!given)
        n_axes = (size_t)x->shape.rank;
    if (count != 2 * n_axes)
        return call_invalid(call, "there are %zu pads for %zu axes", count, n_axes);
    for (size_t i = 0; i < n_axes; i++) {
        int axis = given ? axes[i] : (int)i;
        if (pads[i] > INT32_MAX || pads[i + n_axes] > INT32_MAX)
            return call_unsupported(call, "a pad of %" PRId64 " or %" PRId64 " is too large", pads[i],
                                    pads[i + n_axes]);
        if (pads[i] < -INT32_MAX || pads[i + n_axes] < -INT32_MAX)
            return call_invalid(call, "a pad of %" PRId64 " or %" PRId64 " is out of range", pads[i],
                                pads[i + n_axes]);
        p->before[axis] = pads[i];
        p->after[axis] = pads[i + n_axes];
    }
    return 0;
}

static int pad_shape(struct op_call *call, const struct bounded *x, const struct padding *p,
                     struct shape *shape)
{
    *shape = x->shape;
    for (int i = 0; i < shape->rank; i++) {
        shape->dims[i] += p->before[i] + p->after[i];
        if (shape->dims[i] < 0)
            return call_invalid(call, "the size of axis %d would be negative", i);
        if (x->shape.dims[i] == 0 && shape->dims[i] > 0 && p->mode != PAD_CONSTANT)
            return call_invalid(call, "axis %d has no element to repeat", i);
    }
    return 0;
}

static int64_t modulo(int64_t a, int64_t n)
{
    int64_t r = a % n;
    return r < 0 ? r + n : r;
}

/*
 * The source of position `at` (0: the first element of the axis); -1: the constant. As in NumPy, a pad larger
 * than the axis continues back and forth (reflect) or repeats (wrap).
 */
static int64_t pad_source(enum pad_mode mode, int64_t at, int64_t dim)
{
    if (at >= 0 && at < dim)
        return at;
    if (mode == PAD_EDGE)
        return at < 0 ? 0 : dim - 1;
    if (mode == PAD_WRAP)
        return modulo(at, dim);
    if (mode == PAD_CONSTANT)
        return -1;
    if (dim == 1)
        return 0;
    int64_t turn = modulo(at, 2 * (dim - 1));
    return turn < dim ? turn : 2 * (dim - 1) - turn;
}

/*
 * Whether ONNX specifies the element at `at`. "The reflection of the vector mirrored on the first and last
 * values" ends with the vector: beyond it NumPy continues back and forth, and an engine may refuse.
 */
static bool pad_decided(enum pad_mode mode, int64_t at, int64_t dim)
{
    return mode != PAD_REFLECT || (at > -dim && at < 2 * dim - 1);
}

/*
 * The source of output position `i`. A negative pad together with a positive one can be read in two ways: the
 * border is made from the whole axis and then cut, or from what the cut leaves. The first is computed; *open
 * says that the second would give another element.
 */
static int64_t pad_axis_source(const struct padding *p, int axis, int64_t dim, int64_t i, bool *open)
{
    int64_t before = p->before[axis], after = p->after[axis];
    int64_t source = pad_source(p->mode, i - before, dim);
    *open |= !pad_decided(p->mode, i - before, dim);
    if ((before < 0 && after > 0) || (before > 0 && after < 0)) {
        int64_t cut = before < 0 ? -before : 0, left = dim - cut + (after < 0 ? after : 0);
        if (left <= 0 || pad_source(p->mode, i - (before > 0 ? before : 0), left) + cut != source)
            *open |= source >= 0;
    }
    return source;
}

static void pad_fill(struct bounded *out, const struct bounded *x, const struct bounded *constant,
                     const struct padding *p)
{
    struct strides strides = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &out->shape)) {
        size_t from = 0;
        bool outside = false, open = false;
        for (int axis = 0; axis < x->shape.rank; axis++) {
            int64_t at = pad_axis_source(p, axis, x->shape.dims[axis], index[axis], &open);
            outside |= at < 0;
            from += at < 0 ? 0 : (size_t)at * strides.of[axis];
        }
        if (!outside && open)
            bounded_set(out, i, x->value[from], INFINITY, INFINITY);
        else if (!outside)
            bounded_move(out, i, x, from);
        else if (constant)
            bounded_move(out, i, constant, 0);
    }
}

static int eval_pad(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *constant = call_input(call, 2);
    struct padding p;
    struct shape shape;
    if (!x || read_padding(call, x, &p) || pad_shape(call, x, &p, &shape))
        return -1;
    if (constant && (constant->type != x->type || constant->count != 1))
        return call_invalid(call, "constant_value is not a scalar of the type of the data");
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out)
        return -1;
    if (!call->shapes_only)
        pad_fill(out, x, constant, &p);
    return 0;
}

/* Draws one pad: mostly one that every reading of the ONNX text allows. Seldom it is larger than the axis,
 * and never inside a graph, where later operators may hide that the result is unspecified. */
static int64_t draw_pad(struct draw *d, enum pad_mode mode, int64_t dim)
{
    int64_t most = mode == PAD_REFLECT ? dim - 1 : mode == PAD_WRAP ? dim : 3;
    if ((mode != PAD_CONSTANT && dim == 0) || draw_chance(d, 0.4))
        return 0;
    if (mode != PAD_CONSTANT && !d->given && draw_chance(d, 0.02))
        most = 2 * dim + 3;
    return draw_between(d, 0, most < 4 || most > dim ? most : 4);
}

static int sample_pad(struct draw *d)
{
    struct drawn x = draw_primary(d);
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    enum pad_mode mode = (enum pad_mode)draw_between(d, 0, d->opset >= 19 ? 3 : 2);
    bool with_axes = d->opset >= 18 && draw_chance(d, 0.4), crops = draw_chance(d, 0.3);
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK], pads[2 * TENSOR_MAX_RANK];
    size_t n = 0;
    for (int i = 0; i < x.shape.rank; i++) {
        if (with_axes && x.shape.rank > 1 && draw_chance(d, 0.4))
            continue;
        int64_t dim = x.shape.dims[i];
        before[n] = draw_pad(d, mode, dim);
        after[n] = draw_pad(d, mode, dim);
        if (crops && draw_chance(d, 0.5)) {
            /* Leaves elements that can be repeated. */
            int64_t rest = mode == PAD_CONSTANT || dim == 0 ? dim : dim - 1;
            before[n] = -draw_between(d, 0, rest / 2);
            bool both = draw_chance(d, 0.9) || (d->given && mode != PAD_CONSTANT);
            after[n] = both ? -draw_between(d, 0, rest - rest / 2) : after[n];
        }
        axes[n++] = draw_chance(d, 0.3) ? i - x.shape.rank : i;
    }
    if (with_axes && !n)
        return -1;
    memcpy(pads, before, n * sizeof *pads);
    memcpy(pads + n, after, n * sizeof *pads);
    draw_int_input(d, pads, 2 * n);
    if (mode == PAD_CONSTANT && draw_chance(d, 0.6))
        draw_data(d, x.type, &(struct shape){.rank = 0});
    else
        draw_omit(d);
    if (with_axes)
        draw_int_typed(d, draw_chance(d, 0.05) ? DTYPE_INT32 : DTYPE_INT64,
                       &(struct shape){.rank = 1, .dims = {(int64_t)n}}, axes);
    if (mode != PAD_CONSTANT || draw_chance(d, 0.5))
        draw_string(d, "mode", names[mode]);
    return 0;
}

static const struct op_param pad_params[] = {
    {"mode", PARAM_STRING, .until = 18, .legal = "constant|reflect|edge", .illegal = "wrap|symmetric|",
     .initial = "constant"},
    {"mode", PARAM_STRING, .since = 19, .legal = "constant|reflect|edge|wrap", .illegal = "symmetric|",
     .initial = "constant"},
    {"pads", PARAM_INPUT, .input = 1, .legal = "0,0|1,1|0,-1", .illegal = "-1000000,0|1|1,2,3"},
    {"axes", PARAM_INPUT, .input = 3, .since = 18, .legal = "0|-1", .illegal = "100|-100|0,0", .initial = ""},
    {0}};

#define NUMBERS_11 (DTYPES_NUMBER & ~DTYPE_BIT(DTYPE_BFLOAT16))

const struct op ops_pad[] = {
    {OP("Pad", 1), .inputs = {2, 4}, .outputs = {1, 1}, .ranks = {1, 4},
     .types = {{11, NUMBERS_11}, {13, MOVE_ANY}}, .params = pad_params, .eval = eval_pad,
     .gradient = gradient_of_moves, .sample = sample_pad, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_SUM},
     .history = {.same_since = 2,
                 .reformed = 11,
                 .attributes = {{"pads", PARAM_INTS}, {"value", PARAM_FLOAT}}},
     .result = RESULT_TYPE, .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, .narrow = {21, DTYPES_NARROW},
     .dangers = {{DANGER_NONE}}},
    {0},
};
