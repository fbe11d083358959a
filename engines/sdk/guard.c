#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <execinfo.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_FRAMES = 64, ALTERNATE_STACK = 256 * 1024, PRINT_SECONDS = 2 };

/* The signal being reported, for the watchdog below: a handler has nowhere else to look. */
static volatile sig_atomic_t reported;

/* For the same handler. */
static guard_tell *volatile asked;

void guard_ask_of_crashes(guard_tell *tell)
{
    asked = tell;
}

void guard_die_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Printing hung, as it can when the crash was inside the loader or the allocator: die without the rest. */
static void give_up(int number)
{
    (void)number;
    raise(reported);
}

/* The processor says whether memory was read or written. */
static const char *reaches(const ucontext_t *context)
{
#ifdef __x86_64__
    enum { WRITES = 2 };
    return context->uc_mcontext.gregs[REG_ERR] & WRITES ? "writes" : "reads";
#else
    (void)context;
    return "reaches";
#endif
}

static void print_crash(int number, siginfo_t *info, void *context)
{
    void *frames[MAX_FRAMES];
    char text[300];
    reported = number;
    signal(SIGALRM, give_up);
    alarm(PRINT_SECONDS);
    static const char crash[] = "crash: stack of the engine\n", hang[] = "stopped: stack of the engine\n";
    ssize_t ignored = 0;
    if (number == SIGSEGV && asked && asked(info->si_addr, reaches(context), text, sizeof text))
        ignored = write(STDERR_FILENO, text, strlen(text));
    ignored = number == SIGTERM ? write(STDERR_FILENO, hang, sizeof hang - 1)
                                : write(STDERR_FILENO, crash, sizeof crash - 1);
    (void)ignored;
    backtrace_symbols_fd(frames, backtrace(frames, MAX_FRAMES), STDERR_FILENO);
    raise(number);
}

void guard_print_crashes(void)
{
    /* A worker that exceeds its deadline first gets SIGTERM, so that its stack shows where it hangs. */
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTERM};
    void *frames[1];
    backtrace(frames, 1); /* loads the unwinder now: a crashed process may not be able to */
    stack_t stack = {.ss_size = ALTERNATE_STACK, .ss_sp = malloc(ALTERNATE_STACK)};
    if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0)
        return;
    /* Reset on entry and not blocked: raise() then kills at once, and a crash while printing kills too. */
    struct sigaction action = {.sa_sigaction = print_crash};
    action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

#ifdef __SANITIZE_ADDRESS__
/* The search for leaks at the end starts a process, which is denied below: its complaint would be the exit
 * status. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif

static int deny(scmp_filter_ctx filter, int call)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
}

int guard_deny_spawn(void)
{
#ifdef ASSAY_EMULATED
    /* qemu-user takes no filter for the program that it runs; the launcher's is on qemu itself. */
    return 0;
#endif
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter) {
        errno = ENOMEM;
        return -1;
    }
    /* clone3 passes its flags in memory, which a filter cannot read; ENOSYS makes libc use clone. */
    int result = deny(filter, SCMP_SYS(execve));
    result = result ? result : deny(filter, SCMP_SYS(execveat));
    result = result ? result : deny(filter, SCMP_SYS(fork));
    result = result ? result : deny(filter, SCMP_SYS(vfork));
    result = result ? result : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    result = result ? result
                    : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    result = result ? result : seccomp_load(filter);
    seccomp_release(filter);
    if (result) {
        errno = -result;
        return -1;
    }
    return 0;
}
