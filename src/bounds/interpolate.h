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

/* Whether taps_near_strange may be true of any element of x. */
bool taps_may_be_strange(const struct bounded *x);

/* Whether a sample that an implementation may read for this element, with weight 0 too, is NaN or infinite,
 * may be because it is not judged, or may become so on the way: what one axis makes of a huge number may
 * overflow, and 0 times that is NaN. `lengths` are those of the axes. beyond: how far from a
 * sample that has a weight others may be read that have none. */
bool taps_near_strange(const struct bounded *x, size_t base, int rank, const struct tap_list *lists,
                       const int64_t *lengths, int64_t beyond);

/* Stores such an element: NaN when a sample that certainly has a weight is, undecided otherwise. */
void put_beside_strange(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                        const struct tap_list *lists);

/* Calls `visit` for each sample with its weight, and the most that the size of its weight may be. */
typedef void tap_visit(void *context, size_t at, long double weight, long double reach);
void taps_visit(size_t base, int rank, const struct tap_list *lists, tap_visit *visit, void *context);

/* Whether there is one sample, of weight 1: then *at, which starts at the base, is its place. */
bool taps_are_copy(int rank, const struct tap_list *lists, size_t *at);

/*
 * The samples at coordinate x with the derivatives of their weights by x, for a kernel that is not widened.
 * Returns 0 when e is too large for any statement, and where the hat has a kink: at every whole number.
 */
size_t tap_slopes_at(const struct kernel *kernel, long double x, long double e, struct tap *taps);

/* The candidates of nearest along an axis, [low, high], and the one chosen. */
struct nearest {
    int64_t chosen, low, high;
    size_t stride;
};
/* Turns an index into one inside the axis, or -1 for a zero. */
typedef int64_t nearest_map(const void *context, int axis, int64_t index);

/* Calls `visit` for each candidate, with its place or, outside, a zero; `chosen` is the one chosen. */
typedef void nearest_visit(void *context, size_t at, bool inside, bool chosen);
void nearest_each(size_t base, int rank, const struct nearest *axes, nearest_map *map, const void *mapping,
                  nearest_visit *visit, void *context);

/* Stores the nearest sample with a bound over all candidates. */
void put_nearest(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                 const struct nearest *axes, nearest_map *map, const void *mapping);

#endif
