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
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, PERIOD_NS = 4000000 };

/* A process below this one, as it was seen last. */
struct seen_process {
    int pid;
    char name[16]; /* as the kernel cuts it */
    bool ready;
    double cpu;      /* seconds on a core of all its threads */
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
    struct look all;   /* every process that was seen, as it was seen last */
    double waited_for; /* seconds of children that had ended when watching began */
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

static double children_seconds(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double process_seconds(int pid)
{
    clockid_t clock;
    struct timespec time = {0};
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* /proc/PID/stat has the name in parentheses and the state behind it. */
static bool read_process(struct seen_process *process, int pid)
{
    char line[512];
    read_line(line, sizeof line, "/proc/%d/stat", pid);
    char *open = strchr(line, '('), *close = strrchr(line, ')');
    double cpu = process_seconds(pid);
    if (!open || !close || cpu <= 0)
        return false;
    *process = (struct seen_process){.pid = pid, .ready = close[2] == 'R', .cpu = cpu};
    *close = '\0';
    snprintf(process->name, sizeof process->name, "%s", open + 1);
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
        sum += then ? after->at[i].cpu - then->cpu : 0;
    }
    return sum;
}

static void *look_on(void *context)
{
    struct watch *watch = context;
    struct look looks[2] = {{0}};
    double since = clock_seconds(), start = since, all = 0;
    size_t samples = 0, working = 0;
    watch->waited_for = children_seconds();
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

/* Those that are there still are read once more. Those that have ended are counted by what their parents were
 * told, which is all of it, or by what was seen of them where nobody waited. */
static void count_all(struct watch *watch, struct watch_seen *seen)
{
    double ended = 0, ended_then = 0;
    for (size_t i = 0; i < watch->all.count; i++) {
        struct seen_process *process = &watch->all.at[i], now;
        bool reference = strcmp(process->name, "assay-engine-re") == 0;
        bool there = read_process(&now, process->pid);
        double cpu = there ? now.cpu : process->cpu;
        if (there || reference)
            *(reference ? &seen->reference : &seen->engines) += cpu - process->cpu_then;
        if (there)
            continue;
        ended += cpu - process->cpu_then;
        ended_then += process->cpu_then;
        seen->engines -= reference ? cpu - process->cpu_then : 0;
    }
    double told = children_seconds() - watch->waited_for - ended_then;
    seen->engines += told > ended ? told : ended;
}

void watch_stop(struct watch *watch, struct watch_seen *seen)
{
    if (!watch)
        return;
    watch->stop = true;
    pthread_join(watch->thread, NULL);
    *seen = watch->seen;
    count_all(watch, seen);
    free(watch);
}
