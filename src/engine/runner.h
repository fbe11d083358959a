/*
 * Cases under way on the engines of a panel: the one place where jobs are submitted and collected.
 *
 * A case is submitted to all engines of the panel, or to some, perhaps with the reference; several cases are
 * under way at once, so that no engine waits for another. Each comes back exactly once, when the last of its
 * engines has answered, with all results. Crashes, hangs and engines that do not start are results like any
 * other; only a failure of the pool itself ends the work.
 *
 * While cases are under way nobody else may submit to the panel's pool; pool_run_one is allowed.
 */
#ifndef ENGINE_RUNNER_H
#define ENGINE_RUNNER_H

#include "engine/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct runner_options {
    size_t ahead; /* cases under way, as runner_room has it; 0: 32 */
    /* Cases come back in the order in which they were submitted, so that nothing depends on who answers
     * sooner; otherwise as soon as they are complete. */
    bool in_order;
    /*
     * How often a case is run that crashes an engine. What a case before it wrote beyond its memory may have
     * been the cause: it is a crash when it crashes every time; otherwise the answer counts and the crash is
     * a stray one (runner_strays). 0: once. Only for cases with a single set of inputs.
     */
    int crash_tries;
};

enum ask_reference {
    ASK_NEVER,
    ASK_ALWAYS,
    ASK_WHEN_NEEDED, /* unless all engines say cleanly that they lack something, which needs no arbiter */
};

/* A case that came back. */
struct run {
    struct job job; /* as it was submitted */
    size_t n_engines;
    const int *engines;     /* numbers in the pool, as they were submitted */
    struct result *results; /* one a set and engine: run_result gives them */
    bool *repeats_differ;   /* one an engine: a repeated run gave other bytes */
    bool asked;             /* the reference was */
};

/* What the engine with number n in run->engines answered to a set of inputs; n_engines: the reference, whose
 * outcome is "untested" where it was not asked. */
static inline struct result *run_result(const struct run *run, size_t set, size_t n)
{
    return &run->results[set * (run->n_engines + 1) + n];
}

/* Moves a result out of the run: it is the caller's then. */
struct result run_take(struct run *run, size_t set, size_t n);

void run_free(struct run *run); /* with the results that are still there */

/* The panel must outlive the runner, and may get more engines meanwhile. */
struct runner *runner_new(const struct panel *panel, const struct runner_options *options);

/* What is under way is given up; nothing more may then be asked of the pool. */
void runner_free(struct runner *runner);

/*
 * The job says the model, the inputs (or sets of them), how often runs are repeated, the deadline, and in
 * `user` whatever the caller wants back; it borrows them until the case is back. job->engine is not used. The
 * reference is asked for bounds, and never repeats a run. runner_submit: to all engines of the panel.
 */
void runner_submit(struct runner *runner, const struct job *job, enum ask_reference ask);
void runner_submit_to(struct runner *runner, const struct job *job, const int *engines, size_t count,
                      enum ask_reference ask);

bool runner_room(const struct runner *runner); /* fewer than `ahead` are under way */
size_t runner_pending(const struct runner *runner);
size_t runner_strays(const struct runner *runner); /* answers after a crash that did not come again */

/* Waits for the next case: 1 and *run, which is the caller's to free; 0 when none is under way; -1 when the
 * pool fails. */
int runner_next(struct runner *runner, struct run **run, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
