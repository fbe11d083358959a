#include "scene.h"

#include "campaign/fuzz.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const char padded[] = "reference:fault=pad-unpad-off", joined[] = "reference:fault=concat-three";

/* How a campaign is run, besides its engines. */
struct plan {
    const char *folder; /* below the scene's */
    uint64_t seed, count;
    enum fuzz_strategy strategy;
    const char *ops;
    const char *rules; /* "": all; NULL: none */
    bool (*watch)(void *context, const struct fuzz_status *status);
};

static int run_plan(const struct scene *scene, const struct plan *plan, struct fuzz_status *status,
                    struct error *err)
{
    char *folder = file_join(scene->folder, plan->folder);
    struct fuzz_options options = {
        .panel = &scene->panel,
        .folder = folder,
        .source = {.seed = plan->seed,
                   .strategy = plan->strategy,
                   .blocks = 2,
                   .generate = {.ops = plan->ops ? plan->ops : "Concat,Pad,Relu,Add"},
                   .rules_share = plan->rules ? 0.5 : 0,
                   .rules_depth = 2,
                   .rules = {.rules = plan->rules && *plan->rules ? plan->rules : NULL}},
        .count = plan->count,
        .registry = scene->registry,
        .no_known = true,
        .watch = plan->watch,
    };
    int result = fuzz_run(&options, status, err);
    status->folder = NULL;
    free(folder);
    return result;
}

static struct fuzz_status run_well(const struct scene *scene, const struct plan *plan)
{
    struct fuzz_status status;
    struct error err = {0};
    if (run_plan(scene, plan, &status, &err))
        fail_msg("%s", err.message);
    return status;
}

/* A line for each finding, with its occurrences. */
struct findings {
    size_t count;
    struct str lines[40];
};

static int add_finding(void *context, const struct stored *stored, struct error *err)
{
    struct findings *findings = context;
    (void)err;
    assert_true(findings->count < 40);
    struct str *line = &findings->lines[findings->count++];
    str_init(line);
    str_printf(line, "%s, %s: %lld times\n", stored->signature, stored->kind, (long long)stored->count);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct str *)a)->data, ((const struct str *)b)->data);
}

/* The findings of a campaign as a heap text; who is found first depends on who answers first. */
static char *findings_of(const struct scene *scene, const char *name)
{
    struct error err = {0};
    struct store *store;
    struct findings findings = {0};
    struct str all;
    char *folder = file_join(scene->folder, name);
    if (store_open(&store, folder, STORE_READ, &err) ||
        store_list(store, &(struct store_filter){0}, add_finding, &findings, &err))
        fail_msg("%s", err.message);
    store_close(store);
    free(folder);
    qsort(findings.lines, findings.count, sizeof *findings.lines, by_text);
    str_init(&all);
    for (size_t i = 0; i < findings.count; i++) {
        str_add(&all, findings.lines[i].data);
        str_release(&findings.lines[i]);
    }
    char *text = str_detach(&all);
    str_release(&all);
    return text;
}

static void assert_same_counters(const struct fuzz_status *a, const struct fuzz_status *b)
{
    assert_int_equal(a->cases, b->cases);
    assert_int_equal(a->findings, b->findings);
    assert_int_equal(a->n_engines, b->n_engines);
    for (size_t i = 0; i < a->n_engines; i++) {
        for (int k = 0; k < VERDICT_COUNT; k++)
            assert_int_equal(a->engines[i].verdicts[k], b->engines[i].verdicts[k]);
        for (int k = 0; k < PAPER_COUNT; k++)
            assert_int_equal(a->engines[i].paper[k], b->engines[i].paper[k]);
    }
    assert_true(a->coverage.olc == b->coverage.olc && a->coverage.pairs == b->coverage.pairs);
}

