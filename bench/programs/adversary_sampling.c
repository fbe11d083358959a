/* Interpolation and quantisation: coordinates, weights and quotients by several formulas. */
#include "adversary.h"

#include <math.h>
#include <string.h>

/* Coordinates are computed in float32 by every engine, whatever the type of the data. */
static const struct machine single = {DTYPE_FLOAT, false};

/* A variant of Resize: a transformation of coordinates, how it is computed, and how samples are weighted. */
enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, TRANSFORMS };
enum { BY_SCALE, BY_INVERSE, BY_INVERSE_FUSED, QUOTIENTS };
enum { PRODUCTS, AXIS_BY_AXIS, STEPS, MIXES };
#define VARIANT(transform, quotient, mix) (((transform)*QUOTIENTS + (quotient)) * MIXES + (mix))

static int transform_of(const struct trial *t)
{
    return t->is->variant / MIXES / QUOTIENTS;
}

/* Sizes: the image is size[0] square and becomes size[1] by size[2]. */
static void resize_inputs(struct trial *t)
{
    trial_input(t, 2, (const int64_t[]){t->size[0], t->size[0]}, -16, 16);
    trial_input(t, 1, (const int64_t[]){0}, 0, 0); /* no region, no scales */
    trial_input(t, 1, (const int64_t[]){0}, 0, 0);
    trial_constant(t, DTYPE_INT64, 2, (const double[]){(double)t->size[1], (double)t->size[2]});
}

static void transform_attribute(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    static const char *const names[] = {"half_pixel", "asymmetric", "align_corners"};
    node_set_string(arena, node, "coordinate_transformation_mode", names[transform_of(t)]);
}

static void linear_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    transform_attribute(arena, node, t);
    node_set_string(arena, node, "mode", "linear");
}

static void cubic_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    transform_attribute(arena, node, t);
    node_set_string(arena, node, "mode", "cubic");
}

/* The coordinate in the input of output p. */
static double coordinate(const struct trial *t, double p, double in, double out)
{
    int how = t->is->variant / MIXES % QUOTIENTS;
    double centre = transform_of(t) == HALF_PIXEL ? 0.5 : 0, x = p + centre;
    if (transform_of(t) == ALIGN_CORNERS) {
        in -= 1;
        out -= 1;
        if (out == 0)
            return 0;
    }
    double scale = quotient(single, out, in), inverse = quotient(single, in, out);
    if (in == 0)
        return 0;
    if (how == BY_INVERSE_FUSED)
        return fused(single, x, inverse, -centre);
    return sub(single, how == BY_SCALE ? quotient(single, x, scale) : mul(single, x, inverse), centre);
}

/* Samples along one axis and their weights. */
struct taps {
    int64_t index[4];
    double weight[4];
    size_t count;
};

static int64_t clamped(int64_t index, int64_t length)
{
    return index < 0 ? 0 : index >= length ? length - 1 : index;
}

static struct taps linear_taps(struct machine m, double x, int64_t length)
{
    double within = fmax(0, fmin(x, (double)(length - 1))), first = floor(within),
           part = sub(single, within, first);
    struct taps taps = {.index = {(int64_t)first, clamped((int64_t)first + 1, length)}, .count = 2};
    taps.weight[0] = rounded(m, sub(single, 1, part));
    taps.weight[1] = rounded(m, part);
    return taps;
}

/* Keys's polynomials with a = -0.75, by Horner's rule; the last weight so that the sum is 1, or its own. */
static double near_weight(struct machine m, double t)
{
    return add(m, mul(m, mul(m, sub(m, mul(m, 1.25, t), 2.25), t), t), 1);
}

static double far_weight(struct machine m, double t)
{
    return add(m, mul(m, add(m, mul(m, sub(m, mul(m, -0.75, t), -3.75), t), -6), t), 3);
}

static struct taps cubic_taps(const struct trial *t, double x, int64_t length)
{
    struct machine m = t->machine;
    double first = floor(x), part = rounded(m, sub(single, x, first));
    struct taps taps = {.count = 4};
    for (int i = 0; i < 4; i++)
        taps.index[i] = clamped((int64_t)first - 1 + i, length);
    taps.weight[0] = far_weight(m, add(m, part, 1));
    taps.weight[1] = near_weight(m, part);
    taps.weight[2] = near_weight(m, sub(m, 1, part));
    taps.weight[3] = t->is->variant % MIXES == STEPS
                         ? sub(m, sub(m, sub(m, 1, taps.weight[0]), taps.weight[1]), taps.weight[2])
                         : far_weight(m, sub(m, 2, part));
    return taps;
}

