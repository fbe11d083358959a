/* The functions that compute operators by oneDNN, by source file; onednn.c has the table. "kind" is the row's
 * kind. */
#ifndef ONEDNN_ONEDNN_H
#define ONEDNN_ONEDNN_H

#include "library.h"
#include "walker.h"

/* ops_broadcast.c. An operand with ones put before its dims, as the library wants all ranks alike. */
struct view view_aligned(const struct tensor *tensor, int rank);
bool view_covers(const struct view *view, const struct view *dst); /* has all its dims, repeats none */
size_t view_count(const struct view *view);
/* A dense view of the same type and dims whose elements (at most 4 bytes each, 0) the caller frees. */
struct view view_scratch(const struct view *like);
/* Sums over the dims in which `to` is 1 long, and the inverse: `from` repeated. By the library. */
int sum_to(struct walk_call *call, const struct view *from, const struct view *to);
int spread_to(struct walk_call *call, const struct view *from, const struct view *to);

/* ops_elementwise.c; kind: the library's algorithm */
int run_eltwise(struct walk_call *call);
int run_clip(struct walk_call *call);
int run_gelu(struct walk_call *call);
int run_hard_sigmoid(struct walk_call *call);
int run_selu(struct walk_call *call);
int run_pow(struct walk_call *call);
int run_binary(struct walk_call *call);
int run_variadic(struct walk_call *call);
int run_mean(struct walk_call *call);
int run_prelu(struct walk_call *call);
int grad_eltwise(struct walk_gradient *g);
int grad_clip(struct walk_gradient *g);
int grad_gelu(struct walk_gradient *g);
int grad_hard_sigmoid(struct walk_gradient *g);
int grad_selu(struct walk_gradient *g);
int grad_pow(struct walk_gradient *g);
int grad_binary(struct walk_gradient *g);
int grad_variadic(struct walk_gradient *g);
int grad_mean(struct walk_gradient *g);
int grad_prelu(struct walk_gradient *g);

/* ops_contract.c */
int run_conv(struct walk_call *call); /* kind: transposed */
int run_matmul(struct walk_call *call);
int run_gemm(struct walk_call *call);
int grad_conv(struct walk_gradient *g);
int grad_matmul(struct walk_gradient *g);
int grad_gemm(struct walk_gradient *g);

/* ops_normalize.c */
int run_softmax(struct walk_call *call); /* kind: logarithm */
int run_pool(struct walk_call *call);
int run_global_pool(struct walk_call *call);
int run_lrn(struct walk_call *call);
int run_batchnorm(struct walk_call *call);
int run_instancenorm(struct walk_call *call); /* kind: groups */
int run_layernorm(struct walk_call *call);
int run_reduction(struct walk_call *call);
int grad_softmax(struct walk_gradient *g);
int grad_pool(struct walk_gradient *g);
int grad_global_pool(struct walk_gradient *g);
int grad_lrn(struct walk_gradient *g);
int grad_batchnorm(struct walk_gradient *g);
int grad_instancenorm(struct walk_gradient *g);
int grad_layernorm(struct walk_gradient *g);
int grad_reduction(struct walk_gradient *g);

/* ops_layout.c */
int run_transpose(struct walk_call *call);
int run_cast(struct walk_call *call);
int run_concat(struct walk_call *call);
int run_depth_to_space(struct walk_call *call);
int run_space_to_depth(struct walk_call *call);
int run_resize(struct walk_call *call);
int grad_transpose(struct walk_gradient *g);
int grad_cast(struct walk_gradient *g);
int grad_concat(struct walk_gradient *g);
int grad_depth_to_space(struct walk_gradient *g);
int grad_space_to_depth(struct walk_gradient *g);
int grad_resize(struct walk_gradient *g);

/* ops_recurrent.c; kind: the library's cell */
int run_recurrent(struct walk_call *call);

#endif
