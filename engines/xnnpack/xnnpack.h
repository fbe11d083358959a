/* The functions that compute operators by XNNPACK, by source file; xnnpack.c has the table. "kind" is the
 * row's kind. */
#ifndef XNNPACK_XNNPACK_H
#define XNNPACK_XNNPACK_H

#include "net.h"

/* ops_elementwise.c */
enum unary {
    UNARY_ABS,
    UNARY_ROUND,
    UNARY_CEIL,
    UNARY_FLOOR,
    UNARY_HARD_SWISH,
    UNARY_NEG,
    UNARY_SIGMOID,
    UNARY_SQRT
};
enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_MAX, BINARY_MIN };
int run_unary(struct walk_call *call);
int run_clip(struct walk_call *call); /* kind 1: Relu */
int run_elu(struct walk_call *call);
int run_leaky_relu(struct walk_call *call);
int run_hard_sigmoid(struct walk_call *call);
int run_reciprocal(struct walk_call *call);
int run_pow(struct walk_call *call);
int run_binary(struct walk_call *call);
int run_variadic(struct walk_call *call);
int run_prelu(struct walk_call *call);
int run_softmax(struct walk_call *call);

/* ops_image.c */
int run_conv(struct walk_call *call);
int run_conv_transpose(struct walk_call *call);
int run_average_pool(struct walk_call *call);
int run_max_pool(struct walk_call *call);
int run_global_average_pool(struct walk_call *call);
int run_global_max_pool(struct walk_call *call);
int run_reduce_mean(struct walk_call *call);
int run_depth_to_space(struct walk_call *call);
int run_resize(struct walk_call *call);

/* ops_matrix.c */
int run_gemm(struct walk_call *call);
int run_matmul(struct walk_call *call);
int run_pad(struct walk_call *call);
int run_reshape(struct walk_call *call);

#endif
