/* Normalisations, quantisation and Clip. */
#include "nodes.h"

#include <math.h>
#include <string.h>

/* x / norm along an axis. */
bool lp_norm_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    int axis = axis_of(call_int(node->call, "axis", -1), x->shape.rank);
    bool squares = call_int(node->call, "p", 2) == 2;
    mpfr_t sum, t;
    mpfr_inits(sum, t, (mpfr_ptr)0);
    for (size_t i = 0; i < x->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &x->shape, index);
        mpfr_set_zero(sum, 1);
        for (index[axis] = 0; index[axis] < x->shape.dims[axis]; index[axis]++) {
            mpfr_srcptr v = x->at[place_of(&x->shape, index)];
            if (squares) {
                add_product(sum, v, v);
            } else {
                mpfr_abs(t, v, MPFR_RNDN);
                mpfr_add(sum, sum, t, MPFR_RNDN);
            }
        }
        if (squares)
            mpfr_sqrt(sum, sum, MPFR_RNDN);
        mpfr_div(out->at[i], x->at[i], sum, MPFR_RNDN);
    }
    mpfr_clears(sum, t, (mpfr_ptr)0);
    return true;
}

/* x / (bias + alpha / size * sum of squares of the near channels) ^ beta */
bool lrn_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    int64_t size = call_int(node->call, "size", 1), before = (size - 1) / 2, behind = size - 1 - before;
    mpfr_t sum, t;
    mpfr_inits(sum, t, (mpfr_ptr)0);
    for (size_t i = 0; i < x->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &x->shape, index);
        int64_t channel = index[1];
        mpfr_set_zero(sum, 1);
        for (index[1] = channel - before; index[1] <= channel + behind; index[1]++)
            if (index[1] >= 0 && index[1] < x->shape.dims[1])
                add_product(sum, x->at[place_of(&x->shape, index)], x->at[place_of(&x->shape, index)]);
        mpfr_mul_d(sum, sum, call_float(node->call, "alpha", (double)1e-4f), MPFR_RNDN);
        mpfr_div_ui(sum, sum, (unsigned long)size, MPFR_RNDN);
        mpfr_add_d(sum, sum, call_float(node->call, "bias", 1), MPFR_RNDN);
        mpfr_set_d(t, call_float(node->call, "beta", 0.75), MPFR_RNDN);
        mpfr_pow(sum, sum, t, MPFR_RNDN);
        mpfr_div(out->at[i], x->at[i], sum, MPFR_RNDN);
    }
    mpfr_clears(sum, t, (mpfr_ptr)0);
    return true;
}

/* y = scale (x - mean) / sqrt(variance + epsilon) + bias; no bias: NULL */
static void normalise(const struct node *node, mpfr_t y, mpfr_srcptr x, mpfr_srcptr mean,
                      mpfr_srcptr variance, mpfr_srcptr scale, mpfr_srcptr bias)
{
    mpfr_t root;
    mpfr_init(root);
    mpfr_add_d(root, variance, call_float(node->call, "epsilon", (double)1e-5f), MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    mpfr_sub(y, x, mean, MPFR_RNDN);
    mpfr_div(y, y, root, MPFR_RNDN);
    mpfr_mul(y, y, scale, MPFR_RNDN);
    if (bias)
        mpfr_add(y, y, bias, MPFR_RNDN);
    mpfr_clear(root);
}

bool batch_norm_truth(const struct node *node, struct reals *out)
{
    const struct reals *in = node->in;
    for (size_t i = 0; i < in[0].count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &in[0].shape, index);
        size_t c = in[0].shape.rank < 2 ? 0 : (size_t)index[1];
        normalise(node, out->at[i], in[0].at[i], in[3].at[c], in[4].at[c], in[1].at[c], in[2].at[c]);
    }
    return true;
}

/* Mean and variance of a block. */
static void moments(const struct reals *x, size_t start, size_t count, mpfr_t mean, mpfr_t variance)
{
    mpfr_t d;
    mpfr_init(d);
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(variance, 1);
    for (size_t i = start; i < start + count; i++)
        mpfr_add(mean, mean, x->at[i], MPFR_RNDN);
    mpfr_div_ui(mean, mean, count, MPFR_RNDN);
    for (size_t i = start; i < start + count; i++) {
        mpfr_sub(d, x->at[i], mean, MPFR_RNDN);
        add_product(variance, d, d);
    }
    mpfr_div_ui(variance, variance, count, MPFR_RNDN);
    mpfr_clear(d);
}

