/*
 * The part of oneDNN's API that differs between 2.x and 3.x: memory descriptors, and how a primitive is
 * described and its implementations are enumerated. api2.c and api3.c define the same functions; one of them
 * is compiled. The propagation kind is forward inference, or forward training when the pick says so
 * (layernorm always, which gives mean and variance then). A NULL descriptor is an argument that is left out.
 */
#ifndef ONEDNN_API_H
#define ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>

/* A memory descriptor. */
struct md;
dnnl_status_t md_strided(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                         const dnnl_dims_t strides);
dnnl_status_t md_any(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type);
void md_free(struct md *md);
bool md_equal(const struct md *a, const struct md *b);
bool md_is_nothing(const struct md *md);      /* NULL, or without dimensions */
const struct md *md_of(dnnl_memory_t memory); /* the descriptor of a memory */
dnnl_status_t api_memory(dnnl_memory_t *memory, const struct md *md, dnnl_engine_t engine, void *data);

/* Enumerates the implementations of a primitive, one at a time. */
struct pick {
    dnnl_primitive_desc_t pd;
    void *more; /* 2.x: the iterator */
    void *op;   /* 2.x: the operation descriptor whose implementations it enumerates */
    bool training;
};
bool pick_next(struct pick *pick); /* the next implementation; false when there is none */
void pick_release(struct pick *pick);
/* What a forward primitive leaves for its backward one. */
const struct md *pick_workspace(const struct pick *pick);
/* The memory descriptor that it wants for this argument. */
const struct md *pick_argument(const struct pick *pick, int argument);

/* A window; dilations are counted from 0. */
struct api_window {
    dnnl_dims_t kernel, strides, dilations, before, after;
};

/* Each of these sets the pick to the first implementation of a primitive. */
dnnl_status_t api_eltwise(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *md,
                          float alpha, float beta);
dnnl_status_t api_binary(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *a,
                         const struct md *b, const struct md *dst);
dnnl_status_t api_convolution(struct pick *pick, dnnl_engine_t engine, bool transposed, const struct md *src,
                              const struct md *weights, const struct md *bias, const struct md *dst,
                              const struct api_window *window);
dnnl_status_t api_matmul(struct pick *pick, dnnl_engine_t engine, const struct md *a, const struct md *b,
                         const struct md *bias, const struct md *dst);
dnnl_status_t api_softmax(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                          const struct md *dst, int axis);
dnnl_status_t api_pool(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                       const struct md *dst, const struct api_window *window);
dnnl_status_t api_lrn(struct pick *pick, dnnl_engine_t engine, const struct md *md, dnnl_dim_t size,
                      float alpha, float beta, float k);
dnnl_status_t api_batchnorm(struct pick *pick, dnnl_engine_t engine, const struct md *md, float epsilon,
                            unsigned flags);
dnnl_status_t api_layernorm(struct pick *pick, dnnl_engine_t engine, const struct md *md,
                            const struct md *statistics, float epsilon, unsigned flags);
dnnl_status_t api_reduction(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                            const struct md *src, const struct md *dst, float p);
dnnl_status_t api_resampling(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                             const float *factors, const struct md *src, const struct md *dst);
dnnl_status_t api_prelu(struct pick *pick, dnnl_engine_t engine, const struct md *md, const struct md *slope);
dnnl_status_t api_reorder(struct pick *pick, dnnl_engine_t engine, const struct md *from,
                          const struct md *to);
dnnl_status_t api_concat(struct pick *pick, dnnl_engine_t engine, int count, int axis,
                         const struct md *const *srcs, const struct md *dst);
dnnl_status_t api_sum(struct pick *pick, dnnl_engine_t engine, int count, const float *scales,
                      const struct md *const *srcs, const struct md *dst);

/*
 * Backward primitives; `hint` is the forward one, in training. Of a convolution either diff_src is given, for
 * the derivatives by the data, or src with diff_weights and perhaps diff_bias.
 */
dnnl_status_t api_eltwise_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff, const struct md *data,
                                   float alpha, float beta);
dnnl_status_t api_convolution_backward_data(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                            bool transposed, const struct md *diff_src,
                                            const struct md *weights, const struct md *diff_dst,
                                            const struct api_window *window);
dnnl_status_t api_convolution_backward_weights(struct pick *pick, dnnl_engine_t engine,
                                               const struct pick *hint, bool transposed, const struct md *src,
                                               const struct md *diff_weights, const struct md *diff_bias,
                                               const struct md *diff_dst, const struct api_window *window);
dnnl_status_t api_softmax_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                   const struct md *dst, int axis);
dnnl_status_t api_pool_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                const struct api_window *window);
dnnl_status_t api_lrn_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                               const struct md *diff, const struct md *data, dnnl_dim_t size, float alpha,
                               float beta, float k);
dnnl_status_t api_batchnorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data, float epsilon,
                                     unsigned flags);
dnnl_status_t api_layernorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data,
                                     const struct md *statistics, float epsilon, unsigned flags);
dnnl_status_t api_resampling_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                      dnnl_alg_kind_t kind, const struct md *diff_src,
                                      const struct md *diff_dst);
dnnl_status_t api_prelu_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                 const struct md *data, const struct md *slope, const struct md *diff,
                                 const struct md *diff_slope);

struct api_recurrent {
    dnnl_alg_kind_t cell, activation;
    dnnl_rnn_direction_t direction;
    const struct md *src, *src_h, *src_c, *weights, *recurrence, *peephole, *bias, *dst, *dst_h, *dst_c;
};
dnnl_status_t api_recurrent(struct pick *pick, dnnl_engine_t engine, const struct api_recurrent *layer);

#endif
