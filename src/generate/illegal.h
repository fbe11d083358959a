/* Illegal parameters: gives one parameter of a drawn node a value that ONNX forbids. An engine must refuse it
 * and must not crash. */
#ifndef GENERATE_ILLEGAL_H
#define GENERATE_ILLEGAL_H

#include "base/str.h"
#include "ops/draw.h"

/* Whether the operator's table has an illegal value that illegal_apply can set. */
bool illegal_exists(const struct op *op);

/* Sets an illegal value and appends which to `note` ("illegal axis=100"). -1 when none applies to this node.
 */
int illegal_apply(struct draw *d, struct rng rng, struct str *note, struct error *err);

#endif
