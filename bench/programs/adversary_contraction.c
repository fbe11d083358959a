/* Contractions: sums of products in several orders, Winograd's convolutions, and schemes that the bounds do
 * not admit (Strassen, Fourier transforms, saturating 16-bit sums). */
#include "adversary.h"

#include "bounds/winograd.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { FUSE = ORDERS }; /* a variant: FORWARD, fused */

static enum order order_of(int variant)
{
    return variant >= ORDERS ? FORWARD : (enum order)variant;
}

/* A row times a column. */
static void product_inputs(struct trial *t)
{
    trial_input(t, 2, (const int64_t[]){1, t->size[0]}, -16, 16);
    trial_input(t, 2, (const int64_t[]){t->size[0], 1}, -16, 16);
}

static void product(const struct trial *t, double *y)
{
    y[0] = inner(t->machine, order_of(t->is->variant), t->is->variant == FUSE, t->in[0].at, 1, t->in[1].at, 1,
                 t->in[0].count);
}

/* alpha A B + beta C: scaled at the end, or the terms one by one with C as the first of the sum. */
static const float gemm_alpha = 0.7f, gemm_beta = -1.3f;

static void gemm_inputs(struct trial *t)
{
    product_inputs(t);
    trial_input(t, 2, (const int64_t[]){1, 1}, -16, 16);
}

static void gemm_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_float(arena, node, "alpha", gemm_alpha);
    node_set_float(arena, node, "beta", gemm_beta);
}

enum { SCALED_LAST, SCALED_FIRST, SCALED_FUSED };

static void gemm(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *a = t->in[0].at, *b = t->in[1].at;
    double alpha = rounded(m, gemm_alpha), beta = rounded(m, gemm_beta), c = mul(m, beta, t->in[2].at[0]);
    if (t->is->variant == SCALED_LAST) {
        y[0] = add(m, mul(m, alpha, inner(m, FORWARD, false, a, 1, b, 1, t->in[0].count)), c);
        return;
    }
    for (size_t i = 0; i < t->in[0].count; i++) {
        double scaled = mul(m, alpha, a[i]);
        c = t->is->variant == SCALED_FUSED ? fused(m, scaled, b[i], c) : add(m, c, mul(m, scaled, b[i]));
    }
    y[0] = c;
}

/* Three operands: products of three factors, or a vector of products first. */
static void einsum_inputs(struct trial *t)
{
    for (int i = 0; i < 3; i++)
        trial_input(t, 1, (const int64_t[]){t->size[0]}, -16, 16);
}

static void einsum_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_string(arena, node, "equation", "i,i,i->");
}

static void einsum(const struct trial *t, double *y)
{
    double pairs[512];
    for (size_t i = 0; i < t->in[0].count; i++)
        pairs[i] = mul(t->machine, t->in[0].at[i], t->in[1].at[i]);
    y[0] = inner(t->machine, order_of(t->is->variant), t->is->variant == FUSE, pairs, 1, t->in[2].at, 1,
                 t->in[0].count);
}

/* A convolution of one output: channels, kernel, with a bias that starts or ends the sum. */
static void window_inputs(struct trial *t)
{
    int64_t image[] = {1, t->size[0], t->size[1], t->size[1]};
    trial_input(t, 4, image, -16, 16);
    trial_input(t, 4, image, -16, 16);
    trial_input(t, 1, (const int64_t[]){1}, -16, 16);
}

static void window_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_ints(arena, node, "strides", (const int64_t[]){2, 2}, 2);
}

static void window(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *x = t->in[0].at, *w = t->in[1].at;
    double sum = t->in[2].at[0];
    if (t->is->variant == FORWARD)
        for (size_t i = 0; i < t->in[0].count; i++)
            sum = add(m, sum, mul(m, x[i], w[i]));
    else if (t->is->variant == FUSE)
        for (size_t i = 0; i < t->in[0].count; i++)
            sum = fused(m, x[i], w[i], sum);
    else
        sum = add(m, inner(m, order_of(t->is->variant), false, x, 1, w, 1, t->in[0].count), sum);
    y[0] = sum;
}

