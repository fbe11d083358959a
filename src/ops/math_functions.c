/*
 * The functions of a mathematical library.
 *
 * Hard bound: LIBRARY units in the last place of the result, which is what vector libraries promise with room
 * to spare (SLEEF 1 to 3.5, SVML 4, Eigen's and MLAS's polynomials up to 4). Bounded functions are often
 * clamped or computed as 1 - something, so an error of as many units of their scale 1 is allowed too; sine
 * and cosine lose as much in the reduction of their argument.
 */
#include "ops/elementwise.h"

#include <math.h>

/* POSIX has no long double pi. */
#define PI_L 3.14159265358979323846264338327950288L

static const long double library = 8;

static long double relative(const struct elementwise_point *s)
{
    return isfinite(s->y) ? library * s->unit * fabsl(s->y) : 0;
}

/* The library's error, and that of the argument where it is 2^(x log2 e), or n ln 2 is rounded before it is
 * subtracted from x: the product and its constant err by two units of x. */
static long double exponential_units(const struct elementwise_point *s)
{
    return library + 2 * fabsl(s->x);
}

static long double exponential_error(const struct elementwise_point *s)
{
    return isfinite(s->y) && s->y != 0 ? exponential_units(s) * s->unit * fabsl(s->y) : 0;
}

/* exp of a finite number is never 0: where long double has lost it, the result still underflows like any
 * other. Implementations that cut their argument off where the result becomes 0 (Eigen: 5.6e-309 in float64)
 * do so with an infinity, too. */
static long double exp_error(const struct elementwise_point *s)
{
    return s->y == 0 ? dtype_precision(s->type).smallest : exponential_error(s);
}

/* Eigen's polynomial for asin is the least precise one met: 3.8 ulp. */
static long double asin_error(const struct elementwise_point *s)
{
    return isfinite(s->y) ? 12 * s->unit * fabsl(s->y) : 0;
}

static long double of_scale_one(const struct elementwise_point *s)
{
    return isfinite(s->y) ? library * s->unit * (fabsl(s->y) + 1) : 0;
}

/* 1 - t P(t) exp(-x^2) by Abramowitz and Stegun 7.1.26 in float32 errs by up to 32 units near 0: its
 * coefficients alternate in sign (docs/bounds/elementwise.md). */
static long double erf_error(const struct elementwise_point *s)
{
    return of_scale_one(s) + (s->type == DTYPE_DOUBLE ? 0 : 24 * 0x1p-24L);
}

/* The root of x^2 - 1, where the rounding of x^2 is at most its unit and at most (x - 1)^2, as 2x - 1 is
 * exact. */
static long double acosh_error(const struct elementwise_point *s)
{
    long double square = s->x * s->x, below = s->x - 1, rooted = sqrtl(below * (s->x + 1));
    if (!(rooted > 0) || !isfinite(square))
        return of_scale_one(s);
    long double lost = fminl(s->unit * square, below * below);
    return of_scale_one(s) + lost / (2 * rooted * (s->x + rooted));
}

/* (e^x + e^-x) / 2 overflows a little before its result does. */
static long double exponentials_error(const struct elementwise_point *s)
{
    long double highest = dtype_highest(s->type);
    long double off = exponential_units(s) * s->unit;
    bool overflows = !(fabsl(s->x) < logl(highest) * (1 - off));
    bool result_too = fabsl(s->y) * (1 - off) > highest * (1 + (long double)s->unit);
    return overflows && !result_too ? INFINITY : exponential_error(s);
}

#define UNARY(name)                                                 \
    static long double value_##name(const double *p, long double x) \
    {                                                               \
        (void)p;                                                    \
        return name##l(x);                                          \
    }
UNARY(acos)
UNARY(acosh)
UNARY(asin)
UNARY(asinh)
UNARY(atan)
UNARY(atanh)
UNARY(cos)
UNARY(cosh)
UNARY(erf)
UNARY(exp)
UNARY(log)
UNARY(sin)
UNARY(sinh)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)

static long double value_reciprocal(const double *p, long double x)
{
    (void)p;
    return 1 / x;
}

/* A square root may be x * rsqrt(x), a reciprocal an estimate, each with one Newton step: errors of 3.2 units
 * were seen on AVX-512 (vectorised by Eigen). */
