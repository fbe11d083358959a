#define _GNU_SOURCE
#include "engine/onnx_checker.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/memory.h"
#include "engine/paths.h"
#include "model/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, LINE = 2000 };

extern char **environ;

char *onnx_checker_newest(void)
{
    char **names = NULL, *found = NULL, *data = paths_data(), *folder = file_join(data, "libonnx");
    size_t count = 0;
    if (file_list(folder, &names, &count, NULL))
        count = 0;
    for (size_t i = count; i-- > 0 && !found;) { /* numbers count as numbers: the newest is the last */
        char *version = file_join(folder, names[i]);
        found = file_join(version, "check-onnx");
        free(version);
        if (access(found, X_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
    file_names_free(names, count);
    free(folder);
    free(data);
    return found;
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Its stdin and stdout are the ends of the pipes; all other descriptors close on exec. */
static int spawn(pid_t *pid, const char *program, int in, int out, struct error *err)
{
    char *argv[] = {(char *)(uintptr_t)program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    errno = posix_spawn(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno)
        return error_errno(err, "cannot start %s", program);
    /* Shape inference takes as much memory as a model asks for. */
    rlim_t bytes = limits_get().bytes;
    if (bytes)
        prlimit(*pid, RLIMIT_AS, &(struct rlimit){bytes, bytes}, NULL);
    return 0;
}

/* Starts checker->program. */
static int start(struct checker *checker, struct error *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC))
        return error_errno(err, "no pipe for %s", checker->program);
    if (pipe2(out, O_CLOEXEC)) {
        close_both(in);
        return error_errno(err, "no pipe for %s", checker->program);
    }
    int status = spawn(&checker->pid, checker->program, in[0], out[1], err);
    close(in[0]);
    close(out[1]);
    if (status) {
        close(in[1]);
        close(out[0]);
        return -1;
    }
    checker->to = in[1];
    checker->from = out[0];
    return 0;
}

/* The process exits when its stdin ends; one that is still busy is killed. */
static void end(struct checker *checker, bool by_force)
{
    close(checker->to);
    close(checker->from);
    if (by_force)
        kill(checker->pid, SIGKILL);
    while (waitpid(checker->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int onnx_checker_start(struct checker *checker, const char *program, struct error *err)
{
    *checker = (struct checker){.program = memory_strdup(program)};
    signal(SIGPIPE, SIG_IGN);
    if (!start(checker, err))
        return 0;
    free(checker->program);
    checker->program = NULL;
    return -1;
}

void onnx_checker_start_newest(struct checker *checker)
{
    char *program = onnx_checker_newest();
    *checker = (struct checker){0};
    if (program && onnx_checker_start(checker, program, NULL))
        *checker = (struct checker){0};
    free(program);
}

void onnx_checker_stop(struct checker *checker)
{
    if (!checker->program)
        return;
    end(checker, false);
    free(checker->program);
    *checker = (struct checker){0};
}

static bool put(const struct checker *checker, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(checker->to, at, size);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* One line, without its end. */
static bool get(const struct checker *checker, char line[LINE])
{
    for (size_t used = 0; used + 1 < LINE;) {
        struct pollfd ready = {.fd = checker->from, .events = POLLIN};
        int polled = poll(&ready, 1, PATIENCE_MS);
        if (polled < 0 && errno == EINTR)
            continue;
        ssize_t count = polled > 0 ? read(checker->from, line + used, LINE - 1 - used) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        used += (size_t)count;
        line[used] = '\0';
        if (line[used - 1] == '\n') {
            line[used - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* Starts another process for the next model; when that fails there is no checker any more. */
static int died(struct checker *checker, struct error *err)
{
    end(checker, true);
    if (start(checker, NULL)) {
        free(checker->program);
        *checker = (struct checker){0};
    }
    return error_set(err, ERROR_IO, "ONNX's checker crashes on this model");
}

int onnx_checker_ask(struct checker *checker, const void *model, size_t size, enum checker_depth depth,
                     struct error *err)
{
    char line[LINE];
    if (!checker->program)
        return ONNX_UNCHECKABLE;
    if (size > INT32_MAX)
        return error_set(err, ERROR_LIMIT, "a model of %zu bytes is beyond protobuf's 2 GB", size);
    unsigned char head[5] = {(unsigned char)depth, (unsigned char)size, (unsigned char)(size >> 8),
                             (unsigned char)(size >> 16), (unsigned char)(size >> 24)};
    if (!put(checker, head, sizeof head) || !put(checker, model, size) || !get(checker, line))
        return died(checker, err);
    if (strcmp(line, "ok") == 0)
        return 0;
    return strcmp(line, "newer") == 0 ? ONNX_UNCHECKABLE : error_set(err, ERROR_INVALID, "%s", line);
}
