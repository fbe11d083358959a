/*
 * Whether a model answers with numbers for any finite input: reasoning by the sizes that values can have.
 *
 * Inputs may be any finite number of their type. From the rows of the operators follows how large a result
 * can become at most; what depends on no input has the size that it has. It is assumed that the result of one
 * node overflows only when it is itself too large, as on the reference; an engine may overflow on the way.
 * The sizes are generous, and what is not known counts as infinite: a model that is said to stay finite does,
 * and one that is not may stay finite too.
 */
#ifndef SEARCH_STAYS_FINITE_H
#define SEARCH_STAYS_FINITE_H

#include "eval/evaluate.h"

/* The inputs are any with which the model runs. Fails when the reference cannot evaluate it on them. */
int stays_finite(const struct model *model, const struct value *inputs, size_t n_inputs, bool *stays,
                 struct error *err);

#endif