static long double error_newton(const struct elementwise_point *s)
{
    return isfinite(s->y) ? 4 * s->unit * fabsl(s->y) : 0;
}

/* The sign of 1/0 depends on the sign of the zero, which operators do not guarantee: x + 0 may be optimised
 * away. */
static long double error_reciprocal(const struct elementwise_point *s)
{
    return s->x == 0 ? INFINITY : error_newton(s);
}

/* Slope at most 1, range [-1, 1]. */
static long double reach_wave(const double *p, long double x, long double y, long double h)
{
    (void)p, (void)x, (void)y;
    return fminl(h, 2);
}

static long double reach_tan(const double *p, long double x, long double y, long double h)
{
    (void)p;
    bool pole = floorl((x - h) / PI_L + 0.5L) != floorl((x + h) / PI_L + 0.5L);
    return pole ? INFINITY : fmaxl(fabsl(tanl(x - h) - y), fabsl(tanl(x + h) - y));
}

static long double reach_reciprocal(const double *p, long double x, long double y, long double h)
{
    (void)p;
    return fabsl(x) <= h ? INFINITY : fabsl(y) * h / (fabsl(x) - h);
}

/* Near 1, log(x) is about x - 1, which is exact; libraries keep the relative error small there. log(0) =
 * -inf. */
static const struct elementwise functions[] = {
    {"Acos", value_acos, of_scale_one, .low = -1, .high = 1, .draw_low = -1, .draw_high = 1},
    {"Acosh", value_acosh, acosh_error, .low = 1, .high = HUGE_VAL, .draw_low = 1, .draw_high = 20},
    {"Asin", value_asin, asin_error, .low = -1, .high = 1, .draw_low = -1, .draw_high = 1},
    {"Asinh", value_asinh, relative, .draw_low = -20, .draw_high = 20},
    {"Atan", value_atan, relative, .draw_low = -20, .draw_high = 20},
    {"Atanh", value_atanh, relative, .low = -1, .high = 1, .draw_low = -1, .draw_high = 1},
    {"Cos", value_cos, of_scale_one, .reach = reach_wave, .draw_low = -20, .draw_high = 20},
    {"Cosh", value_cosh, exponentials_error, .n_turns = 1, .draw_low = -10, .draw_high = 10},
    {"Erf", value_erf, erf_error, .draw_low = -4, .draw_high = 4},
    {"Exp", value_exp, exp_error, .draw_low = -20, .draw_high = 20},
    {"Log", value_log, relative, .low = 0, .high = HUGE_VAL, .draw_low = 0, .draw_high = 20},
    {"Reciprocal", value_reciprocal, error_reciprocal, .reach = reach_reciprocal},
    {"Sin", value_sin, of_scale_one, .reach = reach_wave, .draw_low = -20, .draw_high = 20},
    {"Sinh", value_sinh, exponentials_error, .draw_low = -10, .draw_high = 10},
    {"Sqrt", value_sqrt, error_newton, .low = 0, .high = HUGE_VAL, .draw_low = 0, .draw_high = 20},
    {"Tan", value_tan, of_scale_one, .reach = reach_tan, .draw_low = -20, .draw_high = 20},
    {"Tanh", value_tanh, of_scale_one, .draw_low = -10, .draw_high = 10},
    {NULL},
};

static int eval_function(struct op_call *call)
{
    return elementwise_eval(call, elementwise_find(functions, call->op->name), NULL);
}

/*
 * Derivatives. Where 1 - x^2 cancels, its error is that of x^2; where x^2 overflows, implementations give 0
 * although the derivative is not so small.
 */
static bool square_overflows(const struct elementwise_point *s)
{
    return !(s->x * s->x < dtype_highest(s->type) / 4);
}

/* The error of a function of 1 - x^2 or x^2 - 1, which may be 1 / (1 - x^2) itself. */
static long double cancelled(const struct elementwise_point *s)
{
    long double square = s->x * s->x, relative_error = 3 * s->unit * fmaxl(square, 1) / fabsl(1 - square);
    if (square_overflows(s) || !(relative_error < 0.1L))
        return INFINITY;
    return fabsl(s->y) * (library * s->unit + 1.2L * relative_error);
}

