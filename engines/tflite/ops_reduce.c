/* Operators along an axis: reductions, Softmax, CumSum, TopK, LRN. */
#include "tflite.h"

/* The axes as a constant; all of them where none are named. Returns its number. */
static int axes_of(struct net *net)
{
    const int64_t *given;
    int rank = net->call->inputs[0]->shape.rank;
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = walk_axes(net->call, &given);
    for (size_t i = 0; i < count && i < TENSOR_MAX_RANK; i++)
        axes[i] = walk_axis(given[i], rank);
    for (int i = 0; i < rank && !count; i++)
        axes[i] = i;
    return net_ints(net, count ? count : (size_t)rank, axes);
}

static void reduce(struct net *net, enum lite_op op, int x, int y)
{
    bool keep = node_int(net->call->node, "keepdims", 1);
    net_op(net, op, x, axes_of(net), NONE, y, NET_OPTIONS(OPTIONS_REDUCER, {0, 1, keep}));
}

/* No axes and the attribute: the input itself, which is no reduction; a scalar has nothing to reduce. */
static bool reduces(const struct walk_call *call)
{
    const int64_t *axes;
    return call->inputs[0]->shape.rank &&
           (walk_axes(call, &axes) || !node_int(call->node, "noop_with_empty_axes", 0));
}

int run_reduce(struct walk_call *call)
{
    struct net net;
    if (!reduces(call))
        return walk_unsupported(call, "without axes");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    reduce(&net, (enum lite_op)call->row->kind, x, y);
    return net_finish(&net);
}

/* ReduceSumSquare, and ReduceL2, its root. */
int run_reduce_of_squares(struct walk_call *call)
{
    struct net net;
    if (!reduces(call))
        return walk_unsupported(call, "without axes");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int squares = net_inner_like(&net, call->inputs[0]);
    int sum = call->row->kind ? net_inner_like(&net, &call->outputs[0]) : y;
    net_op(&net, OP_SQUARE, x, NONE, NONE, squares, NULL);
    reduce(&net, OP_SUM, squares, sum);
    if (call->row->kind)
        net_op(&net, OP_SQRT, sum, NONE, NONE, y, NULL);
    return net_finish(&net);
}

int run_reduce_l1(struct walk_call *call)
{
    struct net net;
    if (!reduces(call))
        return walk_unsupported(call, "without axes");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int sizes = net_inner_like(&net, call->inputs[0]);
    net_op(&net, OP_ABS, x, NONE, NONE, sizes, NULL);
    reduce(&net, OP_SUM, sizes, y);
    return net_finish(&net);
}

/* The mean, or the largest, over height and width. */
int run_global_pool(struct walk_call *call)
{
    static const int64_t axes[] = {2, 3, 4};
    struct net net;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int spatial = net_ints(&net, (size_t)call->inputs[0]->shape.rank - 2, axes);
    net_op(&net, (enum lite_op)call->row->kind, x, spatial, NONE, y, NET_OPTIONS(OPTIONS_REDUCER, {0, 1, 1}));
    return net_finish(&net);
}

/* The library leaves the axis out, which leaves the elements as they are. */
int run_arg(struct walk_call *call)
{
    struct net net;
    const struct shape *in = &call->inputs[0]->shape;
    bool max = call->row->kind == OP_ARG_MAX;
    int axis = walk_axis(node_int(call->node, "axis", 0), in->rank);
    int64_t dims[TENSOR_MAX_RANK];
    if (node_int(call->node, "select_last_index", 0))
        return walk_unsupported(call, "with select_last_index");
    for (int i = 0, n = 0; i < in->rank; i++)
        if (i != axis)
            dims[n++] = in->dims[i];
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]);
    int y = net_output_as(&net, &call->outputs[0], in->rank - 1, dims);
    net_op(&net, max ? OP_ARG_MAX : OP_ARG_MIN, x, net_int(&net, axis), NONE, y,
           NET_OPTIONS(max ? OPTIONS_ARG_MAX : OPTIONS_ARG_MIN, {0, 1, (uint64_t)net_type(DTYPE_INT64)}));
    return net_finish(&net);
}

/* The library takes the last dimension. */
int run_softmax(struct walk_call *call)
{
    struct net net;
    const struct tensor *in = call->inputs[0];
    bool log = call->row->kind == OP_LOG_SOFTMAX;
    int64_t dims[2];
    if (!walk_softmax_matrix(call, dims))
        return walk_unsupported(call, "of an axis other than the last");
    net_init(&net, call);
    int x = net_input_as(&net, in, 2, dims), y = net_output_as(&net, &call->outputs[0], 2, dims);
    net_op(&net, (enum lite_op)call->row->kind, x, NONE, NONE, y,
           log ? NULL : NET_OPTIONS(OPTIONS_SOFTMAX, {0, 4, net_float(1)}));
    return net_finish(&net);
}

int run_cumsum(struct walk_call *call)
{
    struct net net;
    int64_t axis = (int64_t)tensor_get(call->inputs[1], 0);
    bool exclusive = node_int(call->node, "exclusive", 0), reverse = node_int(call->node, "reverse", 0);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int at = net_int(&net, walk_axis(axis, call->inputs[0]->shape.rank));
    net_op(&net, OP_CUMSUM, x, at, NONE, y, NET_OPTIONS(OPTIONS_CUMSUM, {0, 1, exclusive}, {1, 1, reverse}));
    return net_finish(&net);
}

/* The largest of the last axis, sorted. The library's positions are int32, which it casts. */
int run_topk(struct walk_call *call)
{
    struct net net;
    int rank = call->inputs[0]->shape.rank;
    const struct tensor *positions = &call->outputs[1];
    if (call->n_outputs < 2 || !walk_wants(call, 0) || !walk_wants(call, 1))
        return walk_unsupported(call, "without both outputs");
    if (walk_axis(node_int(call->node, "axis", -1), rank) != rank - 1 ||
        !node_int(call->node, "largest", 1) || !node_int(call->node, "sorted", 1))
        return walk_unsupported(call, "other than the largest of the last axis, sorted");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    int k = net_int(&net, call->outputs[0].shape.dims[rank - 1]);
    int narrow = net_inner(&net, DTYPE_INT32, rank, positions->shape.dims);
    int wide = net_output(&net, &call->outputs[1]);
    net_op_output(&net, net_op(&net, OP_TOPK_V2, x, k, NONE, y, NULL), narrow);
    net_op(&net, OP_CAST, narrow, NONE, NONE, wide,
           NET_OPTIONS(OPTIONS_CAST, {0, 1, (uint64_t)net_type(DTYPE_INT32)},
                       {1, 1, (uint64_t)net_type(DTYPE_INT64)}));
    return net_finish(&net);
}

/* The library's alpha is ONNX's divided by the size. */
int run_lrn(struct walk_call *call)
{
    struct net net;
    int64_t size = node_int(call->node, "size", 1);
    float alpha = node_float(call->node, "alpha", 0.0001F) / (float)size;
    float beta = node_float(call->node, "beta", 0.75F), bias = node_float(call->node, "bias", 1);
    if (size % 2 == 0)
        return walk_unsupported(call, "of an even size");
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    net_op(&net, OP_LOCAL_RESPONSE_NORMALIZATION, x, NONE, NONE, y,
           NET_OPTIONS(OPTIONS_LOCAL_RESPONSE_NORMALIZATION, {0, 4, (uint64_t)(size / 2)},
                       {1, 4, net_float(bias)}, {2, 4, net_float(alpha)}, {3, 4, net_float(beta)}));
    return net_finish(&net);
}
