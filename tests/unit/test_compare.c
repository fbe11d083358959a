#include "scene.h"

#include "compare/compare.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Both may be run in stacks. */
#define CONVOLVED                                                                          \
    "g (float[N,1,4,4] x) => (float[N,1,3,3] y) <float[1,1,2,2] w = {1.0, 2.0, 3.0, 4.0}>" \
    "{ c = Conv(x, w) y = Neg(c) }"
#define ROWS "g (float[N,5] x) => (float[N,5] y) { y = Identity(x) }"

/* A model with samples for it. */
struct data {
    struct model *model;
    struct inputs inputs;
};

static void data_open(struct data *data, const char *text, size_t samples)
{
    struct error err = {0};
    data->model = model_of_text(text);
    if (inputs_random(&data->inputs, data->model, samples, 1, NULL, 0, &err))
        fail_msg("%s", err.message);
}

static void data_close(struct data *data)
{
    inputs_release(&data->inputs);
    model_free(data->model);
}

static int compare_data(struct compare *compare, const struct data *data, const struct panel *panel,
                        const struct compare_options *options, struct error *err)
{
    struct compare_options all = *options;
    all.thresholds = metrics_cradle;
    all.tolerance = metrics_conformance;
    return compare_run(compare, "model.onnx", data->model, &data->inputs, panel, &all, err);
}

static void compare_well(struct compare *compare, const struct data *data, const struct panel *panel,
                         const struct compare_options *options)
{
    struct error err = {0};
    if (compare_data(compare, data, panel, options, &err))
        fail_msg("%s", err.message);
}

static enum verdict_kind verdict_on(const struct compare *compare, size_t engine)
{
    return compare->verdicts.engine[engine].verdict.kind;
}

static void each_pair_is_compared_on_every_sample(void **state)
{
    (void)state;
    enum { SAMPLES = 7 };
    struct scene scene;
    struct data data;
    struct compare compare;
    scene_open(&scene, LABELS("reference", "reference:fault=conv-rotated", "reference"));
    data_open(&data, CONVOLVED, SAMPLES);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){.batch = 1});
    static const size_t pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    assert_int_equal(compare.pairs, 3);
    assert_int_equal(compare.samples, SAMPLES);
    for (size_t i = 0; i < 3; i++) {
        const struct compare_pair *pair = &compare.pair[i];
        bool apart = i != 1;
        assert_int_equal(pair->a, pairs[i][0]);
        assert_int_equal(pair->b, pairs[i][1]);
        assert_int_equal(pair->compared, SAMPLES);
        assert_int_equal(pair->mismatched + pair->one_sided, 0);
        assert_int_equal(pair->beyond, apart ? SAMPLES : 0);
        assert_int_equal(pair->differs, apart);
        assert_int_equal(pair->max_abs > 0, apart);
        assert_true(!apart || fabs(pair->worst_a - pair->worst_b) == pair->max_abs);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(compare.engine[i].outcomes[OUTCOME_OK], SAMPLES);
        assert_int_equal(compare.engine[i].outputs[0].elements, SAMPLES * 9);
        assert_int_equal(verdict_on(&compare, i), i == 1 ? VERDICT_WRONG : VERDICT_AGREES);
    }
    assert_int_equal(compare.judged_spread, SAMPLES);
    assert_int_equal(sample_verdicts_culprit(&compare.verdicts), 1);
    assert_string_equal(compare.verdicts.engine[1].operators[0], "Conv");
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

static void assert_same_pair(const struct compare_pair *a, const struct compare_pair *b)
{
    assert_int_equal(a->compared, b->compared);
    assert_int_equal(a->beyond, b->beyond);
    assert_int_equal(a->worst_sample, b->worst_sample);
    assert_int_equal(a->worst_element, b->worst_element);
    assert_true(a->max_abs == b->max_abs && a->max_rel == b->max_rel && a->ratio == b->ratio);
    assert_true(a->worst_a == b->worst_a && a->worst_b == b->worst_b);
}

