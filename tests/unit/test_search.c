#include "scene.h"

#include "campaign/follow_up.h"
#include "campaign/kept_case.h"
#include "campaign/search_source.h"
#include "campaign/fuzz.h"

#include <stdio.h>

/* Three classes of four numbers; the rows of a batch do not influence each other. */
#define CLASSES                                                                         \
    "g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,0,0, 0,1,0, 0,0,1, 1,1,1}> " \
    "{ s = MatMul(x, w) y = Softmax(s) }"

static const char overflowing[] = "reference:fault=softmax-no-max";

struct seeded {
    struct model *model;
    struct inputs inputs;
    struct search_seed seed;
};

static void open_seed(struct seeded *seeded, const char *text)
{
    struct error err = {0};
    *seeded = (struct seeded){.model = model_of_text(text)};
    if (inputs_random(&seeded->inputs, seeded->model, 4, 1, NULL, 0, &err))
        fail_msg("%s", err.message);
    seeded->seed = (struct search_seed){"some/classes.onnx", seeded->model, &seeded->inputs};
}

static void close_seed(struct seeded *seeded)
{
    inputs_release(&seeded->inputs);
    model_free(seeded->model);
}

static struct genome_layout *layout_of(const struct seeded *seeded, enum genome_level level)
{
    struct genome_layout *layout;
    struct error err = {0};
    struct genome_options options = {.level = level, .most_seeds = 3, .data_limits = true};
    if (genome_layout_new(&layout, seeded->model, &seeded->inputs, &options, &err))
        fail_msg("%s", err.message);
    return layout;
}

/* The case of a seed is the sample that it was made of. */
static void a_genome_becomes_a_case(void **state)
{
    static const size_t lengths[] = {[GENOME_INPUTS] = 4, [GENOME_WEIGHTS] = 12, [GENOME_BOTH] = 16};
    static const enum genome_level levels[] = {GENOME_INPUTS, GENOME_WEIGHTS, GENOME_BOTH};
    struct seeded seeded;
    struct error err = {0};
    (void)state;
    open_seed(&seeded, CLASSES);
    for (size_t i = 0; i < 3; i++) {
        struct genome_layout *layout = layout_of(&seeded, levels[i]);
        struct test_case *test;
        struct value *sample;
        assert_int_equal(genome_length(layout), lengths[levels[i]]);
        assert_int_equal(genome_seeds(layout), levels[i] == GENOME_WEIGHTS ? 1 : 3);
        size_t last = genome_seeds(layout) - 1;
        if (genome_case(layout, genome_seed(layout)[last], &test, &err) ||
            inputs_get(&seeded.inputs, last, &sample, &err))
            fail_msg("%s", err.message);
        assert_true(tensor_identical(&test->inputs[0].tensors[0], &sample[0].tensors[0]));
        struct tensor before, after;
        assert_int_equal(model_weight(seeded.model, 0, &before, &err), 0);
        assert_int_equal(model_weight(test_case_model(test, &err), 0, &after, &err), 0);
        assert_true(tensor_identical(&before, &after));
        tensor_release(&before);
        tensor_release(&after);
        values_free(sample, seeded.inputs.count);
        test_case_free(test);
        genome_layout_free(layout);
    }
    close_seed(&seeded);
}

static void a_changed_weight_is_in_the_model(void **state)
{
    struct seeded seeded;
    struct error err = {0};
    struct test_case *test;
    struct tensor weight;
    float genes[12] = {0};
    (void)state;
    open_seed(&seeded, CLASSES);
    struct genome_layout *layout = layout_of(&seeded, GENOME_WEIGHTS);
    genes[5] = 7;
    assert_int_equal(genome_case(layout, genes, &test, &err), 0);
    assert_int_equal(model_weight(test_case_model(test, &err), 0, &weight, &err), 0);
    for (size_t i = 0; i < 12; i++)
        assert_float_equal((double)tensor_get(&weight, i), i == 5 ? 7 : 0, 0);
    tensor_release(&weight);
    test_case_free(test);
    genome_layout_free(layout);
    close_seed(&seeded);
}

static void genomes_are_stacked(void **state)
{
    struct seeded seeded;
    struct error err = {0};
    struct test_case *stack;
    (void)state;
    open_seed(&seeded, CLASSES);
    struct genome_layout *layout = layout_of(&seeded, GENOME_INPUTS);
    assert_int_equal(genome_stack(layout, 3, genome_seed(layout), &stack, &err), 0);
    const struct tensor *tensor = &stack->inputs[0].tensors[0];
    assert_int_equal(tensor->shape.dims[0], 3);
    for (size_t i = 0; i < 12; i++)
        assert_float_equal((double)tensor_get(tensor, i), (double)genome_seed(layout)[i / 4][i % 4], 0);
    test_case_free(stack);
    genome_layout_free(layout);
    close_seed(&seeded);
}

