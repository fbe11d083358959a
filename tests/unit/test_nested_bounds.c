/*
 * The activations of recurrent cells, and roots, on parts of intervals: what they make of a part must lie
 * within what they make of the whole, or the steps that follow leave their bounds (docs/bounds/recurrent.md).
 * And bounds in float64, which the reference itself rounds nearly as coarsely.
 */
#include "base/random.h"
#include "base/wide.h"
#include "bounds/bounded.h"
#include "bounds/sum.h"
#include "ops/rnn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TRIALS = 20000 };

/* Somewhere, as wide as one likes; often at a threshold or a kink. */
static struct number draw_whole(struct rng *rng, const struct activation *a)
{
    static const long double places[] = {0, 0.5L, 1, -1, 2};
    long double near = rng_chance(rng, 0.3) ? a->alpha : places[rng_below(rng, 5)];
    long double width = powl(10, rng_uniform(rng, -6, 1.5));
    struct number x = {.h = rng_chance(rng, 0.05) ? 0 : width};
    x.v = rng_chance(rng, 0.3) ? near : near + width * 3 * rng_uniform(rng, -1, 1);
    x.l = x.h / 3;
    return x;
}

/* A part of it: nearly all, at an end, or anywhere. */
static struct number draw_part(struct rng *rng, struct number x)
{
    long double shift = rng_chance(rng, 0.3) ? 1e-3L * rng_unit(rng) : rng_unit(rng);
    shift = rng_chance(rng, 0.1) ? 1 : shift;
    long double left = (1 - shift) * (rng_chance(rng, 0.5) ? 1 : rng_unit(rng));
    return (struct number){x.v + (rng_chance(rng, 0.5) ? shift : -shift) * x.h, left * x.h, left * x.l};
}

static void check(enum activation_kind kind, struct rng *rng)
{
    struct rnn rnn = {.u = 0x1p-24L, .per_direction = 1, .clip = INFINITY};
    struct activation *a = &rnn.activations[0];
    *a = (struct activation){.kind = kind, .alpha = 1, .beta = 0.5L};
    if (rng_chance(rng, 0.7)) {
        a->alpha = rng_uniform(rng, kind == ACT_SCALED_TANH || kind == ACT_AFFINE ? -2 : 0, 2);
        a->beta = rng_uniform(rng, -1, 1);
    }
    if (rng_chance(rng, 0.3))
        rnn.clip = 0.25L * (long double)(1 + rng_below(rng, 12));
    struct number x = draw_whole(rng, a), part = draw_part(rng, x);
    struct number y = rnn_activate(&rnn, 0, x), inner = rnn_activate(&rnn, 0, part);
    if (isinf(y.h))
        return;
    long double most = fabsl(inner.v - y.v) + inner.h,
                slack = 0x1p-50L * (fabsl(y.v) + y.h + fabsl(x.v) + x.h);
    if (!(most <= y.h + slack))
        fail_msg(
            "%s alpha %Lg beta %Lg clip %Lg of %Lg +- %Lg is %Lg +- %Lg, but of %Lg +- %Lg it is %Lg +- %Lg",
            activation_name(kind), a->alpha, a->beta, rnn.clip, x.v, x.h, y.v, y.h, part.v, part.h, inner.v,
            inner.h);
}

static void test_parts_stay_within_the_whole(void **state)
{
    (void)state;
    for (int kind = 0; kind < ACT_COUNT; kind++) {
        struct rng rng = rng_seed((uint64_t)kind + 1);
        for (int i = 0; i < TRIALS; i++)
            check((enum activation_kind)kind, &rng);
    }
}

static struct number threshold(struct number x)
{
    const struct activation a = {.kind = ACT_THRESHOLDED_RELU, .alpha = 1};
    return activation_apply(&a, x, 0x1p-24L);
}

/* An exact argument at the threshold, as a clip makes it, is x or 0 and nothing else; near it nothing is
 * known; elsewhere nothing is lost. */
static void test_a_threshold_is_decided_where_it_can_be(void **state)
{
    (void)state;
    assert_true(threshold((struct number){.v = 1}).h == 1);
    assert_true(isinf(threshold((struct number){.v = 1, .h = 1e-6L}).h));
    assert_true(threshold((struct number){.v = 1.5L, .h = 0.25L}).h == 0.25L);
    assert_true(threshold((struct number){.v = 0.5L, .h = 0.25L}).h == 0);
}

/* Roots of small arguments, of which much is lost by underflow, and of large ones. */
static void test_roots_of_parts_stay_within_the_whole(void **state)
{
    (void)state;
    struct rng rng = rng_seed(7);
    for (int i = 0; i < TRIALS; i++) {
        long double inverse = 1 / (long double)(2 + rng_below(&rng, 2)),
                    own = powl(10, rng_uniform(&rng, -8, 0));
        long double low = own * powl(10, rng_uniform(&rng, -3, 3)), reach = low * rng_uniform(&rng, 0, 4);
        struct number x = {low + reach, reach, 0}, part = draw_part(&rng, x);
        part.v = fmaxl(part.v, low);
        long double whole = root_hard(x.v, x.h, own, inverse),
                    inner = root_hard(part.v, part.h, own, inverse);
        long double root = powl(x.v, inverse), other = powl(part.v, inverse);
        if (!(fabsl(other - root) + inner <= whole * (1 + 0x1p-40L)))
            fail_msg("root %Lg of %Lg +- %Lg, own %Lg: +- %Lg; of %Lg +- %Lg: +- %Lg", inverse, x.v, x.h, own,
                     whole, part.v, part.h, inner);
    }
}

/* A sixth of 3.6 by another order of divisions is another long double; at the end of a bound that counts. */
static void test_float64_allows_for_the_references_rounding(void **state)
{
    (void)state;
    const double unit = 0x1p-53;
    struct error err = {0};
    struct bounded b;
    assert_int_equal(bounded_alloc(&b, DTYPE_DOUBLE, &(struct shape){.rank = 0}, false, &err), 0);
    for (int units = 1; units <= 16; units++) {
        long double exact = 0.6L, rounded = exact * (1 + 4 * WIDE_UNIT), hard = units * unit * exact;
        bounded_put(&b, 0, rounded, hard, hard / 3);
        assert_true(rounded - (exact - hard - unit * (exact + hard)) <= bounded_hard(&b, 0));
        assert_true(bounded_hard(&b, 0) <= (hard + unit * (exact + hard)) * 1.005L);
    }
    bounded_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_stay_within_the_whole),
        cmocka_unit_test(test_a_threshold_is_decided_where_it_can_be),
        cmocka_unit_test(test_roots_of_parts_stay_within_the_whole),
        cmocka_unit_test(test_float64_allows_for_the_references_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
