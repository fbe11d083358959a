/*
 * Reductions over axes. For each output element the kernel walks the reduced dimensions and gathers what the
 * operator needs in one pass: a sum of terms, an extreme or a product. A short function per operator computes
 * the result from that.
 */
#include "base/memory.h"
#include "base/wide.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct op ops_reduction[];

enum reduction {
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP,
    REDUCE_MAX,
    REDUCE_MEAN,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_SUM,
    REDUCE_SUM_SQUARE
};

struct plan {
    enum reduction kind;
    struct shape out;
    struct shape inner;    /* the reduced dims */
    struct shape outer;    /* the kept dims */
    struct strides inside; /* of the reduced dims in the input */
    struct strides outside;
    bool noop;
};

/* ReduceSum has its axes as an input since opset 13, the others since 18. */
static bool axes_are_input(enum reduction kind, int opset)
{
    return opset >= (kind == REDUCE_SUM ? 13 : 18);
}

static int read_axes(struct op_call *call, enum reduction kind, int rank, bool *reduced, size_t *count)
{
    int64_t values[TENSOR_MAX_RANK];
    const int64_t *axes = values;
    *count = 0;
    if (!axes_are_input(kind, call->opset))
        axes = call_ints(call, "axes", count);
    else if (call_input(call, 1) && call_int_list(call, 1, values, TENSOR_MAX_RANK, count))
        return -1;
    return call_mark_axes(call, axes, *count, rank, reduced);
}

static int make_plan(struct op_call *call, enum reduction kind, const struct bounded *x, struct plan *plan)
{
    bool reduced[TENSOR_MAX_RANK];
    size_t n_axes;
    *plan = (struct plan){.kind = kind};
    if (read_axes(call, kind, x->shape.rank, reduced, &n_axes))
        return -1;
    bool may_noop = axes_are_input(kind, call->opset);
    plan->noop = n_axes == 0 && may_noop && call_int(call, "noop_with_empty_axes", 0) != 0;
    if (n_axes == 0 && !plan->noop)
        memset(reduced, 1, sizeof reduced);
    bool keep = call_int(call, "keepdims", 1) != 0;
    struct strides dense = strides_dense(&x->shape);
    for (int i = 0; i < x->shape.rank; i++) {
        if (reduced[i]) {
            plan->inside.of[plan->inner.rank] = dense.of[i];
            plan->inner.dims[plan->inner.rank++] = x->shape.dims[i];
            if (keep)
                plan->out.dims[plan->out.rank++] = 1;
        } else {
            plan->outside.of[plan->outer.rank] = dense.of[i];
            plan->outer.dims[plan->outer.rank++] = x->shape.dims[i];
            plan->out.dims[plan->out.rank++] = x->shape.dims[i];
        }
    }
    return 0;
}

struct gathered {
    struct sum sum;
    long double inherited; /* of sum.hard, what the bounds of the inputs bring to their squares */
    struct extreme extreme;
    struct {
        long double value, reach; /* product of t and of |t|+h */
        long double large, small; /* products of the factors that may be beyond 1 and below 1, in magnitude */
        long double variance;     /* relative, of the factors that are not 0 */
        long double spread;       /* product of sqrt(t^2 + deviation^2) */
        bool inexact, loose, nan; /* a factor has a bound; one is NaN */
    } product;
    size_t count;
};

static void gather_product(struct gathered *g, long double t, double hard, double likely)
{
    long double magnitude = fabsl(t);
    g->product.value *= t;
    g->product.reach *= magnitude + hard;
    g->product.spread *= likely_add(magnitude, likely);
    if (magnitude + hard > 1)
        g->product.large *= magnitude + hard;
    if (magnitude - hard <= 1)
        g->product.small *= fmaxl(magnitude - hard, 0);
    if (magnitude > 0)
        g->product.variance += (likely / magnitude) * (likely / magnitude);
    g->product.loose |= hard != 0;
    g->product.nan |= isnan(t);
    g->product.inexact |= hard != 0 || t != floorl(t);
}

static void gather(struct gathered *g, enum reduction kind, double unit, long double t, double hard,
                   double likely)
{
    g->count++;
    switch (kind) {
    case REDUCE_MAX:
    case REDUCE_MIN:
        extreme_add(&g->extreme, t, hard, likely);
        break;
    case REDUCE_PROD:
        gather_product(g, t, hard, likely);
        break;
    case REDUCE_L1:
        sum_add(&g->sum, fabsl(t), hard, likely);
        break;
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE: {
        /* A square is rounded itself, unless it is a small integer. */
        bool exact = hard == 0 && t == floorl(t) && t * t * unit <= 1;
        long double most = fabsl(t) + hard, own = exact || unit == 0 ? 0 : unit * most * most;
        long double inherited = hard > 0 ? (2 * fabsl(t) + hard) * hard : 0;
        g->inherited += inherited;
        sum_add(&g->sum, t * t, own + inherited,
                likely_add(own / 2, 2 * fabsl(t) * likely + (long double)likely * likely));
        break;
    }
    default:
        sum_add(&g->sum, t, hard, likely);
    }
}

