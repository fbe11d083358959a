/* How far numbers are from those that they stand for: the usual measures, summed over tensors. */
#ifndef AGAINST_LOSS_H
#define AGAINST_LOSS_H

#include "tensor/tensor.h"

/* Sums over all elements whose two numbers are finite, and the largest difference. All zero: nothing yet. */
struct loss {
    size_t elements;
    size_t broken; /* elements that are NaN or infinite, where they stand for a number */
    long double error2, base2, made2, product;
    double largest;
    size_t sample, element; /* where the difference is largest, and the two numbers there */
    double base, made;
};

/* Adds the elements of `made`, which stand for those of `base`. Ignores tensors of different counts. */
void loss_add(struct loss *loss, const struct tensor *made, const struct tensor *base, size_t sample);

double loss_mse(const struct loss *loss);
/* The error's root mean square as a share of that of the numbers themselves; infinite where some are broken.
 */
double loss_share(const struct loss *loss);
double loss_snr(const struct loss *loss); /* the same in decibels; infinite: no loss */
double loss_cosine(const struct loss *loss);

#endif
