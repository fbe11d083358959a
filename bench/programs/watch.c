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

enum { MOST = 256, PERIOD_NS = 4000000 };

/* A process below this one, as it was seen last. */
struct seen_process {
    int pid;
    char name[16]; /* as the kernel cuts it */
    bool ready;
    double ran;      /* seconds on a core, of its first thread, to the nanosecond */
    double cpu;      /* of all its threads, in ticks */
    double cpu_then; /* when watching began; 0: it began later */
};

struct look {
    size_t count;
    struct seen_process at[MOST];
};

struct watch {
    pthread_t thread;
    pid_t parent;
    atomic_bool stop;
    struct look all; /* every process that was seen, as it was seen last */
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

static size_t children_of(int parent, int *pids, size_t most)
{
    char path[64], line[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%%d/children", parent);
    read_line(line, sizeof line, path, parent);
    char *rest = line, *end;
    for (long pid = strtol(rest, &end, 10); end != rest && count < most; pid = strtol(rest, &end, 10)) {
        pids[count++] = (int)pid;
        rest = end;
    }
    return count;
}

/* All processes below: engines are children of a launcher, in a namespace of their own. */
static size_t descendants_of(int parent, int *pids)
{
    size_t count = children_of(parent, pids, MOST);
    for (size_t i = 0; i < count; i++)
        count += children_of(pids[i], pids + count, MOST - count);
    return count;
}

/* Fields of /proc/PID/stat: the name in parentheses, the state behind it, and 11 fields on the ticks in user
 * and in system mode. */
static bool read_process(struct seen_process *process, int pid)
{
    char line[512];
    unsigned long user = 0, system = 0;
    read_line(line, sizeof line, "/proc/%d/stat", pid);
    char *open = strchr(line, '('), *close = strrchr(line, ')');
    if (!open || !close ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return false;
    *process = (struct seen_process){.pid = pid, .ready = close[2] == 'R'};
    *close = '\0';
    snprintf(process->name, sizeof process->name, "%s", open + 1);
    process->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    read_line(line, sizeof line, "/proc/%d/schedstat", pid);
    process->ran = 1e-9 * strtod(line, NULL);
    return true;
}

static int take_look(struct look *look, pid_t parent)
{
    int pids[MOST], ready = 0;
    size_t count = descendants_of(parent, pids);
    look->count = 0;
    for (size_t i = 0; i < count; i++)
        if (read_process(&look->at[look->count], pids[i]))
            ready += look->at[look->count++].ready;
    return ready;
}

static struct seen_process *find(struct look *look, int pid)
{
    for (size_t i = 0; i < look->count; i++)
        if (look->at[i].pid == pid)
            return &look->at[i];
    return NULL;
}

/* Keeps what those who end have used. */
static void keep(struct look *all, const struct look *now, bool first)
{
    for (size_t i = 0; i < now->count; i++) {
        struct seen_process *known = find(all, now->at[i].pid);
        double then = known ? known->cpu_then : first ? now->at[i].cpu : 0;
        if (!known && all->count == MOST)
            continue;
        known = known ? known : &all->at[all->count++];
        *known = now->at[i];
        known->cpu_then = then;
    }
}

/* What those who were there both times have run meanwhile. */
static double ran_between(struct look *before, const struct look *after)
{
    double sum = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct seen_process *then = find(before, after->at[i].pid);
        sum += then ? after->at[i].ran - then->ran : 0;
    }
    return sum;
}

static void *look_on(void *context)
{
    struct watch *watch = context;
    struct look looks[2] = {{0}};
    double since = clock_seconds(), start = since, all = 0;
    size_t samples = 0, working = 0;
    take_look(&looks[0], watch->parent);
    keep(&watch->all, &looks[0], true);
    while (!watch->stop) {
        nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS}, NULL);
        struct look *before = &looks[samples % 2], *now = &looks[++samples % 2];
        working += take_look(now, watch->parent) >= watch->seen.cores;
        keep(&watch->all, now, false);
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
    for (size_t i = 0; i < watch->all.count; i++) {
        const struct seen_process *process = &watch->all.at[i];
        bool reference = strcmp(process->name, "assay-engine-re") == 0;
        *(reference ? &seen->reference : &seen->engines) += process->cpu - process->cpu_then;
    }
    free(watch);
}
