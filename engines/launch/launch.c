/*
 * assay-launch: puts an engine into its box, then becomes it.
 *
 *     assay-launch [--parent PID] [--scratch FOLDER] [--memory BYTES] [--watched] [--group FOLDER]
 *                  [--sandbox strict|default|off] [--see PATH]... [--write FILE]... [--plain] -- COMMAND...
 *     assay-launch --scratch FOLDER --walls
 *
 * Own session and process group, death with the parent, no core files, few open files, limits on address
 * space and on the size of files, no new privileges, the scratch folder as current and temporary folder, a
 * process that keeps what the engine starts together (sandbox.h), and a filter of system calls (filter.h).
 * With a sandbox also the walls of sandbox.h, where --see names what the engine may read and --write files
 * that it may write; strict refuses to run where one of them is missing. With --watched the address space has
 * no limit, as the supervisor looks at what the engine takes. --group is a cgroup for its processes. With
 * --plain (the command is itself a launcher: ssh, docker, adb) only session and parent. --walls prints which
 * walls stand.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_FILES = 1024,
    MAX_TASKS = 1024, /* processes and threads, where its own are counted alone */
    FIRST_FREE = 4,   /* the first descriptor that is nobody's: behind the shared memory */
    SMALL = 64 << 20, /* bytes of file systems in memory, and the part of the engine's memory that they are */
    SMALL_PART = 8,
};

struct box {
    long parent;
    const char *scratch, *group;
    unsigned long long memory;
    enum { SANDBOX_OFF, SANDBOX_DEFAULT, SANDBOX_STRICT } mode;
    struct sandbox sandbox;
    bool plain, walls, watched;
    char **command;
};

__attribute__((noreturn)) static void usage(void)
{
    fprintf(stderr, "usage: assay-launch [--parent PID] [--scratch FOLDER] [--memory BYTES] [--watched] "
                    "[--group FOLDER] [--sandbox strict|default|off] [--see PATH]... [--write FILE]... "
                    "[--plain] -- COMMAND...\n"
                    "       assay-launch --scratch FOLDER --walls\n");
    _exit(EXIT_LAUNCH);
}

static unsigned long long number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end)
        usage();
    return value;
}

static void parse_mode(struct box *box, const char *text)
{
    if (!strcmp(text, "strict"))
        box->mode = SANDBOX_STRICT;
    else if (!strcmp(text, "default"))
        box->mode = SANDBOX_DEFAULT;
    else if (strcmp(text, "off") != 0)
        usage();
}

static void add_path(const char **paths, size_t *count, const char *path)
{
    if (*path != '/')
        usage();
    paths[(*count)++] = path;
}

static void parse(struct box *box, int argc, char **argv)
{
    int i = 1;
    box->sandbox.seen = calloc((size_t)argc, sizeof *box->sandbox.seen);
    box->sandbox.written = calloc((size_t)argc, sizeof *box->sandbox.written);
    if (!box->sandbox.seen || !box->sandbox.written)
        sandbox_die("cannot read the options");
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--plain"))
            box->plain = true;
        else if (!strcmp(argv[i], "--watched"))
            box->watched = true;
        else if (!strcmp(argv[i], "--walls"))
            box->walls = true;
        else if (!strcmp(argv[i], "--sandbox") && more)
            parse_mode(box, argv[++i]);
        else if (!strcmp(argv[i], "--see") && more)
            add_path(box->sandbox.seen, &box->sandbox.n_seen, argv[++i]);
        else if (!strcmp(argv[i], "--write") && more)
            add_path(box->sandbox.written, &box->sandbox.n_written, argv[++i]);
        else if (!strcmp(argv[i], "--parent") && more)
            box->parent = (long)number(argv[++i]);
        else if (!strcmp(argv[i], "--memory") && more)
            box->memory = number(argv[++i]);
        else if (!strcmp(argv[i], "--scratch") && more)
            box->scratch = argv[++i];
        else if (!strcmp(argv[i], "--group") && more)
            box->group = argv[++i];
        else
            usage();
    }
    if (box->walls ? !box->scratch : i + 1 >= argc)
        usage();
    box->command = argv + i + 1;
    box->sandbox.scratch = box->scratch;
    box->sandbox.off = box->mode == SANDBOX_OFF && !box->walls;
    box->sandbox.small =
        box->memory && box->memory / SMALL_PART < SMALL ? (size_t)(box->memory / SMALL_PART) : SMALL;
}

static void die_with_parent(const struct box *box)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        sandbox_die("cannot ask to die with the parent");
    if (box->parent && getppid() != (pid_t)box->parent)
        _exit(EXIT_LAUNCH); /* it died before we asked */
}

/* The supervisor has usually made the session already. */
static void own_session(void)
{
    if (getsid(0) != getpid() && setsid() < 0)
        sandbox_die("cannot make a session");
}

/* Ignored signals survive exec: the supervisor ignores SIGPIPE, and nohup SIGHUP. */
static void default_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error to hear of, not a crash */
}

/* Never above what we were given ourselves. */
static void limit(int resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        sandbox_die("cannot read a limit");
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
        most = now.rlim_max;
    now.rlim_cur = now.rlim_max = most;
    if (setrlimit(resource, &now) < 0)
        sandbox_die("cannot set a limit");
}

static void set_limits(const struct box *box)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, MAX_FILES);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory takes terabytes of address space */
    if (box->memory && !box->watched)
        limit(RLIMIT_AS, (rlim_t)box->memory);
#endif
    if (box->memory)
        limit(RLIMIT_FSIZE, (rlim_t)box->memory);
}

