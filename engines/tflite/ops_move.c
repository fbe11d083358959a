/* Operators that move elements and compute nothing. */
#include "tflite.h"

#include "base/memory.h"

int run_reshape(struct walk_call *call)
{
    struct net net;
    const struct shape *shape = &call->outputs[0].shape;
    if (!shape->rank)
        return walk_unsupported(call, "to a scalar");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), to = net_ints(&net, (size_t)shape->rank, shape->dims);
    net_op(&net, OP_RESHAPE, x, to, NONE, net_output(&net, &call->outputs[0]), NULL);
    return net_finish(&net);
}

int run_transpose(struct walk_call *call)
{
    struct net net;
    const int64_t *given;
    size_t count;
    int rank = call->inputs[0]->shape.rank;
    int64_t order[TENSOR_MAX_RANK];
    bool has = node_ints(call->node, "perm", &given, &count);
    if (!rank || rank > 6)
        return walk_unsupported(call, "of %d dimensions", rank);
    for (int i = 0; i < rank; i++)
        order[i] = has ? given[i] : rank - 1 - i;
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), perm = net_ints(&net, (size_t)rank, order);
    net_op(&net, OP_TRANSPOSE, x, perm, NONE, net_output(&net, &call->outputs[0]), NULL);
    return net_finish(&net);
}

int run_concat(struct walk_call *call)
{
    struct net net;
    int64_t axis = walk_axis(node_int(call->node, "axis", 1), call->outputs[0].shape.rank);
    net_init(&net, call);
    struct net_op *op = net_op(&net, OP_CONCATENATION, NONE, NONE, NONE, net_output(&net, &call->outputs[0]),
                               NET_OPTIONS(OPTIONS_CONCATENATION, {0, 4, (uint64_t)axis}, {1, 1, 0}));
    for (size_t i = 0; i < call->n_inputs; i++)
        net_op_input(&net, op, net_input(&net, call->inputs[i]));
    return net_finish(&net);
}

int run_split(struct walk_call *call)
{
    struct net net;
    int axis = walk_axis(node_int(call->node, "axis", 0), call->inputs[0]->shape.rank);
    int64_t sizes[NET_SLOTS];
    if (call->n_outputs > NET_SLOTS)
        return walk_unsupported(call, "into too many parts");
    for (size_t i = 0; i < call->n_outputs; i++)
        sizes[i] = call->outputs[i].shape.dims[axis];
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), parts = net_ints(&net, call->n_outputs, sizes);
    struct net_op *op = net_op(&net, OP_SPLIT_V, x, parts, net_int(&net, axis), NONE,
                               NET_OPTIONS(OPTIONS_SPLIT_V, {0, 4, (uint64_t)call->n_outputs}));
    for (size_t i = 0; i < call->n_outputs; i++)
        net_op_output(&net, op, net_output(&net, &call->outputs[i]));
    return net_finish(&net);
}

/* One axis of a slice: where it starts and ends, brought into the dimension as ONNX defines it. */
struct stretch {
    int64_t begin, end, step;
};

static int64_t brought(int64_t at, int64_t dim, int64_t least, int64_t most)
{
    at = at < 0 ? at + dim : at;
    return at < least ? least : at > most ? most : at;
}

static struct stretch stretch_of(int64_t start, int64_t end, int64_t step, int64_t dim)
{
    bool back = step < 0;
    return (struct stretch){brought(start, dim, 0, back ? dim - 1 : dim),
                            brought(end, dim, back ? -1 : 0, back ? dim - 1 : dim), step};
}

/* The numbers of an input, or of the attribute of early opsets. Returns how many. */
static size_t numbers(const struct walk_call *call, size_t index, const char *attribute, int64_t *out)
{
    const struct tensor *in = walk_input(call, index);
    const int64_t *given = NULL;
    size_t count = 0;
    if (!in)
        node_ints(call->node, attribute, &given, &count);
    else
        count = in->count;
    for (size_t i = 0; i < count && i < TENSOR_MAX_RANK; i++)
        out[i] = in ? (int64_t)tensor_get(in, i) : given[i];
    return count < TENSOR_MAX_RANK ? count : TENSOR_MAX_RANK;
}

