/*
 * Activations: functions built from a few library calls and attributes.
 *
 * Correct implementations differ in how they build them: MLAS clamps sigmoid and tanh, many compute
 * exp(x) - 1 rather than expm1, ONNX's own function bodies round every step to the tensor's type. So the hard
 * bounds allow `library` units of the result plus as many of the function's natural scale: 1 for Sigmoid, the
 * factor before exp(x) - 1 for the Elu family, |x| where x multiplies a bounded function (Gelu, Mish).
 * Attributes are float32; computing in half precision rounds them too.
 */
#include "ops/elementwise.h"

#include <math.h>

static const long double library = 8;

static bool is_half(enum dtype type)
{
    return type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16;
}

/* The error that rounding an attribute to half precision causes in a product with it. */
static long double attribute_error(const struct elementwise_point *s, long double product)
{
    return is_half(s->type) ? s->unit * fabsl(product) : 0;
}

static long double scaled(const struct elementwise_point *s, long double scale)
{
    return library * s->unit * (fabsl(s->y) + fabsl(scale));
}

static long double celu(const double *p, long double x)
{
    return x >= 0 ? x : (long double)p[0] * expm1l(x / p[0]);
}

/*
 * ONNX's body computes alpha * Elu(x / alpha): two roundings for x > 0, and x / alpha may overflow. For
 * x < 0, x / alpha errs by a unit, which exp multiplies by x / alpha.
 */
static long double celu_error(const struct elementwise_point *s)
{
    long double alpha = s->p[0], t = s->x / alpha;
    if (alpha == 0)
        return NAN;
    if (isfinite(s->x) && !(fabsl(t) <= dtype_highest(s->type)))
        return INFINITY;
    if (!isfinite(s->y))
        return 0;
    if (s->x >= 0)
        return 3 * s->unit * s->x;
    long double slope = isfinite(t) ? 3 * fabsl(t) * expl(t) : 0;
    return scaled(s, alpha) + s->unit * fabsl(alpha) * slope;
}

static long double elu(const double *p, long double x)
{
    return x >= 0 ? x : (long double)p[0] * expm1l(x);
}

static long double elu_error(const struct elementwise_point *s)
{
    return s->x >= 0 ? 0 : scaled(s, s->p[0]);
}

static long double gelu(const double *p, long double x)
{
    (void)p;
    return x / 2 * erfcl(-x / sqrtl(2));
}

static long double gelu_argument(long double x)
{
    return 0.797884560802865355879892119868763737L * (x + 0.044715L * x * x * x);
}

static long double gelu_tanh(const double *p, long double x)
{
    (void)p;
    long double t = gelu_argument(x);
    /* 1 + tanh t without cancellation. */
    return isinf(t) && t < 0 ? -0.0L : x / (1 + expl(-2 * t));
}

/* At -inf the formula gives -inf * 0, while the limit is 0: ONNX leaves the result unspecified. */
static long double gelu_error(const struct elementwise_point *s)
{
    if (isinf(s->x))
        return s->x < 0 ? NAN : 0;
    /* Half the error of erf by Abramowitz and Stegun 7.1.26 (docs/bounds/elementwise.md). */
    return scaled(s, s->x) + (s->type == DTYPE_DOUBLE ? 0 : 5 * 0x1p-24L * fabsl(s->x));
}

/*
 * The two constants are float32 in ONNX's body, so even float64 may compute with a relative error of 2^-24 in
 * t, which becomes x/2 * t / cosh^2(t) times that.
 */
static long double gelu_tanh_error(const struct elementwise_point *s)
{
    if (isinf(s->x))
        return s->x < 0 ? NAN : 0;
    long double t = fabsl(gelu_argument(s->x)), slope = t > 100 ? 0 : t / (coshl(t) * coshl(t));
    return scaled(s, s->x) + 0x1p-24L * fabsl(s->x) / 2 * slope;
}

static long double hard_sigmoid(const double *p, long double x)
{
    long double line = p[0] * x + p[1];
    return isnan(line) ? line : fmaxl(0, fminl(1, line));
}

