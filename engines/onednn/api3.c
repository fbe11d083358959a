/* oneDNN 3.x: descriptors are the library's objects, and a primitive's description walks its implementations
 * itself. */
#include "api.h"

#include <stdint.h>

static dnnl_prop_kind_t forward(const struct pick *pick)
{
    return pick->training ? dnnl_forward_training : dnnl_forward_inference;
}

static const_dnnl_memory_desc_t raw(const struct md *md)
{
    return (const_dnnl_memory_desc_t)md;
}

dnnl_status_t md_strided(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                         const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides((dnnl_memory_desc_t *)md, rank, dims, type, strides);
}

dnnl_status_t md_any(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_tag((dnnl_memory_desc_t *)md, rank, dims, type, dnnl_format_tag_any);
}

void md_free(struct md *md)
{
    dnnl_memory_desc_destroy((dnnl_memory_desc_t)md);
}

bool md_equal(const struct md *a, const struct md *b)
{
    return dnnl_memory_desc_equal(raw(a), raw(b));
}

bool md_is_nothing(const struct md *md)
{
    int rank = 0;
    return !md || dnnl_memory_desc_query(raw(md), dnnl_query_ndims_s32, &rank) != dnnl_success || rank == 0;
}

const struct md *md_of(dnnl_memory_t memory)
{
    const_dnnl_memory_desc_t md = NULL;
    dnnl_memory_get_memory_desc(memory, &md);
    return (const struct md *)md;
}

dnnl_status_t api_memory(dnnl_memory_t *memory, const struct md *md, dnnl_engine_t engine, void *data)
{
    return dnnl_memory_create(memory, raw(md), engine, data);
}

bool pick_next(struct pick *pick)
{
    return dnnl_primitive_desc_next_impl(pick->pd) == dnnl_success;
}

void pick_release(struct pick *pick)
{
    dnnl_primitive_desc_destroy(pick->pd);
    *pick = (struct pick){0};
}

const struct md *pick_workspace(const struct pick *pick)
{
    return (const struct md *)dnnl_primitive_desc_query_md(pick->pd, dnnl_query_workspace_md, 0);
}

const struct md *pick_argument(const struct pick *pick, int argument)
{
    return (const struct md *)dnnl_primitive_desc_query_md(pick->pd, dnnl_query_exec_arg_md, argument);
}

/* HardSwish is fixed in 2.x and has parameters in 3.x. */
static void hardswish(dnnl_alg_kind_t kind, float *alpha, float *beta)
{
    if (kind == dnnl_eltwise_hardswish) {
        *alpha = 1.0F / 6;
        *beta = 0.5F;
    }
}

dnnl_status_t api_eltwise(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *md,
                          float alpha, float beta)
{
    hardswish(kind, &alpha, &beta);
    return dnnl_eltwise_forward_primitive_desc_create(&pick->pd, engine, forward(pick), kind, raw(md),
                                                      raw(md), alpha, beta, NULL);
}

dnnl_status_t api_binary(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *a,
                         const struct md *b, const struct md *dst)
{
    return dnnl_binary_primitive_desc_create(&pick->pd, engine, kind, raw(a), raw(b), raw(dst), NULL);
}

dnnl_status_t api_convolution(struct pick *pick, dnnl_engine_t engine, bool transposed, const struct md *src,
                              const struct md *weights, const struct md *bias, const struct md *dst,
                              const struct api_window *w)
{
    if (transposed)
        return dnnl_deconvolution_forward_primitive_desc_create(
            &pick->pd, engine, forward(pick), dnnl_deconvolution_direct, raw(src), raw(weights), raw(bias),
            raw(dst), w->strides, w->dilations, w->before, w->after, NULL);
    return dnnl_convolution_forward_primitive_desc_create(
        &pick->pd, engine, forward(pick), dnnl_convolution_auto, raw(src), raw(weights), raw(bias), raw(dst),
        w->strides, w->dilations, w->before, w->after, NULL);
}

dnnl_status_t api_matmul(struct pick *pick, dnnl_engine_t engine, const struct md *a, const struct md *b,
                         const struct md *bias, const struct md *dst)
{
    return dnnl_matmul_primitive_desc_create(&pick->pd, engine, raw(a), raw(b), raw(bias), raw(dst), NULL);
}

dnnl_status_t api_softmax(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                          const struct md *dst, int axis)
{
    return dnnl_softmax_forward_primitive_desc_create(&pick->pd, engine, forward(pick), kind, raw(src),
                                                      raw(dst), axis, NULL);
}

