#define _GNU_SOURCE /* memfd_create, dladdr */
#include "library/connection.h"

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SOCKET = 3, LAST_WORDS = 400, REPLY_LIMIT_GB = 64, TENTH = 100, GRACE = 50 /* tenths of a second */ };

enum assay_status connection_fail(struct assay_error *error, enum assay_status status, const char *format,
                                  ...)
{
    if (!error)
        return status;
    va_list args;
    va_start(args, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

static enum assay_status no_memory(struct assay_error *error)
{
    return connection_fail(error, ASSAY_NO_MEMORY, "there is no memory for it");
}

/* Cuts `levels` names off the end of the path. */
static void cut(char *path, int levels)
{
    for (; levels; levels--) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
}

/* $ASSAY_JUDGE, else beside this library (in a build tree, or below the prefix, at most two folders up), else
 * where it was to be installed. On the heap. */
static char *find_program(void)
{
    static const struct {
        int up;
        const char *below;
    } places[] = {{1, "assay-judge"}, {2, "libexec/assay/assay-judge"}, {3, "libexec/assay/assay-judge"}};
    const char *set = getenv("ASSAY_JUDGE");
    Dl_info self;
    if (set && *set)
        return strdup(set);
    char file[PATH_MAX], path[PATH_MAX + 40];
    bool known =
        dladdr((const void *)connection_fail, &self) && self.dli_fname && realpath(self.dli_fname, file);
    for (size_t i = 0; known && i < sizeof places / sizeof *places; i++) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%s", file);
        cut(folder, places[i].up);
        snprintf(path, sizeof path, "%s/%s", folder, places[i].below);
        if (access(path, X_OK) == 0)
            return strdup(path);
    }
    return strdup(ASSAY_LIBEXEC "/assay-judge");
}

enum assay_status connection_init(struct connection *connection, const struct assay_options *options,
                                  struct assay_error *error)
{
    *connection = (struct connection){
        .fd = -1, .words = -1, .pid = -1, .progress = options->progress, .context = options->context};
    connection->program = options->program ? strdup(options->program) : find_program();
    struct packet *hello = &connection->hello;
    packet_put(hello, PACKET_HELLO);
    packet_put(hello, PACKET_PROTOCOL);
    packet_put_text(hello, ASSAY_VERSION);
    packet_put_double(hello, options->deadline);
    packet_put(hello, options->memory);
    packet_put(hello, (uint64_t)options->sandbox);
    packet_put(hello, options->n_engine_files);
    for (size_t i = 0; i < options->n_engine_files; i++)
        packet_put_text(hello, options->engine_files[i]);
    return !connection->program || hello->failed ? no_memory(error) : ASSAY_OK;
}

/* Ends the program; *status is how it ended, or -1. By its own will if it does so in time: its workers end
 * before it, and its files are removed. */
static void stop(struct connection *connection, bool at_once, int *status)
{
    *status = -1;
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    for (int i = 0; connection->pid > 0; i++) {
        pid_t got = waitpid(connection->pid, status, i < GRACE ? WNOHANG : 0);
        if (got == connection->pid || (got < 0 && errno != EINTR))
            break;
        if (got == 0 && (i + 1 == GRACE || (at_once && i == 0)))
            kill(connection->pid, at_once && i == 0 ? SIGTERM : SIGKILL);
        if (got == 0)
            poll(NULL, 0, i < 5 ? 5 : TENTH);
    }
    connection->pid = -1;
}

void connection_close(struct connection *connection)
{
    int status;
    stop(connection, false, &status);
    if (connection->words >= 0)
        close(connection->words);
    free(connection->program);
    packet_release(&connection->hello);
}

/* The program with our socket as descriptor 3, in a process group of its own, so that Ctrl-C is for the
 * caller alone. */
static int spawn(struct connection *connection, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    char *argv[] = {connection->program, NULL};
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
    posix_spawn_file_actions_adddup2(&actions, connection->words, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, SOCKET);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawn(&connection->pid, connection->program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

/* A descriptor above those that the program gets. */
static int high(int fd)
{
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SOCKET + 1);
    if (fd >= 0)
        close(fd);
    return copy;
}

static enum assay_status launch(struct connection *connection, struct assay_error *error)
{
    int ends[2];
    if (connection->words >= 0)
        close(connection->words);
    connection->words = high(memfd_create("assay-judge", MFD_CLOEXEC));
    if (connection->words < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return connection_fail(error, ASSAY_IO, "there is no socket for assay-judge: %s", strerror(errno));
    connection->fd = high(ends[0]);
    int theirs = high(ends[1]), failed = connection->fd < 0 || theirs < 0 ? errno : spawn(connection, theirs);
    if (theirs >= 0)
        close(theirs);
    if (!failed)
        return ASSAY_OK;
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = connection->pid = -1;
    return connection_fail(
        error, ASSAY_BROKEN,
        "%s does not start: %s. It is installed with the library; $ASSAY_JUDGE says where it is "
        "if that is elsewhere",
        connection->program, strerror(failed));
}

enum assay_status connection_start(struct connection *connection, struct assay_error *error)
{
    if (connection->fd >= 0)
        return ASSAY_OK;
    struct packet reply = {0};
    enum assay_status status = launch(connection, error);
    if (!status)
        status = connection_ask(connection, &connection->hello, &reply, error);
    if (!status && packet_take(&reply) != PACKET_PROTOCOL)
        status = connection_fail(error, ASSAY_BROKEN, "%s speaks another protocol than libassay %s",
                                 connection->program, ASSAY_VERSION);
    packet_release(&reply);
    int ended;
    if (status)
        stop(connection, false, &ended);
    else
        connection->started++;
    return status;
}

/* "killed by signal 9; its last words: ..." */
static enum assay_status broken(struct connection *connection, struct assay_error *error)
{
    int status;
    char words[LAST_WORDS + 1] = "", how[60];
    stop(connection, false, &status);
    off_t size = lseek(connection->words, 0, SEEK_END), from = size > LAST_WORDS ? size - LAST_WORDS : 0;
    ssize_t got = pread(connection->words, words, LAST_WORDS, from);
    words[got > 0 ? got : 0] = '\0';
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "ended with status %d", status >= 0 ? WEXITSTATUS(status) : status);
    return connection_fail(error, ASSAY_BROKEN, "assay-judge %s%s%s; the next call starts it again", how,
                           *words ? "; its last words: " : "", words);
}

struct waiting {
    const struct connection *connection;
    struct timespec begun;
};

static bool is_cancelled(void *context)
{
    const struct waiting *waiting = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds =
        (double)(now.tv_sec - waiting->begun.tv_sec) + (double)(now.tv_nsec - waiting->begun.tv_nsec) / 1e9;
    return waiting->connection->progress(waiting->connection->context, seconds) != 0;
}

enum assay_status connection_ask(struct connection *connection, const struct packet *request,
                                 struct packet *reply, struct assay_error *error)
{
    struct waiting waiting = {.connection = connection};
    int ended;
    *reply = (struct packet){0};
    if (request->failed)
        return no_memory(error);
    clock_gettime(CLOCK_MONOTONIC, &waiting.begun);
    if (packet_send(connection->fd, request))
        return broken(connection, error);
    int got = packet_receive(connection->fd, reply, (uint64_t)REPLY_LIMIT_GB << 30,
                             connection->progress ? is_cancelled : NULL, &waiting);
    if (got == -2) {
        stop(connection, true, &ended);
        return connection_fail(error, ASSAY_CANCELLED, "the call was cancelled");
    }
    if (got != 1)
        return broken(connection, error);
    enum assay_status status = (enum assay_status)packet_take(reply);
    const char *message = packet_take_text(reply);
    packet_take(reply); /* the size of what follows */
    return status ? connection_fail(error, status, "%s", message) : ASSAY_OK;
}
