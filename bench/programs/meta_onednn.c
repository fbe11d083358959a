/*
 * usage: meta_onednn CASES RESULTS
 * oneDNN 2 called directly for the cases of bench/meta that are one primitive forward and one backward, as
 * its own examples call it: row-major data, but convolutions and the right operand of a product in the layout
 * that the library chooses. Nothing of Assay's adapter is in here.
 */
#include "meta_file.h"

#include <float.h>
#include <oneapi/dnnl/dnnl.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void check(dnnl_status_t status)
{
    if (status != dnnl_success)
        meta_die("oneDNN refuses");
}

static dnnl_memory_desc_t dense(int rank, const int64_t *dims)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = rank; i-- > 0; stride *= dims[i])
        strides[i] = stride;
    check(dnnl_memory_desc_init_by_strides(&md, rank, dims, dnnl_f32, strides));
    return md;
}

static dnnl_memory_desc_t of(const struct meta_tensor *t)
{
    return dense((int)t->rank, t->dims);
}

static dnnl_memory_desc_t any(const struct meta_tensor *t)
{
    dnnl_memory_desc_t md;
    check(dnnl_memory_desc_init_by_tag(&md, (int)t->rank, t->dims, dnnl_f32, dnnl_format_tag_any));
    return md;
}

struct argument {
    int number;
    dnnl_memory_desc_t md; /* of the data, row-major or turned */
    void *data;
    int out;
};

static void execute(dnnl_primitive_desc_t pd, int count, const dnnl_exec_arg_t *args)
{
    dnnl_primitive_t primitive;
    check(dnnl_primitive_create(&primitive, pd));
    check(dnnl_primitive_execute(primitive, stream, count, args));
    check(dnnl_stream_wait(stream));
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
}

static void reorder(dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *a, *b;
    dnnl_primitive_desc_t pd;
    check(dnnl_memory_get_memory_desc(from, &a));
    check(dnnl_memory_get_memory_desc(to, &b));
    check(dnnl_reorder_primitive_desc_create(&pd, a, engine, b, engine, NULL));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    execute(pd, 2, args);
}

/* The primitive on these arguments, each reordered where it wants another layout. */
static void run(dnnl_primitive_desc_t pd, dnnl_memory_t workspace, int count, struct argument *arguments)
{
    dnnl_exec_arg_t args[12];
    dnnl_memory_t user[12], own[12] = {0};
    int n = 0;
    for (int i = 0; i < count; i++) {
        struct argument *a = &arguments[i];
        const dnnl_memory_desc_t *wanted =
            dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, a->number);
        check(dnnl_memory_create(&user[i], &a->md, engine, a->data));
        if (wanted->ndims && !dnnl_memory_desc_equal(wanted, &a->md)) {
            check(dnnl_memory_create(&own[i], wanted, engine, DNNL_MEMORY_ALLOCATE));
            if (!a->out)
                reorder(user[i], own[i]);
        }
        args[n++] = (dnnl_exec_arg_t){a->number, own[i] ? own[i] : user[i]};
    }
    if (workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, workspace};
    execute(pd, n, args);
    for (int i = 0; i < count; i++) {
        if (arguments[i].out && own[i])
            reorder(own[i], user[i]);
        dnnl_memory_destroy(own[i]);
        dnnl_memory_destroy(user[i]);
    }
}

static dnnl_primitive_desc_t make(const_dnnl_op_desc_t op, dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_t pd;
    check(dnnl_primitive_desc_create(&pd, op, NULL, engine, hint));
    return pd;
}

/* A result like this tensor. */
static struct meta_tensor *add(struct meta_tensor *list, uint32_t *count, const struct meta_tensor *like)
{
    struct meta_tensor *made = &list[(*count)++];
    *made = *like;
    made->data = calloc(1, like->size + 1);
    return made;
}

static struct meta_tensor *output(const struct meta_case *c, struct meta_result *r)
{
    return add(r->outputs, &r->n_outputs, &c->upstream[0]);
}

static struct meta_tensor *gradient(const struct meta_case *c, struct meta_result *r, uint32_t input)
{
    return add(r->gradients, &r->n_gradients, &c->inputs[input]);
}

#define IN(number, tensor)                    \
    {                                         \
        number, of(tensor), (tensor)->data, 0 \
    }
#define OUT(number, tensor)                   \
    {                                         \
        number, of(tensor), (tensor)->data, 1 \
    }