static long double of_square(const struct elementwise_point *s)
{
    return square_overflows(s) ? INFINITY : relative(s);
}

static long double acos_slope(const double *p, long double x)
{
    (void)p;
    return -1 / sqrtl((1 - x) * (1 + x));
}

static long double asin_slope(const double *p, long double x)
{
    return -acos_slope(p, x);
}

static long double acosh_slope(const double *p, long double x)
{
    (void)p;
    return 1 / sqrtl((x - 1) * (x + 1));
}

static long double asinh_slope(const double *p, long double x)
{
    (void)p;
    return 1 / sqrtl(x * x + 1);
}

static long double atan_slope(const double *p, long double x)
{
    (void)p;
    return 1 / (x * x + 1);
}

static long double atanh_slope(const double *p, long double x)
{
    (void)p;
    return 1 / ((1 - x) * (1 + x));
}

static long double cos_slope(const double *p, long double x)
{
    (void)p;
    return -sinl(x);
}

/* (e^x - e^-x) / 2 cancels near 0, and overflows a little before its result does. */
static long double hyperbolic_error(const struct elementwise_point *s)
{
    long double off = exponential_units(s) * s->unit;
    bool overflows = !(fabsl(s->x) < logl(dtype_highest(s->type)) * (1 - off));
    return overflows ? INFINITY : off * (fabsl(s->y) + 1);
}

static long double erf_slope(const double *p, long double x)
{
    (void)p;
    return 1.12837916709551257389615890312154517L * expl(-x * x);
}

/* The rounding of x^2 is one of the exponent. */
static long double erf_slope_error(const struct elementwise_point *s)
{
    if (s->y == 0) /* where long double has lost it */
        return dtype_precision(s->type).smallest;
    return s->unit * s->y * (2 * library + 3 * s->x * s->x);
}

static long double sqrt_slope(const double *p, long double x)
{
    (void)p;
    return 0.5L / sqrtl(x);
}

static long double tan_slope(const double *p, long double x)
{
    (void)p;
    return 1 / (cosl(x) * cosl(x));
}

/* 1 + y^2, or 1 / cos^2 x: y and the cosine err by units of 1. */
static long double tan_slope_error(const struct elementwise_point *s)
{
    long double relative_error = 4 * library * s->unit * (1 + sqrtl(s->y));
    return relative_error < 0.1L ? 1.2L * s->y * relative_error : INFINITY;
}

static long double reach_tan_slope(const double *p, long double x, long double y, long double h)
{
    bool pole = floorl((x - h) / PI_L + 0.5L) != floorl((x + h) / PI_L + 0.5L);
    bool turn = floorl((x - h) / PI_L) != floorl((x + h) / PI_L);
    long double ends = fmaxl(fabsl(tan_slope(p, x - h) - y), fabsl(tan_slope(p, x + h) - y));
    return pole ? INFINITY : turn ? fmaxl(ends, y - 1) : ends;
}

static long double tanh_slope(const double *p, long double x)
{
    (void)p;
    long double e = expl(-2 * fabsl(x));
    return 4 * e / ((1 + e) * (1 + e));
}

/* 1 - y^2, where y errs by units of 1. */
static long double tanh_slope_error(const struct elementwise_point *s)
{
    return s->unit * (5 * library + library * s->y);
}

static const struct elementwise derivatives[] = {
    {"Acos", acos_slope, cancelled, .low = -1, .high = 1, .n_turns = 1},
    {"Acosh", acosh_slope, cancelled, .low = 1, .high = HUGE_VAL},
    {"Asin", asin_slope, cancelled, .low = -1, .high = 1, .n_turns = 1},
    {"Asinh", asinh_slope, of_square, .n_turns = 1},
    {"Atan", atan_slope, of_square, .n_turns = 1},
    {"Atanh", atanh_slope, cancelled, .low = -1, .high = 1, .n_turns = 1},
    {"Cos", cos_slope, of_scale_one, .reach = reach_wave},
    {"Cosh", value_sinh, hyperbolic_error},
    {"Erf", erf_slope, erf_slope_error, .n_turns = 1},
    {"Exp", value_exp, exp_error},
    {"Log", value_reciprocal, error_newton, .low = 0, .high = HUGE_VAL},
    {"Sin", value_cos, of_scale_one, .reach = reach_wave},
    {"Sinh", value_cosh, hyperbolic_error, .n_turns = 1},
    {"Sqrt", sqrt_slope, relative, .low = 0, .high = HUGE_VAL},
    {"Tan", tan_slope, tan_slope_error, .reach = reach_tan_slope},
    {"Tanh", tanh_slope, tanh_slope_error, .n_turns = 1},
    {NULL},
};

