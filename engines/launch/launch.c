/*
 * assay-launch: puts an engine into its box, then becomes it.
 *
 *     assay-launch [--parent PID] [--scratch FOLDER] [--memory BYTES] [--bubblewrap] [--plain] -- COMMAND...
 *
 * Own session and process group, death with the parent, no core files, few open files, an address-space
 * limit, no new privileges, the scratch folder as current and temporary folder, and a seccomp filter against
 * sockets and ptrace. With --bubblewrap also a file system that is read-only outside the scratch folder, and
 * namespaces of its own. With --plain (the command is itself a launcher: ssh, docker, adb) only session and
 * parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_LAUNCH = 125, MAX_FILES = 1024, MAX_ARGUMENTS = 64 };

struct box {
    long parent;
    const char *scratch;
    unsigned long long memory;
    bool bubblewrap, plain;
    char **command;
};

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "assay-launch: %s: %s\n", what, strerror(errno));
    _exit(EXIT_LAUNCH);
}

__attribute__((noreturn)) static void usage(void)
{
    fprintf(stderr,
            "usage: assay-launch [--parent PID] [--scratch FOLDER] [--memory BYTES] [--bubblewrap] [--plain]"
            " -- COMMAND...\n");
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

static void parse(struct box *box, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--bubblewrap"))
            box->bubblewrap = true;
        else if (!strcmp(argv[i], "--plain"))
            box->plain = true;
        else if (!strcmp(argv[i], "--parent") && more)
            box->parent = (long)number(argv[++i]);
        else if (!strcmp(argv[i], "--memory") && more)
            box->memory = number(argv[++i]);
        else if (!strcmp(argv[i], "--scratch") && more)
            box->scratch = argv[++i];
        else
            usage();
    }
    if (i + 1 >= argc)
        usage();
    box->command = argv + i + 1;
}

static void die_with_parent(const struct box *box)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail("cannot ask to die with the parent");
    if (box->parent && getppid() != (pid_t)box->parent)
        _exit(EXIT_LAUNCH); /* it died before we asked */
}

/* The supervisor has usually made the session already. */
static void own_session(void)
{
    if (getsid(0) != getpid() && setsid() < 0)
        fail("cannot make a session");
}

/* Ignored signals survive exec, and the supervisor ignores SIGPIPE. */
static void default_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
}

/* Never above what we were given ourselves. */
static void limit(int resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        fail("cannot read a limit");
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
        most = now.rlim_max;
    now.rlim_cur = now.rlim_max = most;
    if (setrlimit(resource, &now) < 0)
        fail("cannot set a limit");
}

static void set_limits(const struct box *box)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, MAX_FILES);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory takes terabytes of address space */
    if (box->memory)
        limit(RLIMIT_AS, (rlim_t)box->memory);
#else
    (void)box;
#endif
}

static void enter_scratch(const struct box *box)
{
    if (!box->scratch)
        return;
    if (chdir(box->scratch) < 0)
        fail(box->scratch);
    setenv("TMPDIR", box->scratch, 1);
}

/* No network, no looking into other processes. io_uring is a second door to sockets. */
static scmp_filter_ctx make_filter(void)
{
    static const int denied[] = {
        SCMP_SYS(socket),
        SCMP_SYS(connect),
        SCMP_SYS(bind),
        SCMP_SYS(listen),
        SCMP_SYS(ptrace),
        SCMP_SYS(process_vm_readv),
        SCMP_SYS(process_vm_writev),
        SCMP_SYS(io_uring_setup),
    };
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        fail("cannot make a filter");
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), denied[i], 0);
        if (result) {
            errno = -result;
            fail("cannot make a filter");
        }
    }
    return filter;
}

static void load_filter(void)
{
    scmp_filter_ctx filter = make_filter();
    int result = seccomp_load(filter);
    seccomp_release(filter);
    if (result) {
        errno = -result;
        fail("cannot load the filter");
    }
}

/* bwrap makes its namespaces with calls the filter denies, so it gets the filter in a file and loads it last.
 */
static int filter_file(void)
{
    scmp_filter_ctx filter = make_filter();
    int fd = memfd_create("filter", 0);
    if (fd < 0)
        fail("cannot make a file for the filter");
    int result = seccomp_export_bpf(filter, fd);
    seccomp_release(filter);
    if (result || lseek(fd, 0, SEEK_SET) < 0)
        fail("cannot write the filter");
    return fd;
}

static void exec_bubblewrap(const struct box *box)
{
    char filter[16];
    snprintf(filter, sizeof filter, "%d", filter_file());
    const char *scratch = box->scratch ? box->scratch : "/tmp";
    const char *fixed[] = {
        "bwrap",     "--ro-bind",     "/",
        "/",         "--dev",         "/dev",
        "--proc",    "/proc",         "--bind",
        scratch,     scratch,         "--chdir",
        scratch,     "--unshare-all", "--die-with-parent",
        "--seccomp", filter,          "--",
    };
    size_t count = sizeof fixed / sizeof *fixed;
    char *argv[MAX_ARGUMENTS + sizeof fixed / sizeof *fixed + 1];
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)(unsigned long)fixed[i];
    for (size_t i = 0; box->command[i]; i++) {
        if (i == MAX_ARGUMENTS) {
            errno = E2BIG;
            fail(box->command[0]);
        }
        argv[count++] = box->command[i];
    }
    argv[count] = NULL;
    execvp("bwrap", argv);
    fail("cannot run bwrap (package bubblewrap)");
}

int main(int argc, char **argv)
{
    struct box box = {0};
    parse(&box, argc, argv);
    die_with_parent(&box);
    own_session();
    default_signals();
    if (!box.plain) {
        set_limits(&box);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
            fail("cannot give up privileges");
        enter_scratch(&box);
        if (box.bubblewrap)
            exec_bubblewrap(&box);
        load_filter();
    }
    execvp(box.command[0], box.command);
    fail(box.command[0]);
}