/* Groups of channels; an instance is a group of one. */
bool group_norm_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    if (x->count == 0)
        return false;
    bool instance = strcmp(node->call->op->name, "InstanceNormalization") == 0;
    size_t channels = (size_t)x->shape.dims[1];
    size_t groups = instance ? channels : (size_t)call_int(node->call, "num_groups", 1);
    size_t block = x->count / (size_t)x->shape.dims[0] / groups, inner = block / (channels / groups);
    bool by_group = node->in[1].count == groups && groups != channels;
    mpfr_t mean, variance;
    mpfr_inits(mean, variance, (mpfr_ptr)0);
    for (size_t i = 0; i < x->count; i++) {
        size_t c = by_group ? i / block % groups : i / inner % channels;
        if (i % block == 0)
            moments(x, i, block, mean, variance);
        normalise(node, out->at[i], x->at[i], mean, variance, node->in[1].at[c], node->in[2].at[c]);
    }
    mpfr_clears(mean, variance, (mpfr_ptr)0);
    return true;
}

bool layer_norm_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    int axis = axis_of(call_int(node->call, "axis", -1), x->shape.rank);
    size_t block = 1;
    for (int i = axis; i < x->shape.rank; i++)
        block *= (size_t)x->shape.dims[i];
    mpfr_t mean, variance;
    mpfr_inits(mean, variance, (mpfr_ptr)0);
    for (size_t i = 0; i < x->count; i++) {
        if (i % block == 0)
            moments(x, i, block, mean, variance);
        mpfr_srcptr bias = NULL;
        if (node_has(node, 2))
            bias = node->in[2].at[place_broadcast(i, &x->shape, &node->in[2].shape)];
        normalise(node, out->at[i], x->at[i], mean, variance,
                  node->in[1].at[place_broadcast(i, &x->shape, &node->in[1].shape)], bias);
    }
    mpfr_clears(mean, variance, (mpfr_ptr)0);
    return true;
}

/* The number of the scale of element i: one for all, one for each index of the axis, or one for a block. */
static size_t grain(const struct node *node, size_t i)
{
    const struct shape *x = &node->in[0].shape, *scale = &node->in[1].shape;
    int64_t index[TENSOR_MAX_RANK];
    if (node->in[1].count == 1 && scale->rank <= 1)
        return 0;
    int axis = axis_of(call_int(node->call, "axis", 1), x->rank);
    index_of(i, x, index);
    if (scale->rank == 1)
        return (size_t)index[axis];
    index[axis] /= call_int(node->call, "block_size", 1);
    return place_of(scale, index);
}

/* saturate(round(x / scale) + zero point), ties to even */
bool quantize_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    for (size_t i = 0; i < x->count; i++) {
        size_t g = grain(node, i);
        mpfr_div(out->at[i], x->at[i], node->in[1].at[g], MPFR_RNDN);
        mpfr_rint_roundeven(out->at[i], out->at[i], MPFR_RNDN);
        if (node_has(node, 2))
            mpfr_add(out->at[i], out->at[i], node->in[2].at[g], MPFR_RNDN);
        if (mpfr_cmp_ld(out->at[i], dtype_lowest(out->type)) < 0)
            mpfr_set_ld(out->at[i], dtype_lowest(out->type), MPFR_RNDN);
        if (mpfr_cmp_ld(out->at[i], dtype_highest(out->type)) > 0)
            mpfr_set_ld(out->at[i], dtype_highest(out->type), MPFR_RNDN);
    }
    return true;
}

bool dequantize_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    for (size_t i = 0; i < x->count; i++) {
        size_t g = grain(node, i);
        mpfr_set(out->at[i], x->at[i], MPFR_RNDN);
        if (node_has(node, 2))
            mpfr_sub(out->at[i], out->at[i], node->in[2].at[g], MPFR_RNDN);
        mpfr_mul(out->at[i], out->at[i], node->in[1].at[g], MPFR_RNDN);
    }
    return true;
}

/* Min(max, Max(x, min)); NaN stays */
bool clip_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    for (size_t i = 0; i < x->count; i++) {
        mpfr_set(out->at[i], x->at[i], MPFR_RNDN);
        if (node_has(node, 1) && mpfr_less_p(out->at[i], node->in[1].at[0]))
            mpfr_set(out->at[i], node->in[1].at[0], MPFR_RNDN);
        if (node_has(node, 2) && mpfr_greater_p(out->at[i], node->in[2].at[0]))
            mpfr_set(out->at[i], node->in[2].at[0], MPFR_RNDN);
    }
    return true;
}
