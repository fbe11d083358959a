/* Convolutions and matrix products: Conv, ConvTranspose, MatMul, Gemm. */
#include "onednn.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ONNX weights of a group: [M, C/g, k...] or, transposed, [C, M/g, k...]; the library wants g apart. */
static struct view group_weights(const struct tensor *weights, int64_t groups, bool transposed)
{
    int rank = weights->shape.rank;
    const int64_t *dims = weights->shape.dims;
    int64_t split[TENSOR_MAX_RANK + 1] = {groups, dims[0] / groups};
    memcpy(split + 2, dims + 1, (size_t)(rank - 1) * sizeof *split);
    struct view view = groups > 1 ? view_as(weights, rank + 1, split) : view_as(weights, rank, dims);
    if (!transposed)
        return view;
    /* Input channels stand first here, where the library has output channels first. */
    int64_t turn[TENSOR_MAX_RANK + 1];
    int first = groups > 1 ? 1 : 0;
    for (int i = 0; i < view.rank; i++)
        turn[i] = i;
    turn[first] = first + 1;
    turn[first + 1] = first;
    return view_transposed(&view, turn);
}

static struct window to_window(const struct walk_window *w)
{
    struct window window;
    for (int i = 0; i < w->rank; i++) {
        window.kernel[i] = w->kernel[i];
        window.strides[i] = w->stride[i];
        window.dilations[i] = w->dilation[i];
        window.before[i] = w->before[i];
        window.after[i] = w->after[i];
    }
    return window;
}

int run_conv(struct walk_call *call)
{
    bool transposed = call->row->kind;
    const struct tensor *weights = call->inputs[1], *bias = walk_input(call, 2);
    struct walk_window walked =
        transposed ? walk_window_transposed(call, &weights->shape) : walk_window(call, &weights->shape);
    struct window window = to_window(&walked);
    int64_t groups = node_int(call->node, "group", 1);
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]), b = {0};
    struct view w = group_weights(weights, groups, transposed);
    if (bias)
        b = view_of(bias);
    return library_convolution(call->engine, transposed, &src, &w, bias ? &b : NULL, &dst, &window,
                               call->err);
}

/* [.., r, c] with `rank` dims; a vector is a row or, as second operand, a column. */
static struct view matrix(const struct tensor *tensor, int rank, bool second)
{
    int64_t dims[TENSOR_MAX_RANK] = {0};
    int own = tensor->shape.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i < rank - own ? 1 : tensor->shape.dims[i - (rank - own)];
    if (own == 1 && second) {
        dims[rank - 2] = tensor->shape.dims[0];
        dims[rank - 1] = 1;
    }
    return view_as(tensor, rank, dims);
}

int run_matmul(struct walk_call *call)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    int rank = a->shape.rank > b->shape.rank ? a->shape.rank : b->shape.rank;
    rank = rank < 2 ? 2 : rank;
    struct view va = matrix(a, rank, false), vb = matrix(b, rank, true);
    int64_t dims[TENSOR_MAX_RANK];
    for (int i = 0; i < rank - 2; i++)
        dims[i] = va.dims[i] == 1 ? vb.dims[i] : va.dims[i];
    dims[rank - 2] = va.dims[rank - 2];
    dims[rank - 1] = vb.dims[rank - 1];
    struct view dst = view_as(&call->outputs[0], rank, dims);
    return library_matmul(call->engine, &va, &vb, NULL, &dst, call->err);
}

/* Y += beta * C, by the library. */
static int add_scaled(struct walk_call *call, const struct view *c, float beta, const struct view *dst)
{
    float *scaled = memory_zeroed((size_t)(c->dims[0] * c->dims[1]), sizeof *scaled);
    struct view term = *c;
    term.data = scaled;
    int result = library_eltwise(call->engine, dnnl_eltwise_linear, c, &term, beta, 0, call->err);
    if (!result)
        result = library_binary(call->engine, dnnl_binary_add, dst, &term, dst, call->err);
    free(scaled);
    return result;
}

int run_gemm(struct walk_call *call)
{
    static const int64_t turn[] = {1, 0};
    struct view a = view_of(call->inputs[0]), b = view_of(call->inputs[1]), dst = view_of(&call->outputs[0]);
    float alpha = node_float(call->node, "alpha", 1), beta = node_float(call->node, "beta", 1);
    const struct tensor *c = walk_input(call, 2);
    struct view vc = {0};
    if (node_int(call->node, "transA", 0))
        a = view_transposed(&a, turn);
    if (node_int(call->node, "transB", 0))
        b = view_transposed(&b, turn);
    if (c)
        vc = matrix(c, 2, false);
    bool plain = alpha == 1.0F && beta == 1.0F;
    if (library_matmul(call->engine, &a, &b, c && plain ? &vc : NULL, &dst, call->err))
        return -1;
    if (plain)
        return 0;
    if (alpha != 1.0F && library_eltwise(call->engine, dnnl_eltwise_linear, &dst, &dst, alpha, 0, call->err))
        return -1;
    return c && beta != 0.0F ? add_scaled(call, &vc, beta, &dst) : 0;
}
