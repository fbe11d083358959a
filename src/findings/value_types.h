/*
 * Element types and shapes of the values of a model's top graph, as far as the model itself tells or the
 * operator table infers them. Values that depend on data are not known.
 */
#ifndef FINDINGS_VALUE_TYPES_H
#define FINDINGS_VALUE_TYPES_H

#include "base/map.h"
#include "bounds/bounded.h"
#include "model/model.h"

struct types {
    struct map names;
    size_t count, capacity;
    struct bounded *values; /* type DTYPE_NONE: not known; rank -1: only the type is */
};

void types_init(struct types *types, const struct model *model);
void types_release(struct types *types);

/* NULL when nothing is known, or the name is "". */
const struct bounded *types_find(const struct types *types, const char *name);

#endif
