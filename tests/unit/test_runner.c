#include "bad_engines.h"

#include "engine/runner.h"
#include "generate/operator_case.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MOST = 200 };

/* Engines, inputs of cases that are told apart by their first element, and how often each came back. */
struct scene {
    struct registry *registry;
    struct panel panel;
    struct runner *runner;
    struct value inputs[MOST];
    size_t back[MOST];
};

static void open_scene(struct scene *scene, const char *const *labels, size_t count, bool reference,
                       const struct runner_options *options)
{
    struct error err = {0};
    struct pool_options limits = {.deadline = 2, .start_deadline = 30};
    *scene = (struct scene){.registry = open_registry()};
    if (panel_open(&scene->panel, scene->registry,
                   given_all_typed(registry_arena(scene->registry), labels, count), &limits, &err) ||
        (reference && panel_add_reference(&scene->panel, scene->registry, &err)))
        fail_msg("%s", err.message);
    scene->runner = runner_new(&scene->panel, options);
    for (size_t i = 0; i < MOST; i++)
        scene->inputs[i] = make_input(4, (long double)(i + 1));
}

static void close_scene(struct scene *scene)
{
    runner_free(scene->runner);
    panel_close(&scene->panel);
    assert_true(no_children());
    registry_free(scene->registry);
    for (size_t i = 0; i < MOST; i++)
        value_release(&scene->inputs[i]);
}

static void submit(struct scene *scene, size_t number, enum ask_reference ask)
{
    struct job job = make_job(-1, &scene->inputs[number]);
    job.user = &scene->back[number];
    runner_submit(scene->runner, &job, ask);
}

/* The next case, which must come back; its number. */
static size_t next(struct scene *scene, struct run **run)
{
    struct error err = {0};
    if (runner_next(scene->runner, run, &err) != 1)
        fail_msg("nothing came back: %s", err.message);
    size_t *back = (*run)->job.user, number = (size_t)(back - scene->back);
    ++*back;
    return number;
}

/* Crashes, hangs, engines that do not start and good ones: every case is back once, all results in place. */
static void test_exactly_once(void **state)
{
    static const char *const labels[] = {"identity", "bad:mode=random", "bad:mode=segv-run",
                                         "bad:mode=exit-hello"};
    struct scene scene;
    struct run *run;
    (void)state;
    open_scene(&scene, labels, 4, false, &(struct runner_options){.ahead = 8});
    size_t sent = 0, taken = 0;
    while (taken < MOST) {
        while (sent < MOST && runner_room(scene.runner))
            submit(&scene, sent++, ASK_WHEN_NEEDED);
        assert_in_range(runner_pending(scene.runner), 1, 8);
        size_t number = next(&scene, &run);
        assert_int_equal(run->n_engines, 4);
        assert_false(run->asked); /* there is no reference */
        assert_answered(run_result(run, 0, 0), &scene.inputs[number]);
        size_t first = number + 1;
        enum outcome expected = first % 200 == 13    ? OUTCOME_CRASH
                                : first % 200 == 113 ? OUTCOME_HANG
                                                     : OUTCOME_OK;
        assert_int_equal(run_result(run, 0, 1)->outcome, expected);
        assert_int_equal(run_result(run, 0, 2)->outcome, OUTCOME_CRASH);
        assert_int_equal(run_result(run, 0, 3)->outcome, OUTCOME_NO_ENGINE);
        run_free(run);
        taken++;
    }
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(scene.back[i], 1);
    assert_int_equal(runner_pending(scene.runner), 0);
    assert_int_equal(runner_next(scene.runner, &run, NULL), 0);
    close_scene(&scene);
}

