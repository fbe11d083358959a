#include "scene.h"

#include "base/memory.h"
#include "case/case_gradient.h"
#include "engine/handover.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "rules/rewriting.h"
#include "trial/trial.h"

#include <stddef.h>
#include <stdio.h>

enum { CASES = 40 };

static struct trials *start(const struct scene *scene, const struct trial_options *options)
{
    struct trial_options all = *options;
    all.panel = &scene->panel;
    return trials_new(&all);
}

static void submit(struct trials *trials, struct test_case *test, void *user)
{
    struct error err = {0};
    if (trials_submit(trials, test, user, &err))
        fail_msg("%s", err.message);
}

/* The next case, which must come back. */
static struct trial_done next(struct trials *trials)
{
    struct trial_done done;
    struct error err = {0};
    if (trials_next(trials, &done, &err) != 1)
        fail_msg("nothing came back: %s", err.message);
    return done;
}

/* One case alone. */
static struct trial_done try_one(const struct scene *scene, const struct trial_options *options,
                                 struct test_case *test)
{
    struct trials *trials = start(scene, options);
    submit(trials, test, NULL);
    struct trial_done done = next(trials);
    assert_int_equal(trials_pending(trials), 0);
    trials_free(trials);
    return done;
}

static enum verdict_kind verdict_on(const struct trial_done *done, size_t engine)
{
    return done->judgement.verdicts[engine].kind;
}

static void each_case_comes_back_once_with_its_judgement(void **state)
{
    (void)state;
    enum { AHEAD = 6 };
    size_t back[CASES] = {0}, sent = 0;
    struct scene scene;
    scene_open(&scene, LABELS("reference", "reference:fault=concat-three", "identity", "absent"));
    struct trials *trials = start(&scene, &(struct trial_options){.ahead = AHEAD});
    for (size_t taken = 0; taken < CASES; taken++) {
        for (; sent < CASES && trials_room(trials); sent++)
            submit(trials, case_of_text(sent % 2 ? JOINED : COPIED, (long double)sent + 1), &back[sent]);
        assert_int_equal(trials_pending(trials), CASES - taken < AHEAD ? CASES - taken : AHEAD);
        struct trial_done done = next(trials);
        size_t number = (size_t)((size_t *)done.user - back);
        bool joined = number % 2;
        back[number]++;
        assert_int_equal(done.n_engines, 4);
        assert_true(tensor_get(&done.test->inputs[0].tensors[0], 0) == (long double)number + 1);
        assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
        assert_int_equal(verdict_on(&done, 1), joined ? VERDICT_WRONG : VERDICT_AGREES);
        assert_int_equal(verdict_on(&done, 2), joined ? VERDICT_SHAPE : VERDICT_AGREES);
        assert_int_equal(verdict_on(&done, 3), VERDICT_NO_ENGINE);
        assert_true(done.judgement.by_reference);
        assert_int_equal(done.reference.outcome, OUTCOME_OK);
        /* Nobody asked for settling. */
        assert_int_equal(done.settlements[1].kind, VERDICT_UNTESTED);
        trial_done_release(&done);
    }
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(back[i], 1);
    struct trial_done none;
    assert_int_equal(trials_next(trials, &none, NULL), 0);
    assert_int_equal(trials_strays(trials), 0);
    trials_free(trials);
    scene_close(&scene);
}

static void a_planted_fault_is_wrong_at_its_node(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("reference", "reference:fault=concat-three"));
    struct trial_done done =
        try_one(&scene, &(struct trial_options){.settle = true}, case_of_text(JOINED, -2));
    assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
    assert_int_equal(done.settlements[0].kind, VERDICT_UNTESTED);
    assert_int_equal(verdict_on(&done, 1), VERDICT_WRONG);
    assert_int_equal(done.judgement.culprit, 1);
    assert_int_equal(done.settlements[1].kind, VERDICT_WRONG);
    assert_int_equal(done.settlements[1].count, 1);
    assert_int_equal(done.settlements[1].nodes[0], 2);
    trial_done_release(&done);
    scene_close(&scene);
}