/* Winograd's F(m,r) on one or more tiles. A variant is a scheme and an order of the sums in the transforms.
 */
struct scheme {
    size_t points; /* entry of winograd_points */
    size_t kernel[2];
    bool depthwise;
};
static const struct scheme schemes[] = {
    {1, {3, 3}, false},  {4, {3, 3}, false},  {5, {3, 3}, false},  {6, {3, 3}, false},
    {7, {3, 3}, false},  {10, {3, 3}, false}, {10, {5, 5}, false}, {4, {1, 3}, false},
    {10, {1, 5}, false}, {1, {3, 3}, true},   {8, {3, 3}, false},  {2, {2, 2}, false},
};
enum { WAYS = ORDERS + 1, TILE = WINOGRAD_TILE };

struct transforms {
    struct winograd_transform of[2];
    const struct scheme *scheme;
    enum order order;
    bool fuse;
    struct machine machine; /* that it computes in: float32 for halves unless the tile is small */
};

static struct transforms transforms_of(struct machine m, int variant)
{
    struct transforms t = {.scheme = &schemes[variant / WAYS],
                           .order = order_of(variant % WAYS),
                           .fuse = variant % WAYS == FUSE,
                           .machine = m};
    const struct winograd_points *points = &winograd_points[t.scheme->points];
    for (int i = 0; i < 2; i++) {
        size_t r = t.scheme->kernel[i];
        t.of[i] = winograd_transform(points->at, r == 1 ? 1 : points->count + 2 - r, r);
    }
    if (points->count > 3)
        t.machine.type = DTYPE_FLOAT;
    return t;
}

static void winograd_inputs(struct trial *t)
{
    struct transforms w = transforms_of(t->machine, t->is->variant);
    int64_t high = (int64_t)w.of[0].b.rows, wide = (int64_t)w.of[1].b.rows * 1, channels = t->size[0];
    wide += (t->size[1] - 1) * (int64_t)w.of[1].a.rows;
    bool apart = w.scheme->depthwise;
    trial_input(t, 4, (const int64_t[]){1, channels, high, wide}, -16, 16);
    trial_input(t, 4,
                (const int64_t[]){apart ? channels : 1, apart ? 1 : channels, (int64_t)w.scheme->kernel[0],
                                  (int64_t)w.scheme->kernel[1]},
                -16, 16);
}

static void winograd_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    node_set_int(arena, node, "group", schemes[t->is->variant / WAYS].depthwise ? t->size[0] : 1);
}

/* A row of a transform; zeros are left out, and products with 1 and -1 are exact. */
static double row(const struct transforms *w, const double *factors, const double *x, size_t step,
                  size_t count)
{
    double chosen[TILE], terms[TILE];
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (factors[i] != 0) {
            chosen[used] = rounded(w->machine, factors[i]);
            terms[used++] = x[i * step];
        }
    return inner(w->machine, w->order, w->fuse, chosen, 1, terms, 1, used);
}

static void sandwich(const struct transforms *w, const struct winograd_matrix *left,
                     const struct winograd_matrix *right, const double *in, double *out)
{
    double half[TILE * TILE];
    for (size_t i = 0; i < left->rows; i++)
        for (size_t j = 0; j < right->cols; j++)
            half[i * TILE + j] = row(w, left->at[i], in + j, TILE, left->cols);
    for (size_t i = 0; i < left->rows; i++)
        for (size_t j = 0; j < right->rows; j++)
            out[i * TILE + j] = row(w, right->at[j], half + i * TILE, 1, right->cols);
}

static void take(const double *from, size_t rows, size_t cols, size_t step, double *to)
{
    memset(to, 0, TILE * TILE * sizeof *to);
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * TILE, from + i * step, cols * sizeof *to);
}

