/*
 * Gradients of interpolations by their samples: what arrives at an output goes to the samples that it was
 * made from, by the same weights (bounds/interpolate.h). Resize and GridSample share it.
 */
#ifndef OPS_INTERPOLATE_GRADIENT_H
#define OPS_INTERPOLATE_GRADIENT_H

#include "bounds/interpolate.h"
#include "ops/gradient.h"

/* One output, over the block of x that starts at `base`. */
struct interpolated {
    struct gradient_sums *sums;
    struct number up;
    size_t base;
    int rank;
    bool undecided; /* whether these samples were used is not known */
};

/* Every list must have taps. */
void interpolated_give(const struct interpolated *to, const struct tap_list *lists);

/* To the nearest sample goes all; where rounding chooses, each candidate may get all or nothing. */
void nearest_give(const struct interpolated *to, const struct nearest *axes, nearest_map *map,
                  const void *mapping);

#endif
