/*
 * How far rounding moves an output, tried out.
 *
 * The bounds of a deep model hold in the worst case, which never happens: where they are too wide, or
 * infinite, to tell whether rounding explains a value, the reference computes the model as an engine does,
 * several times, and disturbs every floating-point result of every node at random by some units of its type
 * (but those of nodes without inputs, which are constants).
 * That shows what rounding does in this model, jumps within its reach included. It proves nothing: whoever
 * uses it leaves a large margin.
 */
#ifndef LOCATE_ROUNDING_TRIED_H
#define LOCATE_ROUNDING_TRIED_H

#include "case/test_case.h"
#include "ops/op.h"

struct rng;

/* How much: so many units of its type, or of a coarser one in which a device keeps it. A tensor of smaller
 * numbers is disturbed like one of this size. */
struct rounding_disturbance {
    struct rng *rng;
    double units, least, size;
};

/* As many units as a sum is off by. */
struct rounding_disturbance rounding_disturbance(void);

/* A hook of the evaluator (eval/evaluate.h), whose context is a struct rounding_disturbance: computes the
 * node and disturbs every floating-point result of one that has inputs. */
int rounding_disturb(void *context, struct op_call *call);

/*
 * The largest distance from `exact` at which element `element` of output `output` is found; infinite where it
 * becomes NaN or infinite. Fails when the reference cannot evaluate the case.
 */
int rounding_tried(const struct test_case *test, size_t output, size_t element, long double exact,
                   double *moved, struct error *err);

#endif
