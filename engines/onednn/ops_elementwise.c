/* Operators that compute element by element, with broadcasting where the library has it. */
#include "onednn.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Attributes that the library calls alpha and beta, and what they are without a word. */
static float alpha_of(const struct walk_call *call)
{
    if (strcmp(call->node->op_type, "LeakyRelu") == 0)
        return node_float(call->node, "alpha", 0.01F);
    if (strcmp(call->node->op_type, "Elu") == 0 || strcmp(call->node->op_type, "Celu") == 0)
        return node_float(call->node, "alpha", 1);
    switch (call->row->kind) {
    case dnnl_eltwise_linear: /* Neg */
        return -1;
    case dnnl_eltwise_pow: /* Reciprocal */
    case dnnl_eltwise_soft_relu:
        return 1;
    default:
        return 0;
    }
}

int run_eltwise(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    float alpha = alpha_of(call), beta = call->row->kind == dnnl_eltwise_pow ? -1 : 0;
    /* alpha * elu(x / alpha) rounds positive x, which the operator does not. */
    if (strcmp(call->node->op_type, "Celu") == 0 && alpha != 1.0F)
        return walk_unsupported(call, "with alpha other than 1");
    return library_eltwise(call->engine, (dnnl_alg_kind_t)call->row->kind, &src, &dst, alpha, beta,
                           call->err);
}

/* A scalar operand of the data's type; false when there are more elements. */
static bool read_scalar(const struct walk_call *call, size_t index, float otherwise, float *value)
{
    const struct tensor *in = walk_input(call, index);
    *value = in && in->count == 1 ? (float)tensor_get(in, 0) : otherwise;
    return !in || in->count == 1;
}

static int clip_bounds(struct walk_call *call, float *low, float *high)
{
    *low = node_float(call->node, "min", -FLT_MAX);
    *high = node_float(call->node, "max", FLT_MAX);
    if (!read_scalar(call, 1, *low, low) || !read_scalar(call, 2, *high, high))
        return walk_unsupported(call, "with bounds of more than one element");
    if (!(*low <= *high))
        return walk_unsupported(call, "with min above max");
    return 0;
}

int run_clip(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    float low, high;
    if (clip_bounds(call, &low, &high))
        return -1;
    return library_eltwise(call->engine, dnnl_eltwise_clip_v2, &src, &dst, low, high, call->err);
}

static dnnl_alg_kind_t gelu_kind(const struct walk_call *call)
{
    return walk_text_is(call, "approximate", "none", "tanh") ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf;
}

int run_gelu(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    return library_eltwise(call->engine, gelu_kind(call), &src, &dst, 0, 0, call->err);
}

/* clip(alpha * x + beta, 0, 1): 2.6 has no primitive of its own for it. */
int run_hard_sigmoid(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    float alpha = node_float(call->node, "alpha", 0.2F), beta = node_float(call->node, "beta", 0.5F);
    return library_eltwise(call->engine, dnnl_eltwise_linear, &src, &dst, alpha, beta, call->err) ||
                   library_eltwise(call->engine, dnnl_eltwise_clip_v2, &dst, &dst, 0, 1, call->err)
               ? -1
               : 0;
}

int run_selu(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    float alpha = node_float(call->node, "alpha", 1.67326319217681884765625F);
    float gamma = node_float(call->node, "gamma", 1.05070102214813232421875F);
    return library_eltwise(call->engine, dnnl_eltwise_elu, &src, &dst, alpha, 0, call->err) ||
                   library_eltwise(call->engine, dnnl_eltwise_linear, &dst, &dst, gamma, 0, call->err)
               ? -1
               : 0;
}

int run_pow(struct walk_call *call)
{
    const struct tensor *exponent = walk_input(call, 1);
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    if (!exponent || exponent->count != 1 || exponent->type != call->inputs[0]->type ||
        !shape_equal(&call->inputs[0]->shape, &call->outputs[0].shape))
        return walk_unsupported(call, "the exponent must be one number of the data's type");
    return library_eltwise(call->engine, dnnl_eltwise_pow, &src, &dst, 1, (float)tensor_get(exponent, 0),
                           call->err);
}

static bool commutes(int kind)
{
    return kind != dnnl_binary_sub && kind != dnnl_binary_div;
}

/* Turns a comparison round: a < b is b > a. */
static int turned(int kind)
{
    switch (kind) {
    case dnnl_binary_lt:
        return dnnl_binary_gt;
    case dnnl_binary_gt:
        return dnnl_binary_lt;
    case dnnl_binary_le:
        return dnnl_binary_ge;
    case dnnl_binary_ge:
        return dnnl_binary_le;
    default:
        return kind;
    }
}

