/*
 * IDX, the format of the MNIST files and their relatives: two zero bytes, a type, a rank, big-endian sizes,
 * then the elements. Bytes only (type 8), which is what such data sets hold.
 */
#ifndef CASE_IDX_H
#define CASE_IDX_H

#include "tensor/tensor.h"

int idx_read(const char *path, struct tensor *tensor, struct error *err); /* uint8 */

/*
 * Grey values for a model: as float32 divided by 255 where it wants floats, in the shape it declares where
 * that has as many elements (`like`: of one sample, batch dimension first; rank 0: not known).
 */
int idx_images(const char *path, bool floats, const struct shape *like, struct tensor *tensor,
               struct error *err);

#endif