/* A quotient or a root of integers; `whole`: it is one itself. ONNX does not say how others are rounded.
 * Beyond 2^63, one that is no integer may have become one by the rounding of long double. */
static void put_integer(struct bounded *out, size_t i, long double value, bool whole, long double hard)
{
    bool blurred = hard > 0 || value == floorl(value);
    if (hard == 0 && whole)
        bounded_put(out, i, value, 0, 0);
    else if (value - hard < dtype_lowest(out->type) || value + hard > dtype_highest(out->type))
        bounded_put_open(out, i);
    else
        bounded_put_range(out, i, truncl(value), floorl(value - hard) - blurred,
                          ceill(value + hard) + blurred);
}

/* sqrt of a sum of squares: the interval's ends through sqrt, and one more rounding or two. */
static void put_root(struct bounded *out, size_t i, const struct sum *sum, long double inherited, double unit)
{
    long double v = sum_value(sum), root = sqrtl(v);
    if (!dtype_is_float(out->type)) {
        put_integer(out, i, root, root == floorl(root) && root * root == v,
                    fmaxl(sqrtl(v + sum->hard) - root, root - sqrtl(fmaxl(v - sum->hard, 0))));
        return;
    }
    if (isinf(v) || isnan(v)) {
        bounded_put(out, i, root, sum->hard, 0);
        return;
    }
    /* Squares below the smallest normal number may be flushed. */
    long double lost =
        sum->squares > 0 || sum->hard > 0 ? (long double)sum->count * dtype_precision(out->type).tiny : 0;
    if (v > 1e3L * lost && !sum->inexact)
        lost = 0;
    long double hard = sum_hard(sum, unit) + lost, likely = sum_likely(sum, unit);
    long double slope = root > 0 ? likely / (2 * root) : sqrtl(likely);
    bool exact = hard == 0 && root == floorl(root);
    long double own = exact ? 0 : 2 * unit * root;
    long double flushed = (sqrtl(v + lost) - root) / 2;
    long double reach = root_hard(v, inherited, hard - inherited, 0.5L);
    bounded_put(out, i, root, reach + own + 2 * unit * reach,
                likely_add(slope, likely_add(own / 2, flushed)));
}

static void put_log(struct bounded *out, size_t i, const struct sum *sum, double unit)
{
    long double v = sum_value(sum), hard = sum_hard(sum, unit);
    if (!dtype_is_float(out->type)) {
        bounded_put_open(out, i);
        return;
    }
    if (isnan(v) || (isinf(v) && !isinf(hard)) || hard == 0) {
        /* log of an infinity, of NaN, or of an exact sum: 8 units for the library function. */
        long double result = v < 0 ? NAN : logl(v);
        bounded_put(out, i, result, isfinite(result) ? 8 * unit * fabsl(result) : 0,
                    2 * unit * fabsl(result));
        return;
    }
    if (isinf(hard) || (v - hard <= 0 && v + hard >= 0)) {
        bounded_put_undecided(out, i, v > 0 ? logl(v) : 0);
        return;
    }
    if (v < 0) {
        bounded_put(out, i, NAN, 0, 0);
        return;
    }
    long double reach = logl(v) - logl(v - hard), own = 8 * unit * (fabsl(logl(v)) + reach);
    bounded_put(out, i, logl(v), reach + own, likely_add(sum_likely(sum, unit) / v, own / 4));
}

static void put_mean(struct bounded *out, size_t i, const struct sum *sum, double unit)
{
    long double n = (long double)sum->count, mean = sum_value(sum) / n;
    if (sum->count == 0) {
        bounded_put_open(out, i);
    } else if (!dtype_is_float(out->type)) {
        put_integer(out, i, mean, fmodl(sum_value(sum), n) == 0, sum->hard / n);
    } else if (isnan(mean) || isinf(mean)) {
        bounded_put(out, i, mean, sum->hard, 0);
    } else {
        /* Divided, or multiplied by a rounded 1/n: two more roundings; none for a power of two. */
        bool power = (sum->count & (sum->count - 1)) == 0;
        long double reach = sum_hard(sum, unit) / n, own = power ? 0 : 2 * unit * (fabsl(mean) + reach);
        bounded_put(out, i, mean, reach + own, likely_add(sum_likely(sum, unit) / n, own / 2));
    }
}

