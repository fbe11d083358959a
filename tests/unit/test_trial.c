#include "bad_engines.h"

#include "generate/operator_case.h"
#include "trial/trial.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CASES = 40 };

struct scene {
    struct registry *registry;
    struct panel panel;
    struct trials *trials;
    size_t made, back[CASES], taken;
    size_t kinds[3][VERDICT_COUNT]; /* one an engine */
    size_t nodes;                   /* blamed on the faulty reference */
    bool asked;                     /* the reference, on some case */
    size_t stop;                    /* taken cases after which taking fails; 0: never */
};

static void open_scene(struct scene *scene, const char *const *labels, size_t count)
{
    struct error err = {0};
    *scene = (struct scene){.registry = open_registry()};
    struct pool_options limits = {.deadline = 20, .start_deadline = 30};
    if (panel_open(&scene->panel, scene->registry, labels, count, &limits, &err) ||
        panel_add_reference(&scene->panel, scene->registry, &err))
        fail_msg("%s", err.message);
    scene->trials = trials_new(&(struct trial_options){.panel = &scene->panel, .ahead = 8, .settle = true});
}

static void close_scene(struct scene *scene)
{
    trials_free(scene->trials);
    panel_close(&scene->panel);
    assert_true(no_children());
    registry_free(scene->registry);
}

/* Every fifth time there is no case. */
static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct scene *scene = context;
    if (scene->made == CASES)
        return 0;
    size_t number = scene->made++;
    if (number % 5 == 4)
        return 1;
    struct generate_options options = {
        .ops = "Conv", .types = DTYPE_BIT(DTYPE_FLOAT), .fill = FILL_NORMAL + 1};
    *user = &scene->back[number];
    return generate_one(1, number, &options, test, err) ? -1 : 1;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct scene *scene = context;
    ++*(size_t *)done->user;
    for (size_t i = 0; i < done->n_engines; i++) {
        scene->kinds[i][done->judgement.verdicts[i].kind]++;
        if (done->judgement.verdicts[i].kind == VERDICT_WRONG)
            scene->nodes += done->settlements[i].count;
    }
    scene->asked |= done->reference.outcome != OUTCOME_UNTESTED;
    trial_done_release(done);
    return ++scene->taken == scene->stop ? error_set(err, ERROR_IO, "enough") : 0;
}

static void test_judged(void **state)
{
    static const char *const labels[] = {"reference", "reference:fault=conv-rotated", "bad:mode=segv-load"};
    struct scene scene;
    struct error err = {0};
    (void)state;
    open_scene(&scene, labels, 3);
    assert_int_equal(trials_run(scene.trials, &(struct trial_source){&scene, make, take}, &err), 0);
    assert_int_equal(scene.made, CASES);
    assert_int_equal(scene.taken, CASES - CASES / 5);
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(scene.back[i], i % 5 == 4 ? 0 : 1);
    assert_int_equal(scene.kinds[0][VERDICT_AGREES], scene.taken);
    size_t wrong = scene.kinds[1][VERDICT_WRONG];
    assert_true(wrong > 5);
    assert_int_equal(scene.nodes, wrong); /* one Conv each */
    assert_int_equal(scene.kinds[2][VERDICT_CRASH], scene.taken);
    assert_int_equal(pool_counters(scene.panel.pool, scene.panel.engines[2]).crashed, 3 * scene.taken);
    assert_int_equal(trials_strays(scene.trials), 0);
    assert_true(scene.asked);
    assert_int_equal(trials_pending(scene.trials), 0);
    close_scene(&scene);
}

/* What all engines lack needs no judge. */
static void test_lacking(void **state)
{
    static const char *const labels[] = {"bad:mode=lack-load", "bad:mode=lack-load"};
    struct scene scene;
    struct error err = {0};
    (void)state;
    open_scene(&scene, labels, 2);
    assert_int_equal(trials_run(scene.trials, &(struct trial_source){&scene, make, take}, &err), 0);
    assert_int_equal(scene.kinds[0][VERDICT_UNSUPPORTED], scene.taken);
    assert_false(scene.asked);
    close_scene(&scene);
}

/* A source that fails ends the run; what is under way is dropped with the trials, and the pool stays usable.
 */
static void test_failing(void **state)
{
    static const char *const labels[] = {"reference"};
    struct scene scene;
    struct error err = {0};
    (void)state;
    open_scene(&scene, labels, 1);
    scene.stop = 3;
    assert_int_equal(trials_run(scene.trials, &(struct trial_source){&scene, make, take}, &err), -1);
    assert_string_equal(err.message, "enough");
    assert_int_equal(scene.taken, 3);
    assert_true(trials_pending(scene.trials) > 0);
    trials_free(scene.trials);
    assert_int_equal(pool_pending(scene.panel.pool, -1), 0);
    scene.trials = trials_new(&(struct trial_options){.panel = &scene.panel});
    scene.made = scene.taken = scene.stop = 0;
    assert_int_equal(trials_run(scene.trials, &(struct trial_source){&scene, make, take}, &err), 0);
    assert_int_equal(scene.taken, CASES - CASES / 5);
    close_scene(&scene);
}

/* On fresh workers every case has a process of its own. */
static void test_fresh(void **state)
{
    static const char *const labels[] = {"reference"};
    struct scene scene;
    struct error err = {0};
    (void)state;
    open_scene(&scene, labels, 1);
    panel_add_fresh(&scene.panel);
    trials_free(scene.trials);
    scene.trials = trials_new(&(struct trial_options){.panel = &scene.panel, .fresh = true});
    scene.made = CASES - 5;
    assert_int_equal(trials_run(scene.trials, &(struct trial_source){&scene, make, take}, &err), 0);
    assert_int_equal(scene.kinds[0][VERDICT_AGREES], 4);
    assert_int_equal(pool_counters(scene.panel.pool, 0).started, 0);
    assert_true(pool_counters(scene.panel.fresh, 0).started >= 4);
    struct value unused = make_input(1, 1);
    struct job job = make_job(0, &unused);
    struct result result;
    assert_int_equal(pool_run_one(scene.panel.pool, &job, &result, &err),
                     0); /* the shared ones start when used */
    result_release(&result);
    assert_int_equal(pool_counters(scene.panel.pool, 0).started, 1);
    value_release(&unused);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judged),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
