/*
 * How far rounding moves an output, tried out.
 *
 * The bounds of a deep model hold in the worst case, which never happens: where they are too wide, or
 * infinite, to tell whether rounding explains a value, the reference computes the model as an engine does,
 * several times, and disturbs every floating-point result of every node at random by some units of its type.
 * That shows what rounding does in this model, jumps within its reach included. It proves nothing: whoever
 * uses it leaves a large margin.
 */
#ifndef LOCATE_ROUNDING_TRIED_H
#define LOCATE_ROUNDING_TRIED_H

#include "case/test_case.h"

/*
 * The largest distance from `exact` at which element `element` of output `output` is found; infinite where it
 * becomes NaN or infinite. Fails when the reference cannot evaluate the case.
 */
int rounding_tried(const struct test_case *test, size_t output, size_t element, long double exact,
                   double *moved, struct error *err);

#endif
