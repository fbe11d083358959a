#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024 };

extern char **environ;

void relay_trouble(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

void relay_stream_init(struct relay_stream *stream, int fd, bool replies)
{
    *stream = (struct relay_stream){.fd = fd, .decoder = wire_decoder_new(replies, &wire_default_limits)};
    str_init(&stream->bytes);
}

size_t relay_next(struct relay_stream *stream, struct wire_message *message)
{
    size_t taken = 0, used;
    struct error err;
    for (;;) {
        int result = wire_decode(stream->decoder, stream->bytes.data + taken, stream->bytes.length - taken,
                                 &used, message, &err);
        taken += used;
        if (result < 0)
            relay_trouble("the protocol is broken", err.message);
        if (result > 0)
            return taken;
        char buffer[READ_SIZE];
        ssize_t got = read(stream->fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        str_append(&stream->bytes, buffer, (size_t)got);
    }
}

void relay_forget(struct relay_stream *stream, struct wire_message *message, size_t size)
{
    wire_message_release(message);
    memmove(stream->bytes.data, stream->bytes.data + size, stream->bytes.length - size + 1);
    stream->bytes.length -= size;
}

bool relay_write(int fd, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t wrote = write(fd, at, size);
        if (wrote < 0 && errno != EINTR)
            return false;
        at += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

bool relay_write_out(struct wire_out *out, int fd)
{
    struct str bytes;
    str_init(&bytes);
    wire_out_copy(out, &bytes);
    bool good = relay_write(fd, bytes.data, bytes.length);
    str_release(&bytes);
    wire_out_release(out);
    return good;
}

void relay_start(struct relay_child *child, char *const *command)
{
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    child->program = command[0];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        relay_trouble("no pipe for the engine", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    errno = posix_spawnp(&child->pid, command[0], &actions, NULL, command, environ);
    if (errno)
        relay_trouble(command[0], strerror(errno));
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    child->requests = in[1];
    relay_stream_init(&child->replies, out[0], true);
}

void relay_end(const struct relay_child *child)
{
    int status = 0;
    close(child->requests);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "%s: %s was ended by signal %d\n", program_invocation_short_name, child->program,
                WTERMSIG(status));
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