#define RUN(pd, workspace, ...)                                                            \
    run(pd, workspace, sizeof((struct argument[]){__VA_ARGS__}) / sizeof(struct argument), \
        (struct argument[]){__VA_ARGS__})

static const struct {
    const char *name;
    dnnl_alg_kind_t kind;
    float alpha, beta;
} eltwises[] = {
    {"Abs", dnnl_eltwise_abs, 0, 0},
    {"Celu", dnnl_eltwise_elu, 1, 0},
    {"Clip", dnnl_eltwise_clip_v2, 0, 0.8F},
    {"Elu", dnnl_eltwise_elu, 2, 0},
    {"Exp", dnnl_eltwise_exp, 0, 0},
    {"Gelu", dnnl_eltwise_gelu_erf, 0, 0},
    {"HardSwish", dnnl_eltwise_hardswish, 0, 0},
    {"LeakyRelu", dnnl_eltwise_relu, 0.1F, 0},
    {"Log", dnnl_eltwise_log, 0, 0},
    {"Mish", dnnl_eltwise_mish, 0, 0},
    {"Neg", dnnl_eltwise_linear, -1, 0},
    {"Pow", dnnl_eltwise_pow, 1, 2.5F},
    {"Reciprocal", dnnl_eltwise_pow, 1, -1},
    {"Relu", dnnl_eltwise_relu, 0, 0},
    {"Round", dnnl_eltwise_round, 0, 0},
    {"Sigmoid", dnnl_eltwise_logistic, 0, 0},
    {"Softplus", dnnl_eltwise_soft_relu, 1, 0},
    {"Sqrt", dnnl_eltwise_sqrt, 0, 0},
    {"Tanh", dnnl_eltwise_tanh, 0, 0},
};

static int eltwise(const struct meta_case *c, struct meta_result *r)
{
    for (size_t i = 0; i < sizeof eltwises / sizeof *eltwises; i++) {
        if (strcmp(eltwises[i].name, c->name) != 0)
            continue;
        dnnl_memory_desc_t md = of(&c->inputs[0]);
        dnnl_eltwise_desc_t op;
        check(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_training, eltwises[i].kind, &md,
                                             eltwises[i].alpha, eltwises[i].beta));
        dnnl_primitive_desc_t forward = make(&op, NULL);
        if (eltwises[i].kind != dnnl_eltwise_round) {
            dnnl_eltwise_desc_t back;
            check(dnnl_eltwise_backward_desc_init(&back, eltwises[i].kind, &md, &md, eltwises[i].alpha,
                                                  eltwises[i].beta));
            struct meta_tensor *dx = gradient(c, r, 0);
            RUN(make(&back, forward), NULL, IN(DNNL_ARG_SRC, &c->inputs[0]),
                IN(DNNL_ARG_DIFF_DST, &c->upstream[0]), OUT(DNNL_ARG_DIFF_SRC, dx));
        }
        struct meta_tensor *y = output(c, r);
        RUN(forward, NULL, IN(DNNL_ARG_SRC, &c->inputs[0]), OUT(DNNL_ARG_DST, y));
        return 1;
    }
    return 0;
}

/* An operand with ones before its dims. */
static struct meta_tensor lifted(const struct meta_tensor *t, uint32_t rank)
{
    struct meta_tensor made = *t;
    for (uint32_t i = 0; i < rank; i++)
        made.dims[i] = i < rank - t->rank ? 1 : t->dims[i - (rank - t->rank)];
    made.rank = rank;
    return made;
}

static void combine(dnnl_alg_kind_t kind, const struct meta_tensor *a, const struct meta_tensor *b,
                    const struct meta_tensor *y)
{
    struct meta_tensor second = lifted(b, a->rank);
    dnnl_memory_desc_t ma = of(a), mb = of(&second), my = of(y);
    dnnl_binary_desc_t op;
    check(dnnl_binary_desc_init(&op, kind, &ma, &mb, &my));
    RUN(make(&op, NULL), NULL, IN(DNNL_ARG_SRC_0, a), IN(DNNL_ARG_SRC_1, &second), OUT(DNNL_ARG_DST, y));
}

static void reduce(dnnl_alg_kind_t kind, float p, const struct meta_tensor *x, const struct meta_tensor *y)
{
    dnnl_memory_desc_t mx = of(x), my = of(y);
    dnnl_reduction_desc_t op;
    check(dnnl_reduction_desc_init(&op, kind, &mx, &my, p, 0));
    RUN(make(&op, NULL), NULL, IN(DNNL_ARG_SRC, x), OUT(DNNL_ARG_DST, y));
}

