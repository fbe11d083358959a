/*
 * Trials: a case on several engines and the reference at once, judged, and settled where that is needed.
 *
 * Cases are submitted as fast as they are made; up to `ahead` of them are under way, so that no engine waits
 * for another. Each comes back exactly once, with its judgement. A case that crashes an engine is run again,
 * because what a case before it wrote beyond its memory may have been the cause: it is called a crash when it
 * crashes three times, and a stray one is counted. The reference is asked unless all engines say that they
 * lack something, which needs no judge.
 */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

#include "case/test_case.h"
#include "engine/pool.h"
#include "judge/judge.h"
#include "locate/settle.h"

struct trial_options {
    struct pool *pool;
    int reference; /* pool number of the reference engine, or -1 */
    size_t n_engines;
    const int *engines; /* pool numbers */
    size_t ahead;       /* cases under way; 0: 32 */
    int repeat;         /* further runs of each case, for nondeterminism */
    /* Settle verdicts of wrong and suspect; find the part of a graph that is refused alone. */
    bool settle;
    /* The same engines under the same numbers, where the parts of a model that is refused in words are tried,
     * as that is many runs; NULL: pool. */
    struct pool *parts;
};

/* One finished case. All of it is the caller's, released by trial_done_release. */
struct trial_done {
    struct test_case *test;
    struct result reference;
    struct result *results; /* one an engine */
    struct judgement judgement;
    struct settlement *settlements; /* one an engine; kind untested where nothing had to be settled */
    size_t n_engines;
    void *user;
};
void trial_done_release(struct trial_done *done);

struct trials;
struct trials *trials_new(const struct trial_options *options);
void trials_free(struct trials *trials);

/* Takes over a share of the case, also when it fails, which it does when the model's bytes are not to be had.
 * Call only while trials_room is true. */
int trials_submit(struct trials *trials, struct test_case *test, void *user, struct error *err);
bool trials_room(const struct trials *trials);
size_t trials_pending(const struct trials *trials);
size_t trials_strays(const struct trials *trials); /* crashes that did not come again */

/* Waits for the next finished case: 1 and *done, 0 when none is under way, -1 when polling fails. */
int trials_next(struct trials *trials, struct trial_done *done, struct error *err);

#endif
