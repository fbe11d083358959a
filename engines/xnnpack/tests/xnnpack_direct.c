/*
 * usage: xnnpack_direct CASE FOLDER
 * One official case on XNNPACK's subgraph API with nothing in between. Images are turned to NHWC by hand.
 */
#include "direct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

static void check(enum xnn_status status)
{
    if (status != xnn_status_success)
        direct_fail("XNNPACK refuses");
}

struct context {
    xnn_subgraph_t graph;
    struct xnn_external_value external[DIRECT_INPUTS + 1];
    size_t n_external;
    float *out; /* NHWC for images */
    int image;
};

static uint32_t value(struct context *x, int rank, const int64_t *dims, float *data, uint32_t flags)
{
    size_t sizes[XNN_MAX_TENSOR_DIMS];
    uint32_t id = flags ? (uint32_t)x->n_external : XNN_INVALID_VALUE_ID;
    if (rank > XNN_MAX_TENSOR_DIMS)
        direct_fail("a rank above 6");
    for (int i = 0; i < rank; i++)
        sizes[i] = (size_t)dims[i];
    check(xnn_define_tensor_value(x->graph, xnn_datatype_fp32, (size_t)rank, sizes, flags ? NULL : data, id,
                                  flags, &id));
    if (flags)
        x->external[x->n_external++] = (struct xnn_external_value){id, data};
    return id;
}

/* A copy of [a, b, h, w] as [a, h, w, b]. */
static float *channels_last(const float *from, const int64_t *d)
{
    size_t a = (size_t)d[0], b = (size_t)d[1], hw = (size_t)(d[2] * d[3]);
    float *to = calloc(a * b * hw + 16, sizeof *to);
    if (!to)
        direct_fail("no memory");
    for (size_t i = 0; i < a; i++)
        for (size_t j = 0; j < b; j++)
            for (size_t k = 0; k < hw; k++)
                to[(i * hw + k) * b + j] = from[(i * b + j) * hw + k];
    return to;
}

static uint32_t input(struct context *x, struct direct_tensor *t)
{
    return value(x, t->rank, t->dims, t->data, XNN_VALUE_FLAG_EXTERNAL_INPUT);
}

static uint32_t image(struct context *x, struct direct_tensor *t)
{
    int64_t dims[] = {t->dims[0], t->dims[2], t->dims[3], t->dims[1]};
    x->image = 1;
    return value(x, 4, dims, channels_last(t->data, t->dims), XNN_VALUE_FLAG_EXTERNAL_INPUT);
}

static uint32_t output(struct context *x, const struct direct_tensor *t)
{
    int64_t last[] = {t->dims[0], t->dims[2], t->dims[3], t->dims[1]};
    return value(x, t->rank, x->image ? last : t->dims, x->out, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
}

static int unary(struct context *x, struct direct_case *c)
{
    static const struct {
        const char *op;
        enum xnn_status (*define)(xnn_subgraph_t, uint32_t, uint32_t, uint32_t);
    } rows[] = {{"Abs", xnn_define_abs},         {"Ceil", xnn_define_ceiling},
                {"Floor", xnn_define_floor},     {"HardSwish", xnn_define_hardswish},
                {"Neg", xnn_define_negate},      {"Round", xnn_define_bankers_rounding},
                {"Sigmoid", xnn_define_sigmoid}, {"Sqrt", xnn_define_square_root},
                {"Softmax", xnn_define_softmax}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, c->op) == 0) {
            uint32_t a = input(x, &c->inputs[0]);
            check(rows[i].define(x->graph, a, output(x, &c->output), 0));
            return 1;
        }
    return 0;
}

static int with_number(struct context *x, struct direct_case *c)
{
    uint32_t a, y;
    int relu = strcmp(c->op, "Relu") == 0, clip = strcmp(c->op, "Clip") == 0;
    int elu = strcmp(c->op, "Elu") == 0, leaky = strcmp(c->op, "LeakyRelu") == 0;
    if (!relu && !clip && !elu && !leaky)
        return 0;
    a = input(x, &c->inputs[0]);
    y = output(x, &c->output);
    if (elu)
        check(xnn_define_elu(x->graph, direct_float(c, "alpha", 1), a, y, 0));
    else if (leaky)
        check(xnn_define_leaky_relu(x->graph, direct_float(c, "alpha", 0.01F), a, y, 0));
    else
        check(xnn_define_clamp(x->graph, relu ? 0 : *c->inputs[1].data, relu ? INFINITY : *c->inputs[2].data,
                               a, y, 0));
    return 1;
}

static int binary(struct context *x, struct direct_case *c)
{
    typedef enum xnn_status clamped(xnn_subgraph_t, float, float, uint32_t, uint32_t, uint32_t, uint32_t);
    static const struct {
        const char *op;
        clamped *define;
    } rows[] = {{"Add", xnn_define_add2},
                {"Sub", xnn_define_subtract},
                {"Mul", xnn_define_multiply2},
                {"Div", xnn_define_divide},
                {"Sum", xnn_define_add2}};
    int max = strcmp(c->op, "Max") == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, c->op) == 0) {
            uint32_t a = input(x, &c->inputs[0]), b = input(x, &c->inputs[1]);
            check(rows[i].define(x->graph, -INFINITY, INFINITY, a, b, output(x, &c->output), 0));
            return 1;
        }
    if (!max && strcmp(c->op, "Min") != 0)
        return 0;
    uint32_t a = input(x, &c->inputs[0]), b = input(x, &c->inputs[1]), y = output(x, &c->output);
    check(max ? xnn_define_maximum2(x->graph, a, b, y, 0) : xnn_define_minimum2(x->graph, a, b, y, 0));
    return 1;
}