static const struct {
    const char *name;
    dnnl_alg_kind_t kind;
} binaries[] = {
    {"Add", dnnl_binary_add}, {"Sub", dnnl_binary_sub}, {"Mul", dnnl_binary_mul},
    {"Div", dnnl_binary_div}, {"Max", dnnl_binary_max}, {"Min", dnnl_binary_min},
};

/* Gradients, of Add and Mul: products with the other operand, sums over what was repeated. */
static int binary(const struct meta_case *c, struct meta_result *r)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (strcmp(binaries[i].name, c->name) != 0)
            continue;
        const struct meta_tensor *g = &c->upstream[0];
        combine(binaries[i].kind, &c->inputs[0], &c->inputs[1], output(c, r));
        if (i != 0 && i != 2)
            return 1;
        struct meta_tensor *a = gradient(c, r, 0), *b = gradient(c, r, 1), term = *g;
        struct meta_tensor sums = lifted(b, g->rank);
        term.data = malloc(g->size + 1);
        memcpy(term.data, g->data, g->size);
        memcpy(a->data, g->data, g->size);
        if (i == 2) {
            combine(dnnl_binary_mul, g, &c->inputs[1], a);
            combine(dnnl_binary_mul, g, &c->inputs[0], &term);
        }
        reduce(dnnl_reduction_sum, 0, &term, &sums);
        free(term.data);
        return 1;
    }
    return 0;
}

static int softmax(const struct meta_case *c, struct meta_result *r)
{
    int logarithm = strcmp(c->name, "LogSoftmax") == 0;
    if (!logarithm && strcmp(c->name, "Softmax") != 0)
        return 0;
    dnnl_alg_kind_t kind = logarithm ? dnnl_softmax_log : dnnl_softmax_accurate;
    dnnl_memory_desc_t md = of(&c->inputs[0]);
    dnnl_softmax_v2_desc_t op, back;
    struct meta_tensor *y = output(c, r), *dx = gradient(c, r, 0);
    check(dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference, kind, &md, &md, 1));
    RUN(make(&op, NULL), NULL, IN(DNNL_ARG_SRC, &c->inputs[0]), OUT(DNNL_ARG_DST, y));
    check(dnnl_softmax_v2_backward_desc_init(&back, kind, &md, &md, &md, 1));
    RUN(make(&back, NULL), NULL, IN(DNNL_ARG_DST, y), IN(DNNL_ARG_DIFF_DST, &c->upstream[0]),
        OUT(DNNL_ARG_DIFF_SRC, dx));
    return 1;
}

static const struct {
    const char *name;
    dnnl_alg_kind_t kind;
    dnnl_dims_t kernel, strides, before, after;
} pools[] = {
    {"AveragePool", dnnl_pooling_avg_exclude_padding, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {"AveragePoolPads", dnnl_pooling_avg_exclude_padding, {3, 3}, {2, 2}, {1, 1}, {2, 2}},
    {"GlobalAveragePool", dnnl_pooling_avg_exclude_padding, {4, 5}, {1, 1}, {0, 0}, {0, 0}},
    {"GlobalMaxPool", dnnl_pooling_max, {4, 5}, {1, 1}, {0, 0}, {0, 0}},
    {"MaxPool", dnnl_pooling_max, {3, 3}, {2, 2}, {1, 1}, {0, 0}},
};

static int pooling(const struct meta_case *c, struct meta_result *r)
{
    const dnnl_dims_t none = {0, 0};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        if (strcmp(pools[i].name, c->name) != 0)
            continue;
        dnnl_memory_desc_t x = of(&c->inputs[0]), y = of(&c->upstream[0]);
        dnnl_pooling_v2_desc_t op, back;
        struct meta_tensor *out = output(c, r), *dx = gradient(c, r, 0);
        check(dnnl_pooling_v2_forward_desc_init(&op, dnnl_forward_training, pools[i].kind, &x, &y,
                                                pools[i].strides, pools[i].kernel, none, pools[i].before,
                                                pools[i].after));
        check(dnnl_pooling_v2_backward_desc_init(&back, pools[i].kind, &x, &y, pools[i].strides,
                                                 pools[i].kernel, none, pools[i].before, pools[i].after));
        dnnl_primitive_desc_t forward = make(&op, NULL), backward = make(&back, forward);
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(forward, dnnl_query_workspace_md, 0);
        dnnl_memory_t workspace = NULL;
        if (md && md->ndims)
            check(dnnl_memory_create(&workspace, md, engine, DNNL_MEMORY_ALLOCATE));
        RUN(forward, workspace, IN(DNNL_ARG_SRC, &c->inputs[0]), OUT(DNNL_ARG_DST, out));
        RUN(backward, workspace, IN(DNNL_ARG_DIFF_DST, &c->upstream[0]), OUT(DNNL_ARG_DIFF_SRC, dx));
        dnnl_memory_destroy(workspace);
        return 1;
    }
    return 0;
}

