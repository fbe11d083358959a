/*
 * What became of one case on one engine, seen from outside the process. Untested is the zero value, so that a
 * forgotten case can never look like success.
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
    OUTCOME_CRASH,       /* died by a signal or left with an exit status */
    OUTCOME_HANG,        /* the deadline passed */
    OUTCOME_MEMORY,      /* went beyond its memory */
    OUTCOME_GARBAGE,     /* its answer breaks the protocol */
    OUTCOME_NO_ENGINE,   /* the engine could not be started */
    OUTCOME_COUNT
};

enum stage { STAGE_NONE, STAGE_START, STAGE_LOAD, STAGE_RUN, STAGE_UNLOAD };

const char *outcome_name(enum outcome outcome); /* "ok", "crash" ... */
const char *stage_name(enum stage stage);

struct result {
    enum outcome outcome;
    enum stage stage; /* where it ended; STAGE_RUN when ok */
    int signal;       /* that ended it, or 0 */
    int exit_status;  /* of an engine that left by itself, or -1 */
    char *message;    /* the engine's error text, or ours; heap, may be NULL */
    char *log;        /* the tail of its stderr when it died or hung; heap, may be NULL */
    char **borrowed;  /* operators answered by the reference instead; NULL-terminated, may be NULL */
    size_t count;     /* outputs */
    struct value *outputs;
    struct wire_bounds *bounds; /* count of them, when asked for and given; or NULL */
    int64_t load_ns, run_ns;    /* as seen from here */
};
void result_init(struct result *result);
void result_release(struct result *result);

#ifdef __cplusplus
}
#endif
#endif
