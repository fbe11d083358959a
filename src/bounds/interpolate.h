/*
 * Interpolation between samples, with weights at a coordinate that implementations know only up to rounding.
 *
 * The kernels (hat and cubic convolution) are continuous, so when the coordinate is off by e a weight is off
 * by at most L * e, with L the Lipschitz constant of the kernel, whichever samples an implementation picks. A
 * sample just outside the support then has weight 0 with that error. Nearest is a jump and has no weights:
 * instead, every sample that rounding may choose is a candidate.
 */
#ifndef BOUNDS_INTERPOLATE_H
#define BOUNDS_INTERPOLATE_H

#include "bounds/bounded.h"

/* One sample along one axis and its weight. */
#define TAP_OUTSIDE INT64_MIN /* an index: the sample is zero, or taps_normalise leaves it out */
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

/* The samples with a weight at coordinate x, which is known up to e. Their indices may lie outside the axis.
 * Returns their number; 0 when e is too large for any statement. */
size_t taps_at(const struct kernel *kernel, long double x, long double e, struct tap *taps);

/* Drops the taps outside and divides the others by the sum of their weights. */
size_t taps_normalise(struct tap *taps, size_t count, double unit);

/*
 * Computes element i of out from the product of one tap list per axis, over the block of x that starts at
 * `base`. A single tap of weight 1 is a copy. For integer types the rounding is not defined, so either
 * neighbour passes.
 */
struct tap_list {
    const struct tap *taps;
    size_t count, stride; /* stride of the axis in x */
};
void put_interpolated(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                      const struct tap_list *lists);

/* The candidates of nearest along an axis, [low, high], and the one chosen. */
struct nearest {
    int64_t chosen, low, high;
    size_t stride;
};
/* Stores the nearest sample with a bound over all candidates. `map` turns an index into one inside the axis,
 * or -1 for a zero. */
void put_nearest(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                 const struct nearest *axes, int64_t (*map)(const void *context, int axis, int64_t index),
                 const void *context);

#endif
