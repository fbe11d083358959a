#include "trial/trial.h"

#include "base/memory.h"
#include "engine/everyones_knobs.h"
#include "engine/handover.h"
#include "generate/operator_case.h"
#include "judge/pair.h"
#include "locate/refusal.h"
#include "rules/rewriting.h"
#include "tensor/identical.h"
#include "trial/origin.h"
#include "trial/second_opinion.h"
#include "trial/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CRASH_TRIES = 3,
    DEFAULT_AHEAD = 32,
    FRESH_AHEAD = 8, /* cases in new processes, before one of them is waited for */
};

/* A case under way: what its job borrows. */
struct flight {
    struct test_case *test;
    void *user;
    bool hidden;           /* an original, whose answers go to `origin` and are not given back */
    bool other;            /* of no interest: it only goes before another case */
    struct origin *origin; /* of a rewritten case: its original; one share */
    const struct variant *variant;
    struct handover handover;
    bool narrow;     /* the reference is asked for narrow bounds first */
    bool same_work;  /* model and inputs are those of the original, and so is what the reference says */
    struct run *run; /* back, and waiting for the original */
    struct flight *next;
};

struct trials {
    struct trial_options options;
    struct panel panel, fresh_panel; /* where cases run, and where those run that ask for new processes */
    struct runner *runner, *fresh;   /* fresh: NULL until it is needed, or when it is the same */
    struct variants *variants;
    struct origins origins;
    struct flight *waiting; /* for their originals */
    size_t pending;         /* cases that were submitted and not given back */
    struct refusals *refusals;
};

struct trials *trials_new(const struct trial_options *options)
{
    struct trials *trials = memory_zeroed(1, sizeof *trials);
    trials->options = *options;
    if (!trials->options.ahead)
        trials->options.ahead = DEFAULT_AHEAD;
    trials->panel = *options->panel;
    if (options->fresh)
        trials->panel.pool = panel_fresh(options->panel);
    trials->fresh_panel = trials->panel;
    trials->fresh_panel.pool = options->panel->fresh;
    trials->runner = runner_new(
        &trials->panel, &(struct runner_options){.ahead = options->ahead, .crash_tries = CRASH_TRIES});
    trials->variants = variants_new(&trials->panel, options->registry);
    trials->refusals = refusals_new(true);
    return trials;
}

void trial_done_release(struct trial_done *done)
{
    test_case_free(done->test);
    if (!done->reference_borrowed)
        result_release(&done->reference);
    for (size_t i = 0; i < done->n_engines; i++) {
        settlement_release(&done->settlements[i]);
        result_release(&done->results[i]);
    }
    free(done->results);
    free(done->settlements);
    free(done->engines);
    free(done->pairs);
    free(done->repeats_differ);
    judgement_release(&done->judgement);
    origin_release(done->origin);
}

const struct test_case *trial_done_subject(const struct trial_done *done, size_t engine)
{
    return done->judgement.verdicts[engine].of_pair ? done->test->equivalence->origin : done->test;
}

static void flight_free(struct flight *flight)
{
    handover_close(&flight->handover);
    origin_release(flight->origin);
    test_case_free(flight->test);
    run_free(flight->run);
    free(flight);
}

bool trials_room(const struct trials *trials)
{
    return trials->pending < trials->options.ahead && variants_room(trials->variants);
}

size_t trials_pending(const struct trials *trials)
{
    return trials->pending;
}

size_t trials_strays(const struct trials *trials)
{
    return runner_strays(trials->runner) + (trials->fresh ? runner_strays(trials->fresh) : 0);
}

/* --- Submitting --- */

static struct runner *runner_for(struct trials *trials, const struct pool *pool)
{
    if (!pool || pool == trials->panel.pool)
        return trials->runner;
    if (!trials->fresh)
        trials->fresh =
            runner_new(&trials->fresh_panel, &(struct runner_options){.crash_tries = CRASH_TRIES});
    return trials->fresh;
}

