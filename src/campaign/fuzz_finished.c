/* What becomes of a case that was run: it is recorded and counted, and its source hears of it. */
#include "campaign/fuzz_running.h"

#include "base/clock.h"
#include "base/hash.h"
#include "campaign/follow_up.h"
#include "campaign/kept_case.h"

#include <stdio.h>

enum { SILENT_CASES = 20 };

void fuzz_met(void *context, uint64_t signature, bool is_new)
{
    struct fuzz *fuzz = context;
    bool fresh = !fuzz_state_knows(&fuzz->state, signature);
    fuzz->fresh |= fresh;
    fuzz->added |= is_new;
    if (fuzz->first_run && fresh)
        second_looks_add(&fuzz->shared.looks,
                         &(struct second_look){.number = (size_t)(uintptr_t)fuzz->first_run->user,
                                               .recipe = fuzz->first_run->test->recipe,
                                               .signature = signature});
}

/* Whether the case is run again, in fresh processes, if it shows something new: cases of a leased range are,
 * except bred ones, which cannot be made again. */
bool fuzz_looks_twice(const struct fuzz *fuzz, size_t number)
{
    return fuzz->sharing && !fuzz->source.kind->bred && number < RANGE_MOST;
}

/* Stops the campaign when an engine that started once does not start any more, case after case. */
static void watch_engines(struct fuzz *fuzz, const struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        struct fuzz_engine *engine = &fuzz->status->engines[i];
        engine->silent = done->results[i].outcome == OUTCOME_NO_ENGINE ? engine->silent + 1 : 0;
        if (engine->silent < SILENT_CASES || fuzz->stop)
            continue;
        fuzz->stop = true;
        snprintf(fuzz->status->stopped, sizeof fuzz->status->stopped,
                 "the campaign stopped, as %s did not start on %d cases in a row: %.180s", engine->label,
                 SILENT_CASES, done->results[i].message ? done->results[i].message : "it gave no reason");
    }
}

/* Whether the case has a finding that the campaign does not know yet; from then on it does. */
static bool finds_new(struct fuzz *fuzz, const struct trial_done *done)
{
    bool found = false;
    for (size_t i = 0; i < done->n_engines; i++) {
        struct signature signature;
        if (!verdict_is_finding(done->judgement.verdicts[i].kind) ||
            !follow_up_signature(fuzz->options->panel, i, done, &signature))
            continue;
        uint64_t hash = hash_text(signature.text);
        found |= !fuzz_state_knows(&fuzz->state, hash);
        fuzz_state_learn(&fuzz->state, hash);
    }
    return found;
}

/* A bred case cannot be made again from its recipe, so the case of a new finding is kept in the folder. */
static int record_bred(struct fuzz *fuzz, struct fuzz_recorder *recorder, const struct trial_done *done,
                       struct error *err)
{
    char unkept[KEPT_NAME_SIZE + 20];
    snprintf(unkept, sizeof unkept, "unkept %s", done->test->name);
    if (finds_new(fuzz, done)) {
        fuzz->fresh = true;
        recorder->state = NULL; /* finds_new has entered it there */
        if (kept_case_write(&fuzz->folder, done->test->name, done->test, err))
            return -1;
    } else {
        recorder->recipe = unkept;
    }
    return fuzz_record(recorder, done, fuzz_met, fuzz, err);
}

/* Where the second opinion contradicts the reference, one of the two is wrong: the case is written down for
 * whoever maintains them. */
static int keep_contradictions(const struct fuzz *fuzz, const struct trial_done *done, struct error *err)
{
    const struct panel *panel = fuzz->options->panel;
    int status = 0;
    for (size_t i = 0; panel->second_opinion && i < done->n_engines && !status; i++) {
        const struct verdict *verdict = &done->judgement.verdicts[i];
        struct str line;
        if (!verdict_is(verdict->kind, CLASS_DOUBT) || verdict->no_evidence)
            continue;
        str_init(&line);
        str_printf(&line, "%s\t%s\t%s\n", done->test->recipe, panel_engine(panel, i)->label, verdict->text);
        status = folder_append(&fuzz->folder, "mistrusted.tsv", line.data, line.length, err);
        str_release(&line);
    }
    return status;
}