static void put_product(struct bounded *out, size_t i, const struct gathered *g, double unit)
{
    long double v = g->product.value;
    if (!dtype_is_float(out->type)) {
        bounded_put(out, i, v, g->product.reach - fabsl(v), 0);
        return;
    }
    struct dtype_precision p = dtype_precision(out->type);
    /* In some order, a partial product overflows, perhaps because those before it were rounded up. */
    long double growth = rounding_growth(unit, g->count);
    if (g->product.large * (1 + growth) >= dtype_highest(out->type) && !isnan(v)) {
        bounded_put_undecided(out, i, v);
        return;
    }
    if (isnan(v) || isinf(v)) {
        /* An infinity times a factor that is or becomes 0 is NaN. */
        bool sure = g->product.nan || !(g->product.loose || (isinf(v) && g->product.small < p.tiny));
        bounded_put(out, i, v, sure ? 0 : INFINITY, 0);
        return;
    }
    long double magnitude = fabsl(v);
    long double hard = g->product.reach - magnitude, likely = magnitude * sqrtl(g->product.variance);
    likely = likely_add(likely, g->product.spread - magnitude); /* factors near 0 */
    if (g->product.inexact || g->product.large * unit > 1) {
        hard += growth * g->product.reach;
        likely = likely_add(likely, unit * magnitude * sqrtl((long double)g->count / 3));
    }
    /* A partial product that is not below the smallest normal number may be rounded to one that is. */
    if (g->product.small * (1 - growth) < p.tiny) {
        hard += p.tiny * g->product.large;
        likely = likely_add(likely, p.tiny * g->product.large / 2);
    }
    bounded_put(out, i, v, hard, likely);
}

/* The results of empty reductions according to opset 20 and later; earlier versions do not define them. */
static void put_empty(struct bounded *out, size_t i, enum reduction kind, int opset)
{
    bool whole = !dtype_is_float(out->type);
    switch (kind) {
    case REDUCE_PROD:
        bounded_put(out, i, 1, 0, 0);
        return;
    case REDUCE_MAX:
        if (opset < 20)
            break;
        bounded_put(out, i, whole ? dtype_lowest(out->type) : -INFINITY, 0, 0);
        return;
    case REDUCE_MIN:
        if (opset < 20)
            break;
        bounded_put(out, i, whole ? dtype_highest(out->type) : INFINITY, 0, 0);
        return;
    case REDUCE_LOG_SUM:
    case REDUCE_LOG_SUM_EXP:
        if (opset < 20 || whole)
            break;
        bounded_put(out, i, -INFINITY, 0, 0);
        return;
    case REDUCE_MEAN:
        break;
    default:
        bounded_put(out, i, 0, 0, 0);
        return;
    }
    bounded_put_open(out, i);
}

static void finish(struct bounded *out, size_t i, const struct gathered *g, enum reduction kind, double unit)
{
    /* Not for extremes and products, whose sums are empty. A sum of unsigned integers wraps; what becomes of
     * its mean or root then depends on the type that it is computed in. */
    bool wraps =
        (out->type == DTYPE_UINT32 || out->type == DTYPE_UINT64) && kind != REDUCE_MEAN && kind != REDUCE_L2;
    bool overflows = sum_overflows(&g->sum, out->type) && !wraps;
    if (overflows && !dtype_is_float(out->type)) {
        bounded_put_open(out, i);
        return;
    }
    switch (kind) {
    case REDUCE_MAX:
    case REDUCE_MIN:
        bounded_put(out, i, extreme_value(&g->extreme), extreme_hard(&g->extreme), g->extreme.likely);
        break;
    case REDUCE_PROD:
        put_product(out, i, g, unit);
        break;
    case REDUCE_L2:
        put_root(out, i, &g->sum, g->inherited, unit);
        break;
    case REDUCE_LOG_SUM:
        put_log(out, i, &g->sum, unit);
        break;
    case REDUCE_MEAN:
        put_mean(out, i, &g->sum, unit);
        break;
    case REDUCE_SUM_SQUARE: {
        /* Each square, and with fused products each partial sum, may underflow. */
        long double lost = g->sum.inexact && dtype_is_float(out->type)
                               ? (long double)g->count * dtype_precision(out->type).tiny
                               : 0;
        bounded_put(out, i, sum_value(&g->sum), sum_hard(&g->sum, unit) + lost,
                    likely_add(sum_likely(&g->sum, unit), lost / 3));
        break;
    }
    default:
        bounded_put(out, i, sum_value(&g->sum), sum_hard(&g->sum, unit), sum_likely(&g->sum, unit));
    }
    if (overflows) /* it may have become infinite on the way */
        bounded_doubt(out, i);
}

/*
 * m + log(sum exp(x - m)). Deviations are weighted by the softmax. Own errors: x - m is
 * rounded, and the product and the factor of 2^((x - m) log2 e) are (3 unit |x_j - m|, which p_j weighs), exp
 * has 8 units, the sum its growth, log 8 units of itself (of
 * the whole result when no maximum is subtracted), and the last addition two roundings.
 */
