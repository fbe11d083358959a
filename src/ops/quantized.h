/* Results of 8 bits, for operators that are built on QLinearMatMul's way of rounding. */
#ifndef OPS_QUANTIZED_H
#define OPS_QUANTIZED_H

#include "bounds/number.h"

/* Stores the whole number nearest to `value`, which is known up to `error`, plus the zero point, saturated.
 * Near a half both neighbours are right. */
void quantized_put(struct bounded *out, size_t i, long double value, long double error, struct number zero);

#endif
