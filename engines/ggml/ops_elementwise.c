/* Operators that work on single elements. */
#include "ops.h"

#include <math.h>

int run_unary(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int kind = call->row->kind;
    if (!net.api->unary[kind])
        return net_refuse(&net, "this release has no %s", unary_names[kind]);
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    return net_finish(&net, x ? net.api->unary[kind](net.context, x) : NULL);
}

/* ggml_elu has no alpha. */
int run_elu(struct walk_call *call)
{
    if (node_float(call->node, "alpha", 1) != 1.0F)
        return walk_unsupported(call, "with another alpha than 1");
    return run_unary(call);
}

/* ggml_hardsigmoid is max(0, min(1, (x + 3) / 6)). */
int run_hard_sigmoid(struct walk_call *call)
{
    if (node_float(call->node, "alpha", 0.2F) != 1.0F / 6 || node_float(call->node, "beta", 0.5F) != 0.5F)
        return walk_unsupported(call, "with other alpha and beta than 1/6 and 1/2");
    return run_unary(call);
}

/* ggml_silu is x * sigmoid(x). */
int run_swish(struct walk_call *call)
{
    if (node_float(call->node, "alpha", 1) != 1.0F)
        return walk_unsupported(call, "with another alpha than 1");
    return run_unary(call);
}

/* Only squares: ggml has no power. */
int run_pow(struct walk_call *call)
{
    const struct tensor *exponent = call->inputs[1];
    if (exponent->count != 1 || exponent->shape.rank > call->inputs[0]->shape.rank ||
        tensor_get(exponent, 0) != 2)
        return walk_unsupported(call, "to anything but 2");
    return run_unary(call);
}

/* ggml_gelu is the approximation by tanh, ggml_gelu_erf the other one. */
int run_gelu(struct walk_call *call)
{
    struct net net;
    bool tanh = walk_text_is(call, "approximate", "none", "tanh");
    int kind = tanh ? UNARY_GELU : UNARY_GELU_ERF;
    if (net_init(&net, call))
        return -1;
    if (!net.api->unary[kind])
        return net_refuse(&net, "this release has no %s", unary_names[kind]);
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    return net_finish(&net, x ? net.api->unary[kind](net.context, x) : NULL);
}

int run_leaky_relu(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    float alpha = node_float(call->node, "alpha", 0.01F);
    return net_finish(&net, x ? net.api->leaky_relu(net.context, x, alpha, false) : NULL);
}

static float limit(const struct walk_call *call, size_t index, const char *name, float otherwise)
{
    if (call->opset < 11)
        return node_float(call->node, name, otherwise);
    const struct tensor *t = walk_input(call, index);
    return t ? (float)tensor_get(t, 0) : otherwise;
}

int run_clip(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    float low = limit(call, 1, "min", -INFINITY), high = limit(call, 2, "max", INFINITY);
    if (!(low <= high))
        return net_refuse(&net, "with limits that cross");
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    return net_finish(&net, x ? net.api->clamp(net.context, x, low, high) : NULL);
}

/* The second operand is repeated by the builder, the first one must be as large as the result. */
static struct ggml_tensor *pair(struct net *net, int kind, struct ggml_tensor *a, const struct shape *shape,
                                struct ggml_tensor *b)
{
    if (!a || !b)
        return NULL;
    a = net_repeat(net, a, shape, &net->call->outputs[0].shape);
    return net->api->binary[kind](net->context, a, b);
}

/* Add, Sub, Mul, Div, and Sum of any number. */
int run_binary(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    if (call->n_inputs > NET_MAX_INPUTS)
        return net_refuse(&net, "of more than %d", (int)NET_MAX_INPUTS);
    struct ggml_tensor *y = net_input(&net, call->inputs[0]);
    const struct shape *shape = &call->inputs[0]->shape;
    for (size_t i = 1; i < call->n_inputs; i++, shape = &call->outputs[0].shape)
        y = pair(&net, call->row->kind, y, shape, net_input(&net, call->inputs[i]));
    return net_finish(&net, y);
}
