/*
 * Tolerances with a reason: |got - expected| <= atol + rtol * |expected| for numbers of which it is known how
 * far a right answer may be from what is expected.
 *
 * Only the numbers that decide are kept: the upper convex hull of (|expected|, how far off). Of all pairs
 * that no right answer fails, the least is the one that allows least on average; a line that touches the hull
 * at the mean size.
 *
 * Numbers of one output on one sample are a group: some compare the mean of a group.
 */
#ifndef JUDGE_TOLERANCE_FIT_H
#define JUDGE_TOLERANCE_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct tolerance_point {
    double size, off;
};

/* Zero is empty. */
struct tolerance_fit {
    size_t count, capacity, hull; /* the first `hull` points are the hull of what was added before */
    struct tolerance_point *points;
    bool whole; /* only integers were added: an error is 1 at least */
    size_t added;
    double sum_size, most_off;
    size_t in_group; /* of the group that has not ended */
    double group_off, most_mean;
    double largest; /* of the sizes */
};

struct tolerance {
    double rtol, atol;
};

/* whole: of an integer type. */
void tolerance_add(struct tolerance_fit *fit, double size, double off, bool whole);
void tolerance_end_group(struct tolerance_fit *fit);
/* Adds what another has; the largest becomes the smaller of both. */
void tolerance_merge(struct tolerance_fit *fit, const struct tolerance_fit *other);
void tolerance_release(struct tolerance_fit *fit);

/* The least tolerance that no right answer fails, rounded up to two digits. */
struct tolerance tolerance_least(struct tolerance_fit *fit);

/* Whether no right answer fails the tolerance, also when it is computed in float16 or float32. */
bool tolerance_holds(struct tolerance_fit *fit, struct tolerance tolerance);

/* The largest error, as a share of the largest number, that may pass in some element. 0: none, not even
 * the smallest; infinite: any, where all numbers are 0. */
double tolerance_passes(struct tolerance_fit *fit, struct tolerance tolerance);

/* The largest atol beside this rtol with which every error of that share of the largest number still fails,
 * rounded down; negative: there is none. */
double tolerance_most(struct tolerance_fit *fit, double rtol, double error);

/* OpenCV's norms: the mean difference, of the group where it is largest, and the largest difference, rounded
 * up. */
struct tolerance tolerance_norms(const struct tolerance_fit *fit);

#endif
