/*
 * Small nodes, drawn as campaigns draw them, computed by the sentences of the ONNX text, each in its simplest
 * form: loops over all indices, no blocks, no tricks.
 */
#ifndef MATHEMATICS_NODES_H
#define MATHEMATICS_NODES_H

#include "truth.h"

enum { NODE_INPUTS = 8 };

/* A node with the true values of its inputs; an input that is omitted has no elements and no memory. */
struct node {
    const struct op_call *call;
    struct reals in[NODE_INPUTS];
};

/* Computes output 0; false: this form is not computed here. */
typedef bool node_truth(const struct node *node, struct reals *out);

node_truth reduce_truth, cumsum_truth, softmax_truth, lp_norm_truth, lrn_truth;
node_truth batch_norm_truth, group_norm_truth, layer_norm_truth;
node_truth matmul_truth, gemm_truth, conv_truth, conv_transpose_truth, einsum_truth;
node_truth pool_truth, global_pool_truth;
node_truth resize_truth, grid_sample_truth;
node_truth quantize_truth, dequantize_truth, clip_truth;

bool node_has(const struct node *node, size_t input);

/* Between the number of an element and its indices. */
void index_of(size_t at, const struct shape *shape, int64_t *index);
size_t place_of(const struct shape *shape, const int64_t *index);

/* The number of the element of `from`, which broadcasts to `to`, that belongs to element `at` of `to`. */
size_t place_broadcast(size_t at, const struct shape *to, const struct shape *from);

/* An axis that may be counted from the end. */
int axis_of(int64_t axis, int rank);

/* sum += a * b */
void add_product(mpfr_t sum, mpfr_srcptr a, mpfr_srcptr b);

#endif
