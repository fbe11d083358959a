/* What rounding does to an output, tried out: little in a chain of sums, all that a jump within its reach
 * makes. */
#include "saved_case.h"

#include "locate/rounding_tried.h"

#include <math.h>

static double moved(const char *text, size_t element, long double exact)
{
    struct test_case *test = case_of_text(text, 1); /* x counts up from 1 */
    struct error err = {0};
    double found;
    if (rounding_tried(test, 0, element, exact, &found, &err))
        fail_msg("%s", err.message);
    test_case_free(test);
    return found;
}

static void results_move_by_some_units(void **state)
{
    (void)state;
    double off = moved("g (float[4] x) => (float[4] y) { a = Add(x, x) b = Mul(a, a) y = Sub(b, x) }", 3, 60);
    assert_true(off > 1e-7 * 60 && off < 1e-4 * 60);
    /* What cancels leaves the errors of its terms. */
    off = moved("g (float[4] x) => (float[4] y) { a = Add(x, x) b = Add(x, x) y = Sub(a, b) }", 3, 0);
    assert_true(off > 1e-7 && off < 1e-3);
}

static void a_jump_within_reach_is_taken(void **state)
{
    (void)state;
    assert_true(moved("g (float[4] x) => (float[4] y) { h = Add(x, x) f = Floor(h) y = Add(f, x) }", 1, 6) >
                0.9);
    /* Far from one, none is taken. */
    assert_true(
        moved(
            "g (float[4] x) => (float[4] y) <float c = {0.25}> { h = Mul(x, c) f = Floor(h) y = Add(f, x) }",
            1, 2) < 1e-3);
}

static void an_element_that_is_not_there(void **state)
{
    (void)state;
    struct test_case *test = case_of_text("g (float[4] x) => (float[4] y) { y = Neg(x) }", 1);
    struct error err = {0};
    double found;
    assert_int_equal(rounding_tried(test, 0, 4, 0, &found, &err), -1);
    assert_int_equal(rounding_tried(test, 1, 0, 0, &found, &err), -1);
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_move_by_some_units),
        cmocka_unit_test(a_jump_within_reach_is_taken),
        cmocka_unit_test(an_element_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