/* How a search is run, besides its engines and its model. */
struct plan {
    const char *folder;
    enum search_goal goal;
    enum genome_level level;
    uint64_t count, seed;
    bool until_reached, reduce, network;
};

static int run_plan(const struct scene *scene, const struct seeded *seeded, const struct plan *plan,
                    struct fuzz_status *status, struct error *err)
{
    char *folder = file_join(scene->folder, plan->folder);
    struct search_source_options search = {
        .seed = plan->seed,
        .goal = plan->goal,
        .level = plan->level,
        .network = plan->network,
        .limits = SEARCH_LIMITS_TYPE,
        .population = 12,
        .n_models = 1,
        .models = &seeded->seed,
        .until_reached = plan->until_reached,
    };
    struct fuzz_options options = {
        .panel = &scene->panel,
        .folder = folder,
        .search = &search,
        .count = plan->count,
        .registry = scene->registry,
        .no_known = true,
        .reduce = plan->reduce,
    };
    int result = fuzz_run(&options, status, err);
    status->folder = NULL;
    free(folder);
    return result;
}

static struct fuzz_status run_well(const struct scene *scene, const struct seeded *seeded,
                                   const struct plan *plan)
{
    struct fuzz_status status;
    struct error err = {0};
    if (run_plan(scene, seeded, plan, &status, &err))
        fail_msg("%s", err.message);
    return status;
}

struct seen {
    size_t count;
    char kind[20], recipe[200], name[100];
    enum finding_state state;
};

static int see(void *context, const struct stored *stored, struct error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->count++;
    snprintf(seen->kind, sizeof seen->kind, "%s", stored->kind);
    snprintf(seen->recipe, sizeof seen->recipe, "%s", stored->recipe);
    seen->state = stored->state;
    return 0;
}

static struct seen findings_in(const struct scene *scene, const char *name)
{
    struct seen seen = {0};
    struct error err = {0};
    struct store *store;
    char *folder = file_join(scene->folder, name);
    if (store_open(&store, folder, STORE_READ, &err) ||
        store_list(store, &(struct store_filter){0}, see, &seen, &err))
        fail_msg("%s", err.message);
    store_close(store);
    free(folder);
    return seen;
}

/* A Softmax that overflows is found on every level, reduced and bundled; its case is kept. */
static void a_search_finds_an_overflow(void **state)
{
    static const enum genome_level levels[] = {GENOME_INPUTS, GENOME_WEIGHTS, GENOME_BOTH};
    struct scene scene;
    struct seeded seeded;
    (void)state;
    scene_open(&scene, LABELS("reference", overflowing));
    open_seed(&seeded, CLASSES);
    for (size_t i = 0; i < 3; i++) {
        char folder[] = "nan0";
        folder[3] = (char)('0' + i);
        struct fuzz_status status = run_well(&scene, &seeded,
                                             &(struct plan){.folder = folder,
                                                            .goal = SEARCH_NAN,
                                                            .level = levels[i],
                                                            .count = 3000,
                                                            .seed = 5,
                                                            .until_reached = true,
                                                            .reduce = true});
        assert_int_equal(status.n_searched, 1);
        assert_string_equal(status.searched[0].model, "classes");
        assert_true(status.searched[0].reached && status.searched[0].findings > 0);
        assert_int_equal(status.engines[0].findings, 0);
        assert_int_equal(status.engines[1].findings, 1);
        fuzz_status_release(&status);
        struct seen seen = findings_in(&scene, folder);
        assert_int_equal(seen.count, 1);
        assert_string_equal(seen.kind, "nan");
        assert_true(text_starts(seen.recipe, "case cases/classes-"));
        assert_int_equal(seen.state, STATE_BUNDLED);
        struct test_case *again;
        struct error err = {0};
        char *path = file_join(scene.folder, folder);
        struct folder campaign;
        if (folder_open(&campaign, USERS_PATH, path, &err) ||
            campaign_case(&campaign, seen.recipe, &again, &err))
            fail_msg("%s", err.message);
        folder_close(&campaign);
        test_case_free(again);
        free(path);
    }
    close_seed(&seeded);
    scene_close(&scene);
}

