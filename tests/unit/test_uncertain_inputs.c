/*
 * Single nodes on inputs that are not quite known: what their results may be then, by hand. The nodes are in
 * ONNX's text form; blurs give elements of inputs their bounds.
 */
#include "body.h"

#include <math.h>
#include <string.h>

/* Lists end with op NULL. */
struct blur {
    const char *op;
    size_t input, element;
    double hard;
};

enum { MOST = 8 };

static int add_blurs(const struct blur *blurs, struct op_call *call, struct bounded *own,
                     const struct bounded **inputs)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        bounded_init(&own[i]);
        inputs[i] = call->inputs[i] ? &own[i] : NULL;
        if (inputs[i] && bounded_copy(&own[i], call->inputs[i], call->err))
            return -1;
    }
    for (; blurs->op; blurs++)
        if (strcmp(blurs->op, call->op->name) == 0) {
            struct bounded *b = &own[blurs->input];
            double hard = blurs->hard;
            bounded_set(b, blurs->element, b->value[blurs->element], hard, isinf(hard) ? 0 : hard / 3);
        }
    return 0;
}

/* The kernel, with bounds put to its inputs. */
static int run_blurred(void *context, struct op_call *call)
{
    const struct bounded *const *given = call->inputs, *inputs[MOST];
    struct bounded own[MOST];
    assert_true(call->n_inputs <= MOST);
    int result = add_blurs(context, call, own, inputs);
    call->inputs = inputs;
    if (!result)
        result = call->op->eval(call);
    call->inputs = given;
    for (size_t i = 0; i < call->n_inputs; i++)
        bounded_release(&own[i]);
    return result;
}

static int try_run(const char *body, struct blur *blurs, struct bounded *result, bool *open,
                   struct error *err)
{
    struct evaluate_options options = {.hook = run_blurred, .context = blurs, .open = open};
    return run_body(18, body, &options, result, err);
}

static struct bounded run(const char *body, struct blur *blurs)
{
    struct error err = {0};
    struct bounded result;
    if (try_run(body, blurs, &result, NULL, &err))
        fail_msg("%s", err.message);
    return result;
}

/* Element i of y is not farther from `value` than its bound says. */
static bool allows(const struct bounded *y, size_t i, double value)
{
    return isinf(bounded_hard(y, i)) || fabsl(y->value[i] - value) <= bounded_hard(y, i);
}

/* The end of a range is a rounded sum: it may lie a little farther out than it looks. */
static void test_range_ends(void **state)
{
    (void)state;
    struct bounded b;
    struct shape shape = {.rank = 0};
    assert_int_equal(bounded_alloc(&b, DTYPE_FLOAT, &shape, false, NULL), 0);
    bounded_put_range(&b, 0, 0, -1, 1 + 0x1p-70L);
    assert_true(b.hard[0] > 1);
    assert_true(b.hard[0] == b.likely[0]);
    bounded_release(&b);
}

/* Scale and data both off: the product of their bounds counts. */
static void test_dequantize(void **state)
{
    (void)state;
    struct blur blurs[] = {{"DequantizeLinear", 0, 0, 1}, {"DequantizeLinear", 1, 0, 0.5}, {0}};
    struct bounded y = run("x = Constant <value = int8[1] {2}> () s = Constant <value = float {1.0}> () "
                           "y = DequantizeLinear (x, s)",
                           blurs);
    assert_true(allows(&y, 0, 4.5) && !allows(&y, 0, 4.6));
    bounded_release(&y);
}

/* A scale that may be of either sign, and an infinity. */
static void test_quantize(void **state)
{
    (void)state;
    struct blur blurs[] = {{"QuantizeLinear", 1, 0, 2}, {0}};
    struct bounded y = run("o = Constant <value = float[1] {0.0}> () x = Log (o) "
                           "s = Constant <value = float {1.0}> () y = QuantizeLinear (x, s)",
                           blurs);
    assert_true(allows(&y, 0, 0) && allows(&y, 0, 255));
    bounded_release(&y);
}