/* The outputs of the faulty engine are right, and so are those of one that has no gradients at all. */
static void a_wrong_gradient_is_wrong_at_its_node(void **state)
{
    (void)state;
    static const char text[] = "g (float[2,3] x, float[3,2] w) => (float[2,2] y)"
                               "{ a = Neg(x) m = MatMul(a, w) y = Neg(m) }";
    struct scene scene;
    scene_open(&scene, LABELS("reference:round=on", "reference:fault=matmul-gradient", "identity"));
    struct test_case *test = case_of_text(text, 1);
    assert_int_equal(test_case_ask_gradient(test, 7, NULL), 0);
    assert_int_equal(test->gradient->n_wanted, 2);
    struct trial_done done = try_one(&scene, &(struct trial_options){.settle = true}, test);
    assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
    assert_int_equal(verdict_on(&done, 1), VERDICT_WRONG);
    assert_true(done.judgement.verdicts[1].gradient);
    assert_int_equal(done.settlements[1].count, 1);
    assert_int_equal(done.settlements[1].nodes[0], 1);
    assert_int_equal(verdict_on(&done, 2), VERDICT_UNSUPPORTED);
    assert_int_equal(done.results[0].count, 2);
    assert_string_equal(done.results[0].outputs[0].name, test->gradient->wanted[0]);
    trial_done_release(&done);
    done = try_one(&scene, &(struct trial_options){.settle = true}, case_of_text(text, 1));
    assert_int_equal(verdict_on(&done, 1), VERDICT_AGREES);
    trial_done_release(&done);
    scene_close(&scene);
}

/* The engine dies on a Gemm in the middle, by itself as well as in the graph. */
static void a_crash_is_narrowed_to_the_node_that_makes_it(void **state)
{
    (void)state;
    static const char text[] = "g (float[2,3] x, float[4,3] w) => (float[2,4] y)"
                               "{ r = Relu(x) m = Gemm<transB = 1>(r, w) y = Neg(m) }";
    struct scene scene;
    scene_open(&scene, LABELS("reference:fault=gemm-shape-crash"));
    struct trial_done done = try_one(&scene, &(struct trial_options){.settle = true}, case_of_text(text, 1));
    assert_int_equal(verdict_on(&done, 0), VERDICT_CRASH);
    assert_int_equal(done.settlements[0].count, 1);
    assert_int_equal(done.settlements[0].nodes[0], 1);
    trial_done_release(&done);
    scene_close(&scene);
}

/* The engine dies on every third case that a process gets. */
static void run_nine(bool fresh, size_t expected_strays)
{
    struct scene scene;
    scene_open(&scene, LABELS("bad:mode=third"));
    if (fresh)
        panel_add_fresh(&scene.panel);
    struct trials *trials = start(&scene, &(struct trial_options){.fresh = fresh});
    for (int i = 0; i < 9; i++)
        submit(trials, case_of_text(COPIED, i), NULL);
    for (int i = 0; i < 9; i++) {
        struct trial_done done = next(trials);
        assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
        trial_done_release(&done);
    }
    assert_int_equal(trials_strays(trials), expected_strays);
    /* On fresh workers every case has a process of its own, and the shared ones are left alone. */
    assert_int_equal(pool_counters(scene.panel.pool, scene.panel.engines[0]).started == 0, fresh);
    if (fresh)
        assert_true(pool_counters(scene.panel.fresh, scene.panel.engines[0]).started >= 9);
    trials_free(trials);
    scene_close(&scene);
}

static void a_stray_crash_is_counted_and_the_answer_stands(void **state)
{
    (void)state;
    run_nine(false, 3); /* they are tried again in the end, when one of them is once more the third */
    run_nine(true, 0);
}

static void a_crash_three_times_is_one(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("bad:mode=segv-run"));
    struct trials *trials = start(&scene, &(struct trial_options){0});
    submit(trials, case_of_text(COPIED, 1), NULL);
    struct trial_done done = next(trials);
    assert_int_equal(verdict_on(&done, 0), VERDICT_CRASH);
    assert_int_equal(done.judgement.culprit, 0);
    assert_int_equal(trials_strays(trials), 0);
    trial_done_release(&done);
    trials_free(trials);
    scene_close(&scene);
}

