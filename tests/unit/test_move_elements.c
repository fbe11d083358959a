/* Operators that move elements, where their texts have corners: models in ONNX's text form, results by hand.
 */
#include "body.h"

#include <math.h>
#include <string.h>

static struct bounded run_with(const char *body, const struct evaluate_options *options)
{
    struct error err = {0};
    struct bounded result;
    if (run_body(16, body, options, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

static struct bounded run(const char *body)
{
    return run_with(body, NULL);
}

static void expect_invalid(const char *body)
{
    struct error err = {0};
    struct bounded result;
    if (!run_body(16, body, NULL, &result, &err))
        fail_msg("%s: accepted", body);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void expect(const char *body, int rank, const int64_t *dims, const double *values)
{
    struct bounded y = run(body);
    struct shape shape = shape_make(rank, dims);
    char got[SHAPE_TEXT_SIZE];
    if (!shape_equal(&y.shape, &shape))
        fail_msg("%s is of shape %s", body, shape_text(&y.shape, got));
    for (size_t i = 0; i < y.count; i++)
        if (!(y.value[i] == values[i] && bounded_hard(&y, i) == 0))
            fail_msg("%s: element %zu is %Lg", body, i, y.value[i]);
    bounded_release(&y);
}

/* An empty axis cut backwards stays empty: the first position is clamped to -1, not to 0. */
static void test_slice_empty(void **state)
{
    (void)state;
    expect(
        "s = Constant<value = int64[2] {0, 3}>() x = ConstantOfShape(s)"
        "a = Constant<value = int64[1] {5}>() b = Constant<value = int64[1] {-9}>()"
        "c = Constant<value = int64[1] {0}>() d = Constant<value = int64[1] {-1}>() y = Slice(x, a, b, c, d)",
        2, (int64_t[]){0, 3}, NULL);
}

static void test_slice_backwards(void **state)
{
    (void)state;
    expect("x = Constant<value = float[5] {0, 1, 2, 3, 4}>() a = Constant<value = int64[1] {100}>()"
           "b = Constant<value = int64[1] {-100}>() c = Constant<value = int64[1] {0}>()"
           "d = Constant<value = int64[1] {-3}>() y = Slice(x, a, b, c, d)",
           1, (int64_t[]){2}, (double[]){4, 1});
}

/* Beyond one reflection the text says nothing. */
static void test_pad_reflect_far(void **state)
{
    (void)state;
    struct bounded y =
        run("x = Constant<value = float[3] {1, 2, 3}>() p = Constant<value = int64[2] {4, 1}>()"
            "y = Pad<mode = \"reflect\">(x, p)");
    const double due[8] = {1, 2, 3, 2, 1, 2, 3, 2};
    assert_int_equal(y.count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(y.value[i] == due[i]);
        assert_true(isinf(bounded_likely(&y, i)) == (i < 2));
    }
    bounded_release(&y);
}

/* Cut at the front and reflected at the back: the border is made from the whole axis, and both readings agree
 * on what is not border. */
static void test_pad_mixed(void **state)
{
    (void)state;
    struct bounded y =
        run("x = Constant<value = float[3] {1, 2, 3}>() p = Constant<value = int64[2] {-2, 2}>()"
            "y = Pad<mode = \"reflect\">(x, p)");
    assert_int_equal(y.count, 3);
    assert_true(y.value[0] == 3 && y.value[1] == 2 && y.value[2] == 1);
    assert_true(bounded_hard(&y, 0) == 0 && isinf(bounded_hard(&y, 1)) && isinf(bounded_hard(&y, 2)));
    bounded_release(&y);
}

static void test_nonzero_scalar(void **state)
{
    (void)state;
    expect("x = Constant<value_float = 3.5>() y = NonZero(x)", 2, (int64_t[]){0, 1}, NULL);
}

/* Indices are cast to int64 first: -0.5 and 0.5 are both 0; out of range lights nothing. */
static void test_onehot_fractions(void **state)
{
    (void)state;
    expect("x = Constant<value = float[4] {-0.5, 0.5, -1.5, 2.0}>() d = Constant<value_int = 2>()"
           "v = Constant<value = float[2] {0, 1}>() y = OneHot(x, d, v)",
           2, (int64_t[]){4, 2}, (double[]){1, 0, 1, 0, 0, 1, 0, 0});
}

static void test_scatter_twice(void **state)
{
    (void)state;
    const char *shared = "x = Constant<value = float[3] {1, 2, 3}>() i = Constant<value = int64[2] {-1, 2}>()"
                         "u = Constant<value = float[2] {10, 20}>()";
    char text[500];
    snprintf(text, sizeof text, "%s y = ScatterElements(x, i, u)", shared);
    struct bounded y = run(text);
    assert_true(bounded_hard(&y, 0) == 0 && isinf(bounded_hard(&y, 2)) && isinf(bounded_likely(&y, 2)));
    bounded_release(&y);
    snprintf(text, sizeof text, "%s y = ScatterElements<reduction = \"add\">(x, i, u)", shared);
    expect(text, 1, (int64_t[]){3}, (double[]){1, 2, 33});
}

static void test_reshape_zero(void **state)
{
    (void)state;
    expect(
        "x = Constant<value = float[2, 3] {1, 2, 3, 4, 5, 6}>() s = Constant<value = int64[3] {0, 1, -1}>()"
        "y = Reshape(x, s)",
        3, (int64_t[]){2, 1, 3}, (double[]){1, 2, 3, 4, 5, 6});
}

/* What is open on the way is told, though no output shows it: an engine may refuse it. */
static void test_open_inside(void **state)
{
    (void)state;
#define TWO "a = Constant<value = int64[2] {7, 8}>() "
/* exp(log 3), cut to an integer: 2 or 3, and 4 by its bound. */
#define GROWN "a = Constant<value = float[2] {0.1, 0.3}>() b = Mul(a, a) c = Sub(b, b) r = Sqrt(c) "
#define UNSURE "p = Constant<value = float[1] {3}>() q = Log(p) r = Exp(q) i = Cast<to = 7>(r) "
    static const struct {
        const char *body;
        bool open;
    } rows[] = {
        {TWO "b = Constant<value = int64[2] {0, 3}>() m = Mod(a, b) y = Less(a, m)", true},
        {TWO "b = Constant<value = int64[2] {0, 3}>() m = Div(a, b) y = Shape(m)", true},
        {TWO "b = Constant<value = int64[2] {1, 3}>() m = Mod(a, b) y = Less(a, m)", false},
        {UNSURE TWO "t = Constant<value = int64[1] {3}>() b = Sub(i, t) m = Mod(a, b) y = Shape(m)", true},
        {UNSURE TWO "t = Constant<value = int64[1] {3}>() b = Sub(i, t) m = Div(a, b) y = Shape(m)", true},
        {UNSURE TWO "m = Mod(a, i) y = Shape(m)", false},
        /* Nothing is divided by this 0, and still it may be refused. */
        {"e = Constant<value = int32[0] {}>() b = Constant<value = int32 {0}>() y = Div(e, b)", true},
        {"e = Constant<value = int32[0] {}>() b = Constant<value = int32 {0}>() y = Mod(e, b)", true},
        {"e = Constant<value = int32[0] {}>() b = Constant<value = int32 {3}>() y = Div(e, b)", false},
        /* A list of one scale is no scalar, and one for each element only of an axis of one. */
        {"x = Constant<value = float[2] {1, 2}>() s = Constant<value = float[1] {1}>() "
         "y = QuantizeLinear<axis = 0>(x, s)",
         true},
        {"x = Constant<value = float[1] {1}>() s = Constant<value = float[1] {1}>() "
         "y = QuantizeLinear<axis = 0>(x, s)",
         false},
        {"x = Constant<value = float[2] {1, 2}>() s = Constant<value = float {1}>() "
         "y = QuantizeLinear<axis = 0>(x, s)",
         false},
        /* Pooled is over D1 and so on, of which there is one at least in the text. */
        {"x = Constant<value = float[1,2] {1, 2}>() y = GlobalMaxPool(x)", true},
        {"x = Constant<value = float[1,2,1] {1, 2}>() y = GlobalMaxPool(x)", false},
        /* No scale is 0; nothing to nothing needs none. */
        {"x = Constant<value = float[2] {1, 2}>() s = Constant<value = int64[1] {0}>() y = Resize(x, , , s)",
         true},
        {"x = Constant<value = float[0] {}>() s = Constant<value = int64[1] {0}>() y = Resize(x, , , s)",
         false},
        /* The root of what may be negative is not judged; its mean and square are not open for that. */
        {GROWN "m = ReduceMean(r) y = Mul(m, m)", false},
        {GROWN "p = Constant<value = float[1] {1e20}>() i = Cast<to = 6>(p) g = Cast<to = 1>(i) "
               "m = ReduceMean(r) y = Add(g, m)",
         true},
        {UNSURE "x = Constant<value = float[3] {1, 2, 3}>() m = Gather(x, i) y = Shape(m)", true},
        {UNSURE "x = Constant<value = float[5] {1, 2, 3, 4, 5}>() m = Gather(x, i) y = Shape(m)", false},
        {UNSURE "x = Constant<value = float[3] {1, 2, 3}>() m = ScatterElements(x, i, p) y = Shape(m)", true},
        {UNSURE "x = Constant<value = float[5] {1, 2, 3, 4, 5}>() m = ScatterElements(x, i, p) y = Shape(m)",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool open = false;
        struct bounded y = run_with(rows[i].body, &(struct evaluate_options){.open = &open});
        if (open != rows[i].open)
            fail_msg("%s is %sopen", rows[i].body, open ? "" : "not ");
        bounded_release(&y);
    }
}

/* 4 x 7 at the most is one scale, 7/6, and 2 rows; these are a scale of 1 by themselves. */
static void test_rounded_ratio(void **state)
{
    (void)state;
    static const char body[] =
        "x = Constant<value = float[2, 6] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}>() "
        "s = Constant<value = int64[2] {4, %d}>() "
        "y = Resize<mode = \"linear\", keep_aspect_ratio_policy = \"not_larger\">(x, , , s)";
    for (int width = 7; width <= 12; width += 5) {
        char text[sizeof body + 10];
        struct error err = {0};
        struct bounded y;
        snprintf(text, sizeof text, body, width);
        assert_int_equal(run_body(18, text, NULL, &y, &err), 0);
        assert_int_equal(y.shape.dims[1], width);
        assert_true(!isfinite(bounded_hard(&y, y.count - 1)) == (width == 7));
        bounded_release(&y);
    }
}

/* What texts call a list, or 1-D, has one dim: engines may refuse a scalar or a matrix there. */
static void test_lists_have_one_dim(void **state)
{
    (void)state;
    expect_invalid(
        "x = Constant<value = float[1] {1}>() s = Constant<value = int64 {1}>() y = Reshape(x, s)");
    expect_invalid("x = Constant<value = float[1] {1}>() s = Constant<value = int64[1, 1] {1}>()"
                   "y = Reshape(x, s)");
    expect_invalid("x = Constant<value = float[1] {1}>() s = Constant<value = int64 {0}>()"
                   "e = Constant<value = int64 {1}>() y = Slice(x, s, e)");
    expect_invalid("x = Constant<value = float[1] {1}>() s = Constant<value = int64 {2}>() y = Expand(x, s)");
    expect_invalid("x = Constant<value = float[1] {1}>() s = Constant<value = int64 {2}>() y = Tile(x, s)");
    expect_invalid("s = Constant<value = int64 {2}>() y = ConstantOfShape(s)");
    expect_invalid(
        "x = Constant<value = float[1] {1}>() a = Constant<value = int64 {0}>() y = Squeeze(x, a)");
    expect_invalid("x = Constant<value = float[1] {1}>() a = Constant<value = int64 {0}>()"
                   "y = ReduceSum(x, a)");
    expect_invalid(
        "x = Constant<value = float[1] {1}>() k = Constant<value = int64 {1}>() y, i = TopK(x, k)");
    expect_invalid("x = Constant<value = float[1] {1}>() s = Constant<value = int64 {2}>()"
                   "y = Resize(x, , , s)");
    expect_invalid("x = Constant<value = float[1] {1}>() d = Constant<value = int64 {2}>()"
                   "v = Constant<value = float[1, 2] {0, 1}>() y = OneHot(x, d, v)");
    expect("x = Constant<value = float[2] {1, 2}>() a = Constant<value = int64 {0}>() y = CumSum(x, a)", 1,
           (int64_t[]){2}, (double[]){1, 3});
}

/* An element that may be anything may be NaN: where that sorts, and what comes of the others, is not said. */
static void test_order_of_anything(void **state)
{
    (void)state;
#define ANYTHING                                                                               \
    "o = Constant<value = float[1] {1}>() z = Constant<value = float[1] {0}>() q = Div(o, z) " \
    "n = Constant<value = float[2] {1, 2}>() x = Concat<axis = 0>(q, n) "
    static const char *const bodies[] = {
        ANYTHING "k = Constant<value = int64[1] {2}>() y, i = TopK(x, k)",
        ANYTHING "k = Constant<value = int64[1] {2}>() v, y = TopK(x, k)",
        ANYTHING "y = ArgMax(x)",
        ANYTHING "y = ArgMin(x)",
        ANYTHING "y = Hardmax(x)",
        ANYTHING "s = Constant<value = int64[3] {1, 1, 3}>() w = Reshape(x, s)"
                 " v, y = MaxPool<kernel_shape = [3]>(w)",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct bounded y = run(bodies[i]);
        for (size_t k = 0; k < y.count; k++)
            if (!isinf(bounded_hard(&y, k)))
                fail_msg("%s: element %zu is decided", bodies[i], k);
        bounded_release(&y);
    }
}

/* The texts before opset 11 contradict themselves on which end an odd row of padding goes to. */
static void test_convtranspose_odd_padding(void **state)
{
    (void)state;
    const char *body =
        "x = Constant<value = float[1, 1, 1] {1}>() w = Constant<value = float[1, 1, 2] {1, 0}>()"
        "y = ConvTranspose<auto_pad = \"SAME_LOWER\">(x, w)";
    struct error err = {0};
    struct bounded y;
    assert_int_equal(run_body(10, body, NULL, &y, &err), 0);
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
    assert_int_equal(run_body(11, body, NULL, &y, &err), 0);
    assert_true(y.value[0] == 0 && bounded_hard(&y, 0) < 1e-4);
    bounded_release(&y);
}

/* An infinity less another: what is infinite here may be no number in an engine. */
static void test_lstm_overflow(void **state)
{
    (void)state;
    struct bounded cell =
        run("x = Constant<value = float[5,1,1] {27, 0, 0, 0, 0}>()"
            "w = Constant<value = float[1,4,1] {1, 0, 0, 1}>()"
            "r = Constant<value = float[1,4,1] {0.25, 0, 0, -0.25}>()"
            "p = Constant<value = float[1,3] {0, 1, 1}>()"
            "a, b, y = LSTM<hidden_size = 1, activations = [\"Affine\", \"LeakyRelu\", \"HardSigmoid\"],"
            "activation_alpha = [0.875, 0.625, 0.75], activation_beta = [0.875, 0.125]>"
            "(x, w, r, , , , , p)");
    assert_true(isinf(bounded_hard(&cell, 0)));
    bounded_release(&cell);
}

/* What may be 0 or 1 is no suspect whichever it is, nor is what is computed from it. */
static void test_likely_behind_jumps(void **state)
{
    (void)state;
#define BIT                                                                                               \
    "s = Constant<value = float[1] {3e9}>() i = Cast<to = 6>(s) b = Cast<to = 9>(i) x = Cast<to = 1>(b) " \
    "t = Constant<value = float[1] {2}>() "
    static const char *const bodies[] = {
        BIT "y = Mul(x, x)",
        BIT "y = Pow(x, t)",
        BIT "u = Sub(t, x) y = Div(t, u)",
        BIT "n = Neg(x) y = PRelu(n, x)",
        BIT "y = Cos(x)",
        BIT "y = ReduceSumSquare(x)",
        BIT "k = Constant<value = int64[1] {0}>() y = ScatterElements<reduction = \"mul\">(x, k, x)",
        BIT "k = Constant<value = int64[3] {1, 1, 1}>() u = Reshape(x, k) y = GlobalLpPool(u)",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct bounded y = run(bodies[i]);
        double hard = bounded_hard(&y, 0), likely = bounded_likely(&y, 0);
        if (!(hard > 0.4 && hard <= 2 && likely >= hard / 4))
            fail_msg("%s: %g, likely %g", bodies[i], hard, likely);
        bounded_release(&y);
    }
}

/* exp(log 3), cut to an integer, may be 2, 3 or 4: 3 less than that of an unsigned wraps, and of 7 it does
 * not. */
static void test_unsure_wraps(void **state)
{
    (void)state;
    static const char *const bodies[] = {"3", "7"};
    for (int i = 0; i < 2; i++) {
        char body[300];
        snprintf(body, sizeof body,
                 "p = Constant<value = float[1] {%s}>() q = Log(p) r = Exp(q) u = Cast<to = 2>(r)"
                 "t = Constant<value = uint8[1] {3}>() y = Sub(u, t)",
                 bodies[i]);
        struct bounded y = run(body);
        assert_true(isinf(bounded_hard(&y, 0)) == (i == 0));
        bounded_release(&y);
    }
}

/* An int32 has no zero point: what one that is not 0 means is open. */
static void test_dequantize_int32_zero_point(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "x = Constant<value = int32[1] {5}>() s = Constant<value = float {2}>() z = Constant<value = int32 "
        "{0}>()"
        "y = DequantizeLinear(x, s, z)",
        "x = Constant<value = int32[1] {5}>() s = Constant<value = float {2}>() z = Constant<value = int32 "
        "{1}>()"
        "y = DequantizeLinear(x, s, z)",
    };
    for (int i = 0; i < 2; i++) {
        struct bounded y = run(bodies[i]);
        assert_true(isinf(bounded_likely(&y, 0)) == (i == 1));
        assert_true(i == 1 || y.value[0] == 10);
        bounded_release(&y);
    }
}

/* 0 times what may be anything may be NaN. */
static void test_nothing_times_anything(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "y = Mul(o, z)",
        "y = MatMul(o, z)",
        "z2 = Flatten(z) y = Gemm(f, z2)",
        "y = Einsum<equation = \"abcd,abde->abce\">(o, z)",
        "y = Conv(o, z)",
        "y = ConvTranspose(o, z)",
        "y = BatchNormalization(o, u, u, u, v)",
        "y = InstanceNormalization(o, u, u)",
        "p = Constant<value = int64[8] {0, 0, 1, 0, 0, 0, 0, 0}>() q = Pad(o, p)"
        "s = Constant<value = int64[4] {1, 1, 2, 2}>() y = Resize<mode = \"linear\">(q, , , s)",
        "p = Constant<value = int64[8] {0, 0, 1, 0, 0, 0, 0, 0}>() q = Pad(o, p)"
        "s = Constant<value = int64[4] {1, 1, 2, 3}>() y = Resize<mode = \"cubic\">(q, , , s)",
        "p = Constant<value = int64[8] {0, 0, 1, 0, 0, 0, 0, 0}>() q = Pad(o, p)"
        "g = Constant<value = float[1,1,1,2] {0, -0.5}>() y = GridSample<mode = \"bilinear\">(q, g)",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char body[1000];
        snprintf(body, sizeof body,
                 "k = Constant<value = float[1,1,1,1] {1e30}>() z = Constant<value = float[1,1,1,1] {0}>()"
                 "u = Constant<value = float[1] {0}>() v = Constant<value = float[1] {1}>() x = Identity(k)"
                 "o = Mul(x, x) f = Flatten(o) %s",
                 bodies[i]);
        struct bounded y = run_with(body, &(struct evaluate_options){.loose = true});
        if (!isinf(bounded_hard(&y, 0)))
            fail_msg("%s: the bound is %g", bodies[i], bounded_hard(&y, 0));
        bounded_release(&y);
    }
}

/* Nodes that an engine may compute as one, by another formula. */
static void test_loose(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        double least, most; /* of the bound, loose */
        double strict;      /* else, at the most */
    } rows[] = {
        /* A mean that is kept up to date from element to element is not quite 0. */
        {"k = Constant<value = float[5] {3, 4, -3, 0, -4}>() x = Identity(k) m = ReduceMean(x) y = Sub(m, m)",
         1e-7, 1e-5},
        /* A variance in one pass, E[x^2] - E[x]^2, is as inexact as a million. */
        {"k = Constant<value = float[4] {1000, 1001, 999, 1000}>() x = Identity(k) m = ReduceMean(x)"
         "d = Sub(x, m) s = Mul(d, d) y = ReduceMean(s)",
         3, 60},
        {"k = Constant<value = float[4] {1000, 1001, 999, 1000}>() x = Identity(k) m = ReduceMean(x)"
         "d = Sub(x, m) t = Constant<value = float {2}>() s = Pow(d, t) y = ReduceMean(s)",
         3, 60, 1e-6},
        {"k = Constant<value = float[4] {1000, 1001, 999, 1000}>() x = Identity(k) m = ReduceMean(x)"
         "d = Sub(x, m) s = Mul(d, k) y = ReduceMean(s)",
         1e-5, 2, 1e-3},
        /* 1e30 squared and times 1e-30 need not overflow on the way; as an answer it does. */
        {"k = Constant<value = float[1] {1e30}>() l = Constant<value = float[1] {1e-30}>() x = Identity(k)"
         "o = Mul(x, x) y = Mul(o, l)",
         INFINITY, INFINITY},
        {"k = Constant<value = float[1] {1e30}>() x = Identity(k) y = Mul(x, x)", 0, 0},
        /* Factors in another order: those of the ends may be drawn together, and so overflow, or become 0. */
        {"k = Constant<value = float[2] {1e-30, 1e-30}>() s = Constant<value = float {1e-30}>() x = "
         "Identity(k)"
         "v = Div(x, s) w = MatMul(v, v) y = Div(w, s)",
         INFINITY, INFINITY, 1e25},
        {"k = Constant<value = float[2] {1e30, 1e30}>() s = Constant<value = float {1e-30}>() x = Identity(k)"
         "v = Mul(x, s) t = Transpose(v) w = MatMul(t, v) y = Mul(w, s)",
         1e-30, INFINITY, 1e-36},
        {"k = Constant<value = float[2] {1e3, 1e3}>() s = Constant<value = float {1e-3}>() x = Identity(k)"
         "v = Mul(x, s) w = MatMul(v, v) y = Mul(w, s)",
         0, 1e-7, 1e-9},
        /* So may the weights of Conv and 1e10 over the root of 1e-30. */
        {"k = Constant<value = float[1,1,1] {1e-20}>() o = Constant<value = float[1] {1e10}>() v = "
         "Constant<value ="
         " float[1] {1e-30}>() z = Constant<value = float[1] {0}>() x = Identity(k) f = Constant<value ="
         " float[1,1,1] {1e15}>() w = Conv(x, f) y = BatchNormalization<epsilon = 0.0>(w, o, z, z, v)",
         INFINITY, INFINITY, 1e16},
        {"k = Constant<value = float[1,1,1] {1e-20}>() o = Constant<value = float[1] {1e10}>() v = "
         "Constant<value ="
         " float[1] {1e-30}>() z = Constant<value = float[1] {0}>() x = Identity(k) f = Constant<value ="
         " float[1,1,1] {1e5}>() w = Conv(x, f) y = BatchNormalization<epsilon = 0.0>(w, o, z, z, v)",
         1, 1e6, 1e6},
        /* (a - a) * b may become a * b - a * b, which is an infinity less another. */
        {"k = Constant<value = float[1] {3e38}>() x = Identity(k) d = Sub(x, x) l = Constant<value ="
         " float[1] {3}>() y = Mul(d, l)",
         INFINITY, INFINITY},
        /* Halves overflow early, where they are computed as such: 1e4 / 8 * 8 as 1e4 * 8 / 8. */
        {"k = Constant<value = float[1] {1e4}>() x = Cast<to = 10>(k) l = Constant<value = float[1] {8}>()"
         "e = Cast<to = 10>(l) d = Div(x, e) y = Mul(d, e)",
         INFINITY, INFINITY, 30},
        /* A tangent is no factor of what went into it. */
        {"k = Constant<value = float[2] {1e-30, 1e-30}>() s = Constant<value = float {1e-30}>() x = "
         "Identity(k)"
         "v = Div(x, s) t = Tanh(v) w = MatMul(t, t) y = Div(w, s)",
         0, 1e25, 1e25},
        {"k = Constant<value = int64[2] {7, 8}>() y = Add(k, k)", 0, 0},
        {"y = Constant<value = float[1] {7}>()", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bounded strict = run(rows[i].body),
                       loose = run_with(rows[i].body, &(struct evaluate_options){.loose = true});
        if (bounded_hard(&strict, 0) > rows[i].strict)
            fail_msg("%s: the strict bound is %g", rows[i].body, bounded_hard(&strict, 0));
        double hard = bounded_hard(&loose, 0);
        if (!(hard >= rows[i].least && hard <= rows[i].most))
            fail_msg("%s: the bound is %g", rows[i].body, hard);
        bounded_release(&strict);
        bounded_release(&loose);
    }
}

/*
 * 1e-20 times 1e20, something, and times 1e25: an engine that draws the factors through what is between meets
 * 1e45, which no float is. What only copies, chooses or scales lets them through.
 */
static void test_factors_through(void **state)
{
    (void)state;
    static const struct {
        const char *between;
        bool through;
    } rows[] = {
        {"w = Identity(v)", true},
        {"w = Abs(v)", true},
        {"r = Constant<value = int64[4] {1, 1, 1, 2}>() w = Tile(v, r)", true},
        {"c = Constant<value = bool[1] {1}>() w = Where(c, v, x)", true},
        {"c = Constant<value = bool[1] {1}>() w = Where(c, x, v)", true},
        {"s = Constant<value = float[1] {0.5}>() w = PRelu(v, s)", true},
        {"w = PRelu(one, v)", true},
        {"w = Max(v, x)", true},
        {"w = MaxPool<kernel_shape = [1, 1]>(v)", true},
        {"w = GlobalMaxPool(v)", true},
        {"w = ReduceMax(v)", true},
        {"w = ReduceL2(v)", true},
        {"a = Constant<value = int64 {0}>() w = CumSum(v, a)", true},
        {"w = Trilu(v)", true},
        {"w = SpaceToDepth<blocksize = 1>(v)", true},
        {"i = Constant<value = int64[1,1,1,1] {0}>() w = GatherElements(v, i)", true},
        {"i = Constant<value = int64[1,1,1,1] {0}>() w = ScatterElements(x, i, v)", true},
        {"s = Constant<value = int64[4] {1, 1, 2, 2}>() w = Resize(v, , , s)", true},
        {"w = Dropout(v)", true},
        {"w = CastLike(v, x)", true},
        {"w = Reciprocal(v)", true}, /* 1 / 1e-20 times 1e25 */
        {"b = Reshape(v, flat) w = Conv(x, one, b)", true},
        {"b = Reshape(v, flat) w = InstanceNormalization(x, b, b)", true},
        {"i = Constant<value = int8[1,1,1,1] {1}>() w = DequantizeLinear(i, v0)", true},
        {"w = CastLike(one, v)", false},
        {"w = Tanh(v)", false},
        {"w = Softmax(v)", false},
        {"w = Sign(v)", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[1000];
        snprintf(body, sizeof body,
                 "k = Constant<value = float[1,1,1,1] {1e-20}>() l = Constant<value = float {1e20}>()"
                 "m = Constant<value = float {1e25}>() one = Constant<value = float[1,1,1,1] {1}>()"
                 "flat = Constant<value = int64[1] {1}>()"
                 "x = Identity(k) v = Mul(x, l) e = Constant<value = int64[4] {0, 1, 2, 3}>()"
                 "v0 = Squeeze(v, e) %s y = Mul(w, m)",
                 rows[i].between);
        struct bounded y = run_with(body, &(struct evaluate_options){.loose = true});
        if (isinf(bounded_hard(&y, 0)) != rows[i].through)
            fail_msg("%s: the bound is %g", rows[i].between, bounded_hard(&y, 0));
        bounded_release(&y);
    }
}

/* The first element of y, of a graph whose input c is infinite, as nodes computed as one; and alone. */
static void run_infinite(const char *body, struct bounded result[2])
{
    char text[1000];
    uint8_t *bytes;
    size_t size, count;
    struct error err = {0};
    struct model *model;
    struct tensor infinite;
    struct value input;
    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : 13]> g (float c) => (float y) { %s }",
             body);
    assert_int_equal(onnx_parse_text(text, &bytes, &size, &err) || model_parse(&model, bytes, size, &err), 0);
    assert_int_equal(tensor_alloc(&infinite, DTYPE_FLOAT, &(struct shape){0}, 0, &err), 0);
    tensor_set(&infinite, 0, INFINITY);
    value_init(&input);
    value_set_name(&input, "c");
    value_set_tensor(&input, &infinite);
    for (int loose = 0; loose < 2; loose++) {
        struct evaluator *evaluator;
        struct bounded *results;
        assert_int_equal(evaluator_new(&evaluator, model, &(struct evaluate_options){.loose = loose}, &err),
                         0);
        assert_int_equal(evaluator_run(evaluator, &input, 1, NULL, 0, &results, &count, &err), 0);
        result[loose] = results[0];
        free(results);
        evaluator_free(evaluator);
    }
    value_release(&input);
    model_free(model);
    free(bytes);
}

/* (x * c) . w is NaN where x has a 0 and c is infinite, (x . w) * c is not. What is finite in one order is so
 * in all. */
static void test_infinite_factor(void **state)
{
    (void)state;
    struct bounded y[2];
    run_infinite("k = Constant<value = float[2] {0, 1}>() v = Mul(k, c) y = MatMul(k, v)", y);
    assert_true(isnan(y[0].value[0]) && bounded_hard(&y[0], 0) == 0);
    assert_true(isinf(bounded_hard(&y[1], 0)));
    bounded_release(&y[0]);
    bounded_release(&y[1]);
    run_infinite("k = Constant<value = float[2] {0, 1}>() v = Div(k, c) y = MatMul(k, v)", y);
    assert_true(y[0].value[0] == 0 && y[1].value[0] == 0);
    assert_true(bounded_hard(&y[1], 0) < 1e-30);
    bounded_release(&y[0]);
    bounded_release(&y[1]);
}

/* A product of a row and a column alone, and as if one of them were computed with it. */
static void test_node_loose(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t size;
    struct error err = {0};
    struct model *model;
    const char *text = "<ir_version: 8, opset_import: [\"\" : 13]> g (float[1] a, float[1] b) => (float y) { "
                       "y = MatMul(a, b) }";
    assert_int_equal(onnx_parse_text(text, &bytes, &size, &err) || model_parse(&model, bytes, size, &err), 0);
    struct shape one = {.rank = 1, .dims = {1}};
    struct tensor a;
    assert_int_equal(tensor_alloc(&a, DTYPE_FLOAT, &one, 0, &err), 0);
    tensor_set(&a, 0, 3);
    double hard[2];
    const struct evaluate_options looser = {.loose = true};
    for (int loose = 0; loose < 2; loose++) {
        struct bounded y;
        assert_int_equal(evaluate_node(model, model->graph->node[0], (const struct tensor *const[]){&a, &a},
                                       NULL, 0, NULL, loose ? &looser : NULL, &y, 1, &err),
                         0);
        hard[loose] = bounded_hard(&y, 0);
        bounded_release(&y);
    }
    assert_true(hard[0] == 0 && hard[1] > 9 * 0x1p-24 && hard[1] < 1e-4);
    /* What overflowed before it need not have done so inside. */
    tensor_set(&a, 0, INFINITY);
    for (int loose = 0; loose < 2; loose++) {
        struct bounded y;
        assert_int_equal(evaluate_node(model, model->graph->node[0], (const struct tensor *const[]){&a, &a},
                                       NULL, 0, NULL, loose ? &looser : NULL, &y, 1, &err),
                         0);
        assert_true(isinf(bounded_hard(&y, 0)) == loose);
        bounded_release(&y);
    }
    tensor_release(&a);
    model_free(model);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slice_empty),
        cmocka_unit_test(test_open_inside),
        cmocka_unit_test(test_lstm_overflow),
        cmocka_unit_test(test_likely_behind_jumps),
        cmocka_unit_test(test_dequantize_int32_zero_point),
        cmocka_unit_test(test_nothing_times_anything),
        cmocka_unit_test(test_unsure_wraps),
        cmocka_unit_test(test_loose),
        cmocka_unit_test(test_factors_through),
        cmocka_unit_test(test_infinite_factor),
        cmocka_unit_test(test_node_loose),
        cmocka_unit_test(test_slice_backwards),
        cmocka_unit_test(test_pad_reflect_far),
        cmocka_unit_test(test_pad_mixed),
        cmocka_unit_test(test_nonzero_scalar),
        cmocka_unit_test(test_onehot_fractions),
        cmocka_unit_test(test_scatter_twice),
        cmocka_unit_test(test_reshape_zero),
        cmocka_unit_test(test_rounded_ratio),
        cmocka_unit_test(test_lists_have_one_dim),
        cmocka_unit_test(test_order_of_anything),
        cmocka_unit_test(test_convtranspose_odd_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
