/*
 * Which whole numbers the graph allows as a random input, so that what is drawn suits the model: a token is
 * in the table that it is looked up in, a length within its sequence, and a mask is of zeros and ones.
 *
 * An input is followed through nodes that pass its elements on (those that move elements, casts, sums with
 * constants), in bodies too, to operators whose rows say that it counts along an axis (op_index in ops/op.h).
 * It is a mask where it becomes a bool, is compared with 0 or 1, or is taken from 1. Where nothing of this is
 * found it may have any number.
 */
#ifndef CASE_INPUTS_RANGES_H
#define CASE_INPUTS_RANGES_H

#include "case/inputs_wanted.h"

/* Sets the ranges of all inputs of whole numbers for the sizes of one row (case/inputs_sizes.h). An axis of
 * unknown size counts as one of size 1. */
void inputs_find_ranges(struct inputs *inputs, size_t row);

#endif
