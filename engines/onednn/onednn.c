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
    {"Abs", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_abs, grad_eltwise},
    {"Add", run_binary, FLOATS, 0, 12, dnnl_binary_add, grad_binary},
    {"AveragePool", run_pool, FLOATS, 3, 5, dnnl_pooling_avg_exclude_padding, grad_pool},
    {"BatchNormalization", run_batchnorm, FLOATS, 2, 5, 0, grad_batchnorm},
    {"Cast", run_cast, MOVED, 0, 12, 0, grad_cast},
    {"Celu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_elu, grad_eltwise},
    {"Clip", run_clip, FLOATS, 0, 12, 0, grad_clip},
    {"Concat", run_concat, MOVED, 1, 12, 0, grad_concat},
    {"Conv", run_conv, FLOATS, 3, 5, 0, grad_conv},
    {"ConvTranspose", run_conv, FLOATS, 3, 5, 1, grad_conv},
    {"DepthToSpace", run_depth_to_space, MOVED, 4, 4, 0, grad_depth_to_space},
    {"Div", run_binary, FLOATS, 0, 12, dnnl_binary_div, grad_binary},
    {"Elu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_elu, grad_eltwise},
    {"Equal", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_eq, NULL},
    {"Exp", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_exp, grad_eltwise},
    {"GRU", run_recurrent, F32, 3, 3, dnnl_vanilla_gru, NULL},
    {"Gelu", run_gelu, FLOATS, 0, 12, 0, grad_gelu},
    {"Gemm", run_gemm, F32, 2, 2, 0, grad_gemm},
    {"GlobalAveragePool", run_global_pool, FLOATS, 3, 5, dnnl_pooling_avg_exclude_padding, grad_global_pool},
    {"GlobalMaxPool", run_global_pool, FLOATS, 3, 5, dnnl_pooling_max, grad_global_pool},
    {"Greater", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_gt, NULL},
    {"GreaterOrEqual", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_ge, NULL},
    {"GroupNormalization", run_instancenorm, FLOATS, 3, 12, 1, grad_instancenorm},
    {"HardSigmoid", run_hard_sigmoid, F32, 0, 12, 0, grad_hard_sigmoid},
    {"HardSwish", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_hardswish, grad_eltwise},
    {"InstanceNormalization", run_instancenorm, FLOATS, 3, 12, 0, grad_instancenorm},
    {"LRN", run_lrn, FLOATS, 3, 5, 0, grad_lrn},
    {"LSTM", run_recurrent, F32, 3, 3, dnnl_vanilla_lstm, NULL},
    {"LayerNormalization", run_layernorm, FLOATS, 1, 12, 0, grad_layernorm},
    {"LeakyRelu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_relu, grad_eltwise},
    {"Less", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_lt, NULL},
    {"LessOrEqual", run_binary, FLOATS | BYTES, 0, 12, dnnl_binary_le, NULL},
    {"Log", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_log, grad_eltwise},
    {"LogSoftmax", run_softmax, FLOATS, 1, 12, 1, grad_softmax},
    {"MatMul", run_matmul, FLOATS, 1, 12, 0, grad_matmul},
    {"Max", run_variadic, FLOATS | BYTES, 0, 12, dnnl_binary_max, grad_variadic},
    {"MaxPool", run_pool, FLOATS | BYTES, 3, 5, dnnl_pooling_max, grad_pool},
    {"Mean", run_mean, F32, 0, 12, 0, grad_mean},
    {"Min", run_variadic, FLOATS | BYTES, 0, 12, dnnl_binary_min, grad_variadic},
    {"Mish", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_mish, grad_eltwise},
    {"Mul", run_binary, FLOATS, 0, 12, dnnl_binary_mul, grad_binary},
    {"Neg", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_linear, grad_eltwise},
    {"PRelu", run_prelu, FLOATS, 1, 5, 0, grad_prelu},
    {"Pow", run_pow, FLOATS, 0, 12, 0, grad_pow},
    {"RNN", run_recurrent, F32, 3, 3, dnnl_vanilla_rnn, NULL},
    {"Reciprocal", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_pow, grad_eltwise},
    {"ReduceL1", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_power_p_sum, grad_reduction},
    {"ReduceL2", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_sum, grad_reduction},
    {"ReduceLogSum", run_reduction, F32, 1, 12, dnnl_reduction_sum, grad_reduction},
    {"ReduceMax", run_reduction, FLOATS | BYTES, 1, 12, dnnl_reduction_max, grad_reduction},
    {"ReduceMean", run_reduction, FLOATS, 1, 12, dnnl_reduction_mean, grad_reduction},
    {"ReduceMin", run_reduction, FLOATS | BYTES, 1, 12, dnnl_reduction_min, grad_reduction},
    {"ReduceProd", run_reduction, FLOATS, 1, 12, dnnl_reduction_mul, grad_reduction},
    {"ReduceSum", run_reduction, FLOATS, 1, 12, dnnl_reduction_sum, grad_reduction},
    {"ReduceSumSquare", run_reduction, FLOATS, 1, 12, dnnl_reduction_norm_lp_power_p_sum, grad_reduction},
    {"Relu", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_relu, grad_eltwise},
    {"Resize", run_resize, FLOATS, 3, 5, 0, grad_resize},
    {"Round", run_eltwise, F32, 0, 12, dnnl_eltwise_round, NULL},
    {"Selu", run_selu, F32, 0, 12, 0, grad_selu},
    {"Sigmoid", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_logistic, grad_eltwise},
    {"Softmax", run_softmax, FLOATS, 1, 12, 0, grad_softmax},
    {"Softplus", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_soft_relu, grad_eltwise},
    {"SpaceToDepth", run_space_to_depth, MOVED, 4, 4, 0, grad_space_to_depth},
    {"Sqrt", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_sqrt, grad_eltwise},
    {"Sub", run_binary, FLOATS, 0, 12, dnnl_binary_sub, grad_binary},
    {"Sum", run_variadic, FLOATS, 0, 12, dnnl_binary_add, grad_variadic},
    {"Tanh", run_eltwise, FLOATS, 0, 12, dnnl_eltwise_tanh, grad_eltwise},
    {"Transpose", run_transpose, MOVED, 0, 12, 0, grad_transpose},
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

static void tell(void *call, const char *kernel)
{
    adapter_trace_kernel(call, kernel, NULL, NULL);
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
    if (library)
        library_tell(library, tell, call);
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
