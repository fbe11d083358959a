/* Operators that compute element by element, and Softmax. */
#include "xnnpack.h"

#include <math.h>
#include <string.h>

int run_unary(struct walk_call *call)
{
    typedef enum xnn_status define_unary(xnn_subgraph_t, uint32_t, uint32_t, uint32_t);
    static const struct {
        const char *name;
        define_unary *define;
    } rows[] = {
        [UNARY_ABS] = {"xnn_define_abs", xnn_define_abs},
        [UNARY_ROUND] = {"xnn_define_bankers_rounding", xnn_define_bankers_rounding},
        [UNARY_CEIL] = {"xnn_define_ceiling", xnn_define_ceiling},
        [UNARY_FLOOR] = {"xnn_define_floor", xnn_define_floor},
        [UNARY_HARD_SWISH] = {"xnn_define_hardswish", xnn_define_hardswish},
        [UNARY_NEG] = {"xnn_define_negate", xnn_define_negate},
        [UNARY_SIGMOID] = {"xnn_define_sigmoid", xnn_define_sigmoid},
        [UNARY_SQRT] = {"xnn_define_square_root", xnn_define_square_root},
    };
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    net_note(&net, rows[call->row->kind].name);
    return net_finish(&net, rows[call->row->kind].define(net.graph, x, y, 0));
}

static bool read_scalar(const struct walk_call *call, size_t index, float *value)
{
    const struct tensor *in = walk_input(call, index);
    if (in && in->count == 1)
        *value = (float)tensor_get(in, 0);
    return !in || in->count == 1;
}

int run_clip(struct walk_call *call)
{
    struct net net;
    float low = node_float(call->node, "min", -INFINITY), high = node_float(call->node, "max", INFINITY);
    if (call->row->kind == 1)
        low = 0;
    else if (!read_scalar(call, 1, &low) || !read_scalar(call, 2, &high))
        return walk_unsupported(call, "with bounds of more than one element");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_clamp)(net.graph, low, high, x, y, 0));
}

int run_elu(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    return net_finish(
        &net, NET_DEFINE(&net, xnn_define_elu)(net.graph, node_float(call->node, "alpha", 1), x, y, 0));
}

int run_leaky_relu(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_leaky_relu)(
                                net.graph, node_float(call->node, "alpha", 0.01F), x, y, 0));
}

/* clamp(alpha * x + beta, 0, 1) */
int run_hard_sigmoid(struct walk_call *call)
{
    struct net net;
    const struct shape *shape = &call->inputs[0]->shape;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    uint32_t alpha = net_number(&net, node_float(call->node, "alpha", 0.2F));
    uint32_t beta = net_number(&net, node_float(call->node, "beta", 0.5F));
    uint32_t product = net_inner(&net, shape->rank, shape->dims);
    enum xnn_status status =
        NET_DEFINE(&net, xnn_define_multiply2)(net.graph, -INFINITY, INFINITY, x, alpha, product, 0);
    if (status == xnn_status_success)
        status = NET_DEFINE(&net, xnn_define_add2)(net.graph, 0, 1, product, beta, y, 0);
    return net_finish(&net, status);
}

int run_reciprocal(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    uint32_t one = net_number(&net, 1);
    return net_finish(&net,
                      NET_DEFINE(&net, xnn_define_divide)(net.graph, -INFINITY, INFINITY, one, x, y, 0));
}

int run_pow(struct walk_call *call)
{
    struct net net;
    float exponent = 0;
    if (!read_scalar(call, 1, &exponent) || exponent != 2.0F)
        return walk_unsupported(call, "with an exponent other than 2");
    if (!shape_equal(&call->inputs[0]->shape, &call->outputs[0].shape))
        return walk_unsupported(call, "broadcasts the base");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_square)(net.graph, x, y, 0));
}

