/*
 * Right answers to cases, as files, for tolerances to be tried on (bench/tolerances):
 *
 *     bench_tolerances OUT [--cases N] [--seed S] [--suite FOLDER] -e ENGINE...
 *
 * N generated cases, three quarters single operators and the rest graphs, or those of a folder in ONNX's
 * backend-test layout, go to the engines. A generated case is left out, and another drawn for it, unless some
 * engine's answer is judged right. OUT/cases gets what is kept, as such a folder: the expected outputs of a
 * generated case are the reference's, of every second one those that the first engine with a right answer
 * gave, of a folder's its own. OUT/answers/CASE gets, for each output K that is a tensor of numbers,
 * expected.K.npy, judged.K.npy (false where no bound is finite), LABEL.K.npy of each engine whose answer is
 * right, and low.K.npy and high.K.npy: the ends of the reference's hard bounds, which a right engine may give
 * as well. Types that NumPy lacks are written as float32, int8 or uint8. On stdout a line "output CASE K NAME
 * TYPE" for each, separated by tabs, and for each engine "engine LABEL ANSWERS RIGHT".
 */
#include "answers.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "generate/operator_case.h"
#include "tensor/npy.h"
#include "trial/trial.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 40 }; /* for each case that is kept, at most */

struct bench {
    struct panel panel;
    struct folder out, cases, answers;
    size_t wanted, drawn, kept;
    uint64_t seed;
    struct suite suite;
    const char **labels;
    size_t n_engines;
    size_t *answered, *right;
};

static int next_of_suite(struct bench *bench, struct test_case **test)
{
    if (bench->drawn == bench->suite.count)
        return 0;
    struct suite_loaded loaded = {0};
    struct error why;
    const struct suite_case *entry = &bench->suite.cases[bench->drawn++];
    *test = NULL;
    if (!suite_load(entry, &loaded, &why) && loaded.sets && !loaded.misfit) {
        *test = test_case_share(loaded.tests[0]);
        test_case_set_name(*test, entry->name);
    }
    suite_unload(&loaded);
    return 1;
}

static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct bench *bench = context;
    struct generate_options options = {0};
    *user = NULL;
    if (!bench->wanted)
        return next_of_suite(bench, test);
    if (bench->kept >= bench->wanted || bench->drawn >= bench->wanted * DRAWS)
        return 0;
    uint64_t index = bench->drawn++;
    int status = index % 4 == 3 ? generate_graph(bench->seed, index, &options, test, err)
                                : generate_one(bench->seed, index, &options, test, err);
    return status ? -1 : 1;
}

/* The type in which NumPy can have it. */
static enum dtype plain_type(enum dtype type)
{
    if (dtype_in(type, DTYPES_NARROW_FLOAT | DTYPE_BIT(DTYPE_BFLOAT16)))
        return DTYPE_FLOAT;
    if (dtype_in(type, DTYPE_BIT(DTYPE_INT4) | DTYPE_BIT(DTYPE_INT2)))
        return DTYPE_INT8;
    return dtype_in(type, DTYPES_PACKED) ? DTYPE_UINT8 : type;
}

static int write_array(const struct folder *in, const char *who, size_t output, const struct tensor *tensor,
                       struct error *err)
{
    struct tensor plain;
    char name[200];
    snprintf(name, sizeof name, "%s.%zu.npy", who, output);
    if (tensor_alloc(&plain, plain_type(tensor->type), &tensor->shape, 0, err))
        return -1;
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(&plain, i, tensor_get(tensor, i));
    int status = npy_write(in, name, &plain, err);
    tensor_release(&plain);
    return status;
}

/* The number within the bound that is farthest to that side; the bound has a share for the rounding of the
 * reference, which is no other engine's. */
static long double end_of(const struct bounded *b, size_t i, int side)
{
    long double value = b->value[i], hard = bounded_hard(b, i);
    if (!isfinite(hard) || !isfinite(value))
        return value;
    if (!dtype_is_float(b->type))
        return fminl(fmaxl(side < 0 ? ceill(value - hard) : floorl(value + hard), dtype_lowest(b->type)),
                     dtype_highest(b->type));
    hard /= 1 + bounded_reference_share(b->type);
    struct dtype_precision p = dtype_precision(b->type);
    long double step = fmaxl(p.unit * (fabsl(value) + hard), p.smallest / 2);
    for (int steps = 0; steps < 4; steps++) {
        long double end = dtype_round(b->type, value + side * (hard - steps * step));
        if (fabsl(end - value) <= hard)
            return end;
    }
    return dtype_round(b->type, value);
}