/* Who answers sooner does not matter where an order is asked for; otherwise the quick ones come first. */
static void test_order(void **state)
{
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        static const char *const labels[] = {"bad:mode=slow", "identity"};
        struct scene scene;
        struct run *run;
        open_scene(&scene, labels, 2, false, &(struct runner_options){.in_order = in_order});
        for (size_t i = 0; i < 10; i++) {
            struct job job = make_job(-1, &scene.inputs[i]);
            job.user = &scene.back[i];
            runner_submit_to(scene.runner, &job, &scene.panel.engines[i % 2], 1, ASK_NEVER);
        }
        size_t overtaken = 0, last = 0;
        for (size_t i = 0; i < 10; i++) {
            size_t number = next(&scene, &run);
            assert_int_equal(run->n_engines, 1);
            assert_int_equal(run->engines[0], scene.panel.engines[number % 2]);
            assert_answered(run_result(run, 0, 0), &scene.inputs[number]);
            overtaken += number < last;
            last = number;
            run_free(run);
        }
        if (in_order)
            assert_int_equal(overtaken, 0);
        else
            assert_true(overtaken > 0);
        close_scene(&scene);
    }
}

/* What crashes once and then not is a stray crash; what crashes every time is the case's own. */
static void test_strays(void **state)
{
    static const char *const labels[] = {"bad:mode=third", "bad:mode=segv-run"};
    struct scene scene;
    struct run *run;
    (void)state;
    open_scene(&scene, labels, 2, false, &(struct runner_options){.crash_tries = 3});
    for (size_t i = 0; i < 9; i++)
        submit(&scene, i, ASK_NEVER);
    for (size_t i = 0; i < 9; i++) {
        size_t number = next(&scene, &run);
        assert_answered(run_result(run, 0, 0), &scene.inputs[number]);
        assert_int_equal(run_result(run, 0, 1)->outcome, OUTCOME_CRASH);
        run_free(run);
    }
    /* A case that met two of them counts once. */
    assert_in_range(runner_strays(scene.runner), 3, pool_counters(scene.panel.pool, 0).crashed);
    assert_int_equal(pool_counters(scene.panel.pool, 1).crashed, 27);
    close_scene(&scene);

    open_scene(&scene, labels, 1, NULL,
               &(struct runner_options){0}); /* without tries the first answer counts */
    size_t crashes = 0;
    for (size_t i = 0; i < 9; i++)
        submit(&scene, i, ASK_NEVER);
    for (size_t i = 0; i < 9; i++) {
        next(&scene, &run);
        crashes += run_result(run, 0, 0)->outcome == OUTCOME_CRASH;
        run_free(run);
    }
    assert_int_equal(crashes, 3);
    assert_int_equal(runner_strays(scene.runner), 0);
    close_scene(&scene);
}

static void test_repeats(void **state)
{
    static const char *const labels[] = {"bad:mode=differ", "identity"};
    struct scene scene;
    struct run *run;
    (void)state;
    open_scene(&scene, labels, 2, false, &(struct runner_options){0});
    struct job job = make_job(-1, &scene.inputs[0]);
    job.repeat = 2;
    job.user = &scene.back[0];
    runner_submit(scene.runner, &job, ASK_NEVER);
    next(&scene, &run);
    assert_true(run->repeats_differ[0]);
    assert_false(run->repeats_differ[1]);
    run_free(run);
    close_scene(&scene);
}

/* Several sets of inputs on a model loaded once: each has its place, also behind a worker's death. */
static void test_sets(void **state)
{
    static const char *const labels[] = {"bad:mode=negative", "identity"};
    struct scene scene;
    struct run *run;
    (void)state;
    open_scene(&scene, labels, 2, false, &(struct runner_options){0});
    struct value negative = make_input(4, -5);
    struct job_set sets[] = {{1, &scene.inputs[0]}, {1, &negative}, {1, &scene.inputs[1]}};
    struct job job = make_job(-1, NULL);
    job.n_inputs = 0;
    job.n_sets = 3;
    job.sets = sets;
    job.user = &scene.back[0];
    runner_submit(scene.runner, &job, ASK_NEVER);
    next(&scene, &run);
    for (size_t set = 0; set < 3; set++) {
        assert_answered(run_result(run, set, 1), sets[set].inputs);
        if (set == 1)
            assert_int_equal(run_result(run, set, 0)->outcome, OUTCOME_CRASH);
        else
            assert_answered(run_result(run, set, 0), sets[set].inputs);
        assert_int_equal(run_result(run, set, 2)->outcome, OUTCOME_UNTESTED);
    }
    run_free(run);
    value_release(&negative);
    close_scene(&scene);
}

