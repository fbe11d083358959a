/*
 * usage: meta_xnnpack CASES RESULTS
 * XNNPACK's subgraphs called directly for the cases of bench/meta, one thread; it has no gradients. Nothing
 * of Assay's adapter is in here: each case is written out as its call.
 */
#include "meta_file.h"

#include <math.h>
#include <xnnpack.h>

enum { MOST_VALUES = 8 };

struct net {
    const struct meta_case *one;
    xnn_subgraph_t graph;
    struct xnn_external_value external[MOST_VALUES];
    uint32_t n_external, n_buffers;
    float *buffers[MOST_VALUES];
};

static size_t count_of(size_t rank, const size_t *dims)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    return count;
}

/* A tensor of the graph on memory of its own: from outside when there are flags, else fixed. */
static uint32_t add(struct net *net, size_t rank, const size_t *dims, uint32_t flags, float **data)
{
    size_t count = count_of(rank, dims);
    uint32_t id = flags ? net->n_external : XNN_INVALID_VALUE_ID;
    *data = calloc(1, count * sizeof(float) + XNN_EXTRA_BYTES);
    if (!*data || net->n_buffers == MOST_VALUES)
        meta_die("too many values");
    net->buffers[net->n_buffers++] = *data;
    if (xnn_define_tensor_value(net->graph, xnn_datatype_fp32, rank, dims, flags ? NULL : *data, id, flags,
                                &id) != xnn_status_success)
        meta_die("no tensor");
    if (flags)
        net->external[net->n_external++] = (struct xnn_external_value){id, *data};
    return id;
}

/* [A, B, C, D] to [A, C, D, B]. */
static void to_last(const float *from, float *to, const size_t d[4])
{
    for (size_t a = 0; a < d[0]; a++)
        for (size_t b = 0; b < d[1]; b++)
            for (size_t i = 0; i < d[2] * d[3]; i++)
                to[(a * d[2] * d[3] + i) * d[1] + b] = from[(a * d[1] + b) * d[2] * d[3] + i];
}

static uint32_t fixed(struct net *net, size_t rank, const size_t *dims, const void *from)
{
    float *data;
    uint32_t id = add(net, rank, dims, 0, &data);
    memcpy(data, from, count_of(rank, dims) * sizeof(float));
    return id;
}

#define CALL(name, call)                                                        \
    static enum xnn_status name(struct net *net, const uint32_t *x, uint32_t y) \
    {                                                                           \
        return call;                                                            \
    }
#define G net->graph
CALL(absolute, xnn_define_abs(G, x[0], y, 0))
CALL(ceiling, xnn_define_ceiling(G, x[0], y, 0))
CALL(down, xnn_define_floor(G, x[0], y, 0))
CALL(nearest, xnn_define_bankers_rounding(G, x[0], y, 0))
CALL(hard_swish, xnn_define_hardswish(G, x[0], y, 0))
CALL(negate, xnn_define_negate(G, x[0], y, 0))
CALL(sigmoid, xnn_define_sigmoid(G, x[0], y, 0))
CALL(root, xnn_define_square_root(G, x[0], y, 0))
CALL(clip, xnn_define_clamp(G, 0, 0.8F, x[0], y, 0))
CALL(relu, xnn_define_clamp(G, 0, INFINITY, x[0], y, 0))
CALL(elu, xnn_define_elu(G, 2, x[0], y, 0))
CALL(leaky_relu, xnn_define_leaky_relu(G, 0.1F, x[0], y, 0))
CALL(sum, xnn_define_add2(G, -INFINITY, INFINITY, x[0], x[1], y, 0))
CALL(minus, xnn_define_subtract(G, -INFINITY, INFINITY, x[0], x[1], y, 0))
CALL(times, xnn_define_multiply2(G, -INFINITY, INFINITY, x[0], x[1], y, 0))
CALL(over, xnn_define_divide(G, -INFINITY, INFINITY, x[0], x[1], y, 0))
CALL(most, xnn_define_maximum2(G, x[0], x[1], y, 0))
CALL(least, xnn_define_minimum2(G, x[0], x[1], y, 0))
CALL(average, xnn_define_average_pooling_2d(G, 0, 0, 0, 0, 2, 2, 1, 1, -INFINITY, INFINITY, x[0], y, 0))
CALL(average_pads, xnn_define_average_pooling_2d(G, 1, 2, 2, 1, 3, 3, 2, 2, -INFINITY, INFINITY, x[0], y, 0))
CALL(pool, xnn_define_max_pooling_2d(G, 1, 0, 0, 1, 3, 3, 2, 2, 1, 1, -INFINITY, INFINITY, x[0], y, 0))
CALL(whole, xnn_define_max_pooling_2d(G, 0, 0, 0, 0, 4, 5, 1, 1, 1, 1, -INFINITY, INFINITY, x[0], y, 0))
CALL(mean, xnn_define_global_average_pooling_2d(G, -INFINITY, INFINITY, x[0], y, 0))
CALL(blocks, xnn_define_depth_to_space(G, x[0], y, 2, 0))
CALL(resize, xnn_define_static_resize_bilinear_2d(G, 6, 6, x[0], y, 0))

