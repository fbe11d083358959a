#define _GNU_SOURCE /* pipe2 */

#include "model/isolated.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child process writes first; `size` bytes follow. */
struct answer {
    int result;
    size_t size;
    struct error err;
};

/* Reads until `until` (clock_seconds; 0: however long it takes). */
static bool get_all(int fd, void *data, size_t size, double until)
{
    char *at = data;
    while (size > 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        double left = until > 0 ? until - clock_seconds() : 0;
        if (until > 0 && (left <= 0 || poll(&poll_fd, 1, (int)(fmin(left, 1e6) * 1000) + 1) == 0))
            return false;
        ssize_t count = read(fd, at, size);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* Limits the address space to what the process has now and the memory that is allowed. */
static void limit_memory(void)
{
    char text[64] = "";
    size_t bytes = limits_get().bytes;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (bytes == 0 || count <= 0)
        return;
    rlim_t now = (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    setrlimit(RLIMIT_AS, &(struct rlimit){now + bytes, now + bytes});
}

/* Restores the default handlers, so that a fault handler of the parent does not run in the child, and writes
 * no core. */
static void die_plainly(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        signal(faults[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
}

static _Noreturn void work(int fd, isolated_body *body, void *context)
{
    struct answer answer = {0};
    uint8_t *out = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    die_plainly();
    limit_memory();
    answer.result = body(context, &out, &answer.size, &answer.err);
    if (answer.result)
        answer.size = 0;
    bool said = folder_write_fd(fd, &answer, sizeof answer) && folder_write_fd(fd, out, answer.size);
    _exit(said ? 0 : 1);
}

/* Reads the answer; -1 when it is incomplete. */
static int take(const char *who, int fd, double until, uint8_t **out, size_t *size, struct error *err)
{
    struct answer answer;
    if (!get_all(fd, &answer, sizeof answer, until))
        return error_set(err, ERROR_IO, "%s crashed on the model", who);
    answer.err.message[sizeof answer.err.message - 1] = 0; /* the fork may have written anything */
    if (err && answer.result)
        *err = answer.err;
    if (answer.result || answer.size > PTRDIFF_MAX || !(*out = malloc(answer.size + 1)))
        return answer.result ? answer.result : error_set(err, ERROR_MEMORY, "no memory left");
    (*out)[answer.size] = 0;
    *size = answer.size;
    if (get_all(fd, *out, answer.size, until))
        return 0;
    free(*out);
    *out = NULL;
    *size = 0;
    return error_set(err, ERROR_IO, "%s crashed on the model", who);
}

/* Ends the process if it still runs after its time, and says how it ended when it gave no answer. */
static int finish(const char *who, pid_t child, double until, int result, struct error *err)
{
    int status = 0;
    bool late = result < 0 && until > 0 && clock_seconds() >= until;
    if (late)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (late)
        return error_set(err, ERROR_LIMIT, "%s takes longer than the %.3g s allowed (--deadline)", who,
                         limits_get().seconds);
    if (result < 0 && WIFSIGNALED(status))
        return error_set(err, ERROR_IO, "%s crashed on the model with signal %d", who, WTERMSIG(status));
    if (result < 0 && err && err->code == ERROR_MEMORY && limits_get().bytes)
        return error_set(err, ERROR_LIMIT, "%s needs more than the %zu MB of memory allowed (--memory)", who,
                         limits_get().bytes >> 20);
    return result;
}

int isolated_run(const char *who, isolated_body *body, void *context, uint8_t **out, size_t *size,
                 struct error *err)
{
    int ends[2];
    double seconds = limits_get().seconds, until = seconds > 0 ? clock_seconds() + seconds : 0;
    *out = NULL;
    *size = 0;
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(err, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work(ends[1], body, context);
    }
    close(ends[1]);
    int result =
        child < 0 ? error_errno(err, "cannot start a process") : take(who, ends[0], until, out, size, err);
    close(ends[0]);
    return child < 0 ? result : finish(who, child, until, result, err);
}
