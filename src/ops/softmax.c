/*
 * Softmax, LogSoftmax, Hardmax. Up to opset 12 the input is seen as a matrix whose rows are everything from
 * `axis` on (default 1); from 13 on the operator works along one axis (default -1).
 */
#include "ops/softmax.h"

#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <math.h>

enum kind { SOFTMAX, LOG_SOFTMAX, HARDMAX };

extern const struct op ops_softmax[];

/* A vectorised exp has 8 units, and 3 of its argument: x - m is rounded, and so are the product and the
 * factor of 2^((x - m) log2 e). */
static const int exp_units = 8, argument_units = 3;

/* One lane: elements base + k * step. */
struct lane {
    const struct bounded *x;
    size_t base, step, length;
    bool passed_on; /* the result is what other bounds are computed from */
};

static size_t lane_at(const struct lane *lane, size_t k)
{
    return lane->base + k * lane->step;
}

/*
 * What the normalisation of a lane is made of: the maximum m, S = sum exp(x - m), and for the weights
 * p = exp(x - m)/S the bound and deviation of log S as implementations compute it. Own errors of exp(x_j - m)
 * are relative: unit (3 |x_j - m| + 8). In one pass over the lane, with a running maximum, the sum so far is
 * multiplied by an exponential whenever the maximum grows: 9 units each; the arguments of these add up to
 * x_j - m. Input bounds move log S by sum p_j h_j, to first order; the weights
 * themselves may move by exp(2 h), and x - m by 2 h.
 */
struct normaliser {
    long double m, log_sum, hard, likely;
    long double drift, spread; /* of the inputs: sum p h, sqrt(sum p^2 l^2) */
    long double largest;       /* bound of an input */
};

static struct extreme lane_top(const struct lane *lane)
{
    struct extreme top = {.sign = 1};
    for (size_t k = 0; k < lane->length; k++) {
        size_t at = lane_at(lane, k);
        extreme_add(&top, lane->x->value[at], bounded_hard(lane->x, at), bounded_likely(lane->x, at));
    }
    return top;
}

static struct normaliser normalise(const struct lane *lane, long double m, double unit)
{
    struct normaliser n = {.m = m};
    long double s = 0, own = 0, own_squares = 0, drift = 0, spread = 0, largest = 0, deepest = 0;
    long double top = -INFINITY, rescaled = 0, rescalings = 0; /* of the sum so far */
    for (size_t k = 0; k < lane->length; k++) {
        size_t at = lane_at(lane, k);
        long double d = lane->x->value[at] - m, e = expl(d);
        long double h = bounded_hard(lane->x, at), l = bounded_likely(lane->x, at);
        if (s > 0 && d + h > top) {
            rescaled += s;
            rescalings++;
        }
        top = fmaxl(top, d - h);
        s += e;
        largest = fmaxl(largest, h);
        if (e == 0)
            continue;
        deepest = fmaxl(deepest, fabsl(d));
        long double error = e * unit * (argument_units * fabsl(d) + exp_units);
        long double usual = e * unit * (fabsl(d) + exp_units);
        own += error;
        own_squares += usual * usual / 9;
        drift += e * h;
        spread += e * l * e * l;
    }
    n.log_sum = logl(s);
    /* 0 * inf must stay infinite: an element that is not judged makes its whole lane undecided. */
    long double shift = largest == 0 ? 1 : expl(2 * fminl(largest, 1000));
    n.drift = isinf(largest) ? INFINITY : fminl(drift / s * shift, largest);
    n.largest = largest;
    n.spread = sqrtl(spread) / s;
    long double worst = unit * (argument_units * (deepest + 2 * largest) + exp_units);
    n.hard = fminl((own / s + 2 * argument_units * unit * largest) * shift, worst) +
             (exp_units + 1) * unit * fminl(rescaled / s * shift, rescalings) +
             rounding_growth(unit, lane->length);
    n.likely = likely_add(sqrtl(own_squares) / s, unit * sqrtl((long double)lane->length / 3));
    return n;
}