static int convolution(const struct meta_case *c, struct meta_result *r)
{
    int padded = strcmp(c->name, "Conv") == 0;
    if (!padded && strcmp(c->name, "ConvStrides") != 0)
        return 0;
    const dnnl_dims_t strides = {padded ? 1 : 2, padded ? 1 : 2}, pads = {padded, padded}, none = {0, 0};
    dnnl_memory_desc_t x = any(&c->inputs[0]), w = any(&c->inputs[1]), y = any(&c->upstream[0]), b;
    dnnl_convolution_desc_t op, data, weights;
    struct meta_tensor *out = output(c, r), *dx = gradient(c, r, 0), *dw = gradient(c, r, 1);
    struct meta_tensor *db = padded ? gradient(c, r, 2) : NULL;
    if (padded)
        b = of(&c->inputs[2]);
    check(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_auto, &x,
                                                     &w, padded ? &b : NULL, &y, strides, none, pads, pads));
    dnnl_primitive_desc_t forward = make(&op, NULL), training;
    op.prop_kind = dnnl_forward_training;
    training = make(&op, NULL); /* what backward takes as its hint */
    check(dnnl_dilated_convolution_backward_data_desc_init(&data, dnnl_convolution_direct, &x, &w, &y,
                                                           strides, none, pads, pads));
    check(dnnl_dilated_convolution_backward_weights_desc_init(
        &weights, dnnl_convolution_direct, &x, &w, padded ? &b : NULL, &y, strides, none, pads, pads));
    RUN(make(&data, training), NULL, IN(DNNL_ARG_DIFF_DST, &c->upstream[0]),
        IN(DNNL_ARG_WEIGHTS, &c->inputs[1]), OUT(DNNL_ARG_DIFF_SRC, dx));
    struct argument back[] = {IN(DNNL_ARG_SRC, &c->inputs[0]),
                              IN(DNNL_ARG_DIFF_DST, &c->upstream[0]),
                              OUT(DNNL_ARG_DIFF_WEIGHTS, dw),
                              {0}};
    struct argument ahead[] = {
        IN(DNNL_ARG_SRC, &c->inputs[0]), IN(DNNL_ARG_WEIGHTS, &c->inputs[1]), OUT(DNNL_ARG_DST, out), {0}};
    if (padded) {
        back[3] = (struct argument)OUT(DNNL_ARG_DIFF_BIAS, db);
        ahead[3] = (struct argument)IN(DNNL_ARG_BIAS, &c->inputs[2]);
    }
    run(make(&weights, training), NULL, 3 + padded, back);
    dnnl_primitive_desc_destroy(training);
    run(forward, NULL, 3 + padded, ahead);
    return 1;
}

static dnnl_memory_desc_t turned(const struct meta_tensor *t)
{
    dnnl_memory_desc_t md = of(t), made;
    const int swap[] = {1, 0};
    check(dnnl_memory_desc_permute_axes(&made, &md, swap));
    return made;
}

/* y = a b; the right operand in the library's layout. */
static void multiply(struct argument a, struct argument b, struct argument y)
{
    dnnl_memory_desc_t free_layout;
    dnnl_matmul_desc_t op;
    check(dnnl_memory_desc_init_by_tag(&free_layout, b.md.ndims, b.md.dims, dnnl_f32, dnnl_format_tag_any));
    check(dnnl_matmul_desc_init(&op, &a.md, &free_layout, NULL, &y.md));
    RUN(make(&op, NULL), NULL, a, b, y);
}