static uint32_t at(const struct direct_case *c, const char *name, int i, int64_t otherwise)
{
    return (uint32_t)direct_at(c, name, i, otherwise);
}

/* Pads of an image: top, left, bottom, right. */
static uint32_t pad(const struct direct_case *c, int i)
{
    return at(c, "pads", i, 0);
}

static int images(struct context *x, struct direct_case *c)
{
    const int64_t *w = c->inputs[1].dims, *in = c->inputs[0].dims;
    uint32_t sh = at(c, "strides", 0, 1), sw = at(c, "strides", 1, 1);
    uint32_t kh = at(c, "kernel_shape", 0, 1), kw = at(c, "kernel_shape", 1, 1);
    if (strcmp(c->op, "Conv") == 0) {
        int64_t dims[] = {w[0], w[2], w[3], w[1]};
        uint32_t a = image(x, &c->inputs[0]);
        uint32_t f = value(x, 4, dims, channels_last(c->inputs[1].data, w), 0);
        check(xnn_define_convolution_2d(x->graph, pad(c, 0), pad(c, 3), pad(c, 2), pad(c, 1), (uint32_t)w[2],
                                        (uint32_t)w[3], sh, sw, 1, 1, 1, (size_t)w[1], (size_t)w[0],
                                        -INFINITY, INFINITY, a, f, XNN_INVALID_VALUE_ID,
                                        output(x, &c->output), 0));
    } else if (strcmp(c->op, "AveragePool") == 0) {
        uint32_t a = image(x, &c->inputs[0]);
        check(xnn_define_average_pooling_2d(x->graph, pad(c, 0), pad(c, 3), pad(c, 2), pad(c, 1), kh, kw, sh,
                                            sw, -INFINITY, INFINITY, a, output(x, &c->output), 0));
    } else if (strcmp(c->op, "MaxPool") == 0 || strcmp(c->op, "GlobalMaxPool") == 0) {
        int global = *c->op == 'G';
        uint32_t a = image(x, &c->inputs[0]);
        check(xnn_define_max_pooling_2d(x->graph, pad(c, 0), pad(c, 3), pad(c, 2), pad(c, 1),
                                        global ? (uint32_t)in[2] : kh, global ? (uint32_t)in[3] : kw, sh, sw,
                                        at(c, "dilations", 0, 1), at(c, "dilations", 1, 1), -INFINITY,
                                        INFINITY, a, output(x, &c->output), 0));
    } else if (strcmp(c->op, "GlobalAveragePool") == 0) {
        uint32_t a = image(x, &c->inputs[0]);
        check(
            xnn_define_global_average_pooling_2d(x->graph, -INFINITY, INFINITY, a, output(x, &c->output), 0));
    } else if (strcmp(c->op, "DepthToSpace") == 0) {
        uint32_t a = image(x, &c->inputs[0]);
        check(xnn_define_depth_to_space(x->graph, a, output(x, &c->output),
                                        (uint32_t)direct_int(c, "blocksize", 1), 0));
    } else {
        return 0;
    }
    return 1;
}

static int matrices(struct context *x, struct direct_case *c)
{
    int gemm = strcmp(c->op, "Gemm") == 0, turned = gemm && direct_int(c, "transB", 0);
    if (strcmp(c->op, "Reshape") == 0 || strcmp(c->op, "Flatten") == 0) {
        size_t dims[XNN_MAX_TENSOR_DIMS];
        for (int i = 0; i < c->output.rank; i++)
            dims[i] = (size_t)c->output.dims[i];
        uint32_t a = input(x, &c->inputs[0]);
        check(xnn_define_static_reshape(x->graph, (size_t)c->output.rank, dims, a, output(x, &c->output), 0));
        return 1;
    }
    if (!gemm && strcmp(c->op, "MatMul") != 0)
        return 0;
    uint32_t a = input(x, &c->inputs[0]), b = XNN_INVALID_VALUE_ID;
    uint32_t w = value(x, 2, c->inputs[1].dims, c->inputs[1].data, 0);
    if (c->n_inputs == 3)
        b = value(x, 1, &c->output.dims[1], c->inputs[2].data, 0);
    check(xnn_define_fully_connected(x->graph, -INFINITY, INFINITY, a, w, b, output(x, &c->output),
                                     turned ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS));
    return 1;
}

int main(int argc, char **argv)
{
    static struct direct_case c;
    struct context x = {0};
    xnn_runtime_t runtime;
    if (argc != 3)
        direct_fail("usage: xnnpack_direct CASE FOLDER");
    direct_read(&c, argv[1]);
    x.out = calloc(c.output.count + 16, sizeof *x.out);
    if (!x.out)
        direct_fail("no memory");
    check(xnn_initialize(NULL));
    check(xnn_create_subgraph(DIRECT_INPUTS + 1, 0, &x.graph));
    if (!unary(&x, &c) && !with_number(&x, &c) && !binary(&x, &c) && !images(&x, &c) && !matrices(&x, &c))
        direct_fail("no such operator here");
    check(xnn_create_runtime_v2(x.graph, NULL, 0, &runtime));
    check(xnn_setup_runtime(runtime, x.n_external, x.external));
    check(xnn_invoke_runtime(runtime));
    const int64_t *d = c.output.dims;
    if (x.image) { /* [n, h, w, c] as [n, c, h * w]: the same turn once more */
        int64_t dims[] = {d[0], d[2] * d[3], 1, d[1]};
        x.out = channels_last(x.out, dims);
    }
    direct_write(argv[2], x.out, c.output.count * sizeof *x.out);
    return 0;
}
