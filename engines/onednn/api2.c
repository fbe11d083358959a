/* oneDNN 2.x: descriptors are plain structs, a primitive is described first and its implementations are
 * walked by an iterator. */
#include "api.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct md {
    dnnl_memory_desc_t raw;
};

static const dnnl_memory_desc_t *raw(const struct md *md)
{
    return md ? &md->raw : NULL;
}

dnnl_status_t md_strided(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                         const dnnl_dims_t strides)
{
    *md = calloc(1, sizeof **md);
    return *md ? dnnl_memory_desc_init_by_strides(&(*md)->raw, rank, dims, type, strides)
               : dnnl_out_of_memory;
}

dnnl_status_t md_any(struct md **md, int rank, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    *md = calloc(1, sizeof **md);
    return *md ? dnnl_memory_desc_init_by_tag(&(*md)->raw, rank, dims, type, dnnl_format_tag_any)
               : dnnl_out_of_memory;
}

void md_free(struct md *md)
{
    free(md);
}

bool md_equal(const struct md *a, const struct md *b)
{
    return dnnl_memory_desc_equal(&a->raw, &b->raw);
}

bool md_is_nothing(const struct md *md)
{
    return !md || md->raw.ndims == 0;
}

const struct md *md_of(dnnl_memory_t memory)
{
    const dnnl_memory_desc_t *md = NULL;
    dnnl_memory_get_memory_desc(memory, &md);
    return (const struct md *)md;
}

dnnl_status_t api_memory(dnnl_memory_t *memory, const struct md *md, dnnl_engine_t engine, void *data)
{
    return dnnl_memory_create(memory, raw(md), engine, data);
}

bool pick_next(struct pick *pick)
{
    if (!pick->more)
        return false; /* reorder, concat and sum have no iterator: one implementation is offered */
    dnnl_primitive_desc_destroy(pick->pd);
    pick->pd = NULL;
    if (dnnl_primitive_desc_iterator_next(pick->more) != dnnl_success)
        return false;
    pick->pd = dnnl_primitive_desc_iterator_fetch(pick->more);
    return pick->pd != NULL;
}

void pick_release(struct pick *pick)
{
    dnnl_primitive_desc_destroy(pick->pd);
    if (pick->more)
        dnnl_primitive_desc_iterator_destroy(pick->more);
    free(pick->op);
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

/* The first implementation of what was described, unless describing it failed. The iterator does not copy the
 * description, and reads it again for every further implementation: the pick keeps one for it. */
static dnnl_status_t first_hinted(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                  dnnl_status_t described, const_dnnl_op_desc_t op, size_t size)
{
    dnnl_primitive_desc_iterator_t iterator;
    if (described != dnnl_success)
        return described;
    pick->op = memory_zeroed(1, size);
    memcpy(pick->op, op, size);
    dnnl_status_t status =
        dnnl_primitive_desc_iterator_create(&iterator, pick->op, NULL, engine, hint ? hint->pd : NULL);
    if (status != dnnl_success)
        return status;
    pick->more = iterator;
    pick->pd = dnnl_primitive_desc_iterator_fetch(iterator);
    return pick->pd ? dnnl_success : dnnl_unimplemented;
}

static dnnl_status_t first(struct pick *pick, dnnl_engine_t engine, dnnl_status_t described,
                           const_dnnl_op_desc_t op, size_t size)
{
    return first_hinted(pick, engine, NULL, described, op, size);
}

static dnnl_prop_kind_t forward(const struct pick *pick)
{
    return pick->training ? dnnl_forward_training : dnnl_forward_inference;
}

dnnl_status_t api_eltwise(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *md,
                          float alpha, float beta)
{
    dnnl_eltwise_desc_t op;
    return first(pick, engine, dnnl_eltwise_forward_desc_init(&op, forward(pick), kind, raw(md), alpha, beta),
                 &op, sizeof op);
}

dnnl_status_t api_binary(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *a,
                         const struct md *b, const struct md *dst)
{
    dnnl_binary_desc_t op;
    return first(pick, engine, dnnl_binary_desc_init(&op, kind, raw(a), raw(b), raw(dst)), &op, sizeof op);
}

dnnl_status_t api_convolution(struct pick *pick, dnnl_engine_t engine, bool transposed, const struct md *src,
                              const struct md *weights, const struct md *bias, const struct md *dst,
                              const struct api_window *w)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status =
        transposed
            ? dnnl_dilated_deconvolution_forward_desc_init(&op, forward(pick), dnnl_deconvolution_direct,
                                                           raw(src), raw(weights), raw(bias), raw(dst),
                                                           w->strides, w->dilations, w->before, w->after)
            : dnnl_dilated_convolution_forward_desc_init(&op, forward(pick), dnnl_convolution_auto, raw(src),
                                                         raw(weights), raw(bias), raw(dst), w->strides,
                                                         w->dilations, w->before, w->after);
    return first(pick, engine, status, &op, sizeof op);
}

