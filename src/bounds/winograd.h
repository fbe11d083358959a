/*
 * How far Winograd's algorithm may be off.
 *
 * Winograd (Toom-Cook) computes a tile of m outputs of a kernel of r taps from a tile of t = m + r - 1
 * inputs:
 *
 *     y = A' ((G g) . (B' d)),   in two dimensions   Y = A' ((G g G') . (B' d B)) A,
 *
 * the products summed over the channels before A' is applied. The matrices come from t - 1 points and
 * infinity: with p_i the product of (x - a_j) over the other points, row i of B' has the coefficients of p_i,
 * row i of G the powers of a_i over p_i(a_i), and A' the powers of the points; infinity's row of B' is the
 * product over all points, and it takes part in the last tap and the last output alone.
 *
 * The sums over a tile cancel, so its error goes with what is inside the transforms and not with the terms of
 * one output's sum. This file follows the roundings through the three transforms on the data at hand
 * (docs/bounds/ contraction.md) for each set of points that a library in use or a textbook has, and gives the
 * largest error of them all.
 */
#ifndef BOUNDS_WINOGRAD_H
#define BOUNDS_WINOGRAD_H

#include "bounds/bounded.h"

enum { WINOGRAD_TILE = 8 }; /* the largest in use: F(6x6,3x3) */

/* Points that tiles of `count` + 1 are made with; the last entry has count 0. */
struct winograd_points {
    size_t count;
    double at[WINOGRAD_TILE - 1];
};
extern const struct winograd_points winograd_points[];

struct winograd_matrix {
    size_t rows, cols;
    double at[WINOGRAD_TILE][WINOGRAD_TILE];
};

/* One axis: a' has m rows of t, g t rows of r, b' t rows of t. */
struct winograd_transform {
    struct winograd_matrix a, g, b;
};

/* F(m, r) on m + r - 2 points. */
struct winograd_transform winograd_transform(const double *points, size_t m, size_t r);

/* One group of a convolution at stride and dilation 1 on an image that is already padded. */
struct winograd {
    enum dtype type;             /* of the output */
    const struct bounded *image; /* [channels of all groups][size] */
    size_t first, channels;      /* of the group */
    /* Weight of output channel i and tap k, channel by channel, is at weight_rows[i] + weight_cols[k]. */
    const struct bounded *weights;
    size_t base;
    const size_t *weight_rows, *weight_cols;
    size_t outputs;
    size_t kernel[2], size[2]; /* taps of an axis and image; an image of one axis has 1 and 1 first */
    bool depthwise;
};

/* Whether a kernel of these taps is ever transformed: 7 at most, and not 1 on both axes. */
bool winograd_applies(const size_t kernel[2]);

/*
 * The error of each output, [outputs][size - kernel + 1]: the largest, and one standard deviation. The
 * largest is infinite, and the deviation not, where the image or the weights are not finite within the tile,
 * and where something inside a transform may be beyond the type's largest number.
 */
struct winograd_errors {
    double *hard, *likely;
};
int winograd_bound(const struct winograd *w, struct winograd_errors *errors, struct error *err);

#endif