/* The library broadcasts its second operand only. */
static int combine(struct walk_call *call, struct view a, struct view b, const struct view *dst)
{
    int kind = call->row->kind;
    if (!view_covers(&a, dst) && view_covers(&b, dst) && commutes(kind)) {
        struct view swap = a;
        a = b;
        b = swap;
        kind = turned(kind);
    }
    if (!view_covers(&a, dst))
        return walk_unsupported(call, "broadcasts its first operand");
    return library_binary(call->engine, (dnnl_alg_kind_t)kind, &a, &b, dst, call->err);
}

int run_binary(struct walk_call *call)
{
    int rank = call->outputs[0].shape.rank ? call->outputs[0].shape.rank : 1;
    struct view a = view_aligned(call->inputs[0], rank), b = view_aligned(call->inputs[1], rank);
    struct view dst = view_aligned(&call->outputs[0], rank);
    return combine(call, a, b, &dst);
}

static bool all_alike(const struct walk_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        if (!shape_equal(&call->inputs[i]->shape, &call->outputs[0].shape))
            return false;
    return true;
}

/* Sum of scaled operands of one shape. */
static int scaled_sum(struct walk_call *call, float scale)
{
    struct view srcs[16], dst = view_of(&call->outputs[0]);
    float scales[16];
    if (call->n_inputs > 15)
        return walk_unsupported(call, "of more than 15 operands");
    for (size_t i = 0; i < call->n_inputs; i++) {
        srcs[i] = view_of(call->inputs[i]);
        scales[i] = scale;
    }
    return library_sum(call->engine, call->n_inputs, srcs, scales, &dst, call->err);
}

int run_mean(struct walk_call *call)
{
    if (!all_alike(call))
        return walk_unsupported(call, "of operands of different shapes");
    return scaled_sum(call, 1.0F / (float)call->n_inputs);
}

/* Sum, Max, Min: operand by operand into the output; a sum of equal shapes is one primitive. */
int run_variadic(struct walk_call *call)
{
    if (call->n_inputs > 1 && call->row->kind == dnnl_binary_add && all_alike(call))
        return scaled_sum(call, 1);
    int rank = call->outputs[0].shape.rank ? call->outputs[0].shape.rank : 1;
    struct view dst = view_aligned(&call->outputs[0], rank), first = view_aligned(call->inputs[0], rank);
    if (call->n_inputs == 1)
        return library_reorder(call->engine, &first, &dst, call->err);
    for (size_t i = 1; i < call->n_inputs; i++) {
        struct view next = view_aligned(call->inputs[i], rank);
        if (combine(call, first, next, &dst))
            return -1;
        first = dst;
    }
    return 0;
}

int run_prelu(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    struct view slope = view_aligned(call->inputs[1], src.rank);
    return library_prelu(call->engine, &src, &slope, &dst, call->err);
}

/* The slope of input 0 by one backward primitive. */
static int backward(struct walk_gradient *g, dnnl_alg_kind_t kind, float alpha, float beta)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream), slope = view_of(&g->slopes[0]);
    return library_eltwise_backward(call->engine, kind, &src, &diff, &slope, alpha, beta, call->err);
}

int grad_eltwise(struct walk_gradient *g)
{
    dnnl_alg_kind_t kind = (dnnl_alg_kind_t)g->call->row->kind;
    return backward(g, kind, alpha_of(g->call), kind == dnnl_eltwise_pow ? -1 : 0);
}

/* What the library takes as a number has no gradient there. */
static int only_first(struct walk_gradient *g)
{
    for (size_t i = 1; i < g->call->n_inputs; i++)
        if (g->wanted[i])
            return walk_unsupported(g->call, "oneDNN has no gradient of it by input %zu", i);
    return 0;
}

int grad_clip(struct walk_gradient *g)
{
    float low, high;
    if (only_first(g) || clip_bounds(g->call, &low, &high))
        return -1;
    /* A bound that is absent is no kink at the largest number. */
    low = low == -FLT_MAX ? -INFINITY : low;
    high = high == FLT_MAX ? INFINITY : high;
    return backward(g, dnnl_eltwise_clip_v2, low, high);
}

int grad_gelu(struct walk_gradient *g)
{
    return backward(g, gelu_kind(g->call), 0, 0);
}

int grad_hard_sigmoid(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream), slope = view_of(&g->slopes[0]);
    float alpha = node_float(call->node, "alpha", 0.2F), beta = node_float(call->node, "beta", 0.5F);
    struct view line = view_scratch(&src);
    int result = library_eltwise(call->engine, dnnl_eltwise_linear, &src, &line, alpha, beta, call->err);
    if (!result)
        result = library_eltwise_backward(call->engine, dnnl_eltwise_clip_v2, &line, &diff, &slope, 0, 1,
                                          call->err);
    if (!result)
        result = library_eltwise_backward(call->engine, dnnl_eltwise_linear, &src, &slope, &slope, alpha,
                                          beta, call->err);
    free(line.data);
    return result;
}

