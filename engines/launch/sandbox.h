/*
 * The walls around an engine's process, and the process that watches over it.
 *
 * Where namespaces may be made: a file system with the system's programs and libraries, the files that the
 * engine needs, all read-only, and its scratch folder; no other processes, no network, no capabilities, and,
 * where root starts it, an unprivileged user. Where they may not: Landlock, as far as the kernel has it, for
 * the same view of files, and a filter of system calls for what Landlock leaves out (filter.h).
 * docs/engines.md tells users what stands.
 */
#ifndef LAUNCH_SANDBOX_H
#define LAUNCH_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_LAUNCH = 125 };

struct sandbox {
    bool off;            /* no walls: its processes are kept together, and that is all */
    const char *scratch; /* the folder that it may write to */
    const char **seen;   /* files and folders that it may read */
    size_t n_seen;
    const char **written; /* files that it may write */
    size_t n_written;
    size_t small; /* bytes that each of its own file systems in memory, /tmp and /dev/shm, may hold */
};

/* Which walls stand. */
struct walls {
    bool view;      /* a file system of its own */
    bool landlock;  /* instead of that */
    bool lengths;   /* and Landlock guards the lengths of files, too */
    bool processes; /* it sees no process of others, and all of its own end with it */
    bool signals;   /* it reaches none */
    bool network;   /* it has none */
    bool user;      /* it has no more rights than any user: root did not start it, or it is somebody else */
    bool counted;   /* its processes are counted apart from those of others */
    char why[600];  /* why something does not stand */
};

/*
 * Puts this process behind the walls. The process that goes on is a child: its parent waits for it and ends
 * as it does, by the same signal or status, after the processes that it left are gone. SIGHUP lets the parent
 * end them all; so does the end of its own parent.
 */
void sandbox_enter(const struct sandbox *sandbox, struct walls *walls);

/* Ends this process with a message: what could not be done, and the system's reason. */
__attribute__((noreturn)) void sandbox_die(const char *what);

#endif
