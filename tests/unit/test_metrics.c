/* CRADLE's measures against values computed by hand, and the comparison of tensors both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tensor floats(const float *values, size_t count)
{
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &shape, values, count * sizeof *values, NULL),
                     0);
    return tensor;
}

static struct metrics_difference compare(const float *a, const float *b, size_t count,
                                         const struct metrics_tolerance *tolerance)
{
    struct tensor ta = floats(a, count), tb = floats(b, count);
    struct metrics_difference difference;
    metrics_compare(&ta, &tb, tolerance, &difference);
    tensor_release(&ta);
    tensor_release(&tb);
    return difference;
}

static void test_rank_and_score(void **state)
{
    (void)state;
    const double y[] = {0.1, 0.5, 0.2, 0.2};
    assert_int_equal(metrics_rank(y, 4, 1), 1);
    assert_int_equal(metrics_rank(y, 4, 2), 2);
    assert_int_equal(metrics_rank(y, 4, 3), 3);
    assert_int_equal(metrics_rank(y, 4, 0), 4);
    assert_int_equal(metrics_rank(y, 4, 9), 5);
    assert_true(metrics_class_score(y, 4, 1, 5) == 16);
    assert_true(metrics_class_score(y, 4, 3, 5) == 4);
    assert_true(metrics_class_score(y, 4, 0, 3) == 0);
    const double broken[] = {NAN, 0.5, NAN};
    assert_int_equal(metrics_rank(broken, 3, 1), 1);
    assert_true(metrics_class_score(broken, 3, 0, 5) == 0);
    assert_int_equal(metrics_top(broken, 3), 1);
    assert_int_equal(metrics_top(broken, 1), 1);
}

/* The paper's petri dish: first against third is 12, first against not in the top five is 16. */
static void test_class_distance(void **state)
{
    (void)state;
    const double first[] = {9, 1, 2, 3, 4, 5, 6}, third[] = {4.5, 1, 2, 3, 4, 5, 6};
    const double sixth[] = {1.5, 1, 2, 3, 4, 5, 6};
    assert_true(metrics_class_distance(first, third, 7, 0, 5) == 12);
    assert_true(metrics_class_distance(first, sixth, 7, 0, 5) == 16);
    assert_true(metrics_class_distance(sixth, sixth, 7, 0, 5) == 0);
}

/* The paper's steering angle: truth 0, answers 0.4 and -0.1: 0.6. */
static void test_mad_distance(void **state)
{
    (void)state;
    const double truth[] = {0, 1}, a[] = {0.4, 1}, b[] = {-0.1, 1};
    assert_true(fabs(metrics_mad_distance(a, b, truth, 1) - 0.6) < 1e-15);
    assert_true(metrics_mad_distance(truth, truth, truth, 2) == 0);
    assert_true(metrics_mad_distance(truth, a, truth, 2) == 1);
    const double nan_a[] = {NAN, 2}, nan_b[] = {NAN, 3}, inf[] = {INFINITY, 2};
    assert_true(metrics_mad_distance(nan_a, a, truth, 2) == 1);
    assert_true(metrics_mad_distance(a, nan_a, truth, 2) == 1);
    assert_true(metrics_mad_distance(nan_a, inf, truth, 2) == 1);
    assert_true(fabs(metrics_mad_distance(nan_a, nan_b, truth, 2) - 1.0 / 3) < 1e-15);
}

static void test_patterns(void **state)
{
    (void)state;
    struct metrics_pattern pattern = {0};
    const double distances[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 0};
    for (size_t i = 0; i < 10; i++)
        metrics_pattern_class(&pattern, i, distances[i], &metrics_cradle);
    const size_t expected[] = {1, 2, 2, 2, 1, 2};
    assert_memory_equal(pattern.class_bins, expected, sizeof expected);
    assert_int_equal(pattern.triggering, 3);
    assert_int_equal(pattern.worst, 8);
    assert_true(metrics_inconsistent(&pattern, &metrics_cradle));
    struct metrics_thresholds strict = metrics_cradle;
    strict.percent = 30;
    assert_true(metrics_inconsistent(&pattern, &strict));
    strict.percent = 31;
    assert_false(metrics_inconsistent(&pattern, &strict));

    struct metrics_pattern mad = {0};
    const double parts[] = {0, 0.19, 0.2, 0.6, 0.79, 1};
    for (size_t i = 0; i < 6; i++)
        metrics_pattern_mad(&mad, i, parts[i], &metrics_cradle);
    const size_t bins[] = {1, 2, 0, 1, 2};
    assert_memory_equal(mad.mad_bins, bins, sizeof bins);
    assert_int_equal(mad.triggering, 4);
    struct metrics_pattern none = {0};
    metrics_pattern_mad(&none, 0, 0.1, &metrics_cradle);
    assert_false(metrics_inconsistent(&none, &metrics_cradle));
}