/* Along one axis; STEPS of two samples: a + w (b - a). */
static double mix(const struct trial *t, const struct taps *taps, const double *samples)
{
    struct machine m = t->machine;
    if (t->is->variant % MIXES == STEPS && taps->count == 2)
        return add(m, samples[0], mul(m, taps->weight[1], sub(m, samples[1], samples[0])));
    return inner(m, FORWARD, false, taps->weight, 1, samples, 1, taps->count);
}

static double sample(const struct trial *t, const struct taps *high, const struct taps *wide,
                     const double *image, int64_t width)
{
    struct machine m = t->machine;
    double rows[4], line[4], terms[16];
    size_t n = 0;
    for (size_t i = 0; i < high->count; i++) {
        for (size_t j = 0; j < wide->count; j++) {
            line[j] =
                high->index[i] < 0 || wide->index[j] < 0 ? 0 : image[high->index[i] * width + wide->index[j]];
            terms[n++] = mul(m, mul(m, high->weight[i], wide->weight[j]), line[j]);
        }
        rows[i] = mix(t, wide, line);
    }
    return t->is->variant % MIXES == PRODUCTS ? total(m, FORWARD, terms, n) : mix(t, high, rows);
}

static void resize(const struct trial *t, double *y)
{
    int64_t in = t->size[0], high = t->size[1], wide = t->size[2];
    bool cubic = t->is->attributes == cubic_attributes;
    for (int64_t i = 0; i < high; i++)
        for (int64_t j = 0; j < wide; j++) {
            double row = coordinate(t, (double)i, (double)in, (double)high),
                   column = coordinate(t, (double)j, (double)in, (double)wide);
            struct taps down = cubic ? cubic_taps(t, row, in) : linear_taps(t->machine, row, in),
                        along = cubic ? cubic_taps(t, column, in) : linear_taps(t->machine, column, in);
            y[i * wide + j] = sample(t, &down, &along, t->in[0].at, in);
        }
}

/* GridSample at one point, with zeros outside. A variant is a formula of the coordinate and a mix. */
enum { AS_WRITTEN, HALF_LENGTH, CENTRED, ALIGNED };

static void grid_inputs(struct trial *t)
{
    trial_input(t, 4, (const int64_t[]){1, 1, t->size[0], t->size[1]}, -16, 16);
    trial_input(t, 4, (const int64_t[]){1, 1, 1, 2}, -1.2, 1.2);
}

static void grid_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    node_set_string(arena, node, "mode", "linear");
    node_set_int(arena, node, "align_corners", t->is->variant / MIXES == ALIGNED);
}

static double grid_coordinate(const struct trial *t, double n, double length)
{
    struct machine m = t->machine;
    switch (t->is->variant / MIXES) {
    case HALF_LENGTH:
        return sub(m, mul(m, add(m, n, 1), length / 2), 0.5);
    case CENTRED:
        return fused(m, n, length / 2, (length - 1) / 2);
    case ALIGNED:
        return mul(m, mul(m, add(m, n, 1), 0.5), length - 1);
    default:
        return mul(m, sub(m, mul(m, add(m, n, 1), length), 1), 0.5);
    }
}

static struct taps grid_taps(struct machine m, double x, int64_t length)
{
    double first = floor(x), part = sub(m, x, first);
    struct taps taps = {
        .index = {(int64_t)first, (int64_t)first + 1}, .weight = {sub(m, 1, part), part}, .count = 2};
    for (int i = 0; i < 2; i++)
        if (taps.index[i] >= length)
            taps.index[i] = -1;
    return taps;
}

static void grid_sample(const struct trial *t, double *y)
{
    struct taps wide =
                    grid_taps(t->machine, grid_coordinate(t, t->in[1].at[0], (double)t->size[1]), t->size[1]),
                high =
                    grid_taps(t->machine, grid_coordinate(t, t->in[1].at[1], (double)t->size[0]), t->size[0]);
    y[0] = sample(t, &high, &wide, t->in[0].at, t->size[1]);
}

/* Quantisation: a quotient, a product with the reciprocal, or (refused) the zero point added before rounding.
 */
enum { QUOTIENT, RECIPROCAL, ZERO_INSIDE };