static void stacks_give_what_single_samples_give(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare alone, stacked;
    scene_open(&scene, LABELS("reference", "reference:fault=conv-rotated"));
    data_open(&data, CONVOLVED, 11);
    compare_well(&alone, &data, &scene.panel, &(struct compare_options){.batch = 1});
    compare_well(&stacked, &data, &scene.panel, &(struct compare_options){.batch = 4, .together = 2});
    assert_int_equal(alone.batch, 1);
    assert_int_equal(stacked.batch, 4);
    assert_null(stacked.batch_why);
    assert_same_pair(&alone.pair[0], &stacked.pair[0]);
    for (size_t i = 0; i < 2; i++) {
        const struct compare_output *a = &alone.engine[i].outputs[0], *b = &stacked.engine[i].outputs[0];
        assert_int_equal(stacked.engine[i].outcomes[OUTCOME_OK], 11);
        assert_int_equal(stacked.engine[i].alone, 0);
        assert_true(shape_equal(&a->shape, &b->shape));
        assert_int_equal(a->elements, b->elements);
        assert_true(a->min == b->min && a->max == b->max);
        for (int k = 0; k < VERDICT_COUNT; k++)
            assert_int_equal(alone.verdicts.engine[i].counts[k], stacked.verdicts.engine[i].counts[k]);
    }
    compare_release(&alone);
    compare_release(&stacked);
    data_close(&data);
    scene_close(&scene);
}

static void an_engine_that_fails_on_a_stack_is_asked_for_each_sample(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare compare;
    scene_open(&scene, LABELS("reference", "bad:mode=single"));
    data_open(&data, ROWS, 10);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){.batch = 4, .together = 1});
    assert_int_equal(compare.batch, 4);
    assert_int_equal(compare.engine[0].alone, 0);
    assert_null(compare.engine[0].stack);
    assert_int_equal(compare.engine[1].alone, 10);
    assert_string_equal(compare.engine[1].stack, "4 samples: failed: one sample at a time");
    assert_int_equal(compare.engine[1].outcomes[OUTCOME_OK], 10);
    assert_int_equal(compare.pair[0].compared, 10);
    assert_false(compare.pair[0].differs);
    assert_int_equal(verdict_on(&compare, 1), VERDICT_AGREES);
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

static void samples_that_mix_are_not_stacked(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare compare;
    scene_open(&scene, LABELS("reference"));
    data_open(
        &data,
        "g (float[N,3] x) => (float[N,3] y) { m = ReduceMax<axes = [0], keepdims = 1>(x) y = Sub(x, m) }", 4);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){0});
    assert_int_equal(compare.batch, 1);
    assert_non_null(compare.batch_why);
    assert_int_equal(verdict_on(&compare, 0), VERDICT_AGREES);
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

/* The same label with a command that is the bad adapter, or none at all. */
static void open_subject(struct scene *scene, const char *command)
{
    struct error err = {0};
    char *file = file_join(scene->folder, "engines.ini"), text[200];
    int length = snprintf(text, sizeof text, "[subject]\ncommand = %s\n", command);
    assert_int_equal(file_write(file, text, (size_t)length, &err), 0);
    panel_close(&scene->panel);
    registry_free(scene->registry);
    if (registry_open(&scene->registry, (const char *[]){file}, 1, &err) ||
        panel_open(&scene->panel, scene->registry,
                   given_all_typed(registry_arena(scene->registry), LABELS("subject", "identity")), NULL,
                   &err) ||
        panel_add_reference(&scene->panel, scene->registry, &err))
        fail_msg("%s", err.message);
    free(file);
}

