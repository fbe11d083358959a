#include "judge/judge.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"
#include "judge/metrics.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reference's answer, decoded. */
struct decoded {
    bool usable;
    bool open; /* some element is unspecified, in an output or in an inner value */
    size_t count;
    struct bounded *outputs;
    const struct value *values; /* for names */
};

static void decoded_release(struct decoded *e)
{
    for (size_t i = 0; i < e->count; i++)
        bounded_release(&e->outputs[i]);
    free(e->outputs);
}

static void expect(struct decoded *e, const struct result *reference, struct judgement *judgement)
{
    *e = (struct decoded){.usable = false};
    if (!reference) {
        snprintf(judgement->reason, sizeof judgement->reason, "the reference was not asked");
        return;
    }
    judgement->invalid = reference->outcome == OUTCOME_REJECTED;
    if (reference->outcome != OUTCOME_OK || !reference->bounds) {
        snprintf(judgement->reason, sizeof judgement->reason, "the reference: %s",
                 reference->message ? reference->message : outcome_name(reference->outcome));
        return;
    }
    struct error err = {0};
    e->outputs = memory_zeroed(reference->count, sizeof *e->outputs);
    for (size_t i = 0; i < reference->count; i++, e->count++) {
        const struct value *value = &reference->outputs[i];
        if (value->kind != VALUE_TENSOR ||
            bounds_from_wire(&e->outputs[i], &value->tensors[0], &reference->bounds[i], &err)) {
            snprintf(judgement->reason, sizeof judgement->reason, "the reference: %s",
                     err.code ? err.message : "an output is not a tensor");
            return;
        }
        e->open = e->open || reference->bounds[i].open || bounded_is_open(&e->outputs[i]);
    }
    e->values = reference->outputs;
    e->usable = true;
}

static const char *signal_text(int number)
{
    const char *text = number ? strsignal(number) : NULL;
    return text ? text : "";
}

/* How the engine ended, in words, with the last it wrote to stderr. */
static void say_end(struct verdict *verdict, const struct result *result)
{
    struct str text;
    str_init(&text);
    if (result->outcome == OUTCOME_HANG)
        str_add(&text, "no answer within the deadline");
    else if (result->outcome == OUTCOME_CRASH && result->signal)
        str_printf(&text, "signal %d, %s", result->signal, signal_text(result->signal));
    else if (result->outcome == OUTCOME_CRASH && result->exit_status >= 0)
        str_printf(&text, "exit status %d", result->exit_status);
    else
        str_add(&text, result->message && *result->message ? result->message : outcome_name(result->outcome));
    result_add_last_lines(result, &text);
    verdict_say(verdict, "at %s: %s", stage_name(result->stage), text.data);
    str_release(&text);
}

/* Crash, hang and the like: what the outcome alone decides. True when it did. */
static bool judge_outcome(struct verdict *verdict, const struct result *result)
{
    enum verdict_kind kind = verdict_of_outcome(result->outcome);
    if (result->outcome == OUTCOME_UNTESTED)
        return true;
    if (!verdict_is(kind, CLASS_DEATH | CLASS_TROUBLE))
        return false;
    verdict->kind = kind;
    verdict->at_stage = true;
    say_end(verdict, result);
    return true;
}

/* An error message: a finding only when the case is known to be valid and ONNX specifies everything in it. */
static void judge_refusal(struct verdict *verdict, const struct result *result, const struct decoded *e,
                          const struct judgement *judgement)
{
    verdict_say(verdict, "at %s: %s", stage_name(result->stage), result->message ? result->message : "");
    verdict->at_stage = true;
    verdict->kind = verdict_of_outcome(result->outcome);
    if (result->outcome == OUTCOME_UNSUPPORTED)
        return;
    if (judgement->invalid || e->open)
        verdict->kind = VERDICT_OPEN;
    else if (!e->usable)
        verdict->kind = VERDICT_SUSPECT;
}

/* Agreement on an answer of many elements that are all the same number is little evidence. Integers are
 * exempt, as such answers are common among them. */
enum { CONSTANT_COUNT = 8 };

static bool proves_nothing(const struct decoded *e)
{
    bool any = false;
    for (size_t i = 0; i < e->count; i++) {
        const struct bounded *b = &e->outputs[i];
        if (!dtype_is_float(b->type) || b->count < CONSTANT_COUNT)
            return false;
        for (size_t j = 1; j < b->count; j++)
            if (b->value[j] != b->value[0])
                return false;
        any = true;
    }
    return any;
}

