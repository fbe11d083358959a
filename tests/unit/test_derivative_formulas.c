/*
 * The formulas by which implementations differentiate elementwise functions, Softmax and products, computed
 * in float32 and in halves, from the argument or from the result, with the errors of a fair library and with
 * or without flushing of subnormals: whatever they give is within the hard bound, or the element is
 * undecided.
 */
#include "base/arena.h"
#include "base/memory.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 1500 };

/* One element as an implementation sees it. */
struct point {
    enum dtype type;
    bool flush;
    long double off;        /* of library functions, in units */
    long double g, x, z, y; /* upstream, operands, result */
    long double p, q;       /* attributes */
};

/* Every operation rounds. */
static long double rounded(const struct point *k, long double v)
{
    v = dtype_round(k->type, v);
    bool lost = k->flush && fabsl(v) < dtype_precision(k->type).tiny && k->type != DTYPE_FLOAT16;
    return lost ? 0 : v;
}

/* A library function errs by some units besides. */
static long double library(const struct point *k, long double v)
{
    return rounded(k, v * (1 + k->off * dtype_precision(k->type).unit));
}

#define R(v) rounded(k, v)
#define L(v) library(k, v)
#define FORMULA(name, value)                            \
    static long double name(const struct point *k)      \
    {                                                   \
        const long double g = k->g, x = k->x, y = k->y; \
        (void)g, (void)x, (void)y;                      \
        return value;                                   \
    }

FORMULA(acos_root, R(-g / L(sqrtl(R(1 - R(x * x))))))
FORMULA(acos_factors, R(g * -L(1 / R(sqrtl(R(R(1 - x) * R(1 + x)))))))
FORMULA(asin_root, R(g / R(sqrtl(R(1 - R(x * x))))))
FORMULA(asin_inverse, R(g *L(1 / sqrtl(R(R(-x * x) + 1)))))
FORMULA(acosh_root, R(g / R(sqrtl(R(R(x * x) - 1)))))
FORMULA(acosh_factors, R(g / R(R(sqrtl(R(x - 1))) * R(sqrtl(R(x + 1))))))
FORMULA(asinh_root, R(g / R(sqrtl(R(1 + R(x * x))))))
FORMULA(asinh_inverse, R(g *L(1 / sqrtl(R(R(x * x) + 1)))))
FORMULA(atan_square, R(g / R(R(x * x) + 1)))
FORMULA(atan_inverse, R(g *R(1 / R(R(x * x) + 1))))
FORMULA(atanh_square, R(g / R(1 - R(x * x))))
FORMULA(atanh_inverse, R(g *R(1 / R(1 - R(x * x)))))
FORMULA(cos_sin, R(-g *L(sinl(x))))
FORMULA(cosh_sinh, R(g *L(sinhl(x))))
FORMULA(cosh_exps, R(g *R(R(L(expl(x)) - L(expl(-x))) / 2)))
FORMULA(erf_exp, R(R(g *R(1.12837916709551257390L)) * L(expl(-R(x * x)))))
FORMULA(erf_parts, R(R(R(2 / R(sqrtl(3.14159265358979323846L))) * L(expl(-R(x * x)))) * g))
FORMULA(exp_result, R(g *y))
FORMULA(log_quotient, R(g / x))
FORMULA(log_inverse, R(g *R(1 / x)))
FORMULA(reciprocal_result, R(-g *R(y *y)))
FORMULA(reciprocal_steps, R(R(-g *y) * y))
FORMULA(reciprocal_square, R(-g / R(x * x)))
FORMULA(reciprocal_divisions, R(R(-g / x) / x))
FORMULA(sin_cos, R(g *L(cosl(x))))
FORMULA(sinh_cosh, R(g *L(coshl(x))))
FORMULA(sinh_exps, R(g *R(R(L(expl(x)) + L(expl(-x))) / 2)))
FORMULA(sqrt_result, R(g / R(2 * y)))
FORMULA(sqrt_half, R(R(g * 0.5L) / y))
FORMULA(sqrt_inverse, R(g *R(0.5L * L(1 / sqrtl(x)))))
FORMULA(tan_result, R(g *R(1 + R(y * y))))
FORMULA(tan_cos, R(g / R(L(cosl(x)) * L(cosl(x)))))
FORMULA(tanh_result, R(g *R(1 - R(y * y))))
FORMULA(tanh_factors, R(g *R(R(1 - y) * R(1 + y))))
FORMULA(sigmoid_result, R(R(g *R(1 - y)) * y))
FORMULA(sigmoid_product, R(g *R(y *R(1 - y))))
FORMULA(sigmoid_exp, R(g *R(L(expl(-x)) / R(R(1 + L(expl(-x))) * R(1 + L(expl(-x)))))))
FORMULA(softplus_sigmoid, R(g *R(1 / R(1 + L(expl(-x))))))
FORMULA(softplus_quotient, R(R(g *L(expl(x))) / R(1 + L(expl(x)))))
FORMULA(softplus_result, R(g *R(1 - L(expl(-y)))))
FORMULA(softsign_square, R(g / R(R(1 + fabsl(x)) * R(1 + fabsl(x)))))
FORMULA(softsign_result, R(g *R(R(1 - fabsl(y)) * R(1 - fabsl(y)))))
FORMULA(softsign_rule, R(R(g / R(1 + fabsl(x))) -
                         R(R(R(g * x) / R(R(1 + fabsl(x)) * R(1 + fabsl(x)))) * copysignl(x != 0, x))))
