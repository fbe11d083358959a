/* Resize and GridSample: the combinations that the library has kernels for. */
#include "emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct resizing {
    int spatial; /* dims, from axis 2 on */
    int64_t size[3];
    double scale[3];
    bool scales; /* given, rather than sizes */
};

static int read_scales(struct emit *e, size_t input, double *scale, int rank, size_t n_axes,
                       const int64_t *axes)
{
    struct tensor tensor;
    if (emit_read(e, input, &tensor) < 0)
        return -1;
    bool fits = tensor.count == n_axes && n_axes <= (size_t)rank;
    for (size_t i = 0; fits && i < n_axes; i++)
        scale[axes[i]] = (double)tensor_get(&tensor, i);
    tensor_release(&tensor);
    return fits ? 0 : emit_invalid(e, "scales do not fit the axes");
}

/* Sizes of all dims, and the scales where they are given. */
static int read_target(struct emit *e, int64_t *size, double *scale, bool *scales)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t axes[TENSOR_MAX_RANK], given[TENSOR_MAX_RANK];
    size_t n_axes = 0, count, at_scales = e->opset < 11 ? 1 : 2;
    if (emit_axes(e, 0, x->rank, axes, &n_axes) < 0)
        return -1;
    const int64_t *raw;
    if (node_ints(e->node, "axes", &raw, &count)) /* in the order in which scales and sizes are */
        for (size_t i = 0; i < count; i++)
            axes[i] = raw[i] < 0 ? raw[i] + x->rank : raw[i];
    for (; n_axes < (size_t)x->rank && !node_attribute(e->node, "axes"); n_axes++)
        axes[n_axes] = (int64_t)n_axes;
    for (int i = 0; i < x->rank; i++) {
        size[i] = x->dims[i];
        scale[i] = 1;
    }
    *scales = emit_has(e, at_scales) &&
              !(emit_shape(e, at_scales)->rank == 1 && emit_shape(e, at_scales)->dims[0] == 0);
    if (!*scales) {
        if (emit_list(e, 3, given, TENSOR_MAX_RANK, &count) < 0)
            return -1;
        if (count != n_axes)
            return emit_invalid(e, "%zu sizes", count);
        for (size_t i = 0; i < count; i++)
            size[axes[i]] = given[i];
        return 0;
    }
    if (read_scales(e, at_scales, scale, x->rank, n_axes, axes) < 0)
        return -1;
    for (int i = 0; i < x->rank; i++) {
        double wanted = floor((double)x->dims[i] * scale[i]);
        if (!(wanted >= 1 && wanted < 1 << 20))
            return emit_unsupported(e, "a result of %g", wanted);
        size[i] = (int64_t)wanted;
    }
    return 0;
}

