#define _GNU_SOURCE
#include "engine/orphans.h"

#include "base/clock.h"
#include "base/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long processes that start others as fast as they can may hold Assay, and the pause between two looks.
 */
static const int64_t patience = 250 * (int64_t)1000000;
enum { NAP = 200, TEXT = 1 << 16 };

struct living {
    pid_t pid;
    bool by_launcher;
};

static struct living *living;
static size_t n_living, room;
static pid_t *strangers; /* children that were there before the first worker; no engine's */
static size_t n_strangers;
static bool adopting;

static bool is_orphan(pid_t pid)
{
    for (size_t i = 0; i < n_living; i++)
        if (living[i].pid == pid)
            return false;
    for (size_t i = 0; i < n_strangers; i++)
        if (strangers[i] == pid)
            return false;
    pid_t session = getsid(pid);
    return session > 0 && session != getsid(0);
}

/* The children of this process; none where the kernel does not tell. Adopted ones go to its first thread. */
static pid_t *list_children(size_t *count)
{
    char path[80], *text = memory_zeroed(1, TEXT), *end;
    pid_t *list = memory_zeroed(TEXT / 2, sizeof *list);
    *count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, TEXT - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (char *at = text; got > 0; at = end) {
        pid_t pid = (pid_t)strtol(at, &end, 10);
        if (end == at)
            break;
        list[(*count)++] = pid;
    }
    free(text);
    return list;
}

/*
 * Kills all of them and takes note of those that have ended. Returns how many there were. It does not wait
 * for a single one: the first process of a namespace ends only when the others of it, which may be ours too,
 * are gone.
 */
static size_t kill_adopted(void)
{
    size_t count = 0, n_children;
    pid_t *children = list_children(&n_children);
    for (size_t i = 0; i < n_children; i++) {
        if (!is_orphan(children[i]))
            continue;
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, WNOHANG);
        count++;
    }
    free(children);
    return count;
}

static void end_adopted(void)
{
    int64_t until = adopting ? clock_ns() + patience : 0;
    while (adopting && kill_adopted() && clock_ns() < until)
        usleep(NAP); /* processes that are left are looked for again when the next worker ends */
}

static void adopt(bool on)
{
    if (!on)
        end_adopted();
    if (on != adopting)
        prctl(PR_SET_CHILD_SUBREAPER, on, 0, 0, 0);
    adopting = on;
}

static bool may_adopt(void)
{
    for (size_t i = 0; i < n_living; i++)
        if (living[i].by_launcher)
            return false;
    return n_living > 0;
}

void orphans_worker_comes(bool by_launcher)
{
    if (n_living == 0) {
        free(strangers);
        strangers = list_children(&n_strangers);
    }
    adopt(!by_launcher && (n_living == 0 || may_adopt()));
}

void orphans_worker_lives(pid_t worker, bool by_launcher)
{
    living = memory_grow(living, &room, n_living + 1, sizeof *living);
    living[n_living++] = (struct living){worker, by_launcher};
}

void orphans_worker_ended(pid_t worker)
{
    for (size_t i = 0; i < n_living; i++)
        if (living[i].pid == worker) {
            living[i] = living[--n_living];
            break;
        }
    end_adopted();
    adopt(may_adopt());
    if (n_living == 0) {
        free(living);
        free(strangers);
        living = NULL;
        strangers = NULL;
        room = n_strangers = 0;
    }
}