FORMULA(elu_result, x > 0 ? g : R(g * R(y + R(k->p))))
FORMULA(elu_sign_of_result, y >= 0 ? g : R(g * R(y + R(k->p))))
FORMULA(elu_exp, x > 0 ? g : R(R(g * R(k->p)) * L(expl(x))))
FORMULA(celu_result, x > 0 ? g : R(g * R(R(y / R(k->p)) + 1)))
FORMULA(celu_exp, x > 0 ? g : R(g * L(expl(R(x / R(k->p))))))
FORMULA(selu_result, x > 0 ? R(g * R(k->q)) : R(g * R(y + R(R(k->q) * R(k->p)))))
FORMULA(selu_exp, x > 0 ? R(g * R(k->q)) : R(R(g * R(R(k->q) * R(k->p))) * L(expl(x))))
FORMULA(leaky_argument, x > 0 ? g : R(g * R(k->p)))
FORMULA(hard_sigmoid_line,
        R(R(R(k->p) * x) + R(k->q)) > 0 && R(R(R(k->p) * x) + R(k->q)) < 1 ? R(g * R(k->p)) : 0)
FORMULA(hard_sigmoid_closed,
        R(R(R(k->p) * x) + R(k->q)) >= 0 && R(R(R(k->p) * x) + R(k->q)) <= 1 ? R(g * R(k->p)) : 0)
FORMULA(hard_swish_branches, x<-3 ? 0 : x> 3 ? g : R(g *R(R(x / 3) + 0.5L)))
FORMULA(relu_argument, x > 0 ? g : 0)

static long double normal_cdf(const struct point *k)
{
    return R(0.5L * R(1 + L(erfl(R(k->x * R(0.70710678118654752440L))))));
}

static long double gelu_parts(const struct point *k)
{
    long double density = R(L(expl(R(R(-0.5L * k->x) * k->x))) * R(0.39894228040143267794L));
    return R(k->g * R(normal_cdf(k) + R(k->x * density)));
}

static long double gelu_tanh_parts(const struct point *k)
{
    long double x = k->x, c = R(0.79788456080286535588L), square = R(x * x);
    long double t = L(tanhl(R(c * R(x + R(R(0.044715L) * R(square * x))))));
    long double inner = R(c * R(1 + R(R(3 * R(0.044715L)) * square)));
    long double left = R(0.5L * R(1 + t)), right = R(R(R(0.5L * x) * R(1 - R(t * t))) * inner);
    return R(k->g * R(left + right));
}

