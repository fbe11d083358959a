/*
 * Division by a norm of the neighbourhood: LpNormalization along an axis, LRN over near channels.
 */
#include "base/limits.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/op.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Adds x^2, with its rounding for the largest possible x, unless it is a small integer. */
static void add_square(struct sum *sum, const struct bounded *x, size_t at, double unit)
{
    long double v = x->value[at], h = bounded_hard(x, at), l = bounded_likely(x, at);
    bool exact = h == 0 && v == floorl(v) && v * v * unit <= 1;
    long double own = exact ? 0 : unit * (fabsl(v) + h) * (fabsl(v) + h);
    sum_add(sum, v * v, own + 2 * fabsl(v) * h + h * h, likely_add(own / 2, 2 * fabsl(v) * l + l * l));
}

/* x / norm; 2 units for a division by way of the reciprocal. */
static void put_quotient(struct bounded *out, size_t at, const struct bounded *x, long double norm,
                         long double hard, long double likely)
{
    double unit = bounded_unit(out);
    long double y = x->value[at] / norm;
    if (norm == 0 && hard == 0) { /* 0/0 or, according to later versions of ONNX, 0 */
        bounded_put_open(out, at);
    } else if (isinf(hard) || (isfinite(norm) && !(norm - hard > 0))) {
        bounded_put_undecided(out, at, y);
    } else if (!isfinite(y) || !isfinite(norm)) {
        bounded_put(out, at, y, bounded_hard(x, at), 0);
    } else {
        long double most = (fabsl(x->value[at]) + bounded_hard(x, at)) / (norm - hard);
        long double reach = (fabsl(y) * hard + bounded_hard(x, at)) / (norm - hard) + 2 * unit * most;
        long double spread = likely_add(y * likely / norm, bounded_likely(x, at) / norm);
        bounded_put(out, at, y, reach, likely_add(spread, unit * y));
    }
}

/* Elements along the axis: `length` of them, `step` apart. */
struct lane {
    const struct bounded *x;
    size_t base, step, length;
    int64_t p;
};

/* The norm of a lane; *overflows: a partial sum may. */
static struct number norm_of(const struct lane *l, bool *overflows)
{
    struct sum sum = {0};
    double unit = bounded_unit(l->x);
    for (size_t k = 0; k < l->length; k++) {
        size_t at = l->base + k * l->step;
        if (l->p == 1)
            sum_add(&sum, fabsl(l->x->value[at]), bounded_hard(l->x, at), bounded_likely(l->x, at));
        else
            add_square(&sum, l->x, at, unit);
    }
    struct number norm = {sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit)};
    *overflows = sum_overflows(&sum, l->x->type);
    if (l->p == 2 && isfinite(norm.v)) {
        long double s = norm.v, root = sqrtl(s);
        /* Squares below the smallest normal number may be flushed. */
        if (s > 0 && sum.inexact)
            norm.h += (long double)l->length * dtype_precision(l->x->type).tiny;
        long double most = sqrtl(s + norm.h);
        norm.h = fmaxl(most - root, root - sqrtl(fmaxl(s - norm.h, 0))) + unit * most;
        norm.l = root > 0 ? likely_add(norm.l / (2 * root), unit * root / 2) : 0;
        norm.v = root;
    }
    return norm;
}

static void normalise_lane(struct bounded *out, const struct lane *l)
{
    bool overflows;
    struct number norm = norm_of(l, &overflows);
    for (size_t k = 0; k < l->length; k++) {
        size_t at = l->base + k * l->step;
        if (overflows)
            bounded_put_undecided(out, at, l->x->value[at] / norm.v);
        else
            put_quotient(out, at, l->x, norm.v, norm.h, norm.l);
    }
}

/* 1/x of a number that is certainly positive. */
static struct number inverse_of(struct number x, double unit)
{
    long double inverse = 1 / x.v, most = 1 / (x.v - x.h);
    return (struct number){inverse, most - inverse + 2 * unit * most,
                           likely_add(x.l * inverse * inverse, unit * inverse)};
}