static void quantize_inputs(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -16, 16);
    trial_input(t, 0, NULL, 0x1p-6, 1);
    trial_input(t, 0, NULL, 0, 255)->type = DTYPE_UINT8;
}

static void quantize(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double scale = t->in[1].at[0], zero = t->in[2].at[0], inverse = quotient(m, 1, scale);
    for (size_t i = 0; i < t->in[0].count; i++) {
        double x = t->in[0].at[i],
               q = t->is->variant == RECIPROCAL ? mul(m, x, inverse) : quotient(m, x, scale);
        q = t->is->variant == ZERO_INSIDE ? nearbyint(q + zero) : nearbyint(q) + zero;
        y[i] = fmax(0, fmin(255, q));
    }
}

static void dequantize_inputs(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, 0, 255)->type = DTYPE_UINT8;
    trial_input(t, 0, NULL, 0x1p-6, 1);
    trial_input(t, 0, NULL, 0, 255)->type = DTYPE_UINT8;
}

static void dequantize(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    double scale = t->in[1].at[0], zero = t->in[2].at[0];
    for (size_t i = 0; i < t->in[0].count; i++)
        y[i] = t->is->variant ? sub(m, mul(m, t->in[0].at[i], scale), mul(m, zero, scale))
                              : mul(m, rounded(m, t->in[0].at[i] - zero), scale);
}

#define RESIZE(what, transform, quotient, mix, mode)                                                     \
    {                                                                                                    \
        "Resize", what, VARIANT(transform, quotient, mix), .size = {{2, 7}, {1, 11}, {1, 11}},           \
                                                           .lay_out = resize_inputs, .attributes = mode, \
                                                           .compute = resize                             \
    }
#define GRID(what, formula, mix)                                                                           \
    {                                                                                                      \
        "GridSample", what, (formula)*MIXES + (mix), .size = {{1, 6}, {1, 6}}, .lay_out = grid_inputs,     \
                                                     .attributes = grid_attributes, .compute = grid_sample \
    }

const struct implementation samplings[] = {
    RESIZE("linear, half pixel, by the scale", HALF_PIXEL, BY_SCALE, PRODUCTS, linear_attributes),
    RESIZE("linear, half pixel, axis by axis", HALF_PIXEL, BY_INVERSE_FUSED, AXIS_BY_AXIS, linear_attributes),
    RESIZE("linear, half pixel, a + w (b - a)", HALF_PIXEL, BY_INVERSE, STEPS, linear_attributes),
    RESIZE("linear, asymmetric", ASYMMETRIC, BY_INVERSE, AXIS_BY_AXIS, linear_attributes),
    RESIZE("linear, aligned corners", ALIGN_CORNERS, BY_INVERSE, PRODUCTS, linear_attributes),
    RESIZE("cubic, half pixel", HALF_PIXEL, BY_SCALE, AXIS_BY_AXIS, cubic_attributes),
    RESIZE("cubic, last weight by the sum", HALF_PIXEL, BY_INVERSE, STEPS, cubic_attributes),
    RESIZE("cubic, aligned corners", ALIGN_CORNERS, BY_INVERSE, PRODUCTS, cubic_attributes),
    GRID("((n+1) length - 1)/2", AS_WRITTEN, PRODUCTS),
    GRID("(n+1) length/2 - 1/2", HALF_LENGTH, AXIS_BY_AXIS),
    GRID("n length/2 + (length-1)/2", CENTRED, STEPS),
    GRID("aligned corners", ALIGNED, PRODUCTS),
    {"QuantizeLinear", "quotient", QUOTIENT, .size = {{1, 8}}, .lay_out = quantize_inputs,
     .compute = quantize, .only_float = true},
    {"QuantizeLinear", "product with the reciprocal", RECIPROCAL, .size = {{1, 8}},
     .lay_out = quantize_inputs, .compute = quantize, .only_float = true},
    {"DequantizeLinear", "as written", 0, .size = {{1, 8}}, .lay_out = dequantize_inputs,
     .compute = dequantize, .only_float = true},
    {"QuantizeLinear", "zero point added before rounding", ZERO_INSIDE, .size = {{1, 8}},
     .lay_out = quantize_inputs, .compute = quantize, .only_float = true, .refused = true},
    {"DequantizeLinear", "x scale - zero scale", 1, .size = {{1, 8}}, .lay_out = dequantize_inputs,
     .compute = dequantize, .only_float = true, .refused = true},
    {0},
};
