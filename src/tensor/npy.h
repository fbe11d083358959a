/*
 * NumPy's .npy files, format versions 1 to 3.
 *
 * Read: every numeric type that ONNX has, either byte order, C or Fortran order (the payload is always made
 * row-major and little-endian). bfloat16, which NumPy lacks, is '<V2', as ml_dtypes writes it. Text, objects
 * and structures are refused. Written: version 1, little-endian, C order.
 */
#ifndef TENSOR_NPY_H
#define TENSOR_NPY_H

#include "base/str.h"
#include "tensor/tensor.h"

int npy_parse(const void *data, size_t size, struct tensor *tensor, struct error *err);
int npy_read(const char *path, struct tensor *tensor, struct error *err);

/* The header for a tensor; its payload follows as it is. Fails on strings. */
int npy_header(const struct tensor *tensor, struct str *header, struct error *err);
int npy_write(const char *path, const struct tensor *tensor, struct error *err);

#endif
