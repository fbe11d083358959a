/* Convolutions and poolings. A signal [N, C, W] of a convolution is an image of height 1. */
#include "ops.h"

/* [N, C, H, W] of a tensor of rank 3 or 4; weights alike. */
static void image_dims(const struct tensor *t, int64_t *dims)
{
    bool signal = t->shape.rank == 3;
    dims[0] = t->shape.dims[0];
    dims[1] = t->shape.dims[1];
    dims[2] = signal ? 1 : t->shape.dims[2];
    dims[3] = t->shape.dims[signal ? 2 : 3];
}

static struct ggml_tensor *image(struct net *net, const struct tensor *t)
{
    int64_t dims[4];
    image_dims(t, dims);
    return net_input_as(net, t, 4, dims);
}

/* A window as the builders take it, of the last axis first. */
struct window {
    int kernel[2], stride[2], dilation[2], pad[2];
};

/* -1 where the padding is not the same on both sides. */
static int read_window(const struct walk_window *from, struct window *window)
{
    *window = (struct window){{1, 1}, {1, 1}, {1, 1}, {0, 0}};
    for (int i = 0; i < from->rank; i++) {
        int at = from->rank - 1 - i;
        if (from->before[i] != from->after[i] || from->beyond[i] || from->before[i] > INT16_MAX ||
            from->kernel[i] > INT16_MAX || from->stride[i] > INT16_MAX || from->dilation[i] > INT16_MAX)
            return -1;
        window->kernel[at] = (int)from->kernel[i];
        window->stride[at] = (int)from->stride[i];
        window->dilation[at] = (int)from->dilation[i];
        window->pad[at] = (int)from->before[i];
    }
    return 0;
}

/* One number for each channel. */
static struct ggml_tensor *add_bias(struct net *net, struct ggml_tensor *y, const struct tensor *bias)
{
    if (!y || !bias)
        return y;
    int64_t dims[] = {(int64_t)bias->count, 1, 1};
    struct ggml_tensor *b = net_input_as(net, bias, 3, dims);
    return b ? net->api->binary[BINARY_ADD](net->context, y, b) : NULL;
}

typedef struct ggml_tensor *conv_function(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *,
                                          int, int, int, int, int, int);

static struct ggml_tensor *call_conv(struct net *net, conv_function *conv, struct ggml_tensor *w,
                                     struct ggml_tensor *x, const struct window *v)
{
    return conv(net->context, w, x, v->stride[0], v->stride[1], v->pad[0], v->pad[1], v->dilation[0],
                v->dilation[1]);
}

/* The images' windows as rows of float32, by which the weights are multiplied: what ggml_conv_2d does in
 * float16. */
static struct ggml_tensor *conv_by_rows(struct net *net, struct ggml_tensor *w, struct ggml_tensor *x,
                                        const struct window *v)
{
    const struct api *api = net->api;
    int64_t k[4], y[4];
    image_dims(net->call->inputs[1], k);
    image_dims(&net->call->outputs[0], y);
    struct ggml_tensor *rows = api->im2col(net->context, w, x, v->stride[0], v->stride[1], v->pad[0],
                                           v->pad[1], v->dilation[0], v->dilation[1], true, TYPE_F32);
    rows = api->reshape_2d(net->context, rows, k[1] * k[2] * k[3], y[0] * y[2] * y[3]);
    w = api->reshape_2d(net->context, w, k[1] * k[2] * k[3], k[0]);
    struct ggml_tensor *product = api->mul_mat(net->context, rows, w);
    product = api->reshape_4d(net->context, product, y[3], y[2], y[0], k[0]);
    return api->cont(net->context, api->permute(net->context, product, 0, 1, 3, 2));
}