static enum xnn_status define_binary(struct net *net, int kind, uint32_t a, uint32_t b, uint32_t y)
{
    switch (kind) {
    case BINARY_ADD:
        return NET_DEFINE(net, xnn_define_add2)(net->graph, -INFINITY, INFINITY, a, b, y, 0);
    case BINARY_SUB:
        return NET_DEFINE(net, xnn_define_subtract)(net->graph, -INFINITY, INFINITY, a, b, y, 0);
    case BINARY_MUL:
        return NET_DEFINE(net, xnn_define_multiply2)(net->graph, -INFINITY, INFINITY, a, b, y, 0);
    case BINARY_DIV:
        return NET_DEFINE(net, xnn_define_divide)(net->graph, -INFINITY, INFINITY, a, b, y, 0);
    case BINARY_MAX:
        return NET_DEFINE(net, xnn_define_maximum2)(net->graph, a, b, y, 0);
    default:
        return NET_DEFINE(net, xnn_define_minimum2)(net->graph, a, b, y, 0);
    }
}

int run_binary(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t a = net_input(&net, call->inputs[0]), b = net_input(&net, call->inputs[1]);
    uint32_t y = net_output(&net, &call->outputs[0]);
    return net_finish(&net, define_binary(&net, call->row->kind, a, b, y));
}

static struct shape broadcast(const struct shape *a, const struct shape *b)
{
    struct shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < s.rank; i++) {
        int64_t da = i < s.rank - a->rank ? 1 : a->dims[i - (s.rank - a->rank)];
        int64_t db = i < s.rank - b->rank ? 1 : b->dims[i - (s.rank - b->rank)];
        s.dims[i] = da == 1 ? db : da;
    }
    return s;
}

/* Sum, Max, Min: a chain in one subgraph. */
int run_variadic(struct walk_call *call)
{
    struct net net;
    if (call->n_inputs < 2 || call->n_inputs > 8)
        return walk_unsupported(call, "of %zu operands", call->n_inputs);
    if (net_init(&net, call))
        return -1;
    uint32_t left = net_input(&net, call->inputs[0]);
    struct shape shape = call->inputs[0]->shape;
    enum xnn_status status = xnn_status_success;
    for (size_t i = 1; i < call->n_inputs && status == xnn_status_success; i++) {
        uint32_t right = net_input(&net, call->inputs[i]);
        shape = broadcast(&shape, &call->inputs[i]->shape);
        uint32_t y = i + 1 == call->n_inputs ? net_output(&net, &call->outputs[0])
                                             : net_inner(&net, shape.rank, shape.dims);
        status = define_binary(&net, call->row->kind, left, right, y);
        left = y;
    }
    return net_finish(&net, status);
}

/* A slope for each channel (dimension 1) or one for all; the library wants channels last. */
int run_prelu(struct walk_call *call)
{
    struct net net;
    const struct tensor *in = call->inputs[0], *slope = call->inputs[1];
    int lead = in->shape.rank - slope->shape.rank;
    for (int i = 0; i < slope->shape.rank; i++)
        if (slope->shape.dims[i] != 1 && i + lead != 1)
            return walk_unsupported(call, "with slopes other than one for each channel");
    if (slope->type != DTYPE_FLOAT || (slope->count != 1 && slope->count != (size_t)in->shape.dims[1]))
        return walk_unsupported(call, "with slopes other than one for each channel");
    if (net_init(&net, call))
        return -1;
    float *data;
    uint32_t x = net_image(&net, in), y = net_output_image(&net, &call->outputs[0]);
    uint32_t w = net_weights(&net, 1, &in->shape.dims[1], &data);
    for (int64_t i = 0; i < in->shape.dims[1]; i++)
        data[i] = ((const float *)slope->data)[slope->count == 1 ? 0 : i];
    return net_finish(&net, NET_DEFINE(&net, xnn_define_prelu)(net.graph, x, w, y, 0));
}

/* The library takes the last dimension. */
int run_softmax(struct walk_call *call)
{
    struct net net;
    const struct tensor *in = call->inputs[0];
    int64_t dims[2];
    if (!walk_softmax_matrix(call, dims))
        return walk_unsupported(call, "of an axis other than the last");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input_as(&net, in, 2, dims), y = net_output_as(&net, &call->outputs[0], 2, dims);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_softmax)(net.graph, x, y, 0));
}
