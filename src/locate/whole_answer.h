/*
 * The engine's answer to the case as it is, without exposed values, and the reference's judgement of it.
 */
#ifndef LOCATE_WHOLE_ANSWER_H
#define LOCATE_WHOLE_ANSWER_H

#include "locate/expected.h"
#include "locate/under_test.h"

struct whole_answer {
    struct under_test *test;
    struct result answer;     /* set by whole_answer_run */
    struct expected expected; /* computed when it is first needed */
    bool tried, known;        /* `expected` was computed; and successfully */
};

void whole_answer_init(struct whole_answer *whole, struct under_test *test);
void whole_answer_release(struct whole_answer *whole);

/* Runs the case into `answer`, however that ends. */
int whole_answer_run(struct whole_answer *whole);

/* Judges an answer to the whole model against the reference, whose bounds allow for fused nodes.
 * VERDICT_UNTESTED when the reference cannot compute the model. */
void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict);

#endif