static int gradient_function(struct op_gradient *g)
{
    return elementwise_gradient(g, elementwise_find(derivatives, g->call->op->name), NULL);
}

/* -y^2, from the result or by divisions: upstream is multiplied by each factor in turn. */
static int gradient_reciprocal(struct op_gradient *g)
{
    const struct bounded *out = &g->call->outputs[0];
    struct bounded *slope;
    if (gradient_begin(g, 0, &slope))
        return -1;
    for (size_t i = 0; slope && i < slope->count; i++) {
        struct number y = number_of(out, i);
        struct number factors[] = {gradient_upstream(g, 0, i), y, y, number_exact(-1)};
        gradient_store(slope, i, gradient_factors(factors, 4, slope->type));
    }
    return 0;
}

static int sample_function(struct draw *d)
{
    return elementwise_sample(d, elementwise_find(functions, d->op->name));
}

enum { WITHOUT_BFLOAT16 = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

/* Members that the rows have in common. */
#define USUAL                                                                                               \
    .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 6}, .eval = eval_function, .sample = sample_function, \
    .data = DATA_FIRST, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE,      \
    .each = {EACH_ALONE}

const struct op ops_math_functions[] = {
    {OP("Acos", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {0, 3.2}, .wants = {-1, 1}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}}},
    {OP("Acosh", 9), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {0, 10}, .wants = {1, 1000}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9}, .dangers = {{DANGER_DOMAIN, .inside = {1, INFINITY}}}},
    {OP("Asin", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-1.6, 1.6}, .wants = {-1, 1}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}}},
    {OP("Asinh", 9), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .range = {RANGE_FIXED, .gives = {-10, 10}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("Atan", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .range = {RANGE_FIXED, .gives = {-1.6, 1.6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Atanh", 9), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-4, 4}, .wants = {-0.99, 0.99}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9},
     .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}, {DANGER_POLE, .at = -1}, {DANGER_POLE, .at = 1}}},
    {OP("Cos", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-100, 100}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Cosh", 9), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .range = {RANGE_EXP, .wants = {-6, 6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_EXP}}},
    {OP("Erf", 9), USUAL, .flags = OP_LEVELS_OFF, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}}, .range = {RANGE_FIXED, .gives = {-1, 1}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("Exp", 1), USUAL, .flags = OP_SPECIMEN_OF_NAN, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}}, .range = {RANGE_EXP, .wants = {-20, 6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Log", 1), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}}, .range = {RANGE_LOG, .wants = {0.01, 1e4}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .dangers = {{DANGER_DOMAIN, .inside = {0, INFINITY}}, {DANGER_POLE}}},
    {OP("Reciprocal", 1), USUAL, .gradient = gradient_reciprocal,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {0.05, 1e4}},
     .factors = {FACTORS_PRODUCT, .powers = {-1}}, .history = {.same_since = 1}, .dangers = {{DANGER_POLE}}},
    {OP("Sin", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-100, 100}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Sinh", 9), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}}, .range = {RANGE_EXP, .wants = {-6, 6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_EXP}}},
    {OP("Sqrt", 1), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}}, .range = {RANGE_SQRT, .wants = {0, 1e4}},
     .factors = {FACTORS_PRODUCT, .powers = {0.5}}, .history = {.same_since = 1},
     .dangers = {{DANGER_DOMAIN, .inside = {0, INFINITY}}}},
    {OP("Tan", 7), USUAL, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {22, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1.5, 1.5}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Tanh", 1), USUAL, .flags = OP_LEVELS_OFF, .gradient = gradient_function,
     .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}}, .range = {RANGE_FIXED, .gives = {-1, 1}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .dangers = {{DANGER_EXP}}},
    {0},
};
