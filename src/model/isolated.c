#define _GNU_SOURCE /* pipe2, close_range */

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
#include <sys/socket.h>
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

/* How much this process has now: of addresses, or of them in memory. */
static size_t process_bytes(bool resident)
{
    char text[64] = "", *end;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    size_t pages = count > 0 ? strtoull(text, &end, 10) : 0;
    if (pages && resident)
        pages = strtoull(end, NULL, 10);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Limits the address space to what the process has now and the memory that is allowed. */
static void limit_memory(size_t bytes)
{
    struct rlimit limit;
    rlim_t now = process_bytes(false);
    if (bytes == 0 || now == 0 || getrlimit(RLIMIT_AS, &limit))
        return;
    limit.rlim_cur = now + bytes < limit.rlim_max ? now + bytes : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
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
    limit_memory(limits_get().bytes);
    answer.result = body(context, &out, &answer.size, &answer.err);
    if (answer.result)
        answer.size = 0;
    bool said = folder_write_fd(fd, &answer, sizeof answer) && folder_write_fd(fd, out, answer.size);
    _exit(said ? 0 : 1);
}

/* Reads the answer. False when it is incomplete. */
static bool take(const char *who, int fd, double until, uint8_t **out, size_t *size, int *result,
                 struct error *err)
{
    struct answer answer;
    *result = -1;
    if (!get_all(fd, &answer, sizeof answer, until)) {
        error_set(err, ERROR_IO, "%s crashed on the model", who);
        return false;
    }
    answer.err.message[sizeof answer.err.message - 1] = 0; /* the fork may have written anything */
    *result = answer.result;
    if (answer.result && err)
        *err = answer.err;
    if (answer.result)
        return true;
    *out = answer.size < PTRDIFF_MAX ? malloc(answer.size + 1) : NULL;
    if (!*out) {
        *result = error_set(err, ERROR_MEMORY, "no memory left");
        return false;
    }
    (*out)[answer.size] = 0;
    *size = answer.size;
    if (get_all(fd, *out, answer.size, until))
        return true;
    free(*out);
    *out = NULL;
    *size = 0;
    *result = error_set(err, ERROR_IO, "%s crashed on the model", who);
    return false;
}

/* An answer that says that memory was lacking. */
static int explain(const char *who, int result, struct error *err)
{
    if (result < 0 && err && err->code == ERROR_MEMORY && limits_get().bytes)
        return error_set(err, ERROR_LIMIT, "%s needs more than the %zu MB of memory allowed (--memory)", who,
                         limits_get().bytes >> 20);
    return result;
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
    return explain(who, result, err);
}

static double deadline(void)
{
    double seconds = limits_get().seconds;
    return seconds > 0 ? clock_seconds() + seconds : 0;
}

int isolated_run(const char *who, isolated_body *body, void *context, uint8_t **out, size_t *size,
                 struct error *err)
{
    int ends[2], result = -1;
    double until = deadline();
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
    if (child < 0)
        error_errno(err, "cannot start a process");
    else
        take(who, ends[0], until, out, size, &result, err);
    close(ends[0]);
    return child < 0 ? result : finish(who, child, until, result, err);
}

/* --- The process that is kept --- */

enum { MOST_TASKS = 500, KEPT_BYTES = 256 << 20 };

static struct {
    pid_t pid, owner; /* 0: there is none; of a fork of the owner it is no child */
    int fd;
    int tasks;
    bool large;
} kept;

struct question {
    isolated_task *task; /* the same function in both processes */
    size_t size, bytes;  /* of the data; of memory that is allowed */
    int number;
};

/* Only its own end stays open: what this process has open would not be closed when it closes it. */
static void leave_files(int *fd)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    *fd = dup2(*fd, STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0U, 0);
}

static _Noreturn void serve(int fd)
{
    struct question question;
    if (fd <= STDERR_FILENO + 1)
        fd = fcntl(fd, F_DUPFD, STDERR_FILENO + 2);
    leave_files(&fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    die_plainly();
    limits_set((struct limits){0}); /* of a piece of work that this process has nothing to do with */
    while (get_all(fd, &question, sizeof question, 0)) {
        struct answer answer = {0};
        uint8_t *out = NULL, *data;
        setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
        data = malloc(question.size + 1);
        if (!data || !get_all(fd, data, question.size, 0))
            break;
        limit_memory(question.bytes);
        answer.result = question.task(data, question.size, question.number, &out, &answer.size, &answer.err);
        if (answer.result)
            answer.size = 0;
        if (!folder_write_fd(fd, &answer, sizeof answer) || !folder_write_fd(fd, out, answer.size))
            break;
        free(out);
        free(data);
    }
    _exit(0);
}

static void forget(void)
{
    if (kept.pid)
        close(kept.fd);
    kept.pid = 0;
}

/* It reads the end of what it is asked. */
void isolated_end(void)
{
    pid_t child = kept.owner == getpid() ? kept.pid : 0;
    forget();
    while (child && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static int start(struct error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return error_errno(err, "cannot make a pair of sockets");
    bool large = process_bytes(true) > KEPT_BYTES;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        serve(ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_errno(err, "cannot start a process");
    }
    kept.pid = child;
    kept.owner = getpid();
    kept.fd = ends[0];
    kept.tasks = 0;
    kept.large = large;
    return 0;
}

static bool put_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count = send(fd, at, size, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool put_question(const struct question *question, const uint8_t *data)
{
    return put_all(kept.fd, question, sizeof *question) && put_all(kept.fd, data, question->size);
}

int isolated_ask(const char *who, isolated_task *task, const uint8_t *data, size_t size, int number,
                 uint8_t **out, size_t *out_size, struct error *err)
{
    struct question question = {task, size, limits_get().bytes, number};
    double until = deadline();
    int result;
    *out = NULL;
    *out_size = 0;
    if (kept.pid && (kept.owner != getpid() || kept.tasks >= MOST_TASKS || !put_question(&question, data)))
        isolated_end();
    if (!kept.pid && start(err))
        return -1;
    if (kept.tasks++ == 0)
        put_question(&question, data); /* or else there is no answer */
    if (!take(who, kept.fd, until, out, out_size, &result, err)) {
        pid_t child = kept.pid;
        forget();
        return finish(who, child, until, result, err);
    }
    if (kept.large)
        isolated_end();
    return explain(who, result, err);
}