static long double mish_parts(const struct point *k)
{
    long double x = k->x, plus = x > 20 ? x : L(log1pl(L(expl(x)))), t = L(tanhl(plus));
    long double s = R(1 / R(1 + L(expl(-x))));
    return R(k->g * R(t + R(R(x * s) * R(1 - R(t * t)))));
}

/* What the result may be off by besides, in units of 1, clamped to [low, high]: see the bounds of the forward
 * functions. */
struct formula {
    const char *op;
    int opset;
    const char *word, *value; /* a string attribute */
    double low, high;         /* where it is tried most often */
    double p, q;              /* attributes alpha and beta or gamma */
    const char *names[2];
    bool scale_one;
    long double (*slope[4])(const struct point *k);
};

static const struct formula formulas[] = {
    {"Acos", 7, .low = -1, .high = 1, .slope = {acos_root, acos_factors}},
    {"Acosh", 9, .low = 1, .high = 3, .slope = {acosh_root, acosh_factors}},
    {"Asin", 7, .low = -1, .high = 1, .slope = {asin_root, asin_inverse}},
    {"Asinh", 9, .low = -20, .high = 20, .slope = {asinh_root, asinh_inverse}},
    {"Atan", 7, .low = -20, .high = 20, .slope = {atan_square, atan_inverse}},
    {"Atanh", 9, .low = -1, .high = 1, .slope = {atanh_square, atanh_inverse}},
    {"Celu", 12, .low = -10, .high = 10, .p = 1.5, .names = {"alpha"}, .slope = {celu_result, celu_exp}},
    {"Cos", 7, .low = -7, .high = 7, .slope = {cos_sin}},
    {"Cosh", 9, .low = -100, .high = 100, .slope = {cosh_sinh, cosh_exps}},
    {"Elu", 6, .low = -20, .high = 100, .p = 1, .names = {"alpha"},
     .slope = {elu_result, elu_exp, elu_sign_of_result}},
    {"Elu", 6, .low = -20, .high = 20, .p = 0.3, .names = {"alpha"},
     .slope = {elu_result, elu_exp, elu_sign_of_result}},
    {"Erf", 9, .low = -6, .high = 6, .slope = {erf_exp, erf_parts}},
    {"Exp", 6, .low = -110, .high = 95, .slope = {exp_result}},
    {"Gelu", 20, .word = "approximate", .value = "none", .low = -9, .high = 9, .slope = {gelu_parts}},
    {"Gelu", 20, .word = "approximate", .value = "tanh", .low = -9, .high = 9, .slope = {gelu_tanh_parts}},
    {"HardSigmoid", 6, .low = -4, .high = 4, .p = 0.2, .q = 0.5, .names = {"alpha", "beta"},
     .slope = {hard_sigmoid_line, hard_sigmoid_closed}},
    {"HardSwish", 14, .low = -5, .high = 5, .slope = {hard_swish_branches}},
    {"LeakyRelu", 6, .low = -5, .high = 5, .p = 0.1, .names = {"alpha"}, .slope = {leaky_argument}},
    {"Log", 6, .low = 0, .high = 20, .slope = {log_quotient, log_inverse}},
    {"Mish", 18, .low = -20, .high = 20, .slope = {mish_parts}},
    {"Reciprocal", 6, .low = -2, .high = 2,
     .slope = {reciprocal_result, reciprocal_steps, reciprocal_square, reciprocal_divisions}},
    {"Relu", 6, .low = -2, .high = 2, .slope = {relu_argument}},
    {"Selu", 6, .low = -20, .high = 20, .p = 1.6732632, .q = 1.050701, .names = {"alpha", "gamma"},
     .slope = {selu_result, selu_exp}},
    {"Sigmoid", 6, .low = -100, .high = 30, .scale_one = true,
     .slope = {sigmoid_result, sigmoid_product, sigmoid_exp}},
    {"Sin", 7, .low = -7, .high = 7, .slope = {sin_cos}},
    {"Sinh", 9, .low = -100, .high = 100, .slope = {sinh_cosh, sinh_exps}},
    {"Softplus", 1, .low = -100, .high = 100,
     .slope = {softplus_sigmoid, softplus_quotient, softplus_result}},
    {"Softsign", 1, .low = -9, .high = 9, .slope = {softsign_square, softsign_result, softsign_rule}},
    {"Sqrt", 6, .low = 0, .high = 9, .slope = {sqrt_result, sqrt_half, sqrt_inverse}},
    {"Tan", 7, .low = -3, .high = 3, .slope = {tan_result, tan_cos}},
    {"Tanh", 6, .low = -10, .high = 10, .scale_one = true, .slope = {tanh_result, tanh_factors}},
};

