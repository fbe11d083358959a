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

/* out = left * in * right' */
static void apply(const struct winograd_matrix *left, const struct winograd_matrix *right,
                  const struct grid *in, struct grid *out)
{
    for (size_t i = 0; i < left->rows; i++) {
        lanes_t half[WINOGRAD_TILE];
        for (size_t j = 0; j < right->cols; j++) {
            lanes_t sum = {0};
            for (size_t k = 0; k < left->cols; k++)
                if (left->at[i][k] != 0)
                    sum += left->at[i][k] * in->at[k][j];
            half[j] = sum;
        }
        for (size_t j = 0; j < right->rows; j++) {
            lanes_t sum = {0};
            for (size_t k = 0; k < right->cols; k++)
                if (right->at[j][k] != 0)
                    sum += right->at[j][k] * half[k];
            out->at[i][j] = sum;
        }
    }
}

static void take_magnitudes(struct winograd_matrix *m)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            m->at[i][j] = fabs(m->at[i][j]);
}

/* One way to compute the convolution: a tile size, a set of points and a type. */
struct scheme {
    struct winograd_transform axis[2];
    struct winograd_transform magnitudes[2]; /* of the entries of these */
    double highest;                          /* number of the type that it computes in */
    double in, kernel, rest;           /* relative errors: of both passes of B', of G, of all that follows */
    double tiny, tiny_in, tiny_kernel; /* what underflow takes: from one operation, in B', in G */
    double in_norm, kernel_norm; /* how much larger something inside B' and G may be than what goes in */
    double deviations;           /* standard deviations that the largest error is */
    size_t tiles[2];             /* that cover the output */
};