/* The same with one image for each channel. */
static struct ggml_tensor *depthwise_by_rows(struct net *net, struct ggml_tensor *w, struct ggml_tensor *x,
                                             const struct window *v)
{
    const struct api *api = net->api;
    int64_t k[4], y[4], from[4];
    image_dims(net->call->inputs[0], from);
    image_dims(net->call->inputs[1], k);
    image_dims(&net->call->outputs[0], y);
    x = api->reshape_4d(net->context, x, from[3], from[2], 1, from[1] * from[0]);
    struct ggml_tensor *rows = api->im2col(net->context, w, x, v->stride[0], v->stride[1], v->pad[0],
                                           v->pad[1], v->dilation[0], v->dilation[1], true, TYPE_F32);
    rows = api->reshape_4d(net->context, rows, k[2] * k[3], y[2] * y[3], y[1], y[0]);
    w = api->reshape_4d(net->context, w, k[2] * k[3], 1, k[0], 1);
    return api->reshape_4d(net->context, api->mul_mat(net->context, w, rows), y[3], y[2], y[1], y[0]);
}

/*
 * ggml_conv_2d computes in the weights' type until package 3.19.0, but rounds images and weights of float32
 * to float16 from 3.19.1 on. Where it rounds it is asked only what that does not change.
 */
static struct ggml_tensor *plain_conv(struct net *net, struct ggml_tensor *w, struct ggml_tensor *x,
                                      const struct window *v)
{
    int type = net->library->weights;
    bool rounds = type != TYPE_F32 || library_since(net->library, 3, 19, 1);
    if (rounds && (net_check(net, w, TYPE_F16, 1) || net_check(net, x, TYPE_F16, 1)))
        return NULL;
    if (type != TYPE_F32)
        w = net->api->cast(net->context, w, type);
    return call_conv(net, net->api->conv_2d, w, x, v);
}

static struct ggml_tensor *convolve(struct net *net, struct ggml_tensor *w, struct ggml_tensor *x,
                                    const struct window *v, bool depthwise)
{
    enum convolution how = net->library->convolution;
    conv_function *direct = depthwise ? net->api->conv_2d_dw_direct : net->api->conv_2d_direct;
    if (how == CONVOLUTION_AUTO)
        how = direct ? CONVOLUTION_DIRECT : CONVOLUTION_IM2COL;
    if (how == CONVOLUTION_DIRECT)
        return call_conv(net, direct, w, x, v);
    if (how == CONVOLUTION_PLAIN)
        return plain_conv(net, w, x, v);
    return depthwise ? depthwise_by_rows(net, w, x, v) : conv_by_rows(net, w, x, v);
}

/* Why this convolution is none of the library's; NULL where it is. */
static const char *conv_limit(const struct net *net, bool depthwise)
{
    const struct walk_call *call = net->call;
    const struct tensor *x = call->inputs[0], *w = call->inputs[1];
    int64_t group = node_int(call->node, "group", 1);
    if (group != 1 && !depthwise)
        return "in groups of several channels";
    if (group != 1 && w->shape.dims[0] != x->shape.dims[1])
        return "of several outputs for each channel";
    if (net->library->convolution == CONVOLUTION_PLAIN && depthwise)
        return "of single channels, by ggml_conv_2d";
    if (net->library->convolution == CONVOLUTION_PLAIN && net->library->weights > TYPE_F16)
        return "by ggml_conv_2d of such weights";
    if (net->library->convolution == CONVOLUTION_DIRECT &&
        !(depthwise ? net->api->conv_2d_dw_direct : net->api->conv_2d_direct))
        return "this release has no direct one";
    return NULL;
}

int run_conv(struct walk_call *call)
{
    struct net net;
    struct window window;
    if (net_init(&net, call))
        return -1;
    int64_t group = node_int(call->node, "group", 1);
    bool depthwise = group > 1 && group == call->inputs[0]->shape.dims[1];
    struct walk_window asked = walk_window(call, &call->inputs[1]->shape);
    const char *limit = conv_limit(&net, depthwise);
    if (limit)
        return net_refuse(&net, "%s", limit);
    if (read_window(&asked, &window))
        return net_refuse(&net, "with other padding before than behind");
    struct ggml_tensor *x = image(&net, call->inputs[0]), *w = image(&net, call->inputs[1]);
    struct ggml_tensor *y = x && w ? convolve(&net, w, x, &window, depthwise) : NULL;
    return net_finish(&net, add_bias(&net, y, walk_input(call, 2)));
}

