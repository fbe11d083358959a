/*
 * usage: overhead_pool ENGINE FOLDER default|off
 * The same models through the pool, one worker, as every command of assay runs its cases; the last word is
 * the sandbox.
 */
#include "overhead.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/pool.h"

#include <stdio.h>
#include <stdlib.h>

/* How many jobs wait in the queue: enough that one is always at hand. */
enum { QUEUED = 8 };

static struct value *make_inputs(const struct overhead_case *cases, size_t count, struct error *err)
{
    struct value *inputs = memory_zeroed(count, sizeof *inputs);
    for (size_t i = 0; i < count; i++) {
        struct tensor copy;
        value_init(&inputs[i]);
        value_set_name(&inputs[i], "x");
        if (tensor_copy(&copy, &cases[i].input, err) < 0) {
            values_free(inputs, i + 1);
            return NULL;
        }
        value_set_tensor(&inputs[i], &copy);
    }
    return inputs;
}

static void submit(struct pool *pool, int engine, const struct overhead_case *one, const struct value *input)
{
    pool_submit(
        pool,
        &(struct job){
            .engine = engine, .model = one->model, .model_size = one->size, .n_inputs = 1, .inputs = input});
}

/* All cases; -1 unless every one came back ok. */
static int run_cases(struct pool *pool, int engine, const struct overhead_case *cases,
                     const struct value *inputs, size_t count, struct error *err)
{
    size_t sent = 0, done = 0;
    while (done < count) {
        while (sent < count && sent - done < QUEUED) {
            submit(pool, engine, &cases[sent], &inputs[sent]);
            sent++;
        }
        struct job job;
        struct result result;
        bool differ;
        if (pool_next(pool, 60, &job, &result, &differ, err) != 1)
            return error_set(err, ERROR_IO, "no answer within a minute");
        bool ok = result.outcome == OUTCOME_OK && result.count == 1;
        if (!ok) {
            error_set(err, ERROR_IO, "%s: %s", outcome_name(result.outcome),
                      result.message ? result.message : "");
        }
        result_release(&result);
        if (!ok)
            return -1;
        done++;
    }
    return 0;
}

struct times {
    double start; /* seconds until the first answer */
    double wall;  /* of the cases after it */
    double cpu;   /* of all of it, the engine's included */
};

/* Starts the engine, runs the first case, then `count` of them. */
static int run_engine(const struct engine_spec *spec, enum sandbox_mode sandbox,
                      const struct overhead_case *cases, const struct value *inputs, size_t count,
                      struct times *times, struct error *err)
{
    double before = overhead_cpu(), start = clock_seconds();
    struct pool *pool = pool_new(&(struct pool_options){.workers = 1, .sandbox = sandbox});
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    int result = run_cases(pool, engine, cases, inputs, 1, err);
    double first = clock_seconds();
    if (result == 0)
        result = run_cases(pool, engine, cases, inputs, count, err);
    times->start = first - start;
    times->wall = clock_seconds() - first;
    pool_free(pool);
    times->cpu = overhead_cpu() - before;
    return result;
}

static int measure(const char *label, enum sandbox_mode sandbox, const struct overhead_case *cases,
                   size_t count, struct error *err)
{
    struct times started, times;
    struct registry *registry = NULL;
    const struct engine_spec *spec = NULL;
    struct value *inputs = NULL;
    int result = -1;
    if (registry_open(&registry, NULL, 0, err) < 0 || registry_find(registry, label, &spec, err) < 0 ||
        !(inputs = make_inputs(cases, count, err)))
        goto out;
    /* What starting takes is found by starting only. */
    result = run_engine(spec, sandbox, cases, inputs, 0, &started, err);
    if (result == 0)
        result = run_engine(spec, sandbox, cases, inputs, count, &times, err);
    if (result == 0) {
        printf("start %.6f ", started.start);
        overhead_print(times.wall, times.cpu - started.cpu, count);
    }
out:
    registry_free(registry);
    values_free(inputs, inputs ? count : 0);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct overhead_case *cases = NULL;
    size_t count = 0;
    bool off = argc == 4 && text_equal(argv[3], "off");
    if (argc != 4 || (!off && !text_equal(argv[3], "default")) ||
        overhead_read(argv[2], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_pool ENGINE FOLDER default|off %s\n", err.message);
        return 2;
    }
    int result = measure(argv[1], off ? SANDBOX_OFF : SANDBOX_DEFAULT, cases, count, &err);
    if (result < 0)
        fprintf(stderr, "overhead_pool: %s\n", err.message);
    overhead_free(cases, count);
    return result < 0 ? 1 : 0;
}
