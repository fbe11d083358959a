#include "trial/trial.h"

#include "base/memory.h"
#include "locate/refusal.h"
#include "trial/sample_verdicts.h"

#include <stdlib.h>
#include <string.h>

enum { CRASH_TRIES = 3 };

/* A case under way: what its job borrows. */
struct flight {
    struct test_case *test;
    void *user;
};

struct trials {
    struct trial_options options;
    struct panel panel; /* where cases run */
    struct runner *runner;
    struct refusals *refusals;
};

struct trials *trials_new(const struct trial_options *options)
{
    struct trials *trials = memory_zeroed(1, sizeof *trials);
    trials->options = *options;
    trials->panel = *options->panel;
    if (options->fresh)
        trials->panel.pool = panel_fresh(options->panel);
    trials->runner = runner_new(
        &trials->panel, &(struct runner_options){.ahead = options->ahead, .crash_tries = CRASH_TRIES});
    trials->refusals = refusals_new();
    return trials;
}

void trial_done_release(struct trial_done *done)
{
    test_case_free(done->test);
    result_release(&done->reference);
    for (size_t i = 0; i < done->n_engines; i++)
        settlement_release(&done->settlements[i]);
    run_free(done->run);
    free(done->settlements);
    judgement_release(&done->judgement);
}

bool trials_room(const struct trials *trials)
{
    return runner_room(trials->runner);
}

size_t trials_pending(const struct trials *trials)
{
    return runner_pending(trials->runner);
}

size_t trials_strays(const struct trials *trials)
{
    return runner_strays(trials->runner);
}

int trials_submit(struct trials *trials, struct test_case *test, void *user, struct error *err)
{
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(test, &bytes, &size, err)) {
        test_case_free(test);
        return -1;
    }
    struct flight *flight = memory_zeroed(1, sizeof *flight);
    *flight = (struct flight){test, user};
    struct job job = {
        .model = bytes,
        .model_size = size,
        .n_inputs = test->n_inputs,
        .inputs = test->inputs,
        .repeat = trials->options.repeat,
        .user = flight,
    };
    runner_submit(trials->runner, &job, ASK_WHEN_NEEDED);
    return 0;
}

/* Takes over what came back, and judges it. */
static void judge_run(const struct trials *trials, struct run *run, struct trial_done *done)
{
    struct flight *flight = run->job.user;
    size_t n = run->n_engines;
    *done = (struct trial_done){
        .test = flight->test,
        .user = flight->user,
        .run = run,
        .n_engines = n,
        .results = run->results,
        .reference = run_take(run, 0, n),
        .settlements = memory_zeroed(n, sizeof *done->settlements),
    };
    free(flight);
    struct judge_entry *entries = memory_zeroed(n, sizeof *entries);
    for (size_t i = 0; i < n; i++)
        entries[i] =
            judge_entry_of(panel_engine(&trials->panel, i), &done->results[i], run->repeats_differ[i]);
    judge_case(&done->judgement, run->asked ? &done->reference : NULL, entries, n);
    free(entries);
}

/* The part of a refused graph that is refused alone, when there is one. */
static void settle_refused(const struct settle_case *which, const struct verdict *verdict,
                           const struct result *ended, struct settlement *settlement)
{
    struct settlement found;
    struct error err = {0};
    const struct model *model = test_case_model(which->test, NULL);
    if (!model || model->graph->n_node < 2)
        return;
    if (settle_refusal(&found, which, verdict, ended, &err))
        settlement_release(&found);
    else
        *settlement = found;
}

static bool wants_settling(const struct trials *trials, const struct trial_done *done, size_t entry)
{
    const struct verdict *verdict = &done->judgement.verdicts[entry];
    bool answered = done->results[entry].outcome == OUTCOME_OK;
    return trials->options.settle &&
           (answered ? settle_wanted(verdict) : verdict_row(verdict->kind)->narrowed);
}

/* Refusals are asked about in any case; what is left to settle after that is settled where it is wanted. */
static void settle_done(struct trials *trials, struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        struct verdict *verdict = &done->judgement.verdicts[i];
        bool refused = verdict_is(verdict->kind, CLASS_REFUSAL);
        if (!refused && !wants_settling(trials, done, i))
            continue;
        struct settle_case which = {
            .pool = refused ? trials->options.panel->pool : trials->panel.pool,
            .engine = trials->panel.engines[i],
            .test = done->test,
        };
        refusal_decide(trials->refusals, &which, &done->results[i], verdict);
        if (!wants_settling(trials, done, i))
            continue;
        if (done->results[i].outcome == OUTCOME_OK)
            settle_verdict(&which, verdict, &done->settlements[i]);
        else
            settle_refused(&which, verdict, &done->results[i], &done->settlements[i]);
    }
    judge_blame(&done->judgement);
}

int trials_next(struct trials *trials, struct trial_done *done, struct error *err)
{
    struct run *run;
    int status = runner_next(trials->runner, &run, err);
    if (status != 1)
        return status;
    judge_run(trials, run, done);
    settle_done(trials, done);
    return 1;
}

int trials_run(struct trials *trials, const struct trial_source *source, struct error *err)
{
    int more = 1;
    while (more || trials_pending(trials)) {
        struct trial_done done;
        struct test_case *test = NULL;
        void *user = NULL;
        if (more && trials_room(trials)) {
            more = source->make(source->context, &test, &user, err);
            if (more < 0 || (test && trials_submit(trials, test, user, err)))
                return -1;
        } else if (trials_next(trials, &done, err) != 1 || source->take(source->context, &done, err)) {
            return -1;
        }
    }
    return 0;
}

void trials_free(struct trials *trials)
{
    if (!trials)
        return;
    struct run *run;
    while (runner_next(trials->runner, &run, NULL) == 1) {
        struct flight *flight = run->job.user;
        test_case_free(flight->test);
        free(flight);
        run_free(run);
    }
    runner_free(trials->runner);
    refusals_free(trials->refusals);
    free(trials);
}
