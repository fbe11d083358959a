/* Operators that compute element by element, with broadcasting where the library has it. */
#include "onednn.h"

#include <float.h>
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

int run_clip(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    float low = node_float(call->node, "min", -FLT_MAX), high = node_float(call->node, "max", FLT_MAX);
    if (!read_scalar(call, 1, low, &low) || !read_scalar(call, 2, high, &high))
        return walk_unsupported(call, "with bounds of more than one element");
    if (!(low <= high))
        return walk_unsupported(call, "with min above max");
    return library_eltwise(call->engine, dnnl_eltwise_clip_v2, &src, &dst, low, high, call->err);
}

int run_gelu(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    dnnl_alg_kind_t kind =
        walk_text_is(call, "approximate", "none", "tanh") ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf;
    return library_eltwise(call->engine, kind, &src, &dst, 0, 0, call->err);
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

/* An operand with ones put before its dims, as the library wants all ranks alike. */
static struct view aligned(const struct tensor *tensor, int rank)
{
    int64_t dims[TENSOR_MAX_RANK] = {0};
    int lead = rank - tensor->shape.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i < lead ? 1 : tensor->shape.dims[i - lead];
    return view_as(tensor, rank, dims);
}

static bool covers(const struct view *view, const struct view *dst)
{
    return memcmp(view->dims, dst->dims, (size_t)dst->rank * sizeof *dst->dims) == 0;
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
    if (!covers(&a, dst) && covers(&b, dst) && commutes(kind)) {
        struct view swap = a;
        a = b;
        b = swap;
        kind = turned(kind);
    }
    if (!covers(&a, dst))
        return walk_unsupported(call, "broadcasts its first operand");
    return library_binary(call->engine, (dnnl_alg_kind_t)kind, &a, &b, dst, call->err);
}

int run_binary(struct walk_call *call)
{
    int rank = call->outputs[0].shape.rank ? call->outputs[0].shape.rank : 1;
    struct view a = aligned(call->inputs[0], rank), b = aligned(call->inputs[1], rank);
    struct view dst = aligned(&call->outputs[0], rank);
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
    struct view dst = aligned(&call->outputs[0], rank), first = aligned(call->inputs[0], rank);
    if (call->n_inputs == 1)
        return library_reorder(call->engine, &first, &dst, call->err);
    for (size_t i = 1; i < call->n_inputs; i++) {
        struct view next = aligned(call->inputs[i], rank);
        if (combine(call, first, next, &dst))
            return -1;
        first = dst;
    }
    return 0;
}

int run_prelu(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    struct view slope = aligned(call->inputs[1], src.rank);
    return library_prelu(call->engine, &src, &slope, &dst, call->err);
}
