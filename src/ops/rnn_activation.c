/* The activation functions of LSTM, GRU and RNN, with their bounds (rnn.h). */
#include "ops/rnn.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/*
 * Defaults are those of the ONNX operators of the same name; there are no operators Affine and ScaledTanh, so
 * these have none. Engines use vector polynomials that clamp their argument: functions that saturate are
 * allowed an absolute error of 16 u on their scale.
 */
static const struct kind {
    const char *name;
    bool has_alpha, has_beta, must;
    double alpha, beta;
} kinds[ACT_COUNT] = {
    [ACT_RELU] = {"Relu", false, false, false, 0, 0},
    [ACT_TANH] = {"Tanh", false, false, false, 0, 0},
    [ACT_SIGMOID] = {"Sigmoid", false, false, false, 0, 0},
    [ACT_AFFINE] = {"Affine", true, true, true, 1, 0},
    [ACT_LEAKY_RELU] = {"LeakyRelu", true, false, false, 0.01f, 0},
    [ACT_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, false, 1, 0},
    [ACT_SCALED_TANH] = {"ScaledTanh", true, true, true, 1, 1},
    [ACT_HARD_SIGMOID] = {"HardSigmoid", true, true, false, 0.2f, 0.5},
    [ACT_ELU] = {"Elu", true, false, false, 1, 0},
    [ACT_SOFTSIGN] = {"Softsign", false, false, false, 0, 0},
    [ACT_SOFTPLUS] = {"Softplus", false, false, false, 0, 0},
};

const char *activation_name(enum activation_kind kind)
{
    return kinds[kind].name;
}

bool activation_has_alpha(enum activation_kind kind)
{
    return kinds[kind].has_alpha;
}

bool activation_has_beta(enum activation_kind kind)
{
    return kinds[kind].has_beta;
}

static int find_kind(struct op_call *call, const ProtobufCBinaryData *name, enum activation_kind *kind)
{
    for (int i = 0; i < ACT_COUNT; i++)
        if (strlen(kinds[i].name) == name->len &&
            strncasecmp(kinds[i].name, (const char *)name->data, name->len) == 0) {
            *kind = (enum activation_kind)i;
            return 0;
        }
    return call_invalid(call, "an activation function is not known");
}

/* The next of a list of values, or the function's default. */
static long double take(const Onnx__AttributeProto *list, size_t *used, double otherwise)
{
    return list && *used < list->n_floats ? (long double)list->floats[(*used)++] : otherwise;
}

int activations_read(struct op_call *call, size_t count, const enum activation_kind *defaults, size_t period,
                     struct activation *activations)
{
    const Onnx__AttributeProto *names = node_attribute(call->node, "activations");
    const Onnx__AttributeProto *alphas = node_attribute(call->node, "activation_alpha");
    const Onnx__AttributeProto *betas = node_attribute(call->node, "activation_beta");
    size_t alphas_used = 0, betas_used = 0;
    bool given = names && names->n_strings > 0;
    /* As many as ONNX says ("a list of 3 (or 6 if bidirectional)"); but the default of RNN is written as two
     * functions even for one direction. */
    bool two = period == 1 && names && names->n_strings == 2;
    if (given && names->n_strings != count && !two)
        return call_invalid(call, "there are %zu activations instead of %zu", names->n_strings, count);
    for (size_t i = 0; i < count; i++) {
        struct activation *a = &activations[i];
        a->kind = defaults[i % period];
        if (given && find_kind(call, &names->strings[i], &a->kind))
            return -1;
        const struct kind *kind = &kinds[a->kind];
        if (kind->must &&
            (!alphas || alphas->n_floats <= alphas_used || !betas || betas->n_floats <= betas_used))
            return call_unsupported(call, "%s without alpha and beta is not supported", kind->name);
        a->alpha = kind->has_alpha ? take(alphas, &alphas_used, kind->alpha) : 0;
        a->beta = kind->has_beta ? take(betas, &betas_used, kind->beta) : 0;
    }
    return 0;
}

