#include "bounds/winograd.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "bounds/contract.h"

#define ROOT 1.41421356237309504880

/*
 * Textbooks use 0, 1, -1, 2, -2, 1/2, -1/2, or the halves first (wincnn; NNPACK and OpenCV, all seven). The
 * sign of an unpaired point makes no difference. oneDNN has 5/8 and 3/2 for F(4x4,3x3), ncnn square roots.
 */
const struct winograd_points winograd_points[] = {
    {2, {0, 1}},
    {3, {0, 1, -1}},
    {4, {0, 1, -1, 2}},
    {4, {0, 1, -1, 0.5}},
    {5, {0, 1, -1, 2, -2}},
    {5, {0, 1, -1, 0.5, -0.5}},
    {5, {0, 0.625, -0.625, 1.5, -1.5}},
    {5, {0, ROOT, -ROOT, ROOT / 2, -ROOT / 2}},
    {6, {0, 1, -1, 2, -2, 0.5}},
    {6, {0, 1, -1, 0.5, -0.5, 2}},
    {7, {0, 1, -1, 2, -2, 0.5, -0.5}},
    {0, {0}},
};

/* The coefficients of the product of (x - a) over all points but `left_out`, lowest first. */
static void product_of(const double *points, size_t count, size_t left_out, double *coefficients)
{
    memset(coefficients, 0, WINOGRAD_TILE * sizeof *coefficients);
    coefficients[0] = 1;
    for (size_t j = 0; j < count; j++)
        for (size_t k = WINOGRAD_TILE; j != left_out && k-- > 0;)
            coefficients[k] = (k ? coefficients[k - 1] : 0) - points[j] * coefficients[k];
}

struct winograd_transform winograd_transform(const double *points, size_t m, size_t r)
{
    size_t tile = m + r - 1, last = tile - 1;
    struct winograd_transform t = {{m, tile, {{0}}}, {tile, r, {{0}}}, {tile, tile, {{0}}}};
    for (size_t i = 0; i < last; i++) {
        double scale = 1, power = 1;
        product_of(points, last, i, t.b.at[i]);
        for (size_t j = 0; j < last; j++)
            scale *= j == i ? 1 : points[i] - points[j];
        for (size_t k = 0; k < WINOGRAD_TILE; k++, power *= points[i]) {
            if (k < m)
                t.a.at[k][i] = power;
            if (k < r)
                t.g.at[i][k] = power / scale;
        }
    }
    product_of(points, last, last, t.b.at[last]);
    t.g.at[last][r - 1] = 1;
    t.a.at[m - 1][last] = 1;
    return t;
}

/* The roundings of a term in a row of the transform, in any order: the additions, one for a factor that is
 * not a power of two, and one for a factor that the type cannot represent. */
static double roundings_of(const struct winograd_matrix *m)
{
    double most = 0;
    for (size_t i = 0; i < m->rows; i++) {
        double terms = 0, product = 0, inexact = 0;
        for (size_t j = 0; j < m->cols; j++) {
            int exponent;
            double factor = m->at[i][j];
            terms += factor != 0;
            if (factor != 0 && fabs(frexp(factor, &exponent)) != 0.5)
                product = 1;
            if ((double)(float)factor != factor)
                inexact = 1;
        }
        most = fmax(most, terms - 1 + product + inexact);
    }
    return most;
}

static double norm_of(const struct winograd_matrix *m)
{
    double most = 0;
    for (size_t i = 0; i < m->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < m->cols; j++)
            sum += fabs(m->at[i][j]);
        most = fmax(most, sum);
    }
    return most;
}

/* Small matrices side by side: of several tiles, or of several channels. */
enum { LANES = 8, TILE_STEPS = 1 << 12 /* of transforming so many tiles, roughly */ };

/* So that the compiler sees that they are computed together. */
typedef double lanes_t __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t lane_bits_t __attribute__((vector_size(LANES * sizeof(int64_t))));

struct grid {
    lanes_t at[WINOGRAD_TILE][WINOGRAD_TILE];
};

static void take_magnitudes(struct winograd_matrix *m)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            m->at[i][j] = fabs(m->at[i][j]);
}

struct lanes_code;