static enum xnn_status reciprocal(struct net *net, const uint32_t *x, uint32_t y)
{
    return xnn_define_divide(G, -INFINITY, INFINITY, fixed(net, 1, (size_t[]){1}, (float[]){1}), x[0], y, 0);
}

static enum xnn_status matmul(struct net *net, const uint32_t *x, uint32_t y)
{
    const struct meta_case *one = net->one;
    uint32_t w = fixed(net, 2, (size_t[]){4, 5}, one->inputs[1].data);
    uint32_t b = one->n_inputs > 2 ? fixed(net, 1, (size_t[]){5}, one->inputs[2].data) : XNN_INVALID_VALUE_ID;
    return xnn_define_fully_connected(G, -INFINITY, INFINITY, x[0], w, b, y, XNN_FLAG_TRANSPOSE_WEIGHTS);
}

static enum xnn_status conv(struct net *net, const uint32_t *x, uint32_t y)
{
    const struct meta_case *one = net->one;
    uint32_t pad = one->n_inputs > 2 ? 1 : 0, stride = one->n_inputs > 2 ? 1 : 2, bias = XNN_INVALID_VALUE_ID;
    float *data;
    uint32_t w = add(net, 4, (size_t[]){3, 3, 3, 2}, 0, &data);
    to_last(one->inputs[1].data, data, (size_t[]){3, 2, 3, 3});
    if (one->n_inputs > 2)
        bias = fixed(net, 1, (size_t[]){3}, one->inputs[2].data);
    return xnn_define_convolution_2d(G, pad, pad, pad, pad, 3, 3, stride, stride, 1, 1, 1, 2, 3, -INFINITY,
                                     INFINITY, x[0], w, bias, y, 0);
}

static enum xnn_status pad(struct net *net, const uint32_t *x, uint32_t y)
{
    return xnn_define_static_constant_pad(G, (size_t[]){0, 1}, (size_t[]){1, 2}, 0, x[0], y, 0);
}

