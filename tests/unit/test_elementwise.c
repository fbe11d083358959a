/*
 * Elementwise operators: what they give at the edges, and that bounds of inputs become bounds of outputs.
 */
#include "ops/draw.h"
#include "ops/op.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_INPUTS = 8, MAX_OUTPUTS = 2, DRAWS = 150 };

/* One node evaluated on up to MAX_INPUTS inputs of its own. */
struct trial {
    struct arena arena;
    struct draw draw;
    size_t n_inputs;
    struct bounded in[MAX_INPUTS], out[MAX_OUTPUTS];
    const struct bounded *inputs[MAX_INPUTS];
    struct error err;
};

static void trial_init(struct trial *t, const char *name, int opset, enum dtype type, enum fill fill,
                       uint64_t seed)
{
    memset(t, 0, sizeof *t);
    arena_init(&t->arena);
    const struct op *op = op_find(name);
    assert_non_null(op);
    draw_init(&t->draw, &t->arena, op, opset, type, fill, rng_seed(seed));
}

static int trial_eval(struct trial *t)
{
    struct op_call call = {.op = t->draw.op,
                           .node = t->draw.node,
                           .opset = t->draw.opset,
                           .n_inputs = t->n_inputs,
                           .inputs = t->inputs,
                           .n_outputs = t->draw.n_outputs,
                           .outputs = t->out,
                           .err = &t->err};
    return call.op->eval(&call);
}

static void trial_release(struct trial *t)
{
    for (size_t k = 0; k < MAX_INPUTS; k++)
        bounded_release(&t->in[k]);
    for (size_t k = 0; k < MAX_OUTPUTS; k++)
        bounded_release(&t->out[k]);
    draw_release(&t->draw);
    arena_release(&t->arena);
}

/* The next input: `count` values in a row. */
static void give(struct trial *t, enum dtype type, size_t count, const long double *values)
{
    struct shape shape = {1, {(int64_t)count}};
    struct bounded *in = &t->in[t->n_inputs];
    assert_int_equal(bounded_alloc(in, type, &shape, false, &t->err), 0);
    memcpy(in->value, values, count * sizeof *values);
    t->inputs[t->n_inputs++] = in;
}

