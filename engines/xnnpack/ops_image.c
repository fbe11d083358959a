/* Operators on images: convolutions, pooling, DepthToSpace, Resize; the library computes them as NHWC. */
#include "xnnpack.h"

#include <math.h>
#include <string.h>

/* A window over height and width; a signal has height 1. */
struct plane {
    uint32_t kernel[2], stride[2], dilation[2], before[2], after[2];
};

static bool to_plane(const struct walk_window *w, struct plane *p)
{
    *p = (struct plane){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    for (int i = 0; i < w->rank; i++) {
        int at = i + 2 - w->rank;
        if (w->before[i] < 0 || w->after[i] < 0)
            return false;
        p->kernel[at] = (uint32_t)w->kernel[i];
        p->stride[at] = (uint32_t)w->stride[i];
        p->dilation[at] = (uint32_t)w->dilation[i];
        p->before[at] = (uint32_t)w->before[i];
        p->after[at] = (uint32_t)(w->after[i] + w->beyond[i]);
    }
    return true;
}

static void plane_dims(const struct tensor *weights, int64_t *height, int64_t *width)
{
    bool signal = weights->shape.rank == 3;
    *height = signal ? 1 : weights->shape.dims[2];
    *width = weights->shape.dims[signal ? 2 : 3];
}

/* Depthwise as its users ask for it: one input channel in each group. Filter [1, kh, kw, channels]. */
static enum xnn_status define_depthwise(struct net *net, const struct plane *p, const struct tensor *weights,
                                        int64_t groups, uint32_t x, uint32_t bias, uint32_t y)
{
    static const int order[] = {1, 2, 3, 0};
    int64_t kh, kw, m = weights->shape.dims[0];
    plane_dims(weights, &kh, &kw);
    int64_t from[] = {m, 1, kh, kw}, to[] = {1, kh, kw, m};
    float *data;
    uint32_t filter = net_weights(net, 4, to, &data);
    net_permute(weights->data, data, 4, from, order);
    return NET_DEFINE(net, xnn_define_depthwise_convolution_2d)(
        net->graph, p->before[0], p->after[1], p->after[0], p->before[1], p->kernel[0], p->kernel[1],
        p->stride[0], p->stride[1], p->dilation[0], p->dilation[1], (uint32_t)(m / groups), (size_t)groups,
        -INFINITY, INFINITY, x, filter, bias, y, 0);
}

/* Filter [groups * outputs, kh, kw, inputs]. */
static enum xnn_status define_conv(struct net *net, const struct plane *p, const struct tensor *weights,
                                   int64_t groups, uint32_t x, uint32_t bias, uint32_t y)
{
    static const int order[] = {0, 2, 3, 1};
    int64_t kh, kw, m = weights->shape.dims[0], c = weights->shape.dims[1];
    plane_dims(weights, &kh, &kw);
    int64_t from[] = {m, c, kh, kw}, to[] = {m, kh, kw, c};
    float *data;
    uint32_t filter = net_weights(net, 4, to, &data);
    net_permute(weights->data, data, 4, from, order);
    return NET_DEFINE(net, xnn_define_convolution_2d)(
        net->graph, p->before[0], p->after[1], p->after[0], p->before[1], p->kernel[0], p->kernel[1],
        p->stride[0], p->stride[1], p->dilation[0], p->dilation[1], (uint32_t)groups, (size_t)c,
        (size_t)(m / groups), -INFINITY, INFINITY, x, filter, bias, y, 0);
}

int run_conv(struct walk_call *call)
{
    struct net net;
    struct plane p;
    const struct tensor *weights = call->inputs[1], *given = walk_input(call, 2);
    struct walk_window w = walk_window(call, &weights->shape);
    int64_t groups = node_int(call->node, "group", 1);
    if (!to_plane(&w, &p))
        return walk_unsupported(call, "with negative padding");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    uint32_t bias = given ? net_static(&net, given) : XNN_INVALID_VALUE_ID;
    bool depthwise = groups > 1 && weights->shape.dims[1] == 1;
    return net_finish(&net, depthwise ? define_depthwise(&net, &p, weights, groups, x, bias, y)
                                      : define_conv(&net, &p, weights, groups, x, bias, y));
}

/* Weights [C, M/g, kh, kw] to [g * M/g, kh, kw, C/g]. */
int run_conv_transpose(struct walk_call *call)
{
    static const int order[] = {0, 2, 3, 4, 1};
    struct net net;
    struct plane p;
    const struct tensor *weights = call->inputs[1], *given = walk_input(call, 2);
    struct walk_window w = walk_window_transposed(call, &weights->shape);
    uint32_t extra[2] = {0, 0};
    for (int i = 0; i < w.rank; i++)
        if (w.after[i] < 0) {
            extra[i + 2 - w.rank] = (uint32_t)-w.after[i];
            w.after[i] = 0;
        }
    if (!to_plane(&w, &p))
        return walk_unsupported(call, "with negative padding");
    int64_t kh, kw, groups = node_int(call->node, "group", 1), m = weights->shape.dims[1];
    int64_t c = weights->shape.dims[0] / groups;
    plane_dims(weights, &kh, &kw);
    int64_t from[] = {groups, c, m, kh, kw}, to[] = {groups * m, kh, kw, c};
    if (net_init(&net, call))
        return -1;
    float *data;
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    uint32_t bias = given ? net_static(&net, given) : XNN_INVALID_VALUE_ID;
    uint32_t filter = net_weights(&net, 4, to, &data);
    net_permute(weights->data, data, 5, from, order);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_deconvolution_2d)(
                                net.graph, p.before[0], p.after[1], p.after[0], p.before[1], extra[0],
                                extra[1], p.kernel[0], p.kernel[1], p.stride[0], p.stride[1], p.dilation[0],
                                p.dilation[1], (uint32_t)groups, (size_t)c, (size_t)m, -INFINITY, INFINITY, x,
                                filter, bias, y, 0));
}