static int write_bounds(const struct folder *in, size_t output, const struct bounded *b, struct error *err)
{
    struct tensor judged, end;
    if (tensor_alloc(&judged, DTYPE_BOOL, &b->shape, 0, err))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        tensor_set(&judged, i, isfinite(bounded_hard(b, i)));
    int status = write_array(in, "judged", output, &judged, err);
    tensor_release(&judged);
    for (int side = -1; side <= 1 && !status; side += 2) {
        if (tensor_alloc(&end, b->type, &b->shape, 0, err))
            return -1;
        for (size_t i = 0; i < b->count; i++)
            tensor_set(&end, i, end_of(b, i, side));
        status = write_array(in, side < 0 ? "low" : "high", output, &end, err);
        tensor_release(&end);
    }
    return status;
}

static bool is_right(const struct trial_done *done, size_t engine)
{
    return done->results[engine].outcome == OUTCOME_OK &&
           done->judgement.verdicts[engine].kind == VERDICT_AGREES;
}

/* Whether it is a tensor of numbers like the reference's. */
static bool is_alike(const struct value *value, const struct bounded *b)
{
    return value->kind == VALUE_TENSOR && value->tensors->type == b->type &&
           shape_equal(&value->tensors->shape, &b->shape);
}

static bool has_numbers(const struct bounded *b)
{
    return b->kind == BOUNDED_TENSOR && dtype_is_real(b->type) && b->value;
}

/* The outputs that a generated case expects. */
static int set_expected(struct test_case *test, const struct answers *answers, const struct result *recorded,
                        struct error *err)
{
    const struct model *model = test_case_model(test, err);
    test->outputs = memory_zeroed(answers->count + 1, sizeof *test->outputs);
    for (size_t i = 0; i < answers->count; i++, test->n_outputs++) {
        const struct bounded *b = &answers->values[i];
        struct value *value = &test->outputs[i];
        struct tensor tensor;
        value_init(value);
        if (recorded && i < recorded->count && is_alike(&recorded->outputs[i], b)) {
            if (value_copy(value, &recorded->outputs[i], err))
                return -1;
        } else if (b->kind == BOUNDED_TENSOR) {
            if (bounded_to_tensor(b, &tensor, err))
                return -1;
            value_set_tensor(value, &tensor);
        }
        value_set_name(value, model->graph->output[i]->name);
    }
    return 0;
}

static int write_answers(struct bench *bench, const char *name, const struct trial_done *done,
                         const struct answers *answers, struct error *err)
{
    struct folder folder = {0};
    const struct model *model = test_case_model(done->test, err);
    int status = folder_make(&folder, &bench->answers, name, err);
    for (size_t k = 0; k < answers->count && k < done->test->n_outputs && !status; k++) {
        const struct bounded *b = &answers->values[k];
        if (!has_numbers(b) || !is_alike(&done->test->outputs[k], b))
            continue;
        printf("output\t%s\t%zu\t%s\t%s\n", name, k, model->graph->output[k]->name, dtype_name(b->type));
        status = write_array(&folder, "expected", k, done->test->outputs[k].tensors, err);
        if (!status)
            status = write_bounds(&folder, k, b, err);
        for (size_t i = 0; i < bench->n_engines && !status; i++)
            if (is_right(done, i) && k < done->results[i].count && is_alike(&done->results[i].outputs[k], b))
                status = write_array(&folder, bench->labels[i], k, done->results[i].outputs[k].tensors, err);
    }
    folder_close(&folder);
    return status;
}

