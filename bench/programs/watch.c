#define _GNU_SOURCE
#include "watch.h"

#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, PERIOD_NS = 4000000 };

struct watch {
    pthread_t thread;
    pid_t parent;
    atomic_bool stop;
    struct watch_seen seen;
};

static int count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* One line of a file in /proc; empty when it is gone. */
static void read_line(char *line, size_t size, const char *format, int pid)
{
    char path[64];
    snprintf(path, sizeof path, format, pid);
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    if (file && !fgets(line, (int)size, file))
        line[0] = '\0';
    if (file)
        fclose(file);
}

static size_t children_of(pid_t parent, int *pids)
{
    char path[64], line[1024];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%%d/children", (int)parent);
    read_line(line, sizeof line, path, (int)parent);
    char *rest = line, *end;
    for (long pid = strtol(rest, &end, 10); end != rest && count < MOST; pid = strtol(rest, &end, 10)) {
        pids[count++] = (int)pid;
        rest = end;
    }
    return count;
}

static double ran(int pid)
{
    char line[128];
    read_line(line, sizeof line, "/proc/%d/schedstat", pid);
    return 1e-9 * strtod(line, NULL);
}

static bool is_ready(int pid)
{
    char line[512];
    read_line(line, sizeof line, "/proc/%d/stat", pid);
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

double watch_children(const char *name)
{
    int pids[MOST];
    size_t count = children_of(getpid(), pids);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        char line[64];
        read_line(line, sizeof line, "/proc/%d/comm", pids[i]);
        if (strncmp(line, name, strlen(name)) == 0)
            sum += ran(pids[i]);
    }
    return sum;
}

struct look {
    size_t count;
    int pids[MOST];
    double ran[MOST];
};

static int take_look(struct look *look, pid_t parent)
{
    int ready = 0;
    look->count = children_of(parent, look->pids);
    for (size_t i = 0; i < look->count; i++) {
        look->ran[i] = ran(look->pids[i]);
        ready += is_ready(look->pids[i]);
    }
    return ready;
}

/* What those who were there both times have run meanwhile. */
static double ran_between(const struct look *before, const struct look *after)
{
    double sum = 0;
    for (size_t i = 0; i < after->count; i++)
        for (size_t k = 0; k < before->count; k++)
            if (before->pids[k] == after->pids[i])
                sum += after->ran[i] - before->ran[k];
    return sum;
}

static void *look_on(void *context)
{
    struct watch *watch = context;
    struct look looks[2] = {{0}};
    double since = clock_seconds(), start = since, all = 0;
    size_t samples = 0, working = 0;
    take_look(&looks[0], watch->parent);
    while (!watch->stop) {
        nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS}, NULL);
        struct look *before = &looks[samples % 2], *now = &looks[++samples % 2];
        working += take_look(now, watch->parent) >= watch->seen.cores;
        double clock = clock_seconds(), passed = clock - since;
        /* If they ran for more than all cores but one have, the rest was on the last one at the same time. */
        double together = ran_between(before, now) - passed * (watch->seen.cores - 1);
        all += together > passed ? passed : together > 0 ? together : 0;
        since = clock;
    }
    struct timespec own = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    watch->seen.cpu = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
    watch->seen.work = samples ? (double)working / (double)samples : 0;
    watch->seen.running = since > start ? all / (since - start) : 0;
    return NULL;
}

struct watch *watch_start(void)
{
    struct watch *watch = memory_zeroed(1, sizeof *watch);
    watch->parent = getpid();
    watch->seen.cores = count_cores();
    if (!pthread_create(&watch->thread, NULL, look_on, watch))
        return watch;
    free(watch);
    return NULL;
}

void watch_stop(struct watch *watch, struct watch_seen *seen)
{
    if (!watch)
        return;
    watch->stop = true;
    pthread_join(watch->thread, NULL);
    *seen = watch->seen;
    free(watch);
}
