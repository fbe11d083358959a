/*
 * Tensors that are stored as levels (DequantizeLinear), or in a narrower floating-point type: what of their
 * loss the type must cost, and what is wrong with the rest.
 *
 * n bits that cover the range of some numbers in equal steps cost a mean square error of step^2 / 12. A scale
 * and a zero point that were chosen well come near it, whatever the numbers are; where the error is many
 * times as large, they do not fit the numbers. That is looked at for each scale by itself: one for a tensor,
 * or one for each channel.
 */
#ifndef AGAINST_LEVELS_H
#define AGAINST_LEVELS_H

#include "base/str.h"
#include "ops/op.h"

/* The numbers that share a scale. */
struct level_group {
    size_t elements, clipped; /* those beyond the ends of the range */
    long double error, error2, base2, product;
    long double clipped2;    /* the part of error2 that those have which are clipped */
    double low, high;        /* of the numbers */
    double reach_low, reach; /* ends of the range that the levels cover */
    double step, zero;       /* scale and zero point */
    size_t sample, element;  /* the first element that is clipped */
};

/* All zero: nothing was added yet. */
struct levels {
    size_t count;
    struct level_group *groups; /* on the heap */
    enum dtype type;            /* of the levels */
    bool symmetric;             /* every zero point is the middle of the type */
    /* Of a floating-point type: numbers beyond its largest, and those that become 0, with the first of
     * each. */
    size_t elements, beyond, lost;
    size_t sample, element;
    double value, farthest;
};

void levels_release(struct levels *levels);

/* Adds what a DequantizeLinear gave, `made`, for numbers that should be `base`. */
void levels_add(struct levels *levels, const struct op_call *call, const struct tensor *made,
                const struct tensor *base, size_t sample);

/* Adds numbers that a floating-point type gave. */
void levels_add_float(struct levels *levels, const struct tensor *made, const struct tensor *base,
                      size_t sample);

/* How many times larger the mean square error is than levels of this type cost that are chosen well; 1 where
 * nothing of it can be helped, or nothing is known. `group`, unless NULL: that with the largest such factor,
 * whose factor is in *worst. */
double levels_factor(const struct levels *levels, size_t *group, double *worst);

/* Appends what is wrong: "channel 12 is clipped: 31 % of its values are beyond 0.21, up to 0.84". what: "its
 * weights w". */
void levels_words(struct str *out, const struct levels *levels, const char *what);

#endif
