/* Functions of one element: those of a mathematical library, activations, steps. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS = 2, BATCH = 4096 };

struct function {
    const char *name;
    void (*value)(mpfr_t y, mpfr_srcptr x, mpfr_t *p);
    double low, high; /* of ordinary arguments */
    const char *params[PARAMS];
    float defaults[PARAMS];
    const char *word, *choice; /* an attribute that is a word, and its value */
};

#define LIBRARY(name)                                           \
    static void true_##name(mpfr_t y, mpfr_srcptr x, mpfr_t *p) \
    {                                                           \
        (void)p;                                                \
        mpfr_##name(y, x, MPFR_RNDN);                           \
    }
LIBRARY(acos)
LIBRARY(acosh)
LIBRARY(asin)
LIBRARY(asinh)
LIBRARY(atan)
LIBRARY(atanh)
LIBRARY(cos)
LIBRARY(cosh)
LIBRARY(erf)
LIBRARY(exp)
LIBRARY(log)
LIBRARY(sin)
LIBRARY(sinh)
LIBRARY(sqrt)
LIBRARY(tan)
LIBRARY(tanh)
LIBRARY(abs)
LIBRARY(neg)

static void reciprocal(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_ui_div(y, 1, x, MPFR_RNDN);
}

static void ceiling(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_rint_ceil(y, x, MPFR_RNDN);
}

static void floored(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_rint_floor(y, x, MPFR_RNDN);
}

static void rounded(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_rint_roundeven(y, x, MPFR_RNDN);
}

static void sign(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    if (mpfr_nan_p(x))
        mpfr_set_nan(y);
    else
        mpfr_set_si(y, mpfr_sgn(x), MPFR_RNDN);
}

static void relu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    if (!mpfr_nan_p(x) && mpfr_sgn(x) < 0)
        mpfr_set_zero(y, 1);
    else
        mpfr_set(y, x, MPFR_RNDN);
}

/* factor * (exp(x / width) - 1) below 0, x from there on. */
static void exponential_unit(mpfr_t y, mpfr_srcptr x, mpfr_srcptr factor, mpfr_srcptr width)
{
    if (mpfr_nan_p(x) || mpfr_sgn(x) >= 0) {
        mpfr_set(y, x, MPFR_RNDN);
        return;
    }
    mpfr_div(y, x, width, MPFR_RNDN);
    mpfr_expm1(y, y, MPFR_RNDN);
    mpfr_mul(y, y, factor, MPFR_RNDN);
}

static void celu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    exponential_unit(y, x, p[0], p[0]);
}

static void elu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    mpfr_t one;
    mpfr_init_set_ui(one, 1, MPFR_RNDN);
    exponential_unit(y, x, p[0], one);
    mpfr_clear(one);
}

static void selu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    elu(y, x, p);
    mpfr_mul(y, y, p[1], MPFR_RNDN);
}

/* x (1 + erf(x / sqrt 2)) / 2: the sum without cancellation is erfc(-x / sqrt 2). */
static void gelu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_set_ui(y, 2, MPFR_RNDN);
    mpfr_sqrt(y, y, MPFR_RNDN);
    mpfr_div(y, x, y, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_erfc(y, y, MPFR_RNDN);
    mpfr_mul(y, y, x, MPFR_RNDN);
    mpfr_div_ui(y, y, 2, MPFR_RNDN);
}