/* An engine that is gone meanwhile still has its answers; one that is added is run. */
static void kept_answers_are_not_run_again(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare compare;
    scene_open(&scene, LABELS("identity"));
    data_open(&data, ROWS, 9);
    char *keep = file_join(scene.folder, "answers");
    struct compare_options options = {.batch = 4, .keep = keep};
    open_subject(&scene, "{libexec}/../tests/adapters/assay-engine-bad");
    scene.panel.count = 1;
    compare_well(&compare, &data, &scene.panel, &options);
    assert_int_equal(compare.engine[0].kept, 0);
    assert_int_equal(compare.engine[0].outcomes[OUTCOME_OK], 9);
    compare_release(&compare);
    open_subject(&scene, "/no-such-program");
    compare_well(&compare, &data, &scene.panel, &options);
    assert_int_equal(compare.engine[0].kept, 9);
    assert_int_equal(compare.engine[0].outcomes[OUTCOME_OK], 9);
    assert_int_equal(compare.engine[1].kept, 0);
    assert_int_equal(compare.engine[1].outcomes[OUTCOME_OK], 9);
    assert_int_equal(compare.pair[0].compared, 9);
    compare_release(&compare);
    /* In other stacks the inputs of a run are others. */
    options.batch = 3;
    compare_well(&compare, &data, &scene.panel, &options);
    assert_int_equal(compare.engine[0].kept, 0);
    assert_int_equal(compare.engine[0].outcomes[OUTCOME_NO_ENGINE], 9);
    compare_release(&compare);
    free(keep);
    data_close(&data);
    scene_close(&scene);
}

/* The engine dies on samples whose first element is negative. */
static void a_crash_is_recorded_and_never_fatal(void **state)
{
    (void)state;
    enum { SAMPLES = 30 };
    struct scene scene;
    struct data data;
    struct compare compare;
    size_t negative = 0, first = SAMPLES;
    scene_open(&scene, LABELS("reference", "bad:mode=negative", "absent"));
    data_open(&data, COPIED, SAMPLES);
    for (size_t i = SAMPLES; i-- > 0;) {
        struct value *values;
        assert_int_equal(inputs_get(&data.inputs, i, &values, NULL), 0);
        /* The adapter looks at whole numbers. */
        bool dies = tensor_get(&values[0].tensors[0], 0) <= -1;
        negative += dies;
        first = dies ? i : first;
        values_free(values, 1);
    }
    assert_in_range(negative, 1, SAMPLES - 1);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){0});
    const struct compare_engine *engine = &compare.engine[1];
    assert_int_equal(engine->outcomes[OUTCOME_CRASH], negative);
    assert_int_equal(engine->outcomes[OUTCOME_OK], SAMPLES - negative);
    assert_int_equal(engine->worst, OUTCOME_CRASH);
    assert_int_equal(engine->worst_sample, first);
    assert_int_equal(engine->stage, STAGE_RUN);
    assert_int_equal(compare.pair[0].one_sided, negative);
    assert_int_equal(compare.pair[0].compared, SAMPLES - negative);
    assert_true(compare.pair[0].differs);
    /* Who is not there is no evidence against anybody. */
    assert_int_equal(compare.engine[2].outcomes[OUTCOME_NO_ENGINE], SAMPLES);
    assert_int_equal(compare.pair[1].one_sided, 0);
    assert_false(compare.pair[1].differs);
    assert_int_equal(verdict_on(&compare, 1), VERDICT_CRASH);
    assert_int_equal(compare.verdicts.engine[1].sample, first);
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