/* sum g x along a lane. */
static struct number weigh_lane(const struct lane *l, const struct bounded *up)
{
    struct sum sum = {0};
    double unit = bounded_unit(l->x);
    for (size_t k = 0; k < l->length; k++) {
        size_t at = l->base + k * l->step;
        struct number term = number_mul(number_of(up, at), number_of(l->x, at), unit);
        sum_add(&sum, term.v, term.h, term.l);
    }
    struct number total = {sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit)};
    if (sum_overflows(&sum, l->x->type))
        total.h = INFINITY;
    return total;
}

/*
 * dx = g/norm - x T/norm^3, or g/norm - sign(x) T/norm^2 for p = 1, with T = sum g x; also by way of
 * y = x/norm. The absolute value has a kink at 0, either norm where all elements are 0.
 */
static void differentiate_lane(struct bounded *slope, const struct lane *l, const struct bounded *up)
{
    bool overflows;
    double unit = bounded_unit(slope);
    struct number norm = norm_of(l, &overflows), total = weigh_lane(l, up);
    bool clear = !overflows && isfinite(norm.v) && norm.v - norm.h > 0 && isfinite(total.v) &&
                 powl(norm.v + norm.h, 3) < dtype_highest(slope->type);
    struct number inverse = clear ? inverse_of(norm, unit) : norm;
    for (size_t k = 0; k < l->length; k++) {
        size_t at = l->base + k * l->step;
        struct number x = number_of(l->x, at), g = number_of(up, at);
        if (!clear || !isfinite(g.v) || (l->p == 1 && !(fabsl(x.v) > x.h))) {
            bounded_put_undecided(slope, at, 0);
            continue;
        }
        struct number side = l->p == 1 ? number_exact(x.v < 0 ? -1 : 1) : number_mul(x, inverse, unit);
        struct number direct = number_product((const struct number[]){g, inverse}, 2, slope->type, unit),
                      shared = number_product((const struct number[]){side, total, inverse, inverse}, 4,
                                              slope->type, unit);
        long double size = unit * (number_most(direct) + number_most(shared));
        number_put(slope, at, number_loosen(number_sub(direct, shared, unit), 4 * size, size));
    }
}

static int eval_lp(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int64_t p = call_int(call, "p", 2);
    int axis;
    if (!x || call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis))
        return -1;
    if (p != 1 && p != 2)
        return call_invalid(call, "p is %" PRId64 ", not 1 or 2", p);
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    size_t outer = shape_span(&x->shape, 0, axis), inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    struct lane lane = {x, 0, inner, (size_t)x->shape.dims[axis], p};
    for (size_t i = 0; i < outer * inner; i++) {
        lane.base = i / inner * lane.length * inner + i % inner;
        normalise_lane(out, &lane);
    }
    return 0;
}

static int gradient_lp(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *up = g->upstream[0];
    int axis;
    if (!up || !g->wanted[0])
        return 0;
    struct bounded *slope = gradient_make(g, 0);
    if (!slope || call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis))
        return -1;
    size_t outer = shape_span(&x->shape, 0, axis), inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    struct lane lane = {x, 0, inner, (size_t)x->shape.dims[axis], call_int(call, "p", 2)};
    for (size_t i = 0; x->count > 0 && i < outer * inner; i++) {
        lane.base = i / inner * lane.length * inner + i % inner;
        differentiate_lane(slope, &lane, up);
    }
    return 0;
}

static int sample_lp(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (draw_chance(d, 0.7))
        draw_int(d, "axis", draw_between(d, -x.shape.rank, x.shape.rank - 1));
    if (draw_chance(d, 0.6))
        draw_int(d, "p", draw_between(d, 1, 2));
    return 0;
}

struct lrn {
    double alpha, beta, bias;
    int64_t size;
};

