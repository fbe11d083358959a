#include "campaign/as_columns.h"

#include "campaign/experiment_trial.h"
#include "campaign/other_data.h"
#include "findings/message_origin.h"
#include "judge/message.h"

#include <string.h>

/* Agreement that is no evidence, such as all zeros, will do: it is held against the answer to lists. */
static bool is_right(const struct experiments *how, const struct trial_done *done)
{
    const struct verdict *verdict = &done->judgement.verdicts[0];
    return verdict_is(verdict->kind, CLASS_AGREES) ||
           (!how->of_type && experiment_right_but_for_type(done)) ||
           (verdict->kind == VERDICT_MISTRUSTED && verdict->no_evidence);
}

/* Whether the engine gave the same elements, in whatever shape. */
static bool same_answers(const struct result *a, const struct result *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct value *first = &a->outputs[i], *second = &b->outputs[i];
        if (first->kind != VALUE_TENSOR || second->kind != VALUE_TENSOR ||
            first->tensors[0].type != second->tensors[0].type ||
            first->tensors[0].count != second->tensors[0].count || first->tensors[0].type == DTYPE_STRING)
            return false;
        if (memcmp(first->tensors[0].data, second->tensors[0].data,
                   first->tensors[0].count * dtype_size(first->tensors[0].type)) != 0)
            return false;
    }
    return true;
}

/* The message without numbers and names. */
static void add_message(struct str *out, const struct experiments *how, const struct trial_done *done)
{
    const struct engine_profile *profile = panel_engine(how->panel, 0)->profile;
    message_normalise(out, origin_innermost(done->results[0].message, profile),
                      test_case_model(done->test, NULL), profile);
    out->length = message_length(out->data);
    out->data[out->length] = '\0';
}

static bool is_refused(const struct trial_done *done)
{
    enum outcome outcome = done->results[0].outcome;
    return done->results[0].message && (outcome == OUTCOME_REJECTED || outcome == OUTCOME_FAILED);
}

static bool are_refused_alike(const struct experiments *how, const struct trial_done *a,
                              const struct trial_done *b)
{
    struct str first, second;
    if (!is_refused(a) || !is_refused(b))
        return false;
    str_init(&first);
    str_init(&second);
    add_message(&first, how, a);
    add_message(&second, how, b);
    bool alike = text_equal(first.data, second.data);
    str_release(&first);
    str_release(&second);
    return alike;
}

/* Whether the engine makes something else of rows: refusing them, too, is another matter. */
static bool differs_with_rows(const struct experiments *how, const struct trial_done *lists)
{
    struct trial_done rows;
    if (!is_refused(lists) ||
        !experiment_try(how, other_data_rows(trial_done_subject(lists, 0)), false, &rows))
        return false;
    bool differs = !are_refused_alike(how, lists, &rows) && (experiment_answered(&rows) || is_refused(&rows));
    trial_done_release(&rows);
    return differs;
}

/* Some engines have constants as they should be. What gives a scalar gives none with columns, which may be
 * why they are not refused. */
static bool explains(const struct experiments *how, const struct trial_done *done, enum list_choice which)
{
    const struct test_case *lists = trial_done_subject(done, 0);
    struct trial_done columns;
    bool computed = false, one = test_case_model(lists, NULL)->graph->n_node == 1;
    if (!experiment_try(how, other_data_columns(lists, which, &computed), false, &columns))
        return false;
    bool proved = false;
    if (!computed)
        proved = is_refused(&columns) && (one || are_refused_alike(how, done, &columns)) &&
                 differs_with_rows(how, done);
    else if (is_right(how, &columns))
        proved = experiment_answered(done)
                     ? same_answers(&done->results[0], &columns.results[0])
                     : !experiment_gives_scalar(done) && other_data_mean_the_same(lists, columns.test);
    trial_done_release(&columns);
    return proved;
}

bool as_columns(const struct experiments *how, const struct trial_done *done)
{
    /* In models of several nodes indices may be computed, which is another matter. */
    bool one = test_case_model(trial_done_subject(done, 0), NULL)->graph->n_node == 1;
    return explains(how, done, LISTS_CONSTANTS) || explains(how, done, LISTS_INPUTS) ||
           (one && explains(how, done, LISTS_INDICES));
}
