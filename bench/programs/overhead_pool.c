/*
 * usage: overhead_pool ENGINE FOLDER default|off|PASSES
 * The same models through the pool, one worker, as every command of assay runs its cases; the last word is
 * the sandbox. A number of passes: two workers at once, one in the sandbox and one outside, which take turns
 * at batches of the models; each batch counts with its shortest time of all passes, as whatever else the
 * machine does only ever adds to it.
 */
#include "overhead.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/pool.h"

#include <stdio.h>
#include <stdlib.h>

/* How many jobs wait in the queue: enough that one is always at hand. */
enum { QUEUED = 8 };

/* Cases in a batch: some 10 ms, so that both sides meet the same machine. */
enum { BATCH = 25 };

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

/* Takes turns at every batch, the one that begins changing from batch to batch and from pass to pass. */
static int take_turns(struct pool *const *pools, const int *engines, const struct overhead_case *cases,
                      const struct value *inputs, size_t count, int passes, double *const *best,
                      struct error *err)
{
    for (int pass = 0; pass < passes; pass++)
        for (size_t at = 0; at < count; at += BATCH) {
            size_t batch = at / BATCH, size = count - at < BATCH ? count - at : BATCH;
            for (int turn = 0; turn < 2; turn++) {
                int side = (int)(((size_t)pass + batch + (size_t)turn) % 2);
                double start = clock_seconds();
                if (run_cases(pools[side], engines[side], cases + at, inputs + at, size, err))
                    return -1;
                double took = clock_seconds() - start;
                if (pass == 0 || took < best[side][batch])
                    best[side][batch] = took;
            }
        }
    return 0;
}

static double sum(const double *values, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* "inside W outside W": seconds of all cases in the sandbox and without one. */
static int compare_sandboxes(const struct engine_spec *spec, const struct overhead_case *cases,
                             const struct value *inputs, size_t count, int passes, struct error *err)
{
    static const enum sandbox_mode modes[2] = {SANDBOX_DEFAULT, SANDBOX_OFF};
    struct pool *pools[2];
    double *best[2];
    int engines[2];
    size_t batches = (count + BATCH - 1) / BATCH;
    for (int side = 0; side < 2; side++) {
        pools[side] = pool_new(&(struct pool_options){.workers = 1, .sandbox = modes[side]});
        best[side] = memory_zeroed(batches, sizeof *best[side]);
        engines[side] = pool_add(pools[side], spec);
        pool_warm(pools[side]);
    }
    int result = take_turns(pools, engines, cases, inputs, count, passes, best, err);
    if (result == 0)
        printf("inside %.6f outside %.6f\n", sum(best[0], batches), sum(best[1], batches));
    for (int side = 0; side < 2; side++) {
        pool_free(pools[side]);
        free(best[side]);
    }
    return result;
}

/* "start S wall W cpu C cases N". */
static int time_one(const struct engine_spec *spec, enum sandbox_mode sandbox,
                    const struct overhead_case *cases, const struct value *inputs, size_t count,
                    struct error *err)
{
    struct times started, times;
    /* What starting takes is found by starting only. */
    if (run_engine(spec, sandbox, cases, inputs, 0, &started, err) ||
        run_engine(spec, sandbox, cases, inputs, count, &times, err))
        return -1;
    printf("start %.6f ", started.start);
    overhead_print(times.wall, times.cpu - started.cpu, count);
    return 0;
}

static int measure(const char *label, const char *how, const struct overhead_case *cases, size_t count,
                   struct error *err)
{
    struct registry *registry = NULL;
    const struct engine_spec *spec = NULL;
    struct value *inputs = NULL;
    int passes = atoi(how), result = -1;
    if (registry_open(&registry, NULL, 0, err) < 0 || registry_find(registry, label, &spec, err) < 0 ||
        !(inputs = make_inputs(cases, count, err)))
        goto out;
    if (passes > 0)
        result = compare_sandboxes(spec, cases, inputs, count, passes, err);
    else
        result =
            time_one(spec, text_equal(how, "off") ? SANDBOX_OFF : SANDBOX_DEFAULT, cases, inputs, count, err);
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
    bool known =
        argc == 4 && (text_equal(argv[3], "default") || text_equal(argv[3], "off") || atoi(argv[3]) > 0);
    if (!known || overhead_read(argv[2], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_pool ENGINE FOLDER default|off|PASSES %s\n", err.message);
        return 2;
    }
    int result = measure(argv[1], argv[3], cases, count, &err);
    if (result < 0)
        fprintf(stderr, "overhead_pool: %s\n", err.message);
    overhead_free(cases, count);
    return result < 0 ? 1 : 0;
}
