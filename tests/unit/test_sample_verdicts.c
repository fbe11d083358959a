#include "scene.h"

#include "trial/sample_verdicts.h"

#include <stddef.h>

/* Clip, to the engine that gives its inputs back: right up to 10, wrong above. */
#define CLIPPED \
    "g (float[4] x) => (float[4] y) <float low = {-100.0}, float high = {10.0}> { y = Clip(x, low, high) }"

/* The verdicts of a scene's engines over samples. */
struct hearing {
    struct scene scene;
    struct arena arena;
    struct sample_verdicts verdicts;
};

static void hearing_open(struct hearing *hearing, const char *const *labels, size_t count)
{
    scene_open(&hearing->scene, labels, count);
    arena_init(&hearing->arena);
    sample_verdicts_init(&hearing->verdicts, &hearing->arena, &hearing->scene.panel);
}

static void hearing_close(struct hearing *hearing)
{
    sample_verdicts_release(&hearing->verdicts);
    arena_release(&hearing->arena);
    scene_close(&hearing->scene);
}

static void run(const struct scene *scene, int engine, const struct test_case *test,
                const struct value *inputs, struct result *result)
{
    struct error err = {0};
    struct job job = {.engine = engine,
                      .n_inputs = test->n_inputs,
                      .inputs = inputs,
                      .bounds = engine == scene->panel.reference};
    const uint8_t *bytes;
    assert_int_equal(test_case_bytes(test, &bytes, &job.model_size, &err), 0);
    job.model = bytes;
    if (pool_run_one(scene->panel.pool, &job, result, &err))
        fail_msg("%s", err.message);
}

/* Runs a sample on all engines and adds it; the case is freed. Without `arbiter` the engines vote. */
static void add(struct hearing *hearing, size_t number, struct test_case *test, bool arbiter)
{
    const struct panel *panel = &hearing->scene.panel;
    struct result results[4], reference;
    assert_true(panel->count <= 4);
    for (size_t i = 0; i < panel->count; i++)
        run(&hearing->scene, panel->engines[i], test, test->inputs, &results[i]);
    run(&hearing->scene, panel->reference, test, test->inputs, &reference);
    sample_verdicts_add(
        &hearing->verdicts,
        &(struct sample_results){
            .number = number, .test = test, .results = results, .reference = arbiter ? &reference : NULL},
        NULL);
    for (size_t i = 0; i < panel->count; i++)
        result_release(&results[i]);
    result_release(&reference);
    test_case_free(test);
}

static int status_of(const struct engine_verdict *overall, struct standing *standing)
{
    *standing = (struct standing){0};
    engine_verdict_stands(overall, "it", standing);
    return standing_status(standing);
}

static void assert_sentence(const struct engine_verdict *overall, const char *start, const char *end)
{
    struct str text;
    str_init(&text);
    engine_verdict_sentence(overall, &text);
    size_t length = strlen(end);
    if (strncmp(text.data, start, strlen(start)) != 0 || text.length < length ||
        strcmp(text.data + text.length - length, end) != 0)
        fail_msg("'%s' is not '%s ... %s'", text.data, start, end);
    str_release(&text);
}

/* Right on samples 0 and 3, wrong on 1 and 4, dead on 2 and 5: the first of the worst stays. */
static void the_worst_is_kept_first_of_its_kind_and_counts_add_up(void **state)
{
    (void)state;
    static const long double first[] = {1, 20, -3, 2, 30, -4};
    struct hearing hearing;
    hearing_open(&hearing, LABELS("reference", "bad:mode=negative"));
    for (size_t i = 0; i < 6; i++)
        add(&hearing, i, case_of_text(CLIPPED, first[i]), true);
    const struct engine_verdict *good = &hearing.verdicts.engine[0], *bad = &hearing.verdicts.engine[1];
    assert_int_equal(hearing.verdicts.samples, 6);
    assert_int_equal(hearing.verdicts.by_reference, 6);
    assert_null(hearing.verdicts.reason);
    assert_int_equal(good->counts[VERDICT_AGREES], 6);
    assert_int_equal(good->heard[HEARD_JUDGED], 6);
    assert_int_equal(good->n_nodes, 0);
    assert_int_equal(bad->counts[VERDICT_AGREES], 2);
    assert_int_equal(bad->counts[VERDICT_WRONG], 2);
    assert_int_equal(bad->counts[VERDICT_CRASH], 2);
    assert_int_equal(bad->heard[HEARD_FINDING], 4);
    assert_int_equal(bad->heard[HEARD_JUDGED], 2);
    assert_int_equal(bad->verdict.kind, VERDICT_WRONG);
    assert_int_equal(bad->sample, 1);
    assert_int_equal(bad->n_nodes, 1);
    assert_string_equal(bad->operators[0], "Clip");
    assert_true(good->error == 0 && bad->error > 0); /* the largest over all samples */
    assert_int_equal(good->elements, bad->elements + 2 * good->elements / 6);
    assert_false(bad->behind);
    assert_int_equal(sample_verdicts_culprit(&hearing.verdicts), 1);
    assert_sentence(bad, "is wrong (engine bug): Clip ", ", on 4 of 6 samples, first on sample 1");
    assert_sentence(good, "agrees with the reference", "reference");
    struct standing standing;
    assert_int_equal(status_of(good, &standing), STATUS_AGREE);
    assert_int_equal(status_of(bad, &standing), STATUS_FINDINGS);
    hearing_close(&hearing);
}