dnnl_status_t api_pool(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                       const struct md *dst, const struct api_window *w)
{
    return dnnl_pooling_forward_primitive_desc_create(&pick->pd, engine, forward(pick), kind, raw(src),
                                                      raw(dst), w->strides, w->kernel, w->dilations,
                                                      w->before, w->after, NULL);
}

dnnl_status_t api_lrn(struct pick *pick, dnnl_engine_t engine, const struct md *md, dnnl_dim_t size,
                      float alpha, float beta, float k)
{
    return dnnl_lrn_forward_primitive_desc_create(&pick->pd, engine, forward(pick), dnnl_lrn_across_channels,
                                                  raw(md), raw(md), size, alpha, beta, k, NULL);
}

dnnl_status_t api_batchnorm(struct pick *pick, dnnl_engine_t engine, const struct md *md, float epsilon,
                            unsigned flags)
{
    return dnnl_batch_normalization_forward_primitive_desc_create(&pick->pd, engine, forward(pick), raw(md),
                                                                  raw(md), epsilon, flags, NULL);
}

dnnl_status_t api_layernorm(struct pick *pick, dnnl_engine_t engine, const struct md *md,
                            const struct md *statistics, float epsilon, unsigned flags)
{
    return dnnl_layer_normalization_forward_primitive_desc_create(
        &pick->pd, engine, dnnl_forward_training, raw(md), raw(md), raw(statistics), epsilon, flags, NULL);
}

dnnl_status_t api_reduction(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                            const struct md *src, const struct md *dst, float p)
{
    return dnnl_reduction_primitive_desc_create(&pick->pd, engine, kind, raw(src), raw(dst), p, 0, NULL);
}

dnnl_status_t api_resampling(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                             const float *factors, const struct md *src, const struct md *dst)
{
    return dnnl_resampling_forward_primitive_desc_create(&pick->pd, engine, forward(pick), kind, factors,
                                                         raw(src), raw(dst), NULL);
}

dnnl_status_t api_prelu(struct pick *pick, dnnl_engine_t engine, const struct md *md, const struct md *slope)
{
    return dnnl_prelu_forward_primitive_desc_create(&pick->pd, engine, forward(pick), raw(md), raw(slope),
                                                    raw(md), NULL);
}

dnnl_status_t api_reorder(struct pick *pick, dnnl_engine_t engine, const struct md *from, const struct md *to)
{
    return dnnl_reorder_primitive_desc_create(&pick->pd, raw(from), engine, raw(to), engine, NULL);
}

dnnl_status_t api_concat(struct pick *pick, dnnl_engine_t engine, int count, int axis,
                         const struct md *const *srcs, const struct md *dst)
{
    return dnnl_concat_primitive_desc_create(&pick->pd, engine, raw(dst), count, axis,
                                             (const const_dnnl_memory_desc_t *)srcs, NULL);
}

dnnl_status_t api_sum(struct pick *pick, dnnl_engine_t engine, int count, const float *scales,
                      const struct md *const *srcs, const struct md *dst)
{
    return dnnl_sum_primitive_desc_create(&pick->pd, engine, raw(dst), count, scales,
                                          (const const_dnnl_memory_desc_t *)srcs, NULL);
}

dnnl_status_t api_recurrent(struct pick *pick, dnnl_engine_t engine, const struct api_recurrent *r)
{
    const_dnnl_memory_desc_t x = raw(r->src), h = raw(r->src_h), w = raw(r->weights), u = raw(r->recurrence);
    const_dnnl_memory_desc_t b = raw(r->bias), y = raw(r->dst), y_h = raw(r->dst_h);
    switch (r->cell) {
    case dnnl_vanilla_lstm:
        return dnnl_lstm_forward_primitive_desc_create(&pick->pd, engine, forward(pick), r->direction, x, h,
                                                       raw(r->src_c), w, u, raw(r->peephole), NULL, b, y, y_h,
                                                       raw(r->dst_c), 0, NULL);
    case dnnl_vanilla_gru:
        return dnnl_gru_forward_primitive_desc_create(&pick->pd, engine, forward(pick), r->direction, x, h, w,
                                                      u, b, y, y_h, 0, NULL);
    case dnnl_lbr_gru:
        return dnnl_lbr_gru_forward_primitive_desc_create(&pick->pd, engine, forward(pick), r->direction, x,
                                                          h, w, u, b, y, y_h, 0, NULL);
    default:
        return dnnl_vanilla_rnn_forward_primitive_desc_create(&pick->pd, engine, forward(pick), r->activation,
                                                              r->direction, x, h, w, u, b, y, y_h, 0, 0, 0,
                                                              NULL);
    }
}