/* Two campaigns of the scene have the same findings, and some. */
static void assert_same_findings(const struct scene *scene, const char *one, const char *other)
{
    char *a = findings_of(scene, one), *b = findings_of(scene, other);
    assert_string_not_equal(a, "");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void a_campaign_finds_what_is_planted(void **state)
{
    (void)state;
    enum { CASES = 80 };
    struct scene scene;
    struct standing standing = {0};
    scene_open(&scene, LABELS("reference", padded, joined));
    struct fuzz_status status = run_well(&scene, &(struct plan){"found", .seed = 1, .count = CASES});
    assert_int_equal(status.cases, CASES);
    assert_int_equal(status.judged_engines, 3);
    assert_int_equal(status.n_engines, 4);
    assert_string_equal(status.engines[3].label, "reference");
    for (size_t i = 0; i < 3; i++) {
        uint64_t verdicts = 0, paper = 0;
        for (int k = 0; k < VERDICT_COUNT; k++)
            verdicts += status.engines[i].verdicts[k];
        for (int k = 0; k < PAPER_COUNT; k++)
            paper += status.engines[i].paper[k];
        assert_int_equal(verdicts, CASES);
        assert_int_equal(paper, CASES);
        assert_int_equal(status.engines[i].verdicts[VERDICT_AGREES]<CASES, i> 0);
        assert_int_equal(status.engines[i].findings > 0, i > 0);
    }
    assert_int_equal(status.findings, status.engines[1].findings + status.engines[2].findings);
    assert_int_equal(status.waiting, status.findings);
    assert_int_equal(status.known, 0);
    char *findings = findings_of(&scene, "found");
    assert_non_null(strstr(findings, "shape|reference:fault=pad-unpad-off|Pad|"));
    assert_non_null(strstr(findings, "wrong|reference:fault=concat-three|Concat|"));
    free(findings);
    fuzz_stands(&status, &standing);
    assert_int_equal(standing_status(&standing), STATUS_FINDINGS);
    fuzz_status_release(&status);
    scene_close(&scene);
}

static void the_seed_decides(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS(padded, joined));
    struct fuzz_status one = run_well(&scene, &(struct plan){"one", .seed = 3, .count = 60});
    struct fuzz_status same = run_well(&scene, &(struct plan){"same", .seed = 3, .count = 60});
    struct fuzz_status other = run_well(&scene, &(struct plan){"other", .seed = 4, .count = 60});
    assert_same_counters(&one, &same);
    assert_same_findings(&scene, "one", "same");
    assert_int_not_equal(
        one.engines[0].verdicts[VERDICT_SHAPE] * 1000 + one.engines[1].verdicts[VERDICT_WRONG],
        other.engines[0].verdicts[VERDICT_SHAPE] * 1000 + other.engines[1].verdicts[VERDICT_WRONG]);
    fuzz_status_release(&one);
    fuzz_status_release(&same);
    fuzz_status_release(&other);
    scene_close(&scene);
}

/* When some are done, of which the first were kept. */
static bool die(void *context, const struct fuzz_status *status)
{
    (void)context;
    if (status->cases >= 12 && status->findings >= 2)
        raise(SIGKILL);
    return false;
}

/* The plan in a process of its own, which is killed on the way. */
static void run_and_kill(const char *const *labels, size_t count, const struct plan *plan, const char *folder)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct scene scene = {.registry = open_registry()};
        struct fuzz_status status;
        struct plan deadly = *plan;
        deadly.watch = die;
        snprintf(scene.folder, sizeof scene.folder, "%s", folder);
        if (panel_open(&scene.panel, scene.registry,
                       given_all_typed(registry_arena(scene.registry), labels, count), NULL, NULL) ||
            panel_add_reference(&scene.panel, scene.registry, NULL))
            _exit(2);
        run_plan(&scene, &deadly, &status, NULL);
        _exit(1); /* too early */
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    assert_int_equal(WTERMSIG(ended), SIGKILL);
}

