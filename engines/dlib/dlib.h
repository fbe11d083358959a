/*
 * dlib's operators as rows of the walker's table. A node that dlib's functions cannot express is unsupported.
 * Their documented conditions are checked here, because the library does not check them.
 */
#ifndef DLIB_DLIB_H
#define DLIB_DLIB_H

#include "face.h"
#include "walker.h"

/*
 * dlib_take adds an input of the node to the call, dlib_give sets its first output, both with four dimensions
 * whose product must be the number of elements. Tensors that are not float32 are unsupported, and so are
 * empty ones, which dlib's matrices cannot represent.
 */
int dlib_take(struct walk_call *call, struct face_call *face, size_t index, long long n, long long k,
              long long nr, long long nc);
int dlib_give(struct walk_call *call, struct face_call *face, long long n, long long k, long long nr,
              long long nc);
int dlib_run(struct walk_call *call, struct face_call *face);

/* Fails with ERROR_UNSUPPORTED when the tensor is not float32, or empty. */
int dlib_check(struct walk_call *call, const struct tensor *tensor);

/*
 * How an operand repeats in the output: neighbouring dims that both have, or that only the output has, become
 * one. dlib knows three patterns: before * both * after, where before or after may be 1. Other kinds of
 * broadcasting are unsupported.
 */
struct repeat {
    long long before, both, after;
};
int dlib_repeat(struct walk_call *call, size_t index, struct repeat *repeat);

/* N, C and one or two spatial dims as four. */
void dlib_image(const struct shape *shape, long long dims[4]);
/* The sizes, strides and paddings of Conv or a pool, of ConvTranspose, and of a global pool. */
int dlib_window(struct walk_call *call, const struct shape *filters, int window[6]);
int dlib_window_transposed(struct walk_call *call, const struct shape *filters, int window[6]);
int dlib_global_window(struct walk_call *call, int window[6]);
/* Softmax's dims: before, along and behind the axis. */
void dlib_softmax_dims(const struct walk_call *call, long long dims[3]);
long long dlib_product(const struct shape *shape, int from, int to); /* of dims */
/* The upper bound of Clip with a lower one of 0. Other bounds are unsupported. */
int dlib_ceiling(struct walk_call *call, float *ceiling);
float dlib_alpha(const struct walk_call *call); /* of LeakyRelu or Elu */

/* out += factor * input, with the input broadcast by ONNX's rules. */
int dlib_add_input(struct walk_call *call, size_t index, float factor);

int dlib_softmax(struct walk_call *call);
int dlib_matmul(struct walk_call *call);
int dlib_gemm(struct walk_call *call);
int dlib_conv(struct walk_call *call);
int dlib_conv_transpose(struct walk_call *call);
int dlib_pool(struct walk_call *call);
int dlib_global_pool(struct walk_call *call);
int dlib_batch_normalization(struct walk_call *call);
int dlib_reorg(struct walk_call *call);

/* dlib_gradient.c; the row's kind is that of the forward function */
int dlib_unary_gradient(struct walk_gradient *g);
int dlib_prelu_gradient(struct walk_gradient *g);
int dlib_clip_gradient(struct walk_gradient *g);
int dlib_add_gradient(struct walk_gradient *g);
int dlib_multiply_gradient(struct walk_gradient *g);
int dlib_softmax_gradient(struct walk_gradient *g);
int dlib_matmul_gradient(struct walk_gradient *g);
int dlib_gemm_gradient(struct walk_gradient *g);
int dlib_conv_gradient(struct walk_gradient *g);
int dlib_conv_transpose_gradient(struct walk_gradient *g);
int dlib_pool_gradient(struct walk_gradient *g);
int dlib_global_pool_gradient(struct walk_gradient *g);
int dlib_reorg_gradient(struct walk_gradient *g);

#endif
