/*
 * CRADLE's localisation (Pham, Lutellier, Qi, Tan: ICSE 2019): how the difference between two engines grows
 * from layer to layer.
 *
 *     delta_L = mean |S_L - S'_L|             over the hidden states of layer L on the two engines
 *     delta_pre = max of delta over the layers that feed L (0 for a layer fed by inputs alone)
 *     R_L = (delta_L - delta_pre) / (delta_pre + 1e-7)
 *
 * A layer is highlighted when its R is above the third quartile of all R. Here a layer is a node, and its
 * hidden state is all of its outputs.
 */
#ifndef LOCATE_RATE_H
#define LOCATE_RATE_H

#include "model/index.h"

#define RATE_EPSILON 1e-7

/* The running mean over the outputs of one node. */
struct rate_mean {
    long double sum;
    size_t count;
    bool apart; /* shapes or types differ, or a value is finite on one side only: the distance is infinite */
};

/* Equal values, and the same infinity or NaN on both sides, are no difference. Strings do not count. */
void rate_add(struct rate_mean *mean, const struct tensor *a, const struct tensor *b);
double rate_delta(const struct rate_mean *mean); /* NAN when nothing was added */

/*
 * R of one layer. From an infinite difference to an infinite one the rate is 0, from a finite one infinite,
 * and back to a finite one -1, as in the limit. NAN when delta is NAN.
 */
double rate_change(double delta, double before);

/* Computes R of all nodes from their deltas. A delta of NAN counts as 0 for the nodes that come after it. */
void rate_all(const struct model_index *index, const double *delta, double *rate);

/* The third quartile by linear interpolation between the sorted numbers (numpy's default); NAN ones are left
 * out, and when nothing is left it is NAN. */
double rate_quartile(const double *rate, size_t count);

#endif