static void launch(struct trials *trials, struct flight *flight, int repeat, enum ask_reference ask)
{
    const struct variant *variant = flight->variant;
    int *engines = memory_zeroed(trials->panel.count, sizeof *engines);
    size_t count = 0;
    struct job job = {
        .n_inputs = flight->test->n_inputs,
        .inputs = flight->test->inputs,
        .repeat = repeat,
        .keep_other = flight->test->equivalence && flight->test->equivalence->bytes,
        .trace = trials->options.trace,
        .narrow = flight->narrow,
        .user = flight,
    };
    handover_give(&flight->handover, &job);
    for (size_t i = 0; i < trials->panel.count; i++)
        if (variant->engines[i] >= 0)
            engines[count++] = variant->engines[i];
    runner_submit_to(runner_for(trials, variant->pool), &job, engines, count, ask);
    free(engines);
}

/* The original of a rewritten case, unless it is there or under way. */
static int launch_origin(struct trials *trials, struct flight *flight, struct error *err)
{
    struct test_case *test = flight->test->equivalence->origin;
    bool is_new;
    struct origin *origin = origins_find(&trials->origins, test, &is_new);
    flight->origin = origin;
    if (!is_new)
        return 0;
    struct flight *first = memory_zeroed(1, sizeof *first);
    first->test = test_case_share(test);
    first->hidden = true;
    first->origin = origin;
    origin->shares++;
    first->variant = variants_find(trials->variants, "", false);
    if (handover_open_case(&first->handover, trials->panel.pool, test, err)) {
        origins_forget(&trials->origins, origin);
        flight_free(first);
        return -1;
    }
    launch(trials, first, trials->options.repeat, ASK_WHEN_NEEDED);
    return 0;
}

static bool same_inputs(const struct test_case *a, const struct test_case *b)
{
    if (a->n_inputs != b->n_inputs)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++) {
        const struct value *x = &a->inputs[i], *y = &b->inputs[i];
        bool same =
            x->kind == y->kind && x->count == y->count && x->name && y->name && strcmp(x->name, y->name) == 0;
        for (size_t k = 0; same && k < x->count; k++)
            same = tensor_identical(&x->tensors[k], &y->tensors[k]);
        if (!same)
            return false;
    }
    return true;
}

/* Generated cases, which the processes run just before a case that asks for it. Nobody looks at what becomes
 * of them; they are the same each time. */
static void launch_others(struct trials *trials, const struct flight *flight)
{
    for (int i = 0; i < flight->test->equivalence->others; i++) {
        struct test_case *test;
        struct flight *other = memory_zeroed(1, sizeof *other);
        if (generate_graph(1, (uint64_t)i, &(struct generate_options){0}, &test, NULL)) {
            free(other);
            continue;
        }
        other->test = test;
        other->other = true;
        other->variant = flight->variant;
        if (handover_open_case(&other->handover, flight->variant->pool, test, NULL))
            flight_free(other);
        else
            launch(trials, other, 0, ASK_NEVER);
    }
}

static int launch_rewritten(struct trials *trials, struct flight *flight, struct error *err)
{
    const struct equivalence *way = flight->test->equivalence;
    flight->variant = variants_find(trials->variants, way->knobs, way->fresh);
    flight->same_work = flight->test->model == way->origin->model && same_inputs(flight->test, way->origin);
    struct pool *pool = flight->variant->pool ? flight->variant->pool : trials->panel.pool;
    /* An engine on another machine gets bytes in any case. */
    int (*hand_over)(struct handover *, struct pool *, const struct test_case *, struct error *) =
        way->by_path && pool_is_local(pool) ? handover_open_file : handover_open_case;
    if (hand_over(&flight->handover, pool, flight->test, err) || launch_origin(trials, flight, err))
        return -1;
    int repeat = trials->options.repeat;
    launch_others(trials, flight);
    launch(trials, flight, repeat > way->again ? repeat : way->again,
           flight->same_work ? ASK_NEVER : ASK_WHEN_NEEDED);
    return 0;
}

static int launch_alone(struct trials *trials, struct flight *flight, struct error *err)
{
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(flight->test, &bytes, &size, err))
        return -1;
    flight->handover = (struct handover){.bytes = bytes, .size = size};
    handover_ask(&flight->handover, flight->test);
    flight->narrow = trials->options.narrow;
    flight->variant = variants_find(trials->variants, "", false);
    launch(trials, flight, trials->options.repeat, ASK_WHEN_NEEDED);
    return 0;
}

