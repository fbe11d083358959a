/* Softmax, pooling, normalisations and reductions. */
#include "onednn.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t span(const struct shape *shape, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++)
        product *= shape->dims[i];
    return product;
}

/* Before opset 13 everything from the axis on is one. */
static struct view softmax_view(const struct walk_call *call, const struct tensor *tensor, int *axis)
{
    int rank = tensor->shape.rank;
    *axis = walk_axis(node_int(call->node, "axis", call->opset < 13 ? 1 : -1), rank);
    if (call->opset >= 13)
        return view_of(tensor);
    int64_t flat[2] = {span(&tensor->shape, 0, *axis), span(&tensor->shape, *axis, rank)};
    *axis = 1;
    return view_as(tensor, 2, flat);
}

int run_softmax(struct walk_call *call)
{
    int axis;
    struct view src = softmax_view(call, call->inputs[0], &axis);
    struct view dst = softmax_view(call, &call->outputs[0], &axis);
    return library_softmax(call->engine, call->row->kind, &src, &dst, axis, call->err);
}

int grad_softmax(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    int axis;
    struct view dst = softmax_view(call, &call->outputs[0], &axis);
    struct view diff = softmax_view(call, g->upstream, &axis);
    struct view slope = softmax_view(call, &g->slopes[0], &axis);
    return library_softmax_backward(call->engine, call->row->kind, &dst, &diff, &slope, axis, call->err);
}

static int pool_window(struct walk_call *call, struct window *window, dnnl_alg_kind_t *pool)
{
    struct walk_window w = walk_window(call, NULL);
    int kind = call->row->kind;
    if (kind == dnnl_pooling_avg_exclude_padding && node_int(call->node, "count_include_pad", 0))
        kind = dnnl_pooling_avg_include_padding;
    *pool = (dnnl_alg_kind_t)kind;
    for (int i = 0; i < w.rank; i++) {
        /* What ceil_mode adds beyond the padding does not count in ONNX; for the library it is padding. */
        if (w.beyond[i] && kind == dnnl_pooling_avg_include_padding)
            return walk_unsupported(call, "with ceil_mode and count_include_pad");
        window->kernel[i] = w.kernel[i];
        window->strides[i] = w.stride[i];
        window->dilations[i] = w.dilation[i];
        window->before[i] = w.before[i];
        window->after[i] = w.after[i] + w.beyond[i];
    }
    return 0;
}

int run_pool(struct walk_call *call)
{
    struct window window = {.kernel = {0}};
    dnnl_alg_kind_t kind;
    if (walk_wants(call, 1))
        return walk_unsupported(call, "with Indices");
    if (pool_window(call, &window, &kind))
        return -1;
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    return library_pool(call->engine, kind, &src, &dst, &window, call->err);
}

static int pool_slope(struct walk_gradient *g, dnnl_alg_kind_t kind, const struct window *window)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream), slope = view_of(&g->slopes[0]);
    return library_pool_backward(call->engine, kind, &src, &diff, &slope, window, call->err);
}

int grad_pool(struct walk_gradient *g)
{
    struct window window = {.kernel = {0}};
    dnnl_alg_kind_t kind;
    return pool_window(g->call, &window, &kind) ? -1 : pool_slope(g, kind, &window);
}

static struct window global_window(const struct shape *shape)
{
    struct window window = {.kernel = {0}};
    for (int i = 0; i < shape->rank - 2; i++) {
        window.kernel[i] = shape->dims[i + 2];
        window.strides[i] = window.dilations[i] = 1;
    }
    return window;
}

int run_global_pool(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    struct window window = global_window(&call->inputs[0]->shape);
    return library_pool(call->engine, (dnnl_alg_kind_t)call->row->kind, &src, &dst, &window, call->err);
}

int grad_global_pool(struct walk_gradient *g)
{
    struct window window = global_window(&g->call->inputs[0]->shape);
    return pool_slope(g, (dnnl_alg_kind_t)g->call->row->kind, &window);
}

int run_lrn(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    int64_t size = node_int(call->node, "size", 1);
    /* ONNX puts the longer half behind, the library none. */
    if (size % 2 == 0)
        return walk_unsupported(call, "of even size");
    return library_lrn(call->engine, &src, &dst, size, node_float(call->node, "alpha", 1e-4F),
                       node_float(call->node, "beta", 0.75F), node_float(call->node, "bias", 1), call->err);
}