/* An index that may be out of range makes a node open, though it picks nothing. */
static void test_index_outside(void **state)
{
    (void)state;
    struct error err = {0};
    struct bounded y;
    bool open = false;
    struct blur blurs[] = {{"Gather", 1, 0, 5}, {0}};
    assert_int_equal(try_run("n = Constant <value = int64[2] {3, 0}> () x = ConstantOfShape (n) "
                             "i = Constant <value = int64[1] {1}> () y = Gather (x, i)",
                             blurs, &y, &open, &err),
                     0);
    assert_true(open);
    bounded_release(&y);
}

/* Off or on, which are the same but for their bounds. */
static void test_one_hot(void **state)
{
    (void)state;
    struct blur blurs[] = {{"OneHot", 0, 0, 1}, {"OneHot", 2, 1, 0.5}, {0}};
    struct bounded y = run("i = Constant <value = int64[1] {0}> () d = Constant <value = int64 {2}> () "
                           "v = Constant <value = float[2] {1.0, 1.0}> () y = OneHot (i, d, v)",
                           blurs);
    assert_true(allows(&y, 0, 1.5) && allows(&y, 1, 1.5));
    bounded_release(&y);
}

/* What rounding adds is of the size that the data may have. */
static void test_interpolation(void **state)
{
    (void)state;
    struct blur blurs[] = {{"Resize", 0, 0, 1e6}, {"Resize", 0, 1, 1e6}, {0}};
    struct bounded y = run("x = Constant <value = float[1,1,1,2] {0.0, 0.0}> () "
                           "s = Constant <value = float[4] {1.0, 1.0, 1.0, 2.0}> () "
                           "y = Resize <mode = \"linear\"> (x, , s)",
                           blurs);
    assert_true(allows(&y, 1, 1e6 + 0.6) && !allows(&y, 1, 1e6 + 2));
    bounded_release(&y);
}

/* An integer that may be where float32 rounds it out of its type: all is open then. */
static void test_edge_of_integers(void **state)
{
    (void)state;
    struct blur blurs[] = {{"Resize", 0, 3, 1000}, {0}};
    struct bounded y = run("x = Constant <value = int32[1,1,1,4] {0, 0, 0, 2147483000}> () "
                           "s = Constant <value = float[4] {1.0, 1.0, 1.0, 2.0}> () "
                           "y = Resize <mode = \"linear\"> (x, , s)",
                           blurs);
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
}

/* A coordinate just inside, which may be outside, where implementations differ. */
static void test_grid(void **state)
{
    (void)state;
    struct blur blurs[] = {{"GridSample", 1, 0, 0.05}, {0}};
    struct bounded y =
        run("x = Constant <value = float[1,1,1,4] {1.0, 2.0, 3.0, 5.0}> () "
            "g = Constant <value = float[1,1,1,2] {-0.99, 0.0}> () "
            "y = GridSample <mode = \"bicubic\", padding_mode = \"border\", align_corners = 1> "
            "(x, g)",
            blurs);
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
}

