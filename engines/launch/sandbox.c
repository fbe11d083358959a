#define _GNU_SOURCE
#include "sandbox.h"

#include "landlock.h"
#include "user.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long an engine that has ended may hold us by what it left behind, and the time between two looks: a
 * process that starts others as fast as it can may win many of them. */
enum { PATIENCE_MS = 300, LOOK_MS = 1, MS = 1000 * 1000 };

/* What the process that stays outside knows about the one that becomes the engine. */
struct keeper {
    pid_t engine;
    pid_t first; /* of the namespace of processes: with its end all others in it end; 0: there is none, -1: it
                    was buried */
    bool scoped; /* signals of ours reach nobody but the engine's processes */
    bool free;   /* there are no walls: it may become any user that root can */
};

struct entrance {
    const struct sandbox *sandbox;
    struct walls *walls;
    int proc;    /* the folder /proc as it is outside */
    bool root;   /* root starts it */
    bool nobody; /* it is to become nobody */
    int mapped;  /* a user namespace in which files of root are nobody's, or -1 */
};

void sandbox_die(const char *what)
{
    fprintf(stderr, "assay-launch: %s: %s\n", what, strerror(errno));
    _exit(EXIT_LAUNCH);
}

static void note(struct walls *walls, const char *what)
{
    snprintf(walls->why, sizeof walls->why, "%s: %s", what, strerror(errno));
}

/* Root makes them as root, so that it can become nobody afterwards; a user is root in one of its own. */
static int make_namespaces(struct entrance *entrance)
{
    const int all = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    const char *failed;
    entrance->mapped = entrance->root ? user_map_root() : -1; /* before: its process would be the first one */
    entrance->nobody = entrance->root && unshare(all) == 0;
    if (entrance->nobody)
        return 0;
    if (user_enter_namespaces(entrance->proc, all, &failed) == 0) {
        entrance->walls->counted = true;
        if (entrance->root)
            snprintf(entrance->walls->why, sizeof entrance->walls->why,
                     "root starts it, and may not make namespaces in which it is an unprivileged user");
        return 0;
    }
    note(entrance->walls, failed);
    return -1;
}

static void build_view(struct entrance *entrance)
{
    struct walls *walls = entrance->walls;
    const char *scratch = entrance->sandbox->scratch, *refused = NULL;
    walls->view = view_build(entrance->sandbox, entrance->nobody, entrance->mapped, &refused) == 0;
    if (entrance->mapped >= 0)
        close(entrance->mapped);
    if (!walls->view) {
        note(walls, "cannot build a file system of its own");
        umount2(scratch, MNT_DETACH); /* if it had come that far */
        if (chdir(scratch) < 0)
            sandbox_die(scratch);
    }
    entrance->nobody = entrance->nobody && walls->view && !refused;
    if (walls->view && refused)
        snprintf(walls->why, sizeof walls->why,
                 "root starts it, and %.400s can be shown to an unprivileged user neither as it is nor by "
                 "its file system",
                 refused);
}

static void close_all(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close_range(3, UINT_MAX, 0);
}

/* The first process of its namespace. It has nothing to do but to be there, and to bury processes that lost
 * their parents. */
static pid_t start_first(bool *sees_proc)
{
    int told[2];
    char answer = 0;
    if (pipe2(told, O_CLOEXEC) < 0)
        return -1;
    pid_t first = fork();
    if (first == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer = view_mount_proc() == 0 ? 'y' : 'n';
        ssize_t ignored = write(told[1], &answer, 1);
        (void)ignored;
        user_clear_capabilities();
        close_all();
        signal(SIGCHLD, SIG_IGN);
        for (;;)
            pause();
    }
    close(told[1]);
    if (first > 0 && read(told[0], &answer, 1) != 1)
        answer = 0;
    close(told[0]);
    *sees_proc = answer == 'y';
    return first;
}

static void kill_children(void)
{
    char path[80], text[1 << 16], *end;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    for (char *at = text;; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            return;
        kill((pid_t)child, SIGKILL);
    }
}

/* Ends the engine and all that it started. With a scope of signals no process can escape by starting another:
 * the kernel sends to all of them at once. */
static void end_all(const struct keeper *keeper)
{
    if (keeper->first > 0)
        kill(keeper->first, SIGKILL);
    else if (keeper->first < 0)
        return; /* its number may be another process's by now */
    else if (keeper->scoped)
        kill(-1, SIGKILL);
    else
        kill_children();
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / MS;
}

/* Buries what has ended; true when nothing is left. *status: of the engine, once *ended. */
static bool bury(struct keeper *keeper, bool *ended, int *status)
{
    for (;;) {
        int how;
        pid_t pid = waitpid(-1, &how, WNOHANG);
        if (pid == 0)
            return false;
        if (pid < 0 && errno != EINTR)
            return true;
        if (pid > 0 && pid == keeper->first)
            keeper->first = -1;
        if (pid == keeper->engine) {
            *status = how;
            *ended = true;
        }
    }
}

