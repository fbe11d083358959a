/*
 * Inputs for a given model: drawn at random (inputs_random.h), or read from a folder (inputs_read.h).
 *
 * A sample is one value for each input the model really has. Samples are made one at a time by inputs_get, so
 * that a data set of any length needs the memory of one sample (and of its arrays, which are read once).
 */
#ifndef CASE_INPUTS_H
#define CASE_INPUTS_H

#include "case/inputs_fit.h"
#include "case/inputs_random.h"
#include "case/inputs_read.h"

/* The values of one sample: inputs->count of them, to be freed with values_free. Fails, as inputs_fit does,
 * when the model wants others. */
int inputs_get(const struct inputs *inputs, size_t sample, struct value **values, struct error *err);

/* Whether inputs_get would work, for every sample that may differ from the first in type or shape: what is
 * wrong with the inputs is said before any engine starts. */
int inputs_check(const struct inputs *inputs, struct error *err);

/* The reference calls a sample invalid: what to say, and what to do about it. Fails always. */
int inputs_invalid(const struct inputs *inputs, size_t sample, const char *why, struct error *err);

#endif
