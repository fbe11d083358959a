/* Tolerances that no number within its bound fails, against all numbers rather than their hull, and what a
 * device's precision adds to bounds against rounding itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "bounds/precision.h"
#include "judge/tolerance_fit.h"

#include <math.h>

enum { NUMBERS = 9000, ROUNDS = 60 };

static double allowed(struct tolerance tolerance, double size)
{
    return tolerance.atol + tolerance.rtol * size;
}

/* Numbers whose bounds grow with their sizes, do not, or shrink. */
static void draw(struct rng *rng, size_t kind, double *size, double *off)
{
    *size = fabs(rng_normal(rng));
    double part = rng_unit(rng);
    *off = kind % 3 == 0   ? 1e-6 * part + 1e-4 * *size * part
           : kind % 3 == 1 ? 1e-5 * part
                           : 1e-4 / (1 + *size);
    if (kind % 5 == 4 && part < 0.1)
        *size = 0;
}

static void test_fit(void **state)
{
    (void)state;
    static double size[NUMBERS], off[NUMBERS];
    struct rng rng = rng_seed(44);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct tolerance_fit fit = {0};
        double largest = 0, mean = 0, flat = 0;
        size_t count = 1 + (size_t)rng_below(&rng, round % 4 ? 50 : NUMBERS);
        for (size_t i = 0; i < count; i++) {
            draw(&rng, round, &size[i], &off[i]);
            tolerance_add(&fit, size[i], off[i], false);
            largest = fmax(largest, size[i]);
            flat = fmax(flat, off[i]);
            mean += size[i] / (double)count;
        }
        struct tolerance least = tolerance_least(&fit);
        double passes = tolerance_passes(&fit, least), most = tolerance_most(&fit, least.rtol, 0.01),
               worst = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(off[i] * 1.001 <= allowed(least, size[i]));
            worst = fmax(worst, off[i] + allowed(least, size[i]));
            if (most > 0)
                assert_true(0.01 * largest - off[i] > most + least.rtol * size[i]);
        }
        assert_true(tolerance_holds(&fit, least));
        assert_true(!tolerance_holds(&fit, (struct tolerance){least.rtol * 0.8, least.atol * 0.8}));
        if (largest > 0)
            assert_true(fabs(passes - worst / largest) <= 1e-9 * passes);
        /* An atol alone is never less on average, but for the digits. */
        assert_true(allowed(least, mean) <= 1.25 * flat);
        tolerance_release(&fit);
    }
}

static void test_exact(void **state)
{
    (void)state;
    struct tolerance_fit fit = {0};
    for (size_t i = 0; i < 10; i++)
        tolerance_add(&fit, (double)i, 0, false);
    struct tolerance least = tolerance_least(&fit);
    assert_true(least.rtol == 0 && least.atol == 0 && tolerance_passes(&fit, least) == 0);
    tolerance_release(&fit);
    least = tolerance_least(&fit);
    assert_true(least.rtol == 0 && least.atol == 0 && tolerance_most(&fit, 0, 1) < 0);
}

/* Between integers there are no errors below 1. */
static void test_whole(void **state)
{
    (void)state;
    struct tolerance_fit fit = {0}, other = {0};
    for (size_t i = 0; i < 10; i++)
        tolerance_add(&fit, 0, 0, true);
    struct tolerance tight = {.atol = 1e-7}, loose = {.atol = 1};
    assert_true(tolerance_passes(&fit, tight) == 0 && isinf(tolerance_passes(&fit, loose)));
    assert_true(tolerance_most(&fit, 0, 0.01) > 0.98 && tolerance_most(&fit, 0, 0.01) < 1);
    tolerance_add(&fit, 100, 1, true);
    assert_true(tolerance_passes(&fit, tight) == 0.01 && tolerance_most(&fit, 0, 0.01) < 0);
    assert_true(tolerance_most(&fit, 0, 0.011) > 0.98);
    tolerance_merge(&other, &fit);
    assert_true(other.whole);
    tolerance_add(&other, 100, 1, false);
    assert_true(tolerance_passes(&other, tight) > 0.01 && !other.whole);
    tolerance_release(&other);
    tolerance_release(&fit);
}