/* Where that is refused the supervisor's watching has to do. */
static void enter_group(const struct box *box)
{
    char path[PATH_MAX];
    if (!box->group || snprintf(path, sizeof path, "%s/cgroup.procs", box->group) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t ignored = fd < 0 ? 0 : write(fd, "0", 1);
    (void)ignored;
    if (fd >= 0)
        close(fd);
}

static void enter_scratch(const struct box *box)
{
    if (!box->scratch)
        return;
    if (chdir(box->scratch) < 0)
        sandbox_die(box->scratch);
    setenv("TMPDIR", box->scratch, 1);
    if (box->mode != SANDBOX_OFF)
        setenv("HOME", box->scratch, 1);
}

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    va_list args;
    fputs("assay-launch: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(EXIT_LAUNCH);
}

/* The file that execvp would take: the name itself, or where the PATH has it. False: nowhere. */
static bool find_program(const char *name, char *path, size_t size)
{
    if (strchr(name, '/'))
        return snprintf(path, size, "%s", name) < (int)size;
    const char *at = getenv("PATH");
    struct stat status;
    for (at = at ? at : "/usr/bin:/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        int written = snprintf(path, size, "%.*s%s%s", length, at, length ? "/" : "", name);
        if (written < (int)size && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The interpreter that the first line of a script names must be there. */
static void check_interpreter(const char *path, const char *line)
{
    char name[PATH_MAX];
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t\n");
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    if (length && name[length - 1] == '\r')
        refuse("the lines of %s end as Windows ends them, so its interpreter is not found; convert it, for "
               "example with: sed -i 's/\\r$//' %s",
               path, path);
    if (access(name, F_OK) < 0)
        refuse("%s needs the interpreter '%s' of its first line, which does not exist; install it or name "
               "another in that line",
               path, name);
    if (access(name, X_OK) < 0)
        refuse("%s has '%s' in its first line, which is no program", path, name);
}

/* execvp would give a text without a first line to the shell, and a script in another language is then
 * misread line by line. */
static void check_format(const char *path)
{
    char head[PATH_MAX + 4] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof head - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return; /* it may be executed and not read */
    if (got >= 2 && head[0] == '#' && head[1] == '!')
        check_interpreter(path, head + 2);
    else if (got < 4 || memcmp(head, "\177ELF", 4) != 0)
        refuse("%s is no program: it begins neither as one nor with the line of its interpreter, for example "
               "'#!/usr/bin/env python3'",
               path);
}

/* What is the matter with the command, as far as it shows beforehand: the system's own words for it ("No such
 * file or directory" for an interpreter) mislead. */
static void check_command(const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    if (!find_program(name, path, sizeof path))
        refuse("there is no program '%s' in the folders of PATH; install it, or write its whole path", name);
    if (stat(path, &status) < 0 && *path != '/')
        refuse(
            "%s: %s; engines run in a folder of their own, so write the whole path, or {here}/%s for a file "
            "beside the engine file",
            path, strerror(errno), strncmp(path, "./", 2) == 0 ? path + 2 : path);
    if (stat(path, &status) < 0)
        refuse("%s: %s; correct 'command' in the engine file", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        refuse("%s is a folder; name the program in it", path);
    if (access(path, X_OK) < 0)
        refuse("%s is not executable; run: chmod +x %s, or write its interpreter before it: python3 %s", path,
               path, path);
    check_format(path);
}

static const char *if_any(bool any, const char *word)
{
    return any ? word : "none";
}

static void print_walls(const struct walls *walls)
{
    printf("files=%s\nprocesses=%s\nsignals=%s\nnetwork=%s\nuser=%s\nwhy=%s\n",
           walls->view ? "namespace" : if_any(walls->landlock, "landlock"),
           if_any(walls->processes, "namespace"), walls->signals ? "kernel" : "seccomp",
           walls->network ? "namespace" : "seccomp", walls->user ? "unprivileged" : "root", walls->why);
    exit(0);
}

static bool is_complete(const struct walls *walls)
{
    return walls->view && walls->processes && walls->network && walls->user;
}

static void run_boxed(struct box *box)
{
    struct walls walls;
    if (close_range(FIRST_FREE, UINT_MAX, 0) < 0 && errno != ENOSYS)
        sandbox_die("cannot close what is not the engine's");
    enter_group(box);
    set_limits(box);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        sandbox_die("cannot give up privileges");
    enter_scratch(box);
    if (!box->walls)
        check_command(box->command[0]);
    sandbox_enter(&box->sandbox, &walls);
    if (walls.counted)
        limit(RLIMIT_NPROC, MAX_TASKS);
    if (box->walls)
        print_walls(&walls);
    if (box->mode == SANDBOX_STRICT && !is_complete(&walls))
        refuse("the sandbox is strict and cannot be complete: %s; run with --sandbox default to do without",
               *walls.why ? walls.why : "no private /proc may be mounted");
    if (filter_load(&box->sandbox, &walls))
        sandbox_die("cannot load the filter");
}

int main(int argc, char **argv)
{
    struct box box = {0};
    parse(&box, argc, argv);
    die_with_parent(&box);
    own_session();
    default_signals();
    if (!box.plain)
        run_boxed(&box);
    else
        check_command(box.command[0]);
    execvp(box.command[0], box.command);
    if (box.mode != SANDBOX_OFF && (errno == ENOENT || errno == EACCES))
        refuse("%s cannot be executed in the sandbox, where it or its interpreter is not seen; name their "
               "folder with 'see' in the engine file, or run with --sandbox off",
               box.command[0]);
    sandbox_die(box.command[0]);
}
