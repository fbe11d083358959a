#include "model/isolated.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child process writes first; `size` bytes follow. */
struct answer {
    int result;
    size_t size;
    struct error err;
};

static bool put_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(fd, at, size);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool get_all(int fd, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        ssize_t count = read(fd, at, size);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
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
    die_plainly();
    answer.result = body(context, &out, &answer.size, &answer.err);
    bool said = put_all(fd, &answer, sizeof answer) && put_all(fd, out, answer.size);
    _exit(said ? 0 : 1);
}

/* Reads the answer; -1 when it is incomplete. */
static int take(int fd, uint8_t **out, size_t *size, struct error *err)
{
    struct answer answer;
    if (!get_all(fd, &answer, sizeof answer))
        return error_set(err, ERROR_IO, "libonnx crashed on the model");
    if (err && answer.result)
        *err = answer.err;
    if (answer.result || !(*out = malloc(answer.size + 1)))
        return answer.result ? answer.result : error_set(err, ERROR_MEMORY, "no memory left");
    (*out)[answer.size] = 0;
    *size = answer.size;
    if (get_all(fd, *out, answer.size))
        return 0;
    free(*out);
    *out = NULL;
    *size = 0;
    return error_set(err, ERROR_IO, "libonnx crashed on the model");
}

int isolated_run(isolated_body *body, void *context, uint8_t **out, size_t *size, struct error *err)
{
    int ends[2], status = 0;
    *out = NULL;
    *size = 0;
    if (pipe(ends))
        return error_errno(err, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work(ends[1], body, context);
    }
    close(ends[1]);
    int result = child < 0 ? error_errno(err, "cannot start a process") : take(ends[0], out, size, err);
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (result < 0 && child > 0 && WIFSIGNALED(status))
        error_set(err, ERROR_IO, "libonnx crashed on the model with signal %d", WTERMSIG(status));
    return result;
}