static void put_log_sum_exp(struct bounded *out, size_t i, const struct bounded *x, const struct plan *plan,
                            size_t base, size_t n)
{
    struct extreme top = {.sign = 1};
    int64_t index[TENSOR_MAX_RANK] = {0};
    do {
        size_t at = base + strides_at(&plan->inside, plan->inner.rank, index);
        extreme_add(&top, x->value[at], bounded_hard(x, at), bounded_likely(x, at));
    } while (odometer_next(index, &plan->inner));
    long double m = extreme_value(&top);
    if (!dtype_is_float(out->type)) {
        bounded_put_open(out, i);
        return;
    }
    /* inf - inf, unless it is handled specially; beside NaN, ONNX does not say which of them the maximum is.
     */
    if (isinf(m) || (isnan(m) && (isinf(top.value) || top.open))) {
        bounded_put_undecided(out, i, m);
        return;
    }
    if (isnan(m)) {
        bounded_put(out, i, NAN, 0, 0);
        return;
    }
    double unit = bounded_unit(out);
    long double s = 0, most = 0, least = 0, spread = 0, own = 0, largest = 0, deepest = 0;
    memset(index, 0, sizeof index);
    do {
        size_t at = base + strides_at(&plan->inside, plan->inner.rank, index);
        long double h = bounded_hard(x, at), d = x->value[at] - m, e = expl(d), up = h == 0 ? e : expl(d + h);
        s += e;
        most += up;
        least += h == 0 ? e : expl(d - h);
        largest = fmaxl(largest, h);
        if (up == 0)
            continue;
        spread += e * bounded_likely(x, at) * e * bounded_likely(x, at);
        deepest = fmaxl(deepest, 3 * fabsl(d) + 8);
        own += up * unit * (3 * fabsl(d) + 8);
    } while (odometer_next(index, &plan->inner));
    long double result = m + logl(s);
    /* Opset 18 defines it by a function that applies exp directly, in float64: there, these are infinite. */
    long double worst =
        fminl(fmaxl(logl(most / s), logl(s / least)) + 16 * WIDE_UNIT, largest); /* 1 + h may be 1 */
    if (result + worst > log(DBL_MAX) || result - worst < log(DBL_MIN)) {
        bounded_put_undecided(out, i, result);
        return;
    }
    /* It is monotone in every input: the ends are those with all inputs at theirs. Weights are at most e^h /
     * least, and 1 in total; m moves by the largest bound, so x - m by twice as much. */
    long double rounded =
        fminl(own / least + 6 * unit * largest * most / least, unit * (deepest + 6 * largest));
    long double hard = worst + rounded + rounding_growth(unit, n) +
                       unit * (8 * fabsl(logl(s)) + 8 * fabsl(result) + fabsl(m) + 16 * worst + 9 * largest) +
                       (long double)n * dtype_precision(out->type).tiny;
    long double likely =
        likely_add(sqrtl(spread) / s, unit * (1 + sqrtl((long double)n) / 2 + fabsl(result) + fabsl(m)));
    bounded_put(out, i, result, hard, likely);
}

static void reduce_one(struct op_call *call, const struct bounded *x, const struct plan *plan,
                       struct bounded *out, size_t i, size_t base)
{
    size_t n = shape_span(&plan->inner, 0, plan->inner.rank);
    if (n == 0) {
        put_empty(out, i, plan->kind, call->opset);
        return;
    }
    if (plan->kind == REDUCE_LOG_SUM_EXP) {
        put_log_sum_exp(out, i, x, plan, base, n);
        return;
    }
    struct gathered g = {
        .product = {.value = 1, .reach = 1, .spread = 1, .large = 1, .small = 1},
        .extreme = {.sign = plan->kind == REDUCE_MIN ? -1 : 1, .skips = call->nans_left_out}};
    int64_t index[TENSOR_MAX_RANK] = {0};
    double unit = bounded_unit(out);
    do {
        size_t at = base + strides_at(&plan->inside, plan->inner.rank, index);
        gather(&g, plan->kind, unit, x->value[at], bounded_hard(x, at), bounded_likely(x, at));
    } while (odometer_next(index, &plan->inner));
    finish(out, i, &g, plan->kind, unit);
}

/*
 * "No reduction" with empty axes: earlier versions of ONNX say that the output is the input, later ones that
 * the function of the element (|x|, x^2, log x) still applies. Decided where both agree.
 */
static void put_untouched(struct bounded *out, const struct bounded *x, enum reduction kind)
{
    for (size_t i = 0; i < out->count; i++) {
        long double v = x->value[i], h = bounded_hard(x, i);
        bool same = true;
        if (kind == REDUCE_L1 || kind == REDUCE_L2)
            same = v - h >= 0;
        else if (kind == REDUCE_SUM_SQUARE)
            same = h == 0 && v * v == v;
        else if (kind == REDUCE_LOG_SUM || kind == REDUCE_LOG_SUM_EXP)
            same = false;
        if (same)
            bounded_move(out, i, x, i);
        else
            bounded_put_open(out, i);
    }
}

