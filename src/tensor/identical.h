/* Whether two answers are the same bytes. */
#ifndef TENSOR_IDENTICAL_H
#define TENSOR_IDENTICAL_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether there are as many values, of the same kinds and with identical tensors; names do not matter. */
bool values_identical(const struct value *a, size_t n_a, const struct value *b, size_t n_b);

#ifdef __cplusplus
}
#endif
#endif
