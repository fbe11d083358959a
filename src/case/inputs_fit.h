/*
 * Whether values are what the model wants as its inputs: the user's mistakes, told before an engine sees
 * them.
 */
#ifndef CASE_INPUTS_FIT_H
#define CASE_INPUTS_FIT_H

#include "model/model.h"

/*
 * Holds values against what the model says of its inputs. Each that has no initialiser must be there, and no
 * others; kinds, element types, ranks and dimensions are as declared, and a symbol has one size in all of
 * them. Fails with ERROR_INVALID: "your input x is float32 [2,1,28,28], the model wants float32
 * [batch,3,32,32]".
 */
int inputs_fit(const struct model *model, const struct value *values, size_t count, struct error *err);

/* Fails when the file at `path`, read as the input `wanted`, says that it holds another input of the model.
 */
int inputs_name_fits(const struct model *model, const char *path, const char *said, const char *wanted,
                     struct error *err);

#endif