/* The rows are in the order of the enum. */
static enum reduction kind_of(const struct op *op)
{
    return (enum reduction)(op - ops_reduction);
}

static int eval_reduce(struct op_call *call)
{
    enum reduction kind = kind_of(call->op);
    const struct bounded *x = call_need(call, 0);
    struct plan plan;
    if (!x || make_plan(call, kind, x, &plan))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, plan.noop ? &x->shape : &plan.out);
    if (!out || call->shapes_only || out->count == 0)
        return out ? 0 : -1;
    if (plan.noop) {
        put_untouched(out, x, kind);
        return 0;
    }
    int64_t index[TENSOR_MAX_RANK] = {0};
    size_t i = 0;
    do {
        reduce_one(call, x, &plan, out, i++, strides_at(&plan.outside, plan.outer.rank, index));
    } while (odometer_next(index, &plan.outer));
    return 0;
}

/* ---- gradients ---- */

/* The elements that are reduced to one, what arrives there, and where the derivatives go. */
struct window {
    const struct bounded *x;
    struct bounded *slope;
    const size_t *at; /* of each element */
    size_t n;
    struct number upstream, result;
};

static void slope_sum(const struct window *w)
{
    for (size_t k = 0; k < w->n; k++)
        gradient_store(w->slope, w->at[k], w->upstream);
}

static void slope_mean(const struct window *w)
{
    struct number each = gradient_product(w->upstream, gradient_share(w->n, w->slope->type), w->slope->type);
    for (size_t k = 0; k < w->n; k++)
        gradient_store(w->slope, w->at[k], each);
}

/* All goes to the element that surely is the extreme one; where several may be, each may get any part. */
static void slope_extreme(const struct window *w, int sign)
{
    struct extreme e = {.sign = sign};
    for (size_t k = 0; k < w->n; k++)
        extreme_add(&e, w->x->value[w->at[k]], bounded_hard(w->x, w->at[k]), 0);
    /* A NaN is not equal to the result: an implementation that compares finds no extreme element. */
    bool strange = !gradient_is_number(w->upstream) || e.nan || e.open;
    size_t rivals = gradient_may_vanish(extreme_value(&e), w->slope->type);
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < w->n; k++) {
            long double most = sign * w->x->value[w->at[k]] + bounded_hard(w->x, w->at[k]);
            if (!strange && most < e.low)
                continue;
            if (pass == 0)
                rivals++;
            else
                gradient_store(w->slope, w->at[k],
                               strange       ? gradient_undecided()
                               : rivals == 1 ? w->upstream
                                             : gradient_between(w->upstream, number_exact(0)));
        }
}

/* sign(x), at 0 anything between -1 and 1. */
static void slope_l1(const struct window *w)
{
    for (size_t k = 0; k < w->n; k++) {
        struct number x = number_of(w->x, w->at[k]), sign = number_exact(x.v < 0 ? -1 : 1);
        if (!(fabsl(x.v) > x.h))
            sign =
                gradient_is_number(x) ? gradient_between(sign, number_exact(-sign.v)) : gradient_undecided();
        struct number factors[] = {w->upstream, sign};
        gradient_store(w->slope, w->at[k], gradient_factors(factors, 2, w->slope->type));
    }
}

/* x / norm, in any order. */
static void slope_l2(const struct window *w)
{
    struct number inverse = gradient_inverse(w->result, w->slope->type);
    for (size_t k = 0; k < w->n; k++) {
        struct number factors[] = {w->upstream, number_of(w->x, w->at[k]), inverse};
        gradient_store(w->slope, w->at[k], gradient_factors(factors, 3, w->slope->type));
    }
}

static void slope_sum_square(const struct window *w)
{
    for (size_t k = 0; k < w->n; k++) {
        struct number x = number_of(w->x, w->at[k]), twice = {2 * x.v, 2 * x.h, 2 * x.l};
        struct number factors[] = {w->upstream, twice};
        gradient_store(w->slope, w->at[k], gradient_factors(factors, 2, w->slope->type));
    }
}

/* 1 / sum, where the sum is positive: elsewhere the function is not defined. */
static void slope_log_sum(const struct window *w)
{
    struct sum sum = {0};
    enum dtype type = w->slope->type;
    for (size_t k = 0; k < w->n; k++)
        sum_add(&sum, w->x->value[w->at[k]], bounded_hard(w->x, w->at[k]), bounded_likely(w->x, w->at[k]));
    double unit = unit_of(type);
    struct number total = {sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit)};
    struct number factors[] = {w->upstream, gradient_inverse(total, type)};
    bool defined = total.v > total.h && !sum_overflows(&sum, type);
    struct number each = defined ? gradient_factors(factors, 2, type) : gradient_undecided();
    for (size_t k = 0; k < w->n; k++)
        gradient_store(w->slope, w->at[k], each);
}

