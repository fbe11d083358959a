/* An element of a tensor as C and C++ write it. */
#ifndef TENSOR_LITERAL_H
#define TENSOR_LITERAL_H

#include "base/str.h"
#include "tensor/tensor.h"

/* Floats read back to the same number (NAN and INFINITY are math.h's), the short ones are given as their
 * bits. */
void tensor_literal(struct str *out, const struct tensor *tensor, size_t i);

#endif