static void put_softmax(struct bounded *out, size_t at, const struct lane *lane, const struct normaliser *n,
                        double unit)
{
    long double d = lane->x->value[at] - n->m, log_p = d - n->log_sum, p = expl(log_p);
    if (isinf(d)) { /* exp(-inf), as of any number that is small enough */
        bounded_put(out, at, 0, isinf(n->drift) ? INFINITY : dtype_precision(out->type).tiny, 0);
        return;
    }
    long double relative = unit * (argument_units * (fabsl(d) + 2 * n->largest) + exp_units + 3) + n->hard +
                           n->drift + bounded_hard(lane->x, at);
    long double deviation = unit * (fabsl(d) + exp_units) / 3;
    deviation =
        likely_add(deviation, likely_add(n->likely, likely_add(n->spread, bounded_likely(lane->x, at))));
    /* If p is 0 here, so is its product with the largest factor. */
    long double hard = relative < 1 ? p * expm1l(relative) : expl(log_p + relative) - p;
    hard += dtype_precision(out->type).tiny;
    /* Whatever the inputs, a weight lies between 0 and 1. Sums of such clamped bounds would not contain those
     * of the same inputs known better. */
    if (!isinf(n->drift) && !lane->passed_on)
        hard = fminl(hard, fmaxl(p, 1 - p) + 4 * unit * (8 + (long double)lane->length));
    bounded_put(out, at, p, hard, fminl(p * deviation, 1));
}

static void put_log_softmax(struct bounded *out, size_t at, const struct lane *lane,
                            const struct normaliser *n, double unit)
{
    long double d = lane->x->value[at] - n->m, y = d - n->log_sum;
    if (isinf(d)) {
        bounded_put(out, at, -INFINITY, isinf(n->drift) ? INFINITY : 0, 0);
        return;
    }
    /* x - (m + log S) or (x - m) - log S: a rounding of each of the three numbers, and log's own. */
    long double size = fabsl(d) + fabsl(lane->x->value[at]) + fabsl(n->m) + exp_units * fabsl(n->log_sum);
    long double moved = (4 + 2 * exp_units) * n->largest;
    long double hard = unit * (size + moved) + n->hard + n->drift + bounded_hard(lane->x, at);
    long double likely = likely_add(unit * size / 3, likely_add(n->likely, n->spread));
    bounded_put(out, at, y, hard, likely_add(likely, bounded_likely(lane->x, at)));
}

static void smooth_lane(struct bounded *out, const struct lane *lane, enum kind kind)
{
    struct extreme top = lane_top(lane);
    long double m = extreme_value(&top);
    double unit = bounded_unit(out);
    struct normaliser n = {0};
    if (isfinite(m))
        n = normalise(lane, m, unit);
    /* NaN beside a positive infinity: ONNX does not say which of them the maximum is. */
    bool strange = isinf(m) || (isnan(m) && top.value > dtype_highest(out->type));
    for (size_t k = 0; k < lane->length; k++) {
        size_t at = lane_at(lane, k);
        if (strange) /* inf - inf, or all -inf: NaN, or the limit */
            bounded_put_open(out, at);
        else if (isnan(m)) /* an element that is not judged may be that infinity */
            bounded_put(out, at, NAN, top.open ? INFINITY : 0, 0);
        else if (kind == SOFTMAX)
            put_softmax(out, at, lane, &n, unit);
        else
            put_log_softmax(out, at, lane, &n, unit);
    }
}

void softmax_lane(struct bounded *out, const struct bounded *x, size_t base, size_t step, size_t length,
                  bool logarithm)
{
    struct lane lane = {x, base, step, length, !logarithm};
    smooth_lane(out, &lane, logarithm ? LOG_SOFTMAX : SOFTMAX);
}

