/* Elements that are computed several at a time are what each of them is by itself. */
#include "base/random.h"
#include "ops/op.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COUNT = 200, ROUNDS = 40 };

/* Mostly ordinary numbers; in every other round also those at which the fast way must step aside. */
static long double draw_value(struct rng *rng, bool strange)
{
    static const long double odd[] = {0,       -0.0L,    INFINITY, -INFINITY, NAN,      FLT_MAX,
                                      FLT_MIN, 1e-42L,   1e38L,    1e-4000L,  1e4000L,  1 + 0x1p-60L,
                                      2,       0x1p-20L, -3e38L,   1e300L,    -1e-300L, 4};
    if (rng_below(rng, 8) == 0)
        return 0;
    if (strange && rng_below(rng, 20) == 0)
        return odd[rng_below(rng, sizeof odd / sizeof *odd)];
    return (float)(rng_normal(rng) * exp(rng_normal(rng)));
}

static double draw_bound(struct rng *rng, bool strange)
{
    static const double odd[] = {INFINITY, 1e38, 1e300, 1e-300, DBL_MAX, 1e-40};
    if (rng_below(rng, 4) == 0)
        return 0;
    if (strange && rng_below(rng, 20) == 0)
        return odd[rng_below(rng, sizeof odd / sizeof *odd)];
    return 1e-6 * fabs(rng_normal(rng));
}

static void draw(struct rng *rng, struct bounded *b, bool strange, bool exact)
{
    struct shape shape = {.rank = 1, .dims = {COUNT}};
    assert_int_equal(bounded_alloc(b, DTYPE_FLOAT, &shape, false, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        double hard = exact ? 0 : draw_bound(rng, strange);
        double likely = hard == 0 ? 0 : isinf(hard) ? draw_bound(rng, true) : hard / 4;
        bounded_set(b, i, draw_value(rng, strange), hard, likely);
    }
}

static struct bounded element_of(const struct bounded *b, size_t i)
{
    struct bounded one;
    assert_int_equal(bounded_alloc(&one, b->type, &(struct shape){.rank = 0}, false, NULL), 0);
    bounded_move(&one, 0, b, i);
    return one;
}

/* Bounds may be rounded otherwise, but never down by more than their own last bits. */
static void expect_bound(double got, double alone)
{
    if (isinf(alone) || isinf(got) || alone == 0 || got == 0)
        assert_true(got == alone);
    else
        assert_true(got >= alone * (1 - 0x1p-40) && got <= alone * (1 + 0x1p-30));
}

static void expect_element(const struct bounded *all, size_t i, const struct bounded *one)
{
    long double got = all->value[i], alone = one->value[0];
    if (!(got == alone || (isnan(got) && isnan(alone))))
        fail_msg("element %zu is %.21Lg, and %.21Lg by itself", i, got, alone);
    expect_bound(bounded_hard(all, i), bounded_hard(one, 0));
    if (isinf(bounded_likely(one, 0)) || isinf(bounded_likely(all, i)))
        assert_true(isinf(bounded_likely(one, 0)) && isinf(bounded_likely(all, i)));
    else
        assert_true(fabs(bounded_likely(all, i) - bounded_likely(one, 0)) <=
                    1e-9 * bounded_likely(one, 0) + 1e-60);
}

static struct bounded evaluate(const char *name, const struct bounded *a, const struct bounded *b)
{
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    const struct bounded *inputs[] = {a, b};
    struct bounded out;
    struct error err = {0};
    char type[16];
    bounded_init(&out);
    snprintf(type, sizeof type, "%s", name);
    node.op_type = type;
    node.domain = (char[]){""};
    struct op_call call = {.op = op_find(name),
                           .node = &node,
                           .opset = 17,
                           .n_inputs = b ? 2 : 1,
                           .inputs = inputs,
                           .n_outputs = 1,
                           .outputs = &out,
                           .err = &err};
    if (call.op->eval(&call))
        fail_msg("%s: %s", name, err.message);
    return out;
}

static void hold_operator(const char *name, const struct bounded *a, const struct bounded *b)
{
    struct bounded all = evaluate(name, a, b);
    for (size_t i = 0; i < COUNT; i++) {
        struct bounded x = element_of(a, i), y;
        if (b)
            y = element_of(b, b->count == 1 ? 0 : i);
        struct bounded one = evaluate(name, &x, b ? &y : NULL);
        expect_element(&all, i, &one);
        bounded_release(&one);
        bounded_release(&x);
        if (b)
            bounded_release(&y);
    }
    bounded_release(&all);
}

static void test_operators(void **state)
{
    static const char *const names[] = {"Add", "Sub", "Mul"};
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct rng rng = rng_seed(1000 * 1 + round);
        struct bounded a, b;
        draw(&rng, &a, round % 2, round % 4 == 0);
        draw(&rng, &b, round % 2, round % 8 < 2);
        struct bounded one = element_of(&b, 7);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            hold_operator(names[k], &a, &b);
            hold_operator(names[k], &a, &one);
        }
        hold_operator("Relu", &a, NULL);
        bounded_release(&one);
        bounded_release(&a);
        bounded_release(&b);
    }
}

static void test_put(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct rng rng = rng_seed(1000 * 2 + round);
        struct bounded from, all, one;
        double value[COUNT];
        draw(&rng, &from, round % 2, false);
        assert_int_equal(bounded_alloc(&all, DTYPE_FLOAT, &from.shape, false, NULL), 0);
        for (size_t i = 0; i < COUNT; i++)
            value[i] = (double)from.value[i];
        bounded_put_row(
            &all, 0,
            &(struct bounded_row){.count = COUNT, .value = value, .hard = from.hard, .likely = from.likely});
        for (size_t i = 0; i < COUNT; i++) {
            one = element_of(&from, i);
            bounded_put(&one, 0, value[i], from.hard[i], from.likely[i]);
            expect_element(&all, i, &one);
            bounded_release(&one);
        }
        bounded_release(&all);
        bounded_release(&from);
    }
}

static void test_loosen(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct rng rng = rng_seed(1000 * 3 + round);
        struct bounded all, before, one;
        draw(&rng, &before, round % 2, round % 4 == 0);
        assert_int_equal(bounded_copy(&all, &before, NULL), 0);
        bounded_loosen(&all);
        for (size_t i = 0; i < COUNT; i++) {
            one = element_of(&before, i);
            bounded_loosen(&one);
            expect_element(&all, i, &one);
            bounded_release(&one);
        }
        bounded_release(&all);
        bounded_release(&before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_put),
        cmocka_unit_test(test_loosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
