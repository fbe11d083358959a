#include "rules/window.h"

#include "base/str.h"

#include <math.h>

/* Larger sizes make no sense, and products of two of them stay far from overflow. */
static const int64_t largest_size = INT64_C(1) << 20, largest_image = INT64_C(1) << 27;

static bool read_sizes(const Onnx__NodeProto *node, const char *name, int expected, int64_t least,
                       int64_t *sizes)
{
    const int64_t *values;
    size_t count;
    if (!node_ints(node, name, &values, &count) || count == 0)
        return true;
    if (count != (size_t)expected)
        return false;
    for (int i = 0; i < expected; i++) {
        if (values[i] < least || values[i] > largest_size)
            return false;
        sizes[i] = values[i];
    }
    return true;
}

/* The kernel is that of the weights, or the attribute that pools must have. */
static bool read_kernel(const struct rewrite *rewrite, const Onnx__NodeProto *node, bool pool,
                        struct rule_window *w)
{
    const struct bounded *weights = pool ? NULL : rewrite_input(rewrite, node, 1);
    if (!pool && (!weights || weights->shape.rank != w->axes + 2))
        return false;
    for (int i = 0; i < w->axes; i++)
        w->kernel[i] = weights ? weights->shape.dims[i + 2] : 0;
    if (pool && !read_sizes(node, "kernel_shape", w->axes, 1, w->kernel))
        return false;
    w->taps = 1;
    for (int i = 0; i < w->axes; i++) {
        if (w->kernel[i] < 1 || w->kernel[i] > largest_size || w->taps > largest_size)
            return false;
        w->taps *= w->kernel[i];
    }
    return true;
}

static bool read_attributes(const struct rewrite *rewrite, const Onnx__NodeProto *node, bool pool,
                            struct rule_window *w)
{
    int64_t pads[2 * WINDOW_AXES] = {0};
    for (int i = 0; i < w->axes; i++)
        w->stride[i] = w->dilation[i] = 1;
    if (!read_kernel(rewrite, node, pool, w) || !read_sizes(node, "strides", w->axes, 1, w->stride) ||
        !read_sizes(node, "dilations", w->axes, 1, w->dilation) ||
        !read_sizes(node, "pads", 2 * w->axes, 0, pads))
        return false;
    for (int i = 0; i < w->axes; i++) {
        w->begin[i] = w->automatic ? 0 : pads[i];
        w->end[i] = w->automatic ? 0 : pads[w->axes + i];
    }
    w->ceil = pool && node_int(node, "ceil_mode", 0) != 0;
    w->groups = pool ? 1 : node_int(node, "group", 1);
    return w->groups >= 1 && w->groups <= largest_size;
}