/* One tile of one output channel, which reads `channels` channels from `image` on. */
static void winograd_tile(const struct transforms *w, const double *image, size_t area, size_t width,
                          const double *weights, size_t channels, double *out)
{
    double in[TILE * TILE], u[TILE * TILE], v[TILE * TILE], sum[TILE * TILE] = {0};
    const size_t *kernel = w->scheme->kernel, rows = w->of[0].b.rows, cols = w->of[1].b.rows;
    for (size_t c = 0; c < channels; c++) {
        take(image + c * area, rows, cols, width, in);
        sandwich(w, &w->of[0].b, &w->of[1].b, in, v);
        take(weights + c * kernel[0] * kernel[1], kernel[0], kernel[1], kernel[1], in);
        sandwich(w, &w->of[0].g, &w->of[1].g, in, u);
        for (size_t i = 0; i < TILE * TILE; i++)
            if (i / TILE < rows && i % TILE < cols) {
                double term = mul(w->machine, u[i], v[i]);
                sum[i] = w->fuse && c ? fused(w->machine, u[i], v[i], sum[i])
                         : c          ? add(w->machine, sum[i], term)
                                      : term;
            }
    }
    sandwich(w, &w->of[0].a, &w->of[1].a, sum, out);
}

static void winograd(const struct trial *t, double *y)
{
    struct transforms w = transforms_of(t->machine, t->is->variant);
    size_t rows = w.of[0].a.rows, cols = w.of[1].a.rows, width = (size_t)t->in[0].shape.dims[3];
    size_t area = w.of[0].b.rows * width, channels = (size_t)t->size[0], tiles = (size_t)t->size[1];
    size_t outputs = w.scheme->depthwise ? channels : 1, taps = w.scheme->kernel[0] * w.scheme->kernel[1];
    double out[TILE * TILE];
    for (size_t o = 0; o < outputs; o++)
        for (size_t n = 0; n < tiles; n++) {
            winograd_tile(&w, t->in[0].at + o * area + n * cols, area, width, t->in[1].at + o * taps,
                          w.scheme->depthwise ? 1 : channels, out);
            for (size_t i = 0; i < rows * cols; i++)
                y[(o * rows + i / cols) * tiles * cols + n * cols + i % cols] =
                    rounded(t->machine, out[i / cols * TILE + i % cols]);
        }
}

/* ConvTranspose: an output gathers what its inputs scatter, tap by tap over the channels. */
static void scattered_inputs(struct trial *t)
{
    trial_input(t, 3, (const int64_t[]){1, t->size[0], t->size[1]}, -16, 16);
    trial_input(t, 3, (const int64_t[]){t->size[0], 1, 4}, -16, 16);
}

static void scattered_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_ints(arena, node, "strides", (const int64_t[]){2}, 1);
}

static void scattered(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    size_t channels = (size_t)t->size[0], length = (size_t)t->size[1], wide = 2 * (length - 1) + 4;
    memset(y, 0, wide * sizeof *y);
    for (size_t i = 0; i < channels * length * 4; i++) {
        size_t tap = t->is->variant ? i % 4 : 3 - i % 4, at = i / 4 % length, c = i / 4 / length;
        double x = t->in[0].at[c * length + at], w = t->in[1].at[c * 4 + tap], *out = &y[2 * at + tap];
        *out = t->is->variant ? fused(m, x, w, *out) : add(m, *out, mul(m, x, w));
    }
}

/* One level of Strassen on matrices of two by two blocks, here of numbers. */
static void strassen_inputs(struct trial *t)
{
    for (int i = 0; i < 2; i++)
        trial_input(t, 2, (const int64_t[]){2, 2}, -16, 16);
}