static long double value_of(long double x, const void *context)
{
    const struct activation *a = context;
    if (isnan(x))
        return x;
    switch (a->kind) {
    case ACT_RELU:
        return fmaxl(x, 0);
    case ACT_TANH:
        return tanhl(x);
    case ACT_SIGMOID:
        return 1 / (1 + expl(-x));
    case ACT_AFFINE:
        return a->alpha * x + a->beta;
    case ACT_LEAKY_RELU:
        return x >= 0 ? x : a->alpha * x;
    case ACT_THRESHOLDED_RELU:
        return x >= a->alpha ? x : 0;
    case ACT_SCALED_TANH:
        return a->alpha * tanhl(a->beta * x);
    case ACT_HARD_SIGMOID:
        return fminl(fmaxl(a->alpha * x + a->beta, 0), 1);
    case ACT_ELU:
        return x >= 0 ? x : a->alpha * expm1l(x);
    case ACT_SOFTSIGN:
        return isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x));
    default:
        return x > 50 ? x : log1pl(expl(x));
    }
}

/* The function's own error at the worst place of [x - h, x + h]. */
static long double own_error(const struct activation *a, long double x, long double h, long double u)
{
    long double most = fabsl(x) + h;
    switch (a->kind) {
    case ACT_RELU:
    case ACT_THRESHOLDED_RELU:
        return 0;
    case ACT_TANH:
    case ACT_SIGMOID:
        return 16 * u;
    case ACT_AFFINE:
        return 2 * u * (fabsl(a->alpha) * most + fabsl(a->beta));
    case ACT_HARD_SIGMOID:
        /* The clamp hides the error unless the line is near [0, 1]. */
        return 2 * u * fminl(fabsl(a->alpha) * most + fabsl(a->beta), 2 + 2 * fabsl(a->beta));
    case ACT_LEAKY_RELU:
        return x - h >= 0 ? u * most : u * fmaxl(x + h, fabsl(a->alpha) * (h - x));
    case ACT_SCALED_TANH:
        return 20 * u * fabsl(a->alpha);
    case ACT_ELU:
        return x - h >= 0 ? 0 : 16 * u * fabsl(a->alpha);
    case ACT_SOFTSIGN:
        return 4 * u * value_of(most, a);
    default:
        return 16 * u * (1 + value_of(x + h, a));
    }
}

/*
 * The steepest slope within [x - h, x + h], for functions whose change the ends of the interval do not bound:
 * Elu and LeakyRelu have a kink, and are not monotone for a negative alpha. Curves that saturate bend, so a
 * smaller interval around another middle may reach beyond the ends. 0: the ends are enough.
 */
static long double slope(const struct activation *a, struct number x)
{
    long double nearest = fmaxl(fabsl(x.v) - x.h, 0), y;
    switch (a->kind) {
    case ACT_LEAKY_RELU:
    case ACT_ELU:
        return fmaxl(1, fabsl(a->alpha));
    case ACT_TANH:
        y = tanhl(nearest);
        return 1 - y * y;
    case ACT_SCALED_TANH:
        y = tanhl(a->beta * nearest);
        return fabsl(a->alpha * a->beta) * (1 - y * y);
    case ACT_SIGMOID:
        y = expl(-nearest);
        return y / ((1 + y) * (1 + y));
    case ACT_HARD_SIGMOID:
        y = fabsl(a->alpha) * x.h;
        return fabsl(a->alpha * x.v + a->beta - 0.5L) + 0.5L < y ? fabsl(a->alpha) : 0;
    case ACT_SOFTSIGN:
        return 1 / ((1 + nearest) * (1 + nearest));
    default:
        return 0;
    }
}

/* Twice the range of a bounded function: a larger bound says nothing about the sums that follow, and a bound
 * cut to the range itself would be too small for a value inside it. */
static long double farthest(const struct activation *a)
{
    switch (a->kind) {
    case ACT_TANH:
    case ACT_SOFTSIGN:
        return 4;
    case ACT_SIGMOID:
    case ACT_HARD_SIGMOID:
        return 2;
    case ACT_SCALED_TANH:
        return 4 * fabsl(a->alpha);
    default:
        return INFINITY;
    }
}

/*
 * log(1 + e^x), computed as written, overflows where e^x does: implementations give infinity or x. The unit
 * identifies the type: float64, float16, or one with the range of float32.
 */
static bool softplus_overflows(struct number x, long double u)
{
    long double largest = u < 0x1p-50L ? DBL_MAX : u == 0x1p-11L ? 65504 : FLT_MAX;
    return isfinite(x.v) && x.v + x.h >= logl(largest) * 0.999L;
}