/* What is no fault of an engine is none of a search, however hard it tries. */
static void a_healthy_engine_has_no_findings(void **state)
{
    static const enum search_goal goals[] = {SEARCH_INCONSISTENCY, SEARCH_NAN, SEARCH_BOUND};
    struct scene scene;
    struct seeded seeded;
    (void)state;
    scene_open(&scene, LABELS("reference", "reference"));
    open_seed(&seeded, CLASSES);
    for (size_t i = 0; i < 3; i++) {
        char folder[] = "well0";
        folder[4] = (char)('0' + i);
        struct fuzz_status status =
            run_well(&scene, &seeded,
                     &(struct plan){
                         .folder = folder, .goal = goals[i], .level = GENOME_BOTH, .count = 150, .seed = 1});
        assert_true(status.cases >= 150);
        assert_int_equal(status.findings, 0);
        assert_int_equal(status.searched[0].findings, 0);
        /* Only what the reference was asked about counts as right. */
        uint64_t right = status.engines[0].verdicts[VERDICT_AGREES];
        assert_true(right > 0 && (goals[i] != SEARCH_INCONSISTENCY || right < status.cases / 2));
        fuzz_status_release(&status);
    }
    close_seed(&seeded);
    scene_close(&scene);
}

/* Variants are judged like any case: an engine that is right about legal ones can only have answered one that
 * is forbidden. */
static void variants_are_judged(void **state)
{
    struct scene scene;
    struct seeded seeded;
    (void)state;
    scene_open(&scene, LABELS("reference"));
    open_seed(&seeded, CLASSES);
    struct fuzz_status status = run_well(
        &scene, &seeded, &(struct plan){.folder = "network", .network = true, .count = 24, .seed = 1});
    assert_true(status.cases >= 24 && status.searched[0].generations > 1);
    assert_int_equal(status.findings, 0); /* such an answer is listed apart */
    assert_string_equal(status.search_words.level, "network");
    fuzz_status_release(&status);
    close_seed(&seeded);
    scene_close(&scene);
}

/* A search that is resumed goes on from its last generation; one with other options is refused. */
static void a_search_is_resumed(void **state)
{
    struct scene scene;
    struct seeded seeded;
    struct error err = {0};
    struct fuzz_status status;
    struct plan plan = {.folder = "again", .goal = SEARCH_BOUND, .level = GENOME_INPUTS, .seed = 2};
    (void)state;
    scene_open(&scene, LABELS("reference"));
    open_seed(&seeded, CLASSES);
    plan.count = 60;
    status = run_well(&scene, &seeded, &plan);
    uint64_t generations = status.searched[0].generations, genomes = status.searched[0].genomes;
    double best = status.searched[0].best;
    assert_true(generations > 3 && genomes >= 60);
    fuzz_status_release(&status);
    plan.count = 120;
    status = run_well(&scene, &seeded, &plan);
    assert_true(status.searched[0].generations > generations && status.cases >= 120);
    assert_true(status.session_cases < status.cases);
    assert_true(status.searched[0].best >= best);
    fuzz_status_release(&status);
    plan.goal = SEARCH_NAN;
    assert_int_equal(run_plan(&scene, &seeded, &plan, &status, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    fuzz_status_release(&status);
    close_seed(&seeded);
    scene_close(&scene);
}

/* What a search has learnt outlives an interruption: it breeds the same genomes as one that goes through. */
static void an_interruption_changes_nothing(void **state)
{
    struct scene scene;
    struct seeded seeded;
    struct fuzz_status whole, parts;
    struct plan plan = {.folder = "whole", .level = GENOME_INPUTS, .count = 120, .seed = 3};
    (void)state;
    scene_open(&scene, LABELS("reference", "reference:round=on"));
    open_seed(&seeded, CLASSES);
    whole = run_well(&scene, &seeded, &plan);
    plan.folder = "parts";
    for (plan.count = 30; plan.count < 120; plan.count += 30) {
        parts = run_well(&scene, &seeded, &plan);
        fuzz_status_release(&parts);
    }
    parts = run_well(&scene, &seeded, &plan);
    assert_int_equal(parts.searched[0].generations, whole.searched[0].generations);
    assert_int_equal(parts.searched[0].genomes, whole.searched[0].genomes);
    assert_int_equal(parts.searched[0].inconsistent, whole.searched[0].inconsistent);
    assert_true(parts.searched[0].best == whole.searched[0].best);
    fuzz_status_release(&whole);
    fuzz_status_release(&parts);
    close_seed(&seeded);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_genome_becomes_a_case),
        cmocka_unit_test(a_changed_weight_is_in_the_model),
        cmocka_unit_test(genomes_are_stacked),
        cmocka_unit_test(a_search_finds_an_overflow),
        cmocka_unit_test(a_healthy_engine_has_no_findings),
        cmocka_unit_test(a_search_is_resumed),
        cmocka_unit_test(an_interruption_changes_nothing),
        cmocka_unit_test(variants_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