/* The label is the top class of the right answer; engines that give their input back put it last. */
static void labels_make_classes_and_equal_patterns_are_one(void **state)
{
    (void)state;
    enum { SAMPLES = 8 };
    struct scene scene;
    struct data data;
    struct compare compare;
    struct compare_unique uniques[3];
    struct str labels;
    str_init(&labels);
    scene_open(&scene, LABELS("reference", "identity", "bad"));
    data_open(&data, "g (float[N,5] x) => (float[N,5] y) { y = Neg(x) }", SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++) {
        struct value *values;
        size_t least = 0;
        assert_int_equal(inputs_get(&data.inputs, i, &values, NULL), 0);
        for (size_t k = 1; k < 5; k++)
            if (tensor_get(&values[0].tensors[0], k) < tensor_get(&values[0].tensors[0], least))
                least = k;
        str_printf(&labels, "%zu\n", least);
        values_free(values, 1);
    }
    char *path = file_join(scene.folder, "labels.txt");
    assert_int_equal(file_write(path, labels.data, labels.length, NULL), 0);
    assert_int_equal(inputs_labels(&data.inputs, path, NULL), 0);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){0});
    assert_int_equal(compare.truth, TRUTH_CLASSES);
    assert_int_equal(compare.engine[0].top1, SAMPLES);
    assert_int_equal(compare.engine[1].top1, 0);
    assert_int_equal(compare.engine[1].topk, SAMPLES); /* of five classes */
    for (size_t i = 0; i < 3; i++) {
        const struct compare_pair *pair = &compare.pair[i];
        assert_int_equal(pair->class_inconsistent, i != 2);
        assert_int_equal(pair->class.triggering, i != 2 ? SAMPLES : 0);
        assert_int_equal(pair->class_pattern, i != 2);
    }
    assert_true(compare.pair[0].class.largest == 15); /* first against fifth: 16 - 1 */
    assert_int_equal(compare_uniques(&compare, uniques), 1);
    assert_int_equal(uniques[0].pairs, 2);
    assert_int_equal(uniques[0].first, 0);
    assert_false(uniques[0].mad);
    compare_release(&compare);
    free(path);
    str_release(&labels);
    data_close(&data);
    scene_close(&scene);
}

/* The engine is wrong on the few samples that have an element to be clipped: the judge hears of 250 samples
 * the first, and those on which the engines are farthest apart. */
static void the_judge_hears_some_of_many_and_the_worst(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare compare;
    scene_open(&scene, LABELS("reference", "identity"));
    data_open(&data,
              "g (float[N,5] x) => (float[N,5] y) <float low = {-2.5}, float high = {2.5}>"
              "{ y = Clip(x, low, high) }",
              250);
    compare_well(&compare, &data, &scene.panel, &(struct compare_options){.judge = 1});
    assert_int_equal(compare.judged_spread, 1);
    assert_in_range(compare.judged_worst, 1, 5);
    assert_int_equal(compare.verdicts.samples, 1 + compare.judged_worst);
    assert_in_range(compare.pair[0].beyond, 1, 40);
    assert_int_not_equal(compare.pair[0].worst_sample, 0);
    assert_int_equal(verdict_on(&compare, 1), VERDICT_WRONG);
    assert_int_equal(compare.verdicts.engine[1].sample, compare.pair[0].worst_sample);
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

/* An index beyond the end is the samples' fault: nobody is blamed. */
static void a_sample_that_is_not_valid_ends_the_comparison(void **state)
{
    (void)state;
    struct scene scene;
    struct data data;
    struct compare compare;
    struct error err = {0};
    scene_open(&scene, LABELS("identity"));
    /* Random indices are such as Gather allows, where it is seen that they are indices. */
    data_open(&data,
              "g (int64[4] i) => (float[4] y) <float[2] d = {1.0, 2.0}> { s = Mul(i, i) y = Gather(d, s) }",
              5);
    assert_int_equal(compare_data(&compare, &data, &scene.panel, &(struct compare_options){0}, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(sample_verdicts_culprit(&compare.verdicts), -1);
    compare_release(&compare);
    data_close(&data);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_is_compared_on_every_sample),
        cmocka_unit_test(stacks_give_what_single_samples_give),
        cmocka_unit_test(an_engine_that_fails_on_a_stack_is_asked_for_each_sample),
        cmocka_unit_test(samples_that_mix_are_not_stacked),
        cmocka_unit_test(kept_answers_are_not_run_again),
        cmocka_unit_test(a_crash_is_recorded_and_never_fatal),
        cmocka_unit_test(labels_make_classes_and_equal_patterns_are_one),
        cmocka_unit_test(the_judge_hears_some_of_many_and_the_worst),
        cmocka_unit_test(a_sample_that_is_not_valid_ends_the_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
