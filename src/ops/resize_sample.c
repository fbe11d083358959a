/*
 * Draws valid Resize nodes. It avoids what versions of ONNX and implementations disagree on: a length that
 * floor could make either way, transformations that divide by a length that is not an integer, a region of
 * interest with scales.
 */
#include "ops/draw.h"
#include "ops/resize.h"

#include <math.h>

/* A float input of given values, constant most of the time. */
static void draw_floats(struct draw *d, const float *values, int64_t count)
{
    struct shape shape = {1, {count}};
    draw_range(d, DTYPE_FLOAT, &shape, 0, 0);
    struct drawn *input = &d->inputs[d->n_inputs - 1];
    input->constant = draw_chance(d, 0.85);
    for (int64_t i = 0; i < count; i++)
        tensor_set(&input->data, (size_t)i, values[i]);
}

/* The choices for a drawn node. */
struct choice {
    enum mode mode;
    enum transform transform;
    bool sizes;
    int first; /* axis from which on dims are resized */
};

/* A scale whose product with the dim is far enough from a jump of floor, or exactly an integer. */
static float draw_scale(struct draw *d, int64_t in, bool whole)
{
    static const float choices[] = {0.5f, 0.6f, 0.75f, 1, 1.5f, 2, 2.4f, 3, 1.3f, 0.4f};
    for (int attempt = 0; attempt < 8; attempt++) {
        float scale = choices[draw_between(d, 0, 9)];
        double length = (double)scale * (double)in, fraction = length - floor(length);
        if (scale != 1 && floor(length) == (double)in)
            continue; /* engines treat an unchanged size as an unchanged image */
        bool safe = whole ? fraction == 0 : fraction == 0 || (fraction > 1e-3 && fraction < 0.999);
        if (safe && length >= 1)
            return scale;
    }
    return 2;
}

static struct choice draw_choice(struct draw *d, int rank)
{
    struct choice c = {.mode = NEAREST};
    bool even = rank == 2 || rank == 4;
    if (rank > 1 && draw_chance(d, 0.6))
        c.mode = even && dtype_is_float(d->type) && draw_chance(d, 0.5) ? CUBIC : LINEAR;
    /* Engines interpolate over at most three dims, behind batch and channels. */
    c.first = rank >= 4 && c.mode != NEAREST ? 2 : rank >= 3 && draw_chance(d, 0.6) ? 1 : 0;
    c.transform = (enum transform)draw_between(d, 0, TRANSFORMS - 1);
    bool symmetric = c.transform == HALF_PIXEL_SYMMETRIC && d->opset < 19;
    bool for_nn = c.transform == TF_HALF_PIXEL_FOR_NN && (d->opset > 12 || c.mode != NEAREST);
    if (symmetric || for_nn)
        c.transform = HALF_PIXEL;
    c.sizes = draw_chance(d, 0.5) || c.transform == TF_CROP_AND_RESIZE;
    return c;
}

static void draw_words(struct draw *d, const struct choice *c)
{
    if (c->mode != NEAREST || draw_chance(d, 0.5))
        draw_string(d, "mode", resize_modes[c->mode]);
    if (c->transform != HALF_PIXEL || draw_chance(d, 0.5))
        draw_string(d, "coordinate_transformation_mode", resize_transforms[c->transform]);
    if (c->mode == NEAREST && c->transform == TF_HALF_PIXEL_FOR_NN)
        draw_string(d, "nearest_mode", "floor");
    else if (c->mode == NEAREST && draw_chance(d, 0.8))
        draw_string(d, "nearest_mode", resize_roundings[draw_between(d, 0, ROUNDINGS - 1)]);
    if (c->mode == CUBIC && draw_chance(d, 0.5))
        draw_float(d, "cubic_coeff_a", draw_chance(d, 0.5) ? -0.5f : -0.75f);
    if (c->mode == CUBIC && draw_chance(d, 0.3) && c->transform != TF_CROP_AND_RESIZE)
        draw_int(d, "exclude_outside", 1);
    if (c->transform == TF_CROP_AND_RESIZE && draw_chance(d, 0.6))
        draw_float(d, "extrapolation_value", draw_chance(d, 0.5) ? 10 : -1);
}

static void draw_roi(struct draw *d, const struct choice *c, int from, int rank)
{
    float roi[2 * TENSOR_MAX_RANK];
    int count = rank - from;
    if (c->transform != TF_CROP_AND_RESIZE) {
        if (d->opset < 13)
            draw_floats(d, NULL, 0);
        else
            draw_omit(d);
        return;
    }
    for (int i = 0; i < count; i++) {
        bool whole = i + from < c->first || draw_chance(d, 0.2);
        roi[i] = whole ? 0 : (float)draw_between(d, -2, 5) / 10.0f + 0.03f;
        roi[count + i] = whole ? 1 : roi[i] + (float)draw_between(d, 2, 9) / 10.0f;
    }
    draw_floats(d, roi, 2 * (int64_t)count);
}

static void draw_extent(struct draw *d, const struct choice *c, const struct shape *x, int from)
{
    float scales[TENSOR_MAX_RANK];
    int64_t sizes[TENSOR_MAX_RANK];
    bool whole = c->transform == ALIGN_CORNERS || c->transform == PYTORCH_HALF_PIXEL;
    for (int i = from; i < x->rank; i++) {
        int64_t in = x->dims[i];
        bool fixed = i < c->first;
        scales[i - from] = fixed ? 1 : draw_scale(d, in, whole);
        sizes[i - from] = fixed ? in : draw_between(d, 1, 2 * in + 1);
        /* When the size is unchanged, engines return the image unchanged, whatever region is asked for. */
        if (c->transform == TF_CROP_AND_RESIZE && !fixed && sizes[i - from] == in)
            sizes[i - from]++;
    }
    int64_t count = x->rank - from;
    if (!c->sizes) {
        draw_floats(d, scales, count);
        return;
    }
    if (d->opset < 13)
        draw_floats(d, NULL, 0);
    else
        draw_omit(d);
    draw_int_input(d, sizes, (size_t)count);
}

int resize_sample(struct draw *d)
{
    struct drawn x = draw_primary(d);
    size_t largest = 1;
    for (int i = 0; i < x.shape.rank; i++)
        largest *= 3 * (size_t)x.shape.dims[i];
    if (largest == 0 || largest > 100000)
        return -1;
    struct choice c = draw_choice(d, x.shape.rank);
    int from = 0;
    if (d->opset >= 18 && c.first > 0 && draw_chance(d, 0.4)) {
        int64_t axes[TENSOR_MAX_RANK];
        from = c.first;
        bool keeps = c.sizes && c.transform != TF_CROP_AND_RESIZE && draw_chance(d, 0.5);
        /* Engines that ignore the policy for negative axes would fail only at some later node of a graph. */
        bool negative = !keeps && draw_chance(d, 0.5);
        for (int i = from; i < x.shape.rank; i++)
            axes[i - from] = negative ? i - x.shape.rank : i;
        draw_ints(d, "axes", axes, (size_t)(x.shape.rank - from));
        if (keeps)
            draw_string(d, "keep_aspect_ratio_policy", resize_policies[draw_between(d, 0, POLICIES - 1)]);
    }
    if (d->opset >= 18 && c.mode != NEAREST && draw_chance(d, 0.3)) {
        draw_int(d, "antialias", 1);
        if (c.transform == TF_CROP_AND_RESIZE)
            c.transform = HALF_PIXEL;
    }
    draw_words(d, &c);
    draw_roi(d, &c, from, x.shape.rank);
    draw_extent(d, &c, &x.shape, from);
    return 0;
}