/* A mean is that of one output on one sample: beside one without rounding it is no smaller. */
static void test_means(void **state)
{
    (void)state;
    struct tolerance_fit fit = {0}, all = {0}, exact = {0};
    for (size_t i = 0; i < 4; i++)
        tolerance_add(&fit, 1, i ? 1e-6 : 5e-6, false);
    tolerance_end_group(&fit);
    for (size_t i = 0; i < 100; i++)
        tolerance_add(&exact, 1, 0, true);
    tolerance_end_group(&exact);
    tolerance_merge(&all, &fit);
    tolerance_merge(&all, &exact);
    assert_true(tolerance_norms(&fit).rtol == tolerance_norms(&all).rtol);
    assert_true(tolerance_norms(&all).rtol >= 2e-6 && tolerance_norms(&all).rtol <= 2.2e-6);
    tolerance_release(&fit);
    tolerance_release(&all);
    tolerance_release(&exact);
}

/* To `bits` digits of the mantissa: down, to the nearest. */
static double round_off(double value, int bits, int way)
{
    int exponent;
    double mantissa = ldexp(frexp(value, &exponent), bits);
    return ldexp(way ? rint(mantissa) : trunc(mantissa), exponent - bits);
}

static void test_precision(void **state)
{
    (void)state;
    static const int bits[] = {[PRECISION_TF32] = 11, [PRECISION_FLOAT16] = 11, [PRECISION_BFLOAT16] = 8};
    enum { COUNT = 500 };
    struct rng rng = rng_seed(7);
    struct shape shape = {.rank = 1, .dims = {COUNT}};
    for (enum precision precision = PRECISION_TF32; precision <= PRECISION_INT8; precision++) {
        struct bounded b;
        bounded_init(&b);
        assert_int_equal(bounded_alloc(&b, DTYPE_FLOAT, &shape, false, NULL), 0);
        double largest = 0;
        for (size_t i = 0; i < COUNT; i++) {
            b.value[i] = (float)(rng_normal(&rng) * exp2(i < 40 ? -16 : 4 * rng_normal(&rng)));
            largest = fmax(largest, fabs((double)b.value[i]));
        }
        b.value[7] = 0.5L;
        b.value[8] = precision == PRECISION_FLOAT16 ? 1e6L : 1;
        bounded_in_precision(&b, precision);
        for (size_t i = 0; i < COUNT; i++) {
            double value = (double)b.value[i], hard = bounded_hard(&b, i);
            double step = fmax(largest, 1) / 127;
            for (int way = 0; way < 2; way++) {
                double rounded = precision == PRECISION_INT8 ? rint(value / step) * step
                                                             : round_off(value, bits[precision], way);
                if (precision == PRECISION_FLOAT16 && way == 0 && fabs(value) < 0x1p-14)
                    rounded = 0;
                assert_true(fabs(rounded - value) <= hard);
            }
            assert_true(i == 8 || hard <= fabs(value) / 64 + 2 * step);
        }
        assert_true(precision == PRECISION_INT8 || bounded_hard(&b, 7) == 0);
        assert_true(precision != PRECISION_FLOAT16 || isinf(bounded_hard(&b, 8)));
        bounded_release(&b);
    }
}

/* What has no more digits than the precision stays exact, and numbers of other kinds are left alone. */
static void test_precision_of_types(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_FLOAT16, DTYPE_INT32, DTYPE_BOOL};
    struct shape shape = {.rank = 1, .dims = {1}};
    for (size_t i = 0; i < 3; i++) {
        struct bounded b;
        bounded_init(&b);
        assert_int_equal(bounded_alloc(&b, types[i], &shape, false, NULL), 0);
        b.value[0] = 1;
        bounded_in_precision(&b, PRECISION_FLOAT16);
        assert_true(bounded_hard(&b, 0) == 0);
        bounded_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),       cmocka_unit_test(test_exact),
        cmocka_unit_test(test_whole),     cmocka_unit_test(test_means),
        cmocka_unit_test(test_precision), cmocka_unit_test(test_precision_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
