#define _GNU_SOURCE
#include "engine/orphans.h"

#include "base/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rounds until nothing more is adopted, and microseconds between them: a process that starts others as fast
 * as it can may win a few. */
enum { ROUNDS = 200, NAP = 1000, TEXT = 1 << 16 };

struct living {
    pid_t pid;
    bool by_launcher;
};

static struct living *living;
static size_t n_living, room;
static bool adopting;

static bool is_orphan(pid_t pid)
{
    for (size_t i = 0; i < n_living; i++)
        if (living[i].pid == pid)
            return false;
    pid_t session = getsid(pid);
    return session > 0 && session != getsid(0);
}

/* The children of this process, as text; NULL where the kernel does not tell. Adopted ones go to its first
 * thread. */
static char *list_children(void)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = memory_zeroed(1, TEXT);
    ssize_t got = read(fd, text, TEXT - 1);
    close(fd);
    if (got > 0)
        return text;
    free(text);
    return NULL;
}

/*
 * Kills all of them and takes note of those that have ended. Returns how many there were. It does not wait
 * for a single one: the first process of a namespace ends only when the others of it, which may be ours too,
 * are gone.
 */
static size_t kill_adopted(void)
{
    size_t count = 0;
    char *text = list_children(), *end;
    for (char *at = text; at; at = end) {
        pid_t pid = (pid_t)strtol(at, &end, 10);
        if (end == at)
            break;
        if (!is_orphan(pid))
            continue;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG);
        count++;
    }
    free(text);
    return count;
}

static void end_adopted(void)
{
    for (int round = 0; adopting && round < ROUNDS && kill_adopted(); round++)
        usleep(NAP); /* who is left after the last round is met again when the next worker ends */
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

void orphans_worker_lives(pid_t worker, bool by_launcher)
{
    living = memory_grow(living, &room, n_living + 1, sizeof *living);
    living[n_living++] = (struct living){worker, by_launcher};
    adopt(may_adopt());
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
        living = NULL;
        room = 0;
    }
}
