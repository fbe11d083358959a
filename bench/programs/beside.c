/*
 * usage: beside ENGINE SLOW FOLDER
 * Whether an engine that starts slowly holds others up. ENGINE runs the models of FOLDER while SLOW starts
 * beside it for its first case; then SLOW runs them, its workers replaced every few cases. Prints seconds:
 * how long SLOW takes to start, the longest that a result of ENGINE was waited for meanwhile, the longest and
 * the median that one of SLOW was waited for, and how often SLOW was replaced.
 */
#include "overhead.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/pool.h"

#include <stdio.h>
#include <stdlib.h>

enum { RECYCLE = 50, REPLACED = 5, MOST = 100000 };

static struct value make_input(const struct overhead_case *one)
{
    struct value value;
    struct tensor copy;
    struct error err = {0};
    value_init(&value);
    value_set_name(&value, "x");
    if (tensor_copy(&copy, &one->input, &err) < 0)
        memory_exhausted(one->input.size);
    value_set_tensor(&value, &copy);
    return value;
}

static void submit(struct pool *pool, int engine, const struct overhead_case *one, const struct value *input)
{
    struct job job = {
        .engine = engine, .model = one->model, .model_size = one->size, .n_inputs = 1, .inputs = input};
    pool_submit(pool, &job);
}

/* Waits for a result of either engine, and says whose. */
static int next(struct pool *pool)
{
    struct job job;
    struct result result;
    struct error err = {0};
    if (pool_next(pool, 60, &job, &result, NULL, &err) != 1 || result.outcome != OUTCOME_OK) {
        fprintf(stderr, "beside: %s %s\n", err.message, result.message ? result.message : "no result");
        exit(1);
    }
    result_release(&result);
    return job.engine;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(struct pool *pool, int engine, int slow, const struct overhead_case *one,
                    const struct value *input)
{
    double start = clock_seconds(), last = start, longest = 0;
    submit(pool, slow, one, input);
    submit(pool, engine, one, input);
    while (next(pool) == engine) {
        double now = clock_seconds();
        longest = now - last > longest ? now - last : longest;
        last = now;
        submit(pool, engine, one, input);
    }
    double started = clock_seconds() - start;
    while (pool_pending(pool, engine))
        next(pool);
    double *waits = memory_zeroed(MOST, sizeof *waits);
    size_t count = 0;
    for (; count < MOST && pool_counters(pool, slow).recycled < REPLACED; count++) {
        last = clock_seconds();
        submit(pool, slow, one, input);
        next(pool);
        waits[count] = clock_seconds() - last;
    }
    qsort(waits, count, sizeof *waits, compare);
    printf("start %.4f beside %.4f recycling %.4f median %.4f replaced %zu\n", started, longest,
           waits[count - 1], waits[count / 2], pool_counters(pool, slow).recycled);
    free(waits);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct overhead_case *cases = NULL;
    size_t count = 0;
    struct registry *registry = NULL;
    const struct engine_spec *spec, *slow_spec;
    if (argc != 4 || overhead_read(argv[3], &cases, &count, &err) < 0 || count == 0 ||
        registry_open(&registry, NULL, 0, &err) < 0 ||
        registry_find(registry, given_typed(registry_arena(registry), argv[1]), &spec, &err) < 0 ||
        registry_find(registry, given_typed(registry_arena(registry), argv[2]), &slow_spec, &err) < 0) {
        fprintf(stderr, "usage: beside ENGINE SLOW FOLDER %s\n", err.message);
        return 2;
    }
    struct pool *pool = pool_new(&(struct pool_options){.recycle = RECYCLE});
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    int slow = pool_add(pool, slow_spec);
    struct value input = make_input(&cases[0]);
    measure(pool, engine, slow, &cases[0], &input);
    pool_free(pool);
    registry_free(registry);
    value_release(&input);
    overhead_free(cases, count);
    return 0;
}
