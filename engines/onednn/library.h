/*
 * oneDNN's primitives as functions on plain views of tensors. What differs between 2.x and 3.x is in api.h.
 *
 * Every function makes one primitive (with the implementation that the knob impl selects), runs it once and
 * frees it. Where the library wants another memory layout than a view has, its own reorder converts the data.
 * Functions fail with ERROR_UNSUPPORTED when the library has no such primitive, and with ERROR_INVALID when
 * it calls the arguments invalid.
 */
#ifndef ONEDNN_LIBRARY_H
#define ONEDNN_LIBRARY_H

#include "base/error.h"
#include "base/str.h"
#include "tensor/tensor.h"

#include <oneapi/dnnl/dnnl.h>

enum layout {
    LAYOUT_ANY,   /* the library chooses, for convolutions and matrix products */
    LAYOUT_PLAIN, /* row-major everywhere */
    LAYOUT_NHWC,  /* channels last, where there are channels */
};

struct library;

int library_open(struct library **library, const char *isa, const char *impl, enum layout layout,
                 struct str *version, struct error *err);
/* From now on each primitive that runs is told by its kind and implementation: "convolution jit:avx2". */
typedef void library_teller(void *context, const char *kernel);
void library_tell(struct library *library, library_teller *tell, void *context);
void library_close(struct library *library);

/* Elements with the type, dimensions and strides that the library should see. Rank is at least 1: a scalar is
 * one element of rank 1. */
struct view {
    dnnl_data_type_t type;
    int rank;
    dnnl_dims_t dims, strides;
    void *data;
};
dnnl_data_type_t library_type(enum dtype type); /* dnnl_data_type_undef when the library has no such type */
struct view view_of(const struct tensor *tensor);
struct view view_as(const struct tensor *tensor, int rank, const int64_t *dims); /* another dense shape */
struct view view_transposed(const struct view *view, const int64_t *permutation);
struct view view_floats(float *data, int rank, const int64_t *dims);

/* The geometry of a window; a dilation of 1 means none, as in ONNX. */
struct window {
    dnnl_dims_t kernel, strides, dilations, before, after;
};

int library_eltwise(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                    float alpha, float beta, struct error *err);
int library_binary(struct library *lib, dnnl_alg_kind_t kind, const struct view *a, const struct view *b,
                   const struct view *dst, struct error *err);
int library_convolution(struct library *lib, bool transposed, const struct view *src,
                        const struct view *weights, const struct view *bias, const struct view *dst,
                        const struct window *window, struct error *err);
int library_matmul(struct library *lib, const struct view *a, const struct view *b, const struct view *bias,
                   const struct view *dst, struct error *err);
int library_softmax(struct library *lib, bool logarithm, const struct view *src, const struct view *dst,
                    int axis, struct error *err);
int library_pool(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                 const struct window *window, struct error *err);
int library_lrn(struct library *lib, const struct view *src, const struct view *dst, int64_t size,
                float alpha, float beta, float k, struct error *err);
/* When mean and variance are NULL they are computed from src. */
int library_batchnorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err);
/* shift may be NULL; mean and variance are written. */
int library_layernorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err);
int library_reduction(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                      const struct view *dst, float p, struct error *err);
int library_resampling(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                       const struct view *dst, const float *factors, struct error *err);
int library_prelu(struct library *lib, const struct view *src, const struct view *slope,
                  const struct view *dst, struct error *err);
int library_reorder(struct library *lib, const struct view *src, const struct view *dst, struct error *err);
int library_concat(struct library *lib, size_t count, const struct view *srcs, int axis,
                   const struct view *dst, struct error *err);
int library_sum(struct library *lib, size_t count, const struct view *srcs, const float *scales,
                const struct view *dst, struct error *err);

/*
 * Backward primitives (library_backward.c), from diff_dst to diff_src and the like. Outputs that are NULL are
 * not computed. What a primitive needs of the forward one is computed again, by the library.
 */
int library_eltwise_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                             const struct view *diff_dst, const struct view *diff_src, float alpha,
                             float beta, struct error *err);
int library_convolution_backward(struct library *lib, bool transposed, const struct view *src,
                                 const struct view *weights, const struct view *diff_dst,
                                 const struct view *diff_src, const struct view *diff_weights,
                                 const struct view *diff_bias, const struct window *window,
                                 struct error *err);
int library_softmax_backward(struct library *lib, bool logarithm, const struct view *dst,
                             const struct view *diff_dst, const struct view *diff_src, int axis,
                             struct error *err);
int library_pool_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                          const struct view *diff_dst, const struct view *diff_src,
                          const struct window *window, struct error *err);
int library_lrn_backward(struct library *lib, const struct view *src, const struct view *diff_dst,
                         const struct view *diff_src, int64_t size, float alpha, float beta, float k,
                         struct error *err);
/* A normalisation; mean and variance are read, and all three outputs are written. `given` says that the
 * statistics do not depend on src. */
struct normalization {
    const struct view *src, *scale, *shift, *mean, *variance, *diff_dst, *diff_src, *diff_scale, *diff_shift;
    float epsilon;
    bool given;
};
int library_batchnorm_backward(struct library *lib, const struct normalization *n, struct error *err);
int library_layernorm_backward(struct library *lib, const struct normalization *n, struct error *err);
/* Writes the mean and variance of src, as batch normalisation takes them. */
int library_statistics(struct library *lib, const struct normalization *n, struct error *err);
int library_resampling_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *diff_dst,
                                const struct view *diff_src, struct error *err);
int library_prelu_backward(struct library *lib, const struct view *src, const struct view *slope,
                           const struct view *diff_dst, const struct view *diff_src,
                           const struct view *diff_slope, struct error *err);

/* A recurrent layer in the library's own shapes: tnc, ldnc, ldigo, ldgo. Views left NULL are absent. */
struct recurrent {
    dnnl_alg_kind_t cell, activation;
    dnnl_rnn_direction_t direction;
    const struct view *src, *src_h, *src_c, *weights, *recurrence, *peephole, *bias, *dst, *dst_h, *dst_c;
};
int library_recurrent(struct library *lib, const struct recurrent *layer, struct error *err);

#endif
