#include "recorded/preprocessing.h"

#include <math.h>
#include <stdio.h>

enum { SCALARS = 3 };

/* The two ways in which images lie in memory: the axes of channels, rows and columns. -1: they are no image.
 */
struct image {
    int channel, row, column;
};

/* Images have 1, 3 or 4 channels, first or last. */
static bool image_of(const struct shape *shape, struct image *image)
{
    int rank = shape->rank;
    if (rank < 3 || rank > 4)
        return false;
    int64_t first = shape->dims[rank - 3], last = shape->dims[rank - 1];
    if (first == 3 || first == 1 || first == 4)
        *image = (struct image){rank - 3, rank - 2, rank - 1};
    else if (last == 3 || last == 1 || last == 4)
        *image = (struct image){rank - 1, rank - 3, rank - 2};
    else
        return false;
    return true;
}

typedef bool (*order_fn)(const struct shape *shape, int64_t at[TENSOR_MAX_RANK]);

/* Each says where the element at a place of the other run comes from; false: not of this shape. */
static bool in_order(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    (void)shape;
    (void)at;
    return true;
}

static bool turn_channels(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    struct image image;
    if (!image_of(shape, &image) || shape->dims[image.channel] < 3)
        return false;
    if (at[image.channel] < 3)
        at[image.channel] = 2 - at[image.channel];
    return true;
}

static bool swap_axes(const struct shape *shape, int64_t at[TENSOR_MAX_RANK], int a, int b)
{
    if (shape->dims[a] != shape->dims[b] || shape->dims[a] < 2)
        return false;
    int64_t kept = at[a];
    at[a] = at[b];
    at[b] = kept;
    return true;
}

static bool transpose(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    struct image image;
    if (image_of(shape, &image))
        return swap_axes(shape, at, image.row, image.column);
    return shape->rank >= 2 && swap_axes(shape, at, shape->rank - 2, shape->rank - 1);
}

static bool mirror(const struct shape *shape, int64_t at[TENSOR_MAX_RANK], int axis)
{
    at[axis] = shape->dims[axis] - 1 - at[axis];
    return shape->dims[axis] > 1;
}

static bool mirror_columns(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    struct image image;
    return image_of(shape, &image) && mirror(shape, at, image.column);
}

static bool mirror_rows(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    struct image image;
    return image_of(shape, &image) && mirror(shape, at, image.row);
}

static bool mirror_batch(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    return shape->rank >= 2 && mirror(shape, at, 0);
}

/* The place of the element with this number, in a tensor whose axes are those of `shape` in another order. */
static int64_t number_in(const struct shape *shape, const int64_t at[TENSOR_MAX_RANK], const int *axes,
                         int count)
{
    int64_t number = 0;
    for (int i = 0; i < count; i++)
        number = number * shape->dims[axes[i]] + at[axes[i]];
    return number;
}

static void place_of(const struct shape *shape, int64_t number, const int *axes, int count,
                     int64_t at[TENSOR_MAX_RANK])
{
    for (int i = count; i--;) {
        at[axes[i]] = number % shape->dims[axes[i]];
        number /= shape->dims[axes[i]];
    }
}

/* The axes of an image in the order of its shape, and in that of the other layout. */
static bool both_orders(const struct shape *shape, int own[3], int other[3])
{
    struct image image;
    if (!image_of(shape, &image) || shape->dims[image.channel] < 2)
        return false;
    bool first = image.channel == shape->rank - 3;
    for (int i = 0; i < 3; i++)
        own[i] = shape->rank - 3 + i;
    other[0] = first ? image.row : image.channel;
    other[1] = first ? image.column : image.row;
    other[2] = first ? image.channel : image.column;
    return true;
}

/* Bytes with the channels of each pixel side by side were read as if they were whole planes. */
static bool read_as_planes(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    int own[3], other[3];
    if (!both_orders(shape, own, other))
        return false;
    place_of(shape, number_in(shape, at, own, 3), other, 3, at);
    return true;
}

/* The other way round: planes were read as if channels lay side by side. */
static bool read_as_pixels(const struct shape *shape, int64_t at[TENSOR_MAX_RANK])
{
    int own[3], other[3];
    if (!both_orders(shape, own, other))
        return false;
    place_of(shape, number_in(shape, at, other, 3), own, 3, at);
    return true;
}

