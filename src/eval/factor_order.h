/*
 * Bounds for engines that compute several nodes as one (evaluate_options.loose): the factors of a product may
 * be multiplied in any order, so a product of some of them may overflow, or become 0, where no single node
 * does. An example is (x / 1e-30) . w / 1e-30 when the two divisors are multiplied first. An infinite factor
 * gives infinities in one order and NaN in another: (x * c) . w is NaN where x has a 0 and c is infinite,
 * and (x . w) * c is not.
 */
#ifndef EVAL_FACTOR_ORDER_H
#define EVAL_FACTOR_ORDER_H

#include "ops/op.h"

/* The largest and the smallest product of some of a value's factors, as powers of 2. */
struct factors {
    double most, least; /* most >= 0, least <= 0 */
    unsigned count;     /* 0: not known */
    bool infinite;      /* one of them, or a product on the way, has an infinite element */
};

/* The factors of a value that is not a product. */
struct factors factors_of(const struct bounded *value);

/* The factors of the first output of a node that was just computed, from those of its inputs. */
struct factors factors_through(const struct op_call *call, const struct factors *inputs);

/* Makes a value undecided when a product of some of its factors overflows, and those elements that are not
 * finite when a factor is infinite; adds the error of a product that becomes 0. */
void factors_loosen(struct bounded *value, const struct factors *factors);

#endif
