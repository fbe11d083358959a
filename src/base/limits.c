#include "base/limits.h"

#include "base/clock.h"
#include "base/heap.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    STEPS = 1 << 16, /* between two looks at the clock */
    SMALL = 1 << 20, /* bytes between two looks at the heap */
    TROUBLE = 2,     /* the exit status */
    TEXT = 200,
};

/* Work that asks whether it is late gets this much longer to notice and to clean up. */
static const double grace_factor = 2, grace_seconds = 5;

static struct limits limit;
static int depth;
static int64_t until; /* in clock_ns */
static bool late;
static size_t steps_done, bytes_since;
static char last_words[TEXT];

void limits_set(struct limits limits)
{
    limit = limits;
    snprintf(last_words, sizeof last_words,
             "assay: the reference did not stop %.3g s after its time was over (--deadline): giving up\n",
             (grace_factor - 1) * limits.seconds + grace_seconds);
}

struct limits limits_get(void)
{
    return limit;
}

static void give_up(int signal)
{
    (void)signal;
    ssize_t written = write(STDERR_FILENO, last_words, strnlen(last_words, sizeof last_words));
    (void)written;
    _exit(TROUBLE);
}

static void set_alarm(double seconds)
{
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    timer.it_value.tv_usec = seconds > 0 ? (suseconds_t)((seconds - floor(seconds)) * 1e6) + 1 : 0;
    setitimer(ITIMER_REAL, &timer, NULL);
}

void limits_begin(void)
{
    if (depth++ || !(limit.seconds > 0))
        return;
    struct sigaction action = {.sa_handler = give_up};
    sigaction(SIGALRM, &action, NULL);
    set_alarm(fmin(grace_factor * limit.seconds + grace_seconds, 1e8));
    until = clock_ns() + (int64_t)(fmin(limit.seconds, 1e8) * 1e9);
    late = false;
    steps_done = 0;
}

void limits_end(void)
{
    if (--depth || !(limit.seconds > 0))
        return;
    set_alarm(0);
    late = false;
}

static bool look(void)
{
    if (depth > 0 && limit.seconds > 0 && !late)
        late = clock_ns() > until;
    return late;
}

bool limits_late(size_t steps)
{
    steps_done += steps < STEPS ? steps : STEPS;
    if (steps_done < STEPS)
        return late;
    steps_done = 0;
    return look();
}

int limits_check(struct error *err)
{
    return look() ? error_set(err, ERROR_LIMIT, "takes longer than the %.3g s allowed (--deadline)",
                              limit.seconds)
                  : 0;
}

int limits_room(size_t count, size_t size, struct error *err)
{
    size_t bytes = count > SIZE_MAX / size ? SIZE_MAX : count * size;
    if (!limit.bytes)
        return 0;
    bytes_since += bytes < limit.bytes ? bytes : limit.bytes;
    if (bytes_since < SMALL && bytes_since < limit.bytes / 16)
        return 0;
    bytes_since = 0;
    size_t used = heap_used();
    if (used <= limit.bytes && bytes <= limit.bytes - used)
        return 0;
    return error_set(err, ERROR_LIMIT, "needs %zu MB more than the %zu MB of memory allowed (--memory)",
                     ((bytes - (used < limit.bytes ? limit.bytes - used : 0)) >> 20) + 1, limit.bytes >> 20);
}
