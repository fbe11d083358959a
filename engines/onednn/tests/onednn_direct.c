/*
 * usage: onednn_direct CASE FOLDER
 * One official case on oneDNN with nothing in between, as its own examples call it: contractions let the
 * library choose its layouts and reorder.
 */
#include "direct.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(dnnl_status_t status)
{
    if (status != dnnl_success)
        direct_fail("oneDNN refuses");
}

struct context {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

static dnnl_memory_desc_t dense(const struct direct_tensor *t, dnnl_data_type_t type)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = t->rank; i-- > 0; stride *= t->dims[i] ? t->dims[i] : 1)
        strides[i] = stride;
    check(dnnl_memory_desc_init_by_strides(&md, t->rank, t->dims, type, strides));
    return md;
}

static dnnl_memory_desc_t any(const struct direct_tensor *t)
{
    dnnl_memory_desc_t md;
    check(dnnl_memory_desc_init_by_tag(&md, t->rank, t->dims, dnnl_f32, dnnl_format_tag_any));
    return md;
}

static dnnl_memory_t memory(struct context *x, const dnnl_memory_desc_t *md, void *data)
{
    dnnl_memory_t m;
    check(dnnl_memory_create(&m, md, x->engine, data));
    return m;
}

static void run(struct context *x, dnnl_primitive_desc_t pd, int count, const dnnl_exec_arg_t *args)
{
    dnnl_primitive_t primitive;
    check(dnnl_primitive_create(&primitive, pd));
    check(dnnl_primitive_execute(primitive, x->stream, count, args));
    check(dnnl_stream_wait(x->stream));
}

static dnnl_primitive_desc_t make(struct context *x, const_dnnl_op_desc_t op)
{
    dnnl_primitive_desc_t pd;
    check(dnnl_primitive_desc_create(&pd, op, NULL, x->engine, NULL));
    return pd;
}

static void reorder(struct context *x, const dnnl_memory_desc_t *from, dnnl_memory_t source,
                    const dnnl_memory_desc_t *to, dnnl_memory_t target)
{
    dnnl_primitive_desc_t pd;
    check(dnnl_reorder_primitive_desc_create(&pd, from, x->engine, to, x->engine, NULL));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};
    run(x, pd, 2, args);
}

/* Sources and one result in the layouts given. */
static void plain(struct context *x, struct direct_case *c, const_dnnl_op_desc_t op, const int *numbers,
                  void *out, dnnl_data_type_t type)
{
    dnnl_exec_arg_t args[8];
    for (int i = 0; i < c->n_inputs; i++) {
        dnnl_memory_desc_t md = dense(&c->inputs[i], dnnl_f32);
        args[i] = (dnnl_exec_arg_t){numbers[i], memory(x, &md, c->inputs[i].data)};
    }
    dnnl_memory_desc_t md = dense(&c->output, type);
    args[c->n_inputs] = (dnnl_exec_arg_t){DNNL_ARG_DST, memory(x, &md, out)};
    run(x, make(x, op), c->n_inputs + 1, args);
}

static const int source_numbers[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};

static const struct {
    const char *op;
    dnnl_alg_kind_t kind;
    float alpha, beta; /* alpha unless the attribute says otherwise */
} eltwises[] = {
    {"Abs", dnnl_eltwise_abs, 0, 0},
    {"Elu", dnnl_eltwise_elu, 1, 0},
    {"Exp", dnnl_eltwise_exp, 0, 0},
    {"HardSwish", dnnl_eltwise_hardswish, 0, 0},
    {"LeakyRelu", dnnl_eltwise_relu, 0.01F, 0},
    {"Log", dnnl_eltwise_log, 0, 0},
    {"Neg", dnnl_eltwise_linear, -1, 0},
    {"Reciprocal", dnnl_eltwise_pow, 1, -1},
    {"Relu", dnnl_eltwise_relu, 0, 0},
    {"Round", dnnl_eltwise_round, 0, 0},
    {"Sigmoid", dnnl_eltwise_logistic, 0, 0},
    {"Softplus", dnnl_eltwise_soft_relu, 1, 0},
    {"Sqrt", dnnl_eltwise_sqrt, 0, 0},
    {"Tanh", dnnl_eltwise_tanh, 0, 0},
};