/* Numbers of a type: ordinary, of any size, beside whole numbers, and the ends of what it holds. */
static long double draw_number(struct rng *rng, enum dtype type, double low, double high)
{
    struct dtype_precision p = dtype_precision(type);
    long double most = dtype_highest(type), x = rng_uniform(rng, low, high);
    if (rng_chance(rng, 0.2))
        x = copysignl(expl(rng_uniform(rng, (double)logl(p.tiny) - 3, (double)logl(most))), x);
    else if (rng_chance(rng, 0.15))
        x = roundl(x) + (long double)rng_range(rng, -3, 3) * p.unit;
    else if (rng_chance(rng, 0.03))
        x = rng_chance(rng, 0.5) ? most : p.tiny;
    return dtype_round(type, x);
}

/* A node with its inputs, all of one type and of POINTS elements, its output and its gradient. */
struct node {
    struct arena arena;
    struct draw draw;
    struct bounded inputs[2], out, upstream, slopes[2];
    struct error err;
};

static void node_init(struct node *n, const char *name, int opset, enum dtype type)
{
    *n = (struct node){.err = {0}};
    arena_init(&n->arena);
    draw_init(&n->draw, &n->arena, op_find(name), opset, type, FILL_NORMAL, rng_seed(1));
}

static void node_release(struct node *n)
{
    for (int i = 0; i < 2; i++) {
        bounded_release(&n->inputs[i]);
        bounded_release(&n->slopes[i]);
    }
    bounded_release(&n->out);
    bounded_release(&n->upstream);
    draw_release(&n->draw);
    arena_release(&n->arena);
}

static void give(struct node *n, struct bounded *b, enum dtype type, const struct shape *shape,
                 struct rng *rng, double low, double high)
{
    struct tensor t;
    assert_int_equal(tensor_alloc(&t, type, shape, 0, &n->err), 0);
    for (size_t i = 0; i < t.count; i++)
        tensor_set(&t, i, draw_number(rng, type, low, high));
    assert_int_equal(bounded_from_tensor(b, &t, &n->err), 0);
    tensor_release(&t);
}

static void differentiate(struct node *n, size_t n_inputs, struct bounded *out)
{
    const struct bounded *inputs[] = {&n->inputs[0], &n->inputs[1]}, *upstream[] = {&n->upstream};
    const bool wanted[] = {true, true};
    struct op_call call = {.op = n->draw.op,
                           .node = n->draw.node,
                           .opset = n->draw.opset,
                           .n_inputs = n_inputs,
                           .inputs = inputs,
                           .n_outputs = 1,
                           .outputs = out,
                           .err = &n->err};
    struct op_gradient g = {.call = &call, .upstream = upstream, .wanted = wanted, .slopes = n->slopes};
    assert_int_equal(call.op->eval(&call), 0);
    assert_int_equal(call.op->gradient(&g), 0);
}

/* How much was decided, so that no operator passes because nothing was. */
struct count {
    size_t elements, decided;
    long double worst; /* error over bound */
};

