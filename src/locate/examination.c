#include "locate/examination.h"

#include "base/clock.h"
#include "locate/similar_data.h"

#include <math.h>
#include <stdlib.h>

bool examination_is_late(const struct examination *look)
{
    return clock_seconds() > look->until;
}

/* --- One model on one set of data --- */

struct attempt {
    enum cause_end end;
    bool answered;            /* expected is known */
    struct expected expected; /* the right answer */
};

static bool is_death(enum outcome outcome)
{
    return verdict_is(verdict_of_outcome(outcome), CLASS_DEATH);
}

static bool is_refusal(enum outcome outcome)
{
    return outcome == OUTCOME_REJECTED || outcome == OUTCOME_FAILED;
}

/* Whether the answer counts as cured although it cannot be judged. Where the failure is that there is no
 * answer, any answer cures; where it is a wrong form, any answer of the right form does, even without
 * elements. */
static bool is_right(const struct examination *look, const struct verdict *verdict)
{
    if (look->wrong && !look->numbers)
        return verdict_is(verdict->kind, CLASS_AGREES | CLASS_UNJUDGED);
    return verdict_is(verdict->kind, CLASS_AGREES) && verdict->judged > 0 &&
           (!verdict->blank || !look->numbers);
}

/* A wrong answer is kept by a wrong answer, one of a wrong form by a wrong form, a crash by a crash, a
 * refusal by a refusal. */
static enum cause_end end_of(const struct examination *look, const struct result *result,
                             const struct verdict *verdict)
{
    bool kept;
    if (result->outcome == OUTCOME_OK) {
        if (is_right(look, verdict))
            return CHANGE_CURES;
        kept = look->wrong && verdict_is_finding(verdict->kind) &&
               (look->numbers || verdict_is(verdict->kind, CLASS_FORM));
    } else {
        kept = (look->refuses && is_refusal(result->outcome)) || (look->dies && is_death(result->outcome));
    }
    return kept ? CHANGE_KEEPS : CHANGE_UNCLEAR;
}

static const struct arithmetic *fusing_of(const struct examination *look, const struct model *model)
{
    return model->graph->n_node > 1 ? &look->test->fusing : &look->test->alone;
}

/* declare: the outputs of the model have no types yet. */
static void run_attempt(struct examination *look, struct test_case *changed, bool declare,
                        struct attempt *attempt)
{
    const struct model *model = test_case_model(changed, NULL);
    struct result result;
    struct verdict verdict = {0};
    *attempt = (struct attempt){0};
    if (!model || expected_compute(&attempt->expected, model, fusing_of(look, model), changed->inputs,
                                   changed->n_inputs))
        return;
    attempt->answered = true;
    if (declare)
        param_change_declare(changed, attempt->expected.values, attempt->expected.count);
    result_init(&result);
    if (under_test_run(look->test, model, changed->inputs, changed->n_inputs, 0, &result)) {
        look->broken = true;
    } else {
        if (result.outcome == OUTCOME_OK)
            expected_judge(&attempt->expected, model, &result, &verdict);
        attempt->end = end_of(look, &result, &verdict);
    }
    look->cause->runs++;
    result_release(&result);
}

static bool has_elements(const struct expected *expected)
{
    for (size_t i = 0; i < expected->count; i++)
        if (expected->values[i].count)
            return true;
    return false;
}

/* --- The part as it is --- */

/* How the part fails on a set of data; untested when it does not fail. */
static enum verdict_kind failure_on(struct examination *look, const struct test_case *part,
                                    struct expected *expected)
{
    const struct model *model = test_case_model(part, NULL);
    struct verdict verdict = {0};
    struct result result;
    result_init(&result);
    *expected = (struct expected){0};
    if (!model || expected_compute(expected, model, fusing_of(look, model), part->inputs, part->n_inputs) ||
        under_test_run(look->test, model, part->inputs, part->n_inputs, 0, &result)) {
        result_release(&result);
        return verdict.kind;
    }
    look->cause->runs++;
    if (result.outcome == OUTCOME_OK)
        expected_judge(expected, model, &result, &verdict);
    else
        verdict.kind = verdict_of_outcome(result.outcome);
    result_release(&result);
    if (!verdict_is_finding(verdict.kind) || verdict_row(verdict.kind)->to_deadline)
        verdict = (struct verdict){0};
    return verdict.kind;
}

static void note_failure(struct examination *look, enum verdict_kind kind)
{
    look->wrong |= !verdict_is(kind, CLASS_NOTHING | CLASS_NO_ANSWER);
    look->dies |= verdict_is(kind, CLASS_DEATH);
    look->refuses |= verdict_is(kind, CLASS_REFUSAL);
}

/* The part on one of the other sets. */
static void note_set(struct examination *look, size_t set, size_t *others)
{
    struct expected expected;
    enum verdict_kind kind = failure_on(look, look->sets[set], &expected);
    note_failure(look, kind);
    *others += !verdict_is(kind, CLASS_NOTHING);
    look->idle = look->idle && expected_apart(&look->expected, &expected) <= 0;
    expected_release(&expected);
}