/* A healthy and a faulty reference, engines that lack everything, and who is then asked. */
static void test_reference(void **state)
{
    static const struct {
        const char *labels[2];
        enum ask_reference ask;
        bool asked;
    } rows[] = {
        {{"reference:fault=conv-rotated", "bad:mode=lack-load"}, ASK_WHEN_NEEDED, true},
        {{"bad:mode=lack-load", "bad:mode=lack-load"}, ASK_WHEN_NEEDED, false},
        {{"bad:mode=lack-load", "bad:mode=lack-load"}, ASK_ALWAYS, true},
        {{"bad:mode=segv-load", "bad:mode=lack-load"}, ASK_WHEN_NEEDED, true},
        {{"reference", "bad:mode=lack-load"}, ASK_NEVER, false},
    };
    struct test_case *made;
    struct error err = {0};
    const uint8_t *bytes;
    size_t size;
    (void)state;
    if (generate_one(1, 0, &(struct generate_options){.ops = "Relu"}, &made, &err) ||
        test_case_bytes(made, &bytes, &size, &err))
        fail_msg("%s", err.message);
    struct job job = {.model = bytes, .model_size = size, .n_inputs = made->n_inputs, .inputs = made->inputs};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        struct run *run;
        open_scene(&scene, rows[i].labels, 2, true, &(struct runner_options){.crash_tries = 2});
        job.user = &scene.back[0];
        runner_submit(scene.runner, &job, rows[i].ask);
        next(&scene, &run);
        assert_int_equal(run->asked, rows[i].asked);
        const struct result *reference = run_result(run, 0, 2);
        assert_int_equal(reference->outcome, rows[i].asked ? OUTCOME_OK : OUTCOME_UNTESTED);
        assert_true((reference->bounds != NULL) == rows[i].asked);
        if (strncmp(rows[i].labels[0], "reference", 9) == 0) {
            assert_int_equal(run_result(run, 0, 0)->outcome, OUTCOME_OK);
            assert_null(run_result(run, 0, 0)->bounds); /* bounds are the arbiter's to give */
        }
        assert_int_equal(run_result(run, 0, 1)->outcome, OUTCOME_UNSUPPORTED);
        run_free(run);
        close_scene(&scene);
    }
    test_case_free(made);
}

/* Nothing to run is a case too; and what is under way may be given up. */
static void test_ends(void **state)
{
    static const char *const labels[] = {"bad:mode=slow"};
    struct scene scene;
    struct run *run;
    (void)state;
    open_scene(&scene, labels, 1, false, &(struct runner_options){0});
    struct job job = make_job(-1, &scene.inputs[0]);
    job.user = &scene.back[0];
    runner_submit_to(scene.runner, &job, NULL, 0, ASK_WHEN_NEEDED);
    next(&scene, &run);
    assert_int_equal(run->n_engines, 0);
    run_free(run);
    for (size_t i = 1; i < 5; i++)
        submit(&scene, i, ASK_NEVER);
    next(&scene, &run);
    struct result kept = run_take(run, 0, 0);
    run_free(run);
    assert_int_equal(kept.outcome, OUTCOME_OK);
    result_release(&kept);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exactly_once), cmocka_unit_test(test_order), cmocka_unit_test(test_strays),
        cmocka_unit_test(test_repeats),      cmocka_unit_test(test_sets),  cmocka_unit_test(test_reference),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
