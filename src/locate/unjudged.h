/* Why the reference cannot judge some of a case's output values, in words. */
#ifndef LOCATE_UNJUDGED_H
#define LOCATE_UNJUDGED_H

#include "base/str.h"
#include "case/test_case.h"

/*
 * Appends "NaN in input x row 3 reaches 56 of 72 output values through Softmax sm", or which node makes how
 * many of them uncertain; says so when no cause is found. Evaluates the model a few times. Nothing is
 * appended when every value can be judged. Fails when the reference cannot evaluate the case.
 */
int unjudged_explain(struct str *out, const struct test_case *test, struct error *err);

#endif
