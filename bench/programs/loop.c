/*
 * The programs behind bench/loop.
 *
 *     bench_loop record FILE COUNT           the campaign's first cases, written down
 *     bench_loop campaign FOLDER COUNT WORKERS ENGINE...      so many workers for each engine
 *
 * campaign prints "wall W self S engines E reference R cases N work B running C cores N": seconds of the
 * clock, of this process's CPU and of the engines' (the reference's among them, and alone) from the moment
 * they are up; then the shares of the wall time, sampled, during which as many engine processes as there are
 * cores had something to compute (state R), and during which they were seen to run on all of them (see
 * watch.c). At last "busy LABEL SHARE" of the wall time during which each engine had a request.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "campaign/fuzz.h"
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SEED = 1 };

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
    printf("wall %.3f self %.3f engines %.3f reference %.3f cases %" PRIu64
           " work %.3f running %.3f cores %d\n",
           wall, self - seen->cpu, seen->engines + seen->reference, seen->reference, status->cases,
           seen->work, seen->running, seen->cores);
    for (size_t i = 0; i < status->n_engines; i++)
        printf("busy %s %.3f\n", status->engines[i].label, status->engines[i].busy / wall);
}

static int campaign(const char *folder, size_t count, int workers, char **labels, size_t n, struct error *err)
{
    struct pool_options limits = {.deadline = 10, .workers = workers};
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
    pool_warm(panel.pool);
    struct watch *watch = watch_start();
    double wall = clock_seconds(), self = own_cpu();
    int result = fuzz_run(&options, &status, err);
    wall = clock_seconds() - wall;
    watch_stop(watch, &seen);
    self = own_cpu() - self;
    panel_close(&panel);
    if (!result)
        print(&status, &seen, wall, self);
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
