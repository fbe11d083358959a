/*
 * Losses over classes: NegativeLogLikelihoodLoss picks one element of each vector of classes and weighs it;
 * SoftmaxCrossEntropyLoss does so with the LogSoftmax of its input.
 */
#include "bounds/number.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/softmax.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum reduction { NONE, MEAN, SUM };

struct loss {
    const struct bounded *target, *weight;
    size_t classes, inner; /* elements of a class: [batch][class][inner] */
    int64_t ignored;
    bool ignores;
    enum reduction reduction;
    struct sum sum, weights;
    bool open;
};

static int take_loss(struct op_call *call, const struct bounded *x, struct loss *l)
{
    const char *word = call_string(call, "reduction", "mean");
    l->target = call_need(call, 1);
    l->weight = call_input(call, 2);
    if (!l->target)
        return -1;
    struct shape wanted = x->shape;
    if (x->shape.rank < 2)
        return call_invalid(call, "an input of rank %d has no classes", x->shape.rank);
    wanted.rank--;
    for (int i = 1; i < wanted.rank; i++)
        wanted.dims[i] = x->shape.dims[i + 1];
    if (!shape_equal(&wanted, &l->target->shape))
        return call_invalid(call, "the shape of the target does not fit the input");
    l->classes = (size_t)x->shape.dims[1];
    l->inner = shape_span(&x->shape, 2, x->shape.rank);
    if (l->weight && (l->weight->shape.rank != 1 || l->weight->count != l->classes))
        return call_invalid(call, "the weights are not a vector of %zu", l->classes);
    l->ignores = call_has(call, "ignore_index");
    l->ignored = call_int(call, "ignore_index", 0);
    l->reduction = strcmp(word, "mean") == 0 ? MEAN : strcmp(word, "sum") == 0 ? SUM : NONE;
    if (l->reduction == NONE && strcmp(word, "none") != 0)
        return call_invalid(call, "reduction '%s' is none of none, mean and sum", word);
    return 0;
}

/* The loss of target i; what ONNX does not define (a class that there is not) opens it. */
static struct number loss_at(struct loss *l, const struct bounded *x, size_t i, double unit)
{
    struct number zero = {0, 0, 0}, open = {0, INFINITY, INFINITY};
    long double class = l->target->value[i];
    if (bounded_hard(l->target, i) > 0)
        return open;
    if (l->ignores && class == (long double)l->ignored)
        return zero;
    if (!(class >= 0 && class < (long double)l->classes))
        return open;
    size_t at = (i / l->inner * l->classes + (size_t) class) * l->inner + i % l->inner;
    struct number y = number_of(x, at),
                  w = l->weight ? number_of(l->weight, (size_t) class) : number_exact(1);
    y.v = -y.v;
    sum_add(&l->weights, w.v, w.h, w.l);
    return l->weight ? number_mul(y, w, unit) : y;
}

static bool is_open(struct number n)
{
    return isinf(n.h) && isinf(n.l);
}

/* The mean divides by the sum of the weights of what was not ignored. */
static void put_reduced(struct bounded *out, const struct loss *l, double unit)
{
    long double total = sum_value(&l->sum), hard = sum_hard(&l->sum, unit),
                likely = sum_likely(&l->sum, unit);
    if (l->open || (l->reduction == MEAN && l->weights.count == 0)) {
        bounded_put_open(out, 0);
        return;
    }
    long double by = 1, by_hard = 0;
    if (l->reduction == MEAN) {
        by = sum_value(&l->weights);
        by_hard = sum_hard(&l->weights, unit);
    }
    bool lost = !isfinite(total) || !isfinite(by) || !(fabsl(by) > 2 * by_hard) ||
                sum_overflows(&l->sum, out->type) || sum_overflows(&l->weights, out->type);
    if (lost) {
        bounded_put_undecided(out, 0, 0);
        return;
    }
    long double y = total / by, least = fabsl(by) - by_hard;
    long double reach = (hard + fabsl(y) * by_hard) / least, own = 3 * unit * (fabsl(y) + reach);
    /* The product of a tiny loss and its weight, or the quotient, may underflow. */
    own += dtype_precision(out->type).tiny * (1 + (long double)l->sum.count / least);
    bounded_put(out, 0, y, reach + (l->reduction == MEAN ? own : 0), likely_add(likely / least, own / 3));
}