static void the_reference_is_not_asked_when_all_lack_something(void **state)
{
    (void)state;
    for (int lacking = 1; lacking <= 2; lacking++) {
        struct scene scene;
        scene_open(&scene, LABELS("bad:mode=lack-load", lacking == 2 ? "bad:mode=lack-load" : "identity"));
        struct trial_done done = try_one(&scene, &(struct trial_options){0}, case_of_text(COPIED, 1));
        assert_int_equal(verdict_on(&done, 0), VERDICT_UNSUPPORTED);
        assert_int_equal(verdict_on(&done, 1), lacking == 2 ? VERDICT_UNSUPPORTED : VERDICT_AGREES);
        assert_int_equal(done.reference.outcome, lacking == 2 ? OUTCOME_UNTESTED : OUTCOME_OK);
        assert_int_equal(done.judgement.culprit, -1);
        trial_done_release(&done);
        scene_close(&scene);
    }
}

/* The engine writes the number of the run into the first element, which is right the first time. */
static void answers_that_differ_show_when_runs_are_repeated(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("bad:mode=differ", "identity"));
    for (int repeat = 0; repeat < 2; repeat++) {
        struct trial_done done =
            try_one(&scene, &(struct trial_options){.repeat = repeat}, case_of_text(COPIED, 1));
        assert_int_equal(verdict_on(&done, 0), repeat ? VERDICT_NONDETERMINISTIC : VERDICT_AGREES);
        assert_int_equal(verdict_on(&done, 1), VERDICT_AGREES);
        trial_done_release(&done);
    }
    scene_close(&scene);
}

/* What breaks the rules is held against nobody who refuses it. */
static void an_invalid_case_is_no_finding(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("bad:mode=reject-load", "reference"));
    struct test_case *test = case_of_text("g (float[4] x) => (float[4] y) { y = Relu(x, x) }", 1);
    struct trial_done done = try_one(&scene, &(struct trial_options){.settle = true}, test);
    assert_true(done.judgement.invalid);
    for (size_t i = 0; i < 2; i++)
        assert_false(verdict_is_finding(verdict_on(&done, i)));
    trial_done_release(&done);
    scene_close(&scene);
}

/* Makes cases of a Conv and counts what comes back. */
struct source {
    size_t made, taken, back[CASES];
    size_t kinds[3][VERDICT_COUNT]; /* one an engine */
    size_t blamed;                  /* nodes */
    size_t stop;                    /* taken cases after which taking fails; 0: never */
};

/* Every fifth time there is no case. */
static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct source *source = context;
    if (source->made == CASES)
        return 0;
    size_t number = source->made++;
    if (number % 5 == 4)
        return 1;
    struct generate_options options = {
        .ops = "Conv", .types = DTYPE_BIT(DTYPE_FLOAT), .fill = FILL_NORMAL + 1};
    *user = &source->back[number];
    return generate_one(1, number, &options, test, err) ? -1 : 1;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct source *source = context;
    ++*(size_t *)done->user;
    for (size_t i = 0; i < done->n_engines; i++) {
        source->kinds[i][verdict_on(done, i)]++;
        source->blamed += verdict_on(done, i) == VERDICT_WRONG ? done->settlements[i].count : 0;
    }
    trial_done_release(done);
    return ++source->taken == source->stop ? error_set(err, ERROR_IO, "enough") : 0;
}

static void the_cases_of_a_source_are_run(void **state)
{
    (void)state;
    struct scene scene;
    struct source source = {0};
    struct error err = {0};
    scene_open(&scene, LABELS("reference", "reference:fault=conv-rotated", "bad:mode=segv-load"));
    struct trials *trials = start(&scene, &(struct trial_options){.ahead = 8, .settle = true});
    assert_int_equal(trials_run(trials, &(struct trial_source){&source, make, take}, &err), 0);
    assert_int_equal(source.made, CASES);
    assert_int_equal(source.taken, CASES - CASES / 5);
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(source.back[i], i % 5 == 4 ? 0 : 1);
    assert_int_equal(source.kinds[0][VERDICT_AGREES], source.taken);
    size_t wrong = source.kinds[1][VERDICT_WRONG];
    assert_true(wrong > 5);
    assert_int_equal(source.blamed, wrong); /* one Conv each */
    assert_int_equal(source.kinds[2][VERDICT_CRASH], source.taken);
    assert_int_equal(pool_counters(scene.panel.pool, scene.panel.engines[2]).crashed, 3 * source.taken);
    assert_int_equal(trials_pending(trials), 0);
    trials_free(trials);
    scene_close(&scene);
}

