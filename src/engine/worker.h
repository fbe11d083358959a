/*
 * One engine process: its pipes, what it wrote on stderr, its end. Knows nothing of jobs; the pool does.
 *
 * All descriptors are non-blocking. A worker is started through assay-launch in a session and process group
 * of its own; signals go to the whole group. When it has ended, worker_reap says how; until then it is never
 * a zombie for longer than it takes to look.
 */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include "engine/registry.h"
#include "engine/wire.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WORKER_LOG = 64 * 1024 };

struct worker_box {
    const struct engine_spec *spec;
    const char *libexec; /* folder of assay-launch */
    const char *scratch; /* the worker's own folder */
    size_t memory;
    bool bubblewrap;
};

struct worker {
    pid_t pid;
    int process;      /* pidfd: readable when the process has ended; -1 where the kernel has none */
    int in, out, err; /* its stdin, stdout, stderr; -1 when closed */
    struct wire_out pending;
    struct wire_decoder *decoder;
    char *log; /* the last bytes of its stderr, up to twice WORKER_LOG */
    size_t log_length;
    uint64_t log_total; /* bytes it ever wrote there */
    char *scratch;
    bool wrapped;         /* its exit status is bwrap's, which tells a signal as 128 + n */
    bool killed;          /* we sent SIGKILL */
    long resident_before; /* ours when it was started, KB: a child's ru_maxrss is never below it */
    /* After worker_reap: */
    bool ended;
    int signal, exit_status; /* 0 and -1 when not */
    size_t peak;             /* bytes of resident memory at most, or 0: not known */
};

int worker_start(struct worker *worker, const struct worker_box *box, struct error *err);
void worker_release(struct worker *worker); /* after its end: closes, frees, removes the scratch folder */

void worker_signal(struct worker *worker, int number); /* to the group */
void worker_close_input(struct worker *worker);

/* True when the process has ended: its group is killed, its status kept, the zombie gone. Never blocks. */
bool worker_reap(struct worker *worker);

/* Reads what stderr holds now. */
void worker_read_log(struct worker *worker, void *buffer, size_t size);

/* What is kept of stderr since `mark` (a log_total), at most WORKER_LOG bytes, as a heap string; NULL when
 * empty. */
char *worker_log_since(const struct worker *worker, uint64_t mark);

/* Bytes of memory now, without mapped files, which a model's weights may lie in; 0 when not known. */
size_t worker_resident(const struct worker *worker);

#ifdef __cplusplus
}
#endif
#endif
