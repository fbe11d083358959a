#include "base/interrupt.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int ours[] = {SIGINT, SIGTERM};
enum { OURS = sizeof ours / sizeof *ours };

/* Runs only in threads that do not block the signal: those of libraries (OpenBLAS starts some before main).
 * It is passed on to the main thread, where it stays pending. */
static void pass_on(int number)
{
    syscall(SYS_tgkill, getpid(), getpid(), number);
}

void interrupt_block(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < OURS; i++)
        sigaddset(&signals, ours[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    for (size_t i = 0; i < OURS; i++) {
        struct sigaction before, action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
        /* A shell that starts a job in the background has it ignore Ctrl-C. */
        if (sigaction(ours[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ours[i], &action, NULL);
    }
}

bool interrupt_pending(void)
{
    sigset_t pending;
    if (sigpending(&pending))
        return false;
    for (size_t i = 0; i < OURS; i++)
        if (sigismember(&pending, ours[i]) == 1)
            return true;
    return false;
}

bool interrupt_wait(double seconds)
{
    double until = clock_seconds() + seconds;
    while (!interrupt_pending() && clock_seconds() < until) {
        struct timespec nap = {0, 50000000};
        nanosleep(&nap, NULL);
    }
    return interrupt_pending();
}