/* 1 at the first of the largest elements. Where intervals overlap, every candidate may be 0 or 1. */
static void hard_lane(struct bounded *out, const struct lane *lane)
{
    struct extreme top = lane_top(lane);
    /* An element that is not judged may be NaN, and ONNX does not define the result for NaN. */
    bool nan = top.nan;
    for (size_t k = 0; k < lane->length; k++)
        nan |= isinf(bounded_hard(lane->x, lane_at(lane, k)));
    for (size_t k = 0; k < lane->length; k++) {
        size_t at = lane_at(lane, k);
        long double value = k == top.at, h = bounded_hard(lane->x, at);
        if (nan)
            bounded_put_open(out, at);
        else if (!lane->x->hard || lane->x->value[at] + h < top.low ||
                 (h == 0 && top.high == top.low && k != top.at))
            bounded_put(out, at, value, 0, 0);
        else
            bounded_put_range(out, at, value, 0, 1);
    }
    /* The winner is certain when no other interval reaches it. */
    bool sure = !nan && lane->x->hard;
    for (size_t k = 0; k < lane->length && sure; k++)
        if (k != top.at && bounded_hard(out, lane_at(lane, k)) > 0)
            sure = false;
    if (sure)
        bounded_put(out, lane_at(lane, top.at), 1, 0, 0);
}

/* ---- gradients ---- */

static long double exponential(long double x, const void *context)
{
    (void)context;
    return expl(x);
}

/* The weight of an element, from the result of the operator. */
static struct number weight(const struct bounded *out, size_t at, enum kind kind)
{
    struct number y = number_of(out, at);
    if (kind == SOFTMAX)
        return y;
    if (y.v == -INFINITY && y.h == 0)
        return number_exact(0);
    if (!isfinite(y.v) || !isfinite(y.h))
        return gradient_undecided();
    return number_monotone(y, exponential, NULL, exp_units * unit_of(out->type) * expl(y.v + y.h));
}

/* Sum of upstream times weights, or of upstream alone for LogSoftmax. */
static struct number lane_sum(const struct op_gradient *g, const struct lane *lane, enum kind kind)
{
    const struct bounded *out = &g->call->outputs[0];
    double unit = unit_of(out->type);
    struct sum sum = {0};
    for (size_t k = 0; k < lane->length; k++) {
        size_t at = lane_at(lane, k);
        struct number term = gradient_upstream(g, 0, at);
        if (kind == SOFTMAX)
            term = gradient_product(term, weight(out, at, kind), out->type);
        sum_add(&sum, term.v, term.h, term.l);
    }
    if (sum_overflows(&sum, out->type) || !isfinite(sum_value(&sum)))
        return gradient_undecided();
    return (struct number){sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit)};
}

/*
 * Softmax: y (g - S) with S = sum g y, or g y - S y. LogSoftmax: g - exp(y) S with S = sum g. The weights are
 * those that the implementation has computed, within their bounds.
 */
static struct number lane_slope(const struct op_gradient *g, size_t at, struct number sum, enum kind kind)
{
    enum dtype type = g->call->outputs[0].type;
    struct dtype_precision p = dtype_precision(type);
    struct number up = gradient_upstream(g, 0, at), y = weight(&g->call->outputs[0], at, kind);
    struct number factors[] = {y, kind == LOG_SOFTMAX ? sum : number_sub(up, sum, p.unit)};
    if (kind == LOG_SOFTMAX)
        return number_sub(up, gradient_factors(factors, 2, type), p.unit);
    struct number slope = gradient_factors(factors, 2, type);
    long double terms = (fabsl(y.v) + y.h) * (fabsl(up.v) + up.h + fabsl(sum.v) + sum.h);
    long double own = 2 * p.unit * terms + 2 * p.tiny;
    return y.v == 0 && y.h == 0 ? slope : number_loosen(slope, own, own / 4);
}

/* The lanes of the input along the axis, one after the other; before opset 13 all axes from this one on are
 * one lane. False after the last. */
static bool lane_numbered(const struct op_call *call, int axis, size_t number, struct lane *lane)
{
    const struct bounded *x = call->inputs[0];
    size_t inner = call->opset < 13 ? 1 : shape_span(&x->shape, axis + 1, x->shape.rank);
    size_t length = x->count / (shape_span(&x->shape, 0, axis) * inner);
    *lane = (struct lane){x, number / inner * length * inner + number % inner, inner, length};
    return number < x->count / length;
}