/* What is under way is dropped with the trials, and the pool stays usable. */
static void a_source_that_fails_ends_the_run(void **state)
{
    (void)state;
    struct scene scene;
    struct source source = {.stop = 3};
    struct error err = {0};
    scene_open(&scene, LABELS("reference"));
    struct trials *trials = start(&scene, &(struct trial_options){.ahead = 8});
    assert_int_equal(trials_run(trials, &(struct trial_source){&source, make, take}, &err), -1);
    assert_string_equal(err.message, "enough");
    assert_int_equal(source.taken, 3);
    assert_true(trials_pending(trials) > 0);
    trials_free(trials);
    assert_int_equal(pool_pending(scene.panel.pool, -1), 0);
    trials = start(&scene, &(struct trial_options){0});
    source = (struct source){0};
    assert_int_equal(trials_run(trials, &(struct trial_source){&source, make, take}, &err), 0);
    assert_int_equal(source.taken, CASES - CASES / 5);
    trials_free(trials);
    scene_close(&scene);
}

static void what_is_under_way_is_given_up_with_the_trials(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("identity"));
    struct test_case *test = case_of_text(COPIED, 1);
    struct trials *trials = start(&scene, &(struct trial_options){0});
    for (int i = 0; i < 3; i++)
        submit(trials, test_case_share(test), NULL);
    assert_int_equal(test->shares, 3);
    trials_free(trials);
    assert_int_equal(test->shares, 0);
    test_case_free(test);
    scene_close(&scene);
}

/* --- Rewritten cases --- */

/* SAME_UPPER pads one more at the end, where the kernel is even. */
#define PADDED                                                     \
    "g (float[1,1,5,5] x, float[1,1,2,2] w) => (float[1,1,5,5] y)" \
    "{ r = Relu(x) y = Conv<auto_pad = \"SAME_UPPER\">(r, w) }"

static struct test_case *rewritten(struct test_case *origin, const char *rewriting)
{
    struct test_case *made;
    struct error err = {0};
    if (rewriting_apply(origin, rewriting, &made, &err) != 1)
        fail_msg("%s: %s", rewriting, err.message);
    return made;
}

/* A rewriting of a case on one engine. */
struct attempt {
    const char *engine, *text, *rewriting;
    long double first;
    bool no_reference, no_registry, fresh, settle;
};

static struct trial_done attempt(struct scene *scene, const struct attempt *attempt)
{
    scene_open(scene, LABELS(attempt->engine));
    if (attempt->no_reference)
        scene->panel.reference = -1;
    if (attempt->fresh)
        panel_add_fresh(&scene->panel);
    struct test_case *origin = case_of_text(attempt->text, attempt->first);
    struct trial_options options = {
        .registry = attempt->no_registry ? NULL : scene->registry,
        .settle = attempt->settle,
    };
    struct trial_done done = try_one(scene, &options, rewritten(origin, attempt->rewriting));
    test_case_free(origin);
    return done;
}

