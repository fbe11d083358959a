/*
 * Does the judge allow for what optimisers may do? bench_rewriting COUNT [SEED [FILL [FIRST]]]: graphs of
 * campaigns are rewritten by formulas that are the same for real numbers (rewrites.h), computed and rounded
 * node by node as an engine would, and judged as the original, its nodes taken for computed as one. What is
 * called wrong then is a false alarm. FIRST is the number of the first graph, as the last column has it.
 */
#include "answers.h"
#include "rewrites.h"

#include "base/memory.h"
#include "campaign/fuzz_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every value of a model by its name, as the reference has it. */
struct values {
    size_t count;
    const char **names;
    struct answers of;
};

static const struct bounded *find(const void *context, const char *name)
{
    const struct values *all = context;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->names[i], name) == 0)
            return i < all->of.count ? &all->of.values[i] : NULL;
    return NULL;
}

static void add_name(struct values *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->names[i], name) == 0)
            return;
    if (*name)
        all->names[all->count++] = name;
}

/* All values, weights and inputs too. */
static int compute(struct values *all, const struct model *model, const struct test_case *test)
{
    const Onnx__GraphProto *graph = model->graph;
    size_t room = graph->n_input + graph->n_initializer;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    *all = (struct values){.names = memory_zeroed(room, sizeof *all->names)};
    for (size_t i = 0; i < graph->n_input; i++)
        add_name(all, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_initializer; i++)
        add_name(all, graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t o = 0; o < graph->node[i]->n_output; o++)
            add_name(all, graph->node[i]->output[o]);
    return answers_compute(&all->of, model, test, NULL, all->names, all->count, NULL);
}

struct counts {
    size_t rewritten, outside, alarms;
};

static void try(const struct test_case *test, uint64_t seed, uint64_t number, struct counts *counts)
{
    const struct model *model = test_case_model(test, NULL);
    struct model *other = NULL;
    struct values all = {0};
    struct rng rng = rng_seed(seed * 1000003 + number);
    struct answers plain = {0}, loose = {0}, got = {0};
    const struct evaluate_options rounded = {.round = true}, fused = {.loose = true};
    char told[400], text[400];
    if (!model || model_clone(&other, model, NULL) || compute(&all, model, test) ||
        !rewrite(other, 1 + rng_below(&rng, 3), &rng, find, &all, told, sizeof told) ||
        answers_compute(&plain, model, test, NULL, NULL, 0, NULL) ||
        answers_compute(&got, other, test, &rounded, NULL, 0, NULL))
        goto out;
    counts->rewritten++;
    if (answers_pass(plain.values, got.values, got.count, text, sizeof text))
        goto out;
    counts->outside++;
    if (answers_compute(&loose, model, test, &fused, NULL, 0, NULL) ||
        answers_pass(loose.values, got.values, got.count, text, sizeof text))
        goto out;
    counts->alarms++;
    printf("%s\t%s\t%s\t%" PRIu64 "\n", told, text, test->recipe, number);
out:
    answers_release(&plain);
    answers_release(&loose);
    answers_release(&got);
    answers_release(&all.of);
    free(all.names);
    model_free(other);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    struct fuzz_source_options options = {
        .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, .strategy = FUZZ_RANDOM, .blocks = 4};
    if (argc > 3)
        options.generate.fill = atoi(argv[3]) + 1;
    uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    struct fuzz_source *source;
    struct error err = {0};
    struct counts counts = {0};
    if (fuzz_source_new(&source, &options, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    for (uint64_t i = first; i < first + count; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, &err))
            continue;
        try(test, options.seed, i, &counts);
        test_case_free(test);
    }
    fuzz_source_free(source);
    printf("%zu of %zu rewritten models are called wrong; %zu are outside of the bounds of single nodes\n",
           counts.alarms, counts.rewritten, counts.outside);
    /* Of one kind of values there may be none that shows. */
    if (counts.rewritten < count / 4 || (argc <= 3 && count >= 1000 && counts.outside == 0)) {
        fprintf(stderr, "too few models were rewritten, or none so that it shows\n");
        return 2;
    }
    return counts.alarms > 0;
}
