/* The normalisation of Softmax and LogSoftmax, for operators that are built on them. */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H

#include "bounds/bounded.h"

/* Normalises the elements base, base + step ..., `length` of them, of x into those of out: Softmax, or
 * LogSoftmax. The unit of rounding is that of out's type. */
void softmax_lane(struct bounded *out, const struct bounded *x, size_t base, size_t step, size_t length,
                  bool logarithm);

#endif
