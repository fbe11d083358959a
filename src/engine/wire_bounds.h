/*
 * A reference engine's values on the wire: bounded values to a value with wire_bounds, and back.
 */
#ifndef ENGINE_WIRE_BOUNDS_H
#define ENGINE_WIRE_BOUNDS_H

#include "bounds/bounded.h"
#include "engine/wire.h"

/* tensor gets the rounded value; bounds the rest. Both are the caller's to release. */
int bounds_to_wire(const struct bounded *b, struct tensor *tensor, struct wire_bounds *bounds,
                   struct error *err);

/* Fails with ERROR_FORMAT when the bounds' shapes do not fit the tensor: an engine's word is not trusted. */
int bounds_from_wire(struct bounded *b, const struct tensor *tensor, const struct wire_bounds *bounds,
                     struct error *err);

#endif