/* One way to compute the convolution: a tile size, a set of points and a type. */
struct scheme {
    const struct lanes_code *code;
    struct winograd_transform axis[2];
    struct winograd_transform magnitudes[2]; /* of the entries of these */
    double highest;                          /* number of the type that it computes in */
    double in, kernel, rest;           /* relative errors: of both passes of B', of G, of all that follows */
    double tiny, tiny_in, tiny_kernel; /* what underflow takes: from one operation, in B', in G */
    double in_norm, kernel_norm; /* how much larger something inside B' and G may be than what goes in */
    double deviations;           /* standard deviations that the largest error is */
    size_t tiles[2];             /* that cover the output */
};

/*
 * What is computed at a time: `tiles` tiles, `outputs` output channels and `channels` of the sums over the
 * channels. Rows of tiles are `stride` apart.
 */
struct panels {
    size_t tiles, outputs, channels, stride;
    double *left;   /* [point][output channel][2 channels]: of one block of outputs and channels */
    double *right;  /* [point][block of channels][2][channel][tile] */
    double *errors; /* [point][output channel][tile] */
};

/* The numbers of a tensor, in double. Where all are finite and exact, `value` alone says everything. */
struct numbers {
    double *value, *hard, *most; /* most: the largest magnitude; that of NaN is infinite */
};

/* Of the image [channel][size], of the weights [output channel][tap][channel]. */
struct sources {
    struct numbers image, weights;
    size_t row; /* channels of a tap, a multiple of the lanes */
};

static size_t points_of(const struct scheme *s)
{
    return s->axis[0].b.rows * s->axis[1].b.rows;
}

/* An upper bound of (1 + u)^n - 1; the error of computing it in double is added. */
static double relative(double roundings, double u)
{
    return expm1(roundings * u) + 0x1p-48;
}

static struct scheme scheme_make(const struct winograd *w, const struct winograd_points *points)
{
    struct scheme s = {.in_norm = 1, .kernel_norm = 1};
    bool wide = points->count > 3 && w->type != DTYPE_FLOAT;
    enum dtype type = wide ? DTYPE_FLOAT : w->type;
    double in = 0, kernel = 0, out = 0, u = dtype_precision(type).unit;
    for (int i = 0; i < 2; i++) {
        struct winograd_transform *t = &s.axis[i];
        size_t r = w->kernel[i], m = r == 1 ? 1 : points->count + 2 - r;
        *t = winograd_transform(points->at, m, r);
        s.tiles[i] = (w->size[i] - r + 1 + m - 1) / m;
        in += roundings_of(&t->b);
        kernel += roundings_of(&t->g);
        out += roundings_of(&t->a);
        s.in_norm *= norm_of(&t->b);
        s.kernel_norm *= fmax(1, norm_of(&t->g));
        s.magnitudes[i] = *t;
        take_magnitudes(&s.magnitudes[i].a);
        take_magnitudes(&s.magnitudes[i].b);
        take_magnitudes(&s.magnitudes[i].g);
    }
    s.highest = (double)dtype_highest(type);
    s.in = relative(in, u);
    s.kernel = relative(kernel, u);
    /* Roundings of the product, the sum over the channels, the output transform, and a bias and a store that
     * follow. */
    double rest = (double)w->channels + out + 2;
    s.rest = relative(rest, u);
    /* The errors of the points of a tile and of the roundings are independent and uniform in [-u, u]. */
    s.deviations = sqrt(3 * (in + kernel + rest) * (double)points_of(&s));
    double tiny = (double)contract_underflow(type);
    s.tiny = rest * tiny;
    s.tiny_in = in * tiny * s.in_norm;
    s.tiny_kernel = kernel * tiny * s.kernel_norm;
    return s;
}

/* Values, their bounds and their largest possible magnitudes at the same positions; the former alone where
 * they are exact and finite. */
struct reach {
    bool exact;
    struct grid value, hard, most;
};

static int numbers_alloc(struct numbers *n, const struct bounded *b, size_t count, struct error *err)
{
    bool exact = b->hard == NULL && !bounded_may_be_strange(b);
    n->value = calloc(count, sizeof *n->value);
    n->hard = exact ? NULL : calloc(count, sizeof *n->hard);
    n->most = exact ? NULL : calloc(count, sizeof *n->most);
    if (n->value && (exact || (n->hard && n->most)))
        return 0;
    return error_set(err, ERROR_MEMORY, "no memory for the bounds of %zu elements", count);
}

