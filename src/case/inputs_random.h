/* Inputs drawn at random. */
#ifndef CASE_INPUTS_RANDOM_H
#define CASE_INPUTS_RANDOM_H

#include "case/inputs_wanted.h"

/*
 * Floats are normal(0, 1), integers 0 to 9, bools either; each element a function of (seed, sample, input,
 * index) alone. Dimensions with the same symbol get the same size: 1, or what a "NAME=SIZE" in dims says. The
 * model must outlive *inputs.
 */
int inputs_random(struct inputs *inputs, const struct model *model, size_t samples, uint64_t seed,
                  const char *const *dims, size_t n_dims, struct error *err);

/* One input of one sample. */
int inputs_random_tensor(const struct inputs_slot *slot, uint64_t seed, size_t sample, struct tensor *tensor,
                         struct error *err);

#endif
