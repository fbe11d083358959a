/*
 * The programs behind bench/loop.
 *
 *     bench_loop record FILE COUNT           the campaign's first cases, written down
 *     bench_loop campaign FOLDER COUNT ENGINE...
 *
 * campaign prints "wall W self S engines E cases N" in seconds: of the clock, of this process's CPU, and of
 * the engines' (the reference's included) from their start to their end; then "busy LABEL SHARE" of the
 * wall time during which each engine had a request.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "campaign/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SEED = 1, MOST = 8 };

static double cpu_of(int who)
{
    struct rusage usage = {0};
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void add_number(struct str *out, uint64_t number)
{
    str_append(out, &number, sizeof number);
}

static void add_case(struct str *out, const struct testcase *testcase)
{
    add_number(out, testcase->model_size);
    str_append(out, testcase->model, testcase->model_size);
    add_number(out, testcase->n_inputs);
    for (size_t i = 0; i < testcase->n_inputs; i++) {
        const struct tensor *tensor = testcase->inputs[i].tensors;
        add_number(out, strlen(testcase->inputs[i].name));
        str_add(out, testcase->inputs[i].name);
        add_number(out, (uint64_t)tensor->type);
        add_number(out, (uint64_t)tensor->shape.rank);
        str_append(out, tensor->shape.dims, (size_t)tensor->shape.rank * sizeof(int64_t));
        add_number(out, tensor->size);
        str_append(out, tensor->data, tensor->size);
    }
}

static int record(const char *path, size_t count, struct error *err)
{
    struct fuzz_source_options options = {.seed = SEED, .strategy = FUZZ_MCTS, .redraw = true};
    struct fuzz_source *source;
    struct str out;
    str_init(&out);
    int status = fuzz_source_new(&source, &options, err);
    for (size_t i = 0; i < count && !status; i++) {
        struct testcase testcase;
        size_t node;
        if (fuzz_source_make(source, i, &testcase, &node, err))
            continue;
        add_case(&out, &testcase);
        testcase_release(&testcase);
    }
    if (!status)
        status = file_write(path, out.data, out.length, err);
    fuzz_source_free(source);
    str_release(&out);
    return status;
}

static void print(const struct fuzz_status *status, double wall, double self, double engines)
{
    printf("wall %.3f self %.3f engines %.3f cases %" PRIu64 "\n", wall, self, engines, status->cases);
    for (size_t i = 0; i < status->n_engines; i++)
        printf("busy %s %.3f\n", status->engines[i].label, status->engines[i].busy / wall);
}

static int campaign(const char *folder, size_t count, char **labels, size_t n, struct error *err)
{
    struct pool_options pool_options = {.deadline = 10};
    struct registry *registry = NULL;
    const struct engine_spec *specs[MOST], *reference;
    int engines[MOST];
    if (n > MOST || registry_open(&registry, NULL, 0, err) ||
        registry_find(registry, "reference", &reference, err))
        return -1;
    struct pool *pool = pool_new(&pool_options);
    for (size_t i = 0; i < n; i++) {
        if (registry_find(registry, labels[i], &specs[i], err))
            return -1;
        engines[i] = pool_add(pool, specs[i]);
    }
    struct fuzz_options options = {
        .pool = pool,
        .reference = pool_add(pool, reference),
        .n_engines = n,
        .engines = engines,
        .specs = specs,
        .folder = folder,
        .source = {.seed = SEED, .strategy = FUZZ_MCTS, .redraw = true},
        .count = count,
    };
    struct fuzz_status status;
    pool_warm(pool);
    double wall = clock_seconds(), self = cpu_of(RUSAGE_SELF);
    int result = fuzz_run(&options, &status, err);
    wall = clock_seconds() - wall;
    self = cpu_of(RUSAGE_SELF) - self;
    pool_free(pool);
    if (!result)
        print(&status, wall, self, cpu_of(RUSAGE_CHILDREN));
    registry_free(registry);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int status = -1;
    if (argc == 4 && text_equal(argv[1], "record"))
        status = record(argv[2], strtoull(argv[3], NULL, 10), &err);
    else if (argc > 4 && text_equal(argv[1], "campaign"))
        status = campaign(argv[2], strtoull(argv[3], NULL, 10), argv + 4, (size_t)argc - 4, &err);
    else
        error_set(&err, ERROR_USAGE, "see the head of bench/loop.c");
    if (status)
        fprintf(stderr, "bench_loop: %s\n", err.message);
    return status ? 2 : 0;
}