/* alpha * x + beta: a product, a sum and, in half precision, two rounded attributes. */
static long double hard_sigmoid_error(const struct elementwise_point *s)
{
    long double product = s->p[0] * s->x, line = product + s->p[1];
    if (!isfinite(line))
        return 0;
    /* Where the result is clamped, the error is at most that at the end of the clamp. */
    if (line < 0 || line > 1)
        product = (line > 1) - s->p[1];
    long double error = 3 * s->unit * (fabsl(product) + fabs(s->p[1]));
    return line + error <= 0 || line - error >= 1 ? 0 : error;
}

static long double hard_swish(const double *p, long double x)
{
    (void)p;
    return x <= -3 ? -0.0L : x >= 3 ? x : x * (x + 3) / 6; /* x + 3 is exact near -3 */
}

/* The slope 1/6 is a float32 attribute of ONNX's body, so even float64 may compute with 2^-24 of error. */
static long double hard_swish_error(const struct elementwise_point *s)
{
    if (isinf(s->x))
        return s->x < 0 ? NAN : 0;
    long double unit = fmaxl(s->unit, 0x1p-25L), margin = 4 * unit * (fabsl(s->x / 6) + 0.5L);
    /* x * relu6(x + 3) / 6, as the function was first written, rounds twice even where the result is x. */
    if (fabsl(s->x) > 3 + 12 * margin)
        return s->x < 0 ? 0 : 2 * s->unit * s->x;
    /* Below -3 the slope is 0; the error is that at -3. */
    return s->x < -3 ? 3 * 4 * unit : fabsl(s->x) * margin;
}

static long double leaky_relu(const double *p, long double x)
{
    return x < 0 ? p[0] * x : x;
}

static long double leaky_relu_error(const struct elementwise_point *s)
{
    return s->x < 0 && isfinite(s->y) ? attribute_error(s, s->y) : 0;
}

static long double softplus(const double *p, long double x)
{
    (void)p;
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double of_scale_one(const struct elementwise_point *s)
{
    return isfinite(s->y) ? scaled(s, 1) : 0;
}

/* The function body of ONNX is log(exp(x) + 1), which overflows where exp does: implementations give inf or
 * x. */
static long double softplus_error(const struct elementwise_point *s)
{
    if (isfinite(s->x) && s->x >= logl(dtype_highest(s->type)) * (1 - library * s->unit))
        return INFINITY;
    return of_scale_one(s);
}

static long double mish(const double *p, long double x)
{
    /* tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2). */
    (void)p;
    if (x > 40)
        return x;
    long double e = expl(x), n = e * (e + 2);
    return n == 0 ? -0.0L : x * (n / (n + 2));
}

static long double mish_error(const struct elementwise_point *s)
{
    if (isinf(s->x))
        return s->x < 0 ? NAN : 0;
    return 2 * scaled(s, s->x);
}

static long double selu(const double *p, long double x)
{
    return x > 0 ? p[1] * x : (long double)p[1] * p[0] * expm1l(x);
}

static long double selu_error(const struct elementwise_point *s)
{
    if (!isfinite(s->y))
        return 0;
    return s->x > 0 ? attribute_error(s, s->y) : scaled(s, (long double)s->p[0] * s->p[1]);
}

static long double sigmoid(const double *p, long double x)
{
    (void)p;
    return 1 / (1 + expl(-x));
}

static long double softsign(const double *p, long double x)
{
    (void)p;
    return isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x));
}

/* At infinity the formula gives inf / inf, while the limit is 1: ONNX leaves the result unspecified. */
static long double softsign_error(const struct elementwise_point *s)
{
    return isinf(s->x) ? NAN : 4 * s->unit * fabsl(s->y);
}

static long double swish(const double *p, long double x)
{
    long double a = p[0] * x;
    return a < 0 ? x * expl(a) / (1 + expl(a)) : x / (1 + expl(-a));
}

/* x times a sigmoid, whose scale is 1. ONNX leaves an infinity times a sigmoid of 0 unspecified. */
static long double swish_error(const struct elementwise_point *s)
{
    if (isinf(s->x))
        return s->p[0] * s->x > 0 ? 0 : NAN;
    return scaled(s, s->x);
}

/* The slope lies between -0.1 and 1.1, whatever alpha is. */
static long double swish_reach(const double *p, long double x, long double y, long double h)
{
    (void)p, (void)x, (void)y;
    return 1.1L * h;
}

