#include "tensor/literal.h"
#include "tensor/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void halves_round_to_even_and_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        float half = float16_to((uint16_t)bits), brain = bfloat16_to((uint16_t)bits);
        if (!isnan(half))
            assert_int_equal(float16_from(half), bits);
        if (!isnan(brain))
            assert_int_equal(bfloat16_from(brain), bits);
    }
    assert_int_equal(float16_from(65519.999L), 0x7bff);
    assert_int_equal(float16_from(65520), 0x7c00);
    assert_int_equal(float16_from(1 + 0x1p-11L), 0x3c00);
    assert_int_equal(float16_from(1 + 3 * 0x1p-11L), 0x3c02);
    assert_int_equal(float16_from(0x1p-25L), 0);
    assert_int_equal(float16_from(0x1.000001p-25L), 1);
    assert_int_equal(float16_from(-0.0L), 0x8000);
    assert_int_equal(bfloat16_from(1 + 0x1p-8L), 0x3f80);
    assert_int_equal(bfloat16_from(1 + 0x1.8p-8L), 0x3f81);
    assert_true(isnan(float16_to(float16_from(NAN))));
    assert_true(isinf(float16_to(float16_from(-INFINITY))));
}

static void integers_saturate_and_truncate(void **state)
{
    (void)state;
    assert_true(dtype_round(DTYPE_INT8, 1e30L) == 127);
    assert_true(dtype_round(DTYPE_INT8, -129) == -128);
    assert_true(dtype_round(DTYPE_UINT8, -0.5L) == 0);
    assert_true(dtype_round(DTYPE_INT32, -1.9L) == -1);
    assert_true(dtype_round(DTYPE_INT64, 9223372036854775807.0L) == 9223372036854775807.0L);
    assert_true(dtype_round(DTYPE_UINT64, 18446744073709551615.0L) == 18446744073709551615.0L);
    assert_true(dtype_round(DTYPE_INT64, NAN) == 0);
    assert_true(isinf(dtype_round(DTYPE_FLOAT, 1e39L)));
    assert_true(dtype_round(DTYPE_BOOL, 0.25L) == 1);
}

static void shapes_are_checked_before_memory(void **state)
{
    (void)state;
    struct error err = {0};
    struct tensor tensor;
    struct shape huge = {2, {1LL << 40, 1LL << 40}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &huge, 0, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    struct shape negative = {1, {-1}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &negative, 0, &err), -1);
    struct shape empty = {2, {1LL << 40, 0}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &empty, 0, &err), 0);
    assert_int_equal(tensor.count, 0);
    tensor_release(&tensor);
    struct shape scalar = {0, {0}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_DOUBLE, &scalar, 0, &err), 0);
    assert_int_equal(tensor.count, 1);
    tensor_release(&tensor);
    struct shape deep = {17, {0}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &deep, 0, &err), -1);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &scalar, "abc", 3, &err), -1);
    assert_int_equal(dtype_check(26, &err), 0);
    assert_int_equal(dtype_check(27, &err), -1);
    assert_int_equal(err.code, ERROR_FORMAT);
    assert_int_equal(dtype_check(0, &err), -1);
    assert_int_equal(dtype_check(-1, &err), -1);
}

static void strings_travel_with_their_lengths(void **state)
{
    (void)state;
    struct error err = {0};
    struct tensor tensor, copy;
    struct shape two = {1, {2}};
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &two, "\2\0\0\0hi\0\0\0\0", 10, &err), 0);
    assert_int_equal(tensor_copy(&copy, &tensor, &err), 0);
    assert_true(tensor_identical(&tensor, &copy));
    tensor_release(&copy);
    tensor_release(&tensor);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &two, "\3\0\0\0hi\0\0\0\0", 10, &err), -1);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &two, "\2\0\0\0hi", 6, &err), -1);
}

static void identical_means_bits(void **state)
{
    (void)state;
    struct error err = {0};
    struct tensor a, b;
    struct shape one = {1, {1}};
    assert_int_equal(tensor_alloc(&a, DTYPE_FLOAT, &one, 0, &err), 0);
    assert_int_equal(tensor_alloc(&b, DTYPE_FLOAT, &one, 0, &err), 0);
    assert_true(tensor_identical(&a, &b));
    tensor_set(&b, 0, -0.0L);
    assert_false(tensor_identical(&a, &b));
    tensor_release(&a);
    tensor_release(&b);
}

/* As Python reads it: -0 would be the integer 0. */
static void lists_of_python_keep_every_number(void **state)
{
    (void)state;
    static const long double numbers[] = {1, -0.0L, (float)0.1, INFINITY, -INFINITY, NAN};
    struct tensor floats, integers;
    struct str out;
    str_init(&out);
    assert_int_equal(tensor_alloc(&floats, DTYPE_FLOAT, &(struct shape){1, {6}}, 0, NULL), 0);
    assert_int_equal(tensor_alloc(&integers, DTYPE_INT64, &(struct shape){1, {2}}, 0, NULL), 0);
    for (size_t i = 0; i < 6; i++)
        tensor_set(&floats, i, numbers[i]);
    tensor_set(&integers, 1, (long double)INT64_MIN);
    tensor_python_list(&out, &floats, 0, 6);
    tensor_python_list(&out, &integers, 1, 2);
    assert_string_equal(out.data, "[1.0, -0.0, 0.100000001, inf, -inf, nan][-9223372036854775808]");
    str_release(&out);
    tensor_release(&floats);
    tensor_release(&integers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_round_to_even_and_back),
        cmocka_unit_test(integers_saturate_and_truncate),
        cmocka_unit_test(shapes_are_checked_before_memory),
        cmocka_unit_test(strings_travel_with_their_lengths),
        cmocka_unit_test(identical_means_bits),
        cmocka_unit_test(lists_of_python_keep_every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