/* What becomes of the original, of the pair, and of the rewritten form at last. */
#define DIVIDED "g (float16[4] x) => (float16[4] y) { y = Div(x, x) }"
static const struct {
    struct attempt attempt;
    enum verdict_kind origin, pair, judged;
} pairs_of_answers[] = {
    /* Nothing is wrong. */
    {{"reference:round=on", PADDED, "auto-pad@y", .first = -3},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_AGREES},
    /* The original is wrong, and its rewritten form is not. */
    {{"reference:fault=same-pad-side,round=on", PADDED, "auto-pad@y", .first = -3},
     VERDICT_WRONG,
     VERDICT_INCONSISTENT,
     VERDICT_AGREES},
    {{"reference:fault=same-pad-side,round=on", PADDED, "auto-pad@y", .first = -3, .no_reference = true},
     VERDICT_UNDECIDED,
     VERDICT_SUSPECT,
     VERDICT_SUSPECT},
    {{"reference:round=on", PADDED, "auto-pad@y", .first = -3, .no_reference = true},
     VERDICT_UNDECIDED,
     VERDICT_AGREES,
     VERDICT_UNDECIDED},
    /* A setting that is asked for by its knob. */
    {{"reference:fault=opt-div-reciprocal,opt=all,round=on", DIVIDED, "knob@opt=none", .first = 1e-5L},
     VERDICT_WRONG,
     VERDICT_INCONSISTENT,
     VERDICT_AGREES},
    {{"reference:round=on", DIVIDED, "knob@opt=all", .first = 1},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_AGREES},
    /* Settings that cannot be had. */
    {{"reference:round=on", DIVIDED, "knob@opt=most", .first = 1},
     VERDICT_AGREES,
     VERDICT_UNTESTED,
     VERDICT_UNSUPPORTED},
    {{"reference:round=on", DIVIDED, "knob@turns=2", .first = 1},
     VERDICT_AGREES,
     VERDICT_UNTESTED,
     VERDICT_UNSUPPORTED},
    {{"reference:round=on", DIVIDED, "knob@opt=all", .first = 1, .no_registry = true},
     VERDICT_AGREES,
     VERDICT_UNTESTED,
     VERDICT_UNSUPPORTED},
    {{"reference:round=on", DIVIDED, "fresh", .first = 1},
     VERDICT_AGREES,
     VERDICT_UNTESTED,
     VERDICT_UNSUPPORTED},
    /* Ways of running. */
    {{"reference:round=on", DIVIDED, "fresh", .first = 1, .fresh = true},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_AGREES},
    {{"reference:round=on", DIVIDED, "fresh knob@opt=all", .first = 1, .fresh = true},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_AGREES},
    {{"reference:round=on", DIVIDED, "external-data", .first = 1},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_AGREES},
    {{"bad:mode=differ", COPIED, "again", .first = 1},
     VERDICT_AGREES,
     VERDICT_AGREES,
     VERDICT_NONDETERMINISTIC},
    {{"bad:mode=stale", COPIED, "after-another", .first = 1, .no_reference = true},
     VERDICT_UNDECIDED,
     VERDICT_SUSPECT,
     VERDICT_SUSPECT},
    {{"bad:mode=unwritten", COPIED, "dirty-memory", .no_reference = true},
     VERDICT_UNDECIDED,
     VERDICT_UNWRITTEN,
     VERDICT_UNWRITTEN},
    {{"bad:mode=good", COPIED, "dirty-memory"}, VERDICT_AGREES, VERDICT_AGREES, VERDICT_AGREES},
    /* It ends before it answers. */
    {{"bad:mode=segv-run", COPIED, "identity@x", .first = 1}, VERDICT_CRASH, VERDICT_CRASH, VERDICT_CRASH},
    {{"bad:mode=reject-load", COPIED, "identity@x", .first = 1, .no_reference = true},
     VERDICT_SUSPECT,
     VERDICT_UNTESTED,
     VERDICT_SUSPECT},
};

static void both_forms_are_run_and_held_against_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs_of_answers / sizeof *pairs_of_answers; i++) {
        struct scene scene;
        struct trial_done done = attempt(&scene, &pairs_of_answers[i].attempt);
        enum verdict_kind got[] = {done.origin_verdicts[0].kind, done.pairs[0].kind, verdict_on(&done, 0)};
        enum verdict_kind due[] = {pairs_of_answers[i].origin, pairs_of_answers[i].pair,
                                   pairs_of_answers[i].judged};
        for (size_t k = 0; k < 3; k++)
            if (got[k] != due[k])
                fail_msg("%s on %s: %s instead of %s at %zu (%s)", pairs_of_answers[i].attempt.rewriting,
                         pairs_of_answers[i].attempt.engine, verdict_name(got[k]), verdict_name(due[k]), k,
                         done.pairs[0].text);
        assert_false(done.bad_rewriting);
        assert_string_equal(done.test->equivalence->rewriting, pairs_of_answers[i].attempt.rewriting);
        trial_done_release(&done);
        scene_close(&scene);
    }
}