static void check(const char *op, int formula, const struct bounded *slope, size_t i, const struct point *k,
                  long double result, struct count *count)
{
    double hard = bounded_hard(slope, i);
    count->elements++;
    if (isinf(hard))
        return;
    count->decided++;
    long double error = result == slope->value[i] ? 0 : fabsl(result - slope->value[i]); /* also infinities */
    if (error <= hard) {
        count->worst = hard > 0 ? fmaxl(count->worst, error / hard) : count->worst;
        return;
    }
    print_error("%s, formula %d in %s%s: %.9Lg, but %.9Lg within %g; g = %.9Lg, x = %.9Lg, y = %.9Lg, "
                "operand %.9Lg, %Lg units\n",
                op, formula, dtype_name(k->type), k->flush ? " flushed" : "", result, slope->value[i], hard,
                k->g, k->x, k->y, k->z, k->off);
    fail();
}

/* The result of the operator as an implementation has it. */
static long double result_of(const struct point *k, long double exact, bool scale_one)
{
    long double y = library(k, exact), unit = dtype_precision(k->type).unit;
    if (!scale_one)
        return y;
    return rounded(k, fmaxl(exact < 0 ? -1 : 0, fminl(1, y + k->off * unit)));
}

static struct point point_at(const struct node *n, size_t i, struct rng *rng)
{
    struct point k = {
        .type = n->inputs[0].type, .flush = rng_chance(rng, 0.3), .off = rng_uniform(rng, -3, 3)};
    k.x = rounded(&k, n->inputs[0].value[i]);
    k.z = n->inputs[1].value ? rounded(&k, n->inputs[1].value[i]) : 0;
    k.g = rounded(&k, n->upstream.value[i]);
    return k;
}

static void try_formulas(const struct formula *f, enum dtype type)
{
    struct node n;
    struct rng rng = rng_seed(7);
    struct shape shape = {1, {POINTS}};
    struct count count = {0};
    node_init(&n, f->op, f->opset, type);
    if (f->word)
        draw_string(&n.draw, f->word, f->value);
    for (int i = 0; i < 2; i++)
        if (f->names[i])
            draw_float(&n.draw, f->names[i], (float)(i == 0 ? f->p : f->q));
    give(&n, &n.inputs[0], type, &shape, &rng, f->low, f->high);
    give(&n, &n.upstream, type, &shape, &rng, -3, 3);
    differentiate(&n, 1, &n.out);
    for (size_t i = 0; i < POINTS; i++)
        for (int s = 0; s < 4 && f->slope[s]; s++) {
            struct point k = point_at(&n, i, &rng);
            k.p = (float)f->p;
            k.q = (float)f->q;
            k.y = result_of(&k, n.out.value[i], f->scale_one);
            check(f->op, s, &n.slopes[0], i, &k, f->slope[s](&k), &count);
        }
    print_message("%-12s %-9s %3.0f%% decided, worst error %.2Lf of the bound\n", f->op, dtype_name(type),
                  100 * (double)count.decided / (double)count.elements, count.worst);
    assert_true(count.decided > count.elements / 10);
    node_release(&n);
}

static void test_elementwise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_FLOAT16, DTYPE_BFLOAT16};
        for (size_t t = 0; t < 3; t++)
            if (dtype_in(types[t], op_types_at(op_find(formulas[i].op), 21)))
                try_formulas(&formulas[i], types[t]);
    }
}

/* ---- two operands ---- */

FORMULA(div_by_a, R(g / k->z))
FORMULA(div_by_a_inverse, R(g *R(1 / k->z)))
FORMULA(div_square, R(-R(g *x) / R(k->z * k->z)))
FORMULA(div_quotients, R(-R(g / k->z) * R(x / k->z)))
FORMULA(div_twice, R(-g *R(R(x / k->z) / k->z)))
FORMULA(div_result, R(-R(g *y) / k->z))
FORMULA(pow_direct, R(g *R(k->z *L(powl(x, R(k->z - 1))))))
FORMULA(pow_steps, R(R(g * k->z) * L(powl(x, R(k->z - 1)))))
FORMULA(pow_quotient, R(g *R(R(k->z *y) / x)))
FORMULA(pow_log, R(g *R(y *L(logl(x)))))
FORMULA(pow_log_steps, R(R(g *y) * L(logl(x))))
FORMULA(mul_by_a, R(g * k->z))
FORMULA(mul_by_b, R(g *x))

