#include "locate/whole_answer.h"

void whole_answer_init(struct whole_answer *whole, struct under_test *test)
{
    *whole = (struct whole_answer){.test = test};
    result_init(&whole->answer);
}

void whole_answer_release(struct whole_answer *whole)
{
    expected_release(&whole->plain.expected);
    expected_release(&whole->lowered.expected);
    result_release(&whole->answer);
}

int whole_answer_run(struct whole_answer *whole)
{
    const struct test_case *test = whole->test->whole;
    return under_test_run(whole->test, whole->test->model, test->inputs, test->n_inputs, 0, &whole->answer);
}

static void judge_by(struct whole_answer *whole, struct whole_expected *by, const struct arithmetic *fusing,
                     const struct result *result, struct verdict *verdict)
{
    const struct test_case *test = whole->test->whole;
    *verdict = (struct verdict){0};
    if (!by->tried)
        by->known =
            !expected_compute(&by->expected, whole->test->model, fusing, test->inputs, test->n_inputs);
    by->tried = true;
    if (by->known)
        expected_judge(&by->expected, whole->test->model, result, verdict);
}

void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict)
{
    const struct arithmetic *fusing = &whole->test->fusing;
    judge_by(whole, &whole->plain, &(struct arithmetic){.fuses = true, .direct = fusing->direct}, result,
             verdict);
    if (!fusing->lowered || !verdict_is(verdict->kind, CLASS_DEVIATES))
        return;
    judge_by(whole, &whole->lowered, fusing, result, verdict);
    verdict->lowered = !verdict_is(verdict->kind, CLASS_DEVIATES);
}

const struct expected *whole_answer_expected(const struct whole_answer *whole)
{
    return whole->lowered.known ? &whole->lowered.expected : &whole->plain.expected;
}
