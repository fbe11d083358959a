/*
 * Variants of a trained network for a search, and what they show by themselves (the column NET of Guo et al.,
 * Audee, ASE 2020): bench_networks COUNT KEPT FOLDER DATA MODEL.onnx ENGINE ENGINE...
 *
 * COUNT legal variants of the model (search/variant.h) are run on all engines, without the reference, on the
 * first SAMPLES samples of DATA; those whose inputs have other shapes on their own sample alone. An engine
 * that does not run the model itself is left out. The first KEPT variants that all other engines run, without
 * a NaN or an infinity and with the same top class, are written to FOLDER/0.onnx, 1.onnx ...
 *
 * Lines, separated by tabs: "out ENGINE"; "pair ENGINE ENGINE RUN INCONSISTENT" for each two engines;
 * "nan ENGINE RUN STRANGE"; "kept N"; "drawn N", as some numbers give no variant.
 */
#include "base/file.h"
#include "base/memory.h"
#include "campaign/search_fitness.h"
#include "case/inputs.h"
#include "engine/runner.h"
#include "search/variant.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 10, MOST_ENGINES = 8, SEED = 16, TRIES = 20 };

struct bench {
    size_t wanted, keep, made, kept, drawn;
    const char *folder;
    size_t n_engines;
    const char *labels[MOST_ENGINES];
    bool out[MOST_ENGINES];
    struct panel panel;
    struct runner *runner;
    struct test_case *origin;
    size_t n_samples;
    struct job_set samples[SAMPLES];
    size_t run[MOST_ENGINES][MOST_ENGINES], inconsistent[MOST_ENGINES][MOST_ENGINES], strange[MOST_ENGINES];
};

/* What one model did. */
struct behaviour {
    bool answers[MOST_ENGINES], strange[MOST_ENGINES], inconsistent[MOST_ENGINES][MOST_ENGINES];
};

__attribute__((noreturn)) static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_networks: %s: %s\n", what, err->message);
    exit(2);
}

static void open_samples(struct bench *b, const char *data, const char *path)
{
    struct error err = {0};
    struct model *model;
    struct inputs inputs;
    if (model_load(&model, path, &err) || inputs_read(&inputs, model, data, &err))
        die(path, &err);
    b->origin = test_case_new(model);
    test_case_set_name(b->origin, path);
    for (; b->n_samples < SAMPLES && b->n_samples < inputs.samples; b->n_samples++) {
        struct value *values;
        if (inputs_get(&inputs, b->n_samples, &values, &err))
            die(path, &err);
        b->samples[b->n_samples] = (struct job_set){inputs.count, values};
    }
    if (!b->n_samples || test_case_add_inputs(b->origin, b->samples[0].inputs, b->samples[0].n_inputs, &err))
        die(path, &err);
    inputs_release(&inputs);
}

static bool same_shapes(const struct test_case *test, const struct job_set *set)
{
    bool same = test->n_inputs == set->n_inputs;
    for (size_t i = 0; same && i < test->n_inputs; i++) {
        const struct value *a = &test->inputs[i], *b = &set->inputs[i];
        same = a->kind == VALUE_TENSOR && b->kind == VALUE_TENSOR &&
               a->tensors[0].type == b->tensors[0].type &&
               shape_equal(&a->tensors[0].shape, &b->tensors[0].shape);
    }
    return same;
}

static void see_pair(struct behaviour *behaviour, const struct run *run, size_t set, size_t a, size_t b)
{
    struct verdict verdicts[2] = {0};
    struct result results[2] = {*run_result(run, set, a), *run_result(run, set, b)};
    struct search_seen seen;
    search_see(&seen, &(struct search_sample){
                          .n_engines = a == b ? 1 : 2, .results = results, .verdicts = verdicts});
    free(seen.logits);
    if (a == b) {
        behaviour->answers[a] = behaviour->answers[a] && results[0].outcome == OUTCOME_OK;
        behaviour->strange[a] = behaviour->strange[a] || seen.strange;
    } else {
        behaviour->inconsistent[a][b] = behaviour->inconsistent[a][b] || seen.inconsistent;
    }
}

static struct behaviour run_model(struct bench *b, const struct test_case *test)
{
    struct behaviour behaviour = {0};
    struct error err = {0};
    struct job_set own = {test->n_inputs, test->inputs};
    bool fit = same_shapes(test, &b->samples[0]);
    struct job job = {.n_sets = fit ? b->n_samples : 1, .sets = fit ? b->samples : &own};
    const uint8_t *bytes;
    struct run *run;
    if (test_case_bytes(test, &bytes, &job.model_size, &err))
        die("model", &err);
    job.model = bytes;
    runner_submit(b->runner, &job, ASK_NEVER);
    if (runner_next(b->runner, &run, &err) != 1)
        die("running", &err);
    for (size_t i = 0; i < b->n_engines; i++)
        behaviour.answers[i] = true;
    for (size_t set = 0; set < job.n_sets; set++)
        for (size_t i = 0; i < b->n_engines; i++)
            for (size_t k = i; k < b->n_engines; k++)
                see_pair(&behaviour, run, set, i, k);
    run_free(run);
    return behaviour;
}

