#include "releases/bisect.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/handover.h"
#include "engine/knobs.h"
#include "engine/label.h"
#include "engine/runner.h"
#include "judge/expectation.h"
#include "judge/judge.h"
#include "locate/refusal.h"
#include "base/ddmin.h"
#include "releases/change_search.h"
#include "trial/trial.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STEP = 2, AHEAD = 4, CLASS_LETTERS = 32 };

struct work {
    struct bisect *bisect;
    struct test_case *test;
    const struct bisect_options *options;
    struct panel panel; /* gets an engine for every release and setting that is looked at */
    struct handover handover;
    struct job job; /* the case */
    struct result reference;
    struct label label;              /* the engine asked for */
    struct bisect_verdict *verdicts; /* one a release, where it was looked at */
    struct refusals *refusals;
    size_t runs;
    int any; /* number of some engine that has started in the pool, or -1 */
    struct error *err;
};

/* The label of a release with one knob (may be NULL) set to a value, the others as asked for. NULL with an
 * error when that cannot be. */
static const struct given_label *make_label(const struct work *work, const char *version, const char *knob,
                                            const char *value)
{
    struct arena *arena = &work->bisect->arena;
    const struct given_label *label = given_at(arena, work->options->engine, version);
    return knob ? given_with(arena, label, arena_printf(arena, "%s=%s", knob, value),
                             "what the engine says of its knobs", work->err)
                : label;
}

/* Adds the engine to the pool; returns its number there, or -1. */
static int add_engine(struct work *work, const struct given_label *label)
{
    long place = label ? panel_add(&work->panel, work->options->registry, label, work->err) : -1;
    return place < 0 ? -1 : work->panel.engines[place];
}

/* Hands the model over as the first release can take it: what one release can read, the others can. */
static int open_model(struct work *work)
{
    const struct bisect *bisect = work->bisect;
    int status = add_engine(work, make_label(work, bisect->releases[0], NULL, NULL)) < 0 ? -1 : 0;
    if (status || handover_open_case(&work->handover, work->panel.pool, work->test, work->err))
        return -1;
    work->job = (struct job){.n_inputs = work->test->n_inputs, .inputs = work->test->inputs};
    handover_give(&work->handover, &work->job);
    return 0;
}

/* The case on several engines, a few at a time; results in their order. */
static int run_engines(struct work *work, const int *engines, size_t count, struct result *results)
{
    struct runner *runner = runner_new(&work->panel, &(struct runner_options){.ahead = AHEAD});
    struct job job = work->job;
    struct run *run;
    size_t sent = 0;
    int status = 1;
    while (status == 1) {
        for (; sent < count && runner_room(runner); sent++) {
            job.user = &results[sent];
            runner_submit_to(runner, &job, &engines[sent], 1, ASK_NEVER);
        }
        if (work->options->alive)
            work->options->alive(work->options->context);
        status = runner_next(runner, &run, work->err);
        if (status == 1) {
            *(struct result *)run->job.user = run_take(run, 0, 0);
            run_free(run);
            work->runs++;
            progress_add(work->options->progress);
        }
    }
    runner_free(runner);
    return status;
}

/*
 * A hash of what a message is about: the letters at its end. Numbers change with the release, and so does the
 * beginning, which names source files and function signatures.
 */
static uint64_t message_class(const char *text)
{
    uint64_t hash = 0;
    size_t letters = 0;
    for (size_t i = text ? strlen(text) : 0; i-- > 0 && letters < CLASS_LETTERS;)
        if (isalpha((unsigned char)text[i])) {
            hash = hash_combine(hash, (uint64_t)text[i]);
            letters++;
        }
    return hash;
}

/*
 * Replaces the verdict on an answer that the reference does not object to by that of the case's expected
 * outputs, if it has any and the reference does not refute them: an error is then a refusal, and values are
 * compared with them.
 */
