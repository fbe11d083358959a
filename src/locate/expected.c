#include "locate/expected.h"

#include "eval/evaluate.h"

#include <stdlib.h>

int expected_compute(struct expected *expected, const struct model *model, bool fused,
                     const struct value *inputs, size_t n_inputs)
{
    struct evaluator *evaluator;
    *expected = (struct expected){0};
    if (evaluator_new(&evaluator, model, &(struct evaluate_options){.loose = fused}, NULL))
        return -1;
    int status =
        evaluator_run(evaluator, inputs, n_inputs, NULL, 0, &expected->values, &expected->count, NULL);
    evaluator_free(evaluator);
    if (status)
        *expected = (struct expected){0};
    return status && fused ? expected_compute(expected, model, false, inputs, n_inputs) : status;
}

void expected_release(struct expected *expected)
{
    for (size_t i = 0; i < expected->count; i++)
        bounded_release(&expected->values[i]);
    free(expected->values);
    *expected = (struct expected){0};
}

void expected_judge(const struct expected *expected, const struct model *model, const struct result *result,
                    struct verdict *verdict)
{
    size_t count = expected->count;
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    if (verdict_count(verdict, count, result->count))
        return;
    for (size_t i = 0; i < count; i++)
        verdict_output(verdict, i, &expected->values[i], &result->outputs[i]);
    verdict_finish(verdict, count ? model->graph->output[verdict->output]->name : NULL);
}

bool expected_by_fusing(const struct model *model, const struct value *inputs, size_t n_inputs,
                        const struct result *result)
{
    struct expected strict;
    struct verdict verdict = {0};
    if (!expected_compute(&strict, model, false, inputs, n_inputs))
        expected_judge(&strict, model, result, &verdict);
    expected_release(&strict);
    return verdict_is_finding(verdict.kind);
}