static void judge_answer(struct verdict *verdict, const struct result *result, const struct decoded *e)
{
    verdict->kind = VERDICT_AGREES;
    verdict->gradient = result->gradients;
    if (verdict_count(verdict, e->count, result->count))
        return;
    for (size_t i = 0; i < e->count; i++)
        verdict_output(verdict, i, &e->outputs[i], &result->outputs[i]);
    verdict_finish(verdict, e->count ? e->values[verdict->output].name : NULL);
    if (verdict->kind == VERDICT_AGREES && proves_nothing(e)) {
        verdict_doubt(verdict);
        verdict->no_evidence = true;
        snprintf(
            verdict->text, sizeof verdict->text,
            "it agrees, but every element is the same number, which a wrong computation may give as well");
    }
}

static bool same_library(const struct judge_entry *a, const struct judge_entry *b)
{
    return strcmp(a->like ? a->like : a->name, b->like ? b->like : b->name) == 0;
}

struct judge_entry judge_entry_of(const struct engine_info *engine, const struct result *result,
                                  bool repeats_differ)
{
    return (struct judge_entry){
        .name = engine->name,
        .version = engine->version,
        .kernels = engine->kernels,
        .adapter_reads = engine->profile && engine->profile->adapter_reads,
        .like = engine->profile ? engine->profile->like : NULL,
        .result = result,
        .repeats_differ = repeats_differ,
    };
}

static bool same_kernels(const struct judge_entry *a, const struct judge_entry *b)
{
    const struct engine_info left = {.name = a->name, .version = a->version, .kernels = a->kernels};
    const struct engine_info right = {.name = b->name, .version = b->version, .kernels = b->kernels};
    return pool_same_kernels(&left, &right);
}

/* When one setting of a release runs the case, another with the same kernels may not call it unsupported. */
static void judge_settings(struct judgement *judgement, const struct judge_entry *entries,
                           const struct decoded *e)
{
    for (size_t i = 0; i < judgement->count; i++) {
        if (!verdict_is(judgement->verdicts[i].kind, CLASS_LACK) || !e->usable || e->open)
            continue;
        for (size_t j = 0; j < judgement->count; j++)
            if (entries[j].result->outcome == OUTCOME_OK && same_kernels(&entries[i], &entries[j]))
                judgement->verdicts[i].kind = VERDICT_REJECTED;
    }
}

static bool answers_close(const struct result *a, const struct result *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->outputs[i].kind != b->outputs[i].kind || a->outputs[i].count != b->outputs[i].count)
            return false;
        for (size_t j = 0; j < a->outputs[i].count; j++) {
            const struct tensor *x = &a->outputs[i].tensors[j], *y = &b->outputs[i].tensors[j];
            struct metrics_difference difference;
            if (x->type != y->type || !shape_equal(&x->shape, &y->shape))
                return false;
            metrics_compare(x, y, &metrics_conformance, &difference);
            if (!difference.close)
                return false;
        }
    }
    return true;
}

/*
 * When at least two different libraries answer, all are called wrong and they agree with each other, it is
 * the reference that stands alone: our bug until shown otherwise.
 */
static void judge_ourselves(struct judgement *judgement, const struct judge_entry *entries)
{
    int first = -1;
    bool different = false;
    for (size_t i = 0; i < judgement->count; i++) {
        if (entries[i].result->outcome != OUTCOME_OK)
            continue;
        if (!verdict_is(judgement->verdicts[i].kind, CLASS_WRONG_ANSWER))
            return;
        if (first < 0)
            first = (int)i;
        else if (!answers_close(entries[first].result, entries[i].result))
            return;
        different = different || !same_library(&entries[first], &entries[i]);
    }
    if (!different)
        return;
    for (size_t i = 0; i < judgement->count; i++) {
        struct verdict *verdict = &judgement->verdicts[i];
        if (!verdict_is(verdict->kind, CLASS_WRONG_ANSWER))
            continue;
        verdict_doubt(verdict);
        verdict_say(verdict, "all engines agree against the reference: %s", verdict->text);
    }
}