/* A louder verdict takes the place of a quieter one that came first. */
static void a_finding_takes_the_place_of_agreement(void **state)
{
    (void)state;
    struct hearing hearing;
    hearing_open(&hearing, LABELS("identity"));
    const struct engine_verdict *overall = &hearing.verdicts.engine[0];
    add(&hearing, 7, case_of_text(CLIPPED, 1), true);
    assert_int_equal(overall->verdict.kind, VERDICT_AGREES);
    assert_int_equal(overall->sample, 7);
    assert_int_equal(sample_verdicts_culprit(&hearing.verdicts), -1);
    add(&hearing, 8, case_of_text(CLIPPED, 20), true);
    assert_int_equal(overall->verdict.kind, VERDICT_WRONG);
    assert_int_equal(overall->sample, 8);
    add(&hearing, 9, case_of_text(CLIPPED, 3), true);
    assert_int_equal(overall->verdict.kind, VERDICT_WRONG);
    assert_int_equal(overall->sample, 8);
    assert_int_equal(sample_verdicts_culprit(&hearing.verdicts), 0);
    hearing_close(&hearing);
}

static void a_fault_in_a_graph_gets_its_node(void **state)
{
    (void)state;
    struct hearing hearing;
    hearing_open(&hearing,
                 LABELS("reference:fault=concat-three", "reference", "reference:fault=concat-three"));
    add(&hearing, 0, case_of_text(JOINED, -2), true);
    const struct engine_verdict *overall = &hearing.verdicts.engine[0];
    assert_int_equal(overall->verdict.kind, VERDICT_WRONG);
    assert_int_equal(overall->n_nodes, 1);
    assert_string_equal(overall->operators[0], "Concat");
    assert_string_equal(overall->nodes[0], "c"); /* it has no name but its output's */
    assert_false(overall->fused);
    /* Two are to blame, so no single one is. */
    assert_int_equal(sample_verdicts_culprit(&hearing.verdicts), -1);
    hearing_close(&hearing);
}

/* An engine whose answer depends on the samples beside it: alone it is right, so the stack is looked at,
 * where that is given. */
static void a_fault_of_the_stack_is_settled_on_the_stack(void **state)
{
    (void)state;
    static const char text[] =
        "g (float[N,2,3] x) => (float[N,2,3] y) <float[2] s = {1.0, 2.0}, float[2] b = {0.0, 1.0}>"
        "{ n = InstanceNormalization(x, s, b) y = Neg(n) }";
    for (int stacked = 0; stacked < 2; stacked++) {
        struct hearing hearing;
        hearing_open(&hearing, LABELS("reference:fault=batch-dependent"));
        const struct panel *panel = &hearing.scene.panel;
        struct test_case *test = case_of_text(text, 1);
        struct value stack;
        struct tensor both;
        struct shape shape = shape_make(3, (int64_t[]){2, 2, 3});
        assert_int_equal(tensor_alloc(&both, DTYPE_FLOAT, &shape, 0, NULL), 0);
        for (size_t i = 0; i < both.count; i++)
            tensor_set(&both, i, i < 6 ? (long double)i + 1 : (long double)(i * i));
        value_init(&stack);
        value_set_name(&stack, "x");
        value_set_tensor(&stack, &both);
        struct test_case *both_samples = test_case_view(test_case_model(test, NULL), &stack, 1);
        struct result whole, reference;
        run(&hearing.scene, panel->engines[0], test, &stack, &whole);
        run(&hearing.scene, panel->reference, test, test->inputs, &reference);
        assert_int_equal(whole.count, 1);
        whole.outputs[0].tensors[0].shape.dims[0] = 1; /* the first sample of the answer */
        whole.outputs[0].tensors[0].count = 6;
        sample_verdicts_add(&hearing.verdicts,
                            &(struct sample_results){.test = test,
                                                     .stack = stacked ? both_samples : NULL,
                                                     .results = &whole,
                                                     .reference = &reference},
                            NULL);
        const struct engine_verdict *overall = &hearing.verdicts.engine[0];
        assert_int_equal(overall->verdict.kind, VERDICT_WRONG);
        assert_int_equal(strstr(overall->detail, "run again, it was right") == NULL, stacked);
        assert_int_equal(overall->n_nodes, stacked);
        if (stacked)
            assert_string_equal(overall->operators[0], "InstanceNormalization");
        result_release(&whole);
        result_release(&reference);
        test_case_free(both_samples);
        value_release(&stack);
        test_case_free(test);
        hearing_close(&hearing);
    }
}

