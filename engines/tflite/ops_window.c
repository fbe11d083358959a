/* Convolutions and pooling. The library pads in two ways, SAME and VALID; other pads are an operator PAD
 * before it, as converters write them. */
#include "tflite.h"

#include "base/memory.h"

#include <stdlib.h>

enum padding { PADDING_SAME, PADDING_VALID, PADDING_EXPLICIT }; /* the first two as in the schema */

/* A signal is an image of height 1. */
static void widen(struct walk_window *w)
{
    if (w->rank != 1)
        return;
    int64_t *const all[] = {w->kernel, w->stride, w->dilation, w->before, w->after, w->beyond};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i][1] = all[i][0];
        all[i][0] = i < 3 ? 1 : 0;
    }
    w->rank = 2;
}

static bool has_negative(const struct walk_window *w)
{
    for (int i = 0; i < w->rank; i++)
        if (w->before[i] < 0 || w->after[i] < 0)
            return true;
    return false;
}

static int64_t reach(const struct walk_window *w, int i, int64_t out)
{
    return (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
}

static bool is_valid(const struct walk_window *w, int i, int64_t in, int64_t out)
{
    int64_t last = reach(w, i, out);
    return w->before[i] == 0 && last <= in && last + w->stride[i] > in;
}

static bool is_same(const struct walk_window *w, int i, int64_t in, int64_t out)
{
    int64_t total = reach(w, i, out) - in;
    return out == (in + w->stride[i] - 1) / w->stride[i] && w->before[i] == (total > 0 ? total / 2 : 0);
}

/* Which of the library's paddings has these windows, from the sizes in NHWC. */
static enum padding padding_of(const struct walk_window *w, const int64_t *in, const int64_t *out)
{
    bool valid = true, same = true;
    for (int i = 0; i < w->rank; i++) {
        valid &= is_valid(w, i, in[1 + i], out[1 + i]);
        same &= is_same(w, i, in[1 + i], out[1 + i]);
    }
    return valid ? PADDING_VALID : same ? PADDING_SAME : PADDING_EXPLICIT;
}

/* The image with its pads, by the library: zeros (of a quantised image its zero point), or this number. */
static int padded(struct net *net, int x, const struct walk_window *w, const long double *value)
{
    const struct net_tensor in = net->tensors[x];
    int64_t dims[NET_MAX_RANK] = {0}, shape[] = {in.rank, 2};
    int32_t pads[2 * NET_MAX_RANK] = {0};
    for (int i = 0; i < in.rank; i++) {
        bool spatial = i > 0 && i <= w->rank;
        pads[2 * i] = spatial ? (int32_t)w->before[i - 1] : 0;
        pads[2 * i + 1] = spatial ? (int32_t)(w->after[i - 1] + w->beyond[i - 1]) : 0;
        dims[i] = in.dims[i] + pads[2 * i] + pads[2 * i + 1];
    }
    int sizes = net_const_as(net, DTYPE_INT32, pads, 2, shape), y = net_inner(net, in.type, in.rank, dims);
    if (in.scale.count)
        net_scale(net, y, in.one_scale, in.one_zero);
    net_op(net, value ? OP_PADV2 : OP_PAD, x, sizes, value ? net_number(net, in.type, *value) : NONE, y,
           NULL);
    return y;
}

static void add_conv_2d(struct net *net, const struct conv_tensors *t, const struct walk_window *w,
                        uint64_t padding)
{
    net_op(net, OP_CONV_2D, t->x, t->weights, t->bias, t->y,
           NET_OPTIONS(OPTIONS_CONV_2D, {0, 1, padding}, {1, 4, (uint64_t)w->stride[1]},
                       {2, 4, (uint64_t)w->stride[0]}, {4, 4, (uint64_t)w->dilation[1]},
                       {5, 4, (uint64_t)w->dilation[0]}));
}

static void add_depthwise(struct net *net, const struct conv_tensors *t, const struct walk_window *w,
                          uint64_t padding)
{
    int64_t outputs = net->tensors[t->weights].dims[3], inputs = net->tensors[t->x].dims[3];
    net_op(net, OP_DEPTHWISE_CONV_2D, t->x, t->weights, t->bias, t->y,
           NET_OPTIONS(OPTIONS_DEPTHWISE_CONV_2D, {0, 1, padding}, {1, 4, (uint64_t)w->stride[1]},
                       {2, 4, (uint64_t)w->stride[0]}, {3, 4, (uint64_t)(outputs / inputs)},
                       {5, 4, (uint64_t)w->dilation[1]}, {6, 4, (uint64_t)w->dilation[0]}));
}

static void add_conv_3d(struct net *net, const struct conv_tensors *t, const struct walk_window *w,
                        uint64_t padding)
{
    net_op(net, OP_CONV_3D, t->x, t->weights, t->bias, t->y,
           NET_OPTIONS(OPTIONS_CONV_3D, {0, 1, padding}, {1, 4, (uint64_t)w->stride[0]},
                       {2, 4, (uint64_t)w->stride[2]}, {3, 4, (uint64_t)w->stride[1]},
                       {5, 4, (uint64_t)w->dilation[0]}, {6, 4, (uint64_t)w->dilation[2]},
                       {7, 4, (uint64_t)w->dilation[1]}));
}

bool conv_is_depthwise(const struct walk_call *call, const struct tensor *weights)
{
    return node_int(call->node, "group", 1) > 1 && weights->shape.dims[1] == 1 && weights->shape.rank < 5;
}

/* [M, C, kh, kw] as the library has it: [1, kh, kw, M] for depthwise, [kd, kh, kw, C, M] in three dimensions,
 * else [M, kh, kw, C]. */
int conv_weights(struct net *net, const struct tensor *weights)
{
    static const int usual[] = {0, 2, 3, 1}, depthwise[] = {1, 2, 3, 0}, space[] = {2, 3, 4, 1, 0};
    const int64_t *d = weights->shape.dims;
    bool signal = weights->shape.rank == 3;
    int64_t image[] = {d[0], d[1], signal ? 1 : d[2], signal ? d[2] : d[3]};
    if (weights->shape.rank == 5)
        return net_turned(net, weights, 5, d, space);
    return net_turned(net, weights, 4, image, conv_is_depthwise(net->call, weights) ? depthwise : usual);
}

int conv_add(struct net *net, struct conv_tensors *t, const struct tensor *weights)
{
    struct walk_call *call = net->call;
    struct walk_window w = walk_window(call, &weights->shape);
    if (has_negative(&w))
        return net_refuse(net, "with negative padding");
    if (call->outputs[0].shape.rank == 5 && node_int(call->node, "group", 1) != 1)
        return net_refuse(net, "in groups, in three dimensions");
    widen(&w);
    enum padding padding = padding_of(&w, net->tensors[t->x].dims, net->tensors[t->y].dims);
    if (padding == PADDING_EXPLICIT) {
        t->x = padded(net, t->x, &w, NULL);
        padding = PADDING_VALID;
    }
    if (w.rank == 3)
        add_conv_3d(net, t, &w, padding);
    else if (conv_is_depthwise(call, weights))
        add_depthwise(net, t, &w, padding);
    else
        add_conv_2d(net, t, &w, padding);
    return net_finish(net);
}

/* The library wants a bias: without one it is zeros, as converters write them. */
static int bias_or_zeros(struct net *net, const struct tensor *bias, int64_t count)
{
    if (bias)
        return net_const(net, bias);
    float *zeros = memory_zeroed((size_t)count + 1, sizeof *zeros);
    int number = net_const_as(net, DTYPE_FLOAT, zeros, 1, &count);
    free(zeros);
    return number;
}

int run_conv(struct walk_call *call)
{
    struct net net;
    const struct tensor *weights = call->inputs[1], *bias = walk_input(call, 2);
    net_init(&net, call);
    struct conv_tensors t = {.x = net_image(&net, call->inputs[0])};
    t.weights = conv_weights(&net, weights);
    t.bias = bias_or_zeros(&net, bias, weights->shape.dims[0]);
    t.y = net_output_image(&net, &call->outputs[0]);
    return conv_add(&net, &t, weights);
}

/* The library computes all of it, [N, H, W, C], and cuts off what the pads say. */
static int cut(struct net *net, const struct walk_window *w, int y)
{
    const struct net_tensor out = net->tensors[y];
    int64_t dims[4] = {out.dims[0], out.dims[1], out.dims[2], out.dims[3]}, begin[4] = {0};
    bool whole = true;
    for (int i = 0; i < 2; i++) {
        begin[1 + i] = w->before[i];
        dims[1 + i] += w->before[i] + (w->after[i] > 0 ? w->after[i] : 0);
        whole &= dims[1 + i] == out.dims[1 + i];
    }
    if (whole)
        return y;
    int full = net_inner(net, out.type, 4, dims);
    net_op(net, OP_SLICE, full, net_ints(net, 4, begin), net_ints(net, 4, out.dims), y, NULL);
    return full;
}

/* SAME, where it has the same pads; padding_of with input and output the other way round. */
static enum padding transposed_padding(const struct walk_window *w, const int64_t *in, const int64_t *out)
{
    for (int i = 0; i < 2; i++)
        if (!is_same(w, i, out[1 + i], in[1 + i]))
            return PADDING_VALID;
    return PADDING_SAME;
}

static int conv_transpose(struct walk_call *call, struct walk_window *w)
{
    static const int order[] = {1, 2, 3, 0};
    struct net net;
    const struct tensor *weights = call->inputs[1], *bias = walk_input(call, 2);
    const int64_t *d = weights->shape.dims;
    bool signal = weights->shape.rank == 3;
    int64_t from[] = {d[0], d[1], signal ? 1 : d[2], signal ? d[2] : d[3]};
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), filter = net_turned(&net, weights, 4, from, order);
    int y = net_output_image(&net, &call->outputs[0]), b = bias ? net_const(&net, bias) : NONE;
    enum padding padding = transposed_padding(w, net.tensors[x].dims, net.tensors[y].dims);
    /* The slice comes after its operand: operators are in the order of the model. */
    struct net_op slice = {0};
    int full = padding == PADDING_SAME ? y : cut(&net, w, y);
    if (full != y)
        slice = net.ops[--net.n_ops];
    int shape = net_ints(&net, 4, net.tensors[full].dims);
    struct net_op *op = net_op(&net, OP_TRANSPOSE_CONV, shape, filter, x, full,
                               NET_OPTIONS(OPTIONS_TRANSPOSE_CONV, {0, 1, (uint64_t)padding},
                                           {1, 4, (uint64_t)w->stride[1]}, {2, 4, (uint64_t)w->stride[0]}));
    if (b != NONE) {
        net_op_input(&net, op, b);
        op->version = 3;
    }
    if (full != y)
        *net_op(&net, OP_SLICE, NONE, NONE, NONE, NONE, NULL) = slice;
    return net_finish(&net);
}

