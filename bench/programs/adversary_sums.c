/* Sums, means, norms, pooling and softmax: orders of summation, divisions by way of the reciprocal, running
 * maxima. */
#include "adversary.h"

#include <math.h>
#include <string.h>

enum { MOST = 512 };

/* One lane that is reduced. Most variants are orders of summation. */
static void lane_input(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -16, 16);
}

static void positive_input(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, 0x1p-10, 16);
}

static enum order order_of(const struct trial *t)
{
    return (enum order)(t->is->variant % ORDERS);
}

static void sum_all(const struct trial *t, double *y)
{
    y[0] = total(t->machine, order_of(t), t->in[0].at, t->in[0].count);
}

static void sum_magnitudes(const struct trial *t, double *y)
{
    double terms[MOST];
    for (size_t i = 0; i < t->in[0].count; i++)
        terms[i] = fabs(t->in[0].at[i]);
    y[0] = total(t->machine, order_of(t), terms, t->in[0].count);
}

/* The sum over n, divided (variants of orders) or multiplied by 1/n (the same and ORDERS). */
static void mean_all(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double sum = total(m, order_of(t), t->in[0].at, t->in[0].count), n = (double)t->in[0].count;
    y[0] = t->is->variant >= ORDERS ? mul(m, sum, quotient(m, 1, n)) : quotient(m, sum, n);
}

/* Each term multiplied by 1/n before it is added. */
static void mean_of_parts(const struct trial *t, double *y)
{
    double terms[MOST], part = quotient(t->machine, 1, (double)t->in[0].count);
    for (size_t i = 0; i < t->in[0].count; i++)
        terms[i] = mul(t->machine, part, t->in[0].at[i]);
    y[0] = total(t->machine, FORWARD, terms, t->in[0].count);
}

/* A mean that is updated from element to element. */
static void running_mean(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double mean = 0;
    for (size_t i = 0; i < t->in[0].count; i++)
        mean = add(m, mean, quotient(m, sub(m, t->in[0].at[i], mean), (double)(i + 1)));
    y[0] = mean;
}

static double squares_of(const struct trial *t, enum order order)
{
    bool fuse = t->is->variant == ORDERS;
    return inner(t->machine, order, fuse, t->in[0].at, 1, t->in[0].at, 1, t->in[0].count);
}

static void sum_squares(const struct trial *t, double *y)
{
    y[0] = squares_of(t, order_of(t));
}

static void norm(const struct trial *t, double *y)
{
    y[0] = root(t->machine, squares_of(t, order_of(t)));
}

/* As BLAS has it: scaled by the largest magnitude. */
static void scaled_norm(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double largest = 0, terms[MOST];
    for (size_t i = 0; i < t->in[0].count; i++)
        largest = fmax(largest, fabs(t->in[0].at[i]));
    for (size_t i = 0; i < t->in[0].count; i++)
        terms[i] = largest > 0 ? quotient(m, t->in[0].at[i], largest) : 0;
    y[0] = mul(m, largest, root(m, inner(m, FORWARD, false, terms, 1, terms, 1, t->in[0].count)));
}

static void log_sum(const struct trial *t, double *y)
{
    y[0] = library_log(t->machine, total(t->machine, order_of(t), t->in[0].at, t->in[0].count));
}

static void product_all(const struct trial *t, double *y)
{
    y[0] = t->in[0].at[0];
    for (size_t i = 1; i < t->in[0].count; i++)
        y[0] = mul(t->machine, y[0], t->in[0].at[i]);
}

/* log(sum exp): with the maximum subtracted, or plain. */
static void exponents_input(struct trial *t)
{
    double reach = !t->is->variant ? 80 : t->machine.type == DTYPE_FLOAT16 ? 4 : 20; /* no sum overflows */
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -reach, reach);
}

static double largest_of(const double *x, size_t count)
{
    double largest = x[0];
    for (size_t i = 1; i < count; i++)
        largest = fmax(largest, x[i]);
    return largest;
}

static double exponentials(struct machine m, enum order order, const double *x, size_t count, double shift,
                           double *terms)
{
    for (size_t i = 0; i < count; i++)
        terms[i] = library_exp(m, sub(m, x[i], shift));
    return total(m, order, terms, count);
}

static void log_sum_exp(const struct trial *t, double *y)
{
    double terms[MOST], top = t->is->variant ? 0 : largest_of(t->in[0].at, t->in[0].count);
    double sum = exponentials(t->machine, FORWARD, t->in[0].at, t->in[0].count, top, terms);
    y[0] = add(t->machine, top, library_log(t->machine, sum));
}

/* A running sum: one after the other, or as a parallel scan of doubling steps. */
static void cumulate_inputs(struct trial *t)
{
    lane_input(t);
    trial_constant(t, DTYPE_INT64, 1, (const double[]){0});
    t->in[1].shape = shape_make(0, NULL);
}