static void one_original_serves_all_its_forms(void **state)
{
    (void)state;
    enum { FORMS = 5 };
    struct scene scene;
    scene_open(&scene, LABELS("identity"));
    struct trials *trials = start(&scene, &(struct trial_options){.registry = scene.registry});
    struct test_case *origin = case_of_text(COPIED, 1);
    for (int i = 0; i < FORMS; i++)
        submit(trials, rewritten(origin, "identity@x"), NULL);
    assert_int_equal(trials_pending(trials), FORMS);
    struct trial_done done[FORMS];
    for (size_t i = 0; i < FORMS; i++) {
        done[i] = next(trials);
        assert_true(done[i].origin_results == done[0].origin_results);
    }
    trials_free(trials);
    assert_true(tensor_get(&done[0].origin_results[0].outputs[0].tensors[0], 0) == 1);
    for (size_t i = 0; i < FORMS; i++)
        trial_done_release(&done[i]);
    assert_int_equal(origin->shares, 0);
    test_case_free(origin);
    scene_close(&scene);
}

/* Each setting is an engine of its own, but only a few of them keep their workers. */
static void settings_that_are_not_needed_rest(void **state)
{
    (void)state;
    enum { SETTINGS = 20, TURNS = 2 };
    struct scene scene;
    scene_open(&scene, LABELS("reference:round=on"));
    struct trials *trials = start(&scene, &(struct trial_options){.registry = scene.registry});
    struct test_case *origin = case_of_text(COPIED, 1);
    size_t back = 0;
    for (int sent = 0; back < SETTINGS * TURNS;) {
        for (; sent < SETTINGS * TURNS && trials_room(trials); sent++) {
            char knobs[20];
            snprintf(knobs, sizeof knobs, "perturb=%d", sent % SETTINGS + 1);
            struct test_case *form = rewritten(origin, "after-another");
            free(form->equivalence->knobs);
            form->equivalence->knobs = memory_strdup(knobs);
            submit(trials, form, NULL);
        }
        struct trial_done done = next(trials);
        assert_int_equal(done.pairs[0].kind, VERDICT_AGREES);
        trial_done_release(&done);
        back++;
    }
    trials_free(trials);
    test_case_free(origin);
    size_t started = 0, ended = 0;
    for (int i = 0; i < SETTINGS + 2; i++) {
        started += pool_counters(scene.panel.pool, i).started;
        ended += pool_counters(scene.panel.pool, i).recycled;
    }
    assert_true(started - ended <= 2 + 8 + 1);
    scene_close(&scene);
}

/* More originals than are kept, each with two forms: all come back, with their own original. */
static void originals_that_are_not_kept_are_run_again(void **state)
{
    (void)state;
    enum { ORIGINALS = 80, FORMS = 2 };
    struct test_case *origins[ORIGINALS];
    size_t back = 0, sent = 0;
    struct scene scene;
    scene_open(&scene, LABELS("bad:mode=good"));
    struct trials *trials = start(&scene, &(struct trial_options){0});
    for (int i = 0; i < ORIGINALS; i++)
        origins[i] = case_of_text(COPIED, i);
    while (back < (size_t)ORIGINALS * FORMS) {
        for (; sent < (size_t)ORIGINALS * FORMS && trials_room(trials); sent++)
            submit(trials, rewritten(origins[sent % ORIGINALS], "identity@x"), NULL);
        struct trial_done done = next(trials);
        const struct test_case *origin = done.test->equivalence->origin;
        assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
        assert_int_equal(done.pairs[0].kind, VERDICT_AGREES);
        assert_true(tensor_get(&done.origin_results[0].outputs[0].tensors[0], 0) ==
                    tensor_get(&origin->inputs[0].tensors[0], 0));
        trial_done_release(&done);
        back++;
    }
    trials_free(trials);
    for (int i = 0; i < ORIGINALS; i++) {
        assert_int_equal(origins[i]->shares, 0);
        test_case_free(origins[i]);
    }
    scene_close(&scene);
}

