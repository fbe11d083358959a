#include "case/idx.h"

#include "base/file.h"

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int idx_read(const char *path, struct tensor *tensor, struct error *err)
{
    struct file_map map;
    if (file_map_open(&map, path, err))
        return -1;
    int status = -1;
    struct shape shape = {.rank = map.size >= 4 ? map.data[3] : 0};
    size_t header = 4 + 4 * (size_t)shape.rank, count = 0;
    if (map.size < 4 || map.data[0] || map.data[1] || shape.rank < 1 || shape.rank > TENSOR_MAX_RANK ||
        map.size < header) {
        error_set(err, ERROR_FORMAT, "%s is not an IDX file", path);
        goto out;
    }
    if (map.data[2] != 8) {
        error_set(err, ERROR_UNSUPPORTED,
                  "%s: only IDX files of unsigned bytes (type 8) can be read; this one has type %d", path,
                  map.data[2]);
        goto out;
    }
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = big_endian(map.data + 4 + 4 * i);
    if (shape_count(&shape, &count, err) || count != map.size - header) {
        error_set(err, ERROR_FORMAT, "%s: its length is not what the sizes in its header make it", path);
        goto out;
    }
    status = tensor_from_bytes(tensor, DTYPE_UINT8, &shape, map.data + header, count, err);
out:
    file_map_close(&map);
    return status;
}

/* The shape the model declares, for all samples, when it has as many elements. */
static struct shape shape_like(const struct shape *is, const struct shape *like)
{
    struct shape shape = *like;
    size_t wanted = 1, given = 1;
    for (int i = 1; i < like->rank; i++)
        wanted *= (size_t)like->dims[i];
    for (int i = 1; i < is->rank; i++)
        given *= (size_t)is->dims[i];
    if (like->rank < 1 || wanted != given)
        return *is;
    shape.dims[0] = is->dims[0];
    return shape;
}

int idx_images(const char *path, bool floats, const struct shape *like, struct tensor *tensor,
               struct error *err)
{
    struct tensor bytes;
    if (idx_read(path, &bytes, err))
        return -1;
    struct shape shape = shape_like(&bytes.shape, like);
    int status = 0;
    if (floats) {
        status = tensor_alloc(tensor, DTYPE_FLOAT, &shape, 0, err);
        const uint8_t *from = bytes.data;
        float *to = tensor->data;
        for (size_t i = 0; status == 0 && i < bytes.count; i++)
            to[i] = (float)from[i] / 255.0f;
        tensor_release(&bytes);
    } else {
        *tensor = bytes;
        tensor->shape = shape;
    }
    return status;
}