static const struct elementwise functions[] = {
    {"Celu", celu, celu_error, .params = {"alpha"}, .defaults = {1}, .draw_low = -8, .draw_high = 8},
    {"Elu", elu, elu_error, .n_turns = 1, .params = {"alpha"}, .defaults = {1}, .draw_low = -8,
     .draw_high = 8},
    {"HardSigmoid", hard_sigmoid, hard_sigmoid_error, .params = {"alpha", "beta"}, .defaults = {0.2f, 0.5f},
     .draw_low = -4, .draw_high = 4},
    {"HardSwish", hard_swish, hard_swish_error, .n_turns = 2, .turns = {-1.5, -3}, .draw_low = -5,
     .draw_high = 5},
    {"LeakyRelu", leaky_relu, leaky_relu_error, .n_turns = 1, .params = {"alpha"}, .defaults = {0.01f}},
    {"Mish", mish, mish_error, .n_turns = 1, .turns = {-1.1924312145}, .draw_low = -20, .draw_high = 20},
    {"Selu", selu, selu_error, .params = {"alpha", "gamma"},
     .defaults = {1.67326319217681884765625f, 1.05070102214813232421875f}, .draw_low = -8, .draw_high = 8},
    {"Sigmoid", sigmoid, of_scale_one, .draw_low = -30, .draw_high = 30},
    {"Softplus", softplus, softplus_error, .draw_low = -100, .draw_high = 100},
    {"Softsign", softsign, softsign_error, .draw_low = -100, .draw_high = 100},
    {"Swish", swish, swish_error, .reach = swish_reach, .params = {"alpha"}, .defaults = {1}},
    {NULL},
};

static int eval_activation(struct op_call *call)
{
    const struct elementwise *function = elementwise_find(functions, call->op->name);
    double p[ELEMENTWISE_PARAMS];
    elementwise_params(call, function, p);
    return elementwise_eval(call, function, p);
}

static int sample_activation(struct draw *d)
{
    return elementwise_sample(d, elementwise_find(functions, d->op->name));
}

static const struct elementwise gelu_functions[] = {
    {"none", gelu, gelu_error, .n_turns = 1, .turns = {-0.7517915}, .draw_low = -6, .draw_high = 6},
    {"tanh", gelu_tanh, gelu_tanh_error, .n_turns = 1, .turns = {-0.7524615}, .draw_low = -6, .draw_high = 6},
    {NULL},
};

static int eval_gelu(struct op_call *call)
{
    const char *name = call_string(call, "approximate", "none");
    const struct elementwise *function = elementwise_find(gelu_functions, name);
    return function ? elementwise_eval(call, function, NULL)
                    : call_invalid(call, "approximation '%s' is not known", name);
}

static int sample_gelu(struct draw *d)
{
    elementwise_sample(d, &gelu_functions[0]);
    if (draw_chance(d, 0.7))
        draw_string(d, "approximate", draw_word(d, "none|tanh"));
    return 0;
}

/*
 * Derivatives. The errors allow those of the results that an implementation may compute them from: `library`
 * units of the result and of its scale, and the roundings of the formula.
 */
static const long double from_result = 24;

static bool exp_overflows(const struct elementwise_point *s, long double x)
{
    return !(fabsl(x) < logl(dtype_highest(s->type)) * (1 - library * s->unit));
}

/* An implementation that computes both branches and multiplies by masks makes 0 times infinity of the branch
 * of negative numbers. */
static bool other_branch_overflows(const struct elementwise_point *s, long double x)
{
    return x > 0 && exp_overflows(s, x);
}

/* The argument itself multiplies upstream in the rules of products and quotients. */
static long double argument(const double *p, long double x)
{
    (void)p;
    return fabsl(x);
}

/* 1 + y / alpha, or exp(x / alpha). */
static long double celu_slope(const double *p, long double x)
{
    return x >= 0 ? 1 : expl(x / p[0]);
}

static long double celu_slope_error(const struct elementwise_point *s)
{
    long double t = s->x / s->p[0];
    if (s->p[0] == 0 || !(fabsl(t) <= dtype_highest(s->type)) || other_branch_overflows(s, t))
        return INFINITY;
    if (s->x >= 0)
        return 4 * s->unit;
    return s->unit * (from_result + (from_result + 3 * fabsl(t)) * s->y);
}