static int eltwise(struct context *x, struct direct_case *c, float *out)
{
    for (size_t i = 0; i < sizeof eltwises / sizeof *eltwises; i++) {
        if (strcmp(eltwises[i].op, c->op) != 0)
            continue;
        dnnl_memory_desc_t md = dense(&c->inputs[0], dnnl_f32);
        dnnl_eltwise_desc_t op;
        check(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, eltwises[i].kind, &md,
                                             direct_float(c, "alpha", eltwises[i].alpha), eltwises[i].beta));
        plain(x, c, &op, source_numbers, out, dnnl_f32);
        return 1;
    }
    return 0;
}

static const struct {
    const char *op;
    dnnl_alg_kind_t kind;
} binaries[] = {
    {"Add", dnnl_binary_add},        {"Sub", dnnl_binary_sub},           {"Mul", dnnl_binary_mul},
    {"Div", dnnl_binary_div},        {"Max", dnnl_binary_max},           {"Min", dnnl_binary_min},
    {"Greater", dnnl_binary_gt},     {"GreaterOrEqual", dnnl_binary_ge}, {"Less", dnnl_binary_lt},
    {"LessOrEqual", dnnl_binary_le},
};

/* Comparisons are written as bytes. */
static int binary(struct context *x, struct direct_case *c, float *out)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (strcmp(binaries[i].op, c->op) != 0)
            continue;
        dnnl_data_type_t type = binaries[i].kind >= dnnl_binary_ge ? dnnl_u8 : dnnl_f32;
        dnnl_memory_desc_t a = dense(&c->inputs[0], dnnl_f32), b = dense(&c->inputs[1], dnnl_f32);
        dnnl_memory_desc_t y = dense(&c->output, type);
        dnnl_binary_desc_t op;
        check(dnnl_binary_desc_init(&op, binaries[i].kind, &a, &b, &y));
        plain(x, c, &op, source_numbers, out, type);
        return type == dnnl_u8 ? 1 : 4;
    }
    return 0;
}

static int softmax(struct context *x, struct direct_case *c, float *out)
{
    int logarithm = strcmp(c->op, "LogSoftmax") == 0;
    if (!logarithm && strcmp(c->op, "Softmax") != 0)
        return 0;
    dnnl_memory_desc_t md = dense(&c->inputs[0], dnnl_f32);
    int64_t axis = direct_int(c, "axis", -1);
    dnnl_softmax_v2_desc_t op;
    check(dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference,
                                            logarithm ? dnnl_softmax_log : dnnl_softmax_accurate, &md, &md,
                                            (int)(axis < 0 ? axis + c->output.rank : axis)));
    plain(x, c, &op, source_numbers, out, dnnl_f32);
    return 1;
}

static int pooling(struct context *x, struct direct_case *c, float *out)
{
    int global = strncmp(c->op, "Global", 6) == 0;
    const char *kind = c->op + (global ? 6 : 0);
    if (strcmp(kind, "AveragePool") != 0 && strcmp(kind, "MaxPool") != 0)
        return 0;
    dnnl_dims_t kernel, strides, dilations, before, after;
    int n = c->output.rank - 2;
    for (int i = 0; i < n; i++) {
        kernel[i] = global ? c->inputs[0].dims[i + 2] : direct_at(c, "kernel_shape", i, 1);
        strides[i] = direct_at(c, "strides", i, 1);
        dilations[i] = direct_at(c, "dilations", i, 1) - 1;
        before[i] = direct_at(c, "pads", i, 0);
        after[i] = direct_at(c, "pads", i + n, 0);
    }
    dnnl_memory_desc_t src = dense(&c->inputs[0], dnnl_f32), dst = dense(&c->output, dnnl_f32);
    dnnl_pooling_v2_desc_t op;
    check(dnnl_pooling_v2_forward_desc_init(
        &op, dnnl_forward_inference, *kind == 'A' ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_max, &src,
        &dst, strides, kernel, dilations, before, after));
    plain(x, c, &op, source_numbers, out, dnnl_f32);
    return 1;
}

