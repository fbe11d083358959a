/* Operators that compute element by element. */
#include "tflite.h"

#include <math.h>

int run_unary(struct walk_call *call)
{
    struct net net;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    net_op(&net, (enum lite_op)call->row->kind, x, NONE, NONE, y, NULL);
    return net_finish(&net);
}

int run_elu(struct walk_call *call)
{
    if (node_float(call->node, "alpha", 1) != 1.0F)
        return walk_unsupported(call, "with an alpha other than 1");
    return run_unary(call);
}

static int with_options(struct walk_call *call, enum lite_op op, const struct net_options *options)
{
    struct net net;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    net_op(&net, op, x, NONE, NONE, y, options);
    return net_finish(&net);
}

int run_leaky_relu(struct walk_call *call)
{
    float alpha = node_float(call->node, "alpha", 0.01F);
    return with_options(call, OP_LEAKY_RELU, NET_OPTIONS(OPTIONS_LEAKY_RELU, {0, 4, net_float(alpha)}));
}

int run_gelu(struct walk_call *call)
{
    bool approximate = walk_text_is(call, "approximate", "none", "tanh");
    return with_options(call, OP_GELU, NET_OPTIONS(OPTIONS_GELU, {0, 1, approximate}));
}

/* Kernels broadcast up to four dimensions, and release builds do not check that there are no more. */
static bool broadcast_fits(const struct walk_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        if (!shape_equal(&call->inputs[i]->shape, &call->outputs[0].shape) && call->outputs[0].shape.rank > 4)
            return false;
    return true;
}

static const char broadcasts[] = "broadcast to more than 4 dimensions";

/* Numbers that are no scalar would broadcast. False when there are more. */
static bool read_scalar(const struct walk_call *call, size_t index, long double *value, bool *given)
{
    const struct tensor *in = walk_input(call, index);
    if (in && in->count == 1)
        *value = tensor_get(in, 0);
    *given |= in != NULL;
    return !in || in->count == 1;
}

/* The library has these clamps by themselves. */
static enum lite_op clamp_of(const struct walk_call *call, long double low, long double high)
{
    if (call->inputs[0]->type == DTYPE_FLOAT && low == 0 && high == 6)
        return OP_RELU6;
    return call->inputs[0]->type == DTYPE_FLOAT && low == -1 && high == 1 ? OP_RELU_N1_TO_1 : OP_MINIMUM;
}

/* Else min(high, max(x, low)), as ONNX defines it. */
static int clip(struct walk_call *call, const long double *low, const long double *high)
{
    struct net net;
    enum dtype type = call->inputs[0]->type;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int inner = low && high ? net_inner_like(&net, call->inputs[0]) : low ? y : x;
    if (low)
        net_op(&net, OP_MAXIMUM, x, net_number(&net, type, *low), NONE, inner, NULL);
    if (high)
        net_op(&net, OP_MINIMUM, inner, net_number(&net, type, *high), NONE, y, NULL);
    return net_finish(&net);
}

int run_clip(struct walk_call *call)
{
    bool has_low = node_attribute(call->node, "min") != NULL, has_high = node_attribute(call->node, "max");
    long double low = node_float(call->node, "min", 0), high = node_float(call->node, "max", 0);
    if (!read_scalar(call, 1, &low, &has_low) || !read_scalar(call, 2, &high, &has_high))
        return walk_unsupported(call, "with bounds of more than one element");
    if (!has_low && !has_high)
        return walk_unsupported(call, "without bounds");
    enum lite_op own = has_low && has_high ? clamp_of(call, low, high) : OP_MINIMUM;
    if (own == OP_MINIMUM && call->inputs[0]->shape.rank > 4)
        return walk_unsupported(call, broadcasts);
    return own == OP_MINIMUM ? clip(call, has_low ? &low : NULL, has_high ? &high : NULL)
                             : with_options(call, own, NULL);
}

int run_reciprocal(struct walk_call *call)
{
    struct net net;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int one = net_number(&net, call->inputs[0]->type, 1);
    net_op(&net, OP_DIV, one, x, NONE, y, NET_OPTIONS(OPTIONS_DIV, {0, 1, 0}));
    return net_finish(&net);
}

