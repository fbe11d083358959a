/*
 * oneDNN: a library of operators, on the graph walker. One thread (the adapter sets OMP_NUM_THREADS before
 * the library reads it). Every primitive is made for the node's shapes, run and freed.
 */
#include "onednn.h"

#include <stdlib.h>
#include <string.h>

enum {
    F32 = 1 << DTYPE_FLOAT,
    FLOATS = 1 << DTYPE_FLOAT | 1 << DTYPE_BFLOAT16,
    BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8,
    MOVED = FLOATS | BYTES | 1 << DTYPE_INT32 | 1 << DTYPE_BOOL,
};

/* Ranks are what the library's primitives take. */
static const struct walk_row rows[] = {
    {"Abs", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_abs},
    {"Add", run_binary, FLOATS, 0, 12, dnnl_binary_add},
    {"AveragePool", run_pool, FLOATS, 3, 5, dnnl_pooling_avg_exclude_padding},
    {"BatchNormalization", run_batchnorm, FLOATS, 2, 5, 0},
    {"Cast", run_cast, MOVED, 0, 12, 0},
    {"Celu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_elu},
    {"Clip", run_clip, FLOATS, 0, 12, 0},
    {"Concat", run_concat, MOVED, 1, 12, 0},
    {"Conv", run_conv, FLOATS, 3, 5, 0},
    {"ConvTranspose", run_conv, FLOATS, 3, 5, 1},
    {"DepthToSpace", run_depth_to_space, MOVED, 4, 4, 0},
    {"Div", run_binary, FLOATS, 0, 12, dnnl_binary_div},
    {"Elu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_elu},
    {"Equal", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_eq},
    {"Exp", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_exp},
    {"GRU", run_recurrent, F32, 3, 3, dnnl_vanilla_gru},
    {"Gelu", run_gelu, FLOATS, 0, 12, 0},
    {"Gemm", run_gemm, F32, 2, 2, 0},
    {"GlobalAveragePool", run_global_pool, FLOATS, 3, 5, dnnl_pooling_avg_exclude_padding},
    {"GlobalMaxPool", run_global_pool, FLOATS, 3, 5, dnnl_pooling_max},
    {"Greater", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_gt},
    {"GreaterOrEqual", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_ge},
    {"GroupNormalization", run_instancenorm, FLOATS, 3, 12, 1},
    {"HardSigmoid", run_hard_sigmoid, F32, 0, 12, 0},
    {"HardSwish", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_hardswish},
    {"InstanceNormalization", run_instancenorm, FLOATS, 3, 12, 0},
    {"LRN", run_lrn, FLOATS, 3, 5, 0},
    {"LSTM", run_recurrent, F32, 3, 3, dnnl_vanilla_lstm},
    {"LayerNormalization", run_layernorm, FLOATS, 1, 12, 0},
    {"LeakyRelu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_relu},
    {"Less", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_lt},
    {"LessOrEqual", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_le},
    {"Log", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_log},
    {"LogSoftmax", run_softmax, FLOATS, 1, 12, 1},
    {"MatMul", run_matmul, FLOATS, 1, 12, 0},
    {"Max", run_variadic, FLOATS | BYTES, 0, 12, dnnl_binary_max},
    {"MaxPool", run_pool, FLOATS | BYTES, 3, 5, dnnl_pooling_max},
    {"Mean", run_mean, F32, 0, 12, 0},
    {"Min", run_variadic, FLOATS | BYTES, 0, 12, dnnl_binary_min},
    {"Mish", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_mish},
    {"Mul", run_binary, FLOATS, 0, 12, dnnl_binary_mul},
    {"Neg", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_linear},
    {"PRelu", run_prelu, FLOATS, 1, 5, 0},
    {"Pow", run_pow, FLOATS, 0, 12, 0},
    {"RNN", run_recurrent, F32, 3, 3, dnnl_vanilla_rnn},
    {"Reciprocal", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_pow},
    {"ReduceL1", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_power_p_sum},
    {"ReduceL2", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_sum},
    {"ReduceLogSum", run_reduction, F32, 1, 12, dnnl_reduction_sum},
    {"ReduceMax", run_reduction, FLOATS | BYTES, 1, 12, dnnl_reduction_max},
    {"ReduceMean", run_reduction, FLOATS, 1, 12, dnnl_reduction_mean},
    {"ReduceMin", run_reduction, FLOATS | BYTES, 1, 12, dnnl_reduction_min},
    {"ReduceProd", run_reduction, FLOATS, 1, 12, dnnl_reduction_mul},
    {"ReduceSum", run_reduction, FLOATS, 1, 12, dnnl_reduction_sum},
    {"ReduceSumSquare", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_power_p_sum},
    {"Relu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_relu},
    {"Resize", run_resize, FLOATS, 3, 5, 0},
    {"Round", run_eltwise, F32, 0, 12, dnnl_eltwise_round},
    {"Selu", run_selu, F32, 0, 12, 0},
    {"Sigmoid", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_logistic},
    {"Softmax", run_softmax, FLOATS, 1, 12, 0},
    {"Softplus", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_soft_relu},
    {"SpaceToDepth", run_space_to_depth, MOVED, 4, 4, 0},
    {"Sqrt", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_sqrt},
    {"Sub", run_binary, FLOATS, 0, 12, dnnl_binary_sub},
    {"Sum", run_variadic, FLOATS, 0, 12, dnnl_binary_add},
    {"Tanh", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_tanh},
    {"Transpose", run_transpose, MOVED, 0, 12, 0},
    {NULL},
};

static const struct adapter_knob knobs[] = {
    {.name = "isa",
     .values = "all|sse41|avx|avx2|avx2_vnni|avx512_core|avx512_core_vnni|avx512_core_bf16|avx512_core_amx",
     .value = "all",
     .help = "the largest instruction set that kernels may use",
     .kind = KNOB_KERNELS},
    {.name = "impl",
     .values = "NUMBER|NAME",
     .value = "0",
     .help = "which implementation of each primitive: by number, or part of its name",
     .kind = KNOB_KERNELS},
    {.name = "layout",
     .values = "any|plain|nhwc",
     .value = "any",
     .help = "memory layouts: the library's choice, row-major, channels last",
     .kind = KNOB_KERNELS},
    {0},
};

static int read_layout(const char *name, enum layout *layout)
{
    static const char *const names[] = {"any", "plain", "nhwc"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *layout = (enum layout)i;
            return 0;
        }
    return -1;
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct error err = {0};
    enum layout layout;
    struct library *library = NULL;
    setenv("OMP_NUM_THREADS", "1", 1);
    if (read_layout(adapter_knob(call->adapter, "layout"), &layout))
        return adapter_fail(call, ADAPTER_REJECTED, "layout is any, plain or nhwc");
    int result = library_open(&library, adapter_knob(call->adapter, "isa"),
                              adapter_knob(call->adapter, "impl"), layout, version, &err);
    *engine = library;
    return result ? adapter_fail(call, ADAPTER_REJECTED, "%s", err.message) : 0;
}

static void stop(void *engine)
{
    library_close(engine);
}

int main(int argc, char **argv)
{
    struct walk_library library = {
        .name = "onednn",
        .rows = rows,
        .knobs = knobs,
        .start = start,
        .stop = stop,
    };
    return walker_main(&library, argc, argv);
}