int run_conv_transpose(struct walk_call *call)
{
    struct walk_window w = walk_window_transposed(call, &call->inputs[1]->shape);
    if (node_int(call->node, "group", 1) != 1)
        return walk_unsupported(call, "in groups");
    widen(&w);
    for (int i = 0; i < w.rank; i++)
        if (w.dilation[i] != 1 || w.before[i] < 0)
            return walk_unsupported(call, "with dilations or negative padding");
    return conv_transpose(call, &w);
}

static int add_pool(struct net *net, enum lite_op op, const struct walk_window *w, uint64_t padding, int x,
                    int y)
{
    net_op(net, op, x, NONE, NONE, y,
           NET_OPTIONS(OPTIONS_POOL_2D, {0, 1, padding}, {1, 4, (uint64_t)w->stride[1]},
                       {2, 4, (uint64_t)w->stride[0]}, {3, 4, (uint64_t)w->kernel[1]},
                       {4, 4, (uint64_t)w->kernel[0]}));
    return net_finish(net);
}

static bool pool_fits(const struct walk_window *w)
{
    for (int i = 0; i < w->rank; i++)
        if (w->dilation[i] != 1)
            return false;
    return w->rank == 2 && !has_negative(w);
}

int run_max_pool(struct walk_call *call)
{
    struct net net;
    struct walk_window w = walk_window(call, NULL);
    widen(&w);
    if (walk_wants(call, 1))
        return walk_unsupported(call, "with Indices");
    if (!pool_fits(&w))
        return walk_unsupported(call, "with dilations or negative padding");
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    enum padding padding = padding_of(&w, net.tensors[x].dims, net.tensors[y].dims);
    if (padding == PADDING_EXPLICIT) {
        long double lowest = dtype_lowest(call->inputs[0]->type);
        x = padded(&net, x, &w, &lowest);
        padding = PADDING_VALID;
    }
    return add_pool(&net, OP_MAX_POOL_2D, &w, padding, x, y);
}

/* The library leaves the padding of SAME out of the average; what PAD made counts. */
int run_average_pool(struct walk_call *call)
{
    struct net net;
    bool counts = node_int(call->node, "count_include_pad", 0);
    struct walk_window w = walk_window(call, NULL);
    widen(&w);
    if (!pool_fits(&w))
        return walk_unsupported(call, "with dilations or negative padding");
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    enum padding padding = padding_of(&w, net.tensors[x].dims, net.tensors[y].dims);
    if (padding == PADDING_SAME && counts)
        padding = PADDING_EXPLICIT;
    if (padding == PADDING_EXPLICIT && (!counts || w.beyond[0] || w.beyond[1]))
        return net_refuse(&net, "with pads that neither SAME has nor count");
    if (padding == PADDING_EXPLICIT) {
        x = padded(&net, x, &w, NULL);
        padding = PADDING_VALID;
    }
    return add_pool(&net, OP_AVERAGE_POOL_2D, &w, padding, x, y);
}
