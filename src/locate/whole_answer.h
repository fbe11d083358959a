/*
 * The engine's answer to the case as it is, without anything exposed, and what the reference says of it.
 */
#ifndef LOCATE_WHOLE_ANSWER_H
#define LOCATE_WHOLE_ANSWER_H

#include "locate/expected.h"
#include "locate/under_test.h"

struct whole_answer {
    struct under_test *test;
    struct result answer;     /* by whole_answer_run */
    struct expected expected; /* computed when first asked for: */
    bool tried, known;        /* it was; the reference can */
};

void whole_answer_init(struct whole_answer *whole, struct under_test *test);
void whole_answer_release(struct whole_answer *whole);

/* Runs the case into `answer`, however that ends. */
int whole_answer_run(struct whole_answer *whole);

/* An answer to the whole model against the reference, with what fusing may do allowed for; VERDICT_UNTESTED
 * when the reference cannot. */
void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict);

#endif
