/* Stand-ins for confidential values, and the search for what is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "scramble/leak.h"
#include "scramble/stand_in.h"

#include <math.h>
#include <string.h>

static struct tensor make(enum dtype type, size_t count, const long double *values)
{
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < count; i++)
        tensor_set(&tensor, i, values[i]);
    return tensor;
}

static const long double values[] = {0, -0.731L, 12.5L, INFINITY, NAN, 3.14159L, -0.731L, 0.9999L};
enum { VALUES = sizeof values / sizeof *values };

/* What each closeness keeps is kept in all types, and the rest is not. */
static void test_closeness(void **state)
{
    static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int closeness = CLOSE_CLASS; closeness <= CLOSE_NEAR; closeness++) {
            struct tensor from = make(types[t], VALUES, values), to = make(types[t], VALUES, values);
            size_t same = 0;
            assert_int_equal(stand_in(&to, (enum closeness)closeness, 7, NULL), 0);
            for (size_t i = 0; i < VALUES; i++) {
                long double a = tensor_get(&from, i), b = tensor_get(&to, i);
                assert_int_equal(isnan(a), isnan(b));
                assert_int_equal(isinf(a), isinf(b));
                assert_int_equal(a == 0, b == 0);
                assert_int_equal(signbit(a), signbit(b));
                if (closeness == CLOSE_NEAR && isfinite(a))
                    assert_int_equal(ilogbl(a), ilogbl(b));
                for (size_t k = 0; k < i && closeness == CLOSE_ORDER; k++)
                    assert_int_equal(a < tensor_get(&from, k), b < tensor_get(&to, k));
                same += a == b;
            }
            if (closeness >= CLOSE_ORDER)
                assert_true(tensor_get(&to, 1) == tensor_get(&to, 6));
            assert_in_range(same, 1, 4); /* 0 and the infinity, and what has too few digits to change */
            tensor_release(&from);
            tensor_release(&to);
        }
}

/* Integers stay between the least and the greatest, and the ends of the type are what they were. */
static void test_integers(void **state)
{
    static const long double numbers[] = {-128, 127, 17, 93, 0, -77, 64, 55};
    (void)state;
    for (int closeness = CLOSE_LIKE; closeness <= CLOSE_NEAR; closeness++) {
        struct tensor to = make(DTYPE_INT8, 8, numbers);
        assert_int_equal(stand_in(&to, (enum closeness)closeness, 3, NULL), 0);
        if (closeness > CLOSE_LIKE) {
            assert_true(tensor_get(&to, 0) == -128 && tensor_get(&to, 1) == 127 && tensor_get(&to, 4) == 0);
            assert_true(tensor_get(&to, 5) < 0 && tensor_get(&to, 3) > 0);
        }
        assert_true(tensor_get(&to, 2) != 17 || tensor_get(&to, 3) != 93 || tensor_get(&to, 5) != -77);
        tensor_release(&to);
    }
}

/* Zeros alone have no range to draw from. */
static void test_zeros(void **state)
{
    static const long double zeros[] = {0, 0};
    (void)state;
    for (int closeness = CLOSE_LIKE; closeness <= CLOSE_NEAR; closeness++) {
        struct tensor to = make(DTYPE_UINT8, 2, zeros);
        assert_int_equal(stand_in(&to, (enum closeness)closeness, 5, NULL), 0);
        assert_true(tensor_get(&to, 0) == 0 && tensor_get(&to, 1) == 0);
        tensor_release(&to);
    }
}

static void test_texts(void **state)
{
    static const char bytes[] = "\6\0\0\0Ab-9zz\3\0\0\0abc\6\0\0\0Ab-9zz";
    struct tensor texts;
    struct shape shape = shape_make(1, (int64_t[]){3});
    (void)state;
    assert_int_equal(tensor_from_bytes(&texts, DTYPE_STRING, &shape, bytes, sizeof bytes - 1, NULL), 0);
    assert_int_equal(stand_in(&texts, CLOSE_CLASS, 1, NULL), 0);
    const char *at = texts.data;
    assert_int_equal(tensor_strings_check(&texts, NULL), 0);
    assert_true(at[4] >= 'A' && at[4] <= 'Z' && at[6] == '-' && at[7] >= '0' && at[7] <= '9');
    assert_memory_equal(at + 4, at + 21, 6);
    assert_memory_not_equal(at + 4, "Ab-9zz", 6);
    tensor_release(&texts);
}

static bool leaks(const struct tensor *forbidden, const struct tensor *allowed, const struct tensor *there)
{
    const char *what;
    struct leak_search *search = leak_search_new();
    if (allowed)
        leak_allow_tensor(search, allowed);
    leak_forbid_tensor(search, forbidden, "w");
    bool found = leak_in_tensor(search, there, &what);
    if (found)
        assert_string_equal(what, "w");
    leak_search_free(search);
    return found;
}

/* Runs are found wherever they begin, and only those that count. */
static void test_runs(void **state)
{
    static const long double weights[] = {0.713L, -1.37L, 2.219L, 0}, part[] = {9, -1.37L, 2.219L, 9},
                             single[] = {9, 2.219L, 9, 9}, plain[] = {1, 2, 0.5L, 8},
                             ids[] = {301, 17, 999, 45}, pair[] = {17, 999, 0, 0};
    (void)state;
    struct tensor a = make(DTYPE_FLOAT, 4, weights), b = make(DTYPE_FLOAT, 4, part),
                  c = make(DTYPE_FLOAT, 4, single), d = make(DTYPE_FLOAT, 4, plain),
                  e = make(DTYPE_INT64, 4, ids), f = make(DTYPE_INT64, 4, pair);
    assert_true(leaks(&a, NULL, &b));
    assert_false(leaks(&a, &b, &b));
    assert_false(leaks(&a, NULL, &c)); /* 4 bytes */
    assert_false(leaks(&d, NULL, &d));
    assert_true(leaks(&e, NULL, &e));
    assert_false(leaks(&e, NULL, &f)); /* 22 bits */
    struct tensor *all[] = {&a, &b, &c, &d, &e, &f};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tensor_release(all[i]);
}

/* Elements of 4 bits are looked for as two of them share a byte. */
static void test_packed_runs(void **state)
{
    long double nibbles[20], others[20];
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        nibbles[i] = (long double)(i * 7 % 16);
        others[i] = (long double)(i * 5 % 16);
    }
    struct tensor a = make(DTYPE_UINT4, 20, nibbles), b = make(DTYPE_UINT4, 20, others);
    assert_true(leaks(&a, NULL, &a));
    assert_false(leaks(&a, NULL, &b));
    tensor_release(&a);
    tensor_release(&b);
}

static void test_words(void **state)
{
    static const char bytes[] = "...kernel_shape...Conv...acme...";
    const char *what = NULL;
    (void)state;
    struct leak_search *search = leak_search_new();
    leak_forbid_text(search, "shape", 5);
    leak_forbid_text(search, "Con", 3);
    leak_allow_text(search, "kernel_shape");
    assert_false(leak_found(search, bytes, sizeof bytes - 1, &what));
    leak_forbid_text(search, "acme", 4);
    assert_true(leak_found(search, bytes, sizeof bytes - 1, &what));
    assert_string_equal(what, "acme");
    leak_search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closeness), cmocka_unit_test(test_integers), cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_runs),     cmocka_unit_test(test_packed_runs),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
