/* Strides and the walk over the elements of a tensor in row-major order. */
#ifndef BOUNDS_STRIDES_H
#define BOUNDS_STRIDES_H

#include "tensor/tensor.h"

/*
 * Strides in elements; a broadcast dimension has stride 0. odometer_next moves the index to the next element,
 * the last dimension fastest, and is false after the last one; start from all zeros, and not at all when a
 * dimension is 0.
 */
struct strides {
    size_t of[TENSOR_MAX_RANK];
};
struct strides strides_dense(const struct shape *shape);
struct strides strides_broadcast(const struct shape *from, const struct shape *to);
size_t strides_at(const struct strides *strides, int rank, const int64_t *index);
bool odometer_next(int64_t *index, const struct shape *shape);

/* Product of dims [from, to). */
size_t shape_span(const struct shape *shape, int from, int to);

#endif
