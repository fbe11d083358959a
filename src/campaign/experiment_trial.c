#include "campaign/experiment_trial.h"

#include <math.h>

/* Far from what another rounding or type makes of a number, and near to any other number of a small case. */
#define NEAR 1e-3L

bool experiment_try(const struct experiments *how, struct test_case *test, bool settle,
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

bool experiment_right_form(const struct trial_done *done)
{
    const struct result *got = &done->results[0], *right = &done->reference;
    if (got->outcome != OUTCOME_OK || !right->count || got->count != right->count)
        return false;
    for (size_t i = 0; i < got->count; i++)
        if (got->outputs[i].kind != VALUE_TENSOR || right->outputs[i].kind != VALUE_TENSOR ||
            got->outputs[i].tensors[0].type != right->outputs[i].tensors[0].type ||
            !shape_equal(&got->outputs[i].tensors[0].shape, &right->outputs[i].tensors[0].shape))
            return false;
    return true;
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

bool experiment_is_near(const struct result *right, const struct result *got)
{
    if (got->count != right->count)
        return false;
    for (size_t i = 0; i < got->count; i++)
        if (got->outputs[i].kind != VALUE_TENSOR || right->outputs[i].kind != VALUE_TENSOR ||
            !is_near(&right->outputs[i].tensors[0], &got->outputs[i].tensors[0]))
            return false;
    return true;
}

bool experiment_right_but_for_type(const struct trial_done *done)
{
    return done->judgement.verdicts[0].kind == VERDICT_DTYPE &&
           experiment_is_near(&done->reference, &done->results[0]);
}

bool experiment_gives_scalar(const struct trial_done *done)
{
    for (size_t i = 0; i < done->reference.count; i++)
        if (done->reference.outputs[i].kind == VALUE_TENSOR &&
            !done->reference.outputs[i].tensors[0].shape.rank)
            return true;
    return false;
}
