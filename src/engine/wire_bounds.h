/*
 * Converts the reference's values with bounds (struct bounded) to what is sent over the wire, a tensor and a
 * struct wire_bounds, and back.
 */
#ifndef ENGINE_WIRE_BOUNDS_H
#define ENGINE_WIRE_BOUNDS_H

#include "bounds/bounded.h"
#include "engine/wire.h"

/* tensor gets the value rounded to its type, *bounds everything else. The caller releases both. */
int bounds_to_wire(const struct bounded *b, struct tensor *tensor, struct wire_bounds *bounds,
                   struct error *err);

/* Fails with ERROR_FORMAT when the shapes of the bounds do not match the tensor, since what comes over the
 * wire is not trusted. */
int bounds_from_wire(struct bounded *b, const struct tensor *tensor, const struct wire_bounds *bounds,
                     struct error *err);

#endif
