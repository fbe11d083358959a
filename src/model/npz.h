/*
 * NumPy's .npz files: archives of .npy arrays in the ZIP format, stored or deflated.
 *
 * Nothing in the archive is trusted. Only its directory at the end is read for sizes; each array is inflated
 * to exactly the size that the directory says, which may not be more than deflate can make of so few bytes,
 * nor more than a tensor may have, and its checksum must hold. Names are compared, never used as paths.
 * Archives of 4 GB and more (ZIP64) and encrypted ones are refused.
 */
#ifndef MODEL_NPZ_H
#define MODEL_NPZ_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "tensor/tensor.h"

struct npz_array {
    const char *name; /* without ".npy" */
    unsigned method, crc;
    size_t offset; /* of the array's own header in the file */
    size_t packed, size;
};

struct npz {
    struct arena arena;
    struct file_map map; /* data is NULL when the archive is in the caller's memory */
    const uint8_t *data;
    size_t bytes, count;
    struct npz_array *arrays; /* files that do not end in .npy are left out */
    struct map names;         /* of the arrays, to their numbers */
};

/* A file on disk, or in memory that must outlive *npz. Close it also after a failure. */
int npz_open(struct npz *npz, const char *path, struct error *err);
int npz_parse(struct npz *npz, const void *data, size_t size, struct error *err);
void npz_close(struct npz *npz);

/* The array of that name; NULL when there is none. */
const struct npz_array *npz_find(const struct npz *npz, const char *name);

/* Unpacks one array; the caller releases the tensor. */
int npz_read(const struct npz *npz, const struct npz_array *array, struct tensor *tensor, struct error *err);

#endif