/* What is called, how many inputs come from outside, and the output: dims, channels first where `image`. */
static const struct row {
    const char *name;
    enum xnn_status (*define)(struct net *net, const uint32_t *x, uint32_t y);
    uint32_t inputs, image, rank;
    size_t dims[4];
} rows[] = {
#define SAME    \
    0, 3,       \
    {           \
        2, 3, 4 \
    }
    {"Abs", absolute, 1, SAME},
    {"Add", sum, 2, SAME},
    {"AveragePool", average, 1, 1, 4, {1, 2, 5, 5}},
    {"AveragePoolPads", average_pads, 1, 1, 4, {1, 2, 4, 4}},
    {"Ceil", ceiling, 1, SAME},
    {"Clip", clip, 1, SAME},
    {"Conv", conv, 1, 1, 4, {1, 3, 6, 6}},
    {"ConvStrides", conv, 1, 1, 4, {2, 3, 3, 3}},
    {"DepthToSpace", blocks, 1, 1, 4, {1, 2, 4, 6}},
    {"Div", over, 2, SAME},
    {"Elu", elu, 1, SAME},
    {"Floor", down, 1, SAME},
    {"GemmBias", matmul, 1, 0, 2, {3, 5}},
    {"GlobalAveragePool", mean, 1, 1, 4, {2, 3, 1, 1}},
    {"GlobalMaxPool", whole, 1, 1, 4, {2, 3, 1, 1}},
    {"HardSwish", hard_swish, 1, SAME},
    {"LeakyRelu", leaky_relu, 1, SAME},
    {"MatMul", matmul, 1, 0, 3, {2, 3, 5}},
    {"Max", most, 2, SAME},
    {"MaxPool", pool, 1, 1, 4, {1, 2, 3, 3}},
    {"Min", least, 2, SAME},
    {"Mul", times, 2, SAME},
    {"MulFirst", times, 2, SAME},
    {"Neg", negate, 1, SAME},
    {"Pad", pad, 1, 0, 2, {4, 7}},
    {"Reciprocal", reciprocal, 1, SAME},
    {"Relu", relu, 1, SAME},
    {"ResizeLinear", resize, 1, 1, 4, {1, 2, 6, 6}},
    {"Round", nearest, 1, SAME},
    {"Sigmoid", sigmoid, 1, SAME},
    {"Sqrt", root, 1, SAME},
    {"Sub", minus, 2, SAME},
};

static uint32_t input(struct net *net, const struct meta_tensor *tensor, uint32_t image)
{
    size_t d[META_RANK];
    float *data;
    for (uint32_t i = 0; i < tensor->rank; i++)
        d[i] = (size_t)tensor->dims[i];
    if (!image) {
        uint32_t id = add(net, tensor->rank, d, XNN_VALUE_FLAG_EXTERNAL_INPUT, &data);
        memcpy(data, tensor->data, tensor->size);
        return id;
    }
    uint32_t id = add(net, 4, (size_t[]){d[0], d[2], d[3], d[1]}, XNN_VALUE_FLAG_EXTERNAL_INPUT, &data);
    to_last(tensor->data, data, d);
    return id;
}

static int compute(struct net *net, enum xnn_status defined)
{
    xnn_runtime_t runtime = NULL;
    int went = defined == xnn_status_success &&
               xnn_create_runtime_v2(net->graph, NULL, 0, &runtime) == xnn_status_success &&
               xnn_setup_runtime(runtime, net->n_external, net->external) == xnn_status_success &&
               xnn_invoke_runtime(runtime) == xnn_status_success;
    if (runtime)
        xnn_delete_runtime(runtime);
    return went;
}

static void run(const struct row *row, const struct meta_case *one, struct meta_result *result)
{
    struct net net = {.one = one};
    const size_t *d = row->dims;
    uint32_t x[2] = {0, 0};
    float *y;
    if (xnn_create_subgraph(MOST_VALUES, 0, &net.graph) != xnn_status_success)
        meta_die("no subgraph");
    for (uint32_t i = 0; i < row->inputs; i++)
        x[i] = input(&net, &one->inputs[i], row->image);
    uint32_t out = add(&net, row->rank, row->image ? (size_t[]){d[0], d[2], d[3], d[1]} : d,
                       XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &y);
    if (compute(&net, row->define(&net, x, out))) {
        struct meta_tensor *made = &result->outputs[result->n_outputs++];
        made->type = META_FLOAT;
        made->size = count_of(row->rank, d) * sizeof *y;
        made->data = malloc(made->size + 1);
        if (!made->data)
            meta_die("no memory");
        if (row->image) /* back: [N, (H W), 1, C] to [N, 1, C, (H W)] */
            to_last(y, made->data, (size_t[]){d[0], d[2] * d[3], 1, d[1]});
        else
            memcpy(made->data, y, made->size);
    } else {
        result->flags = META_REFUSED;
    }
    xnn_delete_subgraph(net.graph);
    for (uint32_t i = 0; i < net.n_buffers; i++)
        free(net.buffers[i]);
}

static void call(const struct meta_case *one, struct meta_result *result)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, one->name) == 0)
            run(&rows[i], one, result);
}

int main(int argc, char **argv)
{
    if (xnn_initialize(NULL) != xnn_status_success)
        meta_die("XNNPACK does not start");
    return meta_main(argc, argv, call);
}
