/*
 * A model with the same numbers in another element type: in float64, what its engine computes when hardly
 * anything is rounded; in other types, what a bug in one of them looks like in the others.
 */
#ifndef MODEL_RETYPE_H
#define MODEL_RETYPE_H

#include "model/model.h"

/* The types that a model's numbers may have, and what they become. */
struct retyping {
    dtype_set from;
    enum dtype to;
};

extern const struct retyping retyping_to_float64; /* float32, float16 and bfloat16 */

/*
 * Makes a copy in which the type is another one wherever the model says so: types of values, weights,
 * constants and what Cast and its like make. Nobody has looked whether all operators of the model take it.
 */
int model_retype(struct model **out, const struct model *model, const struct retyping *retyping,
                 struct error *err);

/* The same of one tensor; one of another type is copied. */
int tensor_retype(struct tensor *out, const struct tensor *tensor, const struct retyping *retyping,
                  struct error *err);

#endif