static bool is_plain(const struct bench *b, const struct behaviour *behaviour)
{
    bool plain = true;
    for (size_t i = 0; i < b->n_engines; i++)
        for (size_t k = i; k < b->n_engines; k++)
            if (!b->out[i] && !b->out[k])
                plain = plain && behaviour->answers[i] && !behaviour->strange[i] &&
                        !behaviour->inconsistent[i][k];
    return plain;
}

static void count(struct bench *b, const struct behaviour *behaviour)
{
    for (size_t i = 0; i < b->n_engines; i++) {
        b->strange[i] += behaviour->strange[i];
        for (size_t k = i; k < b->n_engines; k++) {
            b->run[i][k] += behaviour->answers[i] && behaviour->answers[k];
            b->inconsistent[i][k] += behaviour->inconsistent[i][k];
        }
    }
}

static void keep(struct bench *b, const struct test_case *test)
{
    struct error err = {0};
    const uint8_t *bytes;
    size_t size;
    char path[4096];
    snprintf(path, sizeof path, "%s/%zu.onnx", b->folder, b->kept++);
    if (test_case_bytes(test, &bytes, &size, &err) || file_write(path, bytes, size, &err))
        die(path, &err);
}

static void make_variants(struct bench *b)
{
    struct error err = {0};
    struct variant_seed *seed;
    if (variant_seed_new(&seed, b->origin, &err))
        die(b->origin->name, &err);
    while (b->made < b->wanted && b->drawn < TRIES * b->wanted) {
        struct test_case *test;
        if (variant_make(seed, VARIANT_LEGAL, SEED, b->drawn++, &test, NULL, &err)) {
            if (err.code != ERROR_NOT_FOUND)
                die(b->origin->name, &err);
            continue;
        }
        b->made++;
        struct behaviour behaviour = run_model(b, test);
        count(b, &behaviour);
        if (b->kept < b->keep && is_plain(b, &behaviour))
            keep(b, test);
        test_case_free(test);
    }
    variant_seed_free(seed);
}

static void print(const struct bench *b)
{
    for (size_t i = 0; i < b->n_engines; i++) {
        if (b->out[i])
            printf("out\t%s\n", b->labels[i]);
        for (size_t k = i + 1; k < b->n_engines && !b->out[i]; k++)
            if (!b->out[k])
                printf("pair\t%s\t%s\t%zu\t%zu\n", b->labels[i], b->labels[k], b->run[i][k],
                       b->inconsistent[i][k]);
        if (!b->out[i])
            printf("nan\t%s\t%zu\t%zu\n", b->labels[i], b->run[i][i], b->strange[i]);
    }
    printf("kept\t%zu\ndrawn\t%zu\n", b->kept, b->drawn);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct registry *registry;
    struct error err = {0};
    if (argc < 8 || argc - 6 > MOST_ENGINES) {
        fprintf(stderr, "usage: bench_networks COUNT KEPT FOLDER DATA MODEL.onnx ENGINE ENGINE...\n");
        return 2;
    }
    b.wanted = strtoull(argv[1], NULL, 10);
    b.keep = strtoull(argv[2], NULL, 10);
    b.folder = argv[3];
    b.n_engines = (size_t)(argc - 6);
    for (size_t i = 0; i < b.n_engines; i++)
        b.labels[i] = argv[6 + i];
    open_samples(&b, argv[4], argv[5]);
    if (file_make_folders(b.folder, &err) || registry_open(&registry, NULL, 0, &err) ||
        panel_open(&b.panel, registry, given_all_typed(registry_arena(registry), b.labels, b.n_engines),
                   &(struct pool_options){.deadline = 30}, &err))
        die(argv[6], &err);
    b.runner = runner_new(&b.panel, &(struct runner_options){.ahead = 1});
    struct behaviour seed = run_model(&b, b.origin);
    for (size_t i = 0; i < b.n_engines; i++)
        b.out[i] = !seed.answers[i];
    make_variants(&b);
    print(&b);
    runner_free(b.runner);
    panel_close(&b.panel);
    registry_free(registry);
    for (size_t i = 0; i < b.n_samples; i++)
        values_free((struct value *)(uintptr_t)b.samples[i].inputs, b.samples[i].n_inputs);
    test_case_free(b.origin);
    return 0;
}