/*
 * Near a kink at 0, exp(x) - 1 is 0 for a small negative x, and an implementation that looks at the result
 * takes it for positive.
 */
static bool is_at_kink(const struct elementwise_point *s, long double left, long double right)
{
    return left != right && s->x <= 0 && s->x >= -2 * library * s->unit;
}

/* y + alpha, or alpha exp(x). */
static long double elu_slope(const double *p, long double x)
{
    return x > 0 ? 1 : p[0] * expl(x);
}

static long double elu_slope_error(const struct elementwise_point *s)
{
    if (other_branch_overflows(s, s->x))
        return INFINITY;
    long double jump = is_at_kink(s, s->p[0], 1) ? fabs(s->p[0] - 1) : 0;
    return s->x > 0 ? 0 : jump + from_result * s->unit * fabs(s->p[0]);
}

static long double normal_density(long double x)
{
    return 0.398942280401432677939946059934381868L * expl(-x * x / 2);
}

static long double gelu_slope(const double *p, long double x)
{
    (void)p;
    return erfcl(-x / sqrtl(2)) / 2 + x * normal_density(x);
}

/* exp(-x^2 / 2) errs by x^2 / 2 units, and those of the library. */
static long double gelu_slope_error(const struct elementwise_point *s)
{
    return s->unit * (from_result + fabsl(s->x) * normal_density(s->x) * (2 * library + s->x * s->x));
}

/* t, its derivative by x, and 1 - tanh^2 t. */
static long double gelu_argument_slope(long double x)
{
    return 0.797884560802865355879892119868763737L * (1 + 3 * 0.044715L * x * x);
}

static long double sech_squared(long double t)
{
    long double e = expl(-2 * fabsl(t));
    return 4 * e / ((1 + e) * (1 + e));
}

static long double gelu_tanh_slope(const double *p, long double x)
{
    (void)p;
    long double t = gelu_argument(x);
    return 1 / (1 + expl(-2 * t)) + x / 2 * sech_squared(t) * gelu_argument_slope(x);
}

/*
 * 1 - tanh^2 t errs by some units of 1, which the other factors multiply; when their product overflows, it is
 * 0 times infinity. The rounding of t and, even in float64, of the constants changes t by a few units; the
 * change of the derivative is at most sech^2 t (|t| + |x| t' (1 + 2 |t|)) times that.
 */
static long double gelu_tanh_slope_error(const struct elementwise_point *s)
{
    long double x = fabsl(s->x), t = fabsl(gelu_argument(x)), inner = gelu_argument_slope(x);
    if (!(x * x * x < dtype_highest(s->type) / 4))
        return INFINITY;
    long double change = sech_squared(t) * (t + x * inner * (1 + 2 * t));
    return s->unit * from_result * (1 + x * inner) + (0x1p-23L + 8 * s->unit) * change;
}

static long double hard_sigmoid_slope(const double *p, long double x)
{
    long double line = p[0] * x + p[1];
    return line > 0 && line < 1 ? p[0] : 0;
}

static long double hard_sigmoid_slope_error(const struct elementwise_point *s)
{
    long double product = s->p[0] * s->x, line = product + s->p[1];
    long double margin = 3 * s->unit * (fabsl(product) + fabs(s->p[1]) + 1);
    bool kink = fabsl(line) <= margin || fabsl(line - 1) <= margin;
    return kink ? fabs(s->p[0]) + attribute_error(s, s->p[0]) : attribute_error(s, s->y);
}

/* Between its kinks it is constant. */
static long double hard_sigmoid_slope_reach(const double *p, long double x, long double y, long double h)
{
    (void)y;
    long double line = p[0] * x + p[1], change = fabs(p[0]) * h * (1 + 0x1p-8L);
    return fabsl(line) <= change || fabsl(line - 1) <= change ? fabs(p[0]) : 0;
}

static long double hard_swish_slope(const double *p, long double x)
{
    (void)p;
    return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5L;
}