int grad_selu(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view slope = view_of(&g->slopes[0]);
    float gamma = node_float(call->node, "gamma", 1.05070102214813232421875F);
    if (backward(g, dnnl_eltwise_elu, node_float(call->node, "alpha", 1.67326319217681884765625F), 0))
        return -1;
    return library_eltwise(call->engine, dnnl_eltwise_linear, &slope, &slope, gamma, 0, call->err);
}

int grad_pow(struct walk_gradient *g)
{
    if (only_first(g))
        return -1;
    return backward(g, dnnl_eltwise_pow, 1, (float)tensor_get(g->call->inputs[1], 0));
}

/* 1 where operand a decides the maximum or minimum, else 0. */
static int decides(struct walk_call *call, struct view a, struct view b, const struct view *mask)
{
    int kind = call->row->kind == dnnl_binary_max ? dnnl_binary_ge : dnnl_binary_le;
    if (!view_covers(&a, mask)) {
        struct view swap = a;
        a = b;
        b = swap;
        kind = turned(kind);
    }
    return library_binary(call->engine, (dnnl_alg_kind_t)kind, &a, &b, mask, call->err);
}

/* What each element of the output gives to operand `first` (0 or 1), in the output's shape. */
static int binary_term(struct walk_gradient *g, const struct view operands[2], const struct view *diff,
                       size_t first, const struct view *term)
{
    struct walk_call *call = g->call;
    struct view y = view_aligned(&call->outputs[0], diff->rank);
    const struct view *a = &operands[first], *b = &operands[!first];
    switch (call->row->kind) {
    case dnnl_binary_add:
        return library_reorder(call->engine, diff, term, call->err);
    case dnnl_binary_sub:
        return library_eltwise(call->engine, dnnl_eltwise_linear, diff, term, first ? -1 : 1, 0, call->err);
    case dnnl_binary_mul:
        return library_binary(call->engine, dnnl_binary_mul, diff, b, term, call->err);
    case dnnl_binary_div:
        if (!first)
            return library_binary(call->engine, dnnl_binary_div, diff, b, term, call->err);
        return library_binary(call->engine, dnnl_binary_mul, diff, &y, term, call->err) ||
                       library_binary(call->engine, dnnl_binary_div, term, a, term, call->err) ||
                       library_eltwise(call->engine, dnnl_eltwise_linear, term, term, -1, 0, call->err)
                   ? -1
                   : 0;
    default:
        return decides(call, *a, *b, term) ||
                       library_binary(call->engine, dnnl_binary_mul, diff, term, term, call->err)
                   ? -1
                   : 0;
    }
}

int grad_binary(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    int rank = g->upstream->shape.rank ? g->upstream->shape.rank : 1, result = 0;
    struct view operands[] = {view_aligned(call->inputs[0], rank), view_aligned(call->inputs[1], rank)};
    struct view diff = view_aligned(g->upstream, rank), term = view_scratch(&diff);
    for (size_t i = 0; !result && i < 2; i++) {
        if (!g->wanted[i])
            continue;
        struct view slope = view_aligned(&g->slopes[i], rank);
        result = binary_term(g, operands, &diff, i, &term) || sum_to(call, &term, &slope);
    }
    free(term.data);
    return result ? -1 : 0;
}

int grad_variadic(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    int rank = g->upstream->shape.rank ? g->upstream->shape.rank : 1;
    struct view diff = view_aligned(g->upstream, rank);
    if (call->row->kind != dnnl_binary_add && call->n_inputs == 2)
        return grad_binary(g);
    if (call->row->kind != dnnl_binary_add && call->n_inputs > 2)
        return walk_unsupported(call, "the gradient for more than two operands");
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!g->wanted[i])
            continue;
        struct view slope = view_aligned(&g->slopes[i], rank);
        if (sum_to(call, &diff, &slope))
            return -1;
    }
    return 0;
}

int grad_mean(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view diff = view_of(g->upstream);
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!g->wanted[i])
            continue;
        struct view slope = view_of(&g->slopes[i]);
        if (library_eltwise(call->engine, dnnl_eltwise_linear, &diff, &slope, 1.0F / (float)call->n_inputs, 0,
                            call->err))
            return -1;
    }
    return 0;
}

/* The primitive gives both slopes; one that is not wanted is dropped. */
int grad_prelu(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct view src = view_of(call->inputs[0]), diff = view_of(g->upstream);
    struct view slope = view_aligned(call->inputs[1], src.rank);
    struct view unasked[] = {view_scratch(&src), view_scratch(&slope)}, out[] = {unasked[0], unasked[1]};
    for (int i = 0; i < 2; i++)
        if (g->wanted[i])
            out[i] = view_aligned(&g->slopes[i], src.rank);
    int result = library_prelu_backward(call->engine, &src, &slope, &diff, &out[0], &out[1], call->err);
    free(unasked[0].data);
    free(unasked[1].data);
    return result;
}
