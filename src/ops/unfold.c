/*
 * Windows put back into images: Col2Im adds the columns of all windows, MaxUnpool puts each maximum where it
 * was.
 */
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <stdlib.h>

/* The most places that one node looks at: about a second. */
enum { WORK_LIMIT = 1 << 27, IMAGE_MAX = TENSOR_MAX_RANK - 2, SIZE_LIMIT = 1 << 24 };

/* ---- Col2Im ---- */

struct columns {
    const struct bounded *x;
    int rank;
    struct shape image, block, windows;
    int64_t stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK], begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK];
    int64_t channels;
};

/* A list of `count` numbers of at least `least`, or `otherwise` for all of them. */
static int read_list(struct op_call *call, const char *name, int count, int64_t least, int64_t otherwise,
                     int64_t *values)
{
    size_t given;
    const int64_t *ints = call_ints(call, name, &given);
    if (ints && given != (size_t)count)
        return call_invalid(call, "%s has %zu values instead of %d", name, given, count);
    for (int i = 0; i < count; i++) {
        values[i] = ints ? ints[i] : otherwise;
        if (values[i] < least)
            return call_invalid(call, "%s has the value %" PRId64, name, values[i]);
        if (values[i] > SIZE_LIMIT)
            return call_unsupported(call, "%s has the value %" PRId64, name, values[i]);
    }
    return 0;
}

static int read_sizes(struct op_call *call, size_t index, struct shape *shape)
{
    size_t count;
    if (call_int_list(call, index, shape->dims, IMAGE_MAX, &count))
        return -1;
    shape->rank = (int)count;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 1 || shape->dims[i] > SIZE_LIMIT)
            return call_invalid(call, "size %" PRId64 " of input %zu is out of range", shape->dims[i], index);
    return 0;
}

static int read_windows(struct op_call *call, struct columns *c)
{
    int64_t pads[2 * TENSOR_MAX_RANK];
    if (read_list(call, "strides", c->rank, 1, 1, c->stride) ||
        read_list(call, "dilations", c->rank, 1, 1, c->dilation) ||
        read_list(call, "pads", 2 * c->rank, 0, 0, pads))
        return -1;
    c->windows.rank = c->rank;
    for (int i = 0; i < c->rank; i++) {
        c->begin[i] = pads[i];
        c->end[i] = pads[i + c->rank];
        int64_t span = c->dilation[i] * (c->block.dims[i] - 1) + 1;
        int64_t room = c->image.dims[i] + c->begin[i] + c->end[i] - span;
        if (room < 0)
            return call_invalid(call, "the block is larger than the padded image");
        c->windows.dims[i] = room / c->stride[i] + 1;
    }
    return 0;
}

/* The product of the sizes; -1 when it is larger than anything that fits into memory. */
static int64_t product(const struct shape *shape)
{
    int64_t value = 1;
    for (int i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(value, shape->dims[i], &value))
            return -1;
    return value;
}

static int take_columns(struct op_call *call, struct columns *c)
{
    c->x = call_need(call, 0);
    if (!c->x || read_sizes(call, 1, &c->image) || read_sizes(call, 2, &c->block))
        return -1;
    c->rank = c->image.rank;
    if (c->rank < 1 || c->block.rank != c->rank || c->x->shape.rank != 3)
        return call_invalid(call, "input, image_shape and block_shape do not fit together");
    if (read_windows(call, c))
        return -1;
    int64_t taps = product(&c->block);
    if (taps < 1 || c->x->shape.dims[1] % taps || product(&c->windows) != c->x->shape.dims[2])
        return call_invalid(call, "an input of %" PRId64 " times %" PRId64 " does not fit the blocks",
                            c->x->shape.dims[1], c->x->shape.dims[2]);
    c->channels = c->x->shape.dims[1] / taps;
    return 0;
}

/* The window that tap `tap` of has the pixel, in the column of windows; false: none does. */
static bool window_of(const struct columns *c, const int64_t *pixel, const int64_t *tap, size_t *column)
{
    *column = 0;
    for (int i = 0; i < c->rank; i++) {
        int64_t at = pixel[i] + c->begin[i] - tap[i] * c->dilation[i];
        if (at < 0 || at % c->stride[i] || at / c->stride[i] >= c->windows.dims[i])
            return false;
        *column = *column * (size_t)c->windows.dims[i] + (size_t)(at / c->stride[i]);
    }
    return true;
}