/* Sizes, and scales that make one, must be known. */
static void test_sizes(void **state)
{
    (void)state;
    static const char by_size[] = "x = Constant <value = float[2] {1.0, 2.0}> () "
                                  "n = Constant <value = int64[1] {3}> () y = Resize (x, , , n)";
    static const char by_scale[] = "x = Constant <value = float[2] {1.0, 2.0}> () "
                                   "s = Constant <value = float[1] {1.5}> () y = Resize (x, , s)";
    struct blur sizes[] = {{"Resize", 3, 0, 1}, {0}}, crossing[] = {{"Resize", 2, 0, 0.25}, {0}},
                inside[] = {{"Resize", 2, 0, 0.125}, {0}};
    struct error err = {0};
    struct bounded y;
    assert_int_equal(try_run(by_size, sizes, &y, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    assert_int_equal(try_run(by_scale, crossing, &y, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    y = run("x = Constant <value = float[2] {1.0, 2.0}> () s = Constant <value = float[1] {1.75}> () "
            "y = Resize (x, , s)",
            inside);
    assert_int_equal(y.count, 3);
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
}

/* A sum that may have left its type is open from there on. */
static void test_running_sum(void **state)
{
    (void)state;
    struct blur blurs[] = {{"CumSum", 0, 0, 20}, {0}};
    struct bounded y = run("x = Constant <value = int32[2] {-2147483630, 1000}> () "
                           "a = Constant <value = int32 {0}> () y = CumSum (x, a)",
                           blurs);
    assert_true(isinf(bounded_hard(&y, 0)) && isinf(bounded_hard(&y, 1)));
    bounded_release(&y);
}

static void test_scatter(void **state)
{
    (void)state;
    /* An infinity times what may be 0, or of either sign. */
    struct blur either[] = {{"ScatterElements", 2, 0, 1}, {0}}, none[] = {{0}},
                large[] = {{"ScatterElements", 0, 0, 1e6}, {0}};
    struct bounded y = run("o = Constant <value = float[1] {0.0}> () x = Log (o) "
                           "i = Constant <value = int64[1] {0}> () u = Constant <value = float[1] {0.5}> () "
                           "y = ScatterElements <reduction = \"mul\"> (x, i, u)",
                           either);
    assert_true(isinf(bounded_hard(&y, 0)));
    bounded_release(&y);
    /* A product that is lost on the way, by how much it is then. */
    y = run("x = Constant <value = float[1] {1e-30}> () i = Constant <value = int64[2] {0, 0}> () "
            "u = Constant <value = float[2] {1e-20, 1e10}> () "
            "y = ScatterElements <reduction = \"mul\"> (x, i, u)",
            none);
    assert_true(allows(&y, 0, 0) && !allows(&y, 0, 1e-20));
    bounded_release(&y);
    /* Roundings of a sum are of the size that its parts may have. */
    y = run("x = Constant <value = float[1] {0.0}> () i = Constant <value = int64[3] {0, 0, 0}> () "
            "u = Constant <value = float[3] {0.1, 0.1, 0.1}> () "
            "y = ScatterElements <reduction = \"add\"> (x, i, u)",
            large);
    assert_true(allows(&y, 0, 1e6 + 0.3 + 0.1) && !allows(&y, 0, 1e6 + 1));
    bounded_release(&y);
}

/* A half that overflows may be carried wide from iteration to iteration. */
static void test_carried_half(void **state)
{
    (void)state;
    struct blur none[] = {{0}};
    struct bounded y =
        run("a = Constant <value = float[1] {-65504.0}> () b = Constant <value = float[1] {65504.0}> () "
            "n = Constant <value = int64 {2}> () x = Cast <to = 10> (a) k = Cast <to = 10> (b) "
            "y = Loop <body = g (int64 i, bool c, float16[1] v) => (bool d, float16[1] w) "
            "{ d = Identity (c) w = Sub (k, v) }> (n, , x)",
            none);
    assert_true(allows(&y, 0, -65504));
    bounded_release(&y);
}

/* Whether a step that may be 0 is one is not the node's fault. */
static void test_range(void **state)
{
    (void)state;
    struct blur steps[] = {{"Range", 2, 0, 1}, {0}}, none[] = {{0}};
    struct error err = {0};
    struct bounded y;
    assert_int_equal(try_run("a = Constant <value = float {0.0}> () b = Constant <value = float {4.0}> () "
                             "y = Range (a, b, a)",
                             steps, &y, NULL, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    /* Steps from a number that has no room for them. */
    y = run("a = Constant <value = float {-16777218.0}> () b = Constant <value = float {-16777214.0}> () "
            "d = Constant <value = float {1.0}> () y = Range (a, b, d)",
            none);
    assert_int_equal(y.count, 4);
    assert_true(allows(&y, 3, -16777214));
    bounded_release(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carried_half), cmocka_unit_test(test_range),
        cmocka_unit_test(test_range_ends),   cmocka_unit_test(test_dequantize),
        cmocka_unit_test(test_quantize),     cmocka_unit_test(test_index_outside),
        cmocka_unit_test(test_one_hot),      cmocka_unit_test(test_interpolation),
        cmocka_unit_test(test_grid),         cmocka_unit_test(test_edge_of_integers),
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_running_sum),
        cmocka_unit_test(test_scatter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
