/*
 * Trials: a case on several engines and the reference at once, judged, and settled where that is needed.
 *
 * Cases are submitted as fast as they are made; up to `ahead` of them are under way (engine/runner.h). Each
 * comes back exactly once, with its judgement. It is called a crash when a case crashes an engine three
 * times; a stray one is counted. The reference is asked unless all engines say that they lack something,
 * which needs no judge.
 */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

#include "case/test_case.h"
#include "engine/runner.h"
#include "judge/judge.h"
#include "locate/settle.h"

struct trial_options {
    const struct panel *panel; /* outlives the trials */
    /* Cases run on the panel's fresh workers, where it has some; the parts of a model that is refused in
     * words are then tried on the shared ones, as that is many runs. */
    bool fresh;
    size_t ahead; /* cases under way; 0: 32 */
    int repeat;   /* further runs of each case, for nondeterminism */
    /* Settle verdicts of wrong and suspect; find the part of a graph that is refused alone. */
    bool settle;
};

/* One finished case. All of it is the caller's, released by trial_done_release. */
struct trial_done {
    struct test_case *test;
    struct result reference;
    struct result *results; /* one an engine of the panel; they are the run's */
    struct run *run;
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

/* Where cases come from, and who hears of them. */
struct trial_source {
    void *context;
    /* Makes the next case: 1, with *test, which the trials take over (or NULL: none for once), and *user; 0
     * when there are no more; -1 when it fails. */
    int (*make)(void *context, struct test_case **test, void **user, struct error *err);
    /* Hears a finished case, and releases it: 0, or -1 to end with that error. */
    int (*take)(void *context, struct trial_done *done, struct error *err);
};

/* Runs all cases of a source, as many at a time as there is room for, to the end. After a failure some are
 * still under way. */
int trials_run(struct trials *trials, const struct trial_source *source, struct error *err);

#endif
