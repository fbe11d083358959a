/*
 * Faults in gradients; the outputs are right. The first is the one that Gu, Shi, Liu and others report of
 * MXNet's einsum (Defect Detection for Deep Learning Frameworks Based on Meta Operators, Chinese Journal of
 * Computers 2022); the others are mistakes that are easily made in backward kernels: a factor or a term
 * forgotten, a mean in place of a sum, elements in the order of another operand.
 */
#include "fault.h"

#include "ops/gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Computes the right gradient first. The slope of an input, or NULL when it has none. */
static struct bounded *slope_of(struct op_gradient *g, size_t input)
{
    bool there = input < g->call->n_inputs && g->wanted[input] && g->slopes[input].type != DTYPE_NONE;
    return there ? &g->slopes[input] : NULL;
}

static int right(struct op_gradient *g)
{
    return g->call->op->gradient(g);
}

static void scale(struct bounded *slope, long double factor)
{
    for (size_t i = 0; slope && i < slope->count; i++)
        slope->value[i] *= factor;
}

/* Reverses the elements within each run of `length` of them. */
static void reverse(struct bounded *slope, size_t length)
{
    for (size_t at = 0; length > 1 && at + length <= slope->count; at += length)
        for (size_t i = 0; i < length / 2; i++) {
            long double kept = slope->value[at + i];
            slope->value[at + i] = slope->value[at + length - 1 - i];
            slope->value[at + length - 1 - i] = kept;
        }
}

static size_t last_dim(const struct bounded *b)
{
    return b->shape.rank ? (size_t)b->shape.dims[b->shape.rank - 1] : 1;
}

static size_t output_count(const struct op_gradient *g)
{
    return g->call->outputs[0].count;
}

static int einsum_order(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0) ? slope_of(g, 0) : slope_of(g, 1);
    if (slope)
        reverse(slope, last_dim(slope));
    return 0;
}

/* Of a kernel's gradient: rotated by 180 degrees. */
static int kernel_rotated(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 1);
    if (slope && slope->shape.rank > 2)
        reverse(slope, shape_span(&slope->shape, 2, slope->shape.rank));
    return 0;
}

static int gemm_alpha(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    double alpha = call_float(g->call, "alpha", 1);
    if (right(g))
        return -1;
    if (alpha != 0)
        scale(slope_of(g, 1), 1 / (long double)alpha);
    return 0;
}

/* The remainder of a blocked loop: the last row is never written. */
static int matmul_tail(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 1) ? slope_of(g, 1) : slope_of(g, 0);
    size_t row = slope ? last_dim(slope) : 0;
    for (size_t i = 0; slope && i < row && row <= slope->count; i++)
        slope->value[slope->count - 1 - i] = 0;
    return 0;
}

static int relu_leaks(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    const struct bounded *x = g->call->inputs[0];
    for (size_t i = 0; slope && i < slope->count; i++)
        if (x->value[i] < 0)
            slope->value[i] = gradient_upstream(g, 0, i).v;
    return 0;
}

static int sigmoid_factor(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    for (size_t i = 0; slope && i < slope->count; i++)
        slope->value[i] = gradient_upstream(g, 0, i).v * g->call->outputs[0].value[i];
    return 0;
}

static int tanh_square(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    for (size_t i = 0; slope && i < slope->count; i++)
        slope->value[i] = gradient_upstream(g, 0, i).v * (1 - g->call->outputs[0].value[i]);
    return 0;
}

static int softmax_sum(const struct fault_scene *scene, struct op_gradient *g)
{
    return sigmoid_factor(scene, g); /* y times upstream, without the sum over the axis */
}

/* Upstream alone: LogSoftmax without the part of the sum, Clip without its limits. */
static int upstream_alone(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    for (size_t i = 0; slope && i < slope->count; i++)
        slope->value[i] = gradient_upstream(g, 0, i).v;
    return 0;
}

static int bn_scale_deviation(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 1);
    const struct bounded *variance = call_input(g->call, 4);
    double epsilon = call_float(g->call, "epsilon", 1e-5);
    for (size_t i = 0; slope && variance && i < slope->count && i < variance->count; i++)
        slope->value[i] *= sqrtl(variance->value[i] + (long double)epsilon);
    return 0;
}

/* A mean over the rows in place of their sum. */
static int ln_scale_mean(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 1);
    if (slope && slope->count)
        scale(slope, (long double)slope->count / (long double)output_count(g));
    return 0;
}

static int pool_neighbour(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    size_t row = slope ? last_dim(slope) : 0;
    for (size_t at = 0; row > 1 && at + row <= slope->count; at += row) {
        long double last = slope->value[at + row - 1];
        memmove(&slope->value[at + 1], &slope->value[at], (row - 1) * sizeof *slope->value);
        slope->value[at] = last;
    }
    return 0;
}

static int avgpool_undivided(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    size_t n;
    const int64_t *kernel = call_ints(g->call, "kernel_shape", &n);
    long double volume = 1;
    for (size_t i = 0; i < n; i++)
        volume *= (long double)kernel[i];
    if (right(g))
        return -1;
    scale(slope_of(g, 0), volume);
    return 0;
}

static int globalpool_undivided(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    if (slope && output_count(g))
        scale(slope, (long double)slope->count / (long double)output_count(g));
    return 0;
}

/* A mean over the elements that an operand was broadcast to, in place of their sum. */
static int broadcast_mean(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    for (size_t k = 0; k < 2; k++) {
        struct bounded *slope = slope_of(g, k);
        if (slope && slope->count && slope->count < output_count(g))
            scale(slope, (long double)slope->count / (long double)output_count(g));
    }
    return 0;
}

