/*
 * Runs cases on the engines of a panel: the one place where jobs are submitted and collected.
 *
 * A case is submitted to all engines of the panel or to some of them, with or without the reference. Several
 * cases are under way at once, so that no engine waits for another. Each case comes back exactly once, with
 * all results, when the last of its engines has answered. Crashes, hangs and engines that do not start are
 * results like any other; only a failure of the pool itself is an error.
 *
 * While cases are under way, nothing else may be submitted to the panel's pool, except by pool_run_one.
 */
#ifndef ENGINE_RUNNER_H
#define ENGINE_RUNNER_H

#include "engine/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct runner_options {
    size_t ahead; /* how many cases runner_room allows under way; 0: 32 */
    /* Cases come back in the order in which they were submitted, so that nothing depends on which engine
     * answers first; otherwise each comes back as soon as it is complete. */
    bool in_order;
    /*
     * How often a case that crashes an engine is run. An earlier case in the same process may have corrupted
     * its memory, so the result is a crash only when every run crashes; otherwise the answer counts and the
     * crash is counted as a stray one (runner_strays). 0: once. Only for cases with a single set of inputs.
     */
    int crash_tries;
};

enum ask_reference {
    ASK_NEVER,
    ASK_ALWAYS,
    ASK_WHEN_NEEDED, /* unless all engines report that they do not support the case: then there is nothing to
                        arbitrate */
};

/* A case that came back. */
struct run {
    struct job job; /* as it was submitted */
    size_t n_engines;
    const int *engines;     /* numbers in the pool, as they were submitted */
    struct result *results; /* one for each set and engine; use run_result */
    bool *repeats_differ;   /* one for each engine: a repeated run gave different bytes */
    bool asked;             /* the reference was asked */
};

/* The result of engine n of run->engines on a set of inputs. With n == n_engines, the result of the
 * reference, whose outcome is "untested" when it was not asked. */
static inline struct result *run_result(const struct run *run, size_t set, size_t n)
{
    return &run->results[set * (run->n_engines + 1) + n];
}

/* Moves a result out of the run; the caller then owns it. */
struct result run_take(struct run *run, size_t set, size_t n);

void run_free(struct run *run); /* and the results that were not taken */

/* The panel must outlive the runner. Engines may be added to it meanwhile. */
struct runner *runner_new(const struct panel *panel, const struct runner_options *options);

/* Gives up the cases under way; when there are any, the pool must not be used any more, only freed. */
void runner_free(struct runner *runner);

/*
 * Submits a case: runner_submit to all engines of the panel, runner_submit_to to the given ones. The job
 * names the model, the inputs (or sets of them), how often runs are repeated, the deadline, and in `user`
 * whatever the caller wants back; they are borrowed until the case is back. job->engine is ignored. The
 * reference is asked for bounds and never repeats a run.
 */
void runner_submit(struct runner *runner, const struct job *job, enum ask_reference ask);
void runner_submit_to(struct runner *runner, const struct job *job, const int *engines, size_t count,
                      enum ask_reference ask);

bool runner_room(const struct runner *runner); /* whether fewer than `ahead` cases are under way */
size_t runner_pending(const struct runner *runner);
size_t runner_strays(const struct runner *runner); /* crashes that did not happen again */

/* Waits for the next case. Returns 1 with *run, which the caller frees; 0 when no case is under way; -1 when
 * the pool fails. */
int runner_next(struct runner *runner, struct run **run, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
