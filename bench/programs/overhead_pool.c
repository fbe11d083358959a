/*
 * usage: overhead_pool ENGINE FOLDER default|off|times|PASSES [BARE...]
 * The same models through the pool, one worker, as every command of assay runs its cases; the last word is
 * the sandbox, or "times": then it is told where the processor time goes, "load L run R unload U adapter A
 * core C". A number of passes, and a bare program with its arguments: two workers, one in the sandbox and
 * one outside, and the bare loop take turns at batches of the models; each batch counts with its shortest
 * time of all passes, as whatever else the machine does only ever adds to it.
 */
#include "overhead.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void add_times(struct result_times *to, const struct result_times *from)
{
    to->load += from->load;
    to->run += from->run;
    to->unload += from->unload;
    to->adapter += from->adapter;
}

/* All cases; -1 unless every one came back ok. *told: what the engine said that they took; may be NULL. */
static int run_told(struct pool *pool, int engine, const struct overhead_case *cases,
                    const struct value *inputs, size_t count, struct result_times *told, struct error *err)
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
        if (told)
            add_times(told, &result.cpu);
        result_release(&result);
        if (!ok)
            return -1;
        done++;
    }
    return 0;
}

static int run_cases(struct pool *pool, int engine, const struct overhead_case *cases,
                     const struct value *inputs, size_t count, struct error *err)
{
    return run_told(pool, engine, cases, inputs, count, NULL, err);
}

static int tell_times(const struct engine_spec *spec, const struct overhead_case *cases,
                      const struct value *inputs, size_t count, struct error *err)
{
    struct pool *pool = pool_new(&(struct pool_options){.workers = 1, .times = true});
    struct result_times told = {0};
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    int result = run_cases(pool, engine, cases, inputs, 1, err);
    int64_t core = clock_process_ns();
    if (result == 0)
        result = run_told(pool, engine, cases, inputs, count, &told, err);
    core = clock_process_ns() - core;
    if (result == 0)
        printf("load %.6f run %.6f unload %.6f adapter %.6f core %.6f\n", 1e-9 * (double)told.load,
               1e-9 * (double)told.run, 1e-9 * (double)told.unload, 1e-9 * (double)told.adapter,
               1e-9 * (double)core);
    pool_free(pool);
    return result;
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

/* One that takes turns: a worker, or a bare loop in a process of its own, and its shortest times by batch. */
struct side {
    struct pool *pool;
    int engine;
    pid_t bare;
    FILE *to, *from;
    double *best;
};

static int run_batch(struct side *side, const struct overhead_case *cases, const struct value *inputs,
                     size_t at, size_t size, struct error *err)
{
    if (side->pool)
        return run_cases(side->pool, side->engine, cases + at, inputs + at, size, err);
    fprintf(side->to, "%zu %zu\n", at, size);
    fflush(side->to);
    return getc(side->from) == '\n' ? 0 : error_set(err, ERROR_IO, "the bare loop ended");
}

/* Takes turns at every batch, the one that begins changing from batch to batch and from pass to pass. */
static int take_turns(struct side *sides, size_t n_sides, const struct overhead_case *cases,
                      const struct value *inputs, size_t count, int passes, struct error *err)
{
    for (int pass = 0; pass < passes; pass++)
        for (size_t at = 0; at < count; at += BATCH) {
            size_t batch = at / BATCH, size = count - at < BATCH ? count - at : BATCH;
            for (size_t turn = 0; turn < n_sides; turn++) {
                struct side *side = &sides[((size_t)pass + batch + turn) % n_sides];
                double start = clock_seconds();
                if (run_batch(side, cases, inputs, at, size, err))
                    return -1;
                double took = clock_seconds() - start;
                if (pass == 0 || took < side->best[batch])
                    side->best[batch] = took;
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

static void start_worker(struct side *side, const struct engine_spec *spec, enum sandbox_mode mode)
{
    side->pool = pool_new(&(struct pool_options){.workers = 1, .sandbox = mode});
    side->engine = pool_add(side->pool, spec);
    pool_warm(side->pool);
}

static int start_bare(struct side *side, char **command, struct error *err)
{
    int in[2], out[2];
    if (pipe(in) || pipe(out))
        return error_set(err, ERROR_IO, "no pipe");
    side->bare = fork();
    if (side->bare == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        setenv("OVERHEAD_TURNS", "1", 1);
        execv(command[0], command);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    side->to = fdopen(in[1], "w");
    side->from = fdopen(out[0], "r");
    return side->bare > 0 && side->to && side->from
               ? 0
               : error_set(err, ERROR_IO, "%s does not start", command[0]);
}

static void end_side(struct side *side)
{
    pool_free(side->pool);
    if (side->to)
        fclose(side->to);
    if (side->from)
        fclose(side->from);
    if (side->bare > 0)
        waitpid(side->bare, NULL, 0);
    free(side->best);
}

/* "inside W outside W bare W": seconds of all cases in the sandbox, without one, and in the bare loop. */
static int compare_sides(const struct engine_spec *spec, const struct overhead_case *cases,
                         const struct value *inputs, size_t count, int passes, char **command,
                         struct error *err)
{
    enum { INSIDE, OUTSIDE, BARE, SIDES };
    struct side sides[SIDES] = {0};
    size_t batches = (count + BATCH - 1) / BATCH;
    for (size_t i = 0; i < SIDES; i++)
        sides[i].best = memory_zeroed(batches, sizeof *sides[i].best);
    int result = start_bare(&sides[BARE], command, err);
    if (result == 0) {
        start_worker(&sides[INSIDE], spec, SANDBOX_DEFAULT);
        start_worker(&sides[OUTSIDE], spec, SANDBOX_OFF);
        result = take_turns(sides, SIDES, cases, inputs, count, passes, err);
    }
    if (result == 0)
        printf("inside %.6f outside %.6f bare %.6f\n", sum(sides[INSIDE].best, batches),
               sum(sides[OUTSIDE].best, batches), sum(sides[BARE].best, batches));
    for (size_t i = 0; i < SIDES; i++)
        end_side(&sides[i]);
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

static int measure(const char *label, char **how, const struct overhead_case *cases, size_t count,
                   struct error *err)
{
    struct registry *registry = NULL;
    const struct engine_spec *spec = NULL;
    struct value *inputs = NULL;
    int passes = atoi(how[0]), result = -1;
    if (registry_open(&registry, NULL, 0, err) < 0 ||
        registry_find(registry, given_typed(registry_arena(registry), label), &spec, err) < 0 ||
        !(inputs = make_inputs(cases, count, err)))
        goto out;
    if (text_equal(how[0], "times"))
        result = tell_times(spec, cases, inputs, count, err);
    else if (passes > 0)
        result = compare_sides(spec, cases, inputs, count, passes, how + 1, err);
    else
        result = time_one(spec, text_equal(how[0], "off") ? SANDBOX_OFF : SANDBOX_DEFAULT, cases, inputs,
                          count, err);
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
    bool known = (argc == 4 && (text_equal(argv[3], "default") || text_equal(argv[3], "off") ||
                                text_equal(argv[3], "times"))) ||
                 (argc > 4 && atoi(argv[3]) > 0);
    if (!known || overhead_read(argv[2], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_pool ENGINE FOLDER default|off|times|PASSES [BARE...] %s\n",
                err.message);
        return 2;
    }
    int result = measure(argv[1], argv + 3, cases, count, &err);
    if (result < 0)
        fprintf(stderr, "overhead_pool: %s\n", err.message);
    overhead_free(cases, count);
    return result < 0 ? 1 : 0;
}