/* The library leaves padding out of the average. */
int run_average_pool(struct walk_call *call)
{
    struct net net;
    struct plane p;
    struct walk_window w = walk_window(call, NULL);
    if (!to_plane(&w, &p))
        return walk_unsupported(call, "with negative padding");
    bool padded = p.before[0] || p.before[1] || p.after[0] || p.after[1];
    if (padded && node_int(call->node, "count_include_pad", 0))
        return walk_unsupported(call, "with count_include_pad");
    if (p.dilation[0] != 1 || p.dilation[1] != 1)
        return walk_unsupported(call, "with dilations");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_average_pooling_2d)(
                                net.graph, p.before[0], p.after[1], p.after[0], p.before[1], p.kernel[0],
                                p.kernel[1], p.stride[0], p.stride[1], -INFINITY, INFINITY, x, y, 0));
}

static int max_pool(struct walk_call *call, const struct plane *p)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_max_pooling_2d)(
                                net.graph, p->before[0], p->after[1], p->after[0], p->before[1], p->kernel[0],
                                p->kernel[1], p->stride[0], p->stride[1], p->dilation[0], p->dilation[1],
                                -INFINITY, INFINITY, x, y, 0));
}

int run_max_pool(struct walk_call *call)
{
    struct plane p;
    struct walk_window w = walk_window(call, NULL);
    if (walk_wants(call, 1))
        return walk_unsupported(call, "with Indices");
    if (!to_plane(&w, &p))
        return walk_unsupported(call, "with negative padding");
    return max_pool(call, &p);
}

int run_global_max_pool(struct walk_call *call)
{
    struct plane p = {.stride = {1, 1}, .dilation = {1, 1}};
    int64_t height, width;
    plane_dims(call->inputs[0], &height, &width);
    p.kernel[0] = (uint32_t)height;
    p.kernel[1] = (uint32_t)width;
    return max_pool(call, &p);
}

static int global_average(struct walk_call *call)
{
    struct net net;
    const int64_t *in = call->inputs[0]->shape.dims;
    int64_t dims[4] = {in[0], 1, 1, in[1]};
    if (net_init(&net, call))
        return -1;
    /* One element a channel: NHWC and NCHW are the same bytes. */
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_as(&net, &call->outputs[0], 4, dims);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_global_average_pooling_2d)(net.graph, -INFINITY,
                                                                                   INFINITY, x, y, 0));
}

int run_global_average_pool(struct walk_call *call)
{
    return global_average(call);
}

/* The mean over height and width of an image is what the library has. */
int run_reduce_mean(struct walk_call *call)
{
    const int64_t *axes;
    size_t count = walk_axes(call, &axes);
    unsigned seen = 0;
    for (size_t i = 0; i < count; i++)
        seen |= 1U << walk_axis(axes[i], 4);
    if (seen != (1U << 2 | 1U << 3))
        return walk_unsupported(call, "of axes other than height and width");
    return global_average(call);
}

int run_depth_to_space(struct walk_call *call)
{
    struct net net;
    if (!walk_text_is(call, "mode", "DCR", "DCR"))
        return walk_unsupported(call, "of mode CRD");
    if (net_init(&net, call))
        return -1;
    uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    uint32_t block = (uint32_t)node_int(call->node, "blocksize", 1);
    return net_finish(&net, NET_DEFINE(&net, xnn_define_depth_to_space)(net.graph, x, y, block, 0));
}

int run_resize(struct walk_call *call)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } transforms[] = {{"half_pixel", 0},
                      {"align_corners", XNN_FLAG_ALIGN_CORNERS},
                      {"asymmetric", XNN_FLAG_TENSORFLOW_LEGACY_MODE}};
    struct net net;
    if (!walk_text_is(call, "mode", "nearest", "linear") || !walk_resizes_plane(call))
        return walk_unsupported(call, "other than linear by a ratio of sizes");
    for (size_t i = 0; i < 3; i++) {
        if (!walk_text_is(call, "coordinate_transformation_mode", "half_pixel", transforms[i].name))
            continue;
        if (net_init(&net, call))
            return -1;
        uint32_t x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
        const int64_t *out = call->outputs[0].shape.dims;
        return net_finish(&net, NET_DEFINE(&net, xnn_define_static_resize_bilinear_2d)(
                                    net.graph, (size_t)out[2], (size_t)out[3], x, y, transforms[i].flags));
    }
    return walk_unsupported(call, "of this coordinate transformation");
}
