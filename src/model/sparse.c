/* Sparse tensors as dense ones and back (model_sparse_read and _write of model.h). */
#include "model/model.h"

#include <string.h>

/* The largest dense size: a few bytes of indices can declare any shape. */
#define SPARSE_LIMIT ((size_t)1 << 30)

static int dense_shape(const Onnx__SparseTensorProto *sparse, struct shape *shape, struct error *err)
{
    if (sparse->n_dims > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "a sparse tensor has rank %zu, which is not supported",
                         sparse->n_dims);
    *shape = shape_make((int)sparse->n_dims, sparse->dims);
    return 0;
}

/* The position of value i: its index is one linear number, or one number per dimension. */
static int place(const struct tensor *indices, size_t i, const struct shape *shape, size_t count, size_t *at)
{
    const int64_t *rows = indices->data;
    int64_t linear = 0;
    if (indices->shape.rank == 1) {
        linear = rows[i];
    } else {
        for (int k = 0; k < shape->rank; k++) {
            int64_t index = rows[i * (size_t)shape->rank + (size_t)k];
            if (index < 0 || index >= shape->dims[k])
                return -1;
            linear = linear * shape->dims[k] + index;
        }
    }
    if (linear < 0 || (size_t)linear >= count)
        return -1;
    *at = (size_t)linear;
    return 0;
}

static int fill(struct tensor *dense, const struct tensor *values, const struct tensor *indices,
                struct error *err)
{
    size_t item = dtype_size(values->type);
    int columns = indices->shape.rank == 1 ? 1 : dense->shape.rank;
    if (!item || indices->type != DTYPE_INT64 || indices->count != values->count * (size_t)columns)
        return error_set(err, ERROR_FORMAT, "the indices of a sparse tensor do not fit its values");
    for (size_t i = 0; i < values->count; i++) {
        size_t at;
        if (place(indices, i, &dense->shape, dense->count, &at))
            return error_set(err, ERROR_FORMAT, "index %zu of a sparse tensor is outside its shape", i);
        memcpy((char *)dense->data + at * item, (const char *)values->data + i * item, item);
    }
    return 0;
}

int model_sparse_read(const Onnx__SparseTensorProto *sparse, struct tensor *dense, struct error *err)
{
    struct tensor values, indices;
    struct shape shape;
    tensor_init(dense);
    tensor_init(&indices);
    if (!sparse->values || !sparse->indices)
        return error_set(err, ERROR_FORMAT, "a sparse tensor has no values or no indices");
    if (dense_shape(sparse, &shape, err) || model_tensor_read(sparse->values, &values, err))
        return -1;
    int result = model_tensor_read(sparse->indices, &indices, err) ||
                 tensor_alloc(dense, values.type, &shape, SPARSE_LIMIT, err) ||
                 fill(dense, &values, &indices, err);
    tensor_release(&values);
    tensor_release(&indices);
    if (result)
        tensor_release(dense);
    return result ? -1 : 0;
}

static bool is_zero(const struct tensor *dense, size_t at)
{
    size_t item = dtype_size(dense->type);
    const uint8_t *bytes = (const uint8_t *)dense->data + at * item;
    for (size_t i = 0; i < item; i++)
        if (bytes[i])
            return false;
    return true;
}

static void put_index(int64_t *index, size_t at, const struct shape *shape)
{
    int64_t rest = (int64_t)at;
    for (int k = shape->rank; k-- > 0;) {
        index[k] = rest % shape->dims[k];
        rest /= shape->dims[k];
    }
}

Onnx__SparseTensorProto *model_sparse_write(struct arena *arena, const char *name, const struct tensor *dense,
                                            bool linear)
{
    size_t item = dtype_size(dense->type), kept = 0, columns = linear ? 1 : (size_t)dense->shape.rank;
    if (!item || !dense->count || dense->shape.rank == 0)
        return NULL;
    struct tensor values = {.type = dense->type, .data = arena_alloc(arena, dense->size)};
    struct tensor indices = {.type = DTYPE_INT64,
                             .data = arena_array(arena, dense->count, columns * sizeof(int64_t))};
    for (size_t i = 0; i < dense->count; i++) {
        int64_t *index = (int64_t *)indices.data + kept * columns;
        if (is_zero(dense, i))
            continue;
        memcpy((char *)values.data + kept++ * item, (const char *)dense->data + i * item, item);
        if (linear)
            *index = (int64_t)i;
        else
            put_index(index, i, &dense->shape);
    }
    values.shape = shape_make(1, (const int64_t[]){(int64_t)kept});
    indices.shape = shape_make(linear ? 1 : 2, (const int64_t[]){(int64_t)kept, (int64_t)columns});
    values.size = kept * item;
    indices.size = kept * columns * sizeof(int64_t);
    Onnx__SparseTensorProto *sparse = arena_alloc(arena, sizeof *sparse);
    onnx__sparse_tensor_proto__init(sparse);
    sparse->values = model_tensor_write(arena, name, &values);
    sparse->indices = model_tensor_write(arena, "", &indices);
    sparse->n_dims = (size_t)dense->shape.rank;
    sparse->dims = arena_copy(arena, dense->shape.dims, sparse->n_dims * sizeof *sparse->dims);
    return sparse;
}