static bool same(long double a, long double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Edges of one operator of floats, without attributes. OPEN stands for a result the text leaves open. */
#define OPEN 12345.0L
struct edge {
    const char *name;
    long double x, y;
};

static void test_edges(void **state)
{
    (void)state;
    static const struct edge edges[] = {
        {"Relu", NAN, NAN},
        {"Relu", -3, 0},
        {"Sigmoid", NAN, NAN},
        {"Round", 0.5L, 0},
        {"Round", 1.5L, 2},
        {"Round", 2.5L, 2},
        {"Round", -0.5L, 0},
        {"Floor", -0.5L, -1},
        {"Floor", 0x1p33L, 0x1p33L},
        {"Ceil", -0.5L, 0},
        {"Sign", -INFINITY, -1},
        {"Sign", NAN, OPEN},
        {"Sqrt", -1, NAN},
        {"Log", 0, -INFINITY},
        {"Log", -1, NAN},
        {"Exp", 1000, INFINITY},
        {"Exp", -INFINITY, 0},
        {"Acos", 1.5L, NAN},
        {"Reciprocal", 0, OPEN}, /* which infinity: by the sign of the zero */
        {"Tanh", INFINITY, 1},
        {"Gelu", -INFINITY, OPEN},
        {"Softsign", INFINITY, OPEN},
        {"HardSwish", -4, 0},
        {"ThresholdedRelu", 1, 0},
        {"ThresholdedRelu", NAN, 0},
        {"Abs", -INFINITY, INFINITY},
        {"Elu", NAN, NAN},
        {"HardSigmoid", NAN, NAN},
        {"HardSigmoid", INFINITY, 1},
        {"Atanh", 1, INFINITY},
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        struct trial t;
        trial_init(&t, edges[i].name, 20, DTYPE_FLOAT, FILL_NORMAL, 1);
        give(&t, DTYPE_FLOAT, 1, &edges[i].x);
        assert_int_equal(trial_eval(&t), 0);
        bool open = isinf(bounded_hard(&t.out[0], 0));
        bool right = edges[i].y == OPEN ? open : !open && same(t.out[0].value[0], edges[i].y);
        if (!right)
            print_error("%s(%Lg) = %Lg\n", edges[i].name, edges[i].x, t.out[0].value[0]);
        assert_true(right);
        trial_release(&t);
    }
}

/* The clamped polynomials of ONNX Runtime 1.17.0 give a subnormal here; of -inf only 0 is right. */
static void test_exp_underflow(void **state)
{
    (void)state;
    static const long double x[] = {-1e300L, -INFINITY};
    struct trial t;
    trial_init(&t, "Exp", 13, DTYPE_DOUBLE, FILL_NORMAL, 1);
    give(&t, DTYPE_DOUBLE, 2, x);
    assert_int_equal(trial_eval(&t), 0);
    assert_true(bounded_hard(&t.out[0], 0) > 5.6e-309 && bounded_hard(&t.out[0], 0) < 1e-307);
    assert_true(bounded_hard(&t.out[0], 1) == bounded_hard(&t.out[0], 0));
    trial_release(&t);
}

struct binary_edge {
    const char *name;
    enum dtype type;
    int64_t fmod;
    long double a, b, y;
};

/* The sign of a zero counts where it was read; a computed one may have either. */
static void test_division_by_given_zero(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct trial t;
        trial_init(&t, "Div", 14, DTYPE_FLOAT, FILL_NORMAL, 1);
        t.draw.n_outputs = 1;
        give(&t, DTYPE_FLOAT, 2, (long double[]){1, 1});
        give(&t, DTYPE_FLOAT, 2, (long double[]){0, -0.0L});
        t.in[1].given = given;
        assert_int_equal(trial_eval(&t), 0);
        assert_true(t.out[0].value[0] == INFINITY && t.out[0].value[1] == -INFINITY);
        assert_true(isinf(bounded_hard(&t.out[0], 1)) == !given);
        trial_release(&t);
    }
}