/* Buffers for what is computed at a time: `tiles` tiles and `outputs` output channels. */
struct panels {
    size_t tiles, outputs;
    double *left;                /* [point][output channel][2 channels] */
    double *right;               /* [point][2 channels][tile] */
    double *errors;              /* [point][output channel][tile] */
    double *value, *hard, *most; /* of one channel of the image: as in struct reach */
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

/* Values, their bounds and their largest possible magnitudes at the same positions. */
struct reach {
    bool exact; /* no bounds */
    struct grid value, hard, most;
    double largest[LANES];
};

static void reach_clear(struct reach *r, const struct bounded *b, const struct winograd_matrix *left,
                        const struct winograd_matrix *right)
{
    size_t rows = left->cols, row = right->cols * sizeof *r->value.at[0];
    r->exact = b->hard == NULL;
    memset(r->largest, 0, sizeof r->largest);
    for (size_t i = 0; i < rows; i++) {
        memset(r->value.at[i], 0, row);
        memset(r->hard.at[i], 0, row);
        memset(r->most.at[i], 0, row);
    }
}

/* What is NaN may be of any size. */
static void measure(const struct bounded *b, size_t at, double *value, double *hard, double *most)
{
    *value = (double)b->value[at];
    *hard = bounded_hard(b, at);
    *most = fabs(*value) + *hard;
    if (isnan(*most))
        *most = INFINITY;
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

static void transform(const struct passes *passes, const struct reach *r, struct transformed *t)
{
    struct grid value, hard, most;
    apply(passes->left, passes->right, &r->value, &value);
    apply(passes->left_size, passes->right_size, &r->most, &most);
    if (!r->exact)
        apply(passes->left_size, passes->right_size, &r->hard, &hard);
    lanes_t largest, endless, tiny = {0};
    memcpy(&largest, r->largest, sizeof largest);
    lane_bits_t inside = largest < passes->limit, some = largest != 0;
    endless = (lanes_t)((lane_bits_t)(tiny + (double)INFINITY) & ~inside);
    tiny = (lanes_t)((lane_bits_t)(tiny + passes->tiny) & some);
    for (size_t i = 0; i < passes->left->rows; i++)
        for (size_t j = 0; j < passes->right->rows; j++) {
            lanes_t error = passes->error * most.at[i][j] + tiny, size = error;
            if (!r->exact)
                size += hard.at[i][j];
            size += (lanes_t)((lane_bits_t)value.at[i][j] & INT64_MAX); /* its magnitude */
            /* Nothing but infinity where something inside may overflow. */
            t->error.at[i][j] = (lanes_t)((lane_bits_t)error & inside) + endless;
            t->size.at[i][j] = (lanes_t)((lane_bits_t)size & inside) + endless;
        }
}

static void read_channel(const struct winograd *w, size_t channel, struct panels *p)
{
    size_t area = w->size[0] * w->size[1], first = (w->first + channel) * area;
    for (size_t i = 0; i < area; i++)
        measure(w->image, first + i, &p->value[i], &p->hard[i], &p->most[i]);
}

/* Row `from` of a channel in lane `lane`. */
static void read_row(const struct panels *p, size_t from, size_t count, size_t lane, size_t i,
                     struct reach *r)
{
    double largest = r->largest[lane];
    for (size_t j = 0; j < count; j++) {
        r->value.at[i][j][lane] = p->value[from + j];
        r->most.at[i][j][lane] = p->most[from + j];
        largest = p->most[from + j] > largest ? p->most[from + j] : largest;
    }
    for (size_t j = 0; !r->exact && j < count; j++)
        r->hard.at[i][j][lane] = p->hard[from + j];
    r->largest[lane] = largest;
}

static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

static void read_tiles(const struct winograd *w, const struct scheme *s, const struct panels *p, size_t tile,
                       size_t lanes, struct reach *r)
{
    const struct winograd_transform *axis = s->axis;
    reach_clear(r, w->image, &axis[0].b, &axis[1].b);
    for (size_t l = 0; l < lanes; l++) {
        size_t top = (tile + l) / s->tiles[1] * axis[0].a.rows,
               left = (tile + l) % s->tiles[1] * axis[1].a.rows;
        size_t rows = at_most(axis[0].b.rows, w->size[0] - top),
               cols = at_most(axis[1].b.rows, w->size[1] - left);
        for (size_t i = 0; i < rows; i++)
            read_row(p, (top + i) * w->size[1] + left, cols, l, i, r);
    }
}

static void fill_right(const struct winograd *w, const struct scheme *s, struct panels *p, size_t tile)
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
    for (size_t c = 0; c < w->channels; c++) {
        read_channel(w, c, p);
        for (size_t n = 0; n < p->tiles && !limits_late(TILE_STEPS); n += LANES) {
            size_t lanes = at_most(p->tiles - n, LANES);
            read_tiles(w, s, p, tile + n, lanes, &reach);
            transform(&passes, &reach, &t);
            double *row = p->right + c * p->tiles + n;
            for (size_t i = 0; i < b0->rows; i++)
                for (size_t j = 0; j < b1->rows; j++, row += 2 * w->channels * p->tiles)
                    for (size_t l = 0; l < lanes; l++) {
                        row[l] = t.error.at[i][j][l] + s->rest * t.size.at[i][j][l];
                        row[w->channels * p->tiles + l] = t.size.at[i][j][l];
                    }
        }
    }
}

static void read_kernels(const struct winograd *w, const struct scheme *s, size_t output, size_t channel,
                         size_t lanes, struct reach *r)
{
    reach_clear(r, w->weights, &s->axis[0].g, &s->axis[1].g);
    size_t taps = w->kernel[0] * w->kernel[1], first = w->base + w->weight_rows[output];
    for (size_t l = 0; l < lanes; l++)
        for (size_t k = 0; k < taps; k++) {
            size_t i = k / w->kernel[1], j = k % w->kernel[1];
            double value, hard, most;
            measure(w->weights, first + w->weight_cols[(channel + l) * taps + k], &value, &hard, &most);
            r->value.at[i][j][l] = value;
            r->hard.at[i][j][l] = hard;
            r->most.at[i][j][l] = most;
            r->largest[l] = most > r->largest[l] ? most : r->largest[l];
        }
}

static void fill_left(const struct winograd *w, const struct scheme *s, struct panels *p, size_t output,
                      size_t outputs)
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
        for (size_t c = 0; c < w->channels && !limits_late(TILE_STEPS); c += LANES) {
            size_t lanes = at_most(w->channels - c, LANES);
            read_kernels(w, s, output + i, c, lanes, &reach);
            transform(&passes, &reach, &t);
            for (size_t point = 0; point < points_of(s); point++) {
                double *row = p->left + (point * p->outputs + i) * 2 * w->channels + c;
                memcpy(row, &t.size.at[point / g1->rows][point % g1->rows], lanes * sizeof *row);
                memcpy(row + w->channels, &t.error.at[point / g1->rows][point % g1->rows],
                       lanes * sizeof *row);
            }
        }
}

/* With U = G g G', V = B' d B, and what they are computed as within e(U), e(V) and of sizes |U|, |V|: the sum
 * over the channels of  |U| (e(V) + rest |V|) + e(U) |V|, point by point. */
static void multiply(const struct winograd *w, const struct scheme *s, struct panels *p, size_t outputs)
{
    size_t terms = 2 * w->channels;
    for (size_t point = 0; point < points_of(s) && !limits_late(outputs * p->tiles); point++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)outputs, (int)p->tiles, (int)terms, 1,
                    p->left + point * p->outputs * terms, (int)terms, p->right + point * terms * p->tiles,
                    (int)p->tiles, 0, p->errors + point * p->outputs * p->tiles, (int)p->tiles);
}

/* Stores the errors of one tile, which are in a lane of `out`, where they are larger than those stored
 * before. */
