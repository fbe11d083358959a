/* NaN and infinities decide what they touch, and nothing else. */
#include "body.h"

#include <math.h>

/* NaN and an infinity, as ONNX text has no word for them. */
#define SPECIALS                                                                                      \
    "zero = Constant<value = float {0}>() one = Constant<value = float {1}>() nan = Div(zero, zero) " \
    "huge = Constant<value = float {1e30}>() inf = Mul(huge, huge) axis = Constant<value = int64[1] {0}>() "

static struct bounded computed(const char *body)
{
    struct bounded result;
    struct error err = {0};
    char text[900];
    snprintf(text, sizeof text, SPECIALS "%s", body);
    if (run_body(18, text, NULL, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

static bool is_nan(const struct bounded *b, size_t i)
{
    return isnan(b->value[i]) && bounded_hard(b, i) == 0;
}

static bool is_near(const struct bounded *b, size_t i, double value)
{
    return fabsl(b->value[i] - value) < 1e-5L && bounded_hard(b, i) < 1e-4;
}

static void test_matmul(void **state)
{
    (void)state;
    struct bounded y = computed("n = Unsqueeze(nan, axis) c = Constant<value = float[3] {1, 2, 3}>() "
                                "a = Concat<axis = 0>(n, c) s = Constant<value = int64[2] {2, 2}>() "
                                "m = Reshape(a, s) w = Constant<value = float[2, 1] {0.5, 0.25}>() "
                                "y = MatMul(m, w)");
    assert_true(is_nan(&y, 0));
    assert_true(is_near(&y, 1, 1.75));
    bounded_release(&y);
}

/* The window of the first output has the NaN, whatever algorithm is used. */
static void test_conv(void **state)
{
    (void)state;
    struct bounded y =
        computed("n = Unsqueeze(nan, axis) c = Constant<value = float[7] {1, 2, 3, 4, 5, 6, 7}>() "
                 "a = Concat<axis = 0>(n, c) s = Constant<value = int64[3] {1, 1, 8}>() "
                 "x = Reshape(a, s) w = Constant<value = float[1, 1, 3] {0.5, 0.25, 1}>() "
                 "y = Conv(x, w)");
    assert_true(is_nan(&y, 0));
    assert_false(is_nan(&y, 5));
    bounded_release(&y);
}

#define RNN_WEIGHTS                                                                      \
    "s = Constant<value = int64[3] {1, 2, 1}>() c = Constant<value = float[1] {0.5}>() " \
    "w = Constant<value = float[1, 1, 1] {2}>() r = Constant<value = float[1, 1, 1] {0.5}>() "

static void test_cell(void **state)
{
    (void)state;
    struct bounded y = computed("n = Unsqueeze(nan, axis) " RNN_WEIGHTS "a = Concat<axis = 0>(n, c) "
                                "x = Reshape(a, s) y = RNN<hidden_size = 1>(x, w, r)");
    assert_true(isinf(bounded_hard(&y, 0))); /* a clamp may make a number of it */
    assert_true(is_near(&y, 1, tanh(1)));
    bounded_release(&y);
    y = computed("n = Unsqueeze(inf, axis) " RNN_WEIGHTS "a = Concat<axis = 0>(n, c) "
                 "x = Reshape(a, s) y = RNN<hidden_size = 1>(x, w, r)");
    assert_true(is_near(&y, 0, 1));
    assert_true(is_near(&y, 1, tanh(1)));
    bounded_release(&y);
    /* Only saturating functions make a number of an infinity. */
    y = computed("n = Unsqueeze(inf, axis) " RNN_WEIGHTS "a = Concat<axis = 0>(n, c) "
                 "x = Reshape(a, s) y = RNN<hidden_size = 1, activations = [\"Relu\"]>(x, w, r)");
    assert_true(isinf(bounded_hard(&y, 0)));
    assert_true(is_near(&y, 1, 1));
    bounded_release(&y);
}

/* Bounds grow tenfold a step, but the hyperbolic tangent has its range. With Affine there is none. */
static void test_many_steps(void **state)
{
    (void)state;
    const char *weights =
        "s = Constant<value = int64[3] {40, 1, 1}>() x = Expand(zero, s) "
        "w = Constant<value = float[1, 1, 1] {2}>() r = Constant<value = float[1, 1, 1] {10}>() ";
    char body[600];
    snprintf(body, sizeof body, "%s y = RNN<hidden_size = 1>(x, w, r)", weights);
    struct bounded y = computed(body);
    assert_true(bounded_hard(&y, 1) < 1e-3);
    assert_true(bounded_hard(&y, 39) > 1 && bounded_hard(&y, 39) < 4);
    bounded_release(&y);
    snprintf(body, sizeof body,
             "%s y = RNN<hidden_size = 1, activations = [\"Affine\"], activation_alpha = [2.0], "
             "activation_beta = [1.0]>(x, w, r)",
             weights);
    y = computed(body);
    assert_true(isinf(bounded_hard(&y, 39)) || bounded_hard(&y, 39) > 4);
    bounded_release(&y);
}

static void test_resize(void **state)
{
    (void)state;
    struct bounded y =
        computed("n = Unsqueeze(nan, axis) c = Constant<value = float[7] {1, 2, 3, 4, 5, 6, 7}>() "
                 "x = Concat<axis = 0>(n, c) s = Constant<value = int64[1] {16}>() "
                 "y = Resize<mode = \"linear\">(x, , , s)");
    assert_true(is_nan(&y, 0));
    assert_true(isinf(bounded_hard(&y, 3))); /* may read the NaN with weight 0 */
    assert_true(is_near(&y, 15, 7));
    bounded_release(&y);
}

/* The quotient is not known, but the remainder lies between 0 and the divisor. */
static void test_remainder(void **state)
{
    (void)state;
    struct bounded y = computed("three = Constant<value = float {3}>() third = Div(one, three) "
                                "a = Mul(third, three) y = Mod<fmod = 1>(a, one)");
    assert_true(bounded_hard(&y, 0) > 0.9 && bounded_hard(&y, 0) < 1.1);
    bounded_release(&y);
}

/* 30.34375 * 44.96875 * 48 is 65497, below the largest float16; with the first product rounded up it is
 * infinite, and stays so when it is halved. */
static void test_rounded_into_overflow(void **state)
{
    (void)state;
    struct bounded y = computed("k = Constant<value = float[4] {30.34375, 44.96875, 48, 0.5}>() "
                                "x = Cast<to = 10>(k) y = ReduceProd(x)");
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
    y = computed("k = Constant<value = float[4] {30, 44, 48, 0.5}>() x = Cast<to = 10>(k) y = ReduceProd(x)");
    assert_true(bounded_hard(&y, 0) < 200);
    bounded_release(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_cell),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_remainder),
        cmocka_unit_test(test_rounded_into_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
