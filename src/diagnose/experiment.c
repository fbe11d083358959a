#include "diagnose/experiment.h"

#include "findings/signature.h"

#include <math.h>
#include <string.h>

/* Larger than the error of any rounding or narrower type, and smaller than the distance between two numbers
 * of a small case. */
#define NEAR 1e-3L

bool experiment_try(const struct experiment *how, struct test_case *test, bool settle,
                    struct trial_done *done)
{
    struct panel alone = *how->panel;
    if (!test)
        return false;
    alone.count = 1;
    struct trials *trials = trials_new(&(struct trial_options){
        .panel = &alone, .registry = how->registry, .fresh = how->deadly, .settle = settle});
    bool run = trials_submit(trials, test, NULL, NULL) == 0 && trials_next(trials, done, NULL) == 1;
    trials_free(trials);
    return run;
}

bool experiment_answered(const struct trial_done *done)
{
    return done->results[0].outcome == OUTCOME_OK;
}

bool experiment_died(const struct trial_done *done)
{
    return verdict_is(verdict_of_outcome(done->results[0].outcome), CLASS_DEATH);
}

bool experiment_tensors_are(const struct trial_done *done,
                            bool (*alike)(const struct tensor *right, const struct tensor *got))
{
    const struct result *got = &done->results[0], *right = &done->reference;
    if (got->outcome != OUTCOME_OK || !right->count || got->count != right->count)
        return false;
    for (size_t i = 0; i < got->count; i++)
        if (got->outputs[i].kind != VALUE_TENSOR || right->outputs[i].kind != VALUE_TENSOR ||
            !alike(&right->outputs[i].tensors[0], &got->outputs[i].tensors[0]))
            return false;
    return true;
}

static bool has_form(const struct tensor *right, const struct tensor *got)
{
    return got->type == right->type && shape_equal(&got->shape, &right->shape);
}

static bool is_near(const struct tensor *right, const struct tensor *got)
{
    if (right->type == DTYPE_STRING || got->type == DTYPE_STRING || !shape_equal(&right->shape, &got->shape))
        return false;
    for (size_t i = 0; i < right->count; i++) {
        long double a = tensor_get(right, i), b = tensor_get(got, i);
        if (!(fabsl(a - b) <= NEAR * (1 + fabsl(a))) && !(isnan(a) && isnan(b)) && a != b)
            return false;
    }
    return true;
}

bool experiment_right_but_for_type(const struct trial_done *done)
{
    return verdict_row(done->judgement.verdicts[0].kind)->kin == KIN_TYPE &&
           experiment_tensors_are(done, is_near);
}

bool experiment_gives_scalar(const struct trial_done *done)
{
    for (size_t i = 0; i < done->reference.count; i++)
        if (done->reference.outputs[i].kind == VALUE_TENSOR &&
            !done->reference.outputs[i].tensors[0].shape.rank)
            return true;
    return false;
}

void experiment_message(const struct experiment *how, const struct trial_done *done,
                        struct signature *signature)
{
    const struct engine_info *info = panel_engine(how->panel, 0);
    if (!verdict_is(done->judgement.verdicts[0].kind, CLASS_NO_ANSWER) ||
        !signature_of_trial(signature, info->label, info->profile, done, 0))
        signature->message[0] = '\0';
}

/* Skips the marks '>', each of which tells that the message was passed on once. */
static const char *skip_marks(const char *message)
{
    return message + strspn(message, "> ");
}

/* A message may be cut off: then only the part that both have is compared. */
static bool same_words(const char *a, const char *b)
{
    const char *first = skip_marks(a), *second = skip_marks(b);
    while (*first && *first == *second) {
        first = skip_marks(first + 1);
        second = skip_marks(second + 1);
    }
    return (!*first || !*second) && (*first == *second || strlen(*first ? b : a) + 1 >= MESSAGE_LIMIT);
}

static enum answer answer_of(const struct experiment *how, const struct trial_done *done)
{
    enum verdict_kind kind = done->judgement.verdicts[0].kind;
    struct signature signature;
    /* An answer of zeros alone, or of elements that ONNX leaves unspecified, is no evidence that the numbers
     * are right, but it shows that there is an answer of the right shape. */
    bool formal =
        !how->of_numbers && ((verdict_is(kind, CLASS_DOUBT) && done->judgement.verdicts[0].no_evidence) ||
                             (verdict_is(kind, CLASS_UNJUDGED) && experiment_tensors_are(done, has_form)));
    if (verdict_is(kind, CLASS_AGREES) || formal || (!how->of_type && experiment_right_but_for_type(done)))
        return ANSWER_RIGHT;
    if (verdict_is(kind, CLASS_DEVIATES))
        return ANSWER_WRONG;
    if (how->deadly && verdict_is(kind, CLASS_OPEN) && !experiment_answered(done))
        return experiment_died(done) ? ANSWER_UNKNOWN
                                     : ANSWER_FAILURE; /* the engine may refuse such a case */
    if (!how->message)
        return ANSWER_UNKNOWN;
    if (experiment_answered(done)) /* it cannot be judged, but any answer is more than none */
        return ANSWER_WRONG;
    experiment_message(how, done, &signature);
    if (!*signature.message)
        return ANSWER_UNKNOWN;
    return same_words(signature.message, how->message) ? ANSWER_SAME : ANSWER_FAILURE;
}

enum answer experiment_ask(const struct experiment *how, struct test_case *test)
{
    struct trial_done done;
    enum answer answer = ANSWER_UNKNOWN;
    if (experiment_try(how, test, false, &done)) {
        answer = answer_of(how, &done);
        trial_done_release(&done);
    }
    return answer;
}

bool experiment_ask_right(const struct experiment *how, struct test_case *test)
{
    return experiment_ask(how, test) == ANSWER_RIGHT;
}