static long double hard_swish_slope_error(const struct elementwise_point *s)
{
    long double unit = fmaxl(s->unit, 0x1p-25L), size = fabsl(s->x) / 3 + 0.5L;
    if (fabsl(fabsl(s->x) - 3) <= 64 * unit) /* a step of 0.5 */
        return 0.5L + 64 * unit;
    return s->x < -3 ? 0 : s->x > 3 ? 4 * s->unit : 6 * unit * size;
}

static long double leaky_relu_slope(const double *p, long double x)
{
    return x < 0 ? p[0] : 1;
}

static long double leaky_relu_slope_error(const struct elementwise_point *s)
{
    if (s->x == 0 && s->p[0] != 1)
        return fabs(s->p[0] - 1) + attribute_error(s, s->p[0]);
    return s->x < 0 ? attribute_error(s, s->y) : 0;
}

/* tanh(s) + x sigmoid(x) (1 - tanh^2 s), where s = softplus(x). */
static long double mish_slope(const double *p, long double x)
{
    if (x > 40)
        return 1;
    long double e = expl(x), n = e * (e + 2);
    return n / (n + 2) + x * sigmoid(p, x) * 4 * (n + 1) / ((n + 2) * (n + 2));
}

/* tanh(s) errs by less than 30 units of 1, with those of s, and twice that in its square. oneDNN multiplies
 * e^x by a polynomial that begins with 4 (1 + x), which may overflow. */
static long double mish_slope_error(const struct elementwise_point *s)
{
    if (!(8 * fabsl(s->x) < dtype_highest(s->type)))
        return INFINITY;
    return s->unit * (2 * from_result + 3 * from_result * fabsl(s->x) * sigmoid(s->p, s->x));
}

static long double selu_slope(const double *p, long double x)
{
    return x > 0 ? p[1] : (long double)p[1] * p[0] * expl(x);
}

static long double selu_slope_error(const struct elementwise_point *s)
{
    long double left = (long double)s->p[0] * s->p[1];
    if (other_branch_overflows(s, s->x))
        return INFINITY;
    long double jump = is_at_kink(s, left, s->p[1]) ? fabsl(left - s->p[1]) * (1 + 4 * s->unit) : 0;
    return s->x > 0 ? attribute_error(s, s->y) : jump + from_result * s->unit * fabsl(left);
}

/* y (1 - y). */
static long double sigmoid_slope(const double *p, long double x)
{
    (void)p;
    long double e = expl(-fabsl(x));
    return e / ((1 + e) * (1 + e));
}

/* e^-x / (1 + e^-x)^2 is inf / inf where the exponential overflows. */
static long double sigmoid_slope_error(const struct elementwise_point *s)
{
    return exp_overflows(s, s->x) ? INFINITY : s->unit * (from_result + 2 * library * s->y);
}

/* The sigmoid, which may be e^x / (1 + e^x). */
static long double softplus_slope_error(const struct elementwise_point *s)
{
    return s->x > 0 && exp_overflows(s, s->x) ? INFINITY : from_result * s->unit;
}

static long double softplus_numerator(const double *p, long double x)
{
    (void)p;
    return expl(x);
}

static long double softsign_slope(const double *p, long double x)
{
    (void)p;
    return 1 / ((1 + fabsl(x)) * (1 + fabsl(x)));
}

/* (1 - |y|)^2, or the two terms of the quotient rule, each at most the root of the derivative. */
static long double softsign_slope_error(const struct elementwise_point *s)
{
    if (!(s->y * dtype_highest(s->type) > 2))
        return INFINITY;
    return s->unit * (2 * library * (sqrtl(s->y) + s->unit) + library * s->y);
}

static const struct elementwise derivatives[] = {
    {"Celu", celu_slope, celu_slope_error, .n_turns = 1},
    {"Elu", elu_slope, elu_slope_error, .n_turns = 1},
    {"HardSigmoid", hard_sigmoid_slope, hard_sigmoid_slope_error, .reach = hard_sigmoid_slope_reach},
    {"HardSwish", hard_swish_slope, hard_swish_slope_error, .on_the_way = argument, .n_turns = 2,
     .turns = {-3, 3}},
    {"LeakyRelu", leaky_relu_slope, leaky_relu_slope_error, .n_turns = 1},
    {"Mish", mish_slope, mish_slope_error, .on_the_way = argument, .n_turns = 2,
     .turns = {-2.2563764, 1.4905711}},
    {"Selu", selu_slope, selu_slope_error, .n_turns = 1},
    {"Sigmoid", sigmoid_slope, sigmoid_slope_error, .n_turns = 1},
    {"Softplus", sigmoid, softplus_slope_error, .on_the_way = softplus_numerator},
    {"Softsign", softsign_slope, softsign_slope_error, .on_the_way = argument, .n_turns = 1},
    {NULL},
};

