/*
 * A worker is one engine process: its pipes, what it wrote to stderr, and how it ended. It knows nothing of
 * jobs; those are the business of seat.h and pool.h.
 *
 * All descriptors are non-blocking. A worker is started through assay-launch in a session and process group
 * of its own; signals go to the whole group. worker_reap tells whether and how it has ended, and must be
 * called regularly, so that no zombie is left.
 */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include "engine/registry.h"
#include "engine/wire.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WORKER_LOG = 64 * 1024,
    WORKER_PIPE = 1 << 20, /* bytes that a pipe of its holds at most */
};

/* How a worker is started. */
struct worker_box {
    const struct engine_spec *spec;
    const char *libexec; /* folder of assay-launch */
    const char *scratch; /* the worker's own folder */
    size_t memory;       /* bytes that it may take */
    bool watched;        /* its address space has no limit: whoever starts it watches what it takes */
    enum sandbox_mode sandbox;
    const char *const *seen; /* folders that it may read besides its own; NULL-terminated, or NULL */
    bool times;              /* it is to tell what processor time its answers take */
    const char *group;       /* the folder of a group for its processes alone (cgroup.h), or NULL */
};

struct worker {
    pid_t pid;
    int process;      /* pidfd: readable when the process has ended; -1 where the kernel has none */
    int in, out, err; /* its stdin, stdout, stderr; -1 when closed */
    struct wire_out pending;
    struct wire_decoder *decoder;
    uint8_t *shared; /* memory that it may map, too; NULL: none */
    size_t shared_size;
    char *log; /* the last bytes of its stderr, up to twice WORKER_LOG */
    size_t log_length;
    uint64_t log_total;    /* bytes it ever wrote there */
    char *scratch, *group; /* see worker_box; both are removed with it */
    bool walled;           /* it sees the files that it was started with, and no others */
    bool kept;             /* assay-launch waits for the engine, its child, and ends as it does */
    bool killed;           /* Assay sent SIGKILL */
    long resident_before;  /* Assay's own resident memory when the worker was started, in KB: a child's
                              ru_maxrss is never below it */
    uint64_t kills_before; /* processes that the kernel had ended for want of memory by then */
    /* After worker_reap: */
    bool ended;
    int signal, exit_status; /* 0 and -1 when it did not end that way */
    size_t peak;             /* the most resident memory it ever had, in bytes; 0: not known */
};

int worker_start(struct worker *worker, const struct worker_box *box, struct error *err);
void worker_release(
    struct worker *worker); /* only after its end: closes the pipes, frees, removes the scratch folder */

void worker_unshare(struct worker *worker); /* it does not use the shared memory */

/* Sends a signal to its process group. The first SIGKILL is a request to assay-launch, which ends the engine
 * and all that it started, also what left the group; the next one is meant as it is, should that one not be
 * up to it. */
void worker_signal(struct worker *worker, int number);
void worker_close_input(struct worker *worker);

/* True when the process has ended; then its group and what else it left behind is killed, its status is
 * stored and the zombie is gone. Never blocks. */
bool worker_reap(struct worker *worker);

/* Reads what is in the stderr pipe now. */
void worker_read_log(struct worker *worker, void *buffer, size_t size);

/* What it wrote to stderr since `mark` (an earlier log_total), as far as it is kept: at most the last
 * WORKER_LOG bytes without control characters, as a heap string; NULL when empty. */
char *worker_log_since(const struct worker *worker, uint64_t mark);

/* How it ended: "died by SIGSEGV (Segmentation fault)". Only after worker_reap. */
void worker_describe_end(const struct worker *worker, struct str *out);

/* Whether the kernel ended a process of its group, which had taken what it may. */
bool worker_exceeded(const struct worker *worker);

/* Whether the kernel ended processes for want of memory since it was started: one that died by a SIGKILL
 * which Assay did not send may have been among them. */
bool worker_was_starved(const struct worker *worker);

#ifdef __cplusplus
}
#endif
#endif