/* bias + alpha/size * sum of squares: off by the sum's bound and 4 roundings; undecided where it may not be
 * positive. */
static struct number base_of(const struct lrn *lrn, const struct sum *sum, enum dtype type)
{
    double unit = unit_of(type);
    long double factor = (long double)lrn->alpha / (long double)lrn->size, s = sum_value(sum);
    struct number base = {lrn->bias + factor * s, fabsl(factor) * sum_hard(sum, unit),
                          fabsl(factor) * sum_likely(sum, unit)};
    long double size = fabsl((long double)lrn->bias) + fabsl(factor * s) + base.h;
    base = number_loosen(base, 4 * unit * size, 0);
    base.l += 2 * unit * size;
    if (!isfinite(base.v) || sum_overflows(sum, type) || !(base.v - base.h > 0))
        base.h = INFINITY;
    return base;
}

/* A power of the base, which multiplies its relative error. As exp(exponent ln base), pow has 8 units of exp
 * and 10 of its argument: 8 of the logarithm, one each of the product and of the exponent. */
static struct number power_of(struct number base, double exponent, double unit)
{
    long double power = powl(base.v, exponent), high = powl(base.v + base.h, exponent),
                low = powl(base.v - base.h, exponent);
    long double ends = fmaxl(fabsl(high - power), fabsl(power - low));
    long double steepest = fmaxl(fabsl(logl(base.v + base.h)), fabsl(logl(base.v - base.h)));
    long double size = unit * fmaxl(high, low), argument = fabs(exponent) * steepest;
    return (struct number){power, ends + (8 + 10 * argument) * size,
                           likely_add(power * base.l / base.v * fabs(exponent), (8 + argument) * size / 3)};
}

/* x / (bias + alpha/size * sum of squares)^beta */
static void put_lrn(struct bounded *out, size_t at, const struct bounded *x, const struct lrn *lrn,
                    const struct sum *sum)
{
    struct number base = base_of(lrn, sum, out->type);
    if (isnan(sum_value(sum)) || isnan(x->value[at])) {
        bounded_put(out, at, NAN, bounded_hard(x, at), 0);
    } else if (!isfinite(base.h)) {
        bounded_put_undecided(out, at, x->value[at]);
    } else {
        struct number power = power_of(base, lrn->beta, bounded_unit(out));
        put_quotient(out, at, x, power.v, power.h, power.l);
    }
}

/*
 * The error of a running sum along the channels, which engines use: a square that leaves the window leaves
 * its rounding error in the sum. Each square is part of `size` sums, each rounded when one is added and one
 * subtracted. A square that is NaN or infinite has no rounding error: it must leave no trace. But float32, in
 * which halves are often computed, holds what float16 cannot. Integers are rounded as well, as each is
 * multiplied by alpha/size. An element that is not judged may leave anything behind.
 */
static long double left_behind(const struct bounded *x, size_t first, size_t step, int64_t count,
                               int64_t size)
{
    double unit = bounded_unit(x);
    long double rounded = 0, highest = dtype_highest(x->type);
    for (int64_t k = 0; k < count; k++) {
        size_t at = first + (size_t)k * step;
        long double v = fabsl(x->value[at]), h = bounded_hard(x, at), most = (v + h) * (v + h),
                    least = v > h ? (v - h) * (v - h) : 0;
        if (least <= highest)
            rounded += unit * (isinf(h) ? h : fminl(most, highest));
        if (x->type == DTYPE_FLOAT16 && most > highest && least <= FLT_MAX)
            rounded += 0x1p-24L * most;
    }
    return 2 * (long double)size * rounded;
}

static struct lrn read_lrn(const struct op_call *call)
{
    return (struct lrn){call_float(call, "alpha", (double)1e-4f), call_float(call, "beta", 0.75),
                        call_float(call, "bias", 1), call_int(call, "size", 0)};
}

