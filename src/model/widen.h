/* A model with the same numbers in float64: what its engine computes when hardly anything is rounded. */
#ifndef MODEL_WIDEN_H
#define MODEL_WIDEN_H

#include "model/model.h"

/*
 * Makes a copy in which float32, float16 and bfloat16 are float64, wherever a type or a number of the model
 * says so: types of values, weights, constants and what Cast and its like make. Nobody has looked whether all
 * operators of the model take float64.
 */
int model_widen(struct model **wide, const struct model *model, struct error *err);

/* The same of one tensor; one of another type is copied. */
int tensor_widen(struct tensor *wide, const struct tensor *tensor, struct error *err);

#endif