static int gradient_softmax(struct op_gradient *g)
{
    struct op_call *call = g->call;
    enum kind kind = (enum kind)(call->op - ops_softmax);
    const struct bounded *x = call->inputs[0];
    struct bounded *slope;
    int axis;
    if (call_axis(call, call_int(call, "axis", call->opset < 13 ? 1 : -1), x->shape.rank, &axis) ||
        gradient_begin(g, 0, &slope))
        return -1;
    if (!slope || x->count == 0)
        return 0;
    struct lane lane;
    for (size_t n = 0; lane_numbered(call, axis, n, &lane); n++) {
        struct number sum = lane_sum(g, &lane, kind);
        for (size_t k = 0; k < lane.length; k++)
            gradient_store(slope, lane_at(&lane, k), lane_slope(g, lane_at(&lane, k), sum, kind));
    }
    return 0;
}

static int eval_softmax(struct op_call *call)
{
    enum kind kind = (enum kind)(call->op - ops_softmax);
    const struct bounded *x = call_need(call, 0);
    int axis;
    if (!x || call_axis(call, call_int(call, "axis", call->opset < 13 ? 1 : -1), x->shape.rank, &axis))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    struct lane lane;
    for (size_t n = 0; lane_numbered(call, axis, n, &lane); n++)
        if (kind == HARDMAX)
            hard_lane(out, &lane);
        else
            smooth_lane(out, &lane, kind);
    return 0;
}

static int sample_softmax(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t usual = d->opset < 13 ? 1 : -1;
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1);
    bool usual_fits = usual < x.shape.rank;
    if (!usual_fits || draw_chance(d, 0.8))
        draw_int(d, "axis", axis);
    /* Large arguments, which overflow in a kernel that does not subtract the maximum. */
    if (d->fill == FILL_NORMAL && draw_chance(d, 0.2))
        draw_primary_range(d, -200, 200);
    return 0;
}

static const struct op_param params[] = {
    {"axis", PARAM_INT, .since = 11, .until = 12, .legal = "-3..2", .illegal = "99|-99", .initial = "1"},
    {"axis", PARAM_INT, .since = 13, .legal = "-3..2", .illegal = "99|-99", .initial = "-1"},
    {0},
};

enum {
    BASE = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE),
    BRAIN = DTYPE_BIT(DTYPE_BFLOAT16)
};

#define ROW(op_name)                                                                                  \
    OP(op_name, 1), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {1, 5},                             \
                    .types = {{1, BASE}, {13, BASE | BRAIN}}, .params = params, .eval = eval_softmax, \
                    .sample = sample_softmax, .data = DATA_FIRST, .factors = {FACTORS_NONE},          \
                    .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES

const struct op ops_softmax[] = {
    [SOFTMAX] = {ROW("Softmax"), .flags = OP_LEVELS_OFF | OP_SPECIMEN, .gradient = gradient_softmax,
                 .open = "the quotient of infinities",
                 .range = {RANGE_FIXED, .gives = {0, 1}, .wants = {-20, 20}}, .history = {.same_since = 1},
                 .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_EXP, .power = 1}}},
    [LOG_SOFTMAX] = {ROW("LogSoftmax"), .gradient = gradient_softmax, .open = "the quotient of infinities",
                     .range = {RANGE_FIXED, .gives = {-50, 0}, .wants = {-20, 20}},
                     .history = {.same_since = 1}, .slope = SLOPE_EVERYWHERE,
                     .dangers = {{DANGER_EXP, .power = 1}}},
    [HARDMAX] = {ROW("Hardmax"), .open = "whether an element that may be NaN is the largest",
                 .range = {RANGE_FIXED, .gives = {0, 1}}, .history = {.same_since = 1},
                 .slope = SLOPE_NOWHERE, .dangers = {{DANGER_TIE}}},
    {0},
};