dnnl_status_t api_matmul(struct pick *pick, dnnl_engine_t engine, const struct md *a, const struct md *b,
                         const struct md *bias, const struct md *dst)
{
    dnnl_matmul_desc_t op;
    return first(pick, engine, dnnl_matmul_desc_init(&op, raw(a), raw(b), raw(bias), raw(dst)), &op,
                 sizeof op);
}

dnnl_status_t api_softmax(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                          const struct md *dst, int axis)
{
    dnnl_softmax_v2_desc_t op;
    return first(pick, engine,
                 dnnl_softmax_v2_forward_desc_init(&op, forward(pick), kind, raw(src), raw(dst), axis), &op,
                 sizeof op);
}

dnnl_status_t api_pool(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind, const struct md *src,
                       const struct md *dst, const struct api_window *w)
{
    dnnl_pooling_v2_desc_t op;
    return first(pick, engine,
                 dnnl_pooling_v2_forward_desc_init(&op, forward(pick), kind, raw(src), raw(dst), w->strides,
                                                   w->kernel, w->dilations, w->before, w->after),
                 &op, sizeof op);
}

dnnl_status_t api_lrn(struct pick *pick, dnnl_engine_t engine, const struct md *md, dnnl_dim_t size,
                      float alpha, float beta, float k)
{
    dnnl_lrn_desc_t op;
    return first(pick, engine,
                 dnnl_lrn_forward_desc_init(&op, forward(pick), dnnl_lrn_across_channels, raw(md), size,
                                            alpha, beta, k),
                 &op, sizeof op);
}

dnnl_status_t api_batchnorm(struct pick *pick, dnnl_engine_t engine, const struct md *md, float epsilon,
                            unsigned flags)
{
    dnnl_batch_normalization_desc_t op;
    return first(pick, engine,
                 dnnl_batch_normalization_forward_desc_init(&op, forward(pick), raw(md), epsilon, flags), &op,
                 sizeof op);
}

dnnl_status_t api_layernorm(struct pick *pick, dnnl_engine_t engine, const struct md *md,
                            const struct md *statistics, float epsilon, unsigned flags)
{
    dnnl_layer_normalization_desc_t op;
    return first(pick, engine,
                 dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_training, raw(md),
                                                            raw(statistics), epsilon, flags),
                 &op, sizeof op);
}

dnnl_status_t api_reduction(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                            const struct md *src, const struct md *dst, float p)
{
    dnnl_reduction_desc_t op;
    return first(pick, engine, dnnl_reduction_desc_init(&op, kind, raw(src), raw(dst), p, 0), &op, sizeof op);
}

dnnl_status_t api_resampling(struct pick *pick, dnnl_engine_t engine, dnnl_alg_kind_t kind,
                             const float *factors, const struct md *src, const struct md *dst)
{
    dnnl_resampling_desc_t op;
    return first(pick, engine,
                 dnnl_resampling_forward_desc_init(&op, forward(pick), kind, factors, raw(src), raw(dst)),
                 &op, sizeof op);
}

