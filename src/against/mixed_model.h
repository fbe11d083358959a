/* A model some nodes of which are replaced by those of the model that it was made from (keep_float.h). */
#ifndef AGAINST_MIXED_MODEL_H
#define AGAINST_MIXED_MODEL_H

#include "against/match.h"

/* Which nodes can be replaced, and how their values are matched. */
struct mixed_plan {
    const struct model_index *model, *other;
    const struct match *match;
    const enum dtype *types; /* of the values of MODEL, as they were computed; DTYPE_NONE: not known */
};

/* Whether the node that computes this layer in MODEL can be replaced: OTHER computes it from constants and
 * from values that MODEL has, by the same operator, or by that and the activation behind it. */
bool mixed_is_possible(const struct mixed_plan *plan, size_t layer);

/* A copy of MODEL in which the layers `kept` are computed as OTHER does. */
int mixed_write(struct model **mixed, const struct mixed_plan *plan, const bool *kept, struct error *err);

#endif