static int with_operand(struct context *x, struct direct_case *c, float *out)
{
    static const int numbers[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
    dnnl_memory_desc_t md = dense(&c->inputs[0], dnnl_f32);
    if (strcmp(c->op, "PRelu") == 0) {
        dnnl_memory_desc_t slope = dense(&c->inputs[1], dnnl_f32);
        dnnl_prelu_desc_t op;
        check(dnnl_prelu_forward_desc_init(&op, dnnl_forward_inference, &md, &slope));
        plain(x, c, &op, numbers, out, dnnl_f32);
        return 1;
    }
    if (strcmp(c->op, "Clip") != 0)
        return 0;
    dnnl_eltwise_desc_t op;
    check(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, dnnl_eltwise_clip_v2, &md,
                                         *c->inputs[1].data, *c->inputs[2].data));
    c->n_inputs = 1;
    plain(x, c, &op, numbers, out, dnnl_f32);
    return 1;
}

static int normalization(struct context *x, struct direct_case *c, float *out)
{
    static const int numbers[] = {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN,
                                  DNNL_ARG_VARIANCE};
    dnnl_memory_desc_t md = dense(&c->inputs[0], dnnl_f32);
    if (strcmp(c->op, "LRN") == 0) {
        dnnl_lrn_desc_t op;
        check(dnnl_lrn_forward_desc_init(&op, dnnl_forward_inference, dnnl_lrn_across_channels, &md,
                                         direct_int(c, "size", 1), direct_float(c, "alpha", 1e-4F),
                                         direct_float(c, "beta", 0.75F), direct_float(c, "bias", 1)));
        plain(x, c, &op, numbers, out, dnnl_f32);
        return 1;
    }
    if (strcmp(c->op, "BatchNormalization") != 0)
        return 0;
    dnnl_batch_normalization_desc_t op;
    check(dnnl_batch_normalization_forward_desc_init(
        &op, dnnl_forward_inference, &md, direct_float(c, "epsilon", 1e-5F),
        dnnl_use_scale | dnnl_use_shift | dnnl_use_global_stats));
    plain(x, c, &op, numbers, out, dnnl_f32);
    return 1;
}

static const struct {
    const char *op;
    dnnl_alg_kind_t kind;
    float p;
} reductions[] = {
    {"ReduceL1", dnnl_reduction_norm_lp_power_p_sum, 1},
    {"ReduceL2", dnnl_reduction_norm_lp_sum, 2},
    {"ReduceMax", dnnl_reduction_max, 0},
    {"ReduceMean", dnnl_reduction_mean, 0},
    {"ReduceMin", dnnl_reduction_min, 0},
    {"ReduceProd", dnnl_reduction_mul, 0},
    {"ReduceSum", dnnl_reduction_sum, 0},
    {"ReduceSumSquare", dnnl_reduction_norm_lp_power_p_sum, 2},
};

/* Of cases that keep the dims, so that the output's shape says which. */
static int reduction(struct context *x, struct direct_case *c, float *out)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        if (strcmp(reductions[i].op, c->op) != 0)
            continue;
        dnnl_memory_desc_t src = dense(&c->inputs[0], dnnl_f32), dst = dense(&c->output, dnnl_f32);
        dnnl_reduction_desc_t op;
        check(dnnl_reduction_desc_init(&op, reductions[i].kind, &src, &dst, reductions[i].p, 0));
        c->n_inputs = 1;
        plain(x, c, &op, source_numbers, out, dnnl_f32);
        return 1;
    }
    return 0;
}

/* Runs with the layouts the library chose, converted in and out. */
static void chosen(struct context *x, struct direct_case *c, dnnl_primitive_desc_t pd, float *out)
{
    static const int numbers[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS};
    dnnl_exec_arg_t args[4];
    for (int i = 0; i < c->n_inputs; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, numbers[i]);
        dnnl_memory_desc_t user = dense(&c->inputs[i], dnnl_f32);
        dnnl_memory_t given = memory(x, &user, c->inputs[i].data);
        args[i] = (dnnl_exec_arg_t){numbers[i], memory(x, md, DNNL_MEMORY_ALLOCATE)};
        reorder(x, &user, given, md, args[i].memory);
    }
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, DNNL_ARG_DST);
    dnnl_memory_t result = memory(x, md, DNNL_MEMORY_ALLOCATE);
    args[c->n_inputs] = (dnnl_exec_arg_t){DNNL_ARG_DST, result};
    run(x, pd, c->n_inputs + 1, args);
    dnnl_memory_desc_t user = dense(&c->output, dnnl_f32);
    reorder(x, md, result, &user, memory(x, &user, out));
}

