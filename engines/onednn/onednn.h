/* The functions that compute operators by oneDNN, by source file; onednn.c has the table. "kind" is the row's
 * kind. */
#ifndef ONEDNN_ONEDNN_H
#define ONEDNN_ONEDNN_H

#include "library.h"
#include "walker.h"

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

/* ops_contract.c */
int run_conv(struct walk_call *call); /* kind: transposed */
int run_matmul(struct walk_call *call);
int run_gemm(struct walk_call *call);

/* ops_normalize.c */
int run_softmax(struct walk_call *call); /* kind: logarithm */
int run_pool(struct walk_call *call);
int run_global_pool(struct walk_call *call);
int run_lrn(struct walk_call *call);
int run_batchnorm(struct walk_call *call);
int run_instancenorm(struct walk_call *call); /* kind: groups */
int run_layernorm(struct walk_call *call);
int run_reduction(struct walk_call *call);

/* ops_layout.c */
int run_transpose(struct walk_call *call);
int run_cast(struct walk_call *call);
int run_concat(struct walk_call *call);
int run_depth_to_space(struct walk_call *call);
int run_space_to_depth(struct walk_call *call);
int run_resize(struct walk_call *call);

/* ops_recurrent.c; kind: the library's cell */
int run_recurrent(struct walk_call *call);

#endif
