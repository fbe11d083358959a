/* Class labels that belong to the samples, and labels that do not. */
#include "compare/label_fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CLASSES = 10 };

/* A model that names the right class, i % 10, of sample i, but for one sample of `miss`; labels are `shift`
 * off. */
static bool fails(size_t samples, size_t miss, size_t shift)
{
    struct arena arena;
    struct label_fit fit = {0};
    arena_init(&arena);
    for (size_t i = 0; i < samples; i++) {
        size_t right = i % CLASSES, named = miss && i % miss == 0 ? (i / CLASSES) % CLASSES : right;
        label_fit_add(&fit, &arena, CLASSES, named, right + shift);
    }
    bool result = label_fit_fails(&fit);
    arena_release(&arena);
    return result;
}

static void labels_of_a_model_that_is_mostly_right(void **state)
{
    (void)state;
    assert_false(fails(100, 0, 0));
    assert_false(fails(100, 2, 0)); /* half of them wrong */
    assert_false(fails(1, 0, 0));
    assert_false(fails(0, 0, 0));
}

static void labels_that_count_from_one(void **state)
{
    (void)state;
    assert_true(fails(100, 0, 1));
    assert_true(fails(14, 0, 1));
    assert_false(fails(13, 0, 1)); /* too few to tell */
    assert_true(fails(100, 0, 1000));
}

/* One that has learnt little is better than chance all the same; one that names the classes at random is not.
 */
static void little_is_more_than_chance(void **state)
{
    (void)state;
    struct arena arena;
    struct label_fit some = {0}, none = {0};
    arena_init(&arena);
    for (size_t i = 0; i < 500; i++) {
        size_t label = i % CLASSES, other = i / CLASSES % CLASSES;
        label_fit_add(&some, &arena, CLASSES, i % 4 == 0 ? label : other, label);
        label_fit_add(&none, &arena, CLASSES, other, label);
    }
    assert_true(label_fit_chance(&none) > 0.09 && label_fit_chance(&none) < 0.11);
    assert_false(label_fit_fails(&some));
    assert_true(label_fit_fails(&none));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_a_model_that_is_mostly_right),
        cmocka_unit_test(labels_that_count_from_one),
        cmocka_unit_test(little_is_more_than_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