/* Ends as the engine did, by a signal (0: none) or with an exit status. */
__attribute__((noreturn)) static void end_alike(int number, int status)
{
    sigset_t none;
    if (!number)
        _exit(status);
    signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    kill(getpid(), number);
    _exit(EXIT_LAUNCH);
}

/* Waits for the engine's end, and ends as it did when nothing of it is left. One that was to be ended was
 * killed, even if it happened to end by itself before. */
__attribute__((noreturn)) static void keep(struct keeper *keeper, const sigset_t *awaited)
{
    bool ended = false, asked = false;
    int status = 0;
    signal(SIGTERM, SIG_IGN); /* it goes to the whole group, and is the engine's to answer */
    close_all();
    while (!bury(keeper, &ended, &status) && !ended)
        if (sigwaitinfo(awaited, NULL) == SIGHUP) {
            asked = true;
            end_all(keeper);
        }
    for (long start = now_ms(); now_ms() - start < PATIENCE_MS;) {
        end_all(keeper);
        if (bury(keeper, &ended, &status))
            break;
        asked |= sigtimedwait(awaited, NULL, &(struct timespec){.tv_nsec = LOOK_MS * MS}) == SIGHUP;
    }
    asked |= sigtimedwait(awaited, NULL, &(struct timespec){0}) == SIGHUP; /* which comes before SIGCHLD */
    end_alike(asked ? SIGKILL : WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
}

/* The process goes on as a child; its parent keeps it. */
static void part(struct keeper *keeper)
{
    sigset_t awaited, none;
    pid_t self = getpid(), parent = getppid();
    sigemptyset(&none);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    keeper->engine = fork();
    if (keeper->engine < 0)
        sandbox_die("cannot start the engine's process");
    if (keeper->engine > 0) {
        if (!keeper->free)
            user_clear_capabilities();
        if (!keeper->first && !keeper->scoped)
            prctl(PR_SET_DUMPABLE, 0); /* nothing else may keep the engine from looking into it */
        prctl(PR_SET_PDEATHSIG, SIGHUP);
        if (getppid() != parent)
            raise(SIGHUP); /* it died before we asked */
        keep(keeper, &awaited);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!keeper->first && getppid() != self)
        _exit(EXIT_LAUNCH);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Enters the view, and goes on in a child that is in the new namespace of processes. */
static void go_on_inside(struct entrance *entrance)
{
    struct walls *walls = entrance->walls;
    bool sees_proc = false;
    struct keeper keeper = {.first = start_first(&sees_proc)};
    if (keeper.first < 0)
        sandbox_die("cannot start the first process of a namespace");
    if (walls->view) {
        /* A container may forbid a /proc of one's own; then the engine has the container's, to read. */
        if (!sees_proc && view_show_proc() < 0)
            sandbox_die("cannot give the engine /proc");
        if (view_enter())
            sandbox_die("cannot enter the sandbox");
        walls->processes = sees_proc;
    }
    part(&keeper);
    if (walls->view && chdir(entrance->sandbox->scratch) < 0)
        sandbox_die(entrance->sandbox->scratch);
    if (entrance->nobody && user_become_nobody(entrance->proc, &walls->counted))
        sandbox_die("cannot become an unprivileged user");
    walls->user = !entrance->root || entrance->nobody;
    walls->network = walls->signals = true;
}

/* Without namespaces: what the engine leaves behind becomes ours, and signals of ours reach only it, where
 * the kernel can do that. Then the engine's own do not reach us either. */
static void go_on_outside(struct entrance *entrance)
{
    struct keeper keeper = {.free = entrance->sandbox->off};
    pid_t parent = getppid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    keeper.scoped = landlock_scope_signals() && kill(parent, 0) < 0 && errno == EPERM;
    part(&keeper);
    entrance->walls->user = !entrance->root;
    entrance->walls->signals = keeper.scoped;
    if (entrance->sandbox->off)
        landlock_scope_signals();
}

void sandbox_enter(const struct sandbox *sandbox, struct walls *walls)
{
    *walls = (struct walls){0};
    struct entrance entrance = {.sandbox = sandbox,
                                .walls = walls,
                                .proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                                .root = user_is_root()};
    if (!sandbox->off && make_namespaces(&entrance) == 0) {
        build_view(&entrance);
        go_on_inside(&entrance);
    } else {
        go_on_outside(&entrance);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of user took back */
    if (!sandbox->off && !entrance.nobody && user_drop_capabilities() && walls->network)
        sandbox_die("cannot give up capabilities");
    if (!sandbox->off && !walls->view)
        landlock_enter(sandbox, walls);
    close(entrance.proc);
}