struct pair_formula {
    const char *op;
    double low, high, low_b, high_b;
    long double (*by_a[3])(const struct point *k), (*by_b[4])(const struct point *k);
};

static const struct pair_formula pairs[] = {
    {"Div", -3, 3, -3, 3, {div_by_a, div_by_a_inverse}, {div_square, div_quotients, div_twice, div_result}},
    {"Mul", -3, 3, -3, 3, {mul_by_a}, {mul_by_b}},
    {"Pow", 0, 4, -3, 5, {pow_direct, pow_steps, pow_quotient}, {pow_log, pow_log_steps}},
};

static void try_pair(const struct pair_formula *f, enum dtype type)
{
    struct node n;
    struct rng rng = rng_seed(11);
    struct shape shape = {1, {POINTS}};
    struct count count = {0};
    node_init(&n, f->op, 15, type);
    give(&n, &n.inputs[0], type, &shape, &rng, f->low, f->high);
    give(&n, &n.inputs[1], type, &shape, &rng, f->low_b, f->high_b);
    give(&n, &n.upstream, type, &shape, &rng, -3, 3);
    differentiate(&n, 2, &n.out);
    for (size_t i = 0; i < POINTS; i++) {
        struct point k = point_at(&n, i, &rng);
        k.y = f->by_b[0] == pow_log ? result_of(&k, n.out.value[i], false) : rounded(&k, n.out.value[i]);
        for (int s = 0; s < 3 && f->by_a[s]; s++)
            /* 0/0, which no implementation leaves alone, and the square, which none computes so. */
            if (f->by_a[s] != pow_quotient || (k.x != 0 && k.z != 2))
                check(f->op, s, &n.slopes[0], i, &k, f->by_a[s](&k), &count);
        for (int s = 0; s < 4 && f->by_b[s]; s++)
            check(f->op, s, &n.slopes[1], i, &k, f->by_b[s](&k), &count);
    }
    print_message("%-12s %-9s %3.0f%% decided, worst error %.2Lf of the bound\n", f->op, dtype_name(type),
                  100 * (double)count.decided / (double)count.elements, count.worst);
    assert_true(count.decided > count.elements / 10);
    node_release(&n);
}

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        try_pair(&pairs[i], DTYPE_FLOAT);
        try_pair(&pairs[i], DTYPE_FLOAT16);
        try_pair(&pairs[i], DTYPE_BFLOAT16);
    }
}

/* ---- lanes ---- */

enum { LANE = 6, LANES = 300 };

/* A lane as an implementation sees it: k.x, k.y and k.g of its elements. */
struct seen {
    struct point k[LANE];
};

static long double softmax_difference(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    long double sum = 0;
    for (size_t j = 0; j < LANE; j++)
        sum = R(sum + R(lane->k[j].g * lane->k[j].y));
    return R(k->y * R(k->g - sum));
}

static long double softmax_products(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    long double sum = 0;
    for (size_t j = LANE; j-- > 0;)
        sum = R(sum + R(lane->k[j].g * lane->k[j].y));
    return R(R(k->g * k->y) - R(sum * k->y));
}

static long double log_softmax_exp(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    long double sum = 0;
    for (size_t j = 0; j < LANE; j++)
        sum = R(sum + lane->k[j].g);
    return R(k->g - R(L(expl(k->y)) * sum));
}

/* The reductions have one upstream number, that of the first element, and one result. */
static long double product_quotient(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    return R(R(lane->k[0].g * lane->k[0].y) / k->x);
}

static long double product_of_others(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    long double product = lane->k[0].g;
    for (size_t j = 0; j < LANE; j++)
        product = j == i ? product : R(product * lane->k[j].x);
    return product;
}

static long double norm_quotient(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    return R(k->x * R(lane->k[0].g / lane->k[0].y));
}

static long double norm_product(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    return R(R(lane->k[0].g * k->x) / lane->k[0].y);
}

