/*
 * Normalisations of numbers whose mean is large against their spread. A variance computed in one pass,
 * E[x^2] - E[x]^2, may become negative there and the result NaN: that is imprecise, and never more. Any
 * number passes.
 */
#include "body.h"

#include "engine/wire_bounds.h"
#include "judge/verdict.h"

#include <math.h>
#include <string.h>

#define FAR "x = Constant <value = float[1,1,4] {40000.0, 40001.0, 40002.0, 40003.0}> () "
#define NEAR "x = Constant <value = float[1,1,4] {1.0, 2.0, 3.0, 4.0}> () "
#define HUGE_NUMBERS "x = Constant <value = float[1,1,4] {1.0e18, 1.0e18, 1.0e18, 1.0e18}> () "
#define ONE "s = Constant <value = float[1] {1.0}> () b = Constant <value = float[1] {0.0}> () "

static struct bounded run(const char *body)
{
    struct error err = {0};
    struct bounded result;
    if (run_body(21, body, NULL, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

/* The verdict on an answer of four elements that are all the same. */
static struct verdict judge(const char *body, double answer)
{
    struct verdict verdict = {.kind = VERDICT_AGREES};
    struct bounded y = run(body), again;
    struct wire_bounds bounds;
    struct tensor tensor, got;
    struct value value;
    /* The reference is another process. */
    assert_int_equal(bounds_to_wire(&y, &tensor, &bounds, NULL), 0);
    assert_int_equal(bounds_from_wire(&again, &tensor, &bounds, NULL), 0);
    assert_int_equal(tensor_alloc(&got, DTYPE_FLOAT, &y.shape, 0, NULL), 0);
    for (size_t i = 0; i < got.count; i++)
        tensor_set(&got, i, answer);
    value_init(&value);
    value_set_tensor(&value, &got);
    verdict_output(&verdict, 0, &again, &value);
    verdict_finish(&verdict, "y");
    value_release(&value);
    tensor_release(&tensor);
    wire_bounds_release(&bounds);
    bounded_release(&again);
    bounded_release(&y);
    return verdict;
}

static void test_nan_is_imprecise(void **state)
{
    static const char *const bodies[] = {
        FAR ONE "y = LayerNormalization (x, s, b)",
        FAR ONE "y = InstanceNormalization (x, s, b)",
        FAR ONE "y = GroupNormalization <num_groups = 1> (x, s, b)",
        FAR ONE "n = LayerNormalization (x, s, b) y = Transpose (n)",
        FAR ONE "n, mean, y = LayerNormalization (x, s, b)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_int_equal(judge(bodies[i], NAN).kind, VERDICT_IMPRECISE);
        assert_int_equal(judge(bodies[i], INFINITY).kind, VERDICT_IMPRECISE);
        assert_int_equal(judge(bodies[i], 7).kind, VERDICT_UNDECIDED);
    }
    struct verdict verdict = judge(bodies[0], NAN);
    assert_int_equal(verdict.strange, 4);
    assert_false(verdict_is_finding(verdict.kind));
    assert_non_null(strstr(verdict.text, "output y[0] is nan, expected about -1.3"));
}

/* Where the formula itself may overflow, divide by 0 or read what is not known, NaN is nothing special. */
static void test_nan_that_proves_nothing(void **state)
{
    static const char *const bodies[] = {
        HUGE_NUMBERS ONE "y = LayerNormalization (x, s, b)",
        FAR ONE "y = LayerNormalization <epsilon = 0.0> (x, s, b)",
        FAR "s = Constant <value = float[1] {1.0e36}> () b = Constant <value = float[1] {0.0}> () "
            "y = LayerNormalization (x, s, b)",
        FAR ONE "n = LayerNormalization (x, s, b) m = Max (n, b) y = Min (m, s)",
        FAR ONE "n = LayerNormalization (x, s, b) y = Sigmoid (n)",
        FAR ONE "n = LayerNormalization (x, s, b) y = LayerNormalization (n, s, b)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_false(verdict_is_finding(judge(bodies[i], NAN).kind));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(judge(bodies[i], NAN).kind, VERDICT_UNDECIDED);
}

static void test_usual_data_stay_decided(void **state)
{
    (void)state;
    assert_int_equal(judge(NEAR ONE "y = LayerNormalization (x, s, b)", NAN).kind, VERDICT_NAN);
    assert_int_equal(judge(NEAR ONE "y = InstanceNormalization (x, s, b)", 7).kind, VERDICT_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_is_imprecise),
        cmocka_unit_test(test_nan_that_proves_nothing),
        cmocka_unit_test(test_usual_data_stay_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
