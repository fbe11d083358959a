/*
 * Writing NumPy's .npz files (model/npz.h reads them): stored, not deflated, and the same bytes for the same
 * values.
 */
#ifndef MODEL_NPZ_WRITE_H
#define MODEL_NPZ_WRITE_H

#include "base/folder.h"
#include "base/str.h"
#include "tensor/tensor.h"

/*
 * Puts into an empty string an archive with an array for each tensor, named as its value. The tensors of a
 * sequence are NAME[0], NAME[1] and so on; texts and absent values, which the format does not hold, are left
 * out. Fails with ERROR_LIMIT for 4 GB and more.
 */
int npz_pack(const struct value *values, size_t count, struct str *out, struct error *err);

/* The same to a file, whole or not at all. */
int npz_write(const struct folder *in, const char *name, const struct value *values, size_t count,
              struct error *err);

#endif
