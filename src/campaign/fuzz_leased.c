/* The ranges of a campaign that many workers share: leased, looked at twice and returned. */
#include "campaign/fuzz_running.h"

#include "campaign/follow_up.h"
#include "diagnose/known_findings.h"
#include "findings/known_witness.h"

#include <math.h>
#include <time.h>

int fuzz_renew(struct fuzz *fuzz, struct error *err)
{
    bool held, had = fuzz->shared.held;
    if (fuzz_shared_renew(&fuzz->shared, &held, err))
        return -1;
    fuzz->lost |= had && !held;
    return 0;
}

static int note_all_engines(struct fuzz *fuzz, struct error *err)
{
    return fuzz_note_engines(fuzz, (int64_t)fuzz->shared.totals.cases, err);
}

/* While no range is free: reduces findings, and waits a little. */
static int pass_time(struct fuzz *fuzz, double *pause, struct error *err)
{
    static const double longest = 1;
    if (fuzz_reduce_findings(fuzz, err) || fuzz_keep(fuzz, true, err))
        return -1;
    struct timespec time = {(time_t)*pause, (long)((*pause - floor(*pause)) * 1e9)};
    nanosleep(&time, NULL);
    *pause = fmin(longest, *pause * 1.5);
    fuzz->stop |= fuzz_time_is_up(fuzz);
    return 0;
}

/* A lease of drawn cases is one range, one of bred cases several. */
static void plan_leased(struct fuzz *fuzz)
{
    fuzz->range = (struct case_range){.count = (size_t)fuzz->shared.lease.count};
    if (fuzz->source.kind->bred)
        fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    fuzz->steps = 0;
}

/* Whether the search at hand has another step to do before its range is returned. */
static bool go_on(struct fuzz *fuzz)
{
    enum { MOST_STEPS = 1000 };
    const struct case_source *source = &fuzz->source;
    if (!source->kind->bred || fuzz->lost)
        return false;
    source->kind->plan(source->self, &fuzz->range);
    bool more =
        fuzz_shared_goes_on(&fuzz->shared) && !source->kind->over(source->self) && ++fuzz->steps < MOST_STEPS;
    if (!more && !fuzz->range.sequel)
        return false;
    fuzz_state_clear(&fuzz->state);
    return true;
}

/* When all cases are done, a campaign goes on until its findings are reduced, including those that dead
 * workers had begun to reduce. */
static int is_all_done(struct fuzz *fuzz, enum work_kind kind, bool *done, struct error *err)
{
    bool left = false;
    fuzz->over = kind == WORK_OVER || kind == WORK_STOPPED;
    if (kind == WORK_OVER && fuzz->options->reduce && work_follow_ups_left(fuzz->shared.work, &left, err))
        return -1;
    *done = fuzz->over && !left;
    return 0;
}

/* Gets a range of a shared campaign: 1, or 0 when there will be none. */
int fuzz_lease_range(struct fuzz *fuzz, struct error *err)
{
    double pause = 0.02;
    while (!fuzz->stop) {
        enum work_kind kind;
        bool done;
        if (fuzz_shared_next(&fuzz->shared, &kind, err) || is_all_done(fuzz, kind, &done, err))
            return -1;
        fuzz->lost = false;
        if (done)
            return 0;
        if (kind == WORK_RANGE) {
            plan_leased(fuzz);
            return 1;
        }
        if (kind == WORK_FOLD ? note_all_engines(fuzz, err) : pass_time(fuzz, &pause, err))
            return -1;
    }
    return 0;
}