static void numbers_release(struct numbers *n)
{
    free(n->value);
    free(n->hard);
    free(n->most);
}

static void numbers_set(struct numbers *n, size_t i, const struct bounded *b, size_t at)
{
    n->value[i] = (double)b->value[at];
    if (!n->most)
        return;
    n->hard[i] = bounded_hard(b, at);
    n->most[i] = fabs(n->value[i]) + n->hard[i];
    if (isnan(n->most[i]))
        n->most[i] = INFINITY;
}

static int sources_read(struct sources *from, const struct winograd *w, struct error *err)
{
    size_t area = w->size[0] * w->size[1], taps = w->kernel[0] * w->kernel[1];
    from->row = (w->channels + LANES - 1) / LANES * LANES;
    if (numbers_alloc(&from->image, w->image, w->channels * area, err) ||
        numbers_alloc(&from->weights, w->weights, w->outputs * taps * from->row, err))
        return -1;
    for (size_t i = 0; i < w->channels * area; i++)
        numbers_set(&from->image, i, w->image, w->first * area + i);
    for (size_t o = 0; o < w->outputs; o++)
        for (size_t c = 0; c < w->channels; c++)
            for (size_t k = 0; k < taps; k++)
                numbers_set(&from->weights, (o * taps + k) * from->row + c, w->weights,
                            w->base + w->weight_rows[o] + w->weight_cols[c * taps + k]);
    return 0;
}

/*
 * The result of a transform: `size`, the largest magnitude of the computed number, and its `error`. Nothing
 * underflows where all is 0; where a number inside may overflow the error is infinite.
 */
struct transformed {
    struct grid size, error;
};

/* A transform and its magnitudes, on both axes. */
struct passes {
    const struct winograd_matrix *left, *right, *left_size, *right_size;
    double error, tiny, limit; /* beyond the limit something inside may overflow */
};

/* The transforms, compiled for the registers that every processor of the kind has and, where there are some,
 * for wider ones: the results are the same, bit for bit. */
struct lanes_code {
    void (*apply)(const struct winograd_matrix *left, const struct winograd_matrix *right,
                  const struct grid *in, struct grid *out); /* out = left * in * right' */
    void (*transform)(const struct passes *passes, struct reach *r, struct transformed *t);
};

#define LANES_TARGET
#define LANES_NAME(name) name##_plain
#include "bounds/winograd_lanes.h"

#ifdef __x86_64__
#define LANES_TARGET __attribute__((target("avx512f")))
#define LANES_NAME(name) name##_wide
#include "bounds/winograd_lanes.h"
#endif

static const struct lanes_code *code_for_this_processor(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return &code_wide;
#endif
    return &code_plain;
}

static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

/* The top left element of a tile in the image, and how much of the tile is inside. */
struct corner {
    size_t at, rows, cols;
};

static struct corner corner_of(const struct winograd *w, const struct scheme *s, size_t tile)
{
    const struct winograd_transform *axis = s->axis;
    size_t top = tile / s->tiles[1] * axis[0].a.rows, left = tile % s->tiles[1] * axis[1].a.rows;
    return (struct corner){top * w->size[1] + left, at_most(axis[0].b.rows, w->size[0] - top),
                           at_most(axis[1].b.rows, w->size[1] - left)};
}

/* Element (i, j) of some tiles of a channel, side by side; 0 outside of the image. */
static void gather(const double *channel, const struct corner *corners, size_t lanes, size_t i, size_t j,
                   size_t wide, lanes_t *all)
{
    double at[LANES] = {0};
    for (size_t l = 0; l < lanes; l++)
        if (i < corners[l].rows && j < corners[l].cols)
            at[l] = channel[corners[l].at + i * wide + j];
    memcpy(all, at, sizeof *all);
}

static void read_tiles(const struct winograd *w, const struct scheme *s, const struct numbers *image,
                       size_t channel, const struct corner *corners, size_t lanes, struct reach *r)
{
    size_t first = channel * w->size[0] * w->size[1], wide = w->size[1];
    r->exact = image->most == NULL;
    for (size_t i = 0; i < s->axis[0].b.rows; i++)
        for (size_t j = 0; j < s->axis[1].b.rows; j++) {
            gather(image->value + first, corners, lanes, i, j, wide, &r->value.at[i][j]);
            if (r->exact)
                continue;
            gather(image->hard + first, corners, lanes, i, j, wide, &r->hard.at[i][j]);
            gather(image->most + first, corners, lanes, i, j, wide, &r->most.at[i][j]);
        }
}