dnnl_status_t api_prelu(struct pick *pick, dnnl_engine_t engine, const struct md *md, const struct md *slope)
{
    dnnl_prelu_desc_t op;
    return first(pick, engine, dnnl_prelu_forward_desc_init(&op, forward(pick), raw(md), raw(slope)), &op,
                 sizeof op);
}

dnnl_status_t api_reorder(struct pick *pick, dnnl_engine_t engine, const struct md *from, const struct md *to)
{
    return dnnl_reorder_primitive_desc_create(&pick->pd, raw(from), engine, raw(to), engine, NULL);
}

/* An array of structs is wanted. */
static dnnl_memory_desc_t *copies(int count, const struct md *const *srcs)
{
    dnnl_memory_desc_t *list = calloc((size_t)count + 1, sizeof *list);
    for (int i = 0; list && i < count; i++)
        list[i] = srcs[i]->raw;
    return list;
}

dnnl_status_t api_concat(struct pick *pick, dnnl_engine_t engine, int count, int axis,
                         const struct md *const *srcs, const struct md *dst)
{
    dnnl_memory_desc_t *list = copies(count, srcs);
    dnnl_status_t status =
        list ? dnnl_concat_primitive_desc_create(&pick->pd, raw(dst), count, axis, list, NULL, engine)
             : dnnl_out_of_memory;
    free(list);
    return status;
}

dnnl_status_t api_sum(struct pick *pick, dnnl_engine_t engine, int count, const float *scales,
                      const struct md *const *srcs, const struct md *dst)
{
    dnnl_memory_desc_t *list = copies(count, srcs);
    dnnl_status_t status =
        list ? dnnl_sum_primitive_desc_create(&pick->pd, raw(dst), count, scales, list, NULL, engine)
             : dnnl_out_of_memory;
    free(list);
    return status;
}

dnnl_status_t api_recurrent(struct pick *pick, dnnl_engine_t engine, const struct api_recurrent *r)
{
    const dnnl_prop_kind_t kind = forward(pick);
    const dnnl_memory_desc_t *x = raw(r->src), *h = raw(r->src_h), *w = raw(r->weights);
    const dnnl_memory_desc_t *u = raw(r->recurrence), *b = raw(r->bias), *y = raw(r->dst);
    const dnnl_memory_desc_t *y_h = raw(r->dst_h);
    dnnl_rnn_desc_t op;
    dnnl_status_t status;
    if (r->cell == dnnl_vanilla_lstm)
        status = dnnl_lstm_forward_desc_init_v2(&op, kind, r->direction, x, h, raw(r->src_c), w, u,
                                                raw(r->peephole), b, y, y_h, raw(r->dst_c), 0);
    else if (r->cell == dnnl_vanilla_gru)
        status = dnnl_gru_forward_desc_init(&op, kind, r->direction, x, h, w, u, b, y, y_h, 0);
    else if (r->cell == dnnl_lbr_gru)
        status = dnnl_lbr_gru_forward_desc_init(&op, kind, r->direction, x, h, w, u, b, y, y_h, 0);
    else
        status = dnnl_vanilla_rnn_forward_desc_init(&op, kind, r->activation, r->direction, x, h, w, u, b, y,
                                                    y_h, 0, 0, 0);
    return first(pick, engine, status, &op, sizeof op);
}

dnnl_status_t api_eltwise_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff, const struct md *data,
                                   float alpha, float beta)
{
    dnnl_eltwise_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_eltwise_backward_desc_init(&op, kind, raw(diff), raw(data), alpha, beta), &op,
                        sizeof op);
}