static void cumulate(const struct trial *t, double *y)
{
    size_t n = t->in[0].count;
    double last[MOST];
    memcpy(y, t->in[0].at, n * sizeof *y);
    for (size_t i = 1; t->is->variant == 0 && i < n; i++)
        y[i] = add(t->machine, y[i - 1], y[i]);
    for (size_t step = 1; t->is->variant == 1 && step < n; step *= 2) {
        memcpy(last, y, n * sizeof *y);
        for (size_t i = step; i < n; i++)
            y[i] = add(t->machine, last[i], last[i - step]);
    }
}

/* Sum and Mean of several tensors. */
static void several_inputs(struct trial *t)
{
    for (int i = 0; i < 5; i++)
        trial_input(t, 1, (const int64_t[]){1}, -16, 16);
}

static void several(const struct trial *t, double *y)
{
    double terms[5];
    for (size_t i = 0; i < 5; i++)
        terms[i] = t->in[i].at[0];
    y[0] = total(t->machine, order_of(t), terms, 5);
}

static void several_mean(const struct trial *t, double *y)
{
    several(t, y);
    y[0] = t->is->variant >= ORDERS ? mul(t->machine, y[0], quotient(t->machine, 1, 5))
                                    : quotient(t->machine, y[0], 5);
}

enum { CUBES_BY_PRODUCTS = 100, CUBES_BY_LOGARITHM };

/* Pooling: one window of size[0] x size[0]. */
static void image_input(struct trial *t)
{
    trial_input(t, 4, (const int64_t[]){1, 1, t->size[0], t->size[0]}, -16, 16);
}

static void pool_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    node_set_ints(arena, node, "kernel_shape", t->in[0].shape.dims + 2, 2);
    if (strcmp(t->is->op, "LpPool") == 0)
        node_set_int(arena, node, "p", t->is->variant >= CUBES_BY_PRODUCTS ? 3 : 2);
}

/* (sum |x|^3)^(1/3), powers by products or by exp and log as the root. */
static void cubic_pool(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double terms[MOST];
    for (size_t i = 0; i < t->in[0].count; i++) {
        double x = fabs(t->in[0].at[i]);
        bool by_logarithm = t->is->variant == CUBES_BY_LOGARITHM && x > 0;
        terms[i] = by_logarithm ? library_exp(m, mul(m, 3, library_log(m, x))) : mul(m, mul(m, x, x), x);
    }
    double sum = total(m, FORWARD, terms, t->in[0].count);
    y[0] = sum == 0 ? 0 : library_exp(m, mul(m, rounded(m, 1.0 / 3), library_log(m, sum)));
}

/* Softmax. */
static void logits_input(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -60, 60);
}

enum { DIVIDED, MULTIPLIED, ONLINE, ONLINE_BLOCKS };

/* The maximum and the sum, in one pass: when the maximum grows, the sum is scaled down. */
static double online(struct machine m, const double *x, size_t count, double *top)
{
    double sum = 0;
    *top = x[0];
    for (size_t i = 0; i < count; i++) {
        double was = *top;
        *top = fmax(was, x[i]);
        if (*top > was)
            sum = mul(m, sum, library_exp(m, sub(m, was, *top)));
        sum = add(m, sum, library_exp(m, sub(m, x[i], *top)));
    }
    return sum;
}

/* Blocks of four, each on its own, joined one after the other. */
static double online_blocks(struct machine m, const double *x, size_t count, double *top)
{
    double sum = online(m, x, count < 4 ? count : 4, top);
    for (size_t i = 4; i < count; i += 4) {
        double most, part = online(m, x + i, count - i < 4 ? count - i : 4, &most), both = fmax(most, *top);
        sum = add(m, mul(m, sum, library_exp(m, sub(m, *top, both))),
                  mul(m, part, library_exp(m, sub(m, most, both))));
        *top = both;
    }
    return sum;
}

static void softmax(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *x = t->in[0].at;
    size_t n = t->in[0].count;
    double top, sum, terms[MOST];
    if (t->is->variant == ONLINE || t->is->variant == ONLINE_BLOCKS) {
        sum = t->is->variant == ONLINE ? online(m, x, n, &top) : online_blocks(m, x, n, &top);
    } else {
        top = largest_of(x, n);
        sum = exponentials(m, FORWARD, x, n, top, terms);
    }
    double inverse = quotient(m, 1, sum);
    for (size_t i = 0; i < n; i++) {
        double e = library_exp(m, sub(m, x[i], top));
        y[i] = t->is->variant == DIVIDED ? quotient(m, e, sum) : mul(m, e, inverse);
    }
}

/* 2^((x - m) log2 e), with the product rounded. */
static void softmax_of_two(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    size_t n = t->in[0].count;
    double top = largest_of(t->in[0].at, n), factor = rounded(m, 1.44269504088896341);
    for (size_t i = 0; i < n; i++)
        y[i] = rounded(m, exp2(mul(m, sub(m, t->in[0].at[i], top), factor)));
    double sum = total(m, FORWARD, y, n);
    for (size_t i = 0; i < n; i++)
        y[i] = quotient(m, y[i], sum);
}

enum { DIFFERENCE_FIRST, SUM_FIRST, ONLINE_LOG };

