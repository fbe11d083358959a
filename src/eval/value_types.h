/*
 * Element types and shapes of the values in a model's top graph, as far as the model declares them or the
 * operator table can infer them. Shapes that depend on data are not known.
 */
#ifndef EVAL_VALUE_TYPES_H
#define EVAL_VALUE_TYPES_H

#include "base/map.h"
#include "bounds/bounded.h"
#include "model/model.h"

struct value_types {
    struct map names;
    size_t count, capacity;
    struct bounded *values; /* of type DTYPE_NONE: not known; of rank -1: only the type is known */
};

/* Infers the types of a model, which must outlive *types. The caller releases *types. */
void value_types_init(struct value_types *types, const struct model *model);

/*
 * The same for the given inputs, whose shapes replace those that the model declares for any value, so that
 * symbolic dimensions are known. Inputs are found by name.
 */
void value_types_init_for(struct value_types *types, const struct model *model, const struct value *inputs,
                          size_t n_inputs);
void value_types_release(struct value_types *types);

/* Returns what is known of a value, or NULL when nothing is known or the name is "". It lives in *types. */
const struct bounded *value_types_find(const struct value_types *types, const char *name);

#endif