dnnl_status_t api_convolution_backward_data(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                            bool transposed, const struct md *diff_src,
                                            const struct md *weights, const struct md *diff_dst,
                                            const struct api_window *w)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status = transposed ? dnnl_dilated_deconvolution_backward_data_desc_init(
                                            &op, dnnl_deconvolution_direct, raw(diff_src), raw(weights),
                                            raw(diff_dst), w->strides, w->dilations, w->before, w->after)
                                      : dnnl_dilated_convolution_backward_data_desc_init(
                                            &op, dnnl_convolution_direct, raw(diff_src), raw(weights),
                                            raw(diff_dst), w->strides, w->dilations, w->before, w->after);
    return first_hinted(pick, engine, hint, status, &op, sizeof op);
}

dnnl_status_t api_convolution_backward_weights(struct pick *pick, dnnl_engine_t engine,
                                               const struct pick *hint, bool transposed, const struct md *src,
                                               const struct md *diff_weights, const struct md *diff_bias,
                                               const struct md *diff_dst, const struct api_window *w)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status =
        transposed ? dnnl_dilated_deconvolution_backward_weights_desc_init(
                         &op, dnnl_deconvolution_direct, raw(src), raw(diff_weights), raw(diff_bias),
                         raw(diff_dst), w->strides, w->dilations, w->before, w->after)
                   : dnnl_dilated_convolution_backward_weights_desc_init(
                         &op, dnnl_convolution_direct, raw(src), raw(diff_weights), raw(diff_bias),
                         raw(diff_dst), w->strides, w->dilations, w->before, w->after);
    return first_hinted(pick, engine, hint, status, &op, sizeof op);
}

dnnl_status_t api_softmax_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                   dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                   const struct md *dst, int axis)
{
    dnnl_softmax_v2_desc_t op;
    return first_hinted(
        pick, engine, hint,
        dnnl_softmax_v2_backward_desc_init(&op, kind, raw(diff_src), raw(diff_dst), raw(dst), axis), &op,
        sizeof op);
}

dnnl_status_t api_pool_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                dnnl_alg_kind_t kind, const struct md *diff_src, const struct md *diff_dst,
                                const struct api_window *w)
{
    dnnl_pooling_v2_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_pooling_v2_backward_desc_init(&op, kind, raw(diff_src), raw(diff_dst),
                                                           w->strides, w->kernel, w->dilations, w->before,
                                                           w->after),
                        &op, sizeof op);
}

dnnl_status_t api_lrn_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                               const struct md *diff, const struct md *data, dnnl_dim_t size, float alpha,
                               float beta, float k)
{
    dnnl_lrn_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_lrn_backward_desc_init(&op, dnnl_lrn_across_channels, raw(diff), raw(data), size,
                                                    alpha, beta, k),
                        &op, sizeof op);
}

dnnl_status_t api_batchnorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data, float epsilon,
                                     unsigned flags)
{
    dnnl_batch_normalization_desc_t op;
    return first_hinted(
        pick, engine, hint,
        dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, raw(diff), raw(data), epsilon, flags),
        &op, sizeof op);
}

dnnl_status_t api_layernorm_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                     const struct md *diff, const struct md *data,
                                     const struct md *statistics, float epsilon, unsigned flags)
{
    dnnl_layer_normalization_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_layer_normalization_backward_desc_init(&op, dnnl_backward, raw(diff), raw(data),
                                                                    raw(statistics), epsilon, flags),
                        &op, sizeof op);
}

dnnl_status_t api_resampling_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                      dnnl_alg_kind_t kind, const struct md *diff_src,
                                      const struct md *diff_dst)
{
    dnnl_resampling_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_resampling_backward_desc_init(&op, kind, NULL, raw(diff_src), raw(diff_dst)),
                        &op, sizeof op);
}

dnnl_status_t api_prelu_backward(struct pick *pick, dnnl_engine_t engine, const struct pick *hint,
                                 const struct md *data, const struct md *slope, const struct md *diff,
                                 const struct md *diff_slope)
{
    dnnl_prelu_desc_t op;
    return first_hinted(pick, engine, hint,
                        dnnl_prelu_backward_desc_init(&op, raw(data), raw(slope), raw(diff), raw(diff_slope)),
                        &op, sizeof op);
}
