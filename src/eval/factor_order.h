/*
 * What computing several nodes as one may do to a product (evaluate_options.loose): its factors may be
 * multiplied in any order, so a product of some of them may overflow, or become 0, where none of the nodes
 * does. (x / 1e-30) . w / 1e-30 with both divisors drawn together is such a one.
 */
#ifndef EVAL_FACTOR_ORDER_H
#define EVAL_FACTOR_ORDER_H

#include "ops/op.h"

/* The largest and the smallest product of some of a value's factors, as powers of 2. */
struct factors {
    double most, least; /* most >= 0, least <= 0 */
    unsigned count;     /* 0: not known */
};

/* Of a value by itself. */
struct factors factors_of(const struct bounded *value);

/* Of the first output of a node that was just computed, by those of its inputs. */
struct factors factors_through(const struct op_call *call, const struct factors *inputs);

/* Undecided when a product of some factors overflows; when one becomes 0, that is an error of all others. */
void factors_loosen(struct bounded *value, const struct factors *factors);

#endif
