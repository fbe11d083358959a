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

static struct window conv_window(const struct walk_call *call)
{
    const struct shape *weights = &call->inputs[1]->shape;
    struct walk_window walked =
        call->row->kind ? walk_window_transposed(call, weights) : walk_window(call, weights);
    return to_window(&walked);
}

int run_conv(struct walk_call *call)
{
    bool transposed = call->row->kind;
    const struct tensor *weights = call->inputs[1], *bias = walk_input(call, 2);
    struct window window = conv_window(call);
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

static int product_rank(const struct walk_call *call)
{
    int a = call->inputs[0]->shape.rank, b = call->inputs[1]->shape.rank;
    int rank = a > b ? a : b;
    return rank < 2 ? 2 : rank;
}

/* The result, or its derivatives, of the product of these matrices. */
static struct view product_view(const struct tensor *tensor, const struct view *a, const struct view *b)
{
    int64_t dims[TENSOR_MAX_RANK];
    int rank = a->rank;
    for (int i = 0; i < rank - 2; i++)
        dims[i] = a->dims[i] == 1 ? b->dims[i] : a->dims[i];
    dims[rank - 2] = a->dims[rank - 2];
    dims[rank - 1] = b->dims[rank - 1];
    return view_as(tensor, rank, dims);
}

int run_matmul(struct walk_call *call)
{
    int rank = product_rank(call);
    struct view va = matrix(call->inputs[0], rank, false), vb = matrix(call->inputs[1], rank, true);
    struct view dst = product_view(&call->outputs[0], &va, &vb);
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

int grad_conv(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    bool transposed = call->row->kind, bias = call->n_inputs > 2 && g->wanted[2];
    struct window window = conv_window(call);
    int64_t groups = node_int(call->node, "group", 1);
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream), dx = src, db = {0};
    struct view w = group_weights(call->inputs[1], groups, transposed), dw = w;
    if (g->wanted[0])
        dx = view_of(&g->slopes[0]);
    if (g->wanted[1])
        dw = group_weights(&g->slopes[1], groups, transposed);
    if (bias)
        db = view_of(&g->slopes[2]);
    return library_convolution_backward(call->engine, transposed, &src, &w, &diff, g->wanted[0] ? &dx : NULL,
                                        g->wanted[1] ? &dw : NULL, bias ? &db : NULL, &window, call->err);
}

static struct view turned_matrix(const struct view *view)
{
    int64_t turn[TENSOR_MAX_RANK];
    for (int i = 0; i < view->rank; i++)
        turn[i] = i;
    turn[view->rank - 2] = view->rank - 1;
    turn[view->rank - 1] = view->rank - 2;
    struct view turned = view_transposed(view, turn);
    int64_t *dims = turned.dims + view->rank - 2, *strides = turned.strides + view->rank - 2;
    /* The stride of a dim of size 1 is never used, but a result whose single row is said to be shorter than
     * it is makes the library call its arguments invalid when it runs. */
    if (dims[1] == 1)
        strides[1] = 1;
    if (dims[0] == 1)
        strides[0] = dims[1] * strides[1];
    return turned;
}

/* to = a b, summed over the dims before in which `to` repeats. */
static int product_to(struct walk_call *call, const struct view *a, const struct view *b,
                      const struct view *to)
{
    struct view whole = *to;
    for (int i = 0; i < to->rank - 2; i++)
        whole.dims[i] = a->dims[i] == 1 ? b->dims[i] : a->dims[i];
    if (view_covers(to, &whole))
        return library_matmul(call->engine, a, b, NULL, to, call->err);
    whole = view_scratch(&whole);
    int result = library_matmul(call->engine, a, b, NULL, &whole, call->err);
    if (!result)
        result = sum_to(call, &whole, to);
    free(whole.data);
    return result;
}

int grad_matmul(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    int rank = product_rank(call);
    struct view a = matrix(call->inputs[0], rank, false), b = matrix(call->inputs[1], rank, true);
    struct view diff = product_view(g->upstream, &a, &b);
    struct view turned_a = turned_matrix(&a), turned_b = turned_matrix(&b);
    if (g->wanted[0]) {
        struct view slope = matrix(&g->slopes[0], rank, false);
        if (product_to(call, &diff, &turned_b, &slope))
            return -1;
    }
    if (g->wanted[1]) {
        struct view slope = matrix(&g->slopes[1], rank, true);
        if (product_to(call, &turned_a, &diff, &slope))
            return -1;
    }
    return 0;
}

static int scale(struct walk_call *call, const struct view *view, float factor)
{
    return factor == 1.0F
               ? 0
               : library_eltwise(call->engine, dnnl_eltwise_linear, view, view, factor, 0, call->err);
}

int grad_gemm(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view a = view_of(call->inputs[0]), b = view_of(call->inputs[1]), diff = view_of(g->upstream);
    float alpha = node_float(call->node, "alpha", 1), beta = node_float(call->node, "beta", 1);
    bool turn_a = node_int(call->node, "transA", 0), turn_b = node_int(call->node, "transB", 0);
    /* a and b turned, as the derivatives by the other one take them */
    struct view at = turn_a ? a : turned_matrix(&a), bt = turn_b ? b : turned_matrix(&b);
    if (g->wanted[0]) {
        struct view slope = view_of(&g->slopes[0]), to = turn_a ? turned_matrix(&slope) : slope;
        if (product_to(call, &diff, &bt, &to) || scale(call, &slope, alpha))
            return -1;
    }
    if (g->wanted[1]) {
        struct view slope = view_of(&g->slopes[1]), to = turn_b ? turned_matrix(&slope) : slope;
        if (product_to(call, &at, &diff, &to) || scale(call, &slope, alpha))
            return -1;
    }
    if (call->n_inputs > 2 && g->wanted[2]) {
        struct view slope = matrix(&g->slopes[2], 2, false);
        return sum_to(call, &diff, &slope) || scale(call, &slope, beta) ? -1 : 0;
    }
    return 0;
}
