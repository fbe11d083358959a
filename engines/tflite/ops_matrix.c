/* Gemm and MatMul. */
#include "tflite.h"

#include <string.h>

/* x [rows, K] times w [N, K] plus a bias of N elements. */
static void fully_connected(struct net *net, int x, int w, int bias, int y)
{
    net_op(net, OP_FULLY_CONNECTED, x, w, bias, y, NET_OPTIONS(OPTIONS_FULLY_CONNECTED, {0, 1, 0}));
}

/* Weights as the library has them, [N, K]. */
static int weights_of(struct net *net, const struct tensor *w, bool turned)
{
    static const int order[] = {1, 0};
    return turned ? net_const(net, w) : net_turned(net, w, 2, w->shape.dims, order);
}

static bool is_bias(const struct tensor *c, int64_t n)
{
    return c && c->count == (size_t)n && c->shape.rank && c->shape.dims[c->shape.rank - 1] == n;
}

/* A C that is no bias is added by an operator of its own. */
int run_gemm(struct walk_call *call)
{
    struct net net;
    const struct tensor *c = walk_input(call, 2);
    const int64_t *out = call->outputs[0].shape.dims;
    bool bias = is_bias(c, out[1]);
    if (node_int(call->node, "transA", 0) || node_float(call->node, "alpha", 1) != 1.0F ||
        (c && node_float(call->node, "beta", 1) != 1.0F))
        return walk_unsupported(call, "with transA, alpha or beta");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]);
    int w = weights_of(&net, call->inputs[1], node_int(call->node, "transB", 0));
    int y = net_output(&net, &call->outputs[0]);
    int product = c && !bias ? net_inner_like(&net, &call->outputs[0]) : y;
    fully_connected(&net, x, w, bias ? net_const_as(&net, c->type, c->data, 1, &out[1]) : NONE, product);
    if (c && !bias)
        net_op(&net, OP_ADD, product, net_input(&net, c), NONE, y, NET_OPTIONS(OPTIONS_ADD, {0, 1, 0}));
    return net_finish(&net);
}

static int by_matrix(struct walk_call *call)
{
    struct net net;
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    int64_t k = b->shape.dims[0], n = b->shape.dims[1];
    int64_t rows = k ? (int64_t)a->count / k : 0, in[] = {rows, k}, out[] = {rows, n};
    net_init(&net, call);
    int x = net_input_as(&net, a, 2, in), w = weights_of(&net, b, false);
    fully_connected(&net, x, w, NONE, net_output_as(&net, &call->outputs[0], 2, out));
    return net_finish(&net);
}

/* By a matrix the product is FULLY_CONNECTED, which every release has, else BATCH_MATMUL. */
int run_matmul(struct walk_call *call)
{
    struct net net;
    const struct shape *a = &call->inputs[0]->shape, *b = &call->inputs[1]->shape;
    if (b->rank == 2)
        return by_matrix(call);
    if (a->rank < 2 || b->rank < 2 || a->rank > 5 || b->rank > 5)
        return walk_unsupported(call, "by a vector, or of more than 5 dimensions");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), w = net_input(&net, call->inputs[1]);
    net_op(&net, OP_BATCH_MATMUL, x, w, NONE, net_output(&net, &call->outputs[0]),
           NET_OPTIONS(OPTIONS_BATCH_MATMUL, {0, 1, 0}, {1, 1, 0}));
    return net_finish(&net);
}