/* Where the two rows of a channel begin in the part of `right` that belongs to a point; the other one is
 * *apart further on. */
static size_t right_row(const struct winograd *w, const struct panels *p, size_t channel, size_t *apart)
{
    size_t first = channel / p->channels * p->channels, width = at_most(w->channels - first, p->channels);
    *apart = width * p->stride;
    return (first + channel) * p->stride;
}

static void fill_right(const struct winograd *w, const struct scheme *s, const struct numbers *image,
                       const struct panels *p, size_t tile)
{
    struct reach reach;
    struct transformed t;
    const struct winograd_matrix *b0 = &s->axis[0].b, *b1 = &s->axis[1].b;
    struct passes passes = {.left = b0,
                            .right = b1,
                            .left_size = &s->magnitudes[0].b,
                            .right_size = &s->magnitudes[1].b,
                            .error = s->in,
                            .tiny = s->tiny_in,
                            .limit = s->highest / (1 + s->in) / s->in_norm};
    for (size_t n = 0; n < p->tiles; n += LANES) {
        size_t lanes = at_most(p->tiles - n, LANES), apart;
        struct corner corners[LANES];
        for (size_t l = 0; l < lanes; l++)
            corners[l] = corner_of(w, s, tile + n + l);
        for (size_t c = 0; c < w->channels && !limits_late(TILE_STEPS); c++) {
            read_tiles(w, s, image, c, corners, lanes, &reach);
            s->code->transform(&passes, &reach, &t);
            double *row = p->right + right_row(w, p, c, &apart) + n;
            for (size_t i = 0; i < b0->rows; i++)
                for (size_t j = 0; j < b1->rows; j++, row += 2 * w->channels * p->stride) {
                    lanes_t first = t.error.at[i][j] + s->rest * t.size.at[i][j];
                    memcpy(row, &first, sizeof first);
                    memcpy(row + apart, &t.size.at[i][j], sizeof first);
                }
        }
    }
}

/* Some channels of the kernels of an output, side by side. */
static void read_kernels(const struct winograd *w, const struct sources *from, size_t output, size_t channel,
                         struct reach *r)
{
    const struct numbers *weights = &from->weights;
    size_t at = output * w->kernel[0] * w->kernel[1] * from->row + channel;
    r->exact = weights->most == NULL;
    for (size_t i = 0; i < w->kernel[0]; i++)
        for (size_t j = 0; j < w->kernel[1]; j++, at += from->row) {
            memcpy(&r->value.at[i][j], weights->value + at, sizeof(lanes_t));
            if (r->exact)
                continue;
            memcpy(&r->hard.at[i][j], weights->hard + at, sizeof(lanes_t));
            memcpy(&r->most.at[i][j], weights->most + at, sizeof(lanes_t));
        }
}

/* A copy of a size that is known is a few instructions. */
static void store(double *to, const lanes_t *from, size_t lanes)
{
    if (lanes == LANES)
        memcpy(to, from, sizeof *from);
    else
        memcpy(to, from, lanes * sizeof *to);
}

/* The kernels of `outputs` outputs and `channels` channels. */
static void fill_left(const struct winograd *w, const struct scheme *s, const struct sources *from,
                      const struct panels *p, size_t output, size_t outputs, size_t channel, size_t channels)
{
    struct reach reach;
    struct transformed t;
    const struct winograd_matrix *g0 = &s->axis[0].g, *g1 = &s->axis[1].g;
    struct passes passes = {.left = g0,
                            .right = g1,
                            .left_size = &s->magnitudes[0].g,
                            .right_size = &s->magnitudes[1].g,
                            .error = s->kernel,
                            .tiny = s->tiny_kernel,
                            .limit = s->highest / (1 + s->kernel) / s->kernel_norm};
    for (size_t i = 0; i < outputs; i++)
        for (size_t c = 0; c < channels && !limits_late(TILE_STEPS); c += LANES) {
            size_t lanes = at_most(channels - c, LANES);
            read_kernels(w, from, output + i, channel + c, &reach);
            s->code->transform(&passes, &reach, &t);
            double *row = p->left + i * 2 * channels + c;
            for (size_t k = 0; k < g0->rows; k++)
                for (size_t j = 0; j < g1->rows; j++, row += p->outputs * 2 * channels) {
                    store(row, &t.size.at[k][j], lanes);
                    store(row + channels, &t.error.at[k][j], lanes);
                }
        }
}

