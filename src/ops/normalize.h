/*
 * Normalisations y = scale * (x - mean) / sqrt(variance + epsilon) + bias: the statistics with their bounds,
 * which the kernels (normalize.c) and their gradients (normalize_gradient.c) share.
 */
#ifndef OPS_NORMALIZE_H
#define OPS_NORMALIZE_H

#include "bounds/number.h"
#include "ops/draw.h"

/* 1/sqrt(variance + epsilon). Epsilon may be rounded into the type; the inverse root has 4 units. */
struct number inverse_root(struct number variance, double epsilon, double unit, enum dtype type);

/* Statistics of a contiguous block. */
struct moments {
    struct number mean, variance, inverse;
    long double most; /* the largest inverse when the variance is computed from squares of differences, which
                         cannot be negative; 0: not known */
    bool nan, undecided;
};

/*
 * The variance bound covers the one-pass form E[x^2] - E[x]^2, which engines use: with q = E[x^2], both terms
 * are off by at most ((1+u)^(n+3) - 1) q, twice for the square. The two-pass form is far better; a large mean
 * with a small variance thus has a wide bound. The mean may be a running one (Welford): step k rounds numbers
 * no larger than the largest |x| and later steps shrink that error by k/n, so n of them make n units of it.
 * When the bound leaves room for a negative variance + epsilon nothing is judged. `unit` may be coarser than
 * x's own (LayerNormalization's stash type): then x is rounded.
 */
struct moments moments_of(const struct bounded *x, size_t start, size_t n, double epsilon, double unit,
                          enum dtype type);

/* Element i of x, normalised: scale * (x - mean) * inverse + bias. */
void normalize_put(struct bounded *out, size_t i, const struct bounded *x, const struct moments *m,
                   struct number scale, struct number bias, double unit, enum dtype type);

/* BatchNormalization in training: by the statistics of the batch, with which the running ones are moved on.
 */
int normalize_train(struct op_call *call, const struct bounded *x, const struct bounded *scale,
                    const struct bounded *bias, const struct bounded *mean, const struct bounded *variance);

/* stash_type: the type statistics are computed in; 1 (float) or 16 (bfloat16). */
int normalize_stash(struct op_call *call, enum dtype *stash);

/* Data, an axis that is left to its default, the last one, so often, and a scale of the dimensions from that
 * axis on; -1 when there are no elements to take a mean of. */
int normalize_draw_scaled(struct draw *d, double usually, struct drawn *x, struct shape *part);

/* The coarser of two units of rounding. */
double normalize_coarser(double a, double b);

/* The gradients of the rows. */
int normalize_gradient_batch(struct op_gradient *g);
int normalize_gradient_instance(struct op_gradient *g);
int normalize_gradient_layer(struct op_gradient *g);
int normalize_gradient_group(struct op_gradient *g);

#endif