static void stretches(const struct walk_call *call, struct stretch *out)
{
    int64_t starts[TENSOR_MAX_RANK], ends[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK], steps[TENSOR_MAX_RANK];
    const struct shape *in = &call->inputs[0]->shape;
    for (int i = 0; i < in->rank; i++)
        out[i] = (struct stretch){0, in->dims[i], 1};
    size_t count = numbers(call, 1, "starts", starts), n_steps = numbers(call, 4, "steps", steps);
    numbers(call, 2, "ends", ends);
    size_t n_axes = numbers(call, 3, "axes", axes);
    for (size_t i = 0; i < count; i++) {
        int axis = n_axes ? walk_axis(axes[i], in->rank) : (int)i;
        out[axis] = stretch_of(starts[i], ends[i], n_steps ? steps[i] : 1, in->dims[axis]);
    }
}

/* The end before the first element, of a slice backwards, is the bit of its axis. */
int run_slice(struct walk_call *call)
{
    struct net net;
    struct stretch s[TENSOR_MAX_RANK];
    int64_t begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK];
    int rank = call->inputs[0]->shape.rank;
    uint64_t open = 0;
    if (rank > 5)
        return walk_unsupported(call, "of more than 5 dimensions");
    stretches(call, s);
    for (int i = 0; i < rank; i++) {
        begin[i] = s[i].begin;
        end[i] = s[i].end;
        step[i] = s[i].step;
        open |= s[i].end < 0 ? (uint64_t)1 << i : 0;
    }
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), from = net_ints(&net, (size_t)rank, begin);
    int to = net_ints(&net, (size_t)rank, end), by = net_ints(&net, (size_t)rank, step);
    struct net_op *op =
        net_op(&net, OP_STRIDED_SLICE, x, from, to, NONE,
               NET_OPTIONS(OPTIONS_STRIDED_SLICE, {0, 4, 0}, {1, 4, open}, {2, 4, 0}, {3, 4, 0}, {4, 4, 0}));
    net_op_input(&net, op, by);
    net_op_output(&net, op, net_output(&net, &call->outputs[0]));
    return net_finish(&net);
}

/* Positions are not counted from the end by the library, and some releases do not check them. */
static bool has_negative(const struct tensor *positions)
{
    for (size_t i = 0; i < positions->count; i++)
        if (tensor_get(positions, i) < 0)
            return true;
    return false;
}

static const char counts_back[] = "with negative positions";

int run_gather(struct walk_call *call)
{
    struct net net;
    int64_t axis = walk_axis(node_int(call->node, "axis", 0), call->inputs[0]->shape.rank);
    if (has_negative(call->inputs[1]))
        return walk_unsupported(call, counts_back);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), at = net_input(&net, call->inputs[1]);
    net_op(&net, OP_GATHER, x, at, NONE, net_output(&net, &call->outputs[0]),
           NET_OPTIONS(OPTIONS_GATHER, {0, 4, (uint64_t)axis}));
    return net_finish(&net);
}

int run_gather_nd(struct walk_call *call)
{
    struct net net;
    if (has_negative(call->inputs[1]) || node_int(call->node, "batch_dims", 0))
        return walk_unsupported(call, "with negative positions or batch_dims");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), at = net_input(&net, call->inputs[1]);
    net_op(&net, OP_GATHER_ND, x, at, NONE, net_output(&net, &call->outputs[0]), NULL);
    return net_finish(&net);
}

/* The pads in the library's order, before and behind of each axis. False when it has none of these. */
static bool read_pads(const struct walk_call *call, int32_t *out)
{
    int64_t pads[TENSOR_MAX_RANK];
    int rank = call->inputs[0]->shape.rank;
    const struct tensor *given = walk_input(call, 1);
    const struct tensor *axes = walk_input(call, 3);
    if (axes || rank > 5 || !rank || numbers(call, 1, "pads", pads) != 2 * (size_t)rank ||
        (given && has_negative(given)))
        return false;
    for (int i = 0; i < rank; i++) {
        out[2 * i] = (int32_t)pads[i];
        out[2 * i + 1] = (int32_t)pads[rank + i];
        if (pads[i] < 0 || pads[rank + i] < 0)
            return false;
    }
    return true;
}