/* With U = G g G', V = B' d B, and what they are computed as within e(U), e(V) and of sizes |U|, |V|: the sum
 * over the channels of  |U| (e(V) + rest |V|) + e(U) |V|, point by point, block after block. */
static void multiply(const struct winograd *w, const struct scheme *s, const struct panels *p, size_t outputs,
                     size_t channel, size_t channels)
{
    size_t terms = 2 * channels;
    for (size_t point = 0; point < points_of(s) && !limits_late(outputs * p->tiles); point++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)outputs, (int)p->tiles, (int)terms, 1,
                    p->left + point * p->outputs * terms, (int)terms,
                    p->right + 2 * (point * w->channels + channel) * p->stride, (int)p->stride, channel > 0,
                    p->errors + point * p->outputs * p->stride, (int)p->stride);
}

/* The hard and the likely error of each output of some tiles, from sums that A' was applied to. */
static void bound_tiles(const struct scheme *s, struct grid *hard, struct grid *likely)
{
    size_t rows = s->axis[0].a.rows, cols = s->axis[1].a.rows;
    lane_bits_t fits = ~(lane_bits_t){0};
    /* Divided by `rest` it exceeds the sum of magnitudes, which no partial sum exceeds. */
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            fits &= hard->at[i][j] < s->rest * s->highest;
    lanes_t endless = {0};
    endless = (lanes_t)((lane_bits_t)(endless + (double)INFINITY) & ~fits);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            lanes_t finite = (lanes_t)((lane_bits_t)hard->at[i][j] & fits);
            hard->at[i][j] = finite + endless;
            likely->at[i][j] = finite / s->deviations;
        }
}

/* Stores the errors of one tile, which are in a lane, where they are larger than those stored before. */
static void put_tile(const struct winograd *w, const struct scheme *s, const struct grid *hard,
                     const struct grid *likely, size_t lane, size_t tile, size_t start,
                     struct winograd_errors *errors)
{
    size_t high = w->size[0] - w->kernel[0] + 1, wide = w->size[1] - w->kernel[1] + 1;
    size_t rows = s->axis[0].a.rows, cols = s->axis[1].a.rows;
    size_t top = tile / s->tiles[1] * rows, left = tile % s->tiles[1] * cols;
    size_t shown = at_most(cols, wide - left);
    for (size_t i = 0; i < rows && top + i < high; i++) {
        double *h = errors->hard + start + (top + i) * wide + left,
               *l = errors->likely + start + (top + i) * wide + left;
        for (size_t j = 0; j < shown; j++) {
            h[j] = h[j] > hard->at[i][j][lane] ? h[j] : hard->at[i][j][lane];
            l[j] = l[j] > likely->at[i][j][lane] ? l[j] : likely->at[i][j][lane];
        }
    }
}

/* The sums at all points of the tiles that begin with `n`, side by side. */
static void read_sums(const struct scheme *s, const struct panels *p, size_t output, size_t n,
                      struct grid *sums)
{
    const double *from = p->errors + output * p->stride + n;
    for (size_t i = 0; i < s->axis[0].a.cols; i++)
        for (size_t j = 0; j < s->axis[1].a.cols; j++, from += p->outputs * p->stride) {
            lanes_t sum;
            memcpy(&sum, from, sizeof sum);
            sums->at[i][j] = (lanes_t)((lane_bits_t)(sum + s->tiny) & (sum != 0));
        }
}

static void put_errors(const struct winograd *w, const struct scheme *s, const struct panels *p, size_t tile,
                       size_t output, size_t outputs, struct winograd_errors *errors)
{
    struct grid sums, hard, likely;
    size_t area = (w->size[0] - w->kernel[0] + 1) * (w->size[1] - w->kernel[1] + 1);
    for (size_t i = 0; i < outputs; i++)
        for (size_t n = 0; n < p->tiles && !limits_late(TILE_STEPS); n += LANES) {
            size_t lanes = at_most(p->tiles - n, LANES);
            read_sums(s, p, i, n, &sums);
            s->code->apply(&s->magnitudes[0].a, &s->magnitudes[1].a, &sums, &hard);
            bound_tiles(s, &hard, &likely);
            for (size_t l = 0; l < lanes; l++)
                put_tile(w, s, &hard, &likely, l, tile + n + l, (output + i) * area, errors);
        }
}

