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

/* exp of a finite number is never 0: where long double has lost it, the result still underflows like any
 * other. */
static long double exp_error(const struct elementwise_point *s)
{
    return s->y == 0 && isfinite(s->x) ? dtype_precision(s->type).smallest : relative(s);
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
    {"Acosh", value_acosh, of_scale_one, .low = 1, .high = HUGE_VAL, .draw_low = 1, .draw_high = 20},
    {"Asin", value_asin, asin_error, .low = -1, .high = 1, .draw_low = -1, .draw_high = 1},
    {"Asinh", value_asinh, relative, .draw_low = -20, .draw_high = 20},
    {"Atan", value_atan, relative, .draw_low = -20, .draw_high = 20},
    {"Atanh", value_atanh, relative, .low = -1, .high = 1, .draw_low = -1, .draw_high = 1},
    {"Cos", value_cos, of_scale_one, .reach = reach_wave, .draw_low = -20, .draw_high = 20},
    {"Cosh", value_cosh, relative, .n_turns = 1, .draw_low = -10, .draw_high = 10},
    {"Erf", value_erf, of_scale_one, .draw_low = -4, .draw_high = 4},
    {"Exp", value_exp, exp_error, .draw_low = -20, .draw_high = 20},
    {"Log", value_log, relative, .low = 0, .high = HUGE_VAL, .draw_low = 0, .draw_high = 20},
    {"Reciprocal", value_reciprocal, error_reciprocal, .reach = reach_reciprocal},
    {"Sin", value_sin, of_scale_one, .reach = reach_wave, .draw_low = -20, .draw_high = 20},
    {"Sinh", value_sinh, relative, .draw_low = -10, .draw_high = 10},
    {"Sqrt", value_sqrt, error_newton, .low = 0, .high = HUGE_VAL, .draw_low = 0, .draw_high = 20},
    {"Tan", value_tan, of_scale_one, .reach = reach_tan, .draw_low = -20, .draw_high = 20},
    {"Tanh", value_tanh, of_scale_one, .draw_low = -10, .draw_high = 10},
    {NULL},
};

static int eval_function(struct op_call *call)
{
    return elementwise_eval(call, elementwise_find(functions, call->op->name), NULL);
}

static int sample_function(struct draw *d)
{
    return elementwise_sample(d, elementwise_find(functions, d->op->name));
}

enum { WITHOUT_BFLOAT16 = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

/* Members that the rows have in common. */
#define USUAL                                                                                               \
    .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 6}, .eval = eval_function, .sample = sample_function, \
    .data = DATA_FIRST, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE

const struct op ops_math_functions[] = {
    {OP("Acos", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {0, 3.2}, .wants = {-1, 1}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}}},
    {OP("Acosh", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {0, 10}, .wants = {1, 1000}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9}, .dangers = {{DANGER_DOMAIN, .inside = {1, INFINITY}}}},
    {OP("Asin", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {-1.6, 1.6}, .wants = {-1, 1}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}}},
    {OP("Asinh", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}}, .range = {RANGE_FIXED, .gives = {-10, 10}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("Atan", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}}, .range = {RANGE_FIXED, .gives = {-1.6, 1.6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Atanh", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {-4, 4}, .wants = {-0.99, 0.99}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9},
     .dangers = {{DANGER_DOMAIN, .inside = {-1, 1}}, {DANGER_POLE, .at = -1}, {DANGER_POLE, .at = 1}}},
    {OP("Cos", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-100, 100}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Cosh", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}}, .range = {RANGE_EXP, .wants = {-6, 6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_EXP}}},
    {OP("Erf", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-1, 1}}, .factors = {FACTORS_NONE}, .history = {.same_since = 9},
     .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("Exp", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_EXP, .wants = {-20, 6}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .dangers = {{DANGER_EXP, .power = 1}}},
    {OP("Log", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_LOG, .wants = {0.01, 1e4}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .dangers = {{DANGER_DOMAIN, .inside = {0, INFINITY}}, {DANGER_POLE}}},
    {OP("Reciprocal", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {0.05, 1e4}},
     .factors = {FACTORS_PRODUCT, .powers = {-1}}, .history = {.same_since = 1}, .dangers = {{DANGER_POLE}}},
    {OP("Sin", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-100, 100}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Sinh", 9), USUAL, .types = {{11, WITHOUT_BFLOAT16}}, .range = {RANGE_EXP, .wants = {-6, 6}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .dangers = {{DANGER_EXP}}},
    {OP("Sqrt", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_SQRT, .wants = {0, 1e4}}, .factors = {FACTORS_PRODUCT, .powers = {0.5}},
     .history = {.same_since = 1}, .dangers = {{DANGER_DOMAIN, .inside = {0, INFINITY}}}},
    {OP("Tan", 7), USUAL, .types = {{11, WITHOUT_BFLOAT16}},
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1.5, 1.5}}, .factors = {FACTORS_NONE},
     .history = {.same_since = 7}, .dangers = {{DANGER_NONE}}},
    {OP("Tanh", 1), USUAL, .types = {{11, WITHOUT_BFLOAT16}, {13, DTYPES_FLOAT}},
     .range = {RANGE_FIXED, .gives = {-1, 1}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .dangers = {{DANGER_EXP}}},
    {0},
};