int trials_submit(struct trials *trials, struct test_case *test, void *user, struct error *err)
{
    struct flight *flight = memory_zeroed(1, sizeof *flight);
    flight->test = test;
    flight->user = user;
    if ((test->equivalence ? launch_rewritten : launch_alone)(trials, flight, err)) {
        flight_free(flight);
        return -1;
    }
    trials->pending++;
    return 0;
}

/* --- Judging --- */

/* Results and settings by the engines' places in the panel; those that were not asked keep an empty result.
 */
static void take_results(const struct trials *trials, const struct flight *flight, struct run *run,
                         struct trial_done *done, bool *repeats_differ)
{
    const struct variant *variant = flight->variant;
    size_t taken = 0;
    for (size_t i = 0; i < done->n_engines; i++) {
        result_init(&done->results[i]);
        done->engines[i] = panel_engine(&trials->panel, i);
        if (variant->engines[i] < 0)
            continue;
        done->engines[i] = pool_engine(variant->pool, variant->engines[i]);
        repeats_differ[i] = run->repeats_differ[taken];
        done->results[i] = run_take(run, 0, taken++);
    }
    done->reference = run_take(run, 0, run->n_engines);
    done->asked = run->asked;
    if (flight->same_work) {
        done->reference = flight->origin->done.reference;
        done->asked = flight->origin->done.asked;
        done->reference_borrowed = true;
    }
}

/* An engine that was not asked lacks the setting, and does not lack the case. */
static void note_unasked(const struct variant *variant, struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        if (variant->engines[i] >= 0)
            continue;
        struct verdict *verdict = &done->judgement.verdicts[i];
        done->results[i].outcome = OUTCOME_UNSUPPORTED;
        done->results[i].message = memory_strdup(variant->why[i]);
        *verdict = (struct verdict){.kind = verdict_of_outcome(OUTCOME_UNSUPPORTED), .unanswered = true};
        snprintf(verdict->text, sizeof verdict->text, "%s", variant->why[i]);
    }
}

/* Not every engine reads weights from a file beside the model, and that is no fault in the model. */
static void excuse_files(struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        struct verdict *verdict = &done->judgement.verdicts[i];
        if (verdict_is(verdict->kind, CLASS_REFUSAL))
            verdict->kind = verdict_of_outcome(OUTCOME_UNSUPPORTED);
    }
}

void trial_judge(struct judgement *judgement, const struct test_case *test, const struct result *reference,
                 const struct judge_entry *entries, size_t count)
{
    judge_case(judgement, reference, entries, count);
    if (test->forbidden)
        judge_forbidden(judgement, entries, test->forbidden != FORBIDDEN_BY_REFERENCE, test->forbidden_why);
}

/* Asks the reference for the bounds of all algorithms; where that fails, there is no reference. */
static void ask_widely(const struct trials *trials, const struct flight *flight, struct trial_done *done)
{
    struct job job = {.engine = trials->panel.reference,
                      .n_inputs = flight->test->n_inputs,
                      .inputs = flight->test->inputs,
                      .bounds = true};
    handover_give(&flight->handover, &job);
    result_release(&done->reference);
    result_init(&done->reference);
    done->asked = pool_run_one(trials->panel.pool, &job, &done->reference, NULL) == 0;
}

/* Takes over what came back, and judges it. */
static void judge_run(const struct trials *trials, struct flight *flight, struct run *run,
                      struct trial_done *done)
{
    size_t n = trials->panel.count;
    *done = (struct trial_done){
        .test = flight->test,
        .user = flight->user,
        .n_engines = n,
        .results = memory_zeroed(n, sizeof *done->results),
        .engines = memory_zeroed(n, sizeof *done->engines),
        .settlements = memory_zeroed(n, sizeof *done->settlements),
        .repeats_differ = memory_zeroed(n, sizeof *done->repeats_differ),
    };
    bool *differ = done->repeats_differ;
    struct judge_entry *entries = memory_zeroed(n, sizeof *entries);
    take_results(trials, flight, run, done, differ);
    for (size_t i = 0; i < n; i++)
        entries[i] = judge_entry_of(done->engines[i], &done->results[i], differ[i]);
    trial_judge(&done->judgement, flight->test, done->asked ? &done->reference : NULL, entries, n);
    if (judge_needs_wider(&done->judgement, &done->reference)) {
        ask_widely(trials, flight, done);
        judgement_release(&done->judgement);
        trial_judge(&done->judgement, flight->test, done->asked ? &done->reference : NULL, entries, n);
    }
    note_unasked(flight->variant, done);
    const struct equivalence *way = flight->test->equivalence;
    if (way && way->by_path && flight->handover.path)
        excuse_files(done);
    free(entries);
}