struct number activation_apply(const struct activation *a, struct number x, long double u)
{
    /* At the threshold it is x or 0. Around one value no finite bound can say so: the value jumps however
     * little the argument moves, and what later units make of both would not lie within one another. */
    if (a->kind == ACT_THRESHOLDED_RELU && !(fabsl(x.v - a->alpha) > x.h))
        return (struct number){value_of(x.v, a), x.h == 0 ? fabsl(x.v) : INFINITY, fabsl(x.v) + x.h};
    /* Likewise x / (1 + |x|) of an infinity is NaN as written, and 1 in other forms. */
    if ((a->kind == ACT_SOFTPLUS && softplus_overflows(x, u)) || (a->kind == ACT_SOFTSIGN && isinf(x.v)))
        return (struct number){value_of(x.v, a), INFINITY, INFINITY};
    long double own = own_error(a, isfinite(x.v) ? x.v : 0, x.h, u);
    struct number y = number_monotone(x, value_of, a, own);
    long double steepest = x.h > 0 && isfinite(x.h) && isfinite(x.v) ? slope(a, x) : 0;
    if (steepest > 0)
        y.h = steepest * x.h < farthest(a) ? fmaxl(y.h, steepest * x.h + own) : INFINITY;
    if (a->kind == ACT_LEAKY_RELU || a->kind == ACT_ELU)
        y.l = fmaxl(y.l, steepest * x.l);
    return y;
}

/* A derivative that is `below` left of a kink and `above` right of it. */
static struct number broken(struct number x, long double kink, long double below, long double above)
{
    if (below == above || x.v - kink > x.h)
        return number_exact(above);
    return kink - x.v > x.h ? number_exact(below) : (struct number){0, INFINITY, 0};
}

/* 1 - y^2, for the hyperbolic tangent y. */
static struct number tanh_slope(struct number y, long double u)
{
    return number_loosen(number_sub(number_exact(1), number_mul(y, y, u), u), 8 * u, 2 * u);
}

struct number activation_slope(const struct activation *a, struct number x, struct number y, long double u)
{
    long double size = fabsl(x.v), near, far;
    struct activation other = {.kind = ACT_TANH};
    struct number slope;
    switch (a->kind) {
    case ACT_RELU:
        return broken(x, 0, 0, 1);
    case ACT_TANH:
        return tanh_slope(y, u);
    case ACT_SIGMOID:
        return number_loosen(number_mul(y, number_sub(number_exact(1), y, u), u), 8 * u, 2 * u);
    case ACT_AFFINE:
        return number_exact(a->alpha);
    case ACT_LEAKY_RELU:
        return broken(x, 0, a->alpha, 1);
    case ACT_THRESHOLDED_RELU:
        return broken(x, a->alpha, 0, 1);
    case ACT_SCALED_TANH:
        slope = tanh_slope(activation_apply(&other, number_mul(x, number_exact(a->beta), u), u), u);
        return number_mul(slope, number_mul(number_exact(a->alpha), number_exact(a->beta), u), u);
    case ACT_HARD_SIGMOID:
        if (a->alpha == 0)
            return number_exact(0);
        near = a->alpha * x.v + a->beta;
        far = fabsl(a->alpha) * x.h + 2 * u * (fabsl(a->alpha) * (size + x.h) + fabsl(a->beta));
        if (near - far > 1 || near + far < 0)
            return number_exact(0);
        return near - far > 0 && near + far < 1 ? number_exact(a->alpha) : (struct number){0, INFINITY, 0};
    case ACT_ELU:
        if (x.v - x.h >= 0 && (x.v > x.h || a->alpha == 1))
            return number_exact(1);
        if (x.v + x.h >= 0 && a->alpha != 1)
            return (struct number){0, INFINITY, 0};
        near = a->alpha * expl(fminl(x.v, 0));
        far = fabsl(a->alpha) * (expl(fminl(x.v + x.h, 0)) - expl(fminl(x.v - x.h, 0)));
        return (struct number){near, far + 24 * u * fabsl(a->alpha),
                               fabsl(near) * x.l + 6 * u * fabsl(a->alpha)};
    case ACT_SOFTSIGN:
        near = fmaxl(size - x.h, 0);
        slope = (struct number){.v = 1 / ((1 + size) * (1 + size)), .l = 2 * x.l + 4 * u};
        far = 1 / ((1 + size + x.h) * (1 + size + x.h));
        slope.h = fmaxl(1 / ((1 + near) * (1 + near)) - slope.v, slope.v - far) + 8 * u;
        slope.l = fminl(slope.l, slope.h);
        return slope;
    default:
        other.kind = ACT_SIGMOID;
        return number_loosen(activation_apply(&other, x, u), 16 * u, 4 * u);
    }
}
