/*
 * Bounds for engines that compute several nodes as one (evaluate_options.loose), which may change results by
 * more than a few roundings: the square of a difference, (x - m)^2, may be expanded. A variance then becomes
 * E[x^2] - E[x]^2, which is as inexact as these two parts, however small the difference is.
 */
#ifndef EVAL_EXPANDED_SQUARES_H
#define EVAL_EXPANDED_SQUARES_H

#include "ops/op.h"

/* The magnitudes of the two operands of a difference x - m. */
struct parts {
    struct bounded sizes; /* |x| + |m|, in the difference's shape; DTYPE_NONE: no difference */
    size_t terms;         /* of the mean m: how many elements of x there are for one of m */
};

/* Finds them for a Sub of floats that was just computed; any other node has none. */
int parts_of(struct parts *parts, const struct op_call *call);
void parts_release(struct parts *parts);

/* Whether a node is the square of its first input: Mul(d, d), or Pow(d, 2). */
bool is_square(const struct op_call *call);

/* Adds to the bounds of the square of a difference the error of computing it expanded. */
void loosen_square(struct bounded *square, const struct parts *parts);

#endif