int grad_lrn(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream), slope = view_of(&g->slopes[0]);
    return library_lrn_backward(call->engine, &src, &diff, &slope, node_int(call->node, "size", 1),
                                node_float(call->node, "alpha", 1e-4F), node_float(call->node, "beta", 0.75F),
                                node_float(call->node, "bias", 1), call->err);
}

int run_batchnorm(struct walk_call *call)
{
    if (node_int(call->node, "training_mode", 0) || walk_wants(call, 1))
        return walk_unsupported(call, "in training");
    for (size_t i = 1; i < 5; i++)
        if (call->inputs[i]->type != DTYPE_FLOAT)
            return walk_unsupported(call, "with statistics other than float32");
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    struct view scale = view_of(call->inputs[1]), shift = view_of(call->inputs[2]);
    struct view mean = view_of(call->inputs[3]), variance = view_of(call->inputs[4]);
    return library_batchnorm(call->engine, &src, &dst, &scale, &shift, &mean, &variance,
                             node_float(call->node, "epsilon", 1e-5F), call->err);
}

/*
 * The slopes by mean and variance, which the library takes as constants, follow from those that it gives:
 * y depends on x - mean, and on scale / sqrt(variance + epsilon). By its primitives for single elements.
 */
static int statistics_slopes(struct walk_gradient *g, const struct view *dx, const struct view *dscale)
{
    struct walk_call *call = g->call;
    void *engine = call->engine;
    struct view scale = view_of(call->inputs[1]), variance = view_of(call->inputs[4]);
    int64_t dims[TENSOR_MAX_RANK];
    int result = 0;
    for (int i = 0; i < dx->rank; i++)
        dims[i] = i == 1 ? dx->dims[1] : 1;
    if (g->wanted[3]) {
        struct view slope = view_as(&g->slopes[3], dx->rank, dims);
        result = sum_to(call, dx, &slope) ||
                 library_eltwise(engine, dnnl_eltwise_linear, &slope, &slope, -1, 0, call->err);
    }
    if (!result && g->wanted[4]) {
        struct view slope = view_of(&g->slopes[4]), spread = view_scratch(&variance);
        float epsilon = node_float(call->node, "epsilon", 1e-5F);
        result = library_eltwise(engine, dnnl_eltwise_linear, &variance, &spread, 1, epsilon, call->err) ||
                 library_binary(engine, dnnl_binary_mul, dscale, &scale, &slope, call->err) ||
                 library_binary(engine, dnnl_binary_div, &slope, &spread, &slope, call->err) ||
                 library_eltwise(engine, dnnl_eltwise_linear, &slope, &slope, -0.5F, 0, call->err);
        free(spread.data);
    }
    return result ? -1 : 0;
}

/* The primitive gives three slopes; those that are not wanted are dropped. */
int grad_batchnorm(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream);
    struct view scale = view_of(call->inputs[1]), shift = view_of(call->inputs[2]);
    struct view mean = view_of(call->inputs[3]), variance = view_of(call->inputs[4]);
    struct view own[] = {view_scratch(&src), view_scratch(&scale), view_scratch(&shift)};
    struct view out[] = {own[0], own[1], own[2]};
    for (int i = 0; i < 3; i++)
        if (g->wanted[i])
            out[i] = view_of(&g->slopes[i]);
    struct normalization n = {.src = &src,
                              .scale = &scale,
                              .shift = &shift,
                              .mean = &mean,
                              .variance = &variance,
                              .diff_dst = &diff,
                              .diff_src = &out[0],
                              .diff_scale = &out[1],
                              .diff_shift = &out[2],
                              .epsilon = node_float(call->node, "epsilon", 1e-5F),
                              .given = true};
    int result = library_batchnorm_backward(call->engine, &n, call->err);
    if (!result)
        result = statistics_slopes(g, &out[0], &out[1]);
    for (int i = 0; i < 3; i++)
        free(own[i].data);
    return result;
}

