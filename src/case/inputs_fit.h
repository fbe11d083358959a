/*
 * Checks that values are what the model wants as its inputs, so that the user's mistakes are reported before
 * an engine can be blamed for them.
 */
#ifndef CASE_INPUTS_FIT_H
#define CASE_INPUTS_FIT_H

#include "base/map.h"
#include "model/model.h"

/*
 * Compares `count` values with the inputs that the model declares. Every input without an initialiser must be
 * given, and the model must have an input for every value. Kind, element type, rank and dimensions must be as
 * declared, and a symbolic dimension must have the same size everywhere. Fails with ERROR_INVALID: "your
 * input x is float32 [2,1,28,28], the model wants float32 [batch,3,32,32]".
 */
int inputs_fit(const struct model *model, const struct value *values, size_t count, struct error *err);

/* The names of the model's inputs; the caller releases the map. */
void inputs_names(struct map *names, const struct model *model);

/*
 * Fails when the file at `path`, which by its number is input `wanted`, holds a tensor named `said` that is
 * another input of the model, of which `names` are all.
 */
int inputs_name_fits(const struct map *names, const char *path, const char *said, const char *wanted,
                     struct error *err);

#endif