static void put_tile(const struct winograd *w, const struct scheme *s, const struct grid *out, size_t lane,
                     size_t tile, size_t start, struct winograd_errors *errors)
{
    size_t high = w->size[0] - w->kernel[0] + 1, wide = w->size[1] - w->kernel[1] + 1;
    size_t rows = s->axis[0].a.rows, cols = s->axis[1].a.rows;
    size_t top = tile / s->tiles[1] * rows, left = tile % s->tiles[1] * cols;
    size_t shown = at_most(cols, wide - left);
    double limit = s->rest * s->highest;
    bool fits = true;
    /* Divided by `rest` it exceeds the sum of magnitudes, which no partial sum exceeds. */
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            fits &= out->at[i][j][lane] < limit;
    for (size_t i = 0; i < rows && top + i < high; i++) {
        double *hard = errors->hard + start + (top + i) * wide + left,
               *likely = errors->likely + start + (top + i) * wide + left;
        for (size_t j = 0; j < shown; j++) {
            double e = fits ? out->at[i][j][lane] : (double)INFINITY;
            hard[j] = hard[j] > e ? hard[j] : e;
            e = fits ? e / s->deviations : 0;
            likely[j] = likely[j] > e ? likely[j] : e;
        }
    }
}

/* The sums at all points of the tiles that begin with `n`, side by side. */
static void read_sums(const struct scheme *s, const struct panels *p, size_t output, size_t n, size_t lanes,
                      struct grid *sums)
{
    const double *from = p->errors + output * p->tiles + n;
    for (size_t i = 0; i < s->axis[0].a.cols; i++)
        for (size_t j = 0; j < s->axis[1].a.cols; j++, from += p->outputs * p->tiles) {
            lanes_t sum = {0};
            memcpy(&sum, from, lanes * sizeof *from);
            sums->at[i][j] = (lanes_t)((lane_bits_t)(sum + s->tiny) & (sum != 0));
        }
}

static void put_errors(const struct winograd *w, const struct scheme *s, const struct panels *p, size_t tile,
                       size_t output, size_t outputs, struct winograd_errors *errors)
{
    struct grid sums, out;
    size_t area = (w->size[0] - w->kernel[0] + 1) * (w->size[1] - w->kernel[1] + 1);
    for (size_t i = 0; i < outputs; i++)
        for (size_t n = 0; n < p->tiles && !limits_late(TILE_STEPS); n += LANES) {
            size_t lanes = at_most(p->tiles - n, LANES);
            read_sums(s, p, i, n, lanes, &sums);
            apply(&s->magnitudes[0].a, &s->magnitudes[1].a, &sums, &out);
            for (size_t l = 0; l < lanes; l++)
                put_tile(w, s, &out, l, tile + n + l, (output + i) * area, errors);
        }
}

static void panels_release(struct panels *p)
{
    free(p->left);
    free(p->right);
    free(p->errors);
    free(p->value);
    free(p->hard);
    free(p->most);
}

/* Buffers of some 32 MB each, whatever the size of the image, and of a channel. */
static int panels_alloc(const struct winograd *w, const struct scheme *s, struct panels *p, struct error *err)
{
    size_t room = (size_t)1 << 22, points = points_of(s), row = points * 2 * w->channels;
    p->outputs = at_most(w->outputs, 1 + room / row);
    p->tiles = at_most(s->tiles[0] * s->tiles[1],
                       1 + room / (row > points * p->outputs ? row : points * p->outputs));
    p->left = malloc(row * p->outputs * sizeof(double));
    p->right = malloc(row * p->tiles * sizeof(double));
    p->errors = malloc(points * p->outputs * p->tiles * sizeof(double));
    size_t channel = w->size[0] * w->size[1] * sizeof(double);
    p->value = malloc(channel);
    p->hard = malloc(channel);
    p->most = malloc(channel);
    if (p->left && p->right && p->errors && p->value && p->hard && p->most)
        return 0;
    return error_set(err, ERROR_MEMORY, "no memory for the bounds of %zu tiles", p->tiles);
}

static int errors_of(const struct winograd *w, const struct scheme *s, struct winograd_errors *errors,
                     struct error *err)
{
    struct panels p = {0};
    int result = panels_alloc(w, s, &p, err);
    size_t tiles = s->tiles[0] * s->tiles[1], step = p.tiles;
    for (size_t tile = 0; result == 0 && tile < tiles; tile += step) {
        p.tiles = at_most(tiles - tile, step);
        fill_right(w, s, &p, tile);
        for (size_t output = 0; output < w->outputs; output += p.outputs) {
            size_t outputs = at_most(w->outputs - output, p.outputs);
            fill_left(w, s, &p, output, outputs);
            multiply(w, s, &p, outputs);
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
    contract_on_one_thread();
    for (const struct winograd_points *p = winograd_points; p->count; p++) {
        /* Depthwise convolutions use only the smallest tile. */
        if (p->count < larger || (w->depthwise && p->count > 3))
            continue;
        struct scheme s = scheme_make(w, p);
        if (errors_of(w, &s, errors, err))
            return -1;
    }
    return 0;
}