static void test_binary_edges(void **state)
{
    (void)state;
    static const struct binary_edge edges[] = {
        {"Div", DTYPE_INT32, 0, -7, 2, -3},
        {"Div", DTYPE_INT32, 0, 7, 0, OPEN},
        {"Div", DTYPE_INT32, 0, -0x1p31L, -1, OPEN},
        {"Div", DTYPE_UINT64, 0, 0x1p64L - 1, 3, (0x1p64L - 1) / 3},
        {"Div", DTYPE_FLOAT, 0, 1, 0, OPEN},
        {"Div", DTYPE_FLOAT, 0, 0, 0, NAN},
        {"Mod", DTYPE_INT64, 0, -7, 3, 2},
        {"Mod", DTYPE_INT64, 1, -7, 3, -1},
        {"Mod", DTYPE_INT64, 0, 7, -3, -2},
        {"Mod", DTYPE_UINT64, 1, 0x1p64L - 1, 40, 15},
        {"Mod", DTYPE_FLOAT, 1, 1, 0, NAN},
        {"Mod", DTYPE_FLOAT, 1, 5, INFINITY, 5},
        {"Max", DTYPE_FLOAT, 0, NAN, 1, NAN},
        {"Min", DTYPE_FLOAT, 0, 1, NAN, NAN},
        {"Sub", DTYPE_UINT8, 0, 3, 5, 254},
        {"Add", DTYPE_INT8, 0, 127, 1, OPEN},
        {"Mul", DTYPE_FLOAT, 0, INFINITY, 0, NAN},
        {"Pow", DTYPE_FLOAT, 0, 0, -1, OPEN},
        {"Pow", DTYPE_FLOAT, 0, 0, -2, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, -0x1p63L, 0},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, 0x1p63L, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, 3, -INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, -3, 0},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, 0.5L, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -INFINITY, -INFINITY, 0},
        {"Pow", DTYPE_FLOAT, 0, INFINITY, -0.5L, 0},
        {"Pow", DTYPE_FLOAT, 0, 0, 3, 0},
        {"Pow", DTYPE_FLOAT, 0, 0, 0, 1},
        {"Pow", DTYPE_FLOAT, 0, NAN, 0, OPEN},
        {"Pow", DTYPE_FLOAT, 0, NAN, 2, NAN},
        {"Pow", DTYPE_FLOAT, 0, 1, 7, 1},
        {"Pow", DTYPE_FLOAT, 0, -1, 0x1p63L, 1},
        {"Pow", DTYPE_FLOAT, 0, -2, 3, -8},
        {"Pow", DTYPE_FLOAT, 0, -2, -0x1p63L, 0},
        {"Pow", DTYPE_FLOAT, 0, -2, 0x1p63L, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -2, 0.5L, NAN},
        {"Pow", DTYPE_FLOAT, 0, 0.5L, -INFINITY, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -3, INFINITY, INFINITY},
        {"Pow", DTYPE_FLOAT, 0, -0.5L, INFINITY, 0},
        {"Pow", DTYPE_INT32, 0, 3, 4, 81},
        {"Pow", DTYPE_INT32, 0, 2, -1, OPEN},
        {"Equal", DTYPE_FLOAT, 0, NAN, NAN, 0},
        {"LessOrEqual", DTYPE_INT64, 0, 0x1p62L, 0x1p62L + 1, 1},
        {"Clip", DTYPE_FLOAT, 0, NAN, 1, NAN},
        {"PRelu", DTYPE_FLOAT, 0, -2, 0.5L, -1},
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        struct trial t;
        trial_init(&t, edges[i].name, 20, edges[i].type, FILL_NORMAL, 1);
        if (edges[i].fmod)
            draw_int(&t.draw, "fmod", 1);
        give(&t, edges[i].type, 1, &edges[i].a);
        give(&t, edges[i].type, 1, &edges[i].b);
        assert_int_equal(trial_eval(&t), 0);
        bool open = isinf(bounded_hard(&t.out[0], 0));
        bool right = edges[i].y == OPEN ? open : !open && same(t.out[0].value[0], edges[i].y);
        if (!right)
            print_error("%s(%Lg, %Lg) = %Lg\n", edges[i].name, edges[i].a, edges[i].b, t.out[0].value[0]);
        assert_true(right);
        trial_release(&t);
    }
}

/* Whole exponents that the base's type does not hold: an engine may bring them into it, and odd ones become
 * even. */
