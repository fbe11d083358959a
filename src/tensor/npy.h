/*
 * NumPy's .npy files, format versions 1 to 3.
 *
 * The reader takes every numeric type of ONNX and bool, either byte order, and C or Fortran order; the tensor
 * it makes is always row-major and little-endian. NumPy has no bfloat16: it is read and written as '<V2', as
 * the ml_dtypes package does. It has no narrow types either: they are written as bytes, int4 and int2 as
 * int8, the others as uint8, and read as such; so is ml_dtypes' '|V1'. Strings, objects and structured types
 * are refused. The writer writes version 1, little-endian, C order.
 *
 * Readers allocate the tensor, which the caller releases. They fail with ERROR_FORMAT on a file that breaks
 * the format, ERROR_UNSUPPORTED on an element type that is not supported, ERROR_LIMIT on a shape that is too
 * large.
 */
#ifndef TENSOR_NPY_H
#define TENSOR_NPY_H

#include "base/folder.h"
#include "base/str.h"
#include "tensor/tensor.h"

/* A file in memory, or on disk. */
int npy_parse(const void *data, size_t size, struct tensor *tensor, struct error *err);
int npy_read(const struct folder *in, const char *name, struct tensor *tensor, struct error *err);

/* The header for a tensor, into an empty string; in the file, the payload of the tensor follows unchanged.
 * Fails on strings. */
int npy_header(const struct tensor *tensor, struct str *header, struct error *err);

/* Header and payload to a file, whole or not at all (folder_write). */
int npy_write(const struct folder *in, const char *name, const struct tensor *tensor, struct error *err);

#endif