static float *repeated(const struct tensor *tensor, int64_t times)
{
    float *copies = memory_zeroed(tensor->count * (size_t)times, sizeof *copies);
    for (int64_t i = 0; tensor->size && i < times; i++)
        memcpy(copies + (size_t)i * tensor->count, tensor->data, tensor->size);
    return copies;
}

/* Batch normalization of one image whose channels are those of all images (or their groups). */
int run_instancenorm(struct walk_call *call)
{
    const struct tensor *in = call->inputs[0], *scale = call->inputs[1], *shift = call->inputs[2];
    int64_t n = in->shape.dims[0];
    int64_t groups = call->row->kind ? node_int(call->node, "num_groups", 1) : in->shape.dims[1];
    if (call->row->kind && call->opset >= 21)
        return walk_unsupported(call, "with a scale for each channel");
    if (scale->type != DTYPE_FLOAT || shift->type != DTYPE_FLOAT)
        return walk_unsupported(call, "with a scale other than float32");
    int64_t each = groups && n ? (int64_t)in->count / (n * groups) : 0;
    int64_t dims[3] = {1, n * groups, each}, channels = n * groups;
    float *scales = repeated(scale, n), *shifts = repeated(shift, n);
    struct view src = view_as(in, 3, dims), dst = view_as(&call->outputs[0], 3, dims);
    struct view vs = view_floats(scales, 1, &channels), vb = view_floats(shifts, 1, &channels);
    int result = library_batchnorm(call->engine, &src, &dst, &vs, &vb, NULL, NULL,
                                   node_float(call->node, "epsilon", 1e-5F), call->err);
    free(scales);
    free(shifts);
    return result;
}

/* The slope of a scale that all images share, from one for each image. */
static int share_slope(struct walk_gradient *g, size_t input, const struct view *each, int64_t images)
{
    if (!g->wanted[input])
        return 0;
    int64_t channels = (int64_t)g->slopes[input].count, dims[2] = {images, channels}, one[2] = {1, channels};
    struct view from = view_floats(each->data, 2, dims), to = view_as(&g->slopes[input], 2, one);
    return sum_to(g->call, &from, &to);
}

int grad_instancenorm(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    const struct tensor *in = call->inputs[0];
    int64_t images = in->shape.dims[0];
    int64_t groups = call->row->kind ? node_int(call->node, "num_groups", 1) : in->shape.dims[1];
    int64_t channels = images * groups;
    int64_t dims[3] = {1, channels, channels ? (int64_t)in->count / channels : 0};
    float *scales = repeated(call->inputs[1], images), *shifts = repeated(call->inputs[2], images);
    struct view src = view_as(in, 3, dims), diff = view_as(g->upstream, 3, dims), own = view_scratch(&src);
    struct view dx = g->wanted[0] ? view_as(&g->slopes[0], 3, dims) : own;
    struct view scale = view_floats(scales, 1, &channels), shift = view_floats(shifts, 1, &channels);
    struct view mean = view_scratch(&scale), variance = view_scratch(&scale);
    struct view dscale = view_scratch(&scale), dshift = view_scratch(&scale);
    struct normalization n = {.src = &src,
                              .scale = &scale,
                              .shift = &shift,
                              .mean = &mean,
                              .variance = &variance,
                              .diff_dst = &diff,
                              .diff_src = &dx,
                              .diff_scale = &dscale,
                              .diff_shift = &dshift,
                              .epsilon = node_float(call->node, "epsilon", 1e-5F)};
    int result = library_statistics(call->engine, &n, call->err) ||
                 library_batchnorm_backward(call->engine, &n, call->err) ||
                 share_slope(g, 1, &dscale, images) || share_slope(g, 2, &dshift, images);
    void *buffers[] = {scales, shifts, own.data, mean.data, variance.data, dscale.data, dshift.data};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        free(buffers[i]);
    return result ? -1 : 0;
}

/* 1 / sqrt(variance + epsilon), which the library does not hand out: two of its primitives. */
static int inverse_deviation(struct walk_call *call, const struct view *variance, float epsilon)
{
    struct view out = *variance;
    out.data = call->outputs[2].data;
    return library_eltwise(call->engine, dnnl_eltwise_linear, variance, &out, 1, epsilon, call->err) ||
                   library_eltwise(call->engine, dnnl_eltwise_pow, &out, &out, 1, -0.5F, call->err)
               ? -1
               : 0;
}