/* Killed, or brought to an end before its time and gone on with: the end is the same as without. */
static void a_campaign_that_was_cut_short_ends_as_without(void **state)
{
    (void)state;
    for (int strategy = FUZZ_RANDOM; strategy <= FUZZ_YIELD; strategy++) {
        struct scene scene;
        scene_open(&scene, LABELS(padded, joined));
        struct plan whole = {"whole", .seed = 5, .count = 90, .strategy = (enum fuzz_strategy)strategy};
        struct plan killed = whole, parts = whole;
        killed.folder = "killed";
        parts.folder = "parts";
        run_and_kill(LABELS(padded, joined), &killed, scene.folder);
        struct fuzz_status expected = run_well(&scene, &whole), status = run_well(&scene, &killed);
        assert_in_range(status.session_cases, 1, 89); /* some were done before */
        assert_same_counters(&expected, &status);
        assert_same_findings(&scene, "whole", "killed");
        fuzz_status_release(&status);
        for (parts.count = 30; parts.count <= 90; parts.count += 30) {
            status = run_well(&scene, &parts);
            assert_int_equal(status.cases, parts.count);
            assert_int_equal(status.session_cases, 30);
            if (parts.count < 90)
                fuzz_status_release(&status);
        }
        assert_same_counters(&expected, &status);
        assert_same_findings(&scene, "whole", "parts");
        fuzz_status_release(&status);
        fuzz_status_release(&expected);
        scene_close(&scene);
    }
}

static bool enough(void *context, const struct fuzz_status *status)
{
    (void)context;
    return status->findings > 0;
}

static void the_watcher_ends_it(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS(padded));
    struct fuzz_status status =
        run_well(&scene, &(struct plan){"watched", .seed = 1, .count = 100000, .watch = enough});
    assert_in_range(status.cases, 1, 2000);
    assert_true(status.findings > 0);
    assert_string_equal(status.stopped, "");
    fuzz_status_release(&status);
    scene_close(&scene);
}

static void a_healthy_engine_has_no_findings(void **state)
{
    (void)state;
    struct scene scene;
    struct standing standing = {0};
    scene_open(&scene, LABELS("reference"));
    struct fuzz_status status = run_well(&scene, &(struct plan){"healthy", .seed = 2, .count = 60});
    assert_int_equal(status.findings, 0);
    assert_true(status.last_new < 0);
    fuzz_stands(&status, &standing);
    assert_int_equal(standing_status(&standing), STATUS_AGREE);
    fuzz_status_release(&status);
    scene_close(&scene);
}

/* Nothing that it says can be judged, so nothing was tested. */
static void an_engine_that_lacks_everything_is_trouble(void **state)
{
    (void)state;
    struct scene scene;
    struct standing standing = {0};
    scene_open(&scene, LABELS("bad:mode=lack-load"));
    struct fuzz_status status = run_well(&scene, &(struct plan){"lacking", .seed = 2, .count = 20});
    assert_int_equal(status.engines[0].verdicts[VERDICT_UNSUPPORTED], 20);
    assert_int_equal(status.engines[0].paper[PAPER_NONE], 20);
    fuzz_stands(&status, &standing);
    assert_int_equal(standing_status(&standing), STATUS_TROUBLE);
    fuzz_status_release(&status);
    scene_close(&scene);
}