struct fuzz_recorder fuzz_recorder_for(struct fuzz *fuzz, size_t number)
{
    struct fuzz_recorder recorder = {
        .store = fuzz->store, .known = &fuzz->known, .panel = fuzz->options->panel};
    if (number < RANGE_MOST && fuzz->sharing) {
        recorder.buffer = &fuzz->shared.findings;
        recorder.state = &fuzz->state;
        recorder.number = number;
        recorder.first = fuzz->shared.lease.first;
    }
    return recorder;
}

static int record(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    struct fuzz_recorder recorder = fuzz_recorder_for(fuzz, number);
    recorder.only_met = fuzz->first_run != NULL;
    int status = fuzz->source.kind->bred ? record_bred(fuzz, &recorder, done, err)
                                         : fuzz_record(&recorder, done, fuzz_met, fuzz, err);
    if (!status)
        status = keep_contradictions(fuzz, done, err);
    if (status || !fuzz->added)
        return status;
    fuzz_update_status(fuzz);
    fuzz->status->last_new = fuzz->status->elapsed;
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* Whether every engine says that it lacks what the case needs. */
static bool all_lack(const struct trial_done *done)
{
    size_t lacking = 0;
    for (size_t i = 0; i < done->n_engines; i++)
        lacking += done->results[i].outcome == OUTCOME_UNSUPPORTED;
    return lacking == done->n_engines;
}

/* Counts a case of the range, and lets the source hear of it. */
static int count(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    const struct case_source_kind *kind = fuzz->source.kind;
    uint64_t before = fuzz->status->cases;
    fuzz->state.marks[number] = fuzz->fresh ? MARK_NEW : all_lack(done) ? MARK_LACKED : MARK_DONE;
    if (!fuzz->range.rough)
        fuzz_count(fuzz->status, done);
    fuzz->status->elapsed = fuzz->before + (clock_seconds() - fuzz->started);
    if (kind->hear && kind->hear(fuzz->source.self, number, done, fuzz->status, err))
        return -1;
    watch_engines(fuzz, done);
    fuzz->status->session_cases += fuzz->status->cases - before;
    return fuzz_keep(fuzz, fuzz->added, err);
}

/* A case of a leased range that a mishap left without a result counts as not run yet. */
static int put_off(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    second_looks_add(&fuzz->shared.looks,
                     &(struct second_look){.number = number, .recipe = done->test->recipe, .mishap = true});
    watch_engines(fuzz, done);
    return fuzz_keep(fuzz, false, err);
}

int fuzz_record_and_count(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    bool of_range = number < RANGE_MOST;
    if (!(of_range && fuzz->range.rough) && record(fuzz, number, done, err))
        return -1;
    return of_range ? count(fuzz, number, done, err) : 0;
}

/* One finished case; number: its place in the range, or RANGE_MOST for one of the probe's. */
int fuzz_take(void *context, struct trial_done *done, struct error *err)
{
    struct fuzz *fuzz = context;
    size_t number = (size_t)(uintptr_t)done->user;
    fuzz->fresh = fuzz->added = false;
    bool of_range = number < RANGE_MOST, twice = fuzz_looks_twice(fuzz, number);
    fuzz->first_run = twice ? done : NULL;
    int status = fuzz->lost              ? 0
                 : twice && done->mishap ? put_off(fuzz, number, done, err)
                                         : fuzz_record_and_count(fuzz, number, done, err);
    fuzz->first_run = NULL;
    trial_done_release(done);
    if (of_range)
        fuzz->stop |= fuzz_time_ends_range(fuzz);
    return status;
}
