/* Draws the inputs of a model at random. */
#ifndef CASE_INPUTS_RANDOM_H
#define CASE_INPUTS_RANDOM_H

#include "case/inputs_wanted.h"

/*
 * Prepares `samples` random samples. Floats are drawn from normal(0, 1), integers from what the graph
 * allows (inputs_ranges.h), else from 0 to 9, bools are true or false; each element depends on (seed, sample,
 * input, index) alone. An open dimension has size 1 unless an entry "NAME=SIZE" of `dims` gives it another,
 * or inputs_draw_sizes is called; a NAME that the model does not have is an ERROR_USAGE. The model must
 * outlive *inputs; the caller releases *inputs, also after a failure.
 */
int inputs_random(struct inputs *inputs, const struct model *model, size_t samples, uint64_t seed,
                  const char *const *dims, size_t n_dims, struct error *err);

/* Draws one input of one sample; the caller releases the tensor. */
int inputs_random_tensor(const struct inputs *inputs, const struct inputs_slot *slot, size_t sample,
                         struct tensor *tensor, struct error *err);

#endif
