#include "saved_case.h"

#include "campaign/follow_up.h"
#include "findings/replay.h"

#include <stddef.h>

static const char faulty[] = "reference:fault=concat-three";

/* A bundle of the faulty Concat, and a case that brings its own answer. */
static void write_corpus(struct scene *scene)
{
    static const long double copied[] = {1, 2, 3, 4};
    struct error err = {0};
    struct follow_up_options options = {.no_reduce = true};
    struct follow_up_done done;
    struct test_case *test = case_of_text(JOINED, 1);
    char *folder = file_join(scene->folder, "bundle");
    long engine =
        panel_add(&scene->panel, scene->registry, given_typed(registry_arena(scene->registry), faulty), &err);
    assert_true(engine >= 0);
    struct panel one = scene->panel;
    one.engines = &scene->panel.engines[engine];
    one.count = 1;
    options.panel = &one;
    if (follow_up_case(&options, test, folder, &done, &err))
        fail_msg("%s", err.message);
    assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
    scene->panel.count--;
    free(folder);
    test_case_free(test);
    save_case(scene, "case", COPIED, 1, copied);
}

static void replay_corpus(struct replay *replay, const struct scene *scene, const struct known_issues *known)
{
    struct error err = {0};
    struct suite suite;
    struct conform_options options = {
        .tolerance = metrics_conformance, .known = known, .look_up = known ? known_look_up : NULL};
    const char *folders[] = {scene->folder};
    replay_init(replay);
    if (suite_open(&suite, folders, 1, NULL, &err) ||
        replay_run(replay, &suite, &scene->panel, &options, &err))
        fail_msg("%s", err.message);
    suite_release(&suite);
}

static const struct replay_row *row_of(const struct replay *replay, const char *name, const char *engine)
{
    for (size_t i = 0; i < replay->count; i++)
        if (text_equal(replay->rows[i].name, name) && text_equal(replay->rows[i].engine, engine))
            return &replay->rows[i];
    fail_msg("no row of %s on %s", name, engine);
    return NULL;
}

static int status_of(const struct replay *replay)
{
    struct standing standing = {0};
    replay_stands(replay, &standing);
    return standing_status(&standing);
}

static void each_case_has_a_row_for_each_engine(void **state)
{
    (void)state;
    static const struct {
        const char *engine;
        enum replay_state bundle, plain;
        const char *word; /* of the bundle now */
    } expected[] = {
        {"reference", REPLAY_AGREES, REPLAY_AGREES, "agrees"},
        {faulty, REPLAY_WRONG, REPLAY_AGREES, "wrong"},
        {"identity", REPLAY_WRONG, REPLAY_AGREES, "shape"},
        {"bad:mode=lack-load", REPLAY_SKIPPED, REPLAY_SKIPPED, "unsupported"},
        {"bad:mode=segv-run", REPLAY_WRONG, REPLAY_WRONG, "crash"},
        {"absent", REPLAY_TROUBLE, REPLAY_TROUBLE, "no engine"},
    };
    enum { ENGINES = sizeof expected / sizeof *expected };
    struct scene scene;
    struct replay replay;
    size_t counts[REPLAY_STATES] = {0};
    scene_open(&scene,
               LABELS("reference", faulty, "identity", "bad:mode=lack-load", "bad:mode=segv-run", "absent"));
    write_corpus(&scene);
    replay_corpus(&replay, &scene, NULL);
    assert_int_equal(replay.count, 2 * ENGINES);
    for (size_t i = 0; i < ENGINES; i++) {
        const struct replay_row *bundle = row_of(&replay, "bundle", expected[i].engine);
        const struct replay_row *plain = row_of(&replay, "case", expected[i].engine);
        if (bundle->state != expected[i].bundle || plain->state != expected[i].plain)
            fail_msg("%s: %s, %s", expected[i].engine, replay_state_name(bundle->state),
                     replay_state_name(plain->state));
        assert_string_equal(bundle->verdict, expected[i].word);
        assert_string_equal(bundle->was, "wrong");
        assert_non_null(strstr(bundle->title, "Concat"));
        assert_string_equal(plain->was, "");
        assert_string_equal(plain->title, "");
        counts[bundle->state]++;
        counts[plain->state]++;
    }
    for (int i = 0; i < REPLAY_STATES; i++)
        assert_int_equal(replay.counts[i], counts[i]);
    assert_non_null(strstr(row_of(&replay, "bundle", faulty)->text, "Concat"));
    assert_int_equal(status_of(&replay), STATUS_FINDINGS);
    replay_release(&replay);
    scene_close(&scene);
}

/* A case that is no bundle brings an answer that somebody vouched for: it decides, but not where the
 * reference refutes it. */
