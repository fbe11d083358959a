/*
 * What computing several nodes as one may change beyond some units of each number (evaluate_options.loose):
 * the square of a difference, (x - m)^2, may be drawn apart. A variance is then E[x^2] - E[x]^2, as inexact
 * as its parts, however small the difference is.
 */
#ifndef EVAL_EXPANDED_SQUARES_H
#define EVAL_EXPANDED_SQUARES_H

#include "ops/op.h"

/* How large the parts of a difference are. */
struct parts {
    struct bounded sizes; /* |x| + |m|, in the difference's shape; DTYPE_NONE: no difference */
    size_t terms;         /* that a mean m is of: so many elements of x stand for one of m */
};

/* Of a Sub of floats that was just computed; anything else has none. */
int parts_of(struct parts *parts, const struct op_call *call);
void parts_release(struct parts *parts);

/* Whether a node is the square of its first input: Mul(d, d), or Pow(d, 2). */
bool is_square(const struct op_call *call);

/* The square of a difference of such parts, drawn apart. */
void loosen_square(struct bounded *square, const struct parts *parts);

#endif