int run_layernorm(struct walk_call *call)
{
    const struct tensor *in = call->inputs[0], *scale = call->inputs[1], *shift = walk_input(call, 2);
    int rank = in->shape.rank, axis = walk_axis(node_int(call->node, "axis", -1), rank);
    int64_t dims[2] = {span(&in->shape, 0, axis), span(&in->shape, axis, rank)};
    if (scale->type != DTYPE_FLOAT || (int64_t)scale->count != dims[1] ||
        (shift && (shift->type != DTYPE_FLOAT || (int64_t)shift->count != dims[1])))
        return walk_unsupported(call, "with a scale of another shape or type");
    float *mean = memory_zeroed((size_t)dims[0], sizeof *mean);
    float *variance = memory_zeroed((size_t)dims[0], sizeof *variance);
    struct view src = view_as(in, 2, dims), dst = view_as(&call->outputs[0], 2, dims), vb = {0};
    struct view vs = view_as(scale, 1, &dims[1]);
    struct view vm = view_floats(mean, 1, dims), vv = view_floats(variance, 1, dims);
    if (shift)
        vb = view_as(shift, 1, &dims[1]);
    float epsilon = node_float(call->node, "epsilon", 1e-5F);
    int result =
        library_layernorm(call->engine, &src, &dst, &vs, shift ? &vb : NULL, &vm, &vv, epsilon, call->err);
    if (!result && walk_wants(call, 1) && call->outputs[1].size)
        memcpy(call->outputs[1].data, mean, call->outputs[1].size);
    if (!result && walk_wants(call, 2))
        result = inverse_deviation(call, &vv, epsilon);
    free(mean);
    free(variance);
    return result;
}

/* The primitive gives three slopes; a shift that is absent is zeros. */
int grad_layernorm(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    const struct tensor *in = call->inputs[0], *shift = walk_input(call, 2);
    int rank = in->shape.rank, axis = walk_axis(node_int(call->node, "axis", -1), rank);
    int64_t dims[2] = {span(&in->shape, 0, axis), span(&in->shape, axis, rank)};
    struct view src = view_as(in, 2, dims), diff = view_as(g->upstream, 2, dims);
    struct view scale = view_as(call->inputs[1], 1, &dims[1]), zeros = view_scratch(&scale);
    struct view like = view_floats(NULL, 1, dims), mean = view_scratch(&like), variance = view_scratch(&like);
    struct view own[] = {view_scratch(&src), view_scratch(&scale), view_scratch(&scale)};
    struct view out[] = {own[0], own[1], own[2]};
    for (size_t i = 0; i < 3 && i < call->n_inputs; i++)
        if (g->wanted[i])
            out[i] = view_as(&g->slopes[i], i ? 1 : 2, i ? &dims[1] : dims);
    struct view bias = shift ? view_as(shift, 1, &dims[1]) : zeros, again = view_scratch(&src);
    struct normalization n = {.src = &src,
                              .scale = &scale,
                              .shift = &bias,
                              .mean = &mean,
                              .variance = &variance,
                              .diff_dst = &diff,
                              .diff_src = &out[0],
                              .diff_scale = &out[1],
                              .diff_shift = &out[2],
                              .epsilon = node_float(call->node, "epsilon", 1e-5F)};
    int result = library_layernorm(call->engine, &src, &again, &scale, &bias, &mean, &variance, n.epsilon,
                                   call->err) ||
                 library_layernorm_backward(call->engine, &n, call->err);
    void *buffers[] = {zeros.data,  mean.data,   variance.data, again.data,
                       own[0].data, own[1].data, own[2].data};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        free(buffers[i]);
    return result ? -1 : 0;
}

/* Marks the axes to reduce, from the attribute or the input; without either, all, or none when so asked. */
static void read_axes(const struct walk_call *call, int rank, bool *reduced)
{
    const int64_t *axes;
    size_t count = walk_axes(call, &axes);
    for (int i = 0; i < rank; i++)
        reduced[i] = count == 0 && !node_int(call->node, "noop_with_empty_axes", 0);
    for (size_t i = 0; i < count; i++)
        reduced[walk_axis(axes[i], rank)] = true;
}