/* The channels around that of element i: its place in the first one, the distance, the first and the last. */
struct vicinity {
    size_t first, inner;
    int64_t low, high;
};

static struct vicinity vicinity_of(const struct shape *shape, size_t i, int64_t before, int64_t after)
{
    int64_t channels = shape->dims[1];
    struct vicinity v = {.inner = shape_span(shape, 2, shape->rank)};
    int64_t c = (int64_t)(i / v.inner % (size_t)channels);
    v.first = i - (size_t)c * v.inner;
    v.low = c > before ? c - before : 0;
    v.high = c + after < channels ? c + after : channels - 1;
    return v;
}

static struct sum squares_around(const struct bounded *x, size_t i, int64_t size)
{
    struct vicinity v = vicinity_of(&x->shape, i, (size - 1) / 2, size - 1 - (size - 1) / 2);
    struct sum sum = {0};
    for (int64_t k = v.low; k <= v.high; k++)
        add_square(&sum, x, v.first + (size_t)k * v.inner, bounded_unit(x));
    sum.hard += v.low > 0 ? left_behind(x, v.first, v.inner, v.high + 1, size) : 0;
    return sum;
}

static int eval_lrn(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct lrn lrn = read_lrn(call);
    if (!x)
        return -1;
    if (lrn.size < 1)
        return call_invalid(call, "size %" PRId64 " is out of range", lrn.size);
    if (lrn.size > INT32_MAX)
        return call_unsupported(call, "size %" PRId64 " is too large", lrn.size);
    if (x->shape.rank < 2)
        return call_invalid(call, "input of rank %d has no channels", x->shape.rank);
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    for (size_t i = 0; i < x->count && !limits_late((size_t)lrn.size); i++) {
        struct sum sum = squares_around(x, i, lrn.size);
        put_lrn(out, i, x, &lrn, &sum);
    }
    return 0;
}

/* What one output passes on: base^-beta to its own element, g x base^(-beta-1) to all elements around it. */
struct lrn_parts {
    struct number own, around;
};

static struct lrn_parts parts_of(const struct lrn *lrn, const struct bounded *x, const struct bounded *up,
                                 size_t i)
{
    struct sum sum = squares_around(x, i, lrn->size);
    struct number base = base_of(lrn, &sum, x->type), g = number_of(up, i), none = {0, INFINITY, 0};
    double unit = bounded_unit(x);
    if (!isfinite(base.h) || !isfinite(g.v) || !isfinite(x->value[i]))
        return (struct lrn_parts){none, none};
    struct number steep = power_of(base, -lrn->beta - 1, unit), own = power_of(base, -lrn->beta, unit);
    /* The power may be y/x, or base^-beta divided by the base. */
    steep = number_loosen(steep, 12 * unit * number_most(steep), 4 * unit * number_most(steep));
    own = number_loosen(own, 2 * unit * number_most(own), unit * number_most(own));
    const struct number factors[] = {g, number_of(x, i), steep};
    return (struct lrn_parts){number_product((const struct number[]){g, own}, 2, x->type, unit),
                              number_product(factors, 3, x->type, unit)};
}

/* The sum over the outputs in whose neighbourhood element i lies; it may be a running sum, see left_behind.
 */
static struct number sum_around(const struct lrn_parts *parts, const struct bounded *x, size_t i,
                                int64_t size)
{
    struct vicinity v = vicinity_of(&x->shape, i, size - 1 - (size - 1) / 2, (size - 1) / 2);
    struct sum sum = {0};
    double unit = bounded_unit(x);
    long double before = 0;
    for (int64_t k = 0; k <= v.high; k++) {
        struct number term = parts[v.first + (size_t)k * v.inner].around;
        before += number_most(term);
        if (k >= v.low)
            sum_add(&sum, term.v, term.h, term.l);
    }
    struct number total = {sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit)};
    if (v.low > 0)
        total = number_loosen(total, 2 * (long double)size * unit * before, unit * before);
    if (sum_overflows(&sum, x->type))
        total.h = INFINITY;
    return total;
}

