/* Recorded tensors against the reference in every order of axes, and mistakes of preprocessing undone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "recorded/held.h"
#include "recorded/preprocessing.h"

#include <math.h>
#include <string.h>

static struct tensor drawn(const struct shape *shape, struct rng *rng)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, rng_normal(rng));
    return tensor;
}

/* A tensor whose axes come in another order, written independently of the code under test. */
static struct tensor turned(const struct tensor *from, const int order[3])
{
    const int64_t *dims = from->shape.dims;
    struct shape shape = {.rank = 3, .dims = {dims[order[0]], dims[order[1]], dims[order[2]]}};
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    size_t next = 0;
    int64_t at[3];
    for (at[order[0]] = 0; at[order[0]] < dims[order[0]]; at[order[0]]++)
        for (at[order[1]] = 0; at[order[1]] < dims[order[1]]; at[order[1]]++)
            for (at[order[2]] = 0; at[order[2]] < dims[order[2]]; at[order[2]]++)
                tensor_set(&tensor, next++,
                           tensor_get(from, (size_t)((at[0] * dims[1] + at[1]) * dims[2] + at[2])));
    return tensor;
}

static void test_layouts(void **state)
{
    (void)state;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct shape shape = {.rank = 3, .dims = {3, 4, 4}};
    struct rng rng = rng_seed(3);
    struct tensor own = drawn(&shape, &rng);
    struct bounded reference;
    bounded_init(&reference);
    assert_int_equal(bounded_from_tensor(&reference, &own, NULL), 0);
    for (size_t i = 0; i < 6; i++) {
        struct tensor other = turned(&own, orders[i]), back;
        struct axes axes;
        struct held held = held_against(&reference, &other, NULL, 0, false);
        assert_int_equal(held_agrees(&held), i == 0);
        assert_int_equal(held_layout(&reference, &other, 0, &axes), i != 0);
        if (i) {
            assert_memory_equal(axes.axis, orders[i], sizeof orders[i]);
            assert_int_equal(held_as(&reference, &other, &axes, &back, NULL), 0);
            assert_true(tensor_identical(&back, &own));
            tensor_release(&back);
        }
        /* One number that is off is no layout. */
        tensor_set(&other, 5, tensor_get(&other, 5) + 1);
        assert_false(held_layout(&reference, &other, 0, &axes));
        held = held_against(&reference, &other, NULL, 0, false);
        assert_true(!held_agrees(&held) && (i || held.off == 1));
        tensor_set(&other, 5, NAN);
        held = held_against(&reference, &other, NULL, 0, false);
        assert_true(!held_agrees(&held) && isinf(held.error));
        tensor_release(&other);
    }
    tensor_release(&own);
    bounded_release(&reference);
}

/* Mistakes that undo one another: one after the other gives the data again. */
static void test_preprocessing(void **state)
{
    (void)state;
    struct shape shape = {.rank = 4, .dims = {2, 3, 4, 4}};
    struct rng rng = rng_seed(5);
    struct tensor data = drawn(&shape, &rng);
    size_t undone = 0, made = 0;
    for (size_t order = 0; order < preprocessing_orders(); order++)
        for (size_t scale = 0; scale < preprocessing_scales(); scale++) {
            struct preprocessing mistake = {order, scale};
            struct tensor other, again;
            char text[200];
            if (!preprocessing_apply(&mistake, &data, &other))
                continue;
            made++;
            preprocessing_text(&mistake, text, sizeof text);
            assert_true(*text && !tensor_identical(&data, &other) && shape_equal(&data.shape, &other.shape));
            for (size_t k = 0; k < preprocessing_orders() * preprocessing_scales(); k++) {
                struct preprocessing back = {k / preprocessing_scales(), k % preprocessing_scales()};
                bool same = true;
                if (!preprocessing_apply(&back, &other, &again))
                    continue;
                for (size_t i = 0; i < data.count; i++)
                    same &= fabsl(tensor_get(&again, i) - tensor_get(&data, i)) < 1e-4L;
                undone += same;
                tensor_release(&again);
            }
            tensor_release(&other);
        }
    assert_true(made == preprocessing_orders() * preprocessing_scales() - 1);
    /* All but the division by 256 and the mean alone can be undone in both parts where these commute. */
    assert_true(undone >= 70);
    struct preprocessing nothing = {0};
    struct tensor other;
    assert_false(preprocessing_apply(&nothing, &data, &other));
    tensor_release(&data);
    /* Vectors have no colours. */
    shape = (struct shape){.rank = 1, .dims = {7}};
    data = drawn(&shape, &rng);
    for (size_t order = 1; order < preprocessing_orders(); order++)
        assert_false(preprocessing_apply(&(struct preprocessing){order, 0}, &data, &other));
    tensor_release(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_preprocessing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