static void hold_against_answer(const struct work *work, const struct result *result, struct verdict *verdict,
                                struct str *text)
{
    if (!work->test->n_outputs)
        return;
    if (result->outcome == OUTCOME_REJECTED || result->outcome == OUTCOME_FAILED)
        verdict->kind = verdict_of_outcome(result->outcome);
    else if (result->outcome == OUTCOME_OK) {
        struct dispute dispute;
        struct verdict held = *verdict;
        struct expected expected = {
            .count = work->test->n_outputs, .values = work->test->outputs, .masks = work->test->masks};
        expectation_dispute(&dispute, &expected, work->panel.reference >= 0 ? &work->reference : NULL, result,
                            !work->test->random, &metrics_conformance);
        expectation_decide(&held, &dispute, &(struct expectation_known){.moved = INFINITY});
        if (held.expectation == EXPECTATION_REFUTED)
            return;
        if (dispute.golden != GOLDEN_PASS) {
            str_clear(text);
            str_add(text, dispute.text);
        }
        /* Agreement with the expected outputs decides where the reference could not judge. */
        verdict->kind = golden_verdict(dispute.golden);
    }
}

static struct settle_case case_of(const struct work *work, int engine)
{
    return (struct settle_case){
        .pool = work->panel.pool,
        .engine = engine,
        .test = work->test,
    };
}

/* A suspect answer is settled here as in all other commands. */
static void settle_release(struct work *work, int engine, struct verdict *verdict, struct str *text)
{
    struct settlement settlement = {0};
    struct settle_case which = case_of(work, engine);
    if (!verdict_is(verdict->kind, CLASS_SUSPECT) || !settle_verdict(&which, verdict, &settlement))
        return;
    str_clear(text);
    str_add(text, settlement.text);
    settlement_release(&settlement);
}

static void decide_refusal(struct work *work, int engine, const struct result *result,
                           struct verdict *verdict, struct str *text)
{
    struct settle_case which = case_of(work, engine);
    if (!refusal_decide(work->refusals, &which, result, verdict))
        return;
    str_clear(text);
    str_add(text, verdict->text);
}

static void judge_release(struct work *work, int engine, const struct judge_entry *entries, size_t count,
                          struct bisect_verdict *said)
{
    struct judgement judgement;
    struct str text;
    str_init(&text);
    const struct result *result = entries[0].result;
    trial_judge(&judgement, work->test, work->panel.reference >= 0 ? &work->reference : NULL, entries, count);
    struct verdict *verdict = &judgement.verdicts[0];
    str_add(&text, verdict->text);
    if (result->outcome == OUTCOME_OK && !work->test->forbidden)
        settle_release(work, engine, verdict, &text);
    bool finding = verdict_is_finding(verdict->kind);
    if (!finding && !work->test->forbidden)
        hold_against_answer(work, result, verdict, &text);
    if (!work->test->forbidden)
        decide_refusal(work, engine, result, verdict, &text);
    *said = (struct bisect_verdict){
        .kind = verdict->kind,
        .stage = result->stage,
        .by_answer = !finding && verdict_is_finding(verdict->kind),
        .text = arena_strdup(&work->bisect->arena, verdict_is(verdict->kind, CLASS_AGREES) ? "" : text.data),
        .message = result->message ? arena_strdup(&work->bisect->arena, result->message) : NULL,
    };
    bool lacks = verdict_is(verdict->kind, CLASS_LACK);
    said->state = hash_combine(hash_combine((uint64_t)said->kind, (uint64_t)said->stage),
                               lacks ? message_class(result->message) : 0);
    str_release(&text);
    judgement_release(&judgement);
}

static struct judge_entry entry_of(const struct work *work, int engine, const struct result *result)
{
    return judge_entry_of(pool_engine(work->panel.pool, engine), result, false);
}

/* What the trial says of one engine: of the case, or else of the pair, even where the original is wrong. */
static void note_trial(struct work *work, const struct trial_done *done, size_t engine,
                       struct bisect_verdict *said)
{
    const struct verdict *own = &done->judgement.verdicts[engine], *pair = &done->pairs[engine];
    const struct verdict *verdict =
        verdict_is_finding(own->kind) || !verdict_is_finding(pair->kind) ? own : pair;
    const struct result *result = &done->results[engine];
    *said = (struct bisect_verdict){
        .kind = verdict->kind,
        .stage = result->stage,
        .text =
            arena_strdup(&work->bisect->arena, verdict_is(verdict->kind, CLASS_AGREES) ? "" : verdict->text),
        .message = result->message ? arena_strdup(&work->bisect->arena, result->message) : NULL,
    };
    bool lacks = verdict_is(verdict->kind, CLASS_LACK);
    said->state = hash_combine(hash_combine((uint64_t)said->kind, (uint64_t)said->stage),
                               lacks ? message_class(result->message) : 0);
}