static bool wants_settling(const struct trials *trials, const struct trial_done *done, size_t entry)
{
    const struct verdict *verdict = &done->judgement.verdicts[entry];
    bool answered = done->results[entry].outcome == OUTCOME_OK;
    return trials->options.settle &&
           (answered ? settle_wanted(verdict) : verdict_row(verdict->kind)->narrowed);
}

/* Where the engine is asked again about a case. */
static struct settle_case where(const struct trials *trials, const struct flight *flight, size_t engine,
                                bool refused)
{
    const struct variant *variant = flight->variant;
    bool shared = refused && !*variant->knobs;
    return (struct settle_case){
        .pool = shared ? trials->options.panel->pool : variant->pool,
        .engine = shared ? trials->panel.engines[engine] : variant->engines[engine],
        .test = flight->test,
    };
}

/* What an engine makes of a forbidden model, the node that breaks the rule is to blame for. Nothing behind it
 * can be computed, so parts of the model cannot be run. */
static void blame_forbidden(struct trial_done *done)
{
    const struct model *model = test_case_model(done->test, NULL);
    if (!model || !done->test->forbidden_node)
        return;
    size_t node = graph_find_node(model->graph, done->test->forbidden_node);
    for (size_t i = 0; node < model->graph->n_node && i < done->n_engines; i++) {
        if (!verdict_is_finding(done->judgement.verdicts[i].kind))
            continue;
        settlement_blame(&done->settlements[i], &done->judgement.verdicts[i], &node, 1);
        settlement_describe(&done->settlements[i], model);
    }
}

/* Refusals are asked about in any case; what is left to settle after that is settled where it is wanted. */
static void settle_done(struct trials *trials, const struct flight *flight, struct trial_done *done)
{
    if (flight->test->forbidden) {
        blame_forbidden(done);
        return;
    }
    for (size_t i = 0; i < done->n_engines; i++) {
        struct verdict *verdict = &done->judgement.verdicts[i];
        bool refused = verdict_is(verdict->kind, CLASS_REFUSAL);
        if (!refused && !wants_settling(trials, done, i))
            continue;
        struct settle_case which = where(trials, flight, i, refused);
        refusal_decide(trials->refusals, &which, &done->results[i], verdict);
        if (!wants_settling(trials, done, i))
            continue;
        if (done->results[i].outcome == OUTCOME_OK)
            settle_verdict(&which, verdict, &done->settlements[i]);
        else
            settle_end(&which, verdict, &done->results[i], &done->settlements[i]);
    }
}

/* --- Pairs --- */

/* An engine may lack what another setting of it has, when the setting selects other kernels. */
static bool nothing_new(const struct trials *trials, const struct flight *flight,
                        const struct trial_done *done, size_t engine)
{
    const struct equivalence *way = flight->test->equivalence;
    return way->nothing_new && !way->by_path &&
           (!*way->knobs || pool_same_kernels(panel_engine(&trials->panel, engine), done->engines[engine]));
}

/* Whether an answer that was looked into is right, as nodes may be computed together by another formula. The
 * other form may have nothing to compute together, so that the difference tells nothing. */
static bool is_explained(const struct settlement *settlement)
{
    return verdict_is(settlement->kind, CLASS_DOUBT) && !settlement->verdict.no_evidence;
}

/* --- Memory that nobody wrote --- */

#define PATTERN KNOB_PERTURB "=170"
#define OTHER_PATTERN KNOB_PERTURB "=85" /* as many letters, or fewer */