static void test_large_exponents(void **state)
{
    static const struct {
        enum dtype base;
        long double x, y;
        bool decided;
    } rows[] = {{DTYPE_FLOAT, -1, 16777215, true},
                {DTYPE_FLOAT, -1, 16777217, false},
                {DTYPE_FLOAT, 1, 16777217, true},
                {DTYPE_FLOAT16, -1, 2049, false},
                {DTYPE_DOUBLE, -1, 9007199254740993L, false},
                {DTYPE_DOUBLE, -1, 16777217, true},
                {DTYPE_INT32, -1, 9007199254740993L, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial t;
        trial_init(&t, "Pow", 20, rows[i].base, FILL_NORMAL, 1);
        give(&t, rows[i].base, 1, &rows[i].x);
        give(&t, DTYPE_INT64, 1, &rows[i].y);
        assert_int_equal(trial_eval(&t), 0);
        assert_int_equal(isfinite(bounded_hard(&t.out[0], 0)) != 0, rows[i].decided);
        trial_release(&t);
    }
}

static void test_bitwise_not(void **state)
{
    (void)state;
    static const long double small[] = {-128, 0, 127}, large[] = {0, 18446744073709551615.0L, 5};
    struct trial t;
    trial_init(&t, "BitwiseNot", 18, DTYPE_INT8, FILL_NORMAL, 1);
    give(&t, DTYPE_INT8, 3, small);
    assert_int_equal(trial_eval(&t), 0);
    assert_true(t.out[0].value[0] == 127 && t.out[0].value[1] == -1 && t.out[0].value[2] == -128);
    trial_release(&t);
    trial_init(&t, "BitwiseNot", 18, DTYPE_UINT64, FILL_NORMAL, 1);
    give(&t, DTYPE_UINT64, 3, large);
    assert_int_equal(trial_eval(&t), 0);
    assert_true(t.out[0].value[0] == large[1] && t.out[0].value[1] == 0 && t.out[0].value[2] == large[1] - 5);
    trial_release(&t);
}

/* Means of large integers: no long double holds a sum beyond 2^64, and how an engine computes one is open. */
static void test_large_means(void **state)
{
    (void)state;
    static const struct {
        long double x[3];
        bool open;
        long double low, high;
    } rows[] = {
        {{0x1p63L, 0x1p63L - 1, 3}, true, 0, 0},
        {{0x1p63L, 0x1p62L, 5}, false, 4611686018427387905.0L, 4611686018427387906.0L},
        {{0x1p62L, 1, 1}, false, 1537228672809129302.0L, 1537228672809129302.0L},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial t;
        trial_init(&t, "ReduceMean", 18, DTYPE_UINT64, FILL_NORMAL, 1);
        give(&t, DTYPE_UINT64, 3, rows[i].x);
        assert_int_equal(trial_eval(&t), 0);
        long double v = t.out[0].value[0], h = bounded_hard(&t.out[0], 0);
        assert_true(isinf(h) == rows[i].open);
        assert_true(rows[i].open || (v - h <= rows[i].low && v + h >= rows[i].high));
        trial_release(&t);
    }
}

/* Less than half an ulp above the largest number: it rounds to that number, and is no infinity. */
static void test_above_the_largest(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT, DTYPE_DOUBLE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        long double top = dtype_highest(types[i]), ulp = top * dtype_precision(types[i]).unit;
        long double more = dtype_round(types[i], ulp / 4), far = dtype_round(types[i], ulp * 2);
        struct trial t;
        trial_init(&t, "Add", 20, types[i], FILL_NORMAL, 1);
        give(&t, types[i], 2, (long double[]){top, top});
        give(&t, types[i], 2, (long double[]){more, far});
        assert_int_equal(trial_eval(&t), 0);
        assert_true(isfinite(t.out[0].value[0]) || isinf(bounded_hard(&t.out[0], 0)));
        assert_true(isinf(t.out[0].value[1]) && bounded_hard(&t.out[0], 1) == 0);
        trial_release(&t);
    }
}

