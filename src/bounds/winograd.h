/*
 * The error bound of Winograd's algorithm for convolutions.
 *
 * Winograd (Toom-Cook) computes a tile of m outputs of a kernel of r taps from a tile of t = m + r - 1
 * inputs:
 *
 *     y = A' ((G g) . (B' d)),   in two dimensions   Y = A' ((G g G') . (B' d B)) A,
 *
 * where the products are summed over the channels before A' is applied. The matrices come from t - 1 points
 * and infinity: with p_i the product of (x - a_j) over the other points, row i of B' has the coefficients of
 * p_i, row i of G the powers of a_i over p_i(a_i), and A' the powers of the points. The row of infinity in B'
 * is the product over all points; infinity contributes only to the last tap and the last output.
 *
 * The sums over a tile cancel, so the error depends on the numbers inside the transforms and not on the terms
 * of one output's sum. This file follows the roundings through the three transforms on the actual data
 * (docs/bounds/contraction.md), for each set of points that libraries or textbooks use, and gives the largest
 * error of all.
 */
#ifndef BOUNDS_WINOGRAD_H
#define BOUNDS_WINOGRAD_H

#include "bounds/bounded.h"

enum { WINOGRAD_TILE = 8 }; /* the largest in use: F(6x6,3x3) */

/* The sets of points; `count` points make tiles of count + 1. The last entry has count 0. */
struct winograd_points {
    size_t count;
    double at[WINOGRAD_TILE - 1];
};
extern const struct winograd_points winograd_points[];

struct winograd_matrix {
    size_t rows, cols;
    double at[WINOGRAD_TILE][WINOGRAD_TILE];
};

/* The transform of one axis. Sizes: A' is m by t, G is t by r, B' is t by t. */
struct winograd_transform {
    struct winograd_matrix a, g, b;
};

/* The transform F(m, r) with m + r - 2 points. */
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

/* Whether implementations transform a kernel of this size: at most 7 taps per axis, and not 1 on both axes.
 */
bool winograd_applies(const size_t kernel[2]);

/*
 * The error of each output, [outputs][size - kernel + 1]: its hard and its likely bound. The hard bound is
 * infinite, and the likely one is not, where the image or the weights are not finite within the tile, and
 * where a number inside a transform may exceed the largest number of the type.
 */
struct winograd_errors {
    double *hard, *likely;
};
int winograd_bound(const struct winograd *w, struct winograd_errors *errors, struct error *err);

#endif