/* The same settings with the other pattern; false when they have neither. */
static bool other_pattern(const char *knobs, char *other, size_t size)
{
    const char *at = strstr(knobs, PATTERN), *gets = OTHER_PATTERN;
    size_t length = strlen(PATTERN);
    if (!at) {
        at = strstr(knobs, OTHER_PATTERN);
        gets = PATTERN;
        length = strlen(OTHER_PATTERN);
    }
    if (!at)
        return false;
    snprintf(other, size, "%.*s%s%s", (int)(at - knobs), knobs, gets, at + length);
    return strlen(knobs) + 1 < size;
}

static bool same_outputs(const struct result *a, const struct result *b)
{
    return a->outcome == OUTCOME_OK && b->outcome == OUTCOME_OK &&
           values_identical(a->outputs, a->count, b->outputs, b->count);
}

/* Runs the case in a new process with these settings. False when there is no answer. */
static bool run_anew(struct trials *trials, const struct test_case *test, const char *knobs, size_t engine,
                     struct result *result)
{
    const struct variant *variant = variants_find(trials->variants, knobs, trials->panel.fresh != NULL);
    struct job job = {.engine = variant->engines[engine]};
    *result = (struct result){0};
    if (job.engine < 0)
        return false;
    if (!trials->panel.fresh && pool_pending(variant->pool, job.engine))
        return false;
    if (!trials->panel.fresh)
        pool_rest(variant->pool, job.engine);
    return handover_run_case(variant->pool, test, false, &job, result, NULL) == 0 &&
           result->outcome == OUTCOME_OK;
}

/* Runs the case in some new processes, all of which must give the same answer: the given one or, where that
 * is not there yet, that of the first process. */
static bool answers_alike(struct trials *trials, const struct test_case *test, const char *knobs,
                          size_t engine, struct result *as)
{
    enum { TIMES = 4 };
    bool alike = true;
    for (int i = 0; i < TIMES && alike; i++) {
        struct result result;
        alike = run_anew(trials, test, knobs, engine, &result) &&
                (as->outcome == OUTCOME_UNTESTED || same_outputs(&result, as));
        if (alike && as->outcome == OUTCOME_UNTESTED)
            *as = result;
        else
            result_release(&result);
    }
    return alike;
}

/* What memcheck says of the case as it is, where valgrind can run the engine. */
static void ask_memcheck(struct trials *trials, const struct flight *flight, size_t engine,
                         struct verdict *verdict)
{
    const struct variant *variant =
        variants_find(trials->variants, KNOB_MEMCHECK "=on", trials->panel.fresh != NULL);
    struct job job = {.engine = variant->engines[engine]};
    struct result result = {0};
    struct error err = {0};
    char said[sizeof verdict->text];
    const char *why = variant->why[engine];
    snprintf(said, sizeof said, "%s", verdict->text);
    bool run =
        job.engine >= 0 && handover_run_case(variant->pool, flight->test, false, &job, &result, &err) == 0;
    if (job.engine >= 0)
        why = !run                           ? err.message
              : result.outcome == OUTCOME_OK ? "it sees no such memory in the outputs"
                                             : result.message;
    bool seen = run && result.outcome != OUTCOME_OK && result.message &&
                strncmp(result.message, WIRE_MEMCHECK, strlen(WIRE_MEMCHECK)) == 0;
    snprintf(verdict->memcheck, sizeof verdict->memcheck, "%s by memcheck: %s",
             seen ? "confirmed" : "not confirmed",
             seen          ? result.message + strlen(WIRE_MEMCHECK)
             : why && *why ? why
                           : "the engine does not run in it");
    verdict_say(verdict, "%s; %s", said, verdict->memcheck);
    result_release(&result);
}

/*
 * An answer that changes with the contents of new memory may do so by chance, such as that of addresses. It
 * follows the contents when the same pattern gives the same answer in each of some new processes, and another
 * pattern another one.
 */