static void rewritten_cases_under_way_are_given_up(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("identity"));
    struct test_case *origin = case_of_text(COPIED, 1);
    struct trials *trials = start(&scene, &(struct trial_options){0});
    for (int i = 0; i < 3; i++)
        submit(trials, rewritten(origin, "identity@x"), NULL);
    trials_free(trials);
    assert_int_equal(origin->shares, 0);
    test_case_free(origin);
    scene_close(&scene);
}

/* The two forms do not mean the same: the rule is wrong, and no engine is. */
static void a_wrong_rule_is_noticed(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS("reference:round=on"));
    struct test_case *origin = case_of_text(COPIED, 1);
    struct test_case *form = case_of_text("g (float[4] x) => (float[4] y) { y = Neg(x) }", 1);
    test_case_set_origin(form, origin, "identity@x")->relation = RELATION_BOUNDS;
    struct trial_done done = try_one(&scene, &(struct trial_options){0}, form);
    assert_true(done.bad_rewriting);
    assert_int_equal(done.pairs[0].kind, VERDICT_UNTESTED);
    assert_int_equal(verdict_on(&done, 0), VERDICT_AGREES);
    trial_done_release(&done);
    test_case_free(origin);
    scene_close(&scene);
}

/* The original goes by path as well, and no rule says so of it. */
static void a_model_that_goes_by_path_is_held_against_its_forms(void **state)
{
    (void)state;
    struct scene scene;
    struct model *model = model_of_text("g (int64[4] x) => (float[4] y) { y = Gather(w, x) }");
    struct test_case *origin = test_case_new(model);
    struct value x = value_for(model->graph->input[0], 1);
    struct shape shape = {.rank = 1, .dims = {HANDOVER_BYTES / sizeof(float) + 1}};
    struct tensor weights;
    assert_int_equal(tensor_alloc(&weights, DTYPE_FLOAT, &shape, SIZE_MAX, NULL), 0);
    memset(weights.data, 0, weights.size);
    model_add_initializer(model, "w", &weights);
    tensor_release(&weights);
    assert_int_equal(test_case_add_inputs(origin, &x, 1, NULL), 0);
    value_release(&x);
    scene_open(&scene, LABELS("reference:round=on"));
    struct trial_done done = try_one(&scene, &(struct trial_options){0}, rewritten(origin, "identity@y"));
    assert_int_equal(done.origin_verdicts[0].kind, VERDICT_AGREES);
    assert_int_equal(done.pairs[0].kind, VERDICT_AGREES);
    trial_done_release(&done);
    test_case_free(origin);
    scene_close(&scene);
}

int main(void)
{
    unsetenv("MALLOC_PERTURB_"); /* meson sets it, and engines get it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_comes_back_once_with_its_judgement),
        cmocka_unit_test(a_planted_fault_is_wrong_at_its_node),
        cmocka_unit_test(a_wrong_gradient_is_wrong_at_its_node),
        cmocka_unit_test(a_crash_is_narrowed_to_the_node_that_makes_it),
        cmocka_unit_test(a_stray_crash_is_counted_and_the_answer_stands),
        cmocka_unit_test(a_crash_three_times_is_one),
        cmocka_unit_test(the_reference_is_not_asked_when_all_lack_something),
        cmocka_unit_test(answers_that_differ_show_when_runs_are_repeated),
        cmocka_unit_test(an_invalid_case_is_no_finding),
        cmocka_unit_test(the_cases_of_a_source_are_run),
        cmocka_unit_test(a_source_that_fails_ends_the_run),
        cmocka_unit_test(what_is_under_way_is_given_up_with_the_trials),
        cmocka_unit_test(both_forms_are_run_and_held_against_each_other),
        cmocka_unit_test(one_original_serves_all_its_forms),
        cmocka_unit_test(settings_that_are_not_needed_rest),
        cmocka_unit_test(originals_that_are_not_kept_are_run_again),
        cmocka_unit_test(rewritten_cases_under_way_are_given_up),
        cmocka_unit_test(a_wrong_rule_is_noticed),
        cmocka_unit_test(a_model_that_goes_by_path_is_held_against_its_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