/* The vector as a row. */
static int product(const struct meta_case *c, struct meta_result *r)
{
    if (strcmp(c->name, "MatMulVector") != 0)
        return 0;
    struct meta_tensor *y = output(c, r), *dx = gradient(c, r, 0), *dw = gradient(c, r, 1);
    struct meta_tensor x = lifted(&c->inputs[0], 2), out = lifted(y, 2), g = lifted(&c->upstream[0], 2);
    struct meta_tensor row = lifted(dx, 2);
    const struct meta_tensor *w = &c->inputs[1];
    multiply((struct argument)IN(DNNL_ARG_SRC, &x), (struct argument)IN(DNNL_ARG_WEIGHTS, w),
             (struct argument)OUT(DNNL_ARG_DST, &out));
    multiply((struct argument)IN(DNNL_ARG_SRC, &g),
             (struct argument){DNNL_ARG_WEIGHTS, turned(w), w->data, 0},
             (struct argument)OUT(DNNL_ARG_DST, &row));
    multiply((struct argument){DNNL_ARG_SRC, turned(&x), x.data, 0},
             (struct argument)IN(DNNL_ARG_WEIGHTS, &g), (struct argument)OUT(DNNL_ARG_DST, dw));
    return 1;
}

static int normalization(const struct meta_case *c, struct meta_result *r)
{
    float mean[] = {0.5F, -1, 2}, variance[] = {1.5F, 0.5F, 2};
    const dnnl_dims_t three = {3};
    const unsigned flags = dnnl_use_scale | dnnl_use_shift | dnnl_use_global_stats;
    if (strcmp(c->name, "BatchNormalization") != 0)
        return 0;
    dnnl_memory_desc_t md = of(&c->inputs[0]), statistics = dense(1, three);
    dnnl_batch_normalization_desc_t op, back;
    struct meta_tensor *y = output(c, r), *dx = gradient(c, r, 0);
    struct meta_tensor *ds = gradient(c, r, 1), *db = gradient(c, r, 2);
    check(dnnl_batch_normalization_forward_desc_init(&op, dnnl_forward_training, &md, 1e-5F, flags));
    check(dnnl_batch_normalization_backward_desc_init(&back, dnnl_backward, &md, &md, 1e-5F, flags));
    dnnl_primitive_desc_t forward = make(&op, NULL);
    struct argument m = {DNNL_ARG_MEAN, statistics, mean, 0},
                    v = {DNNL_ARG_VARIANCE, statistics, variance, 0};
    RUN(make(&back, forward), NULL, IN(DNNL_ARG_SRC, &c->inputs[0]), m, v, IN(DNNL_ARG_SCALE, &c->inputs[1]),
        IN(DNNL_ARG_SHIFT, &c->inputs[2]), IN(DNNL_ARG_DIFF_DST, &c->upstream[0]), OUT(DNNL_ARG_DIFF_SRC, dx),
        OUT(DNNL_ARG_DIFF_SCALE, ds), OUT(DNNL_ARG_DIFF_SHIFT, db));
    RUN(forward, NULL, IN(DNNL_ARG_SRC, &c->inputs[0]), m, v, IN(DNNL_ARG_SCALE, &c->inputs[1]),
        IN(DNNL_ARG_SHIFT, &c->inputs[2]), OUT(DNNL_ARG_DST, y));
    return 1;
}

static const struct {
    const char *name;
    dnnl_alg_kind_t kind;
    float p;
} reductions[] = {
    {"ReduceL1", dnnl_reduction_norm_lp_power_p_sum, 1},
    {"ReduceL2", dnnl_reduction_norm_lp_sum, 2},
    {"ReduceMax", dnnl_reduction_max, 0},
    {"ReduceMin", dnnl_reduction_min, 0},
    {"ReduceProd", dnnl_reduction_mul, 0},
    {"ReduceSum", dnnl_reduction_sum, 0},
    {"ReduceSumSquare", dnnl_reduction_norm_lp_power_p_sum, 2},
};

static int reduction(const struct meta_case *c, struct meta_result *r)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(reductions[i].name, c->name) == 0) {
            reduce(reductions[i].kind, reductions[i].p, &c->inputs[0], output(c, r));
            return 1;
        }
    return 0;
}

static void call(const struct meta_case *c, struct meta_result *r)
{
    if (!eltwise(c, r) && !binary(c, r) && !softmax(c, r) && !pooling(c, r) && !convolution(c, r) &&
        !product(c, r) && !normalization(c, r))
        reduction(c, r);
}

int main(int argc, char **argv)
{
    setenv("OMP_NUM_THREADS", "1", 1);
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    return meta_main(argc, argv, call);
}