static int gradient_activation(struct op_gradient *g)
{
    double p[ELEMENTWISE_PARAMS];
    elementwise_params(g->call, elementwise_find(functions, g->call->op->name), p);
    return elementwise_gradient(g, elementwise_find(derivatives, g->call->op->name), p);
}

static const struct elementwise gelu_derivatives[] = {
    {"none", gelu_slope, gelu_slope_error, .on_the_way = argument, .n_turns = 2,
     .turns = {-1.4142136, 1.4142136}},
    {"tanh", gelu_tanh_slope, gelu_tanh_slope_error, .on_the_way = argument, .n_turns = 2,
     .turns = {-1.418504, 1.418504}},
    {NULL},
};

static int gradient_gelu(struct op_gradient *g)
{
    const char *name = call_string(g->call, "approximate", "none");
    return elementwise_gradient(g, elementwise_find(gelu_derivatives, name), NULL);
}

/* A threshold is given as float32; an implementation may compare with it as it is or rounded to the type of
 * the tensor. */
struct threshold {
    long double low, high;
};

static struct threshold threshold_of(enum dtype type, double value)
{
    long double rounded = dtype_is_float(type) ? dtype_round(type, value) : value;
    return (struct threshold){fminl(value, rounded), fmaxl(value, rounded)};
}

/* NaN > alpha is false, so NaN becomes 0, as ONNX says. */
static int eval_thresholded_relu(struct op_call *call)
{
    const struct bounded *in = call_need(call, 0);
    double alpha = call_float(call, "alpha", 1);
    struct bounded *out = in ? call_output(call, 0, in->type, &in->shape) : NULL;
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct threshold t = threshold_of(in->type, alpha);
    for (size_t i = 0; i < out->count; i++) {
        long double x = in->value[i], h = bounded_hard(in, i);
        if (x - h > t.high)
            bounded_move(out, i, in, i);
        else if (x + h <= t.low || (isnan(x) && !isinf(h)))
            bounded_put(out, i, 0, 0, 0);
        else
            bounded_put_range(out, i, x > alpha ? x : 0, fminl(0, x - h), fmaxl(0, x + h));
    }
    return 0;
}

/* 1 above the threshold and 0 below it. */
static int gradient_thresholded_relu(struct op_gradient *g)
{
    const struct bounded *in = g->call->inputs[0];
    struct threshold t = threshold_of(in->type, call_float(g->call, "alpha", 1));
    struct bounded *slope;
    if (gradient_begin(g, 0, &slope))
        return -1;
    for (size_t i = 0; slope && i < slope->count; i++) {
        long double x = in->value[i], h = bounded_hard(in, i);
        struct number upstream = gradient_upstream(g, 0, i);
        if (x - h > t.high)
            gradient_store(slope, i, upstream);
        else if (!(x + h < t.low) || !gradient_is_number(upstream))
            bounded_put_undecided(slope, i, 0);
    }
    return 0;
}

static int sample_thresholded_relu(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (!draw_chance(d, 0.8))
        return 0;
    /* Often the threshold is exactly one of the elements, because the comparison is strict. */
    if (x.source == DRAWN_NEW && x.data.count && draw_chance(d, 0.5)) {
        float pick = (float)tensor_get(&x.data, (size_t)draw_between(d, 0, (int64_t)x.data.count - 1));
        draw_float(d, "alpha", isfinite(pick) ? pick : 0.5f);
    } else {
        draw_float(d, "alpha", (float)draw_between(d, -16, 16) / 8.0f);
    }
    return 0;
}

struct shrink {
    double bias;
    struct threshold lower, upper; /* -lambd and lambd */
};

