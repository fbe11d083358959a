/*
 * The outcome of one case on one engine, seen from outside the process. Untested is the zero value, so that a
 * forgotten case can never look like a success.
 */
#ifndef ENGINE_OUTCOME_H
#define ENGINE_OUTCOME_H

#include "engine/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

enum outcome {
    OUTCOME_UNTESTED = 0,
    OUTCOME_OK,
    OUTCOME_UNSUPPORTED, /* the engine says cleanly that it lacks this */
    OUTCOME_REJECTED,    /* the engine refuses the model or its inputs */
    OUTCOME_FAILED,      /* the engine reports an error */
    OUTCOME_CRASH,       /* the process was killed by a signal or exited by itself */
    OUTCOME_HANG,        /* the deadline passed */
    OUTCOME_MEMORY,      /* it exceeded its memory limit */
    OUTCOME_GARBAGE,     /* its answer breaks the protocol */
    OUTCOME_NO_ENGINE,   /* the engine could not be started */
    OUTCOME_ADAPTER,     /* the adapter failed by itself, before or outside a call of the library */
    OUTCOME_COUNT
};

enum stage { STAGE_NONE, STAGE_START, STAGE_LOAD, STAGE_RUN, STAGE_UNLOAD };

const char *outcome_name(enum outcome outcome); /* "ok", "crash" ... */
const char *stage_name(enum stage stage);

/* Processor time in nanoseconds, as the engine's process tells it: of the library's calls, and of what else
 * the process did for them. */
struct result_times {
    uint64_t load, run, unload, adapter;
};

struct result {
    enum outcome outcome;
    enum stage stage; /* the stage at which it ended; STAGE_RUN when ok */
    int signal;       /* the signal that ended the process, or 0 */
    int exit_status;  /* of a process that exited by itself, or -1 */
    char *message;    /* the engine's error message, or Assay's; heap, may be NULL */
    char *log;        /* the end of its stderr when it crashed or hung, clean; heap, may be NULL */
    char **borrowed;  /* operators that the reference computed instead of the library; NULL-terminated, may be
                         NULL */
    struct trace *trace; /* what the engine did, when the job asked and the engine tells; else NULL */
    bool gradients;      /* the outputs are gradients */
    size_t count;        /* outputs */
    struct value *outputs;
    struct wire_bounds *bounds; /* one for each output when bounds were asked for and given, else NULL */
    int64_t load_ns, run_ns;    /* time of load and run, measured by Assay */
    struct result_times cpu;    /* where the pool asked for it and the engine tells; else 0 */
};
/*
 * What became of it, for a person: the message and, after a death, the last lines of stderr ("ended with exit
 * status 1; last on stderr: ModuleNotFoundError: No module named 'mylib'"). Not for comparisons: `message`
 * alone is the same each time.
 */
void result_words(const struct result *result, struct str *out);
void result_last_lines(const char *log, struct str *out); /* of a log, joined by " / "; a NULL log has none */
void result_add_last_lines(const struct result *result,
                           struct str *out); /* "; last on stderr: ...", where there are any */

void result_init(struct result *result);
void result_release(struct result *result);

#ifdef __cplusplus
}
#endif
#endif