static int contraction(struct context *x, struct direct_case *c, float *out)
{
    int n = c->output.rank - 2;
    if (strcmp(c->op, "MatMul") == 0) {
        dnnl_memory_desc_t a = dense(&c->inputs[0], dnnl_f32), b = any(&c->inputs[1]);
        dnnl_memory_desc_t y = dense(&c->output, dnnl_f32);
        dnnl_matmul_desc_t op;
        check(dnnl_matmul_desc_init(&op, &a, &b, NULL, &y));
        chosen(x, c, make(x, &op), out);
        return 1;
    }
    if (strcmp(c->op, "Conv") != 0)
        return 0;
    dnnl_dims_t strides, dilations, before, after;
    for (int i = 0; i < n; i++) {
        strides[i] = direct_at(c, "strides", i, 1);
        dilations[i] = direct_at(c, "dilations", i, 1) - 1;
        before[i] = direct_at(c, "pads", i, 0);
        after[i] = direct_at(c, "pads", i + n, 0);
    }
    dnnl_memory_desc_t src = any(&c->inputs[0]), w = any(&c->inputs[1]), dst = any(&c->output);
    dnnl_convolution_desc_t op;
    check(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_auto, &src,
                                                     &w, NULL, &dst, strides, dilations, before, after));
    chosen(x, c, make(x, &op), out);
    return 1;
}

static int movement(struct context *x, struct direct_case *c, float *out)
{
    dnnl_memory_desc_t dst = dense(&c->output, dnnl_f32);
    dnnl_memory_t target = memory(x, &dst, out);
    if (strcmp(c->op, "Transpose") == 0) {
        dnnl_memory_desc_t src = dense(&c->inputs[0], dnnl_f32), turned;
        int where[DIRECT_RANK]; /* output dim of each input dim */
        for (int i = 0; i < c->output.rank; i++)
            where[direct_at(c, "perm", i, 0)] = i;
        check(dnnl_memory_desc_permute_axes(&turned, &src, where));
        reorder(x, &turned, memory(x, &turned, c->inputs[0].data), &dst, target);
        return 1;
    }
    if (strcmp(c->op, "Concat") != 0)
        return 0;
    dnnl_memory_desc_t mds[DIRECT_INPUTS];
    dnnl_exec_arg_t args[DIRECT_INPUTS + 1];
    for (int i = 0; i < c->n_inputs; i++) {
        mds[i] = dense(&c->inputs[i], dnnl_f32);
        args[i] = (dnnl_exec_arg_t){DNNL_ARG_MULTIPLE_SRC + i, memory(x, &mds[i], c->inputs[i].data)};
    }
    args[c->n_inputs] = (dnnl_exec_arg_t){DNNL_ARG_DST, target};
    dnnl_primitive_desc_t pd;
    check(dnnl_concat_primitive_desc_create(&pd, &dst, c->n_inputs, (int)direct_int(c, "axis", 0), mds, NULL,
                                            x->engine));
    run(x, pd, c->n_inputs + 1, args);
    return 1;
}

int main(int argc, char **argv)
{
    static struct direct_case c;
    struct context x;
    if (argc != 3)
        direct_fail("usage: onednn_direct CASE FOLDER");
    setenv("OMP_NUM_THREADS", "1", 1);
    direct_read(&c, argv[1]);
    float *out = calloc(c.output.count + 16, sizeof *out);
    if (!out)
        direct_fail("no memory");
    check(dnnl_engine_create(&x.engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&x.stream, x.engine, dnnl_stream_default_flags));
    int size = binary(&x, &c, out);
    if (!size && !eltwise(&x, &c, out) && !softmax(&x, &c, out) && !pooling(&x, &c, out) &&
        !with_operand(&x, &c, out) && !normalization(&x, &c, out) && !reduction(&x, &c, out) &&
        !contraction(&x, &c, out) && !movement(&x, &c, out))
        direct_fail("no such operator here");
    direct_write(argv[2], out, c.output.count * (size_t)(size ? size : 4));
    return 0;
}
