/*
 * The programs behind bench/loop.
 *
 *     bench_loop record FILE COUNT           the campaign's first cases, written down
 *     bench_loop campaign FOLDER COUNT WORKERS ENGINE...      so many workers for each engine
 *
 * campaign prints lines of a name and a number: "wall", "self", "engines" and "reference" are seconds of the
 * clock, of this process's CPU and of the engines' (the reference's among them, and alone) from the moment
 * they are up; "cases"; "work" and "running" are the shares of the wall time, sampled, during which as many
 * engine processes as there are cores had something to compute (state R), and during which they were seen to
 * run on all of them (see watch.c). Then where the seconds of CPU go: "core.PART" (loop_parts.h) and
 * "core.threads", what other threads of this process took; "cases.load" and so on as engines tell of the
 * campaign's cases, of what was asked in settling them, of the reference, and "starts" of workers that were
 * started meanwhile. At last "busy.LABEL", the share of the wall time during which each engine had a request.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "campaign/fuzz.h"
#include "loop_parts.h"
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SEED = 1, WARM = 4 /* cases that each worker runs beforehand */ };

static double own_cpu(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void add_number(struct str *out, uint64_t number)
{
    str_append(out, &number, sizeof number);
}

static void add_case(struct str *out, const struct test_case *test)
{
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(test, &bytes, &size, NULL))
        return;
    add_number(out, size);
    str_append(out, bytes, size);
    add_number(out, test->n_inputs);
    for (size_t i = 0; i < test->n_inputs; i++) {
        const struct tensor *tensor = test->inputs[i].tensors;
        add_number(out, strlen(test->inputs[i].name));
        str_add(out, test->inputs[i].name);
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
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, err))
            continue;
        add_case(&out, test);
        test_case_free(test);
    }
    if (!status)
        status = file_write(path, out.data, out.length, err);
    fuzz_source_free(source);
    str_release(&out);
    return status;
}

static void print(const struct fuzz_status *status, const struct watch_seen *seen, double wall, double self)
{
    printf("wall %.4f\nself %.4f\nengines %.4f\nreference %.4f\ncases %" PRIu64
           "\nwork %.3f\nrunning %.3f\ncores %d\n",
           wall, self, seen->engines + seen->reference, seen->reference, status->cases, seen->work,
           seen->running, seen->cores);
    for (size_t i = 0; i < status->n_engines; i++)
        printf("busy.%s %.3f\n", status->engines[i].label, status->engines[i].busy / wall);
}

/* As many times on each engine as it has workers: the pool gives a job to the one with the fewest. */
static int run_everywhere(const struct panel *panel, int workers, const struct test_case *test,
                          struct error *err)
{
    struct job job = {.n_inputs = test->n_inputs, .inputs = test->inputs}, done;
    const uint8_t *bytes;
    int status = test_case_bytes(test, &bytes, &job.model_size, err);
    job.model = bytes;
    for (size_t i = 0; i <= panel->count && !status; i++)
        for (int k = 0; k < workers; k++) {
            job.engine = i < panel->count ? panel->engines[i] : panel->reference;
            job.bounds = i == panel->count;
            pool_submit(panel->pool, &job);
        }
    struct result result;
    while (!status && (status = pool_next(panel->pool, -1, &done, &result, NULL, err)) == 1) {
        result_release(&result);
        status = 0;
    }
    return status;
}

/* The first sessions meet a library's pages and tables for the first time, as at its start. */
static int warm(const struct panel *panel, int workers, struct error *err)
{
    struct fuzz_source_options options = {.seed = SEED, .strategy = FUZZ_MCTS, .redraw = true};
    struct fuzz_source *source;
    int status = fuzz_source_new(&source, &options, err);
    for (size_t i = 0; i < WARM && !status; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, err))
            continue;
        status = run_everywhere(panel, workers, test, err);
        test_case_free(test);
    }
    fuzz_source_free(source);
    return status;
}

static void print_engine_parts(const char *name, const struct engine_parts *parts)
{
    printf("%s.load %.4f\n%s.run %.4f\n%s.unload %.4f\n%s.adapter %.4f\n%s.jobs %zu\n", name, parts->load,
           name, parts->run, name, parts->unload, name, parts->adapter, name, parts->jobs);
}

static void print_parts(const struct loop_parts *parts, double self, double starts, size_t started)
{
    double sum = 0;
    for (size_t i = 0; i < PARTS; i++) {
        printf("core.%s %.4f\n", loop_part_names[i], parts->core[i]);
        sum += parts->core[i];
    }
    printf("core.threads %.4f\n", self - sum);
    print_engine_parts("cases", &parts->cases);
    print_engine_parts("settling", &parts->settling);
    print_engine_parts("reference", &parts->reference);
    printf("starts %.4f\nstarted %zu\n", starts, started);
}

/* Of all workers so far: seconds that their starts took, and how many there were. */
static double start_seconds(const struct panel *panel, size_t *started)
{
    double sum = 0;
    *started = 0;
    for (size_t i = 0; i <= panel->count; i++) {
        int engine = i < panel->count ? panel->engines[i] : panel->reference;
        struct pool_counters counters = pool_counters(panel->pool, engine);
        sum += 1e-9 * (double)counters.start_ns;
        *started += counters.started;
    }
    return sum;
}

static int campaign(const char *folder, size_t count, int workers, char **labels, size_t n, struct error *err)
{
    struct pool_options limits = {.deadline = 10, .workers = workers, .times = true};
    struct registry *registry = NULL;
    struct panel panel;
    if (registry_open(&registry, NULL, 0, err) ||
        panel_open(&panel, registry,
                   given_all_typed(registry_arena(registry), (const char *const *)labels, n), &limits, err) ||
        panel_add_reference(&panel, registry, err))
        return -1;
    struct fuzz_options options = {
        .panel = &panel,
        .folder = folder,
        .source = {.seed = SEED, .strategy = FUZZ_MCTS, .redraw = true},
        .count = count,
    };
    struct fuzz_status status;
    struct watch_seen seen = {0};
    struct loop_parts parts = {0};
    size_t started, before;
    pool_warm(panel.pool);
    if (warm(&panel, workers, err))
        return -1;
    double starts = start_seconds(&panel, &before);
    struct watch *watch = watch_start();
    double wall = clock_seconds(), self = own_cpu();
    loop_parts_begin(&panel);
    int result = fuzz_run(&options, &status, err);
    loop_parts_end(&parts);
    wall = clock_seconds() - wall;
    watch_stop(watch, &seen);
    self = own_cpu() - self - seen.cpu;
    starts = start_seconds(&panel, &started) - starts;
    panel_close(&panel);
    if (!result) {
        print(&status, &seen, wall, self);
        print_parts(&parts, self, starts, started - before);
    }
    fuzz_status_release(&status);
    registry_free(registry);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int status = -1;
    if (argc == 4 && text_equal(argv[1], "record"))
        status = record(argv[2], strtoull(argv[3], NULL, 10), &err);
    else if (argc > 5 && text_equal(argv[1], "campaign"))
        status =
            campaign(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]), argv + 5, (size_t)argc - 5, &err);
    else
        error_set(&err, ERROR_USAGE, "see the head of bench/programs/loop.c");
    if (status)
        fprintf(stderr, "bench_loop: %s\n", err.message);
    return status ? 2 : 0;
}