static void put_pixel(struct bounded *out, size_t at, const struct columns *c, size_t channel,
                      const int64_t *pixel)
{
    struct sum sum = {0};
    int64_t tap[TENSOR_MAX_RANK] = {0};
    size_t taps = (size_t)product(&c->block), windows = (size_t)c->x->shape.dims[2], column;
    for (size_t k = 0; k < taps; k++, odometer_next(tap, &c->block)) {
        if (!window_of(c, pixel, tap, &column))
            continue;
        size_t from = (channel * taps + k) * windows + column;
        sum_add(&sum, c->x->value[from], bounded_hard(c->x, from), bounded_likely(c->x, from));
    }
    double unit = dtype_is_float(out->type) ? unit_of(out->type) : 0;
    if (sum_overflows(&sum, out->type) && dtype_is_float(out->type))
        bounded_put_undecided(out, at, 0);
    else
        bounded_put(out, at, sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit));
}

static int eval_col2im(struct op_call *call)
{
    struct columns c = {0};
    if (take_columns(call, &c))
        return -1;
    struct shape shape = {.rank = c.rank + 2, .dims = {c.x->shape.dims[0], c.channels}};
    for (int i = 0; i < c.rank; i++)
        shape.dims[i + 2] = c.image.dims[i];
    struct bounded *out = call_output(call, 0, c.x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    if ((long double)out->count * (long double)product(&c.block) > WORK_LIMIT)
        return error_set(call->err, ERROR_LIMIT, "Col2Im: more places than the reference looks at");
    size_t pixels = (size_t)product(&c.image);
    int64_t pixel[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(pixel, &c.image)) {
        if (i % pixels == 0)
            for (int a = 0; a < c.rank; a++)
                pixel[a] = 0;
        put_pixel(out, i, &c, i / pixels, pixel);
    }
    return 0;
}

static int sample_col2im(struct draw *d)
{
    int64_t image[2], block[2], stride[2], dilation[2], pads[4], windows = 1;
    bool plain = draw_chance(d, 0.4);
    if (d->given)
        return -1;
    for (int i = 0; i < 2; i++) {
        block[i] = draw_between(d, 1, 3);
        dilation[i] = plain ? 1 : draw_between(d, 1, 2);
        stride[i] = plain ? 1 : draw_between(d, 1, 3);
        pads[i] = plain ? 0 : draw_between(d, 0, 2);
        pads[i + 2] = plain ? 0 : draw_between(d, 0, 2);
        int64_t span = dilation[i] * (block[i] - 1) + 1;
        image[i] = span + draw_between(d, 0, 5);
        windows *= (image[i] + pads[i] + pads[i + 2] - span) / stride[i] + 1;
    }
    struct shape shape = {3, {draw_between(d, 1, 2), draw_between(d, 1, 2) * block[0] * block[1], windows}};
    draw_data(d, d->type, &shape);
    draw_int_input(d, image, 2);
    draw_int_input(d, block, 2);
    if (!plain) {
        draw_ints(d, "strides", stride, 2);
        draw_ints(d, "dilations", dilation, 2);
        draw_ints(d, "pads", pads, 4);
    }
    return 0;
}

/* ---- MaxUnpool ---- */

static int unpool_shape(struct op_call *call, const struct shape *x, struct shape *shape)
{
    int64_t kernel[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], pads[2 * TENSOR_MAX_RANK];
    int rank = x->rank - 2;
    if (rank < 1)
        return call_invalid(call, "an input of rank %d has no spatial axes", x->rank);
    if (!call_has(call, "kernel_shape"))
        return call_invalid(call, "kernel_shape is missing");
    if (read_list(call, "kernel_shape", rank, 1, 1, kernel) ||
        read_list(call, "strides", rank, 1, 1, stride) || read_list(call, "pads", 2 * rank, 0, 0, pads))
        return -1;
    *shape = *x;
    for (int i = 0; i < rank; i++) {
        int64_t whole;
        if (__builtin_mul_overflow(x->dims[i + 2] - 1, stride[i], &whole))
            return call_unsupported(call, "strides are too large");
        shape->dims[i + 2] = whole + kernel[i] - pads[i] - pads[i + rank];
        if (shape->dims[i + 2] < 0)
            return call_invalid(call, "pads leave nothing of the output");
    }
    return 0;
}

/* A given shape: ONNX does not say whether indices count in it or in the one that follows from the window. */
static int unpool_given(struct op_call *call, struct shape *shape)
{
    struct shape wanted = *shape;
    size_t count;
    if (!call_input(call, 2))
        return 0;
    if (call_int_list(call, 2, wanted.dims, TENSOR_MAX_RANK, &count))
        return -1;
    if (count != (size_t)shape->rank || wanted.dims[0] != shape->dims[0] || wanted.dims[1] != shape->dims[1])
        return call_invalid(call, "output_shape does not fit the input");
    for (int i = 0; i < shape->rank; i++)
        if (wanted.dims[i] < shape->dims[i])
            return call_unsupported(call, "output_shape is smaller than the windows are");
    call->open |= !shape_equal(&wanted, shape);
    *shape = wanted;
    return 0;
}

static int eval_unpool(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *places = call_need(call, 1);
    struct shape shape;
    if (!x || !places || unpool_shape(call, &x->shape, &shape) || unpool_given(call, &shape))
        return -1;
    if (places->type != DTYPE_INT64 || !shape_equal(&places->shape, &x->shape))
        return call_invalid(call, "the indices are not int64 of the input's shape");
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    bool *taken = calloc(out->count ? out->count : 1, sizeof *taken);
    int result = taken ? 0 : error_set(call->err, ERROR_MEMORY, "no memory for %zu elements", out->count);
    for (size_t i = 0; !result && i < x->count; i++) {
        long double place = places->value[i];
        if (bounded_hard(places, i) > 0)
            result = call_unsupported(call, "an index is undecided");
        else if (!(place >= 0 && place < (long double)out->count))
            result = call_invalid(call, "index %.0Lf is out of range for %zu elements", place, out->count);
        if (result)
            break;
        /* Which of two that go to the same place stays is not specified. */
        if (taken[(size_t)place] && out->value[(size_t)place] != x->value[i])
            bounded_put_open(out, (size_t)place);
        else
            bounded_move(out, (size_t)place, x, i);
        taken[(size_t)place] = true;
    }
    free(taken);
    return result;
}

static int sample_unpool(struct draw *d)
{
    struct shape shape = {
        4, {draw_between(d, 1, 2), draw_between(d, 1, 2), draw_between(d, 1, 4), draw_between(d, 1, 4)}};
    int64_t size[2], kernel[2], stride[2];
    if (d->given)
        return -1;
    for (int i = 0; i < 2; i++) {
        kernel[i] = draw_between(d, 1, 3);
        stride[i] = draw_between(d, 1, kernel[i]);
        size[i] = (shape.dims[i + 2] - 1) * stride[i] + kernel[i];
    }
    size_t count = shape_span(&shape, 0, 4), inner = (size_t)(shape.dims[2] * shape.dims[3]);
    int64_t *places = arena_array(d->arena, count, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        /* The corner of a window: no other window has it for its own. */
        int64_t row = (int64_t)(i % inner) / shape.dims[3] * stride[0];
        int64_t column = (int64_t)(i % inner) % shape.dims[3] * stride[1];
        places[i] = ((int64_t)(i / inner) * size[0] + row) * size[1] + column;
    }
    draw_data(d, d->type, &shape);
    draw_int_typed(d, DTYPE_INT64, &shape, places);
    draw_ints(d, "kernel_shape", kernel, 2);
    draw_ints(d, "strides", stride, 2);
    return 0;
}

static const struct op_param columns_params[] = {
    {"dilations", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"pads", PARAM_INTS, .legal = "0|1", .illegal = "-1", .initial = "0"},
    {"strides", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"image_shape", PARAM_INPUT, .input = 1, .legal = "3,3|4,5", .illegal = "-1,2|0,0"},
    {"block_shape", PARAM_INPUT, .input = 2, .legal = "1,1|2,2", .illegal = "-1,2|0,0"},
    {0}};
static const struct op_param unpool_params[] = {
    {"kernel_shape", PARAM_INTS, .illegal = "0|-1"},
    {"pads", PARAM_INTS, .legal = "0", .illegal = "-1", .initial = "0"},
    {"strides", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"I", PARAM_INPUT, .input = 1, .legal = "0|1", .illegal = "-1|1000000"},
    {0}};

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

const struct op ops_unfold[] = {
    {OP("Col2Im", 18), .flags = OP_ON_REQUEST, .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {3, 3},
     .types = {{18, DTYPES_NUMBER}}, .params = columns_params, .eval = eval_col2im, .sample = sample_col2im,
     .data = DATA_FIRST, .range = {RANGE_REDUCE}, .factors = {FACTORS_PRODUCT, .powers = {1}},
     .result = RESULT_TYPE, .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_INNER, .power = 1}}},
    {OP("MaxUnpool", 9), .flags = OP_ON_REQUEST, .inputs = {2, 3}, .outputs = {1, 1}, .ranks = {4, 4},
     .types = {{9, BASE}, {22, DTYPES_FLOAT}}, .params = unpool_params, .eval = eval_unpool,
     .sample = sample_unpool, .data = DATA_FIRST, .range = {RANGE_MOVE},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .history = {.same_since = 9}, .result = RESULT_TYPE,
     .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}},
     .open = "elements that share a place, or places in a given output_shape"},
    {0},
};