static long double norm_root(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    return R(R(R(lane->k[0].g * 0.5L) / lane->k[0].y) * R(2 * k->x));
}

static long double log_sum_exp_weight(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    return R(lane->k[0].g * L(expl(R(k->x - lane->k[0].y))));
}

/* m + log(sum exp(x - m)), step by step: at the maximum 1 minus the sum of the weights is added. */
static long double log_sum_exp_steps(const struct seen *lane, size_t i)
{
    const struct point *k = &lane->k[i];
    long double most = lane->k[0].x, sum = 0, back = 0;
    for (size_t j = 0; j < LANE; j++)
        most = fmaxl(most, lane->k[j].x);
    for (size_t j = 0; j < LANE; j++)
        sum = R(sum + L(expl(R(lane->k[j].x - most))));
    long double share = R(lane->k[0].g / sum);
    for (size_t j = 0; j < LANE; j++)
        back = R(back + R(share * L(expl(R(lane->k[j].x - most)))));
    long double own = R(share * L(expl(R(k->x - most))));
    return k->x == most ? R(own + R(lane->k[0].g - back)) : own;
}

struct lane_formula {
    const char *op;
    bool reduces;
    double low, high;
    long double (*slope[3])(const struct seen *lane, size_t i);
};

static const struct lane_formula lanes[] = {
    {"Softmax", false, -9, 9, {softmax_difference, softmax_products}},
    {"LogSoftmax", false, -9, 9, {log_softmax_exp}},
    {"ReduceProd", true, -2, 2, {product_quotient, product_of_others}},
    {"ReduceL2", true, -2, 2, {norm_quotient, norm_product, norm_root}},
    {"ReduceLogSumExp", true, -9, 9, {log_sum_exp_weight, log_sum_exp_steps}},
};

static struct seen see(const struct node *n, size_t lane, bool reduces, struct rng *rng)
{
    struct seen seen;
    for (size_t j = 0; j < LANE; j++) {
        size_t at = lane * LANE + j, from = reduces ? lane : at;
        struct point *k = &seen.k[j];
        *k =
            (struct point){.type = n->inputs[0].type, .flush = lane % 3 == 0, .off = rng_uniform(rng, -3, 3)};
        k->x = rounded(k, n->inputs[0].value[at]);
        k->g = rounded(k, n->upstream.value[from]);
        k->y = result_of(k, n->out.value[from], false);
    }
    return seen;
}

static void try_lanes(const struct lane_formula *f, enum dtype type)
{
    struct node n;
    struct rng rng = rng_seed(13);
    struct shape shape = {2, {LANES, LANE}}, reduced = {2, {LANES, 1}};
    struct count count = {0};
    node_init(&n, f->op, 13, type);
    if (f->reduces)
        draw_ints(&n.draw, "axes", (int64_t[]){1}, 1);
    give(&n, &n.inputs[0], type, &shape, &rng, f->low, f->high);
    give(&n, &n.upstream, type, f->reduces ? &reduced : &shape, &rng, -3, 3);
    differentiate(&n, 1, &n.out);
    for (size_t lane = 0; lane < LANES; lane++) {
        struct seen seen = see(&n, lane, f->reduces, &rng);
        for (size_t i = 0; i < LANE; i++)
            for (int s = 0; s < 3 && f->slope[s]; s++)
                if (f->slope[s] != product_quotient || seen.k[i].x != 0)
                    check(f->op, s, &n.slopes[0], lane * LANE + i, &seen.k[i], f->slope[s](&seen, i), &count);
    }
    print_message("%-15s %-9s %3.0f%% decided, worst error %.2Lf of the bound\n", f->op, dtype_name(type),
                  100 * (double)count.decided / (double)count.elements, count.worst);
    assert_true(count.decided > count.elements / 10);
    node_release(&n);
}

static void test_lanes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        try_lanes(&lanes[i], DTYPE_FLOAT);
        try_lanes(&lanes[i], DTYPE_BFLOAT16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