static long double exponential(long double x, const void *context)
{
    (void)context;
    return expl(x);
}

/*
 * exp(x - result). An implementation that differentiates m + log(sum exp(x - m)) step by step also adds, at
 * the maximum m, 1 minus the sum of all weights, which is 0 but for rounding.
 */
static void slope_log_sum_exp(const struct window *w)
{
    enum dtype type = w->slope->type;
    double unit = unit_of(type);
    struct extreme top = {.sign = 1};
    for (size_t k = 0; k < w->n; k++)
        extreme_add(&top, w->x->value[w->at[k]], bounded_hard(w->x, w->at[k]), 0);
    for (size_t k = 0; k < w->n; k++) {
        struct number x = number_of(w->x, w->at[k]), d = number_sub(x, w->result, unit);
        struct number factors[] = {w->upstream, gradient_undecided()};
        if (gradient_is_number(d))
            factors[1] = number_monotone(d, exponential, NULL, 8 * unit * expl(d.v + d.h));
        if (!(x.v + x.h < top.low))
            factors[1] = number_loosen(factors[1], rounding_growth(unit, w->n + 32), 16 * unit);
        gradient_store(w->slope, w->at[k], gradient_factors(factors, 2, type));
    }
}

/* More elements than this would take too long, as each product of the others is computed by itself. */
enum { PRODUCT_LIMIT = 2048 };

/*
 * The product of all elements but k and of what arrives. It may also be computed by dividing the whole
 * product by element k, which must not overflow or underflow then; an element that is exactly 0 is never
 * divided by.
 */
static struct number product_of_others(const struct window *w, size_t k)
{
    struct gathered others = {.product = {.value = 1, .reach = 1, .spread = 1, .large = 1, .small = 1}};
    struct dtype_precision p = dtype_precision(w->slope->type);
    struct number x = number_of(w->x, w->at[k]);
    for (size_t j = 0; j < w->n; j++)
        if (j != k)
            gather_product(&others, w->x->value[w->at[j]], bounded_hard(w->x, w->at[j]),
                           bounded_likely(w->x, w->at[j]));
    bool zero = x.v == 0 && x.h == 0;
    long double size = fabsl(w->upstream.v) + w->upstream.h, least = zero ? 1 : fabsl(x.v) - x.h;
    long double large = others.product.large * fmaxl(1, size) * fmaxl(1, fabsl(x.v) + x.h);
    if (!(large < dtype_highest(w->slope->type)) || !isfinite(others.product.value) || !(least > 0))
        return gradient_undecided();
    long double v = others.product.value, growth = rounding_growth(p.unit, 2 * (w->n + 2));
    struct number product = {v, others.product.reach - fabsl(v), others.product.spread - fabsl(v)};
    product.l = likely_add(product.l, fabsl(v) * sqrtl(others.product.variance));
    if (others.product.inexact || large * p.unit > 1)
        product = number_loosen(product, growth * others.product.reach, growth * fabsl(v) / 4);
    product = gradient_product(w->upstream, product, w->slope->type);
    long double lost = p.tiny * large / fminl(1, least);
    if (others.product.small * fminl(1, least) * fminl(1, fabsl(w->upstream.v)) < p.tiny &&
        others.product.reach > 0)
        product = number_loosen(product, lost, lost / 4);
    return product;
}

static void slope_product(const struct window *w)
{
    for (size_t k = 0; k < w->n; k++)
        gradient_store(w->slope, w->at[k],
                       w->n <= PRODUCT_LIMIT ? product_of_others(w, k) : gradient_undecided());
}

static void slope_window(const struct window *w, enum reduction kind)
{
    switch (kind) {
    case REDUCE_L1:
        slope_l1(w);
        break;
    case REDUCE_L2:
        slope_l2(w);
        break;
    case REDUCE_LOG_SUM:
        slope_log_sum(w);
        break;
    case REDUCE_LOG_SUM_EXP:
        slope_log_sum_exp(w);
        break;
    case REDUCE_MAX:
    case REDUCE_MIN:
        slope_extreme(w, kind == REDUCE_MIN ? -1 : 1);
        break;
    case REDUCE_MEAN:
        slope_mean(w);
        break;
    case REDUCE_PROD:
        slope_product(w);
        break;
    case REDUCE_SUM:
        slope_sum(w);
        break;
    case REDUCE_SUM_SQUARE:
        slope_sum_square(w);
        break;
    }
}