static void confirm_unwritten(struct trials *trials, const struct flight *flight,
                              const struct trial_done *done, size_t engine, struct verdict *verdict)
{
    char other[200], said[sizeof verdict->text];
    const char *knobs = flight->test->equivalence->knobs;
    struct result with_other = {0};
    if (other_pattern(knobs, other, sizeof other) &&
        answers_alike(trials, flight->test, knobs, engine, &done->results[engine]) &&
        answers_alike(trials, flight->test, other, engine, &with_other) &&
        !same_outputs(&with_other, &done->results[engine])) {
        snprintf(said, sizeof said, "%s", verdict->text);
        verdict->kind = VERDICT_UNWRITTEN;
        bool beside = strstr(knobs, "guard=");
        verdict_say(verdict, "%s; the answer follows the pattern that %s", said,
                    beside ? "lies behind and in front of pieces of memory" : "new memory is filled with");
        if (trials->options.memcheck && !beside)
            ask_memcheck(trials, flight, engine, verdict);
    }
    result_release(&with_other);
}

static void judge_pair(struct trials *trials, const struct flight *flight, struct pair *pair,
                       struct trial_done *done, size_t engine)
{
    struct verdict *verdict = &done->pairs[engine];
    const struct result *result = &done->results[engine];
    pair->nothing_new = nothing_new(trials, flight, done, engine);
    pair_judge(pair, &done->origin_results[engine], result, verdict);
    if (verdict->of_pair &&
        (is_explained(&done->settlements[engine]) || is_explained(&done->original->settlements[engine])))
        *verdict = (struct verdict){.kind = VERDICT_UNDECIDED,
                                    .text = "another formula for nodes that are computed as one explains it"};
    if (verdict->of_pair && flight->test->equivalence->memory)
        confirm_unwritten(trials, flight, done, engine, verdict);
    /* How a process ended is told by the case itself. */
    if (verdict_is(done->judgement.verdicts[engine].kind, CLASS_DEATH))
        *verdict = done->judgement.verdicts[engine];
    if (!verdict_is(verdict->kind, CLASS_REFUSAL))
        return;
    struct settle_case which = where(trials, flight, engine, true);
    if (result->outcome == OUTCOME_OK) { /* it is the original that was refused */
        which.pool = trials->options.panel->pool;
        which.engine = trials->panel.engines[engine];
        which.test = flight->origin->test;
        result = &done->origin_results[engine];
    }
    refusal_decide(trials->refusals, &which, result, verdict);
}

/* Where a rule was applied at a node, that node is what the answer depends on. */
static void blame_site(struct trial_done *done, size_t engine)
{
    const struct test_case *subject = trial_done_subject(done, engine);
    const struct model *model = test_case_model(subject, NULL);
    struct settlement *settlement = &done->settlements[engine];
    long node = model ? rewriting_node(done->test->equivalence->rewriting, model) : -1;
    settlement_release(settlement);
    *settlement = (struct settlement){0};
    if (node < 0)
        return;
    settlement_blame(settlement, &done->judgement.verdicts[engine], &(size_t){(size_t)node}, 1);
    settlement_describe(settlement, model);
}

static int rank(const struct verdict *verdict)
{
    return verdict_row(verdict->kind)->rank;
}

/* A pair counts where neither form is wrong by itself: then nothing else tells of it. That memory is read
 * which nobody wrote says why a form is wrong. */
static bool pair_counts(const struct trial_done *done, size_t engine)
{
    static const unsigned loud = CLASS_SUSPECT | CLASS_WRONG_ANSWER | CLASS_NO_ANSWER | CLASS_UNSTABLE;
    const struct verdict *pair = &done->pairs[engine], *own = &done->judgement.verdicts[engine];
    if (verdict_row(pair->kind)->of_memory)
        return true;
    return verdict_is(pair->kind, loud) && !verdict_is_finding(own->kind) &&
           !verdict_is_finding(done->origin_verdicts[engine].kind) && rank(pair) > rank(own);
}