dnnl_status_t api_eltwise_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff, const struct md *data,
                                   float alpha, float beta)
{
    hardswish(kind, &alpha, &beta);
    return dnnl_eltwise_backward_primitive_desc_create(&pick->pd, engine, kind, raw(diff), raw(diff),
                                                       raw(data), alpha, beta, hint->pd, NULL);
}

dnnl_status_t api_convolution_backward_data(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                            bool transposed, const struct md *diff_src,
                                            const struct md *weights, const struct md *diff_dst,
                                            const struct api_window *w)
{
    if (transposed)
        return dnnl_deconvolution_backward_data_primitive_desc_create(
            &pick->pd, engine, dnnl_deconvolution_direct, raw(diff_src), raw(weights), raw(diff_dst),
            w->strides, w->dilations, w->before, w->after, hint->pd, NULL);
    return dnnl_convolution_backward_data_primitive_desc_create(
        &pick->pd, engine, dnnl_convolution_direct, raw(diff_src), raw(weights), raw(diff_dst), w->strides,
        w->dilations, w->before, w->after, hint->pd, NULL);
}

dnnl_status_t api_convolution_backward_weights(struct pick *pick, dnnl_engine_t engine,
                                               const struct pick *hint, bool transposed, const struct md *src,
                                               const struct md *diff_weights, const struct md *diff_bias,
                                               const struct md *diff_dst, const struct api_window *w)
{
    if (transposed)
        return dnnl_deconvolution_backward_weights_primitive_desc_create(
            &pick->pd, engine, dnnl_deconvolution_direct, raw(src), raw(diff_weights), raw(diff_bias),
            raw(diff_dst), w->strides, w->dilations, w->before, w->after, hint->pd, NULL);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        &pick->pd, engine, dnnl_convolution_direct, raw(src), raw(diff_weights), raw(diff_bias),
        raw(diff_dst), w->strides, w->dilations, w->before, w->after, hint->pd, NULL);
}

dnnl_status_t api_softmax_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                   const struct md *dst, int axis)
{
    return dnnl_softmax_backward_primitive_desc_create(&pick->pd, engine, kind, raw(diff_src), raw(diff_dst),
                                                       raw(dst), axis, hint->pd, NULL);
}

dnnl_status_t api_pool_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                const struct api_window *w)
{
    return dnnl_pooling_backward_primitive_desc_create(&pick->pd, engine, kind, raw(diff_src), raw(diff_dst),
                                                       w->strides, w->kernel, w->dilations, w->before,
                                                       w->after, hint->pd, NULL);
}

dnnl_status_t api_lrn_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                               const struct md *diff, const struct md *data, dnnl_dim_t size, float alpha,
                               float beta, float k)
{
    return dnnl_lrn_backward_primitive_desc_create(&pick->pd, engine, dnnl_lrn_across_channels, raw(diff),
                                                   raw(diff), raw(data), size, alpha, beta, k, hint->pd,
                                                   NULL);
}

dnnl_status_t api_batchnorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data, float epsilon,
                                     unsigned flags)
{
    return dnnl_batch_normalization_backward_primitive_desc_create(
        &pick->pd, engine, dnnl_backward, raw(diff), raw(diff), raw(data), epsilon, flags, hint->pd, NULL);
}

dnnl_status_t api_layernorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data,
                                     const struct md *statistics, float epsilon, unsigned flags)
{
    return dnnl_layer_normalization_backward_primitive_desc_create(
        &pick->pd, engine, dnnl_backward, raw(diff), raw(diff), raw(data), raw(statistics), epsilon, flags,
        hint->pd, NULL);
}

dnnl_status_t api_resampling_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                      dnnl_alg_kind_t kind, const struct md *diff_src,
                                      const struct md *diff_dst)
{
    return dnnl_resampling_backward_primitive_desc_create(&pick->pd, engine, kind, NULL, raw(diff_src),
                                                          raw(diff_dst), hint->pd, NULL);
}

dnnl_status_t api_prelu_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                 const struct md *data, const struct md *slope, const struct md *diff,
                                 const struct md *diff_slope)
{
    return dnnl_prelu_backward_primitive_desc_create(&pick->pd, engine, raw(data), raw(slope), raw(diff),
                                                     raw(diff_slope), raw(diff), hint->pd, NULL);
}