/* As put_untouched: where the result is not the element itself, ONNX does not say what it is. */
static void slope_untouched(const struct op_gradient *g, struct bounded *slope)
{
    const struct bounded *out = &g->call->outputs[0];
    for (size_t i = 0; i < slope->count; i++) {
        enum reduction kind = kind_of(g->call->op);
        bool other = kind == REDUCE_SUM_SQUARE || kind == REDUCE_LOG_SUM || kind == REDUCE_LOG_SUM_EXP;
        bool kink = (kind == REDUCE_L1 || kind == REDUCE_L2) && !(out->value[i] > bounded_hard(out, i));
        gradient_store(slope, i, other || kink ? gradient_undecided() : gradient_upstream(g, 0, i));
    }
}

static int gradient_reduce(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *out = &call->outputs[0];
    struct plan plan;
    struct bounded *slope;
    if (make_plan(call, kind_of(call->op), x, &plan) || gradient_begin(g, 0, &slope))
        return -1;
    if (!slope || slope->count == 0)
        return 0;
    if (plan.noop) {
        slope_untouched(g, slope);
        return 0;
    }
    size_t n = shape_span(&plan.inner, 0, plan.inner.rank), i = 0;
    size_t *at = memory_zeroed(n, sizeof *at);
    struct window w = {.x = x, .slope = slope, .at = at, .n = n};
    int64_t index[TENSOR_MAX_RANK] = {0}, inner[TENSOR_MAX_RANK];
    do {
        size_t base = strides_at(&plan.outside, plan.outer.rank, index), k = 0;
        memset(inner, 0, sizeof inner);
        do
            at[k++] = base + strides_at(&plan.inside, plan.inner.rank, inner);
        while (odometer_next(inner, &plan.inner));
        w.upstream = gradient_upstream(g, 0, i);
        w.result = number_of(out, i++);
        slope_window(&w, plan.kind);
    } while (odometer_next(index, &plan.outer));
    free(at);
    return 0;
}

/* A random subset of the axes in random order, some negative. */
static size_t draw_axes(struct draw *d, int rank, int64_t *axes)
{
    size_t count = 0;
    for (int i = 0; i < rank; i++)
        if (draw_chance(d, 0.5))
            axes[count++] = draw_chance(d, 0.4) ? i - rank : i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)draw_between(d, 0, (int64_t)i - 1);
        int64_t swap = axes[i - 1];
        axes[i - 1] = axes[j];
        axes[j] = swap;
    }
    return count;
}

static bool reduces_nothing(const struct shape *shape, const int64_t *axes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (shape->dims[axes[i] < 0 ? axes[i] + shape->rank : axes[i]] == 0)
            return true;
    if (count)
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0)
            return true;
    return false;
}

static int sample_reduce(struct draw *d)
{
    enum reduction kind = kind_of(d->op);
    struct drawn x = draw_primary(d);
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = draw_axes(d, x.shape.rank, axes);
    /* Engines that compute a wrong shape for an empty reduction would fail only at some later node of a
     * graph. */
    if (d->offer && shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1;
    /* The results of empty reductions of these differ between versions of ONNX. */
    bool needs_data = kind == REDUCE_MAX || kind == REDUCE_MIN || kind == REDUCE_MEAN ||
                      kind == REDUCE_LOG_SUM || kind == REDUCE_LOG_SUM_EXP;
    if (needs_data && reduces_nothing(&x.shape, axes, count))
        return -1;
    if (kind == REDUCE_LOG_SUM && d->fill != FILL_SPECIAL && draw_chance(d, 0.8))
        draw_primary_range(d, 0.1, 8);
    if (draw_chance(d, 0.7))
        draw_int(d, "keepdims", draw_between(d, 0, 1));
    if (!axes_are_input(kind, d->opset)) {
        if (count)
            draw_ints(d, "axes", axes, count);
        return 0;
    }
    bool disputed = kind == REDUCE_L1 || kind == REDUCE_L2 || kind == REDUCE_SUM_SQUARE ||
                    kind == REDUCE_LOG_SUM || kind == REDUCE_LOG_SUM_EXP;
    if (draw_chance(d, 0.4))
        draw_int(d, "noop_with_empty_axes", count == 0 && disputed ? 0 : draw_between(d, 0, 1));
    if (count || draw_chance(d, 0.5))
        draw_int_input(d, axes, count);
    return 0;
}

static const struct op_param params[] = {
    {"axes", PARAM_INTS, .until = 17, .legal = "0|-1|0,1|-1,0", .illegal = "99|-99|0,0"},
    {"axes", PARAM_INPUT, .input = 1, .since = 18, .legal = "0|-1|0,1|-1,0|", .illegal = "99|-99|0,0"},
    {"keepdims", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "1"},
    {"noop_with_empty_axes", PARAM_INT, .since = 18, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};

static const struct op_param sum_params[] = {
    {"axes", PARAM_INTS, .until = 12, .legal = "0|-1|0,1|-1,0", .illegal = "99|-99|0,0"},
    {"axes", PARAM_INPUT, .input = 1, .since = 13, .legal = "0|-1|0,1|-1,0|", .illegal = "99|-99|0,0"},
    {"keepdims", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "1"},
    {"noop_with_empty_axes", PARAM_INT, .since = 13, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};

enum {
    WIDE = DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64) | DTYPE_BIT(DTYPE_INT32) |
           DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) |
           DTYPE_BIT(DTYPE_DOUBLE),
    BRAIN = DTYPE_BIT(DTYPE_BFLOAT16),
    BYTES = DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT8)
};