static void panels_release(struct panels *p)
{
    free(p->left);
    free(p->right);
    free(p->errors);
}

static size_t between(size_t least, size_t wanted, size_t most)
{
    return wanted < least ? least : at_most(wanted, most);
}

/*
 * Sizes for the caches: the transformed image once, in at most 32 MB, the sums in 2 MB, and the kernels,
 * which are transformed for each block of tiles, in half a MB. What is behind the last tile is computed with.
 */
static int panels_alloc(const struct winograd *w, const struct scheme *s, struct panels *p, struct error *err)
{
    size_t points = points_of(s), row = points * 2 * w->channels;
    size_t tiles = between(LANES, ((size_t)1 << 22) / row / LANES * LANES, 1024);
    p->tiles = at_most(s->tiles[0] * s->tiles[1], tiles);
    p->stride = (p->tiles + LANES - 1) / LANES * LANES;
    p->outputs = at_most(w->outputs, between(4, ((size_t)1 << 18) / (points * p->stride), 32));
    p->channels = ((size_t)1 << 16) / (points * 2 * p->outputs) / LANES * LANES;
    p->channels = at_most(w->channels, between(LANES, p->channels, w->channels + LANES));
    p->left = malloc(points * p->outputs * 2 * p->channels * sizeof *p->left);
    p->right = aligned_alloc(sizeof(lanes_t), row * p->stride * sizeof *p->right);
    p->errors = aligned_alloc(sizeof(lanes_t), points * p->outputs * p->stride * sizeof *p->errors);
    if (p->left && p->right && p->errors)
        return 0;
    return error_set(err, ERROR_MEMORY, "no memory for the bounds of %zu tiles", p->tiles);
}

static int errors_of(const struct winograd *w, const struct scheme *s, const struct sources *from,
                     struct winograd_errors *errors, struct error *err)
{
    struct panels p = {0};
    int result = panels_alloc(w, s, &p, err);
    size_t tiles = s->tiles[0] * s->tiles[1], step = p.tiles;
    for (size_t tile = 0; result == 0 && tile < tiles; tile += step) {
        p.tiles = at_most(tiles - tile, step);
        fill_right(w, s, &from->image, &p, tile);
        for (size_t output = 0; output < w->outputs; output += p.outputs) {
            size_t outputs = at_most(w->outputs - output, p.outputs);
            for (size_t c = 0; c < w->channels; c += p.channels) {
                size_t channels = at_most(w->channels - c, p.channels);
                fill_left(w, s, from, &p, output, outputs, c, channels);
                multiply(w, s, &p, outputs, c, channels);
            }
            put_errors(w, s, &p, tile, output, outputs, errors);
        }
    }
    panels_release(&p);
    return result;
}

bool winograd_applies(const size_t kernel[2])
{
    size_t larger = kernel[0] > kernel[1] ? kernel[0] : kernel[1];
    return larger > 1 && larger < WINOGRAD_TILE;
}

int winograd_bound(const struct winograd *w, struct winograd_errors *errors, struct error *err)
{
    size_t larger = w->kernel[0] > w->kernel[1] ? w->kernel[0] : w->kernel[1];
    size_t count = w->outputs * (w->size[0] - w->kernel[0] + 1) * (w->size[1] - w->kernel[1] + 1);
    memset(errors->hard, 0, count * sizeof *errors->hard);
    memset(errors->likely, 0, count * sizeof *errors->likely);
    struct sources from = {0};
    int result = sources_read(&from, w, err);
    contract_on_one_thread();
    for (const struct winograd_points *p = winograd_points; p->count && result == 0; p++) {
        /* Depthwise convolutions use only the smallest tile. */
        if (p->count < larger || (w->depthwise && p->count > 3))
            continue;
        struct scheme s = scheme_make(w, p);
        s.code = code_for_this_processor();
        result = errors_of(w, &s, &from, errors, err);
    }
    numbers_release(&from.image);
    numbers_release(&from.weights);
    return result;
}