static void test_compare(void **state)
{
    (void)state;
    const struct metrics_tolerance plain = {.rtol = 1e-3, .atol = 1e-5};
    const float a[] = {1, 2, 0}, near[] = {1.0009f, 2, 9e-6f}, far[] = {1, 2.5f, 0};
    struct metrics_difference d = compare(a, near, 3, &plain);
    assert_true(d.close);
    assert_int_equal(d.worst, 0);
    d = compare(a, far, 3, &plain);
    assert_false(d.close);
    assert_int_equal(d.beyond, 1);
    assert_int_equal(d.worst, 1);
    assert_true(d.max_abs == 0.5 && d.max_rel == 0.25);
    assert_true(fabs(d.ratio - 2.0 / 3) < 1e-15);
    const float big[] = {1e6f, 0}, noisy[] = {1e6f, 9};
    assert_false(compare(big, noisy, 2, &plain).close);
    assert_true(compare(big, noisy, 2, &metrics_conformance).close);
}

static void test_compare_nonfinite(void **state)
{
    (void)state;
    const float number[] = {1}, nan[] = {NAN}, inf[] = {INFINITY}, minus[] = {-INFINITY},
                negative[] = {-0.0f};
    const float zero[] = {0};
    assert_true(compare(nan, nan, 1, &metrics_conformance).close);
    assert_true(compare(inf, inf, 1, &metrics_conformance).close);
    assert_true(compare(zero, negative, 1, &metrics_conformance).close);
    const float *pairs[][2] = {{number, nan}, {nan, number}, {inf, number},
                               {number, inf}, {inf, minus},  {nan, inf}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct metrics_difference d = compare(pairs[i][0], pairs[i][1], 1, &metrics_conformance);
        assert_false(d.close);
        assert_int_equal(d.beyond, 1);
        assert_int_equal(d.nan_mismatch + d.inf_mismatch, 1);
    }
    assert_true(compare(number, number, 0, &metrics_conformance).close);
}

static void test_compare_exact_types(void **state)
{
    (void)state;
    struct shape one = shape_make(1, (int64_t[]){1});
    struct tensor a, b;
    struct metrics_difference d;
    int64_t x = 1000000, y = 1000001;
    assert_int_equal(tensor_from_bytes(&a, DTYPE_INT64, &one, &x, 8, NULL), 0);
    assert_int_equal(tensor_from_bytes(&b, DTYPE_INT64, &one, &y, 8, NULL), 0);
    metrics_compare(&a, &b, &metrics_conformance, &d);
    assert_false(d.close);
    metrics_compare(&a, &a, &metrics_conformance, &d);
    assert_true(d.close);
    tensor_release(&a);
    tensor_release(&b);
    assert_int_equal(tensor_from_bytes(&a, DTYPE_STRING, &one, "\1\0\0\0x", 5, NULL), 0);
    assert_int_equal(tensor_from_bytes(&b, DTYPE_STRING, &one, "\2\0\0\0xy", 6, NULL), 0);
    metrics_compare(&a, &b, &metrics_conformance, &d);
    assert_false(d.close);
    metrics_compare(&b, &b, &metrics_conformance, &d);
    assert_true(d.close);
    tensor_release(&a);
    tensor_release(&b);
}

static void test_summary(void **state)
{
    (void)state;
    const float values[] = {NAN, -2, INFINITY, 4, -INFINITY, 1};
    struct tensor tensor = floats(values, 6);
    struct metrics_summary summary;
    metrics_summarize(&tensor, &summary);
    assert_int_equal(summary.nan, 1);
    assert_int_equal(summary.inf, 2);
    assert_true(summary.min == -2 && summary.max == 4 && summary.mean == 1);
    tensor_release(&tensor);
    tensor = floats(values, 0);
    metrics_summarize(&tensor, &summary);
    assert_true(isnan(summary.mean) && summary.count == 0);
    tensor_release(&tensor);
}

static struct value as_value(struct tensor *tensor)
{
    struct value value;
    value_init(&value);
    value_set_name(&value, "y");
    value_set_tensor(&value, tensor);
    return value;
}

static void test_golden(void **state)
{
    (void)state;
    struct str why;
    str_init(&why);
    const float x[] = {1, 2}, nan[] = {1, NAN}, off[] = {1, 3};
    struct tensor tensors[4] = {floats(x, 2), floats(nan, 2), floats(off, 2), floats(x, 1)};
    struct value wanted, values[4];
    const struct expected expected = {.count = 1, .values = &wanted};
    for (size_t i = 0; i < 4; i++)
        values[i] = as_value(&tensors[i]);
    assert_int_equal(value_copy(&wanted, &values[0], NULL), 0);
    const enum golden words[] = {GOLDEN_PASS, GOLDEN_NAN, GOLDEN_WRONG, GOLDEN_SHAPE};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(golden_compare(&expected, &values[i], 1, true, &metrics_conformance, &why),
                         words[i]);
        assert_true((words[i] == GOLDEN_PASS) == (why.length == 0));
    }
    assert_int_equal(golden_compare(&expected, &values[2], 1, false, &metrics_conformance, &why),
                     GOLDEN_PASS);
    assert_int_equal(golden_compare(&expected, NULL, 0, true, &metrics_conformance, &why), GOLDEN_MISSING);
    values[0].tensors[0].type = DTYPE_INT32;
    assert_int_equal(golden_compare(&expected, &values[0], 1, true, &metrics_conformance, &why),
                     GOLDEN_DTYPE);
    value_release(&wanted);
    for (size_t i = 0; i < 4; i++)
        value_release(&values[i]);
    str_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_and_score),
        cmocka_unit_test(test_class_distance),
        cmocka_unit_test(test_mad_distance),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_nonfinite),
        cmocka_unit_test(test_compare_exact_types),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