/* A rewritten case: both forms on all engines at once. */
static int judge_pairs(struct work *work, int *engines, size_t count, struct bisect_verdict *verdicts)
{
    struct panel panel = work->panel;
    struct trial_done done;
    panel.engines = engines;
    panel.count = count;
    struct trials *trials = trials_new(
        &(struct trial_options){.panel = &panel, .registry = work->options->registry, .settle = true});
    int status = trials_submit(trials, test_case_share(work->test), NULL, work->err) ||
                         trials_next(trials, &done, work->err) != 1
                     ? -1
                     : 0;
    for (size_t i = 0; i < count && !status; i++) {
        note_trial(work, &done, i, &verdicts[i]);
        progress_add(work->options->progress);
    }
    if (!status)
        trial_done_release(&done);
    trials_free(trials);
    work->runs += count;
    return status;
}

/* Runs the case on the engines of these labels and judges it. Fails when one that must start does not. */
static int verdicts_of(struct work *work, const struct given_label *const *labels, size_t count,
                       bool must_start, struct bisect_verdict *verdicts)
{
    int *engines = memory_zeroed(count, sizeof *engines), status = 0;
    struct result *results = memory_zeroed(count, sizeof *results);
    for (size_t i = 0; i < count; i++) {
        result_init(&results[i]);
        if (!status)
            status = (engines[i] = add_engine(work, labels[i])) < 0 ? -1 : 0;
    }
    bool pair = work->test->equivalence;
    if (!status)
        status =
            pair ? judge_pairs(work, engines, count, verdicts) : run_engines(work, engines, count, results);
    for (size_t i = 0; i < count; i++) {
        bool started =
            !(pair ? verdict_row(verdicts[i].kind)->not_started : results[i].outcome == OUTCOME_NO_ENGINE);
        if (!status && started)
            work->any = engines[i];
        if (!status && must_start && !started) {
            const char *problem = pool_engine(work->panel.pool, engines[i])->problem;
            status = error_set(work->err, ERROR_NOT_FOUND,
                               "%s does not start: %s; 'assay engines %.*s' shows its versions and knobs",
                               given_text(labels[i]), problem ? problem : "", (int)work->label.name.length,
                               work->label.name.text);
        }
        if (!status && !pair) {
            struct judge_entry entry = entry_of(work, engines[i], &results[i]);
            judge_release(work, engines[i], &entry, 1, &verdicts[i]);
        }
        result_release(&results[i]);
    }
    free(results);
    free(engines);
    return status;
}

static int look(void *context, const size_t *places, size_t count, uint64_t *states)
{
    struct work *work = context;
    const struct given_label **labels = memory_zeroed(count, sizeof *labels);
    struct bisect_verdict *verdicts = memory_zeroed(count, sizeof *verdicts);
    for (size_t i = 0; i < count; i++)
        labels[i] = make_label(work, work->bisect->releases[places[i]], NULL, NULL);
    int status = verdicts_of(work, labels, count, true, verdicts);
    for (size_t i = 0; i < count; i++) {
        work->verdicts[places[i]] = verdicts[i];
        states[places[i]] = verdicts[i].state;
    }
    free(verdicts);
    free(labels);
    return status;
}

/* Runs the reference once, for all releases. Where it cannot judge, the case must bring expected outputs. */
static int ask_reference(struct work *work)
{
    struct error err = {0};
    if (panel_add_reference(&work->panel, work->options->registry, &err))
        return work->test->n_outputs ? 0 : error_set(work->err, err.code, "%s", err.message);
    struct job job = work->job;
    job.engine = work->panel.reference;
    job.bounds = true;
    if (pool_run_one(work->panel.pool, &job, &work->reference, work->err))
        return -1;
    if (work->reference.outcome == OUTCOME_OK || work->test->n_outputs || work->test->equivalence ||
        work->test->forbidden)
        return 0;
    if (work->reference.outcome == OUTCOME_REJECTED)
        return error_set(
            work->err, ERROR_INVALID,
            "the case is not valid, so no release can be blamed: %.300s; correct the inputs or the "
            "model",
            work->reference.message ? work->reference.message : "");
    return error_set(
        work->err, ERROR_UNSUPPORTED,
        "nothing can judge the case: the reference says %s, and the case brings no expected outputs",
        work->reference.message ? work->reference.message : outcome_name(work->reference.outcome));
}