static void add_binary(struct net *net, enum lite_op op, int a, int b, int y)
{
    int type = op == OP_ADD   ? OPTIONS_ADD
               : op == OP_SUB ? OPTIONS_SUB
               : op == OP_MUL ? OPTIONS_MUL
                              : OPTIONS_DIV;
    bool has = op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV;
    net_op(net, op, a, b, NONE, y, has ? NET_OPTIONS(type, {0, 1, 0}) : NULL);
}

int run_binary(struct walk_call *call)
{
    struct net net;
    if (!broadcast_fits(call))
        return walk_unsupported(call, broadcasts);
    /* Only Pow of ONNX has two types; not every release checks them. */
    if (call->inputs[0]->type != call->inputs[1]->type)
        return walk_unsupported(call, "of two types, which the format's operators do not have");
    net_init(&net, call);
    int a = net_input(&net, call->inputs[0]), b = net_input(&net, call->inputs[1]);
    add_binary(&net, (enum lite_op)call->row->kind, a, b, net_output(&net, &call->outputs[0]));
    return net_finish(&net);
}

int run_mod(struct walk_call *call)
{
    if (node_int(call->node, "fmod", 0))
        return walk_unsupported(call, "with fmod");
    return run_binary(call);
}

/* The operands in pairs, from the left. Returns the number of the last result, for which there is no output
 * yet when `open`. */
static int chain(struct net *net, bool open)
{
    struct walk_call *call = net->call;
    int result = net_input(net, call->inputs[0]);
    for (size_t i = 1; i < call->n_inputs; i++) {
        bool last = i + 1 == call->n_inputs && !open;
        int next = net_input(net, call->inputs[i]);
        int sum = last ? net_output(net, &call->outputs[0]) : net_inner_like(net, &call->outputs[0]);
        add_binary(net, (enum lite_op)call->row->kind, result, next, sum);
        result = sum;
    }
    return result;
}

/* Between the operands of a chain the shapes are those of the output: the first two must give it. */
static bool chain_fits(const struct walk_call *call)
{
    const struct shape *out = &call->outputs[0].shape;
    return call->n_inputs > 1 && broadcast_fits(call) &&
           (call->n_inputs == 2 || shape_equal(&call->inputs[0]->shape, out) ||
            shape_equal(&call->inputs[1]->shape, out));
}

int run_variadic(struct walk_call *call)
{
    struct net net;
    if (!chain_fits(call))
        return walk_unsupported(call, "of one operand, or of operands that grow");
    net_init(&net, call);
    chain(&net, false);
    return net_finish(&net);
}

int run_mean(struct walk_call *call)
{
    struct net net;
    if (!chain_fits(call) || call->outputs[0].shape.rank > 4)
        return walk_unsupported(call, "of one operand, of operands that grow, or of more than 4 dimensions");
    net_init(&net, call);
    int sum = chain(&net, true), count = net_number(&net, call->inputs[0]->type, call->n_inputs);
    add_binary(&net, OP_DIV, sum, count, net_output(&net, &call->outputs[0]));
    return net_finish(&net);
}

int run_prelu(struct walk_call *call)
{
    struct net net;
    if (!broadcast_fits(call))
        return walk_unsupported(call, broadcasts);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), slope = net_const(&net, call->inputs[1]);
    net_op(&net, OP_PRELU, x, slope, NONE, net_output(&net, &call->outputs[0]), NULL);
    return net_finish(&net);
}

int run_where(struct walk_call *call)
{
    struct net net;
    if (!broadcast_fits(call))
        return walk_unsupported(call, broadcasts);
    net_init(&net, call);
    int c = net_input(&net, call->inputs[0]), a = net_input(&net, call->inputs[1]);
    int b = net_input(&net, call->inputs[2]), y = net_output(&net, &call->outputs[0]);
    net_op(&net, OP_SELECT_V2, c, a, b, y, NULL);
    return net_finish(&net);
}

int run_cast(struct walk_call *call)
{
    int from = net_type(call->inputs[0]->type), to = net_type(call->outputs[0].type);
    if (from < 0 || to < 0)
        return walk_unsupported(call, "of a type that the format lacks");
    return with_options(call, OP_CAST,
                        NET_OPTIONS(OPTIONS_CAST, {0, 1, (uint64_t)from}, {1, 1, (uint64_t)to}));
}
