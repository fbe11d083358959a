#include "base/progress.h"

#include "base/clock.h"
#include "base/memory.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the work writes and the thread reads; the condition tells the thread to end. */
struct progress_line {
    const char *what;
    _Atomic size_t total;
    _Atomic double started;
    _Atomic double end; /* on the clock, when time is limited; else 0 */
    _Atomic size_t done, runs;
    _Atomic(const char *) doing;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    double next; /* when the line is drawn next, under the mutex as all below */
    bool drawn, ended;
};

static const double first_after = 1, redrawn_after = 0.5; /* seconds */

/* Not through stdio: the work may be writing to stderr itself. */
static void put(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* a terminal that is gone shows nothing */
}

/* Seconds until the work is done: by its rate, and by the limit of its time; negative: nobody knows. */
static double time_left(const struct progress_line *line, size_t done, size_t total, double rate)
{
    double by_rate = done && done < total ? (double)(total - done) / rate : -1, end = line->end;
    double by_limit = end > 0 ? fmax(end - clock_seconds(), 0) : by_rate;
    return by_rate < 0 ? by_limit : fmin(by_rate, by_limit);
}

static void draw(struct progress_line *line)
{
    char text[300];
    size_t done = line->done, total = line->total, room = sizeof text, used;
    size_t runs = line->runs;
    const char *doing = line->doing;
    double seconds = clock_seconds() - line->started, rate = (double)done / seconds;
    used = (size_t)snprintf(text, room, "\r\033[K%.80s", line->what);
    if (total)
        used += (size_t)snprintf(text + used, room - used, " %zu/%zu", done, total);
    else if (done)
        used += (size_t)snprintf(text + used, room - used, " %zu", done);
    if (runs)
        used += (size_t)snprintf(text + used, room - used, ", %zu run%s", runs, runs == 1 ? "" : "s");
    if (done && done != total)
        used += (size_t)snprintf(text + used, room - used, "  %.3g/s", rate);
    if (doing)
        used += (size_t)snprintf(text + used, room - used, "  %.80s", doing);
    used += (size_t)snprintf(text + used, room - used, "  %.0f s", seconds);
    double left = time_left(line, done, total, rate);
    if (left >= 0)
        snprintf(text + used, room - used, ", %.0f s left", left);
    put(text);
}

static void wipe(struct progress_line *line)
{
    if (line->drawn)
        put("\r\033[K");
    line->drawn = false;
}

static void *redraw(void *context)
{
    struct progress_line *line = context;
    pthread_mutex_lock(&line->mutex);
    while (!line->ended) {
        double next = line->next;
        struct timespec until = {(time_t)next, (long)((next - (double)(time_t)next) * 1e9)};
        if (pthread_cond_timedwait(&line->condition, &line->mutex, &until) == 0 ||
            clock_seconds() < line->next)
            continue;
        draw(line);
        line->drawn = true;
        line->next = clock_seconds() + redrawn_after;
    }
    pthread_mutex_unlock(&line->mutex);
    wipe(line);
    return NULL;
}

/* Signals are for the thread that does the work. */
static bool start(struct progress_line *line)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&line->thread, NULL, redraw, line) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void progress_begin(struct progress *progress, const char *what, size_t total)
{
    *progress = (struct progress){0};
    if (!isatty(STDERR_FILENO))
        return;
    struct progress_line *line = memory_zeroed(1, sizeof *line);
    pthread_condattr_t attributes;
    line->what = what;
    line->total = total;
    line->started = clock_seconds();
    line->next = line->started + first_after;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&line->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&line->mutex, NULL);
    if (start(line))
        progress->line = line;
    else
        free(line);
}

void progress_restart(struct progress *progress)
{
    struct progress_line *line = progress->line;
    if (!line)
        return;
    pthread_mutex_lock(&line->mutex);
    wipe(line);
    line->started = clock_seconds();
    line->next = line->started + first_after;
    line->done = line->runs = 0;
    pthread_mutex_unlock(&line->mutex);
}

void progress_limit(struct progress *progress, double seconds)
{
    if (progress && progress->line)
        progress->line->end = seconds > 0 ? clock_seconds() + seconds : 0;
}

void progress_total(struct progress *progress, size_t total)
{
    if (progress && progress->line)
        progress->line->total = total;
}

void progress_step(struct progress *progress, size_t done)
{
    if (progress && progress->line)
        progress->line->done = done;
}

void progress_add(struct progress *progress)
{
    if (progress && progress->line)
        progress->line->done++;
}

void progress_runs(struct progress *progress, size_t more)
{
    if (progress && progress->line)
        progress->line->runs += more;
}

void progress_doing(struct progress *progress, const char *doing)
{
    if (progress && progress->line)
        progress->line->doing = doing;
}

void progress_end(struct progress *progress)
{
    struct progress_line *line = progress->line;
    if (!line)
        return;
    pthread_mutex_lock(&line->mutex);
    line->ended = true;
    pthread_cond_signal(&line->condition);
    pthread_mutex_unlock(&line->mutex);
    pthread_join(line->thread, NULL);
    pthread_cond_destroy(&line->condition);
    pthread_mutex_destroy(&line->mutex);
    free(line);
    progress->line = NULL;
}
