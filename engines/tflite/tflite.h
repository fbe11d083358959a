/* The functions that compute operators by TensorFlow Lite, by source file; rows.c has the table. "kind" is
 * the row's kind: mostly the library's operator. */
#ifndef TFLITE_TFLITE_H
#define TFLITE_TFLITE_H

#include "net.h"

/* The numbers of the option tables in the schema's union BuiltinOptions. */
enum {
    OPTIONS_CONV_2D = 1,
    OPTIONS_DEPTHWISE_CONV_2D = 2,
    OPTIONS_POOL_2D = 5,
    OPTIONS_FULLY_CONNECTED = 8,
    OPTIONS_SOFTMAX = 9,
    OPTIONS_CONCATENATION = 10,
    OPTIONS_ADD = 11,
    OPTIONS_LOCAL_RESPONSE_NORMALIZATION = 13,
    OPTIONS_RESIZE_BILINEAR = 15,
    OPTIONS_SPACE_TO_DEPTH = 19,
    OPTIONS_MUL = 21,
    OPTIONS_GATHER = 23,
    OPTIONS_REDUCER = 27,
    OPTIONS_SUB = 28,
    OPTIONS_DIV = 29,
    OPTIONS_STRIDED_SLICE = 32,
    OPTIONS_CAST = 37,
    OPTIONS_ARG_MAX = 40,
    OPTIONS_TRANSPOSE_CONV = 49,
    OPTIONS_ARG_MIN = 57,
    OPTIONS_ONE_HOT = 61,
    OPTIONS_RESIZE_NEAREST_NEIGHBOR = 74,
    OPTIONS_LEAKY_RELU = 75,
    OPTIONS_MIRROR_PAD = 77,
    OPTIONS_SPLIT_V = 79,
    OPTIONS_REVERSE_SEQUENCE = 87,
    OPTIONS_DEPTH_TO_SPACE = 94,
    OPTIONS_BATCH_MATMUL = 101,
    OPTIONS_CUMSUM = 102,
    OPTIONS_CONV_3D = 106,
    OPTIONS_GELU = 116
};

/* rows.c: the table of all of them. */
extern const struct walk_row lite_rows[];

/* ops_elementwise.c */
int run_unary(struct walk_call *call);
int run_elu(struct walk_call *call);
int run_leaky_relu(struct walk_call *call);
int run_gelu(struct walk_call *call);
int run_clip(struct walk_call *call);
int run_reciprocal(struct walk_call *call);
int run_binary(struct walk_call *call);
int run_mod(struct walk_call *call);
int run_variadic(struct walk_call *call);
int run_mean(struct walk_call *call);
int run_prelu(struct walk_call *call);
int run_where(struct walk_call *call);
int run_cast(struct walk_call *call);

/* ops_reduce.c */
int run_reduce(struct walk_call *call);
int run_reduce_of_squares(struct walk_call *call); /* kind 1: the root of the sum */
int run_reduce_l1(struct walk_call *call);
int run_arg(struct walk_call *call);
int run_softmax(struct walk_call *call);
int run_cumsum(struct walk_call *call);
int run_topk(struct walk_call *call);
int run_lrn(struct walk_call *call);
int run_global_pool(struct walk_call *call);

/* ops_window.c */
int run_conv(struct walk_call *call);
int run_conv_transpose(struct walk_call *call);
int run_max_pool(struct walk_call *call);
int run_average_pool(struct walk_call *call);

/* ops_matrix.c */
int run_gemm(struct walk_call *call);
int run_matmul(struct walk_call *call);

/* ops_move.c */
int run_reshape(struct walk_call *call);
int run_transpose(struct walk_call *call);
int run_concat(struct walk_call *call);
int run_split(struct walk_call *call);
int run_slice(struct walk_call *call);
int run_gather(struct walk_call *call);
int run_gather_nd(struct walk_call *call);
int run_pad(struct walk_call *call);
int run_tile(struct walk_call *call);
int run_expand(struct walk_call *call);
int run_one_hot(struct walk_call *call);
int run_reverse_sequence(struct walk_call *call);

/* ops_image.c */
int run_depth_to_space(struct walk_call *call);
int run_space_to_depth(struct walk_call *call);
int run_resize(struct walk_call *call);

/* ops_quantized.c */
int run_quantize(struct walk_call *call);
int run_dequantize(struct walk_call *call);
int run_qlinear_conv(struct walk_call *call);
int run_qlinear_matmul(struct walk_call *call);

/* ops_window.c, for convolutions of any element type. conv_add appends the operator to tensors that are there
 * (no bias: NONE), and finishes the net. */
struct conv_tensors {
    int x, weights, bias, y;
};
bool conv_is_depthwise(const struct walk_call *call, const struct tensor *weights);
int conv_weights(struct net *net, const struct tensor *weights);
int conv_add(struct net *net, struct conv_tensors *t, const struct tensor *weights);

#endif
