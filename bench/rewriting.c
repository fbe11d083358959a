/*
 * Does the judge allow for what optimisers may do? bench_rewriting COUNT [SEED [FILL]]: graphs of campaigns
 * are rewritten by formulas that are the same for real numbers (rewrites.h), computed and rounded node by
 * node as an engine would, and judged as the original, its nodes taken for computed as one. What is called
 * wrong then is a false alarm.
 */
#include "rewrites.h"

#include "campaign/fuzz_source.h"
#include "judge/verdict.h"
#include "ops/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every value of a model by its name, as the reference has it. */
struct values {
    size_t count;
    const char **names;
    struct bounded *values;
};

static const struct bounded *find(const void *context, const char *name)
{
    const struct values *all = context;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->names[i], name) == 0)
            return &all->values[i];
    return NULL;
}

static void add_name(struct values *all, const char *name)
{
    if (*name && !find(all, name))
        all->names[all->count++] = name;
}

static int run(const struct model *model, const struct testcase *test, const struct evaluate_options *options,
               const char *const *names, size_t wanted, struct bounded **results, size_t *count)
{
    struct evaluator *evaluator = NULL;
    *results = NULL;
    *count = 0;
    int status = evaluator_new(&evaluator, model, options, NULL);
    if (!status)
        status = evaluator_run(evaluator, test->inputs, test->n_inputs, names, wanted, results, count, NULL);
    evaluator_free(evaluator);
    return status;
}

static void free_results(struct bounded *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        bounded_release(&results[i]);
    free(results);
}

/* All values, weights and inputs too. */
static int compute(struct values *all, const struct model *model, const struct testcase *test)
{
    const Onnx__GraphProto *graph = model->graph;
    size_t room = graph->n_input + graph->n_initializer, count;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    *all = (struct values){.names = calloc(room + 1, sizeof *all->names),
                           .values = calloc(room + 1, sizeof *all->values)};
    for (size_t i = 0; i < graph->n_input; i++)
        add_name(all, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_initializer; i++)
        add_name(all, graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t o = 0; o < graph->node[i]->n_output; o++)
            add_name(all, graph->node[i]->output[o]);
    struct bounded *results;
    if (run(model, test, NULL, all->names, all->count, &results, &count))
        return -1;
    memcpy(all->values, results, count * sizeof *results);
    free(results);
    return 0;
}

static void release(struct values *all)
{
    for (size_t i = 0; i < all->count; i++)
        bounded_release(&all->values[i]);
    free(all->names);
    free(all->values);
}

static bool passes(const struct bounded *expected, const struct bounded *got, size_t count, char *text,
                   size_t size)
{
    struct verdict verdict = {.kind = VERDICT_AGREES};
    for (size_t i = 0; i < count; i++) {
        struct tensor tensor;
        struct value value = {0};
        if (bounded_to_tensor(&got[i], &tensor, NULL))
            return false;
        value_set_tensor(&value, &tensor);
        verdict_output(&verdict, i, &expected[i], &value);
        value_release(&value);
    }
    verdict_finish(&verdict, NULL);
    snprintf(text, size, "%s: %s", verdict_name(verdict.kind), verdict.text);
    return !verdict_is_finding(verdict.kind);
}

struct counts {
    size_t rewritten, outside, alarms;
};

static void try(const struct testcase *test, uint64_t seed, struct counts *counts)
{
    struct model *model = NULL, *other = NULL;
    struct values all = {0};
    struct rng rng = rng_seed(seed);
    struct bounded *plain = NULL, *loose = NULL, *got = NULL;
    size_t n_plain = 0, n_loose = 0, n_got = 0;
    char told[400], text[400];
    if (model_parse(&model, test->model, test->model_size, NULL) || model_clone(&other, model, NULL) ||
        compute(&all, model, test) ||
        !rewrite(other, 1 + rng_below(&rng, 3), &rng, find, &all, told, sizeof told) ||
        run(model, test, NULL, NULL, 0, &plain, &n_plain) ||
        run(other, test, &(struct evaluate_options){.round = true}, NULL, 0, &got, &n_got))
        goto out;
    counts->rewritten++;
    if (passes(plain, got, n_got, text, sizeof text))
        goto out;
    counts->outside++;
    if (run(model, test, &(struct evaluate_options){.loose = true}, NULL, 0, &loose, &n_loose) ||
        passes(loose, got, n_got, text, sizeof text))
        goto out;
    counts->alarms++;
    printf("%s\t%s\t%s\n", told, text, test->recipe);
out:
    free_results(plain, n_plain);
    free_results(loose, n_loose);
    free_results(got, n_got);
    release(&all);
    model_free(other);
    model_free(model);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    struct fuzz_source_options options = {
        .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, .strategy = FUZZ_RANDOM, .blocks = 4};
    if (argc > 3)
        options.generate.fill = atoi(argv[3]) + 1;
    struct fuzz_source *source;
    struct error err = {0};
    struct counts counts = {0};
    if (fuzz_source_new(&source, &options, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct testcase test;
        size_t node;
        if (fuzz_source_make(source, i, &test, &node, &err))
            continue;
        try(&test, options.seed * 1000003 + i, &counts);
        testcase_release(&test);
    }
    fuzz_source_free(source);
    printf("%zu of %zu rewritten models are called wrong; %zu are outside of the bounds of single nodes\n",
           counts.alarms, counts.rewritten, counts.outside);
    return counts.alarms > 0;
}
