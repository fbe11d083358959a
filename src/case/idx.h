/*
 * Reads IDX, the format of MNIST and similar data sets: two zero bytes, a type, a rank, big-endian sizes,
 * then the elements. Only unsigned bytes (type 8) can be read, which is what such data sets hold.
 */
#ifndef CASE_IDX_H
#define CASE_IDX_H

#include "tensor/tensor.h"

/* Reads a file as a uint8 tensor, which the caller releases. */
int idx_read(const char *path, struct tensor *tensor, struct error *err);

/*
 * Reads images as the samples of a model's input; the caller releases the tensor. With `floats` the grey
 * values become float32 and are divided by 255. `like` is the declared shape of the input, batch dimension
 * first, or of rank 0 when it is not known: the samples take this shape if it has as many elements as an
 * image.
 */
int idx_images(const char *path, bool floats, const struct shape *like, struct tensor *tensor,
               struct error *err);

#endif