/* Stores the range of possible results: that of all branches that the interval of the input touches. */
static void put_shrink(const struct shrink *shrink, const struct bounded *in, struct bounded *out, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i), bias = shrink->bias;
    if (isnan(x)) {
        bounded_put(out, i, 0, h, bounded_likely(in, i));
        return;
    }
    bool below = x - h<shrink->lower.high, above = x + h> shrink->upper.low;
    bool middle = x + h >= shrink->lower.low && x - h <= shrink->upper.high;
    long double value = x < shrink->lower.low ? x + bias : x > shrink->upper.high ? x - bias : 0;
    long double half = dtype_is_float(in->type) ? unit_of(in->type) * fabsl(bias) : 0;
    long double low =
        fminl(middle ? 0 : INFINITY, fminl(below ? x - h + bias : INFINITY, above ? x - h - bias : INFINITY));
    long double high = fmaxl(middle ? 0 : -INFINITY,
                             fmaxl(below ? x + h + bias : -INFINITY, above ? x + h - bias : -INFINITY));
    if (!dtype_is_float(in->type)) {
        bool inside = h == 0 || (low >= dtype_lowest(in->type) && high <= dtype_highest(in->type));
        /* Beyond 2^24 an implementation that adds in float32 rounds. */
        if (!(fmaxl(fabsl(low), fabsl(high)) < 0x1p24L) || !inside)
            bounded_put_open(out, i);
        else if (h == 0)
            bounded_put(out, i, truncl(value), 0, 0);
        else
            bounded_put_range(out, i, truncl(value), truncl(low), truncl(high));
    } else if (below + above + middle == 1) {
        bounded_put(out, i, value, middle ? 0 : h + (bias == 0 ? 0 : half),
                    middle ? 0 : likely_add(bounded_likely(in, i), half));
    } else {
        half += unit_of(in->type) * fmaxl(fabsl(low), fabsl(high)) + dtype_precision(in->type).tiny;
        bounded_put_range(out, i, value, low - half, high + half);
    }
}

static int eval_shrink(struct op_call *call)
{
    const struct bounded *in = call_need(call, 0);
    struct bounded *out = in ? call_output(call, 0, in->type, &in->shape) : NULL;
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    double lambd = call_float(call, "lambd", 0.5);
    struct shrink shrink = {call_float(call, "bias", 0), threshold_of(in->type, -lambd),
                            threshold_of(in->type, lambd)};
    for (size_t i = 0; i < out->count; i++)
        put_shrink(&shrink, in, out, i);
    return 0;
}

/* 0 between the thresholds and 1 outside. */
static int gradient_shrink(struct op_gradient *g)
{
    const struct bounded *in = g->call->inputs[0];
    double lambd = call_float(g->call, "lambd", 0.5);
    struct threshold lower = threshold_of(in->type, -lambd), upper = threshold_of(in->type, lambd);
    struct bounded *slope;
    if (gradient_begin(g, 0, &slope))
        return -1;
    for (size_t i = 0; slope && i < slope->count; i++) {
        long double x = in->value[i], h = bounded_hard(in, i);
        struct number upstream = gradient_upstream(g, 0, i);
        if (x + h < lower.low || x - h > upper.high)
            gradient_store(slope, i, upstream);
        else if (!(x - h > lower.high && x + h < upper.low) || !gradient_is_number(upstream))
            bounded_put_undecided(slope, i, 0);
    }
    return 0;
}

static int sample_shrink(struct draw *d)
{
    struct drawn x = draw_primary(d);
    bool whole = !dtype_is_float(x.type);
    if (draw_chance(d, 0.7))
        draw_float(d, "lambd", whole ? (float)draw_between(d, 0, 5) : (float)draw_between(d, 0, 16) / 8.0f);
    /* An unsigned x minus a larger bias would be out of range. */
    int64_t most = dtype_in(x.type, DTYPES_UNSIGNED) ? 1 : 8;
    if (draw_chance(d, 0.7))
        draw_float(d, "bias", whole ? (float)draw_between(d, 0, most) : (float)draw_between(d, -8, 8) / 8.0f);
    return 0;
}

static const struct op_param alpha_param[] = {
    {"alpha", PARAM_FLOAT, .legal = "0.01..4", .illegal = "0", .initial = "1"}, {0}};
static const struct op_param leaky_params[] = {{"alpha", PARAM_FLOAT, .legal = "-1..2", .initial = "0.01"},
                                               {0}};