int64_t window_extent(const struct rule_window *w, int axis)
{
    return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

static int64_t padded_size(const struct rule_window *w, int axis)
{
    return w->in[axis] + w->begin[axis] + w->end[axis];
}

/* As ONNX defines it, the output has ceil(input / stride) places, and the odd one goes behind with
 * SAME_UPPER. */
static void pad_same(struct rule_window *w, int i, bool upper)
{
    w->out[i] = (w->in[i] + w->stride[i] - 1) / w->stride[i];
    int64_t total = (w->out[i] - 1) * w->stride[i] + window_extent(w, i) - w->in[i];
    w->gaps |= total < 0;
    total = total > 0 ? total : 0;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
}

static bool place(struct rule_window *w, int i)
{
    int64_t room = w->in[i] + w->begin[i] + w->end[i] - window_extent(w, i);
    if (room < 0)
        return false;
    w->out[i] = (room + (w->ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if ((w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i] && w->ceil) {
        w->disputed = true;
        w->out[i]--;
    }
    return w->out[i] > 0;
}

/* ONNX does not say how pools place windows that are dilated or leave gaps when auto_pad is SAME. */
static bool is_defined(const struct rule_window *w, bool pool)
{
    if (!w->same || !pool)
        return true;
    for (int i = 0; i < w->axes; i++)
        if (w->dilation[i] != 1)
            return false;
    return !w->gaps;
}

bool window_read(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_window *w)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    const char *auto_pad = rewrite_string(rewrite, node, "auto_pad", "NOTSET");
    bool upper = text_equal(auto_pad, "SAME_UPPER"), valid = text_equal(auto_pad, "VALID");
    bool pool = !text_equal(node->op_type, "Conv") && !text_equal(node->op_type, "ConvInteger");
    if (!x || x->shape.rank < 3 || x->shape.rank > 2 + WINDOW_AXES || x->count == 0)
        return false;
    *w = (struct rule_window){.axes = x->shape.rank - 2,
                              .same = upper || text_equal(auto_pad, "SAME_LOWER"),
                              .automatic = !text_equal(auto_pad, "NOTSET")};
    int64_t image = 1;
    if (w->automatic && !w->same && !valid)
        return false;
    if (!read_attributes(rewrite, node, pool, w))
        return false;
    /* Engines differ in whether auto_pad heeds ceil_mode. */
    if (w->ceil && w->automatic)
        return false;
    for (int i = 0; i < w->axes; i++) {
        w->in[i] = x->shape.dims[i + 2];
        if (w->in[i] > largest_size || window_extent(w, i) > largest_size)
            return false;
        if (w->same)
            pad_same(w, i, upper);
        else if (!place(w, i))
            return false;
        image *= padded_size(w, i);
        if (image > largest_image)
            return false;
    }
    return is_defined(w, pool);
}

/* How many of the places start + k * dilation, 0 <= k < kernel, are in [low, high). */
static int64_t places_between(const struct rule_window *w, int axis, int64_t start, int64_t low, int64_t high)
{
    int64_t count = 0;
    for (int64_t k = 0; k < w->kernel[axis]; k++) {
        int64_t at = start + k * w->dilation[axis];
        count += at >= low && at < high;
    }
    return count;
}

int64_t window_inside(const struct rule_window *w, int axis, int64_t position, bool padded)
{
    int64_t start = position * w->stride[axis] - w->begin[axis];
    if (padded)
        return places_between(w, axis, start, -w->begin[axis], w->in[axis] + w->end[axis]);
    return places_between(w, axis, start, 0, w->in[axis]);
}

bool window_never_outside(const struct rule_window *w)
{
    for (int i = 0; i < w->axes; i++) {
        /* Windows far from the ends are inside anyway; this bounds the work for hostile sizes. */
        if (w->kernel[i] > 1000 || w->out[i] > 100000)
            return false;
        for (int64_t k = 0; k < w->out[i]; k++)
            if (window_inside(w, i, k, false) < 1)
                return false;
    }
    return true;
}

const char *window_pad(struct rewrite *rewrite, const char *value, const struct rule_window *w,
                       const char *fill)
{
    int64_t pads[2 * (WINDOW_AXES + 2)] = {0}, total = 0;
    int rank = w->axes + 2;
    for (int i = 0; i < w->axes; i++) {
        pads[i + 2] = w->begin[i];
        pads[rank + i + 2] = w->end[i];
        total += w->begin[i] + w->end[i];
    }
    if (total == 0)
        return value;
    return rewrite_op(rewrite, "Pad", NULL, value, rewrite_ints(rewrite, pads, 2 * (size_t)rank), fill, NULL);
}

const char *window_fill(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct rule_window *w)
{
    enum dtype type = rewrite_input(rewrite, node, 0)->type;
    if (text_equal(node->op_type, "MaxPool"))
        return rewrite_scalar(rewrite, type, 0, dtype_is_float(type) ? -INFINITY : dtype_lowest(type));
    if (text_equal(node->op_type, "AveragePool") && (node_int(node, "count_include_pad", 0) != 1 || w->ceil))
        return NULL;
    if (!text_equal(node->op_type, "ConvInteger") || !rewrite_has_input(node, 2))
        return rewrite_scalar(rewrite, type, 0, 0);
    const struct bounded *zero = rewrite_input(rewrite, node, 2);
    struct shape scalar = {.rank = 0};
    if (!zero || zero->count != 1)
        return NULL;
    return zero->shape.rank == 0 ? node->input[2] : rewrite_reshape(rewrite, node->input[2], &scalar);
}

struct rule_window window_cover(const struct rule_window *w)
{
    struct rule_window cover = *w;
    for (int i = 0; i < w->axes; i++) {
        int64_t end = (w->out[i] - 1) * w->stride[i] + window_extent(w, i) - w->in[i] - w->begin[i];
        cover.end[i] = end > w->end[i] ? end : w->end[i];
    }
    return cover;
}

/* The place of a tap along each axis. */
static void tap_place(const struct rule_window *w, int64_t tap, int64_t *place)
{
    for (int i = w->axes - 1; i >= 0; i--) {
        place[i] = tap % w->kernel[i];
        tap /= w->kernel[i];
    }
}

const char *window_tap(struct rewrite *rewrite, const char *padded, const struct rule_window *w, int64_t tap)
{
    int64_t from[WINDOW_AXES], to[WINDOW_AXES], axes[WINDOW_AXES];
    tap_place(w, tap, from);
    for (int i = 0; i < w->axes; i++) {
        from[i] *= w->dilation[i];
        to[i] = from[i] + (w->out[i] - 1) * w->stride[i] + 1;
        axes[i] = i + 2;
    }
    size_t count = (size_t)w->axes;
    const char *first = rewrite_ints(rewrite, from, count), *last = rewrite_ints(rewrite, to, count),
               *along = rewrite_ints(rewrite, axes, count), *steps = rewrite_ints(rewrite, w->stride, count);
    return rewrite_op(rewrite, "Slice", NULL, padded, first, last, along, steps, NULL);
}

/* Where in a padded image the elements of all windows are, [taps, places]. */
static const char *window_indices(struct rewrite *rewrite, const struct rule_window *w, int64_t places)
{
    struct tensor table;
    struct shape shape = shape_make(2, (const int64_t[]){w->taps, places});
    if (tensor_alloc(&table, DTYPE_INT64, &shape, 0, NULL))
        return NULL;
    int64_t *at = table.data;
    for (int64_t tap = 0; tap < w->taps; tap++)
        for (int64_t place = 0; place < places; place++, at++) {
            int64_t of_tap[WINDOW_AXES], rest = place, step = 1;
            tap_place(w, tap, of_tap);
            for (int i = w->axes - 1; i >= 0; i--) {
                *at += (rest % w->out[i] * w->stride[i] + of_tap[i] * w->dilation[i]) * step;
                rest /= w->out[i];
                step *= padded_size(w, i);
            }
        }
    const char *name = rewrite_tensor(rewrite, &table);
    tensor_release(&table);
    return name;
}

/* Limits of what is written out. */
enum { SLICES_MAX = 32, PLACES_MAX = 1 << 17, UNFOLDED_MAX = 1 << 22 };

static const char *unfold_by_gather(struct rewrite *rewrite, const char *padded, const struct bounded *x,
                                    const struct rule_window *w, int64_t places)
{
    struct shape flat = shape_make(3, (const int64_t[]){x->shape.dims[0], x->shape.dims[1], 1});
    const char *indices = window_indices(rewrite, w, places);
    Onnx__NodeProto *node;
    if (!indices)
        return NULL;
    for (int i = 0; i < w->axes; i++)
        flat.dims[2] *= padded_size(w, i);
    const char *row = rewrite_reshape(rewrite, padded, &flat);
    const char *result = rewrite_op(rewrite, "Gather", &node, row, indices, NULL);
    node_set_int(&rewrite->model->arena, node, "axis", 2);
    return result;
}

const char *window_unfold(struct rewrite *rewrite, const char *padded, const struct bounded *x,
                          const struct rule_window *w)
{
    int64_t places = 1;
    const char *taps[SLICES_MAX];
    for (int i = 0; i < w->axes; i++)
        if (padded_size(w, i) > PLACES_MAX || (places *= w->out[i]) > PLACES_MAX)
            return NULL;
    if (w->taps > PLACES_MAX / places ||
        x->shape.dims[0] * x->shape.dims[1] > UNFOLDED_MAX / (places * w->taps))
        return NULL;
    if (w->taps > SLICES_MAX || rng_below(&rewrite->rng, 2) == 0)
        return unfold_by_gather(rewrite, padded, x, w, places);
    struct shape flat = shape_make(4, (const int64_t[]){x->shape.dims[0], x->shape.dims[1], w->taps, places});
    for (int64_t tap = 0; tap < w->taps; tap++)
        taps[tap] = rewrite_unsqueeze(rewrite, window_tap(rewrite, padded, w, tap), 2);
    return rewrite_reshape(rewrite, rewrite_concat(rewrite, 2, taps, (size_t)w->taps), &flat);
}

const char *window_stuff(struct rewrite *rewrite, const char *value, enum dtype type, struct shape *shape,
                         int axis, int64_t distance)
{
    int64_t pads[2 * (TENSOR_MAX_RANK + 1)] = {0}, size = shape->dims[axis];
    size_t rank = (size_t)shape->rank + 1;
    pads[rank + (size_t)axis + 1] = distance - 1;
    const char *apart = rewrite_unsqueeze(rewrite, value, axis + 1);
    const char *zero = rewrite_scalar(rewrite, type, 0, 0);
    const char *amounts = rewrite_ints(rewrite, pads, 2 * rank);
    const char *padded = rewrite_op(rewrite, "Pad", NULL, apart, amounts, zero, NULL);
    shape->dims[axis] = size * distance;
    const char *joined = rewrite_reshape(rewrite, padded, shape);
    shape->dims[axis] = (size - 1) * distance + 1;
    return rewrite_slice(rewrite, joined, axis, 0, shape->dims[axis]);
}

/*
 * Padding from a given size of the output: the odd one goes behind with SAME_UPPER. An output larger than the
 * data gives would need negative padding, and how it is halved is not defined.
 */
static bool pads_for(struct rule_deconvolution *d, int i, int64_t full, bool upper)
{
    int64_t total = full - d->out[i];
    if (total < 0)
        return false;
    d->begin[i] = upper ? total / 2 : total - total / 2;
    d->end[i] = total - d->begin[i];
    return true;
}

static bool place_deconvolution(struct rule_deconvolution *d, int i, bool same, bool upper, bool shaped)
{
    int64_t extent = (d->kernel[i] - 1) * d->dilation[i] + 1;
    int64_t most = d->stride[i] > d->dilation[i] ? d->stride[i] : d->dilation[i];
    int64_t full = (d->in[i] - 1) * d->stride[i] + d->extra[i] + extent;
    if (d->in[i] > largest_size || extent > largest_size || d->extra[i] >= most || full > largest_size)
        return false;
    if (same && !shaped)
        d->out[i] = d->in[i] * d->stride[i];
    if (same && !shaped && d->extra[i] > 0)
        return false;
    if (same || shaped)
        return pads_for(d, i, full, upper) && d->out[i] > 0;
    d->out[i] = full - d->begin[i] - d->end[i];
    return d->out[i] > 0;
}

static bool read_deconvolution(const struct rewrite *rewrite, const Onnx__NodeProto *node,
                               struct rule_deconvolution *d)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0), *weights = rewrite_input(rewrite, node, 1);
    int64_t pads[2 * WINDOW_AXES] = {0};
    if (!x || !weights || x->shape.rank < 3 || x->shape.rank > 2 + WINDOW_AXES || x->count == 0 ||
        weights->shape.rank != x->shape.rank)
        return false;
    *d = (struct rule_deconvolution){.axes = x->shape.rank - 2, .groups = node_int(node, "group", 1)};
    for (int i = 0; i < d->axes; i++) {
        d->in[i] = x->shape.dims[i + 2];
        d->kernel[i] = weights->shape.dims[i + 2];
        d->stride[i] = d->dilation[i] = 1;
        if (d->kernel[i] < 1 || d->kernel[i] > largest_size)
            return false;
    }
    if (!read_sizes(node, "strides", d->axes, 1, d->stride) ||
        !read_sizes(node, "dilations", d->axes, 1, d->dilation) ||
        !read_sizes(node, "output_padding", d->axes, 0, d->extra) ||
        !read_sizes(node, "output_shape", d->axes, 1, d->out) ||
        !read_sizes(node, "pads", 2 * d->axes, 0, pads))
        return false;
    for (int i = 0; i < d->axes; i++) {
        d->begin[i] = pads[i];
        d->end[i] = pads[d->axes + i];
    }
    return d->groups >= 1 && x->shape.dims[1] % d->groups == 0 && weights->shape.dims[0] == x->shape.dims[1];
}

bool deconvolution_read(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_deconvolution *d)
{
    const char *auto_pad = rewrite_string(rewrite, node, "auto_pad", "NOTSET");
    bool upper = text_equal(auto_pad, "SAME_UPPER"), same = upper || text_equal(auto_pad, "SAME_LOWER");
    bool valid = text_equal(auto_pad, "VALID"), unset = text_equal(auto_pad, "NOTSET");
    if (rewrite_opset(rewrite) < 11 || !read_deconvolution(rewrite, node, d) || (!same && !valid && !unset))
        return false;
    bool shaped = d->out[0] > 0;
    if (shaped && valid)
        return false;
    d->automatic = shaped || !unset;
    for (int i = 0; i < d->axes; i++) {
        if (valid)
            d->begin[i] = d->end[i] = 0;
        if (!place_deconvolution(d, i, same, upper, shaped))
            return false;
    }
    return true;
}