static void test_clip_order(void **state)
{
    (void)state;
    static const long double x[] = {-5, 0, 5}, low = 3, high = 1;
    struct trial t;
    trial_init(&t, "Clip", 13, DTYPE_FLOAT, FILL_NORMAL, 1);
    give(&t, DTYPE_FLOAT, 3, x);
    give(&t, DTYPE_FLOAT, 1, &low);
    give(&t, DTYPE_FLOAT, 1, &high);
    assert_int_equal(trial_eval(&t), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(t.out[0].value[i] == 1 && bounded_hard(&t.out[0], i) == 0);
    trial_release(&t);
}

static void cast_one(enum dtype from, enum dtype to, long double x, long double y)
{
    struct trial t;
    trial_init(&t, "Cast", 13, from, FILL_NORMAL, 1);
    draw_int(&t.draw, "to", to);
    give(&t, from, 1, &x);
    assert_int_equal(trial_eval(&t), 0);
    if (y == OPEN)
        assert_true(isinf(t.out[0].hard[0]) && isinf(t.out[0].likely[0]));
    else
        assert_true(same(t.out[0].value[0], y) && bounded_hard(&t.out[0], 0) == 0);
    trial_release(&t);
}

static void test_cast(void **state)
{
    (void)state;
    cast_one(DTYPE_FLOAT, DTYPE_INT8, 0.9L, 0);
    cast_one(DTYPE_FLOAT, DTYPE_INT8, -0.9L, 0);
    cast_one(DTYPE_FLOAT, DTYPE_INT8, -1.5L, -1);
    cast_one(DTYPE_FLOAT, DTYPE_INT8, 128, OPEN);
    cast_one(DTYPE_FLOAT, DTYPE_INT64, NAN, OPEN);
    cast_one(DTYPE_FLOAT, DTYPE_UINT8, -0.5L, 0);
    cast_one(DTYPE_FLOAT, DTYPE_UINT8, -1, OPEN);
    cast_one(DTYPE_INT16, DTYPE_INT8, 200, -56);
    cast_one(DTYPE_INT64, DTYPE_UINT64, -1, 0x1p64L - 1);
    cast_one(DTYPE_FLOAT, DTYPE_BOOL, NAN, 1);
    cast_one(DTYPE_FLOAT, DTYPE_BOOL, 0.25L, 1);
    cast_one(DTYPE_DOUBLE, DTYPE_FLOAT16, 1e6L, INFINITY);
    cast_one(DTYPE_BOOL, DTYPE_FLOAT16, 1, 1);
}

/* Ties go to even before the zero point is added; by a scale that is no power of two both neighbours pass. */
static void test_quantize(void **state)
{
    (void)state;
    static const long double x[] = {0.25L, 0.75L, 1.25L, -0.25L, 1000, -1000}, scale = 0.5L, zero = 3;
    static const long double y[] = {3, 5, 5, 3, 255, 0};
    struct trial t;
    trial_init(&t, "QuantizeLinear", 13, DTYPE_FLOAT, FILL_NORMAL, 1);
    give(&t, DTYPE_FLOAT, 6, x);
    give(&t, DTYPE_FLOAT, 1, &scale);
    give(&t, DTYPE_UINT8, 1, &zero);
    assert_int_equal(trial_eval(&t), 0);
    for (size_t i = 0; i < 6; i++)
        assert_true(t.out[0].value[i] == y[i] && bounded_hard(&t.out[0], i) == 0);
    trial_release(&t);

    long double third = dtype_round(DTYPE_FLOAT, 0.3L), half = third * 2.5L;
    trial_init(&t, "QuantizeLinear", 13, DTYPE_FLOAT, FILL_NORMAL, 1);
    give(&t, DTYPE_FLOAT, 1, &half);
    give(&t, DTYPE_FLOAT, 1, &third);
    assert_int_equal(trial_eval(&t), 0);
    assert_true(t.out[0].value[0] == 2 && bounded_hard(&t.out[0], 0) == 1);
    trial_release(&t);
}

/* Every operator of the elementwise families: enough names for their tables to be walked. */
static const char *const names[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "DequantizeLinear",
};

/* Brings the drawn inputs into the trial; float elements get a bound of about a thousandth. */
static void take_drawn(struct trial *t, struct rng *rng)
{
    t->n_inputs = t->draw.n_inputs;
    assert_true(t->n_inputs <= MAX_INPUTS);
    for (size_t k = 0; k < t->n_inputs; k++) {
        const struct drawn *drawn = &t->draw.inputs[k];
        t->inputs[k] = NULL;
        if (drawn->source == DRAWN_OMITTED)
            continue;
        struct bounded *in = &t->in[k];
        assert_int_equal(bounded_from_tensor(in, &drawn->data, &t->err), 0);
        t->inputs[k] = in;
        for (size_t i = 0; dtype_is_float(in->type) && i < in->count; i++) {
            long double x = in->value[i], h = rng_uniform(rng, 0, 2e-3) * fabsl(x);
            bounded_put_range(in, i, x, x - h, x + h);
        }
    }
}

/* Moves every element within its bound, often to the very end, and makes it exact. */
static void disturb(struct trial *t, struct rng *rng)
{
    for (size_t k = 0; k < t->n_inputs; k++) {
        struct bounded *in = &t->in[k];
        for (size_t i = 0; in->hard && i < in->count; i++) {
            double part = rng_chance(rng, 0.4) ? (rng_chance(rng, 0.5) ? 1 : -1) : rng_uniform(rng, -1, 1);
            in->value[i] += part * (long double)in->hard[i];
        }
        free(in->hard);
        in->hard = in->likely = NULL;
    }
}

/* How many elements were decided and inside, or -1 at the first one outside. */
static long hold(const struct bounded *before, const struct bounded *after, const char *name)
{
    long decided = 0;
    for (size_t i = 0; i < before->count; i++) {
        double hard = bounded_hard(before, i);
        if (isinf(hard) || isinf(bounded_hard(after, i)))
            continue;
        long double a = before->value[i], b = after->value[i];
        /* Long double rounds too. */
        bool inside = same(a, b) || fabsl(a - b) <= hard * (1 + 1e-12L) + 1e-18L * fabsl(a);
        if (!inside) {
            print_error("%s: element %zu moved from %.12Lg to %.12Lg, bound %g\n", name, i, a, b, hard);
            return -1;
        }
        decided++;
    }
    return decided;
}

static long propagate(const char *name, uint64_t seed)
{
    struct rng rng = rng_seed(seed);
    int opset = (int)rng_range(&rng, 20, 21);
    dtype_set set = op_types_at(op_find(name), opset);
    enum dtype type = rng_chance(&rng, 0.5) ? DTYPE_FLOAT : DTYPE_DOUBLE;
    if (!dtype_in(type, set))
        type = dtype_in(DTYPE_FLOAT, set) ? DTYPE_FLOAT : dtype_in(DTYPE_BOOL, set) ? DTYPE_BOOL : DTYPE_INT8;
    struct trial t;
    trial_init(&t, name, opset, type, FILL_NORMAL, rng_u64(&rng));
    long decided = 0;
    if (draw_node(&t.draw) == 0) {
        take_drawn(&t, &rng);
        assert_int_equal(trial_eval(&t), 0);
        struct bounded before = t.out[0];
        bounded_init(&t.out[0]);
        disturb(&t, &rng);
        assert_int_equal(trial_eval(&t), 0);
        decided = hold(&before, &t.out[0], name);
        bounded_release(&before);
    }
    trial_release(&t);
    return decided;
}

static void test_propagation(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        long decided = 0;
        for (uint64_t i = 0; i < DRAWS; i++) {
            long some = propagate(names[k], i + 1);
            assert_true(some >= 0);
            decided += some;
        }
        /* A bound that is always infinite would pass too. */
        if (decided < 1000)
            print_error("%s: only %ld elements decided\n", names[k], decided);
        assert_true(decided >= 1000);
    }
}