static void strassen(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *a = t->in[0].at, *b = t->in[1].at;
    double p1 = mul(m, add(m, a[0], a[3]), add(m, b[0], b[3])), p2 = mul(m, add(m, a[2], a[3]), b[0]),
           p3 = mul(m, a[0], sub(m, b[1], b[3])), p4 = mul(m, a[3], sub(m, b[2], b[0])),
           p5 = mul(m, add(m, a[0], a[1]), b[3]), p6 = mul(m, sub(m, a[2], a[0]), add(m, b[0], b[1])),
           p7 = mul(m, sub(m, a[1], a[3]), add(m, b[2], b[3]));
    y[0] = add(m, sub(m, add(m, p1, p4), p5), p7);
    y[1] = add(m, p3, p5);
    y[2] = add(m, p2, p4);
    y[3] = add(m, add(m, sub(m, p1, p2), p3), p6);
}

/* A convolution of one axis by Fourier transforms of 16 points. */
enum { POINTS = 16, FOURIER_TAPS = 9 };

static void fourier_inputs(struct trial *t)
{
    trial_input(t, 3, (const int64_t[]){1, 1, POINTS}, -16, 16);
    trial_input(t, 3, (const int64_t[]){1, 1, FOURIER_TAPS}, -16, 16);
}

static void fourier(float complex *x, size_t count, float sign)
{
    if (count == 1)
        return;
    float complex even[POINTS], odd[POINTS];
    for (size_t i = 0; i < count / 2; i++) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    fourier(even, count / 2, sign);
    fourier(odd, count / 2, sign);
    for (size_t i = 0; i < count / 2; i++) {
        double angle = sign * 2 * 3.14159265358979323846 * (double)i / (double)count;
        float complex turned = odd[i] * ((float)cos(angle) + (float)sin(angle) * (float complex)I);
        x[i] = even[i] + turned;
        x[i + count / 2] = even[i] - turned;
    }
}

static void fourier_conv(const struct trial *t, double *y)
{
    float complex x[POINTS], w[POINTS] = {0};
    for (size_t i = 0; i < POINTS; i++)
        x[i] = (float)t->in[0].at[i];
    for (size_t i = 0; i < FOURIER_TAPS; i++)
        w[(POINTS - i) % POINTS] = (float)t->in[1].at[i];
    fourier(x, POINTS, -1);
    fourier(w, POINTS, -1);
    for (size_t i = 0; i < POINTS; i++)
        x[i] *= w[i];
    fourier(x, POINTS, 1);
    for (size_t i = 0; i <= POINTS - FOURIER_TAPS; i++)
        y[i] = (double)(crealf(x[i]) / POINTS);
}

/* Pairs of products of 8 bits added with saturation to 16, as one instruction of x86 does it. */
static void saturating_inputs(struct trial *t)
{
    trial_input(t, 2, (const int64_t[]){1, 2 * t->size[0]}, 0, 255)->type = DTYPE_UINT8;
    trial_input(t, 2, (const int64_t[]){2 * t->size[0], 1}, -128, 127)->type = DTYPE_INT8;
}

static void saturating(const struct trial *t, double *y)
{
    y[0] = 0;
    for (size_t i = 0; i + 1 < t->in[0].count; i += 2) {
        double pair = t->in[0].at[i] * t->in[1].at[i] + t->in[0].at[i + 1] * t->in[1].at[i + 1];
        y[0] += fmax(-32768, fmin(32767, pair));
    }
}

#define PRODUCT(what, way)                                                                    \
    {                                                                                         \
        "MatMul", what, way, .size = {{1, 64}}, .lay_out = product_inputs, .compute = product \
    }
#define WINDOW(what, way)                                                      \
    {                                                                          \
        "Conv", what, way, .size = {{1, 8}, {1, 5}}, .lay_out = window_inputs, \
                           .attributes = window_attributes, .compute = window  \
    }
#define WINOGRAD(what, scheme, way)                                                                  \
    {                                                                                                \
        "Conv", "Winograd " what, (scheme)*WAYS + (way),                                             \
            .size = {{1, 3}, {1, 2}}, .lay_out = winograd_inputs, .attributes = winograd_attributes, \
            .compute = winograd, .effort = 5                                                         \
    }