static int read_resizing(struct emit *e, struct resizing *r)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t size[TENSOR_MAX_RANK];
    double scale[TENSOR_MAX_RANK];
    r->spatial = x->rank - 2;
    if (r->spatial < 1 || r->spatial > 3)
        return emit_unsupported(e, "rank %d", x->rank);
    if (emit_attr(e, "antialias", 0) != 0 || emit_attr(e, "exclude_outside", 0) != 0 ||
        !emit_word(e, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return emit_unsupported(e, "antialias, exclude_outside or an aspect ratio policy");
    if (read_target(e, size, scale, &r->scales) < 0)
        return -1;
    if (size[0] != x->dims[0] || size[1] != x->dims[1] || scale[0] != 1 || scale[1] != 1)
        return emit_unsupported(e, "batch or channels resized");
    memcpy(r->size, size + 2, (size_t)r->spatial * sizeof *size);
    memcpy(r->scale, scale + 2, (size_t)r->spatial * sizeof *scale);
    return 0;
}

static int upsample(struct emit *e, const struct resizing *r, const char *function, const char *corners)
{
    struct str scales;
    str_init(&scales);
    for (int i = 0; i < r->spatial; i++)
        str_printf(&scales, ", %s", r->scales ? emit_float(e, r->scale[i]) : "None");
    emit_out(e, 0, "torch.%s(%s, %s%s%s)", function, emit_in(e, 0), emit_ints(e, r->size, (size_t)r->spatial),
             corners, scales.data);
    str_release(&scales);
    return 0;
}

static bool transforms(const struct emit *e, const char *word)
{
    return emit_word(e, "coordinate_transformation_mode", word, e->opset < 11 ? "asymmetric" : "half_pixel");
}

static int nearest(struct emit *e, const struct resizing *r)
{
    const char *rounding = e->opset < 11 ? "floor" : "round_prefer_floor";
    if (transforms(e, "asymmetric") && emit_word(e, "nearest_mode", "floor", rounding))
        return upsample(e, r, emit_text(e, "upsample_nearest%dd", r->spatial), "");
    if (transforms(e, "half_pixel") && emit_word(e, "nearest_mode", "round_prefer_ceil", rounding))
        return upsample(e, r, emit_text(e, "_upsample_nearest_exact%dd", r->spatial), "");
    return emit_unsupported(e, "this nearest_mode and coordinate transformation");
}

/* Half pixels, or aligned corners; a result of size 1 is what the texts differ about. */
static int smooth(struct emit *e, const struct resizing *r, const char *function)
{
    bool half = transforms(e, "half_pixel"), corners = transforms(e, "align_corners");
    bool pytorch = transforms(e, "pytorch_half_pixel");
    for (int i = 0; i < r->spatial && !half; i++)
        if (r->size[i] == 1)
            return emit_unsupported(e, "one element in this coordinate transformation");
    /* Whether the corners are those of the result or of its length before rounding is disputed. */
    for (int i = 0; i < r->spatial && corners && r->scales; i++)
        if ((double)emit_shape(e, 0)->dims[i + 2] * r->scale[i] != (double)r->size[i])
            return emit_unsupported(e, "align_corners with a scale that gives no whole number");
    if (!half && !corners && !pytorch)
        return emit_unsupported(e, "this coordinate transformation");
    return upsample(e, r, function, corners ? ", True" : ", False");
}

static int write_resize(struct emit *e)
{
    static const char *const linear[] = {"upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"};
    struct resizing r;
    if (read_resizing(e, &r) < 0)
        return -1;
    if (emit_word(e, "mode", "nearest", "nearest"))
        return nearest(e, &r);
    if (emit_word(e, "mode", "linear", "nearest"))
        return smooth(e, &r, linear[r.spatial - 1]);
    if (!emit_word(e, "mode", "cubic", "nearest"))
        return emit_invalid(e, "an unknown mode");
    if (r.spatial != 2 ||
        (node_attribute(e->node, "cubic_coeff_a") && node_float(e->node, "cubic_coeff_a", -0.75F) != -0.75F))
        return emit_unsupported(e, "cubic but in two dims with a of -0.75");
    return smooth(e, &r, "upsample_bicubic2d");
}

static int write_grid_sample(struct emit *e)
{
    int mode = emit_word(e, "mode", "nearest", "linear")                                              ? 1
               : emit_word(e, "mode", "cubic", "linear") || emit_word(e, "mode", "bicubic", "linear") ? 2
                                                                                                      : 0;
    int padding = emit_word(e, "padding_mode", "border", "zeros")       ? 1
                  : emit_word(e, "padding_mode", "reflection", "zeros") ? 2
                                                                        : 0;
    /* Before 1.8 the number is not refused, and the output is left as it was allocated. */
    if (mode == 2 && face_is_before(1, 8))
        return emit_unsupported(e, "cubic before 1.8");
    if (mode == 2 && emit_shape(e, 0)->rank != 4)
        return emit_unsupported(e, "cubic of rank %d", emit_shape(e, 0)->rank);
    return emit_out(e, 0, "torch.grid_sampler(%s, %s, %d, %d, %s)", emit_in(e, 0), emit_in(e, 1), mode,
                    padding, emit_attr(e, "align_corners", 0) ? "True" : "False");
}

const struct emit_op emit_resize[] = {
    {.name = "GridSample", .write = write_grid_sample},
    {.name = "Resize", .write = write_resize, .types = DTYPES_FLOAT | DTYPE_BIT(DTYPE_UINT8)},
    {.name = NULL},
};
