/* Gemm, MatMul, Pad and Reshape. */
#include "xnnpack.h"

#include <math.h>
#include <string.h>

/* x [.., K] times w [K, N] (or [N, K] when transposed) plus a bias of N elements. */
static int fully_connected(struct walk_call *call, const struct tensor *w, bool transposed,
                           const struct tensor *bias)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    uint32_t filter = net_static(&net, w), b = XNN_INVALID_VALUE_ID;
    if (bias) {
        float *data;
        int64_t n = w->shape.dims[transposed ? 0 : 1];
        b = net_weights(&net, 1, &n, &data);
        memcpy(data, bias->data, bias->size);
    }
    return net_finish(
        &net, NET_DEFINE(&net, xnn_define_fully_connected)(net.graph, -INFINITY, INFINITY, x, filter, b, y,
                                                           transposed ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS));
}

int run_gemm(struct walk_call *call)
{
    const struct tensor *w = call->inputs[1], *c = walk_input(call, 2);
    bool transposed = node_int(call->node, "transB", 0);
    int64_t n = w->shape.dims[transposed ? 0 : 1];
    float beta = node_float(call->node, "beta", 1);
    if (node_int(call->node, "transA", 0) || node_float(call->node, "alpha", 1) != 1.0F)
        return walk_unsupported(call, "with transA or alpha");
    if (c &&
        (beta != 1.0F || c->count != (size_t)n || (c->shape.rank && c->shape.dims[c->shape.rank - 1] != n)))
        return walk_unsupported(call, "with a C that is no bias");
    return fully_connected(call, w, transposed, c);
}

int run_matmul(struct walk_call *call)
{
    if (call->inputs[1]->shape.rank != 2)
        return walk_unsupported(call, "by anything but a matrix");
    return fully_connected(call, call->inputs[1], false, NULL);
}

int run_pad(struct walk_call *call)
{
    struct net net;
    const struct tensor *pads = walk_input(call, 1), *value = walk_input(call, 2);
    int rank = call->inputs[0]->shape.rank;
    size_t before[XNN_MAX_TENSOR_DIMS], after[XNN_MAX_TENSOR_DIMS];
    if (!walk_text_is(call, "mode", "constant", "constant") || walk_input(call, 3) || !pads)
        return walk_unsupported(call, "other than constant, on all axes");
    for (int i = 0; i < rank; i++) {
        long double low = tensor_get(pads, (size_t)i), high = tensor_get(pads, (size_t)(i + rank));
        if (low < 0 || high < 0)
            return walk_unsupported(call, "with negative padding");
        before[i] = (size_t)low;
        after[i] = (size_t)high;
    }
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    float fill = value && value->count ? (float)tensor_get(value, 0) : 0;
    return net_finish(
        &net, NET_DEFINE(&net, xnn_define_static_constant_pad)(net.graph, before, after, fill, x, y, 0));
}

int run_reshape(struct walk_call *call)
{
    struct net net;
    const struct shape *shape = &call->outputs[0].shape;
    size_t dims[XNN_MAX_TENSOR_DIMS] = {1};
    if (shape->rank > XNN_MAX_TENSOR_DIMS)
        return walk_unsupported(call, "to rank %d", shape->rank);
    for (int i = 0; i < shape->rank; i++)
        dims[i] = (size_t)shape->dims[i];
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    size_t rank = shape->rank ? (size_t)shape->rank : 1;
    return net_finish(&net, NET_DEFINE(&net, xnn_define_static_reshape)(net.graph, rank, dims, x, y, 0));
}
