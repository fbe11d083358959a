/*
 * What stands between Assay and another adapter has its other end of the pipe too: the adapter is started as
 * a child, and its replies are read as Assay would read them. Where the pipe or the protocol breaks, and
 * where the child ends, this process ends: what happens to the child is then seen from outside as any
 * engine's end.
 */
#ifndef SDK_RELAY_H
#define SDK_RELAY_H

#include "engine/wire.h"

#include <stdbool.h>
#include <sys/types.h>

/* One direction: what was read, as far as it is not done with. */
struct relay_stream {
    int fd;
    struct wire_decoder *decoder;
    struct str bytes;
};
void relay_stream_init(struct relay_stream *stream, int fd, bool replies);

/* Reads until a whole message is there. Returns the number of its bytes, which are the first of `bytes`; 0 at
 * the end of the stream. */
size_t relay_next(struct relay_stream *stream, struct wire_message *message);

/* Releases the message and drops its bytes. */
void relay_forget(struct relay_stream *stream, struct wire_message *message, size_t size);

/* False when nobody reads any more. */
bool relay_write(int fd, const void *data, size_t size);
bool relay_write_out(struct wire_out *out, int fd); /* releases `out` */

struct relay_child {
    const char *program;
    pid_t pid;
    int requests; /* to it */
    struct relay_stream replies;
};

/* `command` ends with NULL and must stay. What the child prints to stderr goes to ours. */
void relay_start(struct relay_child *child, char *const *command);

/* The child has gone, or goes now: ends this process as it ended. */
__attribute__((noreturn)) void relay_end(const struct relay_child *child);

/* Ends this process with a message. */
__attribute__((noreturn)) void relay_trouble(const char *what, const char *why);

#endif
