#include "case/case_answers.h"

#include "base/memory.h"
#include "case/case_gradient.h"
#include "eval/gradient.h"

#include <math.h>
#include <stdlib.h>

static int add(struct test_case *test, const char *name, const struct bounded *answer, bool *open,
               struct error *err)
{
    struct tensor tensor;
    if (bounded_to_tensor(answer, &tensor, err))
        return -1;
    struct value *value = &test->outputs[test->n_outputs++];
    value_init(value);
    value_set_tensor(value, &tensor);
    value_set_name(value, name);
    for (size_t i = 0; i < answer->count && open; i++)
        *open = *open || isinf(bounded_hard(answer, i));
    return 0;
}

static int add_outputs(struct test_case *test, struct evaluator *evaluator, const struct model *model,
                       bool *open, struct error *err)
{
    struct bounded *values = NULL;
    size_t count = 0;
    int status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &values, &count, err);
    test->outputs = memory_zeroed(count, sizeof *test->outputs);
    for (size_t i = 0; i < count; i++) {
        if (!status)
            status = add(test, model->graph->output[i]->name, &values[i], open, err);
        bounded_release(&values[i]);
    }
    free(values);
    return status;
}

static int add_gradients(struct test_case *test, struct evaluator *evaluator, bool *open, struct error *err)
{
    const struct case_gradient *asked = test->gradient;
    struct gradient_request request = {
        .inputs = test->inputs,
        .n_inputs = test->n_inputs,
        .upstream = asked->upstream,
        .n_upstream = asked->n_upstream,
        .wanted = asked->wanted,
        .n_wanted = asked->n_wanted,
    };
    struct gradient *gradients;
    size_t count;
    if (evaluator_gradient(evaluator, &request, &gradients, &count, err))
        return -1;
    int status = 0;
    test->outputs = memory_zeroed(count, sizeof *test->outputs);
    for (size_t i = 0; i < count && !status; i++)
        status = add(test, gradients[i].name, &gradients[i].slope, open, err);
    gradients_free(gradients, count);
    return status;
}

int test_case_add_answers(struct test_case *test, bool *open, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    struct evaluator *evaluator;
    if (open)
        *open = false;
    if (!model || evaluator_new(&evaluator, model, NULL, err))
        return -1;
    values_free(test->outputs, test->n_outputs);
    test->outputs = NULL;
    test->n_outputs = 0;
    int status = test->gradient ? add_gradients(test, evaluator, open, err)
                                : add_outputs(test, evaluator, model, open, err);
    evaluator_free(evaluator);
    return status;
}