/* The second operand's gradient from the second operand, not from the first. */
static int mul_operand(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 1);
    const struct bounded *b = g->call->inputs[1];
    for (size_t i = 0; slope && slope->count == output_count(g) && i < slope->count; i++)
        slope->value[i] = gradient_upstream(g, 0, i).v * b->value[i];
    return 0;
}

static int div_sign(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    scale(slope_of(g, 1), -1);
    return 0;
}

static int pow_factor(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *slope = slope_of(g, 0);
    const struct bounded *exponent = g->call->inputs[1];
    for (size_t i = 0; slope && exponent->count == 1 && exponent->value[0] != 0 && i < slope->count; i++)
        slope->value[i] /= exponent->value[0];
    return 0;
}

static int mean_undivided(const struct fault_scene *scene, struct op_gradient *g)
{
    return globalpool_undivided(scene, g);
}

/* Of an element that is read several times only the last reader counts. */
static int gather_overwrites(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    const struct bounded *data = g->call->inputs[0], *indices = g->call->inputs[1], *up = g->upstream[0];
    int axis;
    if (!up || call_axis(g->call, call_int(g->call, "axis", 0), data->shape.rank, &axis))
        return right(g);
    size_t inner = shape_span(&data->shape, axis + 1, data->shape.rank), n = indices->count;
    size_t outer = shape_span(&data->shape, 0, axis);
    long double dim = (long double)data->shape.dims[axis];
    struct bounded changed = {0};
    if (bounded_copy(&changed, up, g->call->err))
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            long double a = indices->value[i], b = indices->value[j];
            if ((a < 0 ? a + dim : a) != (b < 0 ? b + dim : b))
                continue;
            for (size_t o = 0; o < outer; o++)
                for (size_t k = 0; k < inner; k++)
                    changed.value[(o * n + i) * inner + k] = 0;
        }
    const struct bounded *const upstream[] = {&changed};
    struct op_gradient other = *g;
    other.upstream = upstream;
    int result = right(&other);
    bounded_release(&changed);
    return result;
}

/* Upstream in its own order: right only where the permutation is. */
static int transpose_order(const struct fault_scene *scene, struct op_gradient *g)
{
    return upstream_alone(scene, g);
}

static int concat_exchanged(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    struct bounded *a = slope_of(g, 0), *b = slope_of(g, 1);
    for (size_t i = 0; a && b && a->count == b->count && i < a->count; i++) {
        long double kept = a->value[i];
        a->value[i] = b->value[i];
        b->value[i] = kept;
    }
    return 0;
}

/* The weights of the recurrence are treated as constants. */
static int lstm_recurrence(const struct fault_scene *scene, struct op_gradient *g)
{
    (void)scene;
    if (right(g))
        return -1;
    scale(slope_of(g, 2), 0);
    return 0;
}

#define ROW(row_name, ops, text, function)                                                           \
    {                                                                                                \
        .name = row_name, .paper = "gradients", .operators = ops, .parameter = "-", .summary = text, \
        .gradient = function                                                                         \
    }

const struct fault faults_gradient[] = {
    ROW("einsum-gradient", "Einsum", "gradient of an operand in the wrong order (MXNet)", einsum_order),
    ROW("conv-gradient", "Conv", "kernel's gradient rotated by 180 degrees", kernel_rotated),
    ROW("convtranspose-gradient", "ConvTranspose", "kernel's gradient rotated by 180 degrees",
        kernel_rotated),
    ROW("gemm-gradient", "Gemm", "alpha ignored in the gradient of B", gemm_alpha),
    ROW("matmul-gradient", "MatMul", "last row of the gradient of B left at 0", matmul_tail),
    ROW("relu-gradient", "Relu", "gradient passes where the input is negative", relu_leaks),
    ROW("sigmoid-gradient", "Sigmoid", "y in place of y (1 - y)", sigmoid_factor),
    ROW("tanh-gradient", "Tanh", "1 - y in place of 1 - y^2", tanh_square),
    ROW("softmax-gradient", "Softmax", "without the sum over the axis", softmax_sum),
    ROW("logsoftmax-gradient", "LogSoftmax", "without the sum over the axis", upstream_alone),
    ROW("bn-gradient", "BatchNormalization", "gradient of scale not divided by the deviation",
        bn_scale_deviation),
    ROW("ln-gradient", "LayerNormalization", "gradient of scale a mean in place of a sum", ln_scale_mean),
    ROW("maxpool-gradient", "MaxPool", "gradient goes to the next element", pool_neighbour),
    ROW("avgpool-gradient", "AveragePool", "gradient not divided by the window's size", avgpool_undivided),
    ROW("globalpool-gradient", "GlobalAveragePool", "gradient not divided by the number of elements",
        globalpool_undivided),
    ROW("add-gradient", "Add|Sub", "gradient of a broadcast operand a mean in place of a sum",
        broadcast_mean),
    ROW("mul-gradient", "Mul", "gradient of the second operand from itself", mul_operand),
    ROW("div-gradient", "Div", "gradient of the divisor with the wrong sign", div_sign),
    ROW("pow-gradient", "Pow", "exponent forgotten as a factor", pow_factor),
    ROW("reducemean-gradient", "ReduceMean", "gradient not divided by the number of elements",
        mean_undivided),
    ROW("gather-gradient", "Gather", "of an element read several times only the last reader counts",
        gather_overwrites),
    ROW("clip-gradient", "Clip", "gradient passes outside the limits", upstream_alone),
    ROW("transpose-gradient", "Transpose", "gradient not transposed back", transpose_order),
    ROW("concat-gradient", "Concat", "gradients of the first two inputs exchanged", concat_exchanged),
    ROW("lstm-gradient", "LSTM", "gradient of R left at 0", lstm_recurrence),
    {0},
};