/* Takes numbers that count up for the last set, where the part fails on them in the same way. */
static bool count_last_set(struct examination *look, enum verdict_kind kind)
{
    struct test_case *counted;
    struct expected unused = {0};
    bool same = !similar_data(&counted, look->sets[0], SIMILAR_COUNTED, NULL) &&
                failure_on(look, counted, &unused) == kind;
    expected_release(&unused);
    if (same) {
        test_case_free(look->sets[EXAMINATION_SETS - 1]);
        look->sets[EXAMINATION_SETS - 1] = counted;
    } else {
        test_case_free(counted);
    }
    return same;
}

/* The part on the data at hand, and in *others on how many of the other sets it fails. */
static bool note_failures(struct examination *look, size_t *others)
{
    expected_release(&look->expected);
    enum verdict_kind first = failure_on(look, look->sets[0], &look->expected);
    *others = 0;
    if (verdict_is(first, CLASS_NOTHING))
        return false;
    note_failure(look, first);
    look->numbers = !verdict_is(first, CLASS_NO_ANSWER | CLASS_FORM);
    look->idle = has_elements(&look->expected);
    for (size_t set = 1; set < EXAMINATION_SETS; set++)
        note_set(look, set, others);
    /* Zeros, or nearly so, in which nothing shows. */
    if ((!*others || look->idle) && count_last_set(look, first))
        note_set(look, EXAMINATION_SETS - 1, others);
    return true;
}

static void take_own_workers(struct examination *look)
{
    look->own_workers = *look->test->which;
    look->own_workers.pool = pool_fresh(look->test->which->pool);
    look->own = *look->test;
    look->own.which = &look->own_workers;
    look->test = &look->own;
}

bool examination_start(struct examination *look)
{
    size_t others;
    bool fails = note_failures(look, &others);
    if (fails && look->dies) {
        take_own_workers(look);
        fails = note_failures(look, &others);
    }
    look->cause->by_data = !others;
    return fails;
}

/* --- Changes --- */

enum cause_end examination_try(struct examination *look, const struct param_change *const *changes,
                               size_t count, double *apart)
{
    enum cause_end end = CHANGE_INVALID;
    struct expected first = {0};
    bool depends = false, respelled = count == 1 && changes[0]->way == WAY_RESPELLED;
    *apart = EXPECTED_OTHER_FORM;
    for (size_t set = 0; set < EXAMINATION_SETS && !look->broken; set++) {
        struct test_case *changed;
        struct attempt attempt = {0};
        if (param_change_apply(&changed, look->sets[set], changes, count, NULL)) {
            end = set ? CHANGE_UNCLEAR : end;
            break;
        }
        run_attempt(look, changed, !respelled, &attempt);
        test_case_free(changed);
        end = attempt.answered ? attempt.end : set ? CHANGE_UNCLEAR : CHANGE_INVALID;
        if (set == 0) {
            first = attempt.expected;
            if (attempt.answered)
                *apart = expected_apart(&look->expected, &first);
        } else {
            depends = depends || (attempt.answered && has_elements(&first) &&
                                  expected_apart(&first, &attempt.expected) > 0);
            expected_release(&attempt.expected);
        }
        if (end != CHANGE_CURES)
            break;
    }
    expected_release(&first);
    /* Whether the cure may be accidental: an answer that is the same for all data may happen to be right, and
     * an engine that ended before may happen to survive. It is not accidental when another spelling is
     * answered that was refused before, nor when only the form was wrong and every data gives the same answer
     * anyway. */
    bool by_chance = !depends && (look->wrong || count > 1 || !changes[0]->synonym) &&
                     (look->numbers || look->dies || !look->idle);
    return end == CHANGE_CURES && by_chance ? CHANGE_UNCLEAR : end;
}

void examination_try_each(struct examination *look, size_t from, size_t to)
{
    for (size_t i = from; i < to && !look->broken && !examination_is_late(look); i++) {
        const struct param_change *change = &look->changes.items[i];
        look->ends[i] = examination_try(look, &change, 1, &look->apart[i]);
    }
}

int examination_expect(struct examination *look, const struct param_change *const *changes, size_t count,
                       struct expected *expected)
{
    struct test_case *changed;
    *expected = (struct expected){0};
    if (param_change_apply(&changed, look->sets[0], changes, count, NULL))
        return -1;
    const struct model *model = test_case_model(changed, NULL);
    int status =
        model ? expected_compute(expected, model, fusing_of(look, model), changed->inputs, changed->n_inputs)
              : -1;
    test_case_free(changed);
    return status;
}

/* --- Life --- */

int examination_init(struct examination *look, struct under_test *test, struct test_case *part)
{
    look->test = test;
    look->until = look->options->seconds > 0 ? clock_seconds() + look->options->seconds : INFINITY;
    look->sets[0] = test_case_share(part);
    int status = test_case_model(part, look->err) ? 0 : -1;
    for (size_t set = 1; set < EXAMINATION_SETS && !status; set++)
        status = similar_data(&look->sets[set], part, set, look->err);
    return status;
}

void examination_release(struct examination *look)
{
    for (size_t set = 0; set < EXAMINATION_SETS; set++)
        test_case_free(look->sets[set]);
    expected_release(&look->expected);
    param_changes_release(&look->changes);
    if (look->test == &look->own)
        pool_free(look->own_workers.pool);
    free(look->ends);
    free(look->apart);
}