/* 1 / (1 + exp(-x)) */
static void logistic(mpfr_t y, mpfr_srcptr x)
{
    mpfr_neg(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static void sigmoid(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    logistic(y, x);
}

/* x (1 + tanh t) / 2 with t = sqrt(2 / pi) (x + 0.044715 x^3), which is x / (1 + exp(-2 t)). */
static void gelu_tanh(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_t t, c;
    mpfr_inits(t, c, (mpfr_ptr)0);
    mpfr_set_str(c, "0.044715", 10, MPFR_RNDN);
    mpfr_sqr(t, x, MPFR_RNDN);
    mpfr_mul(t, t, x, MPFR_RNDN);
    mpfr_mul(t, t, c, MPFR_RNDN);
    mpfr_add(t, t, x, MPFR_RNDN);
    mpfr_const_pi(c, MPFR_RNDN);
    mpfr_ui_div(c, 2, c, MPFR_RNDN);
    mpfr_sqrt(c, c, MPFR_RNDN);
    mpfr_mul(t, t, c, MPFR_RNDN);
    mpfr_mul_ui(t, t, 2, MPFR_RNDN);
    logistic(t, t);
    mpfr_mul(y, x, t, MPFR_RNDN);
    mpfr_clears(t, c, (mpfr_ptr)0);
}

/* Bounds to [low, high]; NaN stays. */
static void clamp(mpfr_t y, long low, long high)
{
    if (mpfr_nan_p(y))
        return;
    if (mpfr_cmp_si(y, low) < 0)
        mpfr_set_si(y, low, MPFR_RNDN);
    if (mpfr_cmp_si(y, high) > 0)
        mpfr_set_si(y, high, MPFR_RNDN);
}

static void hard_sigmoid(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    mpfr_fma(y, p[0], x, p[1], MPFR_RNDN);
    clamp(y, 0, 1);
}

/* x max(0, min(1, x / 6 + 1 / 2)) */
static void hard_swish(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_t t;
    mpfr_init(t);
    mpfr_add_ui(t, x, 3, MPFR_RNDN);
    clamp(t, 0, 6);
    mpfr_mul(y, x, t, MPFR_RNDN);
    mpfr_div_ui(y, y, 6, MPFR_RNDN);
    mpfr_clear(t);
}

static void leaky_relu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    if (!mpfr_nan_p(x) && mpfr_sgn(x) < 0)
        mpfr_mul(y, x, p[0], MPFR_RNDN);
    else
        mpfr_set(y, x, MPFR_RNDN);
}

static void softplus(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_exp(y, x, MPFR_RNDN);
    mpfr_log1p(y, y, MPFR_RNDN);
}

static void mish(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    softplus(y, x, p);
    mpfr_tanh(y, y, MPFR_RNDN);
    mpfr_mul(y, y, x, MPFR_RNDN);
}

static void softsign(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    (void)p;
    mpfr_t t;
    mpfr_init(t);
    mpfr_abs(t, x, MPFR_RNDN);
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_div(y, x, t, MPFR_RNDN);
    mpfr_clear(t);
}

static void thresholded_relu(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    if (mpfr_greater_p(x, p[0]))
        mpfr_set(y, x, MPFR_RNDN);
    else
        mpfr_set_zero(y, 1);
}

/* x + bias below -lambd, x - bias above lambd, 0 between. p: lambd, bias. */
static void shrink(mpfr_t y, mpfr_srcptr x, mpfr_t *p)
{
    if (mpfr_greater_p(x, p[0])) {
        mpfr_sub(y, x, p[1], MPFR_RNDN);
        return;
    }
    mpfr_neg(y, p[0], MPFR_RNDN);
    if (mpfr_less_p(x, y))
        mpfr_add(y, x, p[1], MPFR_RNDN);
    else
        mpfr_set_zero(y, 1);
}

static const struct function functions[] = {
    {"Abs", true_abs, -9, 9},
    {"Acos", true_acos, -1, 1},
    {"Acosh", true_acosh, 1, 20},
    {"Asin", true_asin, -1, 1},
    {"Asinh", true_asinh, -20, 20},
    {"Atan", true_atan, -20, 20},
    {"Atanh", true_atanh, -1, 1},
    {"Ceil", ceiling, -9, 9},
    {"Celu", celu, -8, 8, .params = {"alpha"}, .defaults = {1}},
    {"Cos", true_cos, -20, 20},
    {"Cosh", true_cosh, -10, 10},
    {"Elu", elu, -8, 8, .params = {"alpha"}, .defaults = {1}},
    {"Erf", true_erf, -4, 4},
    {"Exp", true_exp, -20, 20},
    {"Floor", floored, -9, 9},
    {"Gelu", gelu, -6, 6},
    {"Gelu", gelu_tanh, -6, 6, .word = "approximate", .choice = "tanh"},
    {"HardSigmoid", hard_sigmoid, -4, 4, .params = {"alpha", "beta"}, .defaults = {0.2f, 0.5f}},
    {"HardSwish", hard_swish, -5, 5},
    {"LeakyRelu", leaky_relu, -9, 9, .params = {"alpha"}, .defaults = {0.01f}},
    {"Log", true_log, 0, 20},
    {"Mish", mish, -20, 20},
    {"Neg", true_neg, -9, 9},
    {"Reciprocal", reciprocal, -9, 9},
    {"Relu", relu, -9, 9},
    {"Round", rounded, -9, 9},
    {"Selu", selu, -8, 8, .params = {"alpha", "gamma"},
     .defaults = {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"Shrink", shrink, -2, 2, .params = {"lambd", "bias"}, .defaults = {0.5f, 0}},
    {"Sigmoid", sigmoid, -30, 30},
    {"Sign", sign, -2, 2},
    {"Sin", true_sin, -20, 20},
    {"Sinh", true_sinh, -10, 10},
    {"Softplus", softplus, -100, 100},
    {"Softsign", softsign, -100, 100},
    {"Sqrt", true_sqrt, 0, 20},
    {"Tan", true_tan, -20, 20},
    {"Tanh", true_tanh, -10, 10},
    {"ThresholdedRelu", thresholded_relu, -3, 3, .params = {"alpha"}, .defaults = {1}},
};

/* One batch of points with one choice of attributes: the defaults, or random ones. */
static void check_batch(const struct function *f, struct tally *tally, const long double *points,
                        size_t count, struct rng *rng, bool defaults)
{
    struct arena arena;
    arena_init(&arena);
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    mpfr_t p[PARAMS], x, y;
    for (int k = 0; k < PARAMS; k++) {
        float value =
            defaults || rng_chance(rng, 0.3) ? f->defaults[k] : (float)rng_range(rng, 1, 40) / 16.0f;
        if (!defaults && rng_chance(rng, 0.3))
            value = (float)rng_uniform(rng, 0, 3);
        mpfr_init_set_d(p[k], (double)value, MPFR_RNDN);
        if (f->params[k])
            node_set_float(&arena, &node, f->params[k], value);
    }
    if (f->word)
        node_set_string(&arena, &node, f->word, f->choice);
    mpfr_inits(x, y, (mpfr_ptr)0);
    struct bounded in, out;
    const struct bounded *inputs[] = {&in};
    struct error err = {0};
    truth_input(&in, tally->type, points, count);
    struct op_call call = truth_call(op_find(f->name), &node, 1, inputs, &out, &err);
    if (truth_run(&call)) {
        for (size_t i = 0; i < count; i++) {
            mpfr_set_ld(x, in.value[i], MPFR_RNDN);
            f->value(y, x, p);
            snprintf(truth_place, sizeof truth_place, "at %.21Lg, attributes %g %g", in.value[i],
                     mpfr_get_d(p[0], MPFR_RNDN), mpfr_get_d(p[1], MPFR_RNDN));
            truth_check(tally, &out, i, y);
        }
        bounded_release(&out);
    }
    bounded_release(&in);
    mpfr_clears(x, y, p[0], p[1], (mpfr_ptr)0);
    arena_release(&arena);
}

static void check_function(const struct function *f, enum dtype type, size_t count, struct rng *rng)
{
    char name[48];
    snprintf(name, sizeof name, "%s%s%s", f->name, f->word ? " " : "", f->word ? f->choice : "");
    struct tally *tally = tally_of(name, type);
    long double *points = malloc(count * sizeof *points);
    if (!points)
        abort();
    points_fill(type, points, count, f->low, f->high, rng);
    /* The specials, which come first, with several attributes. */
    for (int again = 0; f->params[0] && again < 4; again++)
        check_batch(f, tally, points, count < 100 ? count : 100, rng, false);
    for (size_t i = 0; i < count; i += BATCH)
        check_batch(f, tally, points + i, count - i < BATCH ? count - i : BATCH, rng,
                    i == 0 || rng_chance(rng, 0.5));
    free(points);
}

void check_functions(size_t count, uint64_t seed, const char *only)
{
    struct rng root = rng_seed(seed);
    mpfr_set_default_prec(PRECISION_FUNCTION);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct op *op = op_find(functions[k].name);
        if (!op)
            abort();
        if (!strstr(op->name, only))
            continue;
        struct rng rng = rng_split(&root, k);
        for (enum dtype type = 1; type < DTYPE_COUNT; type++)
            if (dtype_in(type, op_types_at(op, 21)))
                check_function(&functions[k], type, points_share(count, type), &rng);
    }
}