static int judge_pairs(struct trials *trials, const struct flight *flight, struct trial_done *done,
                       struct error *err)
{
    struct origin *origin = flight->origin;
    struct pair pair;
    done->origin = origin;
    origin->shares++;
    done->original = &origin->done;
    done->origin_results = origin->done.results;
    done->origin_verdicts = origin->done.judgement.verdicts;
    done->pairs = memory_zeroed(done->n_engines, sizeof *done->pairs);
    if (pair_open(&pair, done->test, &origin->done.reference, &done->reference, err))
        return -1;
    pair.tolerance = trials->options.tolerance;
    done->bad_rewriting = pair.bad_rewriting;
    for (size_t i = 0; i < done->n_engines; i++) {
        judge_pair(trials, flight, &pair, done, i);
        if (!pair_counts(done, i))
            continue;
        done->judgement.verdicts[i] = done->pairs[i];
        if (done->pairs[i].of_pair)
            blame_site(done, i);
    }
    pair_close(&pair);
    return 0;
}

/* --- Taking --- */

/* Ends that have a reason outside of the case now and then. */
static bool is_mishap(enum outcome outcome)
{
    return outcome == OUTCOME_NO_ENGINE || outcome == OUTCOME_HANG || outcome == OUTCOME_MEMORY ||
           outcome == OUTCOME_GARBAGE;
}

static bool has_mishap(const struct trial_done *done)
{
    bool found =
        done->asked && (is_mishap(done->reference.outcome) || done->reference.outcome == OUTCOME_CRASH);
    for (size_t i = 0; i < done->n_engines && !found; i++)
        found = is_mishap(done->results[i].outcome);
    return found || (done->original && done->original->mishap);
}

/* The case of a flight whose run is back, and whose original is. */
static int finish(struct trials *trials, struct flight *flight, struct trial_done *done, struct error *err)
{
    size_t before = panel_mishaps(trials->options.panel); /* after that only questions about this case run */
    judge_run(trials, flight, flight->run, done);
    settle_done(trials, flight, done);
    second_opinion_ask(trials->options.panel, done);
    int status = flight->origin && !flight->hidden ? judge_pairs(trials, flight, done, err) : 0;
    judge_blame(&done->judgement);
    done->mishap = has_mishap(done) || panel_mishaps(trials->options.panel) != before;
    trials->pending -= !flight->hidden;
    flight->test = NULL;
    flight_free(flight);
    if (status)
        trial_done_release(done);
    return status;
}

/* Takes a flight that waits no longer out of the list; NULL when there is none. */
static struct flight *take_waiting(struct trials *trials)
{
    for (struct flight **at = &trials->waiting; *at; at = &(*at)->next) {
        struct flight *flight = *at;
        if (!flight->origin->back)
            continue;
        *at = flight->next;
        return flight;
    }
    return NULL;
}

static int next_run(struct trials *trials, struct run **run, struct error *err)
{
    size_t fresh = trials->fresh ? runner_pending(trials->fresh) : 0;
    bool wait = fresh && (fresh >= FRESH_AHEAD || !runner_pending(trials->runner));
    return runner_next(wait ? trials->fresh : trials->runner, run, err);
}

int trials_next(struct trials *trials, struct trial_done *done, struct error *err)
{
    for (;;) {
        struct flight *flight = take_waiting(trials);
        if (flight)
            return finish(trials, flight, done, err) ? -1 : 1;
        struct run *run;
        int status = next_run(trials, &run, err);
        if (status != 1)
            return status;
        flight = run->job.user;
        flight->run = run;
        if (flight->other) {
            flight_free(flight);
            continue;
        }
        if (flight->hidden) {
            struct origin *origin = flight->origin;
            origin->shares++;
            finish(trials, flight, done, err);
            origin_set(origin, done);
            origin_release(origin);
            continue;
        }
        if (!flight->origin)
            return finish(trials, flight, done, err) ? -1 : 1;
        flight->next = trials->waiting;
        trials->waiting = flight;
    }
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

static void drain(struct runner *runner)
{
    struct run *run;
    while (runner && runner_next(runner, &run, NULL) == 1) {
        flight_free(run->job.user);
        run_free(run);
    }
    runner_free(runner);
}

void trials_free(struct trials *trials)
{
    if (!trials)
        return;
    drain(trials->runner);
    drain(trials->fresh);
    while (trials->waiting) {
        struct flight *flight = trials->waiting;
        trials->waiting = flight->next;
        flight_free(flight);
    }
    origins_release(&trials->origins);
    variants_free(trials->variants);
    refusals_free(trials->refusals);
    free(trials);
}