const struct implementation contractions[] = {
    PRODUCT("one after the other", FORWARD),
    PRODUCT("from the end", BACKWARD),
    PRODUCT("in pairs", PAIRWISE),
    PRODUCT("in eight lanes", LANES),
    PRODUCT("in blocks of four", BLOCKS),
    PRODUCT("fused", FUSE),
    {"Gemm", "scaled last", SCALED_LAST, .size = {{1, 32}}, .lay_out = gemm_inputs,
     .attributes = gemm_attributes, .compute = gemm},
    {"Gemm", "A scaled first, C first", SCALED_FIRST, .size = {{1, 32}}, .lay_out = gemm_inputs,
     .attributes = gemm_attributes, .compute = gemm},
    {"Gemm", "A scaled first, fused", SCALED_FUSED, .size = {{1, 32}}, .lay_out = gemm_inputs,
     .attributes = gemm_attributes, .compute = gemm},
    {"Einsum", "three operands, forward", FORWARD, .size = {{1, 32}}, .lay_out = einsum_inputs,
     .attributes = einsum_attributes, .compute = einsum},
    {"Einsum", "three operands, fused", FUSE, .size = {{1, 32}}, .lay_out = einsum_inputs,
     .attributes = einsum_attributes, .compute = einsum},
    WINDOW("direct, bias first", FORWARD),
    WINDOW("direct, bias first, fused", FUSE),
    WINDOW("columns in lanes, bias last", LANES),
    WINOGRAD("F(2x2,3x3)", 0, FORWARD),
    WINOGRAD("F(2x2,3x3), even and odd", 0, EVEN_ODD),
    WINOGRAD("F(4x4,3x3), points 1, 2", 1, FORWARD),
    WINOGRAD("F(4x4,3x3), points 1, 2, fused", 1, FUSE),
    WINOGRAD("F(4x4,3x3), points 1, 1/2", 2, EVEN_ODD),
    WINOGRAD("F(4x4,3x3), points 5/8, 3/2", 3, FORWARD),
    WINOGRAD("F(4x4,3x3), points of roots", 4, FORWARD),
    WINOGRAD("F(5x5,3x3)", 10, FORWARD),
    WINOGRAD("F(6x6,3x3)", 5, FORWARD),
    WINOGRAD("F(6x6,3x3), even and odd", 5, EVEN_ODD),
    WINOGRAD("F(6x6,3x3), fused", 5, FUSE),
    WINOGRAD("F(6x6,3x3), in pairs", 5, PAIRWISE),
    WINOGRAD("F(4x4,5x5)", 6, FORWARD),
    WINOGRAD("F(4,3) of one axis", 7, FORWARD),
    WINOGRAD("F(4,5) of one axis", 8, EVEN_ODD),
    WINOGRAD("F(2x2,3x3), depthwise", 9, FORWARD),
    WINOGRAD("F(3x3,2x2)", 11, FORWARD),
    {"ConvTranspose", "scattered, taps from the end", 0, .size = {{1, 6}, {1, 6}},
     .lay_out = scattered_inputs, .attributes = scattered_attributes, .compute = scattered},
    {"ConvTranspose", "scattered, fused", 1, .size = {{1, 6}, {1, 6}}, .lay_out = scattered_inputs,
     .attributes = scattered_attributes, .compute = scattered},
    {"MatMul", "Strassen, one level", 0, .lay_out = strassen_inputs, .compute = strassen, .refused = true},
    {"Conv", "Fourier transforms of 16 points", 0, .lay_out = fourier_inputs, .compute = fourier_conv,
     .only_float = true, .refused = true},
    {"MatMulInteger", "pairs saturated to 16 bits", 0, .size = {{1, 8}}, .lay_out = saturating_inputs,
     .compute = saturating, .only_float = true, .refused = true},
    {0},
};
