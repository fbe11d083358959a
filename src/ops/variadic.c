/*
 * Max, Min, Mean and Sum of any number of tensors that broadcast together.
 */
#include "bounds/sum.h"
#include "ops/broadcast.h"

#include <math.h>
#include <string.h>

/* NaN wins, as in NumPy, or is left out; an element that is surely the extreme one is copied with its bounds.
 */
static void put_extreme(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i,
                        int sign)
{
    struct extreme e = {.sign = sign, .skips = call->nans_left_out};
    for (size_t k = 0; k < walk->count; k++) {
        const struct bounded *in = call->inputs[k];
        size_t at = walk->at[k];
        extreme_add(&e, in->value[at], bounded_hard(in, at), bounded_likely(in, at));
    }
    long double hard = extreme_hard(&e);
    bounded_put(out, i, extreme_value(&e), hard, hard == 0 ? 0 : e.likely);
}

static void put_max(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i)
{
    put_extreme(call, walk, out, i, 1);
}

static void put_min(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i)
{
    put_extreme(call, walk, out, i, -1);
}

static struct sum sum_of(struct op_call *call, const struct broadcast *walk)
{
    struct sum sum = {0};
    for (size_t k = 0; k < walk->count; k++) {
        const struct bounded *in = call->inputs[k];
        sum_add(&sum, in->value[walk->at[k]], bounded_hard(in, walk->at[k]), bounded_likely(in, walk->at[k]));
    }
    return sum;
}

/* One addition is correctly rounded; the last rounding of several is added by bounded_put. */
static void put_sum(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i)
{
    struct sum sum = sum_of(call, walk);
    double unit = unit_of(out->type);
    bool lone = walk->count <= 2;
    long double hard = lone ? sum.hard : sum_hard(&sum, unit);
    if (!lone && sum_overflows(&sum, out->type))
        hard = INFINITY;
    bounded_put(out, i, sum_value(&sum), hard, lone ? sqrtl(sum.variance) : sum_likely(&sum, unit));
}

/* The sum over n, or times 1/n, or the sum of the t/n: two more units. The sum may overflow on the way. */
static void put_mean(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i)
{
    struct sum sum = sum_of(call, walk);
    double unit = unit_of(out->type);
    long double n = (long double)walk->count, mean = sum_value(&sum) / n;
    if (walk->count == 1) {
        bounded_move(out, i, call->inputs[0], walk->at[0]);
        return;
    }
    long double own = isfinite(mean) ? 2 * unit * (sum.magnitude + sum.hard) / n : 0;
    long double hard = sum_hard(&sum, unit) / n + own;
    /* Exact when n is a power of two and no partial sum was rounded. */
    if (sum_hard(&sum, unit) == 0 && (walk->count & (walk->count - 1)) == 0)
        hard = own = 0;
    if (sum_overflows(&sum, out->type))
        hard = INFINITY;
    bounded_put(out, i, mean, hard, likely_add(sum_likely(&sum, unit) / n, own / 2));
}

static int eval_variadic(struct op_call *call)
{
    static const struct {
        const char *name;
        void (*put)(struct op_call *call, const struct broadcast *walk, struct bounded *out, size_t i);
    } operations[] = {{"Max", put_max}, {"Mean", put_mean}, {"Min", put_min}, {"Sum", put_sum}};
    size_t kind = 0;
    while (strcmp(operations[kind].name, call->op->name) != 0)
        kind++;
    int result = -1;
    struct broadcast walk = {.count = 0};
    if (call->n_inputs == 0)
        return call_invalid(call, "has no inputs");
    if (broadcast_same_type(call, 0) || broadcast_init(&walk, call))
        goto out;
    struct bounded *out = call_output(call, 0, call->inputs[0]->type, &walk.shape);
    if (!out)
        goto out;
    for (size_t i = 0; !call->shapes_only && i < out->count; i++, broadcast_next(&walk))
        operations[kind].put(call, &walk, out, i);
    result = 0;
out:
    broadcast_release(&walk);
    return result;
}

/* The input that is certainly the extreme one gets the derivative; one that may be gets an undecided one. */
static void add_extreme(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                        struct gradient_sums *sums)
{
    struct op_call *call = g->call;
    struct extreme e = {.sign = strcmp(call->op->name, "Max") == 0 ? 1 : -1};
    for (size_t k = 0; k < walk->count; k++)
        extreme_add(&e, call->inputs[k]->value[walk->at[k]], bounded_hard(call->inputs[k], walk->at[k]), 0);
    bool strange = e.nan || e.open || !gradient_is_number(upstream);
    size_t rivals = gradient_may_vanish(extreme_value(&e), call->inputs[0]->type);
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < walk->count; k++) {
            const struct bounded *in = call->inputs[k];
            long double most = e.sign * in->value[walk->at[k]] + bounded_hard(in, walk->at[k]);
            if (!strange && most < e.low)
                continue;
            if (pass == 0)
                rivals++;
            else
                gradient_sums_add(&sums[k], walk->at[k],
                                  strange       ? gradient_undecided()
                                  : rivals == 1 ? upstream
                                                : gradient_between(upstream, number_exact(0)));
        }
}

static void add_sum(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    (void)g;
    for (size_t k = 0; k < walk->count; k++)
        gradient_sums_add(&sums[k], walk->at[k], upstream);
}

/* Divided by n, or multiplied by a rounded 1/n. */
static void add_mean(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                     struct gradient_sums *sums)
{
    enum dtype type = g->call->outputs[0].type;
    add_sum(g, walk, gradient_product(upstream, gradient_share(walk->count, type), type), sums);
}

static int gradient_extreme(struct op_gradient *g)
{
    return broadcast_gradient(g, add_extreme);
}

static int gradient_sum(struct op_gradient *g)
{
    return broadcast_gradient(g, add_sum);
}

static int gradient_mean(struct op_gradient *g)
{
    return broadcast_gradient(g, add_mean);
}

static int sample_variadic(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t more = draw_chance(d, 0.1) ? 0 : draw_between(d, 1, 4);
    struct shape shape = x.shape;
    for (int64_t k = 0; k < more; k++) {
        /* One input may be larger than the first; the others broadcast to both. */
        shape = k == 0 ? broadcast_partner(d, &x.shape) : draw_broadcastable(d, &x.shape);
        draw_data(d, x.type, &shape);
    }
    return 0;
}

enum { SOME_FLOATS = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

/* Members that the rows have in common. */
#define USUAL                                                                                     \
    .inputs = {1, OP_VARIADIC}, .outputs = {1, 1}, .ranks = {0, 6}, .eval = eval_variadic,        \
    .sample = sample_variadic, .data = DATA_ALL, .factors = {FACTORS_SUM}, .result = RESULT_TYPE, \
    .work = WORK_ELEMENTS, .each = {EACH_PAIR, .second = 1}

const struct op ops_variadic[] = {
    {OP("Max", 1), USUAL, .flags = OP_NAN_UNSAID, .gradient = gradient_extreme,
     .types = {{11, SOME_FLOATS}, {12, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}},
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1}, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Mean", 1), USUAL, .gradient = gradient_mean, .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}},
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1}, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_INNER, .power = 1}}},
    {OP("Min", 1), USUAL, .flags = OP_NAN_UNSAID, .gradient = gradient_extreme,
     .types = {{11, SOME_FLOATS}, {12, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}},
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1}, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Sum", 1), USUAL, .gradient = gradient_sum, .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}},
     .range = {RANGE_ADD}, .history = {.same_since = 1}, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {0},
};