struct found {
    struct work *work;
    size_t capacity;
};

static int add_release(void *context, const char *name, const char *version, const char *path)
{
    struct found *found = context;
    struct bisect *bisect = found->work->bisect;
    (void)path;
    if (!version || !label_part_is(found->work->label.name, name))
        return 0;
    bisect->releases =
        memory_grow(bisect->releases, &found->capacity, bisect->n_releases + 1, sizeof *bisect->releases);
    bisect->releases[bisect->n_releases++] = arena_strdup(&bisect->arena, version);
    return 0;
}

static int find_releases(struct work *work)
{
    struct bisect *bisect = work->bisect;
    struct found found = {.work = work};
    if (!work->label.version.text && registry_each(work->options->registry, add_release, &found))
        return error_set(work->err, ERROR_IO, "the registry cannot be listed");
    if (bisect->n_releases)
        return 0;
    /* One release: as asked for, or what the adapter finds by itself. */
    const struct engine_spec *spec;
    if (registry_find(work->options->registry, work->options->engine, &spec, work->err))
        return -1;
    bisect->releases = memory_grow(NULL, &found.capacity, 1, sizeof *bisect->releases);
    const struct label_part *version = &work->label.version;
    bisect->releases[bisect->n_releases++] =
        version->text ? arena_copy(&bisect->arena, version->text, version->length) : NULL;
    return 0;
}

static const Assay__Welcome *welcome_of(const struct work *work)
{
    return work->any < 0 ? NULL : pool_engine(work->panel.pool, work->any)->welcome;
}

/*
 * What one setting of a release runs, another setting that selects the same kernels may not lack: so the
 * plain setting, which runs the graph as it is written, is asked too.
 */
static int check_lacking(struct work *work, struct bisect_stretch *stretch)
{
    const struct given_label *label = make_label(work, work->bisect->releases[stretch->last], NULL, NULL);
    int engines[2] = {add_engine(work, label), -1}, status = engines[0] < 0 ? -1 : 0;
    struct result results[2];
    for (int i = 0; i < 2; i++)
        result_init(&results[i]);
    if (!status)
        status = run_engines(work, engines, 1, results);
    if (!status)
        engines[1] = pool_plain(work->panel.pool, engines[0]);
    if (!status && engines[1] >= 0 && engines[1] != engines[0]) {
        status = run_engines(work, engines + 1, 1, results + 1);
        struct judge_entry entries[2] = {entry_of(work, engines[0], &results[0]),
                                         entry_of(work, engines[1], &results[1])};
        if (!status)
            judge_release(work, engines[0], entries, 2, &stretch->verdict);
    }
    for (int i = 0; i < 2; i++)
        result_release(&results[i]);
    return status;
}

static int make_stretches(struct work *work, const uint64_t *states)
{
    struct bisect *bisect = work->bisect;
    bisect->stretches = arena_array(&bisect->arena, bisect->n_releases, sizeof *bisect->stretches);
    for (size_t i = 0; i < bisect->n_releases; i++) {
        if (i && states[i] == states[i - 1]) {
            bisect->stretches[bisect->n_stretches - 1].last = i;
            continue;
        }
        /* The first release of a stretch was always run: changes are found between two that were. */
        bisect->stretches[bisect->n_stretches++] = (struct bisect_stretch){i, i, work->verdicts[i], false};
    }
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        struct bisect_stretch *stretch = &bisect->stretches[i];
        if (verdict_is(stretch->verdict.kind, CLASS_LACK) && check_lacking(work, stretch))
            return -1;
        stretch->bad = verdict_is_finding(stretch->verdict.kind);
    }
    return 0;
}

static int search_releases(struct work *work)
{
    struct bisect *bisect = work->bisect;
    size_t n = bisect->n_releases;
    uint64_t *states = memory_zeroed(n, sizeof *states);
    work->verdicts = arena_array(&bisect->arena, n, sizeof *work->verdicts);
    bisect->looked = arena_array(&bisect->arena, n, sizeof *bisect->looked);
    int status = change_search(states, bisect->looked, n,
                               work->options->step ? work->options->step : DEFAULT_STEP, look, work);
    if (!status)
        status = make_stretches(work, states);
    bisect->runs = work->runs;
    free(states);
    return status;
}