static void other_options_and_absent_engines_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    struct error err = {0};
    struct fuzz_status status;
    scene_open(&scene, LABELS("reference", "absent"));
    struct plan plan = {"campaign", .seed = 1, .count = 5};
    char *folder = file_join(scene.folder, plan.folder);
    assert_int_equal(run_plan(&scene, &plan, &status, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_false(file_exists(folder)); /* nothing was begun */
    fuzz_status_release(&status);
    scene.panel.count = 1;
    status = run_well(&scene, &plan);
    fuzz_status_release(&status);
    plan.seed = 2;
    assert_int_equal(run_plan(&scene, &plan, &status, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    fuzz_status_release(&status);
    plan = (struct plan){"empty", .seed = 1, .count = 5, .ops = "Frobnicate"};
    assert_int_equal(run_plan(&scene, &plan, &status, &err), -1);
    fuzz_status_release(&status);
    free(folder);
    scene_close(&scene);
}

/* Whether two cases are the same bytes. */
static void assert_same_case(const struct test_case *a, const struct test_case *b)
{
    const uint8_t *one, *two;
    size_t n_one, n_two;
    assert_int_equal(test_case_bytes(a, &one, &n_one, NULL), 0);
    assert_int_equal(test_case_bytes(b, &two, &n_two, NULL), 0);
    assert_int_equal(n_one, n_two);
    assert_memory_equal(one, two, n_one);
    assert_int_equal(a->n_inputs, b->n_inputs);
    for (size_t i = 0; i < a->n_inputs; i++)
        assert_true(tensor_identical(&a->inputs[i].tensors[0], &b->inputs[i].tensors[0]));
}

/* Rules rewrite some cases, and leave what is made as it was; the recipe makes the rewritten one again. */
static void a_rewritten_case_has_a_recipe(void **state)
{
    (void)state;
    enum { MADE = 60 };
    struct fuzz_source *sources[2];
    struct error err = {0};
    size_t rewritten = 0;
    for (size_t i = 0; i < 2; i++) {
        struct fuzz_source_options options = {
            .seed = 3, .blocks = 3, .rules_share = i ? 0.5 : 0, .rules_depth = 2};
        if (fuzz_source_new(&sources[i], &options, &err))
            fail_msg("%s", err.message);
    }
    for (uint64_t i = 0; i < MADE; i++) {
        struct test_case *plain, *other, *again;
        struct fuzz_origin origin;
        if (fuzz_source_make(sources[0], i, &plain, &origin, &err) ||
            fuzz_source_make(sources[1], i, &other, &origin, &err) ||
            rewriting_recipe(other->recipe, &again, &err))
            fail_msg("%s", err.message);
        assert_same_case(other, again);
        assert_same_case(plain, other->equivalence ? other->equivalence->origin : other);
        assert_int_equal(strncmp(plain->recipe, other->recipe, strlen(plain->recipe)), 0);
        rewritten += other->equivalence != NULL;
        test_case_free(plain);
        test_case_free(other);
        test_case_free(again);
    }
    assert_in_range(rewritten, MADE / 4, MADE * 3 / 4);
    fuzz_source_free(sources[0]);
    fuzz_source_free(sources[1]);
}

/* Two Transposes in a row are wrong, and no case has any before it is rewritten. */
static void rules_find_what_plain_cases_do_not(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("reference:fault=transposes-merged,round=on"));
    struct plan plan = {"plain", .seed = 1, .count = 60, .ops = "Relu,Add"};
    struct fuzz_status status = run_well(&scene, &plan);
    assert_int_equal(status.findings, 0);
    fuzz_status_release(&status);
    plan.folder = "rules";
    plan.rules = "transpose-pair";
    status = run_well(&scene, &plan);
    assert_true(status.findings > 0);
    assert_int_equal(status.bad_rewritings, 0);
    fuzz_status_release(&status);
    struct error err = {0};
    plan.rules = "identity";
    assert_int_equal(run_plan(&scene, &plan, &status, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    fuzz_status_release(&status);
    plan = (struct plan){"none", .seed = 1, .count = 5, .rules = "no-such-rule"};
    assert_int_equal(run_plan(&scene, &plan, &status, &err), -1);
    fuzz_status_release(&status);
    scene_close(&scene);
}

static void rules_find_nothing_in_a_healthy_engine(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("reference:round=on"));
    struct plan plan = {"campaign", .seed = 5, .count = 150, .ops = "Conv,Relu,Add,MaxPool,Softmax",
                        .rules = ""};
    struct fuzz_status status = run_well(&scene, &plan);
    assert_int_equal(status.findings, 0);
    assert_int_equal(status.bad_rewritings, 0);
    fuzz_status_release(&status);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_campaign_finds_what_is_planted),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(a_campaign_that_was_cut_short_ends_as_without),
        cmocka_unit_test(the_watcher_ends_it),
        cmocka_unit_test(a_healthy_engine_has_no_findings),
        cmocka_unit_test(an_engine_that_lacks_everything_is_trouble),
        cmocka_unit_test(other_options_and_absent_engines_are_refused),
        cmocka_unit_test(a_rewritten_case_has_a_recipe),
        cmocka_unit_test(rules_find_what_plain_cases_do_not),
        cmocka_unit_test(rules_find_nothing_in_a_healthy_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
