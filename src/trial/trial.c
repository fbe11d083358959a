#include "trial/trial.h"

#include "base/memory.h"
#include "locate/refusal.h"
#include "trial/sample_verdicts.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_AHEAD = 32,
    CRASH_TRIES = 3, /* a case may die of what one before it did to the engine's memory */
};

/* A case under way. Jobs point to it; entry n_engines is the reference. */
struct flight {
    struct trial_done done;
    const uint8_t *bytes; /* of the model */
    size_t size;
    bool *repeats_differ;
    int *crashes; /* so far, one an engine */
    bool asked;   /* the reference was */
    size_t jobs_left;
    struct flight *next;
};

struct ticket {
    struct flight *flight;
    size_t entry;
};

struct trials {
    struct trial_options options;
    int *engines;
    struct refusals *refusals;
    size_t pending, strays;
    struct flight *finished; /* all jobs are back, not judged yet */
};

struct trials *trials_new(const struct trial_options *options)
{
    struct trials *trials = memory_zeroed(1, sizeof *trials);
    trials->options = *options;
    if (!trials->options.ahead)
        trials->options.ahead = DEFAULT_AHEAD;
    trials->engines = memory_zeroed(options->n_engines, sizeof *trials->engines);
    memcpy(trials->engines, options->engines, options->n_engines * sizeof *trials->engines);
    trials->options.engines = trials->engines;
    trials->refusals = refusals_new();
    return trials;
}

void trial_done_release(struct trial_done *done)
{
    test_case_free(done->test);
    result_release(&done->reference);
    for (size_t i = 0; i < done->n_engines; i++) {
        result_release(&done->results[i]);
        settlement_release(&done->settlements[i]);
    }
    free(done->results);
    free(done->settlements);
    judgement_release(&done->judgement);
}

static void flight_free(struct flight *flight)
{
    free(flight->repeats_differ);
    free(flight->crashes);
    free(flight);
}

bool trials_room(const struct trials *trials)
{
    return trials->pending < trials->options.ahead;
}

size_t trials_pending(const struct trials *trials)
{
    return trials->pending;
}

size_t trials_strays(const struct trials *trials)
{
    return trials->strays;
}

static void submit_job(struct trials *trials, struct flight *flight, size_t entry, int engine, bool bounds)
{
    const struct test_case *test = flight->done.test;
    struct ticket *ticket = memory_zeroed(1, sizeof *ticket);
    *ticket = (struct ticket){flight, entry};
    struct job job = {
        .engine = engine,
        .model = flight->bytes,
        .model_size = flight->size,
        .n_inputs = test->n_inputs,
        .inputs = test->inputs,
        .bounds = bounds,
        .repeat = bounds ? 0 : trials->options.repeat,
        .user = ticket,
    };
    flight->jobs_left++;
    pool_submit(trials->options.pool, &job);
}

int trials_submit(struct trials *trials, struct test_case *test, void *user, struct error *err)
{
    size_t n = trials->options.n_engines, size;
    const uint8_t *bytes;
    if (test_case_bytes(test, &bytes, &size, err)) {
        test_case_free(test);
        return -1;
    }
    struct flight *flight = memory_zeroed(1, sizeof *flight);
    flight->done.test = test;
    flight->bytes = bytes;
    flight->size = size;
    flight->done.user = user;
    flight->done.n_engines = n;
    flight->done.results = memory_zeroed(n, sizeof *flight->done.results);
    flight->done.settlements = memory_zeroed(n, sizeof *flight->done.settlements);
    flight->repeats_differ = memory_zeroed(n, sizeof *flight->repeats_differ);
    flight->crashes = memory_zeroed(n, sizeof *flight->crashes);
    result_init(&flight->done.reference);
    for (size_t i = 0; i < n; i++)
        result_init(&flight->done.results[i]);
    trials->pending++;
    for (size_t i = 0; i < n; i++)
        submit_job(trials, flight, i, trials->engines[i], false);
    return 0;
}