static int keep(struct bench *bench, struct trial_done *done, const struct result *first, struct error *err)
{
    struct answers answers;
    struct evaluate_options loose = {.loose = true, .containers = true}, strict = {.containers = true};
    char name[64];
    const char *own = done->test->name;
    struct error why = {0};
    const struct model *model = test_case_model(done->test, err);
    if (!model)
        return -1;
    if (answers_compute(&answers, model, done->test, model->graph->n_node > 1 ? &loose : &strict, NULL, 0,
                        &why)) {
        answers_release(&answers);
        if (answers_compute(&answers, model, done->test, &strict, NULL, 0, &why)) {
            answers_release(&answers);
            return 0;
        }
    }
    int status = 0;
    snprintf(name, sizeof name, "generated_%04zu", bench->kept);
    if (bench->wanted) {
        status = set_expected(done->test, &answers, bench->kept % 2 ? first : NULL, err);
        test_case_set_name(done->test, name);
        own = name;
    }
    struct folder folder = {0};
    if (!status)
        status = folder_make(&folder, &bench->cases, own, err);
    if (!status)
        status = suite_write(&folder, done->test, err);
    folder_close(&folder);
    if (!status)
        status = write_answers(bench, own, done, &answers, err);
    bench->kept += !status;
    answers_release(&answers);
    return status;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct bench *bench = context;
    const struct result *first = NULL;
    int status = 0;
    for (size_t i = 0; i < bench->n_engines; i++) {
        bench->answered[i] += done->results[i].outcome == OUTCOME_OK;
        bench->right[i] += is_right(done, i);
        if (!first && is_right(done, i))
            first = &done->results[i];
    }
    if (done->reference.outcome == OUTCOME_OK && !done->test->random &&
        (!bench->wanted || (first && bench->kept < bench->wanted)))
        status = keep(bench, done, first, err);
    trial_done_release(done);
    return status;
}

static int read_options(struct bench *bench, int argc, char **argv, struct error *err)
{
    static const struct option known[] = {
        {"cases", 1, NULL, 'c'}, {"seed", 1, NULL, 's'}, {"suite", 1, NULL, 'S'}, {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "e:", known, NULL)) != -1)
        if (c == 'c')
            bench->wanted = strtoull(optarg, NULL, 10);
        else if (c == 's')
            bench->seed = strtoull(optarg, NULL, 10);
        else if (c == 'S' && suite_open(&bench->suite, (const char *const *)&optarg, 1, NULL, err))
            return -1;
        else if (c == 'e')
            bench->labels[bench->n_engines++] = optarg;
        else if (c == '?')
            return error_set(err, ERROR_USAGE, "usage: see the head of bench/programs/tolerances.c");
    if (optind + 1 != argc || !bench->n_engines || !bench->wanted == !bench->suite.count)
        return error_set(err, ERROR_USAGE, "give a folder, engines, and --cases or --suite");
    if (folder_make(&bench->out, USERS_PATH, argv[optind], err) ||
        folder_make(&bench->cases, &bench->out, "cases", err))
        return -1;
    return folder_make(&bench->answers, &bench->out, "answers", err);
}

static int run(struct bench *bench, struct registry *registry, struct error *err)
{
    struct pool_options limits = {.deadline = 10};
    if (panel_open(&bench->panel, registry,
                   given_all_typed(registry_arena(registry), bench->labels, bench->n_engines), &limits,
                   err) ||
        panel_add_reference(&bench->panel, registry, err))
        return -1;
    struct trial_options options = {.panel = &bench->panel, .settle = true};
    struct trials *trials = trials_new(&options);
    int status =
        trials_run(trials, &(struct trial_source){.context = bench, .make = make, .take = take}, err);
    trials_free(trials);
    for (size_t i = 0; i < bench->n_engines; i++)
        printf("engine\t%s\t%zu\t%zu\n", bench->labels[i], bench->answered[i], bench->right[i]);
    return status;
}

int main(int argc, char **argv)
{
    struct bench bench = {.seed = 1};
    struct registry *registry = NULL;
    struct error err = {0};
    bench.labels = memory_zeroed((size_t)argc, sizeof *bench.labels);
    bench.answered = memory_zeroed((size_t)argc, sizeof *bench.answered);
    bench.right = memory_zeroed((size_t)argc, sizeof *bench.right);
    int status = read_options(&bench, argc, argv, &err);
    if (!status)
        status = registry_open(&registry, NULL, 0, &err);
    if (!status)
        status = run(&bench, registry, &err);
    if (status)
        fprintf(stderr, "%s\n", err.message);
    panel_close(&bench.panel);
    registry_free(registry);
    suite_release(&bench.suite);
    folder_close(&bench.answers);
    folder_close(&bench.cases);
    folder_close(&bench.out);
    free(bench.labels);
    free(bench.answered);
    free(bench.right);
    return status ? 2 : 0;
}
