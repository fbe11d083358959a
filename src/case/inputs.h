/*
 * Inputs for a given model: drawn at random (inputs_random.h) or read from a folder (inputs_read.h).
 *
 * A sample is one value for each input of the model, initialisers excepted. inputs_get makes one sample at a
 * time, so that a data set of any length needs the memory of one sample only; arrays of samples are the
 * exception, they are read once and kept.
 */
#ifndef CASE_INPUTS_H
#define CASE_INPUTS_H

#include "case/inputs_expected.h"
#include "case/inputs_fit.h"
#include "case/inputs_random.h"
#include "case/inputs_read.h"
#include "case/inputs_sizes.h"

/*
 * Makes the inputs->count values of one sample; the caller frees them with values_free. Fails as inputs_fit
 * does when they do not fit the model.
 */
int inputs_get(const struct inputs *inputs, size_t sample, struct value **values, struct error *err);

/* Appends where an element of an input is in the data that was read, by the index of its array: "sample 3 of
 * data.npz, x[3,17]", or "sample 0, data/test_data_set_0, x[0,17]". */
void inputs_place(const struct inputs *inputs, size_t sample, size_t input, size_t element, struct str *out);

/* Appends "20 random samples of N x 3 x 32 x 32 with N = 1, 2, 3, 7 and 16", or "4 samples from data.npz of 1
 * x 3 (extra is not used)". */
void inputs_describe(const struct inputs *inputs, struct str *out);

/*
 * Fails if inputs_get or inputs_expected would fail, so that a mistake in the inputs is reported before any
 * engine starts. Checks the first sample, and every other one that may differ from it in type or shape.
 */
int inputs_check(const struct inputs *inputs, struct error *err);

/* Sets the error for a sample that the reference calls invalid, with advice. Always returns a failure. */
int inputs_invalid(const struct inputs *inputs, size_t sample, const char *why, struct error *err);

#endif