/* Signals of a batch of one by ggml_conv_transpose_1d, images by ggml_conv_transpose_2d_p0. */
int run_conv_transpose(struct walk_call *call)
{
    struct net net;
    struct window v;
    if (net_init(&net, call))
        return -1;
    const struct tensor *weights = call->inputs[1];
    bool signal = weights->shape.rank == 3;
    struct walk_window asked = walk_window_transposed(call, &weights->shape);
    if (read_window(&asked, &v) || v.pad[0] || v.pad[1] || v.dilation[0] != 1 || v.dilation[1] != 1 ||
        node_int(call->node, "group", 1) != 1 || (!signal && v.stride[0] != v.stride[1]))
        return net_refuse(&net, "in groups, with dilations, with padding, or of two strides");
    if (signal && call->inputs[0]->shape.dims[0] != 1)
        return net_refuse(&net, "of several signals");
    struct ggml_tensor *x = net_input(&net, call->inputs[0]), *w = net_input(&net, weights);
    if (x && w && net.library->weights == TYPE_F16) {
        if (net_check(&net, w, TYPE_F16, 1) || net_check(&net, x, TYPE_F16, 1))
            return net_finish(&net, NULL);
        w = net.api->cast(net.context, w, TYPE_F16);
    }
    if (!x || !w)
        return net_finish(&net, NULL);
    struct ggml_tensor *y = signal ? net.api->conv_transpose_1d(net.context, w, x, v.stride[0], 0, 1)
                                   : net.api->conv_transpose_2d_p0(net.context, w, x, v.stride[0]);
    if (!signal)
        return net_finish(&net, add_bias(&net, y, walk_input(call, 2)));
    const struct tensor *bias = walk_input(call, 2);
    int64_t dims[] = {bias ? (int64_t)bias->count : 0, 1};
    struct ggml_tensor *b = bias ? net_input_as(&net, bias, 2, dims) : NULL;
    return net_finish(&net, b ? net.api->binary[BINARY_ADD](net.context, y, b) : y);
}

/*
 * Averages: ggml_pool_2d divides by the whole window, as count_include_pad has it; ggml_pool_1d by what of it
 * is inside.
 */
static const char *pool_limit(const struct walk_call *call, const struct walk_window *asked)
{
    bool padded = false, average = call->row->kind == POOL_AVERAGE;
    bool included = node_int(call->node, "count_include_pad", 0);
    for (int i = 0; i < asked->rank; i++) {
        padded = padded || asked->before[i];
        if (asked->dilation[i] != 1)
            return "with dilations";
    }
    if (walk_wants(call, 1))
        return "with Indices";
    if (average && padded && included != (asked->rank == 2))
        return "with padding counted otherwise than the library counts it";
    return NULL;
}

int run_pool(struct walk_call *call)
{
    struct net net;
    struct window v;
    if (net_init(&net, call))
        return -1;
    struct walk_window asked = walk_window(call, NULL);
    const char *limit = pool_limit(call, &asked);
    if (limit)
        return net_refuse(&net, "%s", limit);
    if (read_window(&asked, &v))
        return net_refuse(&net, "with other padding before than behind");
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    if (!x)
        return net_finish(&net, NULL);
    int kind = call->row->kind;
    if (asked.rank == 1)
        return net_finish(&net, net.api->pool_1d(net.context, x, kind, v.kernel[0], v.stride[0], v.pad[0]));
    return net_finish(&net, net.api->pool_2d(net.context, x, kind, v.kernel[0], v.kernel[1], v.stride[0],
                                             v.stride[1], (float)v.pad[0], (float)v.pad[1]));
}

/* A pooling whose window is the image. */
int run_global_pool(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int64_t dims[4];
    image_dims(call->inputs[0], dims);
    if (dims[2] > INT16_MAX || dims[3] > INT16_MAX)
        return net_refuse(&net, "of a huge image");
    struct ggml_tensor *x = image(&net, call->inputs[0]);
    int width = (int)dims[3], height = (int)dims[2];
    return net_finish(
        &net,
        x ? net.api->pool_2d(net.context, x, call->row->kind, width, height, width, height, 0, 0) : NULL);
}