/* The input's dims with ones where it is reduced. False when nothing is. */
static bool reduced_dims(const struct walk_call *call, const struct view *src, int64_t *dims)
{
    bool reduced[TENSOR_MAX_RANK] = {false}, any = false;
    read_axes(call, call->inputs[0]->shape.rank, reduced);
    for (int i = 0; i < src->rank; i++) {
        dims[i] = reduced[i] ? 1 : src->dims[i];
        any = any || dims[i] != src->dims[i];
    }
    return any;
}

int run_reduction(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]);
    int64_t dims[TENSOR_MAX_RANK];
    if (!reduced_dims(call, &src, dims))
        return walk_unsupported(call, "of axes that are 1 long");
    struct view dst = view_as(&call->outputs[0], src.rank, dims);
    float p = strcmp(call->node->op_type, "ReduceL1") == 0 ? 1 : 2;
    if (library_reduction(call->engine, (dnnl_alg_kind_t)call->row->kind, &src, &dst, p, call->err))
        return -1;
    if (strcmp(call->node->op_type, "ReduceLogSum") == 0)
        return library_eltwise(call->engine, dnnl_eltwise_log, &dst, &dst, 0, 0, call->err);
    return 0;
}

/* The derivatives before they are repeated: as they are, or divided by the number or sum of the elements. */
static int reduction_factor(struct walk_gradient *g, const struct view *src, const struct view *diff,
                            const struct view *factor)
{
    struct walk_call *call = g->call;
    if (strcmp(call->node->op_type, "ReduceMean") == 0) {
        float number = (float)(view_count(src) / view_count(diff));
        int64_t ones[TENSOR_MAX_RANK];
        for (int i = 0; i < diff->rank; i++)
            ones[i] = 1;
        struct view count = view_floats(&number, diff->rank, ones);
        return library_binary(call->engine, dnnl_binary_div, diff, &count, factor, call->err);
    }
    if (strcmp(call->node->op_type, "ReduceLogSum") == 0)
        return library_reduction(call->engine, dnnl_reduction_sum, src, factor, 0, call->err) ||
                       library_binary(call->engine, dnnl_binary_div, diff, factor, factor, call->err)
                   ? -1
                   : 0;
    return library_reorder(call->engine, diff, factor, call->err);
}

/* slope holds the repeated derivatives and becomes the slope. y is the result with the input's rank. */
static int reduction_slope(struct walk_gradient *g, const struct view *src, const struct view *y,
                           const struct view *slope)
{
    struct walk_call *call = g->call;
    void *engine = call->engine;
    if (call->row->kind == dnnl_reduction_norm_lp_sum) /* x / y */
        return library_binary(engine, dnnl_binary_mul, slope, src, slope, call->err) ||
                       library_binary(engine, dnnl_binary_div, slope, y, slope, call->err)
                   ? -1
                   : 0;
    if (call->row->kind == dnnl_reduction_norm_lp_power_p_sum) {
        bool l1 = strcmp(call->node->op_type, "ReduceL1") == 0;
        return library_eltwise_backward(engine, l1 ? dnnl_eltwise_abs : dnnl_eltwise_square, src, slope,
                                        slope, 0, 0, call->err);
    }
    if (call->row->kind == dnnl_reduction_max || call->row->kind == dnnl_reduction_min) {
        struct view mask = view_scratch(src);
        int result = library_binary(engine, dnnl_binary_eq, src, y, &mask, call->err) ||
                     library_binary(engine, dnnl_binary_mul, slope, &mask, slope, call->err);
        free(mask.data);
        return result ? -1 : 0;
    }
    return 0;
}

int grad_reduction(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), slope = view_of(&g->slopes[0]);
    int64_t dims[TENSOR_MAX_RANK];
    if (call->row->kind == dnnl_reduction_mul)
        return walk_unsupported(call, "oneDNN has no gradient of it");
    reduced_dims(call, &src, dims);
    struct view y = view_as(&call->outputs[0], src.rank, dims), diff = view_as(g->upstream, src.rank, dims);
    struct view factor = view_scratch(&diff);
    int result = reduction_factor(g, &src, &diff, &factor) || spread_to(call, &factor, &slope) ||
                 reduction_slope(g, &src, &y, &slope);
    free(factor.data);
    return result ? -1 : 0;
}
