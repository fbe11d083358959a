/*
 * Element types and shapes of the values of a model's top graph, as far as the model itself tells or the
 * operator table infers them. Values that depend on data are not known.
 */
#ifndef FINDINGS_VALUE_TYPES_H
#define FINDINGS_VALUE_TYPES_H

#include "base/map.h"
#include "bounds/bounded.h"
#include "model/model.h"

struct value_types {
    struct map names;
    size_t count, capacity;
    struct bounded *values; /* type DTYPE_NONE: not known; rank -1: only the type is */
};

void value_types_init(struct value_types *types, const struct model *model);
void value_types_release(struct value_types *types);

/* NULL when nothing is known, or the name is "". */
const struct bounded *value_types_find(const struct value_types *types, const char *name);

#endif
