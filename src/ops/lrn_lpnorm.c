/*
 * Division by a norm of the neighbourhood: LpNormalization along an axis, LRN over near channels.
 */
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

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

static void normalise_lane(struct bounded *out, const struct bounded *x, size_t base, size_t step,
                           size_t length, int64_t p)
{
    struct sum sum = {0};
    double unit = bounded_unit(out);
    for (size_t k = 0; k < length; k++) {
        size_t at = base + k * step;
        if (p == 1)
            sum_add(&sum, fabsl(x->value[at]), bounded_hard(x, at), bounded_likely(x, at));
        else
            add_square(&sum, x, at, unit);
    }
    long double s = sum_value(&sum), hard = sum_hard(&sum, unit), likely = sum_likely(&sum, unit), norm = s;
    bool overflows = sum_overflows(&sum, out->type);
    if (p == 2 && isfinite(s)) {
        norm = sqrtl(s);
        /* Squares below the smallest normal number may be flushed. */
        if (s > 0 && sum.inexact)
            hard += (long double)length * dtype_precision(out->type).tiny;
        long double most = sqrtl(s + hard);
        hard = fmaxl(most - norm, norm - sqrtl(fmaxl(s - hard, 0))) + unit * most;
        likely = norm > 0 ? likely_add(likely / (2 * norm), unit * norm / 2) : 0;
    }
    for (size_t k = 0; k < length; k++) {
        size_t at = base + k * step;
        if (overflows)
            bounded_put_undecided(out, at, x->value[at] / norm);
        else
            put_quotient(out, at, x, norm, hard, likely);
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
    if (!out)
        return -1;
    if (call->shapes_only || x->count == 0)
        return 0;
    size_t outer = shape_span(&x->shape, 0, axis), inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    size_t length = (size_t)x->shape.dims[axis];
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++)
            normalise_lane(out, x, o * length * inner + i, inner, length, p);
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

/*
 * x / (bias + alpha/size * sum of squares)^beta. The base is off by the sum's bound and 4 roundings; the
 * power multiplies its relative error by beta, and pow has 8 units plus those of its argument's logarithm.
 */
static void put_lrn(struct bounded *out, size_t at, const struct bounded *x, const struct lrn *lrn,
                    const struct sum *sum)
{
    double unit = bounded_unit(out);
    long double factor = (long double)lrn->alpha / (long double)lrn->size, s = sum_value(sum);
    long double base = lrn->bias + factor * s;
    long double inherited = fabsl(factor) * sum_hard(sum, unit);
    long double size = fabsl((long double)lrn->bias) + fabsl(factor * s) + inherited;
    long double hard = inherited + 4 * unit * size;
    if (isnan(s) || isnan(x->value[at])) {
        bounded_put(out, at, NAN, bounded_hard(x, at), 0);
        return;
    }
    if (!isfinite(base) || sum_overflows(sum, out->type) || !(base - hard > 0)) {
        bounded_put_undecided(out, at, x->value[at]);
        return;
    }
    long double power = powl(base, lrn->beta), high = powl(base + hard, lrn->beta),
                low = powl(base - hard, lrn->beta);
    long double ends = fmaxl(fabsl(high - power), fabsl(power - low));
    long double steepest = fmaxl(fabsl(logl(base + hard)), fabsl(logl(base - hard)));
    long double own = (8 + fabsl(lrn->beta) * steepest) * unit * fmaxl(high, low);
    long double relative = (fabsl(factor) * sum_likely(sum, unit) + 2 * unit * size) / base * fabs(lrn->beta);
    put_quotient(out, at, x, power, ends + own, likely_add(power * relative, own / 3));
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

static int eval_lrn(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct lrn lrn = {call_float(call, "alpha", (double)1e-4f), call_float(call, "beta", 0.75),
                      call_float(call, "bias", 1), call_int(call, "size", 0)};
    if (!x)
        return -1;
    if (lrn.size < 1 || lrn.size > INT32_MAX)
        return call_invalid(call, "size %" PRId64 " is out of range", lrn.size);
    if (x->shape.rank < 2)
        return call_invalid(call, "input of rank %d has no channels", x->shape.rank);
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out)
        return -1;
    if (call->shapes_only || x->count == 0)
        return 0;
    int64_t channels = x->shape.dims[1], before = (lrn.size - 1) / 2, after = lrn.size - 1 - before;
    size_t inner = shape_span(&x->shape, 2, x->shape.rank);
    for (size_t i = 0; i < x->count; i++) {
        int64_t c = (int64_t)(i / inner % (size_t)channels);
        int64_t low = c > before ? c - before : 0, high = c + after < channels ? c + after : channels - 1;
        size_t first = i - (size_t)c * inner;
        struct sum sum = {0};
        for (int64_t k = low; k <= high; k++)
            add_square(&sum, x, first + (size_t)k * inner, bounded_unit(out));
        sum.hard += low > 0 ? left_behind(x, first, inner, high + 1, lrn.size) : 0;
        put_lrn(out, i, x, &lrn, &sum);
    }
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
     .types = {{1, BASE}, {13, DTYPES_FLOAT}}, .params = lrn_params, .eval = eval_lrn, .sample = sample_lrn,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("LpNormalization", 1), .open = "the quotient of 0 and a norm of 0", .inputs = {1, 1},
     .outputs = {1, 1}, .ranks = {1, 5}, .types = {{1, BASE}}, .params = lp_params, .eval = eval_lp,
     .sample = sample_lp, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {0},
};
