/*
 * Tensors: an element type, a shape and an owned payload.
 *
 * Payloads are little-endian, dense and row-major, with elements at their natural size. The payload of a
 * string tensor is, for each element in order, a 4-byte little-endian length and the bytes;
 * tensor_strings_check verifies it. All other code treats payloads as opaque bytes, so string tensors are
 * copied, saved and compared like any other.
 *
 * Invariants: 0 <= rank <= TENSOR_MAX_RANK; dims are >= 0; `count` is their product, and count * element size
 * fits in `size`. tensor_alloc establishes them and is the only place where memory is allocated for a shape
 * from outside.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "base/error.h"
#include "tensor/dtype.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this processor is big-endian: Assay and its adapters in C run on little-endian processors only"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { TENSOR_MAX_RANK = 16 };

struct shape {
    int rank;
    int64_t dims[TENSOR_MAX_RANK];
};

struct tensor {
    enum dtype type;
    struct shape shape;
    size_t count; /* elements */
    size_t size;  /* bytes of data */
    void *data;   /* heap, or NULL when size is 0 */
};

/* A named member of a case: a tensor, a sequence of tensors, or an absent optional. */
enum value_kind { VALUE_NONE, VALUE_TENSOR, VALUE_SEQUENCE };

struct value {
    char *name; /* heap; may be NULL */
    enum value_kind kind;
    size_t count; /* tensors: 1 for VALUE_TENSOR */
    struct tensor *tensors;
};

/* The number of elements; fails on a negative dim, a rank out of range or a product beyond 2^60. */
int shape_count(const struct shape *shape, size_t *count, struct error *err);
struct shape shape_make(int rank, const int64_t *dims);
struct shape shape_insert(const struct shape *shape, int axis, int64_t dim); /* one dim more, at `axis` */
bool shape_equal(const struct shape *a, const struct shape *b);

/* "[2,3]", "[]" for a scalar; the buffer is the caller's and always terminated. */
enum { SHAPE_TEXT_SIZE = 200 };
const char *shape_text(const struct shape *shape, char buffer[SHAPE_TEXT_SIZE]);

/* An empty float32 tensor of shape [0]; safe to release. */
void tensor_init(struct tensor *tensor);

/*
 * Sets type and shape and allocates a zeroed payload. A payload of more than `limit` bytes (0:
 * TENSOR_DEFAULT_LIMIT) is refused before anything is allocated. A string tensor gets `count` empty strings.
 * *tensor is overwritten without being released.
 */
#define TENSOR_DEFAULT_LIMIT ((size_t)8 << 30)
int tensor_alloc(struct tensor *tensor, enum dtype type, const struct shape *shape, size_t limit,
                 struct error *err);

/* tensor_alloc with a copy of `size` bytes as payload: exactly as many as the shape needs, or any valid
 * payload for strings. */
int tensor_from_bytes(struct tensor *tensor, enum dtype type, const struct shape *shape, const void *data,
                      size_t size, struct error *err);
int tensor_copy(struct tensor *to, const struct tensor *from, struct error *err);
void tensor_release(struct tensor *tensor);

/* Fails unless the payload is exactly `count` length-prefixed strings. */
int tensor_strings_check(const struct tensor *tensor, struct error *err);

/* Whether type, shape and payload bytes are the same: -0 and 0 differ, NaNs with the same bits are equal. */
bool tensor_identical(const struct tensor *a, const struct tensor *b);

long double tensor_get(const struct tensor *tensor, size_t index);
void tensor_set(struct tensor *tensor, size_t index, long double value);

/* Value lifecycle. value_set_tensor takes over the tensor's payload and leaves *tensor empty. */
void value_init(struct value *value);
void value_set_name(struct value *value, const char *name);
void value_set_tensor(struct value *value, struct tensor *tensor);
int value_copy(struct value *to, const struct value *from, struct error *err);
void value_release(struct value *value);
void values_free(struct value *values, size_t count);
size_t values_size(const struct value *values, size_t count);
/* bytes of their elements */ /* releases each, then frees the array */

/* A value that borrows name and tensor, for functions that only read: not to be released or changed. */
struct value value_view(const char *name, const struct tensor *tensor);

/* The value for the input at `position` of a graph: the one with its name, else the one at that position when
 * it has no name; NULL when there is neither. */
const struct value *value_for_input(const struct value *values, size_t count, const char *name,
                                    size_t position);

#ifdef __cplusplus
}
#endif
#endif