static const struct op_param swish_params[] = {{"alpha", PARAM_FLOAT, .legal = "-1..2", .initial = "1"}, {0}};
static const struct op_param threshold_params[] = {{"alpha", PARAM_FLOAT, .legal = "-2..2", .initial = "1"},
                                                   {0}};
static const struct op_param hard_sigmoid_params[] = {
    {"alpha", PARAM_FLOAT, .legal = "0.01..4", .initial = "0.2"},
    {"beta", PARAM_FLOAT, .legal = "-1..2", .initial = "0.5"},
    {0},
};
static const struct op_param selu_params[] = {
    {"alpha", PARAM_FLOAT, .legal = "0.01..4", .initial = "1.67326319217681884765625"},
    {"gamma", PARAM_FLOAT, .legal = "0.01..4", .initial = "1.05070102214813232421875"},
    {0},
};
static const struct op_param shrink_params[] = {
    {"lambd", PARAM_FLOAT, .legal = "0..2", .initial = "0.5"},
    {"bias", PARAM_FLOAT, .legal = "-1..1", .initial = "0"},
    {0},
};
static const struct op_param gelu_params[] = {
    {"approximate", PARAM_STRING, .since = 20, .legal = "none|tanh", .illegal = "sigmoid", .initial = "none"},
    {0},
};

enum { WITHOUT_BFLOAT16 = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

/* Members that the rows have in common. */
#define USUAL                                                                                              \
    .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 6}, .data = DATA_FIRST, .result = RESULT_LIKE_INPUT, \
    .work = WORK_ELEMENTS, .each = {EACH_ALONE}

const struct op ops_activation[] = {
    {OP("Celu", 12), USUAL, .types = {{12, DTYPE_BIT(DTYPE_FLOAT)}}, .params = alpha_param,
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_LIKE_INPUTS, .wants = {-50, 1e4}}, .factors = {FACTORS_NONE}, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Elu", 1), USUAL, .flags = OP_SPECIMEN, .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .params = alpha_param, .eval = eval_activation, .gradient = gradient_activation,
     .sample = sample_activation, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 1}, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Gelu", 20), USUAL, .types = {{20, DTYPES_FLOAT}}, .params = gelu_params, .eval = eval_gelu,
     .gradient = gradient_gelu, .sample = sample_gelu, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 3}}},
    {OP("HardSigmoid", 1), USUAL, .flags = OP_LEVELS_OFF,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .params = hard_sigmoid_params,
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_FIXED, .gives = {0, 1}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("HardSwish", 14), USUAL, .types = {{14, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("LeakyRelu", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {16, DTYPES_FLOAT}}, .params = leaky_params,
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .history = {.same_since = 1},
     .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("Mish", 18), USUAL, .types = {{18, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .eval = eval_activation,
     .gradient = gradient_activation, .sample = sample_activation, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Selu", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .params = selu_params,
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 6},
     .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Shrink", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16 | DTYPES_INTEGER}}, .params = shrink_params,
     .eval = eval_shrink, .gradient = gradient_shrink, .sample = sample_shrink, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_JUMP, .attribute = "lambd", .otherwise = 0.5}}},
    {OP("Sigmoid", 1), USUAL, .flags = OP_LEVELS_OFF, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_FIXED, .gives = {0, 1}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_EXP}}},
    {OP("Softplus", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .eval = eval_activation,
     .gradient = gradient_activation, .sample = sample_activation, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Softsign", 1), USUAL, .flags = OP_LEVELS_OFF, .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .eval = eval_activation, .gradient = gradient_activation, .sample = sample_activation,
     .range = {RANGE_FIXED, .gives = {-1, 1}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("Swish", 24), USUAL, .types = {{24, DTYPES_FLOAT}}, .params = swish_params, .eval = eval_activation,
     .sample = sample_activation, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_EXP}}, .open = "an infinity times a sigmoid of 0"},
    {OP("ThresholdedRelu", 10), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .params = threshold_params, .eval = eval_thresholded_relu, .gradient = gradient_thresholded_relu,
     .sample = sample_thresholded_relu, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 10}, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_JUMP, .attribute = "alpha", .otherwise = 1}}},
    {0},
};
