/*
 * The walls around an engine's process.
 *
 * Where namespaces may be made: a file system with the system's programs and libraries, the folders that the
 * engine needs, all read-only, and its scratch folder; no other processes, no network, no capabilities. Where
 * they may not: Landlock, as far as the kernel has it, for the same view of files. docs/engines.md tells
 * users what stands.
 */
#ifndef LAUNCH_SANDBOX_H
#define LAUNCH_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

enum { SANDBOX_MAX_SEEN = 64, SANDBOX_MAX_WRITTEN = 8 };

struct sandbox {
    const char *scratch;                /* the folder that it may write to */
    const char *seen[SANDBOX_MAX_SEEN]; /* files and folders that it may read */
    size_t n_seen;
    const char *written[SANDBOX_MAX_WRITTEN]; /* files that it may write */
    size_t n_written;
};

/* Which walls stand. */
struct walls {
    bool view;      /* a file system of its own */
    bool landlock;  /* instead of that */
    bool processes; /* it sees no process of others, and all of its own end with it */
    bool network;   /* it has none */
    char why[200];  /* why there are no namespaces, when there are none */
};

/*
 * Puts this process behind the walls. With namespaces the process that goes on is a child: its parent waits
 * for it and ends as it does, by the same signal or status, after all processes that it left are gone.
 */
void sandbox_enter(const struct sandbox *sandbox, struct walls *walls);

#endif
