#include "bad_engines.h"

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void test_labels(void **state)
{
    struct registry *registry = open_registry();
    struct panel panel;
    struct error err = {0};
    (void)state;
    const char *const labels[] = {"bad:mode=segv-run", "identity", "bad:mode=hang"};
    assert_int_equal(
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, 3), NULL, &err), 0);
    assert_int_equal(panel.reference, -1);
    assert_int_equal(panel_add_reference(&panel, registry, &err), 0);
    assert_int_equal(panel.count, 3);
    assert_true(panel.reference >= 0);
    assert_string_equal(pool_engine(panel.pool, panel.reference)->label, "reference");
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(panel_engine(&panel, i)->label, labels[i]);
        assert_int_equal(panel_find(&panel, labels[i]), i);
    }
    assert_int_equal(panel_find(&panel, "reference"), -1); /* the arbiter is none of the engines */
    assert_int_equal(panel_add(&panel, registry, given_typed(registry_arena(registry), "bad"), &err), 3);
    assert_int_equal(panel_add(&panel, registry, given_typed(registry_arena(registry), "nosuch"), &err), -1);
    assert_non_null(strstr(err.message, "nosuch"));
    assert_int_equal(panel.count, 4);
    panel_close(&panel);
    assert_true(no_children());
    registry_free(registry);
}

static void test_not_found(void **state)
{
    struct registry *registry = open_registry();
    struct panel panel;
    struct error err = {0};
    (void)state;
    const char *const labels[] = {"identity", "nosuch"};
    assert_int_equal(
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, 2), NULL, &err), -1);
    panel_close(&panel);
    registry_free(registry);
}

/* As many engines as one likes, in both pools under the same numbers, with the panel's limits. */
static void test_many(void **state)
{
    enum { MANY = 100 };
    struct registry *registry = open_registry();
    struct panel panel;
    struct error err = {0};
    struct value input = make_input(10, 1);
    (void)state;
    const char *labels[MANY];
    for (size_t i = 0; i < MANY; i++)
        labels[i] = i == MANY - 1 ? "bad:mode=hang" : "identity";
    struct pool_options limits = {.deadline = 0.5, .start_deadline = 30, .workers = 3};
    assert_int_equal(
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, MANY), &limits, &err),
        0);
    assert_ptr_equal(panel_fresh(&panel), panel.pool);
    panel_add_fresh(&panel);
    assert_ptr_equal(panel_fresh(&panel), panel.fresh);
    struct pool *const pools[] = {panel.pool, panel.fresh};
    for (size_t p = 0; p < 2; p++)
        for (size_t i = MANY - 2; i < MANY; i++) {
            struct job job = make_job(panel.engines[i], &input);
            struct result result;
            assert_string_equal(pool_engine(pools[p], panel.engines[i])->label, labels[i]);
            for (size_t round = 0; round < 2; round++) {
                assert_int_equal(pool_run_one(pools[p], &job, &result, &err), 0);
                if (i == MANY - 1)
                    assert_int_equal(result.outcome, OUTCOME_HANG);
                else
                    assert_answered(&result, &input);
                result_release(&result);
            }
            size_t started = pool_counters(pools[p], panel.engines[i]).started;
            if (i < MANY - 1)
                assert_int_equal(started, p == 0 ? 1 : 2); /* fresh: a worker for every job */
        }
    panel_close(&panel);
    assert_true(no_children());
    registry_free(registry);
    value_release(&input);
}

/* What answers late on workers that other work keeps waiting is slow, and no hang. */
static void test_slow(void **state)
{
    struct registry *registry = open_registry();
    struct panel panel;
    struct error err = {0};
    struct value input = make_input(10, 1);
    (void)state;
    struct pool_options limits = {.deadline = 0.5, .start_deadline = 30};
    assert_int_equal(
        panel_open(&panel, registry,
                   given_all_typed(registry_arena(registry), (const char *const[]){"bad:mode=slower"}, 1),
                   &limits, &err),
        0);
    panel_add_fresh(&panel);
    for (int fresh = 0; fresh < 2; fresh++) {
        struct job job = make_job(panel.engines[0], &input);
        struct result result;
        assert_int_equal(pool_run_one(fresh ? panel.fresh : panel.pool, &job, &result, &err), 0);
        if (fresh)
            assert_answered(&result, &input);
        else
            assert_int_equal(result.outcome, OUTCOME_HANG);
        result_release(&result);
    }
    panel_close(&panel);
    registry_free(registry);
    value_release(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
