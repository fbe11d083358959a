/* Findings that take a rewriting to show: reduced with it, bundled with both forms, and replayed. */
#include "scene.h"

#include "campaign/follow_up.h"
#include "findings/replay.h"
#include "releases/bisect.h"
#include "rules/rewriting.h"

#include <stddef.h>

struct finding_row {
    const char *engine, *healthy, *text, *rewriting;
    bool no_reference;
    const char *kind, *kept; /* the verdict, and what is left of the rewriting */
    size_t nodes;            /* of the model in the bundle */
    bool both_models;
};

static const struct finding_row rows[] = {
    /* Only the two answers together tell; one step of the rewriting is not needed. */
    {.engine = "reference:fault=same-pad-side,round=on",
     .healthy = "reference:round=on",
     .text = "g (float[1,1,5,5] x, float[1,1,2,2] w) => (float[1,1,5,5] y)"
             "{ r = Relu(x) c = Conv<auto_pad = \"SAME_UPPER\">(r, w) y = Neg(c) }",
     .rewriting = "identity@r auto-pad@c",
     .no_reference = true,
     .kind = "suspect",
     .kept = "auto-pad@c",
     .nodes = 1,
     .both_models = true},
    /* The way of running stays. */
    {.engine = "reference:fault=threads-tail,threads=1",
     .healthy = "reference:threads=1",
     .text = "g (float[5] x) => (float[5] y) { r = Relu(x) y = Neg(r) }",
     .rewriting = "identity@r four-threads",
     .kind = "wrong",
     .kept = "four-threads",
     .nodes = 1},
    /* The rewritten model is wrong by itself: then nothing is left of the rewriting. */
    {.engine = "reference:fault=transposes-merged,round=on",
     .healthy = "reference:round=on",
     .text = "g (float[2,3] x) => (float[2,3] y) { r = Relu(x) y = Neg(r) }",
     .rewriting = "transpose-pair@r",
     .kind = "shape",
     .kept = "",
     .nodes = 2},
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct test_case *rewritten_case(const struct finding_row *row)
{
    struct error err = {0};
    struct test_case *origin = case_of_text(row->text, 1), *made;
    if (rewriting_apply(origin, row->rewriting, &made, &err) != 1)
        fail_msg("%s: %s", row->rewriting, err.message);
    test_case_free(origin);
    return made;
}

static void assert_bundle(const struct finding_row *row, const char *folder)
{
    struct arena arena;
    struct bundle bundle;
    struct test_case *test;
    arena_init(&arena);
    assert_int_equal(bundle_read_path(&bundle, folder, &arena, NULL), 0);
    assert_string_equal(bundle.kind, row->kind);
    assert_string_equal(bundle.rewriting, row->kept);
    assert_int_equal(suite_load_one(folder, &test, NULL), 0);
    assert_int_equal(test_case_model(test, NULL)->graph->n_node, row->nodes);
    test_case_free(test);
    char *other = file_join(folder, "rewritten.onnx"), *report = file_join(folder, "report.md"), *text;
    size_t size;
    assert_int_equal(file_exists(other), row->both_models);
    assert_int_equal(file_read(report, 1 << 20, &text, &size, NULL), 0);
    assert_true((strstr(text, "## The rewritten form") != NULL) == row->both_models);
    assert_true((strstr(text, "- `") != NULL) == (*row->kept != '\0'));
    free(text);
    free(report);
    free(other);
    arena_release(&arena);
}

static void assert_replay(const struct scene *scene, const char *folder, size_t engine,
                          enum replay_state state)
{
    struct suite suite;
    struct replay replay;
    struct error err = {0};
    struct panel one = scene->panel;
    one.engines += engine;
    one.count = 1;
    replay_init(&replay);
    struct conform_options options = {.tolerance = metrics_conformance, .registry = scene->registry};
    if (suite_open(&suite, &folder, 1, NULL, &err) || replay_run(&replay, &suite, &one, &options, &err))
        fail_msg("%s", err.message);
    assert_int_equal(replay.count, 1);
    if (replay.rows[0].state != state)
        fail_msg("%s is %s: %s", replay.rows[0].engine, replay_state_name(replay.rows[0].state),
                 replay.rows[0].text);
    suite_release(&suite);
    replay_release(&replay);
}

static void a_finding_is_kept_with_what_it_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct scene scene;
        struct error err = {0};
        struct follow_up_done done;
        scene_open(&scene, LABELS(rows[i].engine, rows[i].healthy));
        if (rows[i].no_reference)
            scene.panel.reference = -1;
        struct panel one = scene.panel;
        one.count = 1;
        struct follow_up_options options = {.panel = &one, .registry = scene.registry, .no_bisect = true};
        char *folder = file_join(scene.folder, "bundle");
        struct test_case *test = rewritten_case(&rows[i]);
        if (follow_up_case(&options, test, folder, &done, &err))
            fail_msg("%s: %s", rows[i].rewriting, err.message);
        assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
        assert_bundle(&rows[i], folder);
        assert_replay(&scene, folder, 0, REPLAY_WRONG);
        assert_replay(&scene, folder, 1, REPLAY_AGREES);
        test_case_free(test);
        free(folder);
        scene_close(&scene);
    }
}

/* On each release both forms are run; here there is one. */
static void releases_are_judged_by_the_pair(void **state)
{
    (void)state;
    for (int healthy = 0; healthy < 2; healthy++) {
        struct scene scene;
        struct error err = {0};
        struct bisect bisect;
        scene_open(&scene, LABELS(rows[0].engine));
        struct test_case *test = rewritten_case(&rows[0]);
        struct bisect_options options = {
            .registry = scene.registry,
            .engine = given_typed(registry_arena(scene.registry), healthy ? rows[0].healthy : rows[0].engine),
            .no_knobs = true};
        if (bisect_run(&bisect, test, &options, &err))
            fail_msg("%s", err.message);
        assert_int_equal(bisect.n_stretches, 1);
        assert_int_equal(bisect.stretches[0].verdict.kind, healthy ? VERDICT_AGREES : VERDICT_INCONSISTENT);
        assert_true(bisect.stretches[0].bad == !healthy);
        bisect_release(&bisect);
        test_case_free(test);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_is_kept_with_what_it_takes),
        cmocka_unit_test(releases_are_judged_by_the_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