static int put_loss(struct op_call *call, const struct bounded *x, struct loss *l)
{
    struct shape scalar = {0};
    double unit = unit_of(x->type);
    struct bounded *out = call_output(call, 0, x->type, l->reduction == NONE ? &l->target->shape : &scalar);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < l->target->count; i++) {
        struct number loss = loss_at(l, x, i, unit);
        l->open |= is_open(loss);
        if (l->reduction != NONE)
            sum_add(&l->sum, loss.v, loss.h, loss.l);
        else if (is_open(loss))
            bounded_put_open(out, i);
        else
            number_put(out, i, loss);
    }
    if (l->reduction != NONE)
        put_reduced(out, l, unit);
    return 0;
}

static int eval_likelihood(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct loss loss = {0};
    return !x || take_loss(call, x, &loss) || put_loss(call, x, &loss) ? -1 : 0;
}

static int eval_cross_entropy(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct loss loss = {0};
    if (!x || take_loss(call, x, &loss))
        return -1;
    struct bounded own, *logarithms = &own;
    bounded_init(&own);
    bool named = call->n_outputs > 1;
    if (named)
        logarithms = call_output(call, 1, x->type, &x->shape);
    else if (bounded_alloc(&own, x->type, &x->shape, call->shapes_only, call->err))
        return -1;
    int result = logarithms ? 0 : -1;
    for (size_t i = 0; !result && !call->shapes_only && loss.classes && i < x->count / loss.classes; i++)
        softmax_lane(logarithms, x, i / loss.inner * loss.classes * loss.inner + i % loss.inner, loss.inner,
                     loss.classes, true);
    if (!result)
        result = put_loss(call, logarithms, &loss);
    bounded_release(&own);
    return result;
}

static int sample_loss(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1;
    struct shape target = x.shape, weights = {1, {x.shape.dims[1]}};
    target.rank--;
    for (int i = 1; i < target.rank; i++)
        target.dims[i] = x.shape.dims[i + 1];
    draw_range(d, draw_chance(d, 0.5) ? DTYPE_INT64 : DTYPE_INT32, &target, 0, (double)(x.shape.dims[1] - 1));
    if (draw_chance(d, 0.5))
        draw_range(d, x.type, &weights, 0.25, 2);
    if (draw_chance(d, 0.7))
        draw_string(d, "reduction", draw_word(d, "none|mean|sum"));
    if (draw_chance(d, 0.3))
        draw_int(d, "ignore_index", draw_between(d, -1, x.shape.dims[1] - 1));
    return 0;
}

static int sample_cross_entropy(struct draw *d)
{
    int result = sample_loss(d);
    if (!result && draw_chance(d, 0.4))
        draw_outputs(d, 2);
    return result;
}

static const struct op_param loss_params[] = {
    {"ignore_index", PARAM_INT, .legal = "-1|0|1", .initial = "-1"},
    {"reduction", PARAM_STRING, .legal = "none|mean|sum", .illegal = "product", .initial = "mean"},
    {0},
};
static const struct op_param loss_extras[] = {{"weight", PARAM_INPUT, .input = 2}, {0}};

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

/* Members that the rows have in common. */
#define USUAL                                                                                                \
    .flags = OP_ON_REQUEST, .inputs = {2, 3}, .ranks = {2, 5}, .params = loss_params, .extras = loss_extras, \
    .data = DATA_FIRST, .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .work = WORK_REDUCES,              \
    .open = "the loss of a class that there is not, or the mean of nothing"

const struct op ops_losses[] = {
    {OP("NegativeLogLikelihoodLoss", 12), USUAL, .outputs = {1, 1}, .types = {{12, BASE}, {22, DTYPES_FLOAT}},
     .index = {.input = 1, .at = 1}, .eval = eval_likelihood, .sample = sample_loss, .range = {RANGE_REDUCE},
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 1}}},
    {OP("SoftmaxCrossEntropyLoss", 12), USUAL,
     .outputs = {1, 2}, /* bfloat16 came with 13, but ONNX's body could not take it before 22 */
     .types = {{12, BASE}, {22, DTYPES_FLOAT}}, .index = {.input = 1, .at = 1}, .eval = eval_cross_entropy,
     .sample = sample_cross_entropy, .range = {RANGE_REDUCE, .wants = {-20, 20}}, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_EXP, .power = 1}}},
    {0},
};