/* What the engine's file declares of its knobs. */
static const struct declared_knob *declared_by(const struct work *work)
{
    const struct engine_profile *profile =
        work->any < 0 ? NULL : pool_engine(work->panel.pool, work->any)->profile;
    return profile ? profile->knobs : NULL;
}

/* Whether what the engine supports with this value of the knob, it should support with every other value. */
static bool shows_kernels(const Assay__KnobInfo *info, const char *value)
{
    return info->kind == ASSAY__KNOB_INFO__KIND__SCHEDULE ||
           (info->kind == ASSAY__KNOB_INFO__KIND__GRAPH && text_equal(info->plain, value));
}

static int try_knob(struct work *work, const Assay__KnobInfo *info, const char *version,
                    struct bisect_knob *knob)
{
    struct arena *arena = &work->bisect->arena;
    char *list = arena_strdup(arena, info->values), *save = NULL;
    size_t most = 1;
    for (const char *at = list; *at; at++)
        most += *at == '|';
    knob->name = arena_strdup(arena, info->name);
    knob->values = arena_array(arena, most, sizeof *knob->values);
    const struct given_label **labels = arena_array(arena, most, sizeof *labels);
    struct bisect_verdict *verdicts = arena_array(arena, most, sizeof *verdicts);
    for (char *value = strtok_r(list, "|", &save); value; value = strtok_r(NULL, "|", &save)) {
        if (knobs_stands_for_text(value, strlen(value)) ||
            !declared_knobs_allow(declared_by(work), info->name, value))
            continue;
        knob->values[knob->count].value = value;
        labels[knob->count++] = make_label(work, version, info->name, value);
    }
    int status = verdicts_of(work, labels, knob->count, false, verdicts);
    /* A value that this release does not take tells nothing of the case. */
    size_t asked = knob->count;
    knob->count = 0;
    for (size_t i = 0; i < asked; i++)
        if (!verdict_row(verdicts[i].kind)->not_started) {
            verdicts[knob->count] = verdicts[i];
            knob->values[knob->count++].value = knob->values[i].value;
        }
    bool works = false;
    for (size_t i = 0; i < knob->count; i++) {
        works |= shows_kernels(info, knob->values[i].value) && !verdict_is(verdicts[i].kind, CLASS_LACK) &&
                 !verdict_is_finding(verdicts[i].kind);
    }
    for (size_t i = 0; i < knob->count; i++) {
        /* What one value lacks and another runs is refused, not unsupported, as for the judge. */
        if (works && verdict_is(verdicts[i].kind, CLASS_LACK))
            verdicts[i].kind = verdict_of_outcome(OUTCOME_REJECTED);
        knob->values[i].verdict = verdicts[i];
        knob->values[i].bad = verdict_is_finding(verdicts[i].kind);
    }
    return status;
}

struct passes {
    struct work *work;
    const char *version, *knob;
    size_t count;
    char **names;
    bool lacking; /* the fault is a refusal as lacking, so "unsupported" is as bad as it was */
};

static const struct given_label *passes_label(const struct passes *passes, const bool *kept)
{
    struct str value;
    str_init(&value);
    for (size_t i = 0; i < passes->count; i++)
        if (kept[i])
            str_printf(&value, "%s%s", value.length ? "+" : "", passes->names[i]);
    const struct given_label *label = make_label(passes->work, passes->version, passes->knob, value.data);
    str_release(&value);
    return label;
}

/* The first candidate without whose passes the fault is gone. */
static long test_passes(void *context, const bool *const *candidates, size_t count)
{
    struct passes *passes = context;
    long found = (long)count;
    for (size_t done = 0; done < count && found == (long)count;) {
        const struct given_label *labels[AHEAD];
        struct bisect_verdict verdicts[AHEAD] = {0};
        size_t n = count - done < AHEAD ? count - done : AHEAD;
        for (size_t i = 0; i < n; i++)
            labels[i] = passes_label(passes, candidates[done + i]);
        int status = verdicts_of(passes->work, labels, n, true, verdicts);
        for (size_t i = 0; i < n; i++) {
            bool bad = verdict_is_finding(verdicts[i].kind) ||
                       (passes->lacking && verdict_is(verdicts[i].kind, CLASS_LACK));
            if (!bad && found == (long)count)
                found = (long)(done + i);
        }
        if (status)
            return -1;
        done += n;
    }
    return found;
}