static void the_answer_of_a_plain_case_decides(void **state)
{
    (void)state;
    static const long double other[] = {1, 2, 3, 5};
    struct scene scene;
    struct replay replay;
    scene_open(&scene, LABELS("reference", "identity"));
    save_case(&scene, "case", COPIED, 1, other);
    save_case(&scene, "negative", "g (float[4] x) => (float[4] y) { y = Neg(x) }", 1, other);
    replay_corpus(&replay, &scene, NULL);
    assert_int_equal(row_of(&replay, "case", "reference")->state, REPLAY_EXPECTATION);
    assert_int_equal(row_of(&replay, "case", "identity")->state, REPLAY_EXPECTATION);
    assert_int_equal(row_of(&replay, "negative", "reference")->state, REPLAY_EXPECTATION);
    /* The answer and what is expected of it are both wrong. */
    const struct replay_row *both = row_of(&replay, "negative", "identity");
    assert_int_equal(both->state, REPLAY_WRONG);
    assert_non_null(strstr(both->text, "the expected outputs do not belong to this model and input either"));
    replay_release(&replay);
    scene.panel.count = 1;
    replay_corpus(&replay, &scene, NULL);
    assert_int_equal(status_of(&replay), STATUS_TROUBLE);
    replay_release(&replay);
    scene_close(&scene);
}

/* Of a bundle the judge does: its kept answer may be spoilt, which is said. */
static void the_judge_decides_on_a_bundle(void **state)
{
    (void)state;
    static const long double spoilt[12] = {7};
    struct scene scene;
    struct replay replay;
    scene_open(&scene, LABELS("reference", faulty));
    write_corpus(&scene);
    save_set(&scene, "bundle", 0, JOINED, 1, spoilt);
    replay_corpus(&replay, &scene, NULL);
    assert_int_equal(row_of(&replay, "bundle", "reference")->state, REPLAY_EXPECTATION);
    assert_int_equal(row_of(&replay, "bundle", faulty)->state, REPLAY_WRONG);
    replay_release(&replay);
    scene_close(&scene);
}

/* Issues that the user names do not count; those that are installed do. */
static void a_known_issue_counts_unless_it_is_accepted(void **state)
{
    (void)state;
    static const char text[] = "[lost-input]\nengine = reference\nsymptom = wrong\noperators = Concat\n"
                               "inputs = 3..\ncause = the third input is lost\ncase = corpus/bundle\n"
                               "[elsewhere]\nengine = reference\nsymptom = wrong\noperators = Concat\n"
                               "inputs = 9..\ncause = another\ncase = corpus/elsewhere\n";
    for (int accepted = 0; accepted < 2; accepted++) {
        struct scene scene;
        struct replay replay;
        struct known_issues known;
        struct error err = {0};
        scene_open(&scene, LABELS(faulty, "reference"));
        write_corpus(&scene);
        char *path = file_join(scene.folder, "known.ini");
        assert_int_equal(file_write(path, text, strlen(text), &err), 0);
        known_init(&known);
        if (known_read(&known, path, accepted ? KNOWN_OF_USER : KNOWN_INSTALLED, &err))
            fail_msg("%s", err.message);
        replay_corpus(&replay, &scene, &known);
        const struct replay_row *row = row_of(&replay, "bundle", faulty);
        assert_int_equal(row->state, accepted ? REPLAY_KNOWN : REPLAY_WRONG);
        assert_string_equal(row->known, "corpus/bundle");
        assert_null(row_of(&replay, "bundle", "reference")->known);
        assert_int_equal(replay.counts[REPLAY_KNOWN], accepted);
        assert_int_equal(status_of(&replay), accepted ? STATUS_AGREE : STATUS_FINDINGS);
        for (size_t i = 0; i < 2; i++)
            assert_false(replay_agrees_now(&replay, &known.items[i]));
        replay_release(&replay);
        /* Where the case agrees on every engine the issue is out of date. */
        scene.panel.engines++;
        scene.panel.count = 1;
        replay_corpus(&replay, &scene, &known);
        scene.panel.engines--;
        assert_true(replay_agrees_now(&replay, &known.items[0]));
        assert_false(replay_agrees_now(&replay, &known.items[1]));
        replay_release(&replay);
        known_release(&known);
        free(path);
        scene_close(&scene);
    }
}

static void skipped_cases_are_well_as_long_as_something_ran(void **state)
{
    (void)state;
    for (size_t others = 0; others < 2; others++) {
        static const char *const labels[] = {"bad:mode=lack-load", "reference"};
        struct scene scene;
        struct replay replay;
        scene_open(&scene, labels, 1 + others);
        write_corpus(&scene);
        replay_corpus(&replay, &scene, NULL);
        assert_int_equal(replay.counts[REPLAY_SKIPPED], 2);
        assert_int_equal(status_of(&replay), others ? STATUS_AGREE : STATUS_TROUBLE);
        replay_release(&replay);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_has_a_row_for_each_engine),
        cmocka_unit_test(the_answer_of_a_plain_case_decides),
        cmocka_unit_test(the_judge_decides_on_a_bundle),
        cmocka_unit_test(a_known_issue_counts_unless_it_is_accepted),
        cmocka_unit_test(skipped_cases_are_well_as_long_as_something_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
