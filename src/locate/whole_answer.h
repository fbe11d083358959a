/*
 * The engine's answer to the case as it is, without exposed values, and the reference's judgement of it.
 */
#ifndef LOCATE_WHOLE_ANSWER_H
#define LOCATE_WHOLE_ANSWER_H

#include "locate/expected.h"
#include "locate/under_test.h"

struct whole_answer {
    struct under_test *test;
    struct result answer; /* set by whole_answer_run */
    /* Computed when they are first needed: without, and with what the engine computes in fewer bits. */
    struct whole_expected {
        struct expected expected;
        bool tried, known; /* it was computed; and successfully */
    } plain, lowered;
};

void whole_answer_init(struct whole_answer *whole, struct under_test *test);
void whole_answer_release(struct whole_answer *whole);

/* Runs the case into `answer`, however that ends. */
int whole_answer_run(struct whole_answer *whole);

/* Judges an answer to the whole model against the reference, whose bounds allow for fused nodes.
 * VERDICT_UNTESTED when the reference cannot compute the model. Where it deviates, and the engine computes in
 * fewer bits, it is judged by the bounds of that (verdict->lowered). */
void whole_answer_judge(struct whole_answer *whole, const struct result *result, struct verdict *verdict);

/* What whole_answer_judge judged by. */
const struct expected *whole_answer_expected(const struct whole_answer *whole);

#endif