/* Small integers in floats: nothing rounds, so nothing may be off. */
static void test_exact_fill(void **state)
{
    (void)state;
    static const char *const exact[] = {"Abs", "Add",   "Ceil", "Floor", "Max", "Min", "Mul",
                                        "Neg", "PRelu", "Relu", "Round", "Sub", "Sum"};
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct trial t;
            trial_init(&t, exact[k], 13, DTYPE_FLOAT, FILL_EXACT, seed);
            if (draw_node(&t.draw) == 0) {
                struct rng rng = rng_seed(seed);
                take_drawn(&t, &rng);
                for (size_t i = 0; i < t.n_inputs; i++) {
                    free(t.in[i].hard);
                    t.in[i].hard = t.in[i].likely = NULL;
                }
                assert_int_equal(trial_eval(&t), 0);
                assert_null(t.out[0].hard);
            }
            trial_release(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_exp_underflow),
        cmocka_unit_test(test_binary_edges),
        cmocka_unit_test(test_division_by_given_zero),
        cmocka_unit_test(test_clip_order),
        cmocka_unit_test(test_bitwise_not),
        cmocka_unit_test(test_large_exponents),
        cmocka_unit_test(test_large_means),
        cmocka_unit_test(test_above_the_largest),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_propagation),
        cmocka_unit_test(test_exact_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
