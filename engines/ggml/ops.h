/* The rows' functions, and the kinds that tell them apart. */
#ifndef GGML_OPS_H
#define GGML_OPS_H

#include "net.h"

enum { REDUCE_SUM, REDUCE_MEAN, REDUCE_SQUARES };
enum { NORM_CENTRED, NORM_RMS };

/* ops_elementwise.c */
int run_unary(struct walk_call *call);
int run_elu(struct walk_call *call);
int run_hard_sigmoid(struct walk_call *call);
int run_swish(struct walk_call *call);
int run_pow(struct walk_call *call);
int run_gelu(struct walk_call *call);
int run_leaky_relu(struct walk_call *call);
int run_clip(struct walk_call *call);
int run_binary(struct walk_call *call);

/* ops_matrix.c */
int run_gemm(struct walk_call *call);
int run_matmul(struct walk_call *call);

/* ops_attention.c */
int run_attention(struct walk_call *call);

/* ops_reduce.c */
int run_reduce(struct walk_call *call);
int run_softmax(struct walk_call *call);
int run_cumsum(struct walk_call *call);
int run_lp_normalization(struct walk_call *call);
int run_argmax(struct walk_call *call);
int run_top_k(struct walk_call *call);
int run_row_norm(struct walk_call *call);
int run_group_norm(struct walk_call *call);
int run_batch_norm(struct walk_call *call);

/* ops_move.c */
int run_concat(struct walk_call *call);
int run_transpose(struct walk_call *call);
int run_repeat(struct walk_call *call);
int run_pad(struct walk_call *call);
int run_slice(struct walk_call *call);
int run_split(struct walk_call *call);
int run_gather(struct walk_call *call);
int run_trilu(struct walk_call *call);
int run_resize(struct walk_call *call);

/* ops_window.c */
int run_conv(struct walk_call *call);
int run_conv_transpose(struct walk_call *call);
int run_pool(struct walk_call *call);
int run_global_pool(struct walk_call *call);

#endif
