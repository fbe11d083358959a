/* Illegal parameters: a drawn node with one value that an engine must refuse, and may not crash on. */
#ifndef GENERATE_ILLEGAL_H
#define GENERATE_ILLEGAL_H

#include "base/str.h"
#include "ops/draw.h"

/* Whether the operator's table has an illegal value that illegal_apply can set. */
bool illegal_exists(const struct op *op);

/* Sets one, and says which ("illegal axis=100"). -1 when none of them fits this node. */
int illegal_apply(struct draw *d, struct rng rng, struct str *note, struct error *err);

#endif