/* dx_k = g_k base_k^-beta - 2 alpha beta/size x_k sum g_i x_i base_i^(-beta-1) */
static int gradient_lrn(struct op_gradient *g)
{
    const struct bounded *x = g->call->inputs[0], *up = g->upstream[0];
    struct lrn lrn = read_lrn(g->call);
    if (!up || !g->wanted[0])
        return 0;
    struct bounded *slope = gradient_make(g, 0);
    if (!slope)
        return -1;
    struct lrn_parts *parts = calloc(x->count ? x->count : 1, sizeof *parts);
    if (!parts)
        return error_set(g->call->err, ERROR_MEMORY, "no memory for %zu derivatives", x->count);
    for (size_t i = 0; i < x->count; i++)
        parts[i] = parts_of(&lrn, x, up, i);
    double unit = bounded_unit(x);
    long double value = 2 * (long double)lrn.alpha * lrn.beta / (long double)lrn.size;
    struct number factor = {value, 4 * unit * fabsl(value), 2 * unit * fabsl(value)};
    for (size_t i = 0; i < x->count; i++) {
        const struct number factors[] = {factor, number_of(x, i), sum_around(parts, x, i, lrn.size)};
        struct number shared = number_product(factors, 3, x->type, unit);
        long double size = unit * (number_most(parts[i].own) + number_most(shared));
        struct number y = number_loosen(number_sub(parts[i].own, shared, unit), 2 * size, size);
        if (isfinite(y.v))
            number_put(slope, i, y);
        else
            bounded_put_undecided(slope, i, 0);
    }
    free(parts);
    return 0;
}

static int sample_lrn(struct draw *d)
{
    draw_primary(d);
    draw_int(d, "size", 2 * draw_between(d, 0, 3) + 1);
    if (draw_chance(d, 0.7))
        draw_float(d, "alpha", draw_chance(d, 0.5) ? 1e-4f : 0.5f);
    if (draw_chance(d, 0.7))
        draw_float(d, "beta", draw_chance(d, 0.5) ? 0.5f : 1);
    if (draw_chance(d, 0.5))
        draw_float(d, "bias", draw_chance(d, 0.5) ? 1 : 2);
    return 0;
}

static const struct op_param lp_params[] = {
    {"axis", PARAM_INT, .legal = "-3..2", .illegal = "99|-99", .initial = "-1"},
    {"p", PARAM_INT, .legal = "1|2", .illegal = "0|3|-1", .initial = "2"},
    {0},
};
static const struct op_param lrn_params[] = {
    {"size", PARAM_INT, .legal = "1|3|5|7", .illegal = "0|-1|2"},
    {"alpha", PARAM_FLOAT, .legal = "0|1e-4|0.5|1", .illegal = "nan", .initial = "1e-4"},
    {"beta", PARAM_FLOAT, .legal = "0|0.5|0.75|1", .illegal = "nan", .initial = "0.75"},
    {"bias", PARAM_FLOAT, .legal = "1|2", .illegal = "nan", .initial = "1"},
    {0},
};

enum { BASE = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) };

const struct op ops_lrn_lpnorm[] = {
    {OP("LRN", 1), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {4, 4},
     .types = {{1, BASE}, {13, DTYPES_FLOAT}}, .params = lrn_params, .eval = eval_lrn,
     .gradient = gradient_lrn, .sample = sample_lrn, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("LpNormalization", 1), .open = "the quotient of 0 and a norm of 0", .inputs = {1, 1},
     .outputs = {1, 1}, .ranks = {1, 5}, .types = {{1, BASE}, {22, DTYPES_FLOAT}}, .params = lp_params,
     .eval = eval_lp, .gradient = gradient_lp, .sample = sample_lp, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-1e3, 1e3}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES,
     .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {0},
};
