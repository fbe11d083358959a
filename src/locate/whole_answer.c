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
    const struct test_case *test = whole->test->whole;
    return under_test_run(whole->test, whole->test->model, test->inputs, test->n_inputs, 0, &whole->answer);
}

void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict)
{
    const struct test_case *test = whole->test->whole;
    *verdict = (struct verdict){0};
    if (!whole->tried)
        whole->known =
            !expected_compute(&whole->expected, whole->test->model, true, test->inputs, test->n_inputs);
    whole->tried = true;
    if (whole->known)
        expected_judge(&whole->expected, whole->test->model, result, verdict);
}
