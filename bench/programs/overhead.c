#include "overhead.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int read_case(const char *folder, const char *line, size_t number, struct overhead_case *out,
                     struct error *err)
{
    char name[64];
    struct shape shape = {.rank = 4};
    long long dims[4];
    if (sscanf(line, "%63s %lld %lld %lld %lld", name, &dims[0], &dims[1], &dims[2], &dims[3]) != 5)
        return error_set(err, ERROR_FORMAT, "%s/list: bad line %zu", folder, number + 1);
    for (int i = 0; i < 4; i++)
        shape.dims[i] = dims[i];
    char *path = file_join(folder, name);
    int result = file_read(path, 1 << 20, &out->model, &out->size, err);
    free(path);
    if (result < 0 || tensor_alloc(&out->input, DTYPE_FLOAT, &shape, 1 << 20, err) < 0)
        return -1;
    struct rng rng = rng_seed(number);
    float *values = out->input.data;
    for (size_t i = 0; i < out->input.count; i++)
        values[i] = (float)rng_uniform(&rng, -1, 1);
    return 0;
}

int overhead_read(const char *folder, struct overhead_case **cases, size_t *count, struct error *err)
{
    size_t size, capacity = 0;
    char *text = NULL, *rest = NULL, *path = file_join(folder, "list");
    *cases = NULL;
    *count = 0;
    int result = file_read(path, 1 << 20, &text, &size, err);
    free(path);
    if (result < 0)
        return -1;
    for (char *line = strtok_r(text, "\n", &rest); line && result == 0; line = strtok_r(NULL, "\n", &rest)) {
        *cases = memory_grow(*cases, &capacity, *count + 1, sizeof **cases);
        struct overhead_case *one = &(*cases)[*count];
        *one = (struct overhead_case){0};
        tensor_init(&one->input);
        result = read_case(folder, line, (*count)++, one, err);
    }
    free(text);
    return result;
}

void overhead_free(struct overhead_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(cases[i].model);
        tensor_release(&cases[i].input);
    }
    free(cases);
}

static void take_turns(size_t count, void (*run)(void *context, size_t number), void *context)
{
    size_t from, cases;
    while (scanf("%zu %zu", &from, &cases) == 2) {
        for (size_t i = from; i < from + cases && i < count; i++)
            run(context, i);
        putchar('\n');
        fflush(stdout);
    }
}

/* What the cases of a bare loop called back: they have no other way to it. */
static struct {
    bool on;
    int64_t since, load, run, unload;
} times;

static void add_since(int64_t *to)
{
    int64_t now = times.on ? clock_process_ns() : 0;
    *to += now - times.since;
    times.since = now;
}

void overhead_loaded(void)
{
    add_since(&times.load);
}

void overhead_ran(void)
{
    add_since(&times.run);
}

static void print_times(size_t count, void (*run)(void *context, size_t number), void *context)
{
    times.on = true;
    for (size_t i = 0; i < count; i++) {
        times.since = clock_process_ns();
        run(context, i);
        add_since(&times.unload);
    }
    printf("load %.6f run %.6f unload %.6f\n", 1e-9 * (double)times.load, 1e-9 * (double)times.run,
           1e-9 * (double)times.unload);
}

void overhead_bare(size_t count, void (*run)(void *context, size_t number), void *context)
{
    run(context, 0);
    if (getenv("OVERHEAD_TURNS")) {
        take_turns(count, run, context);
        return;
    }
    if (getenv("OVERHEAD_TIMES")) {
        print_times(count, run, context);
        return;
    }
    double cpu = overhead_cpu(), start = clock_seconds();
    for (size_t i = 0; i < count; i++)
        run(context, i);
    double wall = clock_seconds() - start;
    overhead_print(wall, overhead_cpu() - cpu, count);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

double overhead_cpu(void)
{
    struct rusage self = {0}, children = {0};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) +
           seconds(children.ru_stime);
}

void overhead_print(double wall, double cpu, size_t count)
{
    printf("wall %.6f cpu %.6f cases %zu\n", wall, cpu, count);
}
