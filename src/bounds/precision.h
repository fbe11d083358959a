/*
 * Values that a device keeps in fewer bits than the model says: the bounds of what it may compute.
 *
 * What an operator reads and gives is rounded to the precision; sums inside it are as exact as the model's
 * own type, as the accumulators of such devices are. Rounding may be to the nearest number or towards zero,
 * as devices do either.
 *
 * - float16 and bfloat16: every value is one. Beyond the range of float16 it is undecided.
 * - tf32: the operands of products alone have 10 bits behind the point (precision_of_operands).
 * - int8: every value is one of 255 steps of the largest number in its tensor, and the scale may be up to
 *   twice as wide as that needs, as it was chosen on other data.
 */
#ifndef BOUNDS_PRECISION_H
#define BOUNDS_PRECISION_H

#include "bounds/bounded.h"

enum precision {
    PRECISION_OWN = 0, /* that of the model */
    PRECISION_TF32,
    PRECISION_FLOAT16,
    PRECISION_BFLOAT16,
    PRECISION_INT8,
};

/* The words of an option, in the order of the enum. */
#define PRECISION_WORDS "own|tf32|float16|bfloat16|int8"
const char *precision_name(enum precision precision);

/* Whether only what products read is rounded. */
bool precision_of_operands(enum precision precision);

/* Adds what rounding to the precision may do to the bounds of real numbers. Nothing where the type is not
 * wider, and nothing to a number that the precision holds and that is known exactly. */
void bounded_in_precision(struct bounded *b, enum precision precision);

#endif
