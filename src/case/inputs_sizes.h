/*
 * Sizes of the open dimensions of random inputs.
 *
 * A dimension is open when the model gives it a name, or nothing, instead of a size. Its sizes are drawn from
 * 1, 2, 3, 7 and 16: five samples have all of them, each in an order that follows from the seed and the
 * dimension's name. A name has one size in all inputs of a sample; dimensions without a name share one at the
 * same axis. Sizes with which the model does not run, as when it reshapes to a fixed size inside, are given
 * up: the reference tries each combination before it is used. Where not even size 1 runs, larger ones are
 * tried. A model of more than 256 MB is not tried, and its sizes are 1.
 */
#ifndef CASE_INPUTS_SIZES_H
#define CASE_INPUTS_SIZES_H

#include "base/str.h"
#include "case/inputs_wanted.h"

/* Draws the sizes of inputs that inputs_random prepared, for all open dimensions that it was given none for.
 * alike: all samples get the same, and the first dimension of an input is 1, so that samples can be put into
 * one batch. */
void inputs_draw_sizes(struct inputs *inputs, bool alike);

/* The shape of one input in one sample. */
struct shape inputs_shape(const struct inputs *inputs, const struct inputs_slot *slot, size_t sample);

/* Whether samples may differ in shape. */
bool inputs_sizes_vary(const struct inputs *inputs);

/* Appends "N = 1, 2, 3, 7 and 16, T = 4"; nothing when no dimension is open. */
void inputs_sizes_text(const struct inputs *inputs, struct str *out);

#endif
