#include "answers.h"

#include "judge/verdict.h"

#include <stdio.h>
#include <stdlib.h>

int answers_compute(struct answers *answers, const struct model *model, const struct test_case *test,
                    const struct evaluate_options *options, const char *const *names, size_t wanted,
                    struct error *err)
{
    struct evaluator *evaluator = NULL;
    *answers = (struct answers){0};
    int status = evaluator_new(&evaluator, model, options, err);
    if (!status)
        status = evaluator_run(evaluator, test->inputs, test->n_inputs, names, wanted, &answers->values,
                               &answers->count, err);
    evaluator_free(evaluator);
    return status;
}

void answers_release(struct answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        bounded_release(&answers->values[i]);
    free(answers->values);
    *answers = (struct answers){0};
}

bool answers_pass(const struct bounded *expected, const struct bounded *got, size_t count, char *text,
                  size_t size)
{
    struct verdict verdict = {.kind = VERDICT_AGREES};
    for (size_t i = 0; i < count; i++) {
        struct tensor tensor;
        struct value value = {0};
        if (bounded_to_tensor(&got[i], &tensor, NULL))
            return false;
        value_set_tensor(&value, &tensor);
        verdict_output(&verdict, i, &expected[i], &value);
        value_release(&value);
    }
    verdict_finish(&verdict, NULL);
    snprintf(text, size, "%s: %s", verdict_name(verdict.kind), verdict.text);
    return !verdict_is_finding(verdict.kind);
}