static void without_the_reference_the_engines_vote(void **state)
{
    (void)state;
    struct hearing hearing;
    hearing_open(&hearing, LABELS("reference", "reference:fault=concat-three", "reference"));
    add(&hearing, 0, case_of_text(JOINED, -2), false);
    assert_int_equal(hearing.verdicts.samples, 1);
    assert_int_equal(hearing.verdicts.by_reference, 0);
    assert_non_null(hearing.verdicts.reason);
    for (size_t i = 0; i < 3; i++)
        assert_true(hearing.verdicts.engine[i].verdict.by_vote);
    /* Nobody is called wrong by a vote. */
    assert_int_equal(hearing.verdicts.engine[1].verdict.kind, VERDICT_SUSPECT);
    assert_int_equal(hearing.verdicts.engine[0].verdict.kind, VERDICT_AGREES);
    assert_int_equal(sample_verdicts_culprit(&hearing.verdicts), -1);
    hearing_close(&hearing);
}

static void who_was_not_heard_is_trouble(void **state)
{
    (void)state;
    struct standing standing;
    struct hearing hearing;
    hearing_open(&hearing, LABELS("bad:mode=lack-load", "absent", "identity"));
    assert_int_equal(status_of(&hearing.verdicts.engine[2], &standing), STATUS_TROUBLE);
    assert_string_equal(standing.reason, "it gave no answer: it was not asked");
    for (size_t i = 0; i < 2; i++)
        add(&hearing, i, case_of_text(COPIED, 1), true);
    assert_int_equal(hearing.verdicts.engine[0].heard[HEARD_LACK], 2);
    assert_int_equal(status_of(&hearing.verdicts.engine[0], &standing), STATUS_TROUBLE);
    assert_non_null(strstr(standing.reason, "does not support it"));
    assert_non_null(strstr(standing.reason, "on 2 of 2 samples"));
    assert_non_null(strstr(standing.reason, "have no such operator"));
    assert_int_equal(hearing.verdicts.engine[1].heard[HEARD_NOTHING], 2);
    assert_int_equal(status_of(&hearing.verdicts.engine[1], &standing), STATUS_TROUBLE);
    assert_int_equal(status_of(&hearing.verdicts.engine[2], &standing), STATUS_AGREE);
    hearing_close(&hearing);
}

/* What is decided about a refusal to load stands for all samples; a refusal to run is decided anew. */
static void a_refusal_to_load_is_decided_once(void **state)
{
    (void)state;
    struct hearing hearing;
    hearing_open(&hearing, LABELS("bad:mode=reject-load", "bad:mode=negative"));
    const struct load_refusal *loads = &hearing.verdicts.engine[0].refused;
    add(&hearing, 0, case_of_text(CLIPPED, 1), true);
    assert_non_null(loads->message);
    assert_int_equal(loads->decided.kind, hearing.verdicts.engine[0].verdict.kind);
    const char *first = loads->message;
    add(&hearing, 1, case_of_text(CLIPPED, 1), true);
    assert_ptr_equal(loads->message, first);
    assert_null(hearing.verdicts.engine[1].refused.message);
    hearing_close(&hearing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_is_kept_first_of_its_kind_and_counts_add_up),
        cmocka_unit_test(a_finding_takes_the_place_of_agreement),
        cmocka_unit_test(a_fault_in_a_graph_gets_its_node),
        cmocka_unit_test(a_fault_of_the_stack_is_settled_on_the_stack),
        cmocka_unit_test(without_the_reference_the_engines_vote),
        cmocka_unit_test(who_was_not_heard_is_trouble),
        cmocka_unit_test(a_refusal_to_load_is_decided_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
