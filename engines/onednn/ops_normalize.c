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
int run_softmax(struct walk_call *call)
{
    const struct tensor *in = call->inputs[0];
    int rank = in->shape.rank;
    int axis = walk_axis(node_int(call->node, "axis", call->opset < 13 ? 1 : -1), rank);
    struct view src = view_of(in), dst = view_of(&call->outputs[0]);
    if (call->opset < 13) {
        int64_t flat[2] = {span(&in->shape, 0, axis), span(&in->shape, axis, rank)};
        src = view_as(in, 2, flat);
        dst = view_as(&call->outputs[0], 2, flat);
        axis = 1;
    }
    return library_softmax(call->engine, call->row->kind, &src, &dst, axis, call->err);
}

int run_pool(struct walk_call *call)
{
    if (walk_wants(call, 1))
        return walk_unsupported(call, "with Indices");
    struct walk_window w = walk_window(call, NULL);
    struct window window = {0};
    int kind = call->row->kind;
    if (kind == dnnl_pooling_avg_exclude_padding && node_int(call->node, "count_include_pad", 0))
        kind = dnnl_pooling_avg_include_padding;
    for (int i = 0; i < w.rank; i++) {
        /* What ceil_mode adds beyond the padding does not count in ONNX; for the library it is padding. */
        if (w.beyond[i] && kind == dnnl_pooling_avg_include_padding)
            return walk_unsupported(call, "with ceil_mode and count_include_pad");
        window.kernel[i] = w.kernel[i];
        window.strides[i] = w.stride[i];
        window.dilations[i] = w.dilation[i];
        window.before[i] = w.before[i];
        window.after[i] = w.after[i] + w.beyond[i];
    }
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    return library_pool(call->engine, (dnnl_alg_kind_t)kind, &src, &dst, &window, call->err);
}

int run_global_pool(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    struct window window = {0};
    for (int i = 0; i < src.rank - 2; i++) {
        window.kernel[i] = src.dims[i + 2];
        window.strides[i] = window.dilations[i] = 1;
    }
    return library_pool(call->engine, (dnnl_alg_kind_t)call->row->kind, &src, &dst, &window, call->err);
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

/* Marks the axes to reduce, from the attribute or the input; without either, all, or none when so asked. */
static void read_axes(const struct walk_call *call, int rank, bool *reduced)
{
    const int64_t *axes = NULL;
    size_t count = 0;
    const struct tensor *input = walk_input(call, 1);
    if (input) {
        axes = input->data;
        count = input->count;
    } else {
        node_ints(call->node, "axes", &axes, &count);
    }
    for (int i = 0; i < rank; i++)
        reduced[i] = count == 0 && !node_int(call->node, "noop_with_empty_axes", 0);
    for (size_t i = 0; i < count; i++)
        reduced[walk_axis(axes[i], rank)] = true;
}

int run_reduction(struct walk_call *call)
{
    const struct tensor *in = call->inputs[0];
    bool reduced[TENSOR_MAX_RANK] = {false}, any = false;
    struct view src = view_of(in);
    int64_t dims[TENSOR_MAX_RANK];
    read_axes(call, in->shape.rank, reduced);
    for (int i = 0; i < src.rank; i++) {
        dims[i] = reduced[i] ? 1 : src.dims[i];
        any = any || dims[i] != src.dims[i];
    }
    if (!any)
        return walk_unsupported(call, "of axes that are 1 long");
    struct view dst = view_as(&call->outputs[0], src.rank, dims);
    float p = strcmp(call->node->op_type, "ReduceL1") == 0 ? 1 : 2;
    if (library_reduction(call->engine, (dnnl_alg_kind_t)call->row->kind, &src, &dst, p, call->err))
        return -1;
    if (strcmp(call->node->op_type, "ReduceLogSum") == 0)
        return library_eltwise(call->engine, dnnl_eltwise_log, &dst, &dst, 0, 0, call->err);
    return 0;
}
