/* Why the reference cannot judge some of a case's output values, in words. */
#ifndef LOCATE_UNJUDGED_H
#define LOCATE_UNJUDGED_H

#include "base/str.h"
#include "case/inputs.h"
#include "case/test_case.h"

/* The case, and which sample of the user's data it is. */
struct unjudged_sample {
    const struct test_case *test;
    const struct inputs *inputs; /* NULL: the case is no sample of any */
    size_t sample;
};

/*
 * Appends "NaN at sample 3 of data.npz, x[3,17], reaches 56 of 72 output values through Softmax sm", or which
 * node makes how many of them uncertain; says so when no cause is found. Evaluates the model a few times.
 * Nothing is appended when every value can be judged. Fails when the reference cannot evaluate the case.
 */
int unjudged_explain(struct str *out, const struct unjudged_sample *which, struct error *err);

#endif