static const struct order {
    order_fn from;
    const char *text;
} orders[] = {
    {in_order, ""},
    {turn_channels, "with the colours in reverse order (BGR and RGB mixed up)"},
    {transpose, "with rows and columns exchanged (transposed)"},
    {read_as_planes, "as NHWC memory read as NCHW"},
    {read_as_pixels, "as NCHW memory read as NHWC"},
    {mirror_batch, "with the batch in reverse order"},
    {mirror_columns, "mirrored left to right"},
    {mirror_rows, "turned upside down"},
};

/* y = x * factor + offset, for each of three channels; where there is one channel, the last ones. */
static const struct scale {
    const char *text;
    double factor[SCALARS], offset[SCALARS];
    double grey_factor, grey_offset;
} scales[] = {
    {"", {1, 1, 1}, {0}, 1, 0},
    {"multiplied by 255", {255, 255, 255}, {0}, 255, 0},
    {"divided by 255", {1 / 255.0, 1 / 255.0, 1 / 255.0}, {0}, 1 / 255.0, 0},
    {"divided by 256", {1 / 256.0, 1 / 256.0, 1 / 256.0}, {0}, 1 / 256.0, 0},
    {"with mean and deviation taken out (ImageNet's, or MNIST's for one channel)",
     {1 / 0.229, 1 / 0.224, 1 / 0.225},
     {-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225},
     1 / 0.3081,
     -0.1307 / 0.3081},
    {"without taking out mean and deviation (ImageNet's, or MNIST's for one channel)",
     {0.229, 0.224, 0.225},
     {0.485, 0.456, 0.406},
     0.3081,
     0.1307},
    {"with the mean alone taken out (ImageNet's, or MNIST's for one channel)",
     {1, 1, 1},
     {-0.485, -0.456, -0.406},
     1,
     -0.1307},
    {"scaled from 0..1 to -1..1", {2, 2, 2}, {-1, -1, -1}, 2, -1},
    {"scaled from -1..1 to 0..1", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, 0.5, 0.5},
    {"scaled from 0..255 to -1..1", {1 / 127.5, 1 / 127.5, 1 / 127.5}, {-1, -1, -1}, 1 / 127.5, -1},
    {"scaled from -1..1 to 0..255", {127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}, 127.5, 127.5},
    {"subtracted from 1 (black and white exchanged)", {-1, -1, -1}, {1, 1, 1}, -1, 1},
};

size_t preprocessing_orders(void)
{
    return sizeof orders / sizeof *orders;
}

size_t preprocessing_scales(void)
{
    return sizeof scales / sizeof *scales;
}

void preprocessing_text(const struct preprocessing *mistake, char *text, size_t size)
{
    const char *order = orders[mistake->order].text, *scale = scales[mistake->scale].text;
    snprintf(text, size, "%s%s%s", order, *order && *scale ? ", and " : "", scale);
}

static double scaled(const struct scale *scale, double value, int64_t channel, int64_t channels)
{
    return channels == 3 ? value * scale->factor[channel] + scale->offset[channel]
                         : value * scale->grey_factor + scale->grey_offset;
}

static bool fits(const struct preprocessing *mistake, const struct tensor *data)
{
    int64_t at[TENSOR_MAX_RANK] = {0};
    if (!mistake->order && !mistake->scale)
        return false;
    if (!dtype_is_real(data->type) || data->count == 0 || (mistake->scale && !dtype_is_float(data->type)))
        return false;
    return orders[mistake->order].from(&data->shape, at);
}

bool preprocessing_apply(const struct preprocessing *mistake, const struct tensor *data, struct tensor *other)
{
    struct image image = {-1, -1, -1};
    bool is_image = image_of(&data->shape, &image);
    int axes[TENSOR_MAX_RANK], rank = data->shape.rank;
    if (!fits(mistake, data) || tensor_copy(other, data, NULL))
        return false;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    for (size_t i = 0; i < data->count; i++) {
        int64_t at[TENSOR_MAX_RANK] = {0}, from[TENSOR_MAX_RANK];
        place_of(&data->shape, (int64_t)i, axes, rank, at);
        for (int k = 0; k < TENSOR_MAX_RANK; k++)
            from[k] = at[k];
        orders[mistake->order].from(&data->shape, from);
        long double value = tensor_get(data, (size_t)number_in(&data->shape, from, axes, rank));
        if (mistake->scale)
            value = scaled(&scales[mistake->scale], (double)value, is_image ? at[image.channel] : 0,
                           is_image ? data->shape.dims[image.channel] : 1);
        tensor_set(other, i, value);
    }
    return true;
}
