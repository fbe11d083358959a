#include "locate/whole_answer.h"

void whole_answer_init(struct whole_answer *whole, struct under_test *test)
{
    *whole = (struct whole_answer){.test = test};
    result_init(&whole->answer);
}

void whole_answer_release(struct whole_answer *whole)
{
    expected_release(&whole->expected);
    result_release(&whole->answer);
}

int whole_answer_run(struct whole_answer *whole)
{
    const struct settle_case *which = whole->test->which;
    return under_test_run(whole->test, which->model, which->inputs, which->n_inputs, 0, &whole->answer);
}

void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict)
{
    const struct settle_case *which = whole->test->which;
    *verdict = (struct verdict){0};
    if (!whole->tried)
        whole->known =
            !expected_compute(&whole->expected, which->model, true, which->inputs, which->n_inputs);
    whole->tried = true;
    if (whole->known)
        expected_judge(&whole->expected, which->model, result, verdict);
}