int run_pad(struct walk_call *call)
{
    struct net net;
    const struct tensor *x = call->inputs[0], *value = walk_input(call, 2);
    int32_t pads[2 * TENSOR_MAX_RANK];
    int64_t dims[] = {x->shape.rank, 2};
    bool reflect = walk_text_is(call, "mode", "constant", "reflect");
    if (!reflect && !walk_text_is(call, "mode", "constant", "constant"))
        return walk_unsupported(call, "of this mode");
    if (!read_pads(call, pads))
        return walk_unsupported(call, "with axes, negative pads or more than 5 dimensions");
    long double fill = value && value->count ? tensor_get(value, 0) : node_float(call->node, "value", 0);
    net_init(&net, call);
    int in = net_input(&net, x), sizes = net_const_as(&net, DTYPE_INT32, pads, 2, dims);
    int y = net_output(&net, &call->outputs[0]);
    if (reflect)
        net_op(&net, OP_MIRROR_PAD, in, sizes, NONE, y, NET_OPTIONS(OPTIONS_MIRROR_PAD, {0, 1, 0}));
    else
        net_op(&net, OP_PADV2, in, sizes, net_number(&net, x->type, fill), y, NULL);
    return net_finish(&net);
}

int run_tile(struct walk_call *call)
{
    struct net net;
    int64_t times[TENSOR_MAX_RANK];
    size_t count = numbers(call, 1, "repeats", times);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), by = net_ints(&net, count, times);
    net_op(&net, OP_TILE, x, by, NONE, net_output(&net, &call->outputs[0]), NULL);
    return net_finish(&net);
}

int run_expand(struct walk_call *call)
{
    struct net net;
    const struct shape *shape = &call->outputs[0].shape;
    if (shape->rank > 8)
        return walk_unsupported(call, "to more than 8 dimensions");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), to = net_ints(&net, (size_t)shape->rank, shape->dims);
    net_op(&net, OP_BROADCAST_TO, x, to, NONE, net_output(&net, &call->outputs[0]), NULL)->version = 2;
    return net_finish(&net);
}

int run_one_hot(struct walk_call *call)
{
    struct net net;
    const struct tensor *values = call->inputs[2];
    int rank = call->inputs[0]->shape.rank;
    int axis = walk_axis(node_int(call->node, "axis", -1), rank + 1);
    if (has_negative(call->inputs[0]))
        return walk_unsupported(call, counts_back);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]);
    int depth = net_int(&net, call->outputs[0].shape.dims[axis]);
    int on = net_number(&net, values->type, tensor_get(values, 1));
    int off = net_number(&net, values->type, tensor_get(values, 0));
    struct net_op *op =
        net_op(&net, OP_ONE_HOT, x, depth, on, NONE,
               NET_OPTIONS(OPTIONS_ONE_HOT, {0, 4, axis == rank ? UINT32_MAX : (uint64_t)axis}));
    net_op_input(&net, op, off);
    net_op_output(&net, op, net_output(&net, &call->outputs[0]));
    return net_finish(&net);
}

int run_reverse_sequence(struct walk_call *call)
{
    struct net net;
    uint64_t batch = (uint64_t)node_int(call->node, "batch_axis", 1);
    uint64_t time = (uint64_t)node_int(call->node, "time_axis", 0);
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), lengths = net_input(&net, call->inputs[1]);
    net_op(&net, OP_REVERSE_SEQUENCE, x, lengths, NONE, net_output(&net, &call->outputs[0]),
           NET_OPTIONS(OPTIONS_REVERSE_SEQUENCE, {0, 4, time}, {1, 4, batch}));
    return net_finish(&net);
}