#define ROW(op_name, op_params)                                                                         \
    OP(op_name, 1), .inputs = {1, 2}, .outputs = {1, 1}, .ranks = {0, 5},                               \
                    .types = {{1, WIDE}, {13, WIDE | BRAIN}}, .params = op_params, .eval = eval_reduce, \
                    .gradient = gradient_reduce, .sample = sample_reduce, .data = DATA_FIRST,           \
                    .result = RESULT_TYPE, .work = WORK_REDUCES
#define EXTREME_ROW(op_name)                                                            \
    OP(op_name, 1), .inputs = {1, 2}, .outputs = {1, 1}, .ranks = {0, 5},               \
                    .types = {{1, WIDE},                                                \
                              {12, WIDE | BYTES},                                       \
                              {13, WIDE | BYTES | BRAIN},                               \
                              {20, WIDE | BYTES | BRAIN | DTYPE_BIT(DTYPE_BOOL)}},      \
                    .params = params, .eval = eval_reduce, .gradient = gradient_reduce, \
                    .sample = sample_reduce, .data = DATA_FIRST, .result = RESULT_TYPE, .work = WORK_REDUCES

const struct op ops_reduction[] = {
    [REDUCE_L1] = {ROW("ReduceL1", params), .range = {RANGE_REDUCE}, .factors = {FACTORS_SUM},
                   .history = {.same_since = 1, .reformed = 18}, .slope = SLOPE_ALMOST_EVERYWHERE,
                   .dangers = {{DANGER_NONE}}},
    [REDUCE_L2] = {ROW("ReduceL2", params), .range = {RANGE_REDUCE, .wants = {-1e3, 1e3}},
                   .factors = {FACTORS_SUM}, .history = {.same_since = 1, .reformed = 18},
                   .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    [REDUCE_LOG_SUM] = {ROW("ReduceLogSum", params), .range = {RANGE_LOG, .wants = {0.01, 1e3}},
                        .factors = {FACTORS_NONE}, .history = {.same_since = 1, .reformed = 18},
                        .slope = SLOPE_EVERYWHERE,
                        .dangers = {{DANGER_DOMAIN, .inside = {0, INFINITY}}, {DANGER_POLE}}},
    [REDUCE_LOG_SUM_EXP] = {ROW("ReduceLogSumExp", params), .range = {RANGE_LIKE_INPUTS, .wants = {-20, 20}},
                            .factors = {FACTORS_NONE}, .history = {.same_since = 1, .reformed = 18},
                            .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_EXP, .power = 1}}},
    [REDUCE_MAX] = {EXTREME_ROW("ReduceMax"), .flags = OP_SPECIMEN | OP_NAN_UNSAID,
                    .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM},
                    .history = {.same_since = 1, .reformed = 18}, .slope = SLOPE_ALMOST_EVERYWHERE,
                    .dangers = {{DANGER_NONE}}},
    [REDUCE_MEAN] = {ROW("ReduceMean", params), .open = "the mean of nothing, or how integers are rounded",
                     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM},
                     .history = {.same_since = 1, .reformed = 18}, .slope = SLOPE_EVERYWHERE,
                     .dangers = {{DANGER_INNER, .power = 1}}},
    [REDUCE_MIN] = {EXTREME_ROW("ReduceMin"), .flags = OP_NAN_UNSAID, .range = {RANGE_LIKE_INPUTS},
                    .factors = {FACTORS_SUM}, .history = {.same_since = 1, .reformed = 18},
                    .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    [REDUCE_PROD] = {ROW("ReduceProd", params), .range = {RANGE_PRODUCT, .wants = {-2, 2}},
                     .factors = {FACTORS_NONE}, .history = {.same_since = 1, .reformed = 18},
                     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    [REDUCE_SUM] = {ROW("ReduceSum", sum_params), .flags = OP_SPECIMEN_OF_NAN, .range = {RANGE_REDUCE},
                    .factors = {FACTORS_SUM}, .history = {.same_since = 1, .reformed = 13},
                    .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    [REDUCE_SUM_SQUARE] = {ROW("ReduceSumSquare", params), .range = {RANGE_SQUARE, .wants = {-50, 50}},
                           .factors = {FACTORS_PRODUCT, .powers = {2}},
                           .history = {.same_since = 1, .reformed = 18}, .slope = SLOPE_EVERYWHERE,
                           .dangers = {{DANGER_NONE}}},
    {0},
};