/* Without a reference, answers close to those of the largest group agree and the others are suspect. */
static void judge_by_vote(struct judgement *judgement, const struct judge_entry *entries)
{
    size_t best = 0, best_size = 0, answers = 0;
    for (size_t i = 0; i < judgement->count; i++) {
        if (entries[i].result->outcome != OUTCOME_OK)
            continue;
        answers++;
        size_t size = 0;
        for (size_t j = 0; j < judgement->count; j++)
            size += entries[j].result->outcome == OUTCOME_OK &&
                    answers_close(entries[i].result, entries[j].result);
        if (size > best_size) {
            best = i;
            best_size = size;
        }
    }
    for (size_t i = 0; i < judgement->count; i++) {
        struct verdict *verdict = &judgement->verdicts[i];
        if (entries[i].result->outcome != OUTCOME_OK)
            continue;
        verdict->by_vote = true;
        if (answers < 2) {
            verdict->kind = VERDICT_UNDECIDED;
            snprintf(verdict->text, sizeof verdict->text,
                     "there is no reference and no other answer to compare with");
            continue;
        }
        bool near = answers_close(entries[best].result, entries[i].result);
        bool majority = best_size * 2 > answers;
        verdict->kind = near && majority ? VERDICT_AGREES : VERDICT_SUSPECT;
        snprintf(verdict->text, sizeof verdict->text,
                 "decided by vote, as there is no reference: %zu of %zu answers are alike", best_size,
                 answers);
    }
}

void judge_blame(struct judgement *judgement)
{
    size_t findings = 0;
    for (size_t i = 0; i < judgement->count; i++) {
        if (!verdict_is_finding(judgement->verdicts[i].kind))
            continue;
        judgement->culprit = (int)i;
        findings++;
    }
    if (findings != 1)
        judgement->culprit = -1;
}

void judge_case(struct judgement *judgement, const struct result *reference,
                const struct judge_entry *entries, size_t count)
{
    *judgement = (struct judgement){.count = count, .culprit = -1};
    judgement->verdicts = memory_zeroed(count, sizeof *judgement->verdicts);
    struct decoded e;
    expect(&e, reference, judgement);
    judgement->by_reference = e.usable;
    for (size_t i = 0; i < count; i++) {
        struct verdict *verdict = &judgement->verdicts[i];
        const struct result *result = entries[i].result;
        verdict->unanswered = result->outcome != OUTCOME_OK;
        verdict->invalid = judgement->invalid;
        if (judge_outcome(verdict, result))
            continue;
        if (result->outcome != OUTCOME_OK)
            judge_refusal(verdict, result, &e, judgement);
        else if (e.usable)
            judge_answer(verdict, result, &e);
        else if (judgement->invalid)
            verdict->kind = VERDICT_OPEN;
        if (entries[i].repeats_differ && !verdict_is_finding(verdict->kind)) {
            verdict->kind = VERDICT_NONDETERMINISTIC;
            verdict->at_stage = false;
            snprintf(verdict->text, sizeof verdict->text, "a repeated run gave different bytes");
        }
    }
    if (e.usable) {
        judge_settings(judgement, entries, &e);
        judge_ourselves(judgement, entries);
    } else if (!judgement->invalid) {
        judge_by_vote(judgement, entries);
    }
    judge_blame(judgement);
    decoded_release(&e);
}

static bool is_narrow(const struct result *reference)
{
    bool narrow = false;
    for (size_t i = 0; reference->outcome == OUTCOME_OK && reference->bounds && i < reference->count; i++)
        narrow |= reference->bounds[i].narrow;
    return narrow;
}

bool judge_needs_wider(const struct judgement *judgement, const struct result *reference)
{
    static const unsigned settled =
        CLASS_AGREES | CLASS_UNJUDGED | CLASS_LACK | CLASS_TROUBLE | CLASS_NOTHING;
    bool all = true;
    for (size_t i = 0; i < judgement->count; i++)
        all = all && verdict_is(judgement->verdicts[i].kind, settled);
    return !all && is_narrow(reference);
}

static void judge_lenience(struct verdict *verdict, const struct result *result, bool certain,
                           const char *why)
{
    if (result->outcome == OUTCOME_OK) {
        *verdict = (struct verdict){.kind = certain ? VERDICT_ACCEPTED : VERDICT_OPEN, .invalid = true};
        verdict_say(verdict, "it answers, but the model is forbidden: %s", why);
    } else if (result->outcome == OUTCOME_REJECTED || result->outcome == OUTCOME_FAILED) {
        *verdict =
            (struct verdict){.kind = VERDICT_AGREES, .unanswered = true, .at_stage = true, .invalid = true};
        snprintf(verdict->text, sizeof verdict->text, "at %s: it refuses a model that is forbidden",
                 stage_name(result->stage));
    }
}

void judge_forbidden(struct judgement *judgement, const struct judge_entry *entries, bool certain,
                     const char *why)
{
    judgement->invalid = true;
    for (size_t i = 0; i < judgement->count; i++)
        judge_lenience(&judgement->verdicts[i], entries[i].result, certain && !entries[i].adapter_reads, why);
    judge_blame(judgement);
}

void judgement_release(struct judgement *judgement)
{
    free(judgement->verdicts);
    judgement->verdicts = NULL;
    judgement->count = 0;
}
