/*
 * Interpolation between samples: weights at a coordinate that implementations know only up to rounding.
 *
 * The kernels (hat and cubic convolution) are continuous, so when the coordinate is off by e a weight is off
 * by at most L * e, L the kernel's Lipschitz constant, whichever samples an implementation picks; a sample
 * just outside the support then has weight 0 with that error. What is a jump (nearest) has no weights:
 * candidates instead.
 */
#ifndef BOUNDS_INTERPOLATE_H
#define BOUNDS_INTERPOLATE_H

#include "bounds/bounded.h"

/* One sample along one axis. */
#define TAP_OUTSIDE INT64_MIN /* as index: a sample that is zero, or left out by taps_normalise */
struct tap {
    int64_t index;
    long double weight, hard;
};

struct kernel {
    bool cubic;
    double a; /* cubic's coefficient */
    long double
        stretch; /* at most 1; below 1 the kernel is widened by 1/stretch and its weights normalised */
    double unit; /* roundoff of computing weights */
};

/* Most taps that taps_at can give. */
size_t taps_max(const struct kernel *kernel);

/* Samples that weigh at coordinate x (known up to e), by raw index: may lie outside. Returns their
 * number; 0 when e is too large to say anything. */
size_t taps_at(const struct kernel *kernel, long double x, long double e, struct tap *taps);

/* Drops the taps outside and divides the others by the sum of their weights. */
size_t taps_normalise(struct tap *taps, size_t count, double unit);

/*
 * Element i of out from the product of one tap list an axis, over the block of x that starts at `base`.
 * A single tap of weight 1 is a copy. Integer types: rounding is not defined, so either neighbour passes.
 */
struct tap_list {
    const struct tap *taps;
    size_t count, stride; /* stride of the axis in x */
};
void put_interpolated(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                      const struct tap_list *lists);

/* The candidates of nearest: [low, high] an axis, the chosen one; -1 stands for zero. */
struct nearest {
    int64_t chosen, low, high;
    size_t stride;
};
/* map turns a raw index into one inside, or -1. */
void put_nearest(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                 const struct nearest *axes, int64_t (*map)(const void *context, int axis, int64_t index),
                 const void *context);

#endif
