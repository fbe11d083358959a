/* The product of MatMul, for operators that are built on it. */
#ifndef OPS_MATMUL_H
#define OPS_MATMUL_H

#include "ops/op.h"

/* Output 0 of the call: alpha times the product of a and b, as NumPy's matmul defines it. The factor may be
 * multiplied into an operand or into the sums. */
int matmul_scaled(struct op_call *call, const struct bounded *a, const struct bounded *b, double alpha);

#endif