static int try_passes(struct work *work, const Assay__KnobInfo *info, const char *version, bool lacking)
{
    struct bisect *bisect = work->bisect;
    struct passes passes = {.work = work, .version = version, .knob = info->name, .lacking = lacking};
    char *list = arena_strdup(&bisect->arena, info->values), *save = NULL;
    passes.names = arena_array(&bisect->arena, strlen(list) / 2 + 1, sizeof *passes.names);
    for (char *name = strtok_r(list, "+", &save); name; name = strtok_r(NULL, "+", &save))
        passes.names[passes.count++] = name;
    bisect->pass_knob = arena_strdup(&bisect->arena, info->name);
    bisect->n_passes = passes.count;
    bool *kept = arena_array(&bisect->arena, passes.count, sizeof *kept);
    for (size_t i = 0; i < passes.count; i++)
        kept[i] = true;
    const bool *all[1] = {kept};
    long found = test_passes(&passes, all, 1);
    if (found)
        return found < 0 ? -1 : 0;
    if (ddmin(kept, passes.count, test_passes, &passes))
        return -1;
    bisect->blamed = arena_array(&bisect->arena, passes.count, sizeof *bisect->blamed);
    for (size_t i = 0; i < passes.count; i++)
        if (kept[i])
            bisect->blamed[bisect->n_blamed++] = passes.names[i];
    return 0;
}

static int search_knobs(struct work *work)
{
    struct bisect *bisect = work->bisect;
    const Assay__Welcome *welcome = welcome_of(work);
    const struct bisect_stretch *bad = NULL;
    for (size_t i = 0; i < bisect->n_stretches; i++)
        if (bisect->stretches[i].bad)
            bad = &bisect->stretches[i];
    if (!bad || !welcome)
        return 0;
    bisect->at = bisect->releases[bad->last];
    bisect->knobs = arena_array(&bisect->arena, welcome->n_knobs, sizeof *bisect->knobs);
    work->runs = 0;
    for (size_t i = 0; i < welcome->n_knobs && !work->options->passes_only; i++)
        if (strchr(welcome->knobs[i]->values, '|') &&
            declared_knobs_find(declared_by(work), welcome->knobs[i]->name) &&
            try_knob(work, welcome->knobs[i], bisect->at, &bisect->knobs[bisect->n_knobs++]))
            return -1;
    bisect->knob_runs = work->runs;
    work->runs = 0;
    welcome = welcome_of(work); /* of the very release: not all can leave out passes */
    for (size_t i = 0; i < welcome->n_knobs && !bisect->pass_knob; i++)
        if (strchr(welcome->knobs[i]->values, '+') &&
            declared_knobs_allow(declared_by(work), welcome->knobs[i]->name, welcome->knobs[i]->values) &&
            try_passes(work, welcome->knobs[i], bisect->at,
                       verdict_is(work->verdicts[bad->first].kind, CLASS_LACK)))
            return -1;
    bisect->pass_runs = work->runs;
    return 0;
}

int bisect_run(struct bisect *bisect, struct test_case *test, const struct bisect_options *options,
               struct error *err)
{
    struct work work = {.bisect = bisect, .test = test, .options = options, .any = -1, .err = err};
    struct pool_options limits = options->limits;
    /*
     * A fresh process each time, so that an engine that reads beyond its memory always finds the same there,
     * and so that no dozens of idle engines are kept.
     */
    limits.fresh = true;
    *bisect = (struct bisect){0};
    arena_init(&bisect->arena);
    bisect->engine = arena_strdup(&bisect->arena, given_text(options->engine));
    work.label = label_parse(bisect->engine);
    work.refusals = refusals_new(false);
    result_init(&work.reference);
    int status = panel_open(&work.panel, options->registry, &(struct given_labels){0}, &limits, err);
    if (!status)
        status = find_releases(&work);
    if (!status)
        status = open_model(&work);
    if (!status)
        status = ask_reference(&work);
    if (!status)
        status = search_releases(&work);
    if (!status && options->ran)
        options->ran(options->context, &work.panel);
    if (!status && !options->no_knobs)
        status = search_knobs(&work);
    refusals_free(work.refusals);
    panel_close(&work.panel);
    handover_close(&work.handover);
    result_release(&work.reference);
    return status;
}

void bisect_release(struct bisect *bisect)
{
    free(bisect->releases);
    arena_release(&bisect->arena);
}