static void log_softmax(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *x = t->in[0].at;
    size_t n = t->in[0].count;
    double top = largest_of(x, n), terms[MOST], sum = exponentials(m, PAIRWISE, x, n, top, terms);
    if (t->is->variant == ONLINE_LOG)
        sum = online(m, x, n, &top);
    double log = library_log(m, sum);
    for (size_t i = 0; i < n; i++)
        y[i] = t->is->variant == SUM_FIRST ? sub(m, x[i], add(m, top, log)) : sub(m, sub(m, x[i], top), log);
}

#define LANE(operator, what, way, function)                                                \
    {                                                                                      \
        operator, what, way, .size = {{1, 64}}, .lay_out = lane_input, .compute = function \
    }
#define LOGITS(operator, what, way, function)                                                \
    {                                                                                        \
        operator, what, way, .size = {{2, 40}}, .lay_out = logits_input, .compute = function \
    }
#define POOL(operator, what, way, function)                                                           \
    {                                                                                                 \
        operator, what, way, .size = {{1, 6}}, .lay_out = image_input, .attributes = pool_attributes, \
                             .compute = function                                                      \
    }

const struct implementation sums[] = {
    LANE("ReduceSum", "one after the other", FORWARD, sum_all),
    LANE("ReduceSum", "in pairs", PAIRWISE, sum_all),
    LANE("ReduceSum", "in eight lanes", LANES, sum_all),
    LANE("ReduceSum", "in blocks of four", BLOCKS, sum_all),
    LANE("ReduceL1", "one after the other", FORWARD, sum_magnitudes),
    LANE("ReduceMean", "sum divided", FORWARD, mean_all),
    LANE("ReduceMean", "sum in lanes times 1/n", ORDERS + LANES, mean_all),
    LANE("ReduceMean", "sum times 1/n", ORDERS + FORWARD, mean_all),
    LANE("ReduceSumSquare", "one after the other", FORWARD, sum_squares),
    LANE("ReduceSumSquare", "fused", ORDERS, sum_squares),
    LANE("ReduceL2", "root of the sum", FORWARD, norm),
    LANE("ReduceL2", "fused", ORDERS, norm),
    LANE("ReduceL2", "scaled by the largest", 0, scaled_norm),
    {"ReduceLogSum", "Cephes", FORWARD, .size = {{1, 64}}, .lay_out = positive_input, .compute = log_sum},
    {"ReduceLogSumExp", "maximum subtracted", 0, .size = {{1, 64}}, .lay_out = exponents_input,
     .compute = log_sum_exp},
    {"ReduceLogSumExp", "ONNX's body", 1, .size = {{1, 64}}, .lay_out = exponents_input,
     .compute = log_sum_exp},
    {"ReduceProd", "one after the other", 0, .size = {{1, 16}}, .lay_out = lane_input,
     .compute = product_all},
    {"CumSum", "one after the other", 0, .size = {{1, 40}}, .lay_out = cumulate_inputs, .compute = cumulate},
    {"CumSum", "scan of doubling steps", 1, .size = {{1, 40}}, .lay_out = cumulate_inputs,
     .compute = cumulate},
    {"Sum", "one after the other", FORWARD, .lay_out = several_inputs, .compute = several},
    {"Mean", "sum divided", FORWARD, .lay_out = several_inputs, .compute = several_mean},
    {"Mean", "sum times 1/n", ORDERS + PAIRWISE, .lay_out = several_inputs, .compute = several_mean},
    POOL("AveragePool", "sum divided", FORWARD, mean_all),
    POOL("AveragePool", "sum times 1/n", ORDERS + BACKWARD, mean_all),
    POOL("LpPool", "p = 3, root by exp and log", CUBES_BY_PRODUCTS, cubic_pool),
    POOL("LpPool", "p = 3, powers by exp and log", CUBES_BY_LOGARITHM, cubic_pool),
    POOL("LpPool", "p = 2, fused", ORDERS, norm),
    LOGITS("Softmax", "divided", DIVIDED, softmax),
    LOGITS("Softmax", "times the reciprocal", MULTIPLIED, softmax),
    LOGITS("Softmax", "running maximum", ONLINE, softmax),
    LOGITS("Softmax", "2^((x-m) log2 e)", 0, softmax_of_two),
    LOGITS("LogSoftmax", "(x - m) - log S", DIFFERENCE_FIRST, log_softmax),
    LOGITS("LogSoftmax", "x - (m + log S)", SUM_FIRST, log_softmax),
    LOGITS("LogSoftmax", "running maximum", ONLINE_LOG, log_softmax),
    {"ReduceMean", "running mean", 0, .size = {{1, 64}}, .lay_out = lane_input, .compute = running_mean,
     .refused = true},
    {"ReduceMean", "terms times 1/n", 0, .size = {{1, 64}}, .lay_out = lane_input, .compute = mean_of_parts,
     .refused = true},
    {"Softmax", "running maxima of blocks", ONLINE_BLOCKS, .size = {{2, 40}}, .lay_out = logits_input,
     .compute = softmax, .refused = true},
    {0},
};