/* What all engines lack needs no reference: it is asked when the first of them has something else to say. */
static void ask_reference(struct trials *trials, struct flight *flight, const struct result *result)
{
    if (trials->options.reference < 0 || flight->asked || result->outcome == OUTCOME_UNSUPPORTED)
        return;
    flight->asked = true;
    submit_job(trials, flight, flight->done.n_engines, trials->options.reference, true);
}

/* A crash is the case's own when it comes again in the worker's successor; otherwise an earlier case left the
 * engine's memory in such a state, and the answer of the successor counts. */
static bool try_again(struct trials *trials, struct flight *flight, size_t entry, struct result *result)
{
    if (result->outcome != OUTCOME_CRASH) {
        trials->strays += flight->crashes[entry] > 0;
        return false;
    }
    if (++flight->crashes[entry] == CRASH_TRIES)
        return false;
    result_release(result);
    submit_job(trials, flight, entry, trials->engines[entry], false);
    return true;
}

/* Takes one result from the pool; a flight that is complete goes to the finished list. */
static int take_result(struct trials *trials, struct error *err)
{
    struct job job;
    struct result result;
    bool differ = false;
    int status = pool_next(trials->options.pool, -1, &job, &result, &differ, err);
    if (status <= 0)
        return status;
    struct ticket ticket = *(struct ticket *)job.user;
    free(job.user);
    struct flight *flight = ticket.flight;
    if (ticket.entry < flight->done.n_engines) {
        ask_reference(trials, flight, &result);
        if (try_again(trials, flight, ticket.entry, &result)) {
            flight->jobs_left--;
            return 1;
        }
        flight->done.results[ticket.entry] = result;
        flight->repeats_differ[ticket.entry] = differ;
    } else {
        flight->done.reference = result;
    }
    if (--flight->jobs_left == 0) {
        struct flight **end = &trials->finished;
        while (*end)
            end = &(*end)->next;
        *end = flight;
    }
    return 1;
}

static void judge_flight(struct trials *trials, struct flight *flight)
{
    struct trial_done *done = &flight->done;
    struct judge_entry *entries = memory_zeroed(done->n_engines, sizeof *entries);
    for (size_t i = 0; i < done->n_engines; i++) {
        const struct engine_info *info = pool_engine(trials->options.pool, trials->engines[i]);
        entries[i] = judge_entry_of(info, &done->results[i], flight->repeats_differ[i]);
    }
    judge_case(&done->judgement, flight->asked ? &done->reference : NULL, entries, done->n_engines);
    free(entries);
}

/* The part of a refused graph that is refused alone, when there is one. */
static void settle_refused(const struct settle_case *which, const struct verdict *verdict,
                           const struct result *ended, struct settlement *settlement)
{
    struct settlement found;
    struct error err = {0};
    if (which->model->graph->n_node < 2)
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
static void settle_flight(struct trials *trials, struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        struct verdict *verdict = &done->judgement.verdicts[i];
        bool refused = verdict_is(verdict->kind, CLASS_REFUSAL);
        if (!refused && !wants_settling(trials, done, i))
            continue;
        const struct model *model = test_case_model(done->test, NULL);
        if (!model)
            return;
        struct settle_case which = {
            .pool = refused && trials->options.parts ? trials->options.parts : trials->options.pool,
            .engine = trials->engines[i],
            .model = model,
            .inputs = done->test->inputs,
            .n_inputs = done->test->n_inputs,
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
    if (!trials->pending)
        return 0;
    while (!trials->finished) {
        int status = take_result(trials, err);
        if (status < 0)
            return -1;
        if (!status)
            return error_set(err, ERROR_IO, "the pool lost a case");
    }
    struct flight *flight = trials->finished;
    trials->finished = flight->next;
    trials->pending--;
    judge_flight(trials, flight);
    settle_flight(trials, &flight->done);
    *done = flight->done;
    flight_free(flight);
    return 1;
}

void trials_free(struct trials *trials)
{
    if (!trials)
        return;
    struct trial_done done;
    while (trials->pending && trials_next(trials, &done, NULL) > 0)
        trial_done_release(&done);
    refusals_free(trials->refusals);
    free(trials->engines);
    free(trials);
}
