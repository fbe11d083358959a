/*
 * MeanVarianceNormalization: (x - mean) / deviation over any axes. The text has no epsilon, the function body
 * adds 1e-9 to the deviation: the bounds allow none, the body's, and the same added to the variance. The body
 * adds it as a float32, which makes no valid node of other types: of these ONNX says two things at once, and
 * they are left out. Bounds: docs/bounds/normalize.md.
 */
#include "ops/normalize.h"

#include <math.h>
#include <string.h>

static const double epsilon = 1e-9;

static struct number inverse_deviation(struct number variance, double unit, enum dtype type)
{
    long double v = variance.v, hard = variance.h + unit * v + dtype_precision(type).tiny;
    long double value = v > 0 ? 1 / (sqrtl(v) + epsilon) : 0;
    if (!(v - hard > 0))
        return (struct number){value, INFINITY, 0};
    long double most = 1 / sqrtl(v - hard), least = 1 / (sqrtl(v + hard + epsilon) + epsilon);
    return (struct number){value, fmaxl(most - value, value - least) + 6 * unit * most,
                           likely_add(value / (2 * v) * variance.l, 3 * unit * value)};
}

/* The dimensions that stay and those that a block has, each with the strides of x. */
struct blocks {
    struct shape outer, inner;
    struct strides outside, inside;
};

static int find_blocks(struct op_call *call, const struct bounded *x, struct blocks *blocks)
{
    static const int64_t usual[] = {0, 2, 3};
    bool reduced[TENSOR_MAX_RANK];
    size_t count;
    const int64_t *axes = call_ints(call, "axes", &count);
    if (!axes) {
        axes = usual;
        count = 3;
    }
    if (call_mark_axes(call, axes, count, x->shape.rank, reduced))
        return -1;
    struct strides dense = strides_dense(&x->shape);
    *blocks = (struct blocks){0};
    for (int i = 0; i < x->shape.rank; i++) {
        struct shape *shape = reduced[i] ? &blocks->inner : &blocks->outer;
        (reduced[i] ? &blocks->inside : &blocks->outside)->of[shape->rank] = dense.of[i];
        shape->dims[shape->rank++] = x->shape.dims[i];
    }
    return 0;
}

/* The block whose first element is `from`, normalised; `block` and `normal` have its size. */
static void normalise(const struct blocks *blocks, const struct bounded *x, size_t from,
                      struct bounded *block, struct bounded *normal, struct bounded *out)
{
    static const struct number one = {1, 0, 0}, nothing = {0, 0, 0};
    int64_t index[TENSOR_MAX_RANK] = {0};
    double unit = unit_of(x->type);
    size_t i = 0;
    do {
        bounded_move(block, i++, x, from + strides_at(&blocks->inside, blocks->inner.rank, index));
    } while (odometer_next(index, &blocks->inner));
    struct moments m = moments_of(block, 0, block->count, 0, unit, x->type);
    if (!m.nan && !m.undecided)
        m.inverse = inverse_deviation(m.variance, unit, x->type);
    m.most = 0;
    memset(index, 0, sizeof index);
    i = 0;
    do {
        normalize_put(normal, i, block, &m, one, nothing, unit, x->type);
        bounded_move(out, from + strides_at(&blocks->inside, blocks->inner.rank, index), normal, i++);
    } while (odometer_next(index, &blocks->inner));
}

static int eval_mean_variance(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct blocks blocks;
    if (!x || find_blocks(call, x, &blocks))
        return -1;
    if (x->type != DTYPE_FLOAT)
        return call_unsupported(call, "%s is not supported: ONNX's own function body is not valid for it",
                                dtype_name(x->type));
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    struct shape flat = {1, {(int64_t)shape_span(&blocks.inner, 0, blocks.inner.rank)}};
    struct bounded block, normal;
    int64_t index[TENSOR_MAX_RANK] = {0};
    bounded_init(&block);
    bounded_init(&normal);
    int result = bounded_alloc(&block, x->type, &flat, false, call->err);
    if (!result)
        result = bounded_alloc(&normal, x->type, &flat, false, call->err);
    if (!result)
        do {
            normalise(&blocks, x, strides_at(&blocks.outside, blocks.outer.rank, index), &block, &normal,
                      out);
        } while (odometer_next(index, &blocks.outer));
    bounded_release(&block);
    bounded_release(&normal);
    return result;
}

static int sample_mean_variance(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = 0;
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1; /* there would be no elements for the statistics */
    if (x.shape.rank == 4 && d->opset < 13 && draw_chance(d, 0.3))
        return 0; /* later, ONNX's own inference does not know the default of the function body's axes */
    for (int i = 0; i < x.shape.rank; i++) /* the text does not speak of negative ones */
        if (draw_chance(d, 0.6))
            axes[count++] = i;
    if (!count)
        axes[count++] = draw_between(d, 0, x.shape.rank - 1);
    draw_ints(d, "axes", axes, count);
    return 0;
}

static const struct op_param params[] = {
    {"axes", PARAM_INTS, .legal = "0|1|0,1", .illegal = "99|-99|0,0", .initial = "0,2,3"},
    {0},
};

const struct op ops_mean_variance[] = {
    {OP("MeanVarianceNormalization", 9), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = {{9, DTYPE_BIT(DTYPE_FLOAT)}}, .flags = OP_ON_REQUEST, .params = params,
     .eval = eval_mean_variance, .sample = sample_mean_variance, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9}, .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES,
     .slope = SLOPE_EVERYWHERE, .open = "whether an epsilon is added to the deviation",
     .dangers = {{DANGER_INNER, .power = 2}}},
    {0},
};