int fuzz_return_range(struct fuzz *fuzz, struct error *err)
{
    size_t added = 0;
    fuzz->going_on = go_on(fuzz);
    if (fuzz->lost || fuzz->going_on)
        return 0;
    if (fuzz_shared_return(&fuzz->shared, &added, err))
        return -1;
    const struct case_source_kind *kind =
        fuzz->source.kind; /* one island that has reached all goals ends it */
    if (kind->bred && kind->over(fuzz->source.self) && work_set_stopped(fuzz->store, true, err))
        return -1;
    if (!added)
        return 0;
    fuzz->status->last_new = fuzz->status->elapsed;
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* Fails when an engine did not start, so that the range goes to a worker where it does. */
static int check_started(const struct fuzz *fuzz, const struct trial_done *done, struct error *err)
{
    for (size_t i = 0; i <= done->n_engines; i++) {
        const struct result *result = i < done->n_engines ? &done->results[i] : &done->reference;
        if (result->outcome == OUTCOME_NO_ENGINE)
            return error_set(err, ERROR_NOT_FOUND,
                             "%s does not start any more, so that another worker gets this range: %.180s",
                             fuzz->status->engines[i].label,
                             result->message ? result->message : "it gave no reason");
    }
    return 0;
}

static int look_again(struct fuzz *fuzz, const struct second_look *look, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct trial_done done;
    fuzz->fresh = fuzz->added = false;
    if (follow_up_again(o->panel, o->registry, &fuzz->folder, look->recipe, &done, err))
        return -1;
    int status = check_started(fuzz, &done, err);
    if (!status && look->mishap) {
        status = fuzz_record_and_count(fuzz, look->number, &done, err);
    } else if (!status) {
        struct fuzz_recorder recorder = fuzz_recorder_for(fuzz, look->number);
        status = fuzz_record(&recorder, &done, fuzz_met, fuzz, err);
        fuzz->state.marks[look->number] = fuzz->fresh ? MARK_NEW : MARK_DONE;
    }
    trial_done_release(&done);
    return status;
}

/* Runs again, in fresh processes, the cases of a leased range that found something, and only what they find
 * then counts. Otherwise the result of a range would depend on what its worker had run before and on the load
 * of its machine. Of several cases with the same finding it is enough that the first shows it again. */
static int look_twice(struct fuzz *fuzz, struct error *err)
{
    struct second_looks *looks = &fuzz->shared.looks;
    size_t last = RANGE_MOST;
    second_looks_sort(looks);
    for (size_t i = 0; i < looks->count && !fuzz->lost && !fuzz->stop; i++) {
        const struct second_look *look = &looks->looks[i];
        if (look->number == last ||
            (!look->mishap && !finding_buffer_wants(&fuzz->shared.findings, look->signature, look->number)))
            continue;
        last = look->number;
        if (look_again(fuzz, look, err) || fuzz_keep(fuzz, false, err))
            return -1;
    }
    return 0;
}

/* Returns 1 when a leased range may be returned. After a signal it is handed back at once, because the signal
 * may have ended engines too, and their last results are no answers. */
int fuzz_finish_leased(struct fuzz *fuzz, struct error *err)
{
    if ((fuzz_looks_twice(fuzz, 0) && look_twice(fuzz, err)) || fuzz_keep(fuzz, true, err))
        return -1;
    return !fuzz->stop;
}

#define PROBE_TASK "probe finds"

static int run_probe_find(struct fuzz *fuzz, size_t number, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct fuzz_recorder recorder = fuzz_recorder_for(fuzz, number);
    struct trial_done done;
    struct error why = {0};
    recorder.state = NULL;
    recorder.first = -1 - (int64_t)fuzz->probe.n_recipes;
    if (follow_up_again(o->panel, o->registry, &fuzz->folder, fuzz->probe.recipes[number], &done, &why))
        return 0; /* the probe was of a release with other operators */
    int status = check_started(fuzz, &done, err);
    if (!status)
        status = fuzz_record(&recorder, &done, fuzz_met, fuzz, err);
    trial_done_release(&done);
    return status;
}

/* Runs the probe's findings in fresh processes and writes what they show at once, so that it does not matter
 * which worker runs them, or ends on the way. */
static int run_shared_probe_finds(struct fuzz *fuzz, struct error *err)
{
    struct finding_buffer *found = &fuzz->shared.findings;
    bool mine = true;
    finding_buffer_clear(found);
    for (size_t i = 0; i < fuzz->probe.n_recipes && mine && !fuzz->stop; i++)
        if (run_probe_find(fuzz, i, err) || fuzz_keep(fuzz, false, err) ||
            work_task(fuzz->shared.work, PROBE_TASK, FOLLOW_UP_SECONDS, &mine, err))
            return -1;
    if (!mine || fuzz->stop)
        return 0;
    return work_task_return(fuzz->shared.work, PROBE_TASK, found->findings, found->count, &mine, err);
}

/* One worker runs the probe's findings, and another takes over when that one dies. They come before all
 * ranges, so the other workers wait. */
static int share_probe_finds(struct fuzz *fuzz, struct error *err)
{
    static const struct timespec pause = {.tv_nsec = 200000000};
    bool mine, done = !fuzz->probe.n_recipes;
    while (!done && !fuzz->stop) {
        if (work_task(fuzz->shared.work, PROBE_TASK, FOLLOW_UP_SECONDS, &mine, err) ||
            (mine && run_shared_probe_finds(fuzz, err)) ||
            work_task_is_done(fuzz->shared.work, PROBE_TASK, &done, err))
            return -1;
        if (done)
            break;
        if (fuzz_keep(fuzz, true, err))
            return -1;
        nanosleep(&pause, NULL);
        fuzz->stop |= fuzz_time_is_up(fuzz);
    }
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* Works until the shared campaign or this worker's time ends. The summary is about the whole campaign. */
int fuzz_take_part(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    fuzz->sharing = true;
    if (fuzz_shared_open(&fuzz->shared, fuzz->store, o->shared, (int64_t)fuzz->count, &fuzz->folder,
                         &fuzz->state, &fuzz->source, fuzz->status, err) ||
        witnesses_try(&fuzz->known, o->panel, fuzz->store, err) ||
        known_again(&fuzz->known, fuzz->store, false, err) || fuzz_note_engines(fuzz, -1, err) ||
        share_probe_finds(fuzz, err))
        return -1;
    int status = fuzz_run_ranges(fuzz, err);
    fuzz_shared_drop(&fuzz->shared);
    if (status || fuzz_keep(fuzz, true, err))
        return -1;
    return fuzz_recount(fuzz->status, fuzz->store, err) || fuzz_shared_count(&fuzz->shared, fuzz->status, err)
               ? -1
               : 0;
}
