/*
 * XNNPACK through its subgraph API, on the graph walker: each node becomes a subgraph of its own. One thread:
 * no thread pool is given.
 */
#include "xnnpack.h"

enum { F32 = 1 << DTYPE_FLOAT };

/* Ranks are what the library's operators take. */
static const struct walk_row rows[] = {
    {"Abs", run_unary, F32, 0, 6, UNARY_ABS},
    {"Add", run_binary, F32, 0, 6, BINARY_ADD},
    {"AveragePool", run_average_pool, F32, 3, 4, 0},
    {"Ceil", run_unary, F32, 0, 6, UNARY_CEIL},
    {"Clip", run_clip, F32, 0, 6, 0},
    {"Conv", run_conv, F32, 3, 4, 0},
    {"ConvTranspose", run_conv_transpose, F32, 3, 4, 0},
    {"DepthToSpace", run_depth_to_space, F32, 4, 4, 0},
    {"Div", run_binary, F32, 0, 6, BINARY_DIV},
    {"Elu", run_elu, F32, 0, 6, 0},
    {"Flatten", run_reshape, F32, 0, 6, 0},
    {"Floor", run_unary, F32, 0, 6, UNARY_FLOOR},
    {"Gemm", run_gemm, F32, 2, 2, 0},
    {"GlobalAveragePool", run_global_average_pool, F32, 3, 4, 0},
    {"GlobalMaxPool", run_global_max_pool, F32, 3, 4, 0},
    {"HardSigmoid", run_hard_sigmoid, F32, 0, 6, 0},
    {"HardSwish", run_unary, F32, 0, 6, UNARY_HARD_SWISH},
    {"LeakyRelu", run_leaky_relu, F32, 0, 6, 0},
    {"MatMul", run_matmul, F32, 1, 6, 0},
    {"Max", run_variadic, F32, 0, 6, BINARY_MAX},
    {"MaxPool", run_max_pool, F32, 3, 4, 0},
    {"Min", run_variadic, F32, 0, 6, BINARY_MIN},
    {"Mul", run_binary, F32, 0, 6, BINARY_MUL},
    {"Neg", run_unary, F32, 0, 6, UNARY_NEG},
    {"PRelu", run_prelu, F32, 3, 4, 0},
    {"Pad", run_pad, F32, 1, 6, 0},
    {"Pow", run_pow, F32, 0, 6, 0},
    {"Reciprocal", run_reciprocal, F32, 0, 6, 0},
    {"ReduceMean", run_reduce_mean, F32, 4, 4, 0},
    {"Relu", run_clip, F32, 0, 6, 1},
    {"Reshape", run_reshape, F32, 0, 6, 0},
    {"Resize", run_resize, F32, 4, 4, 0},
    {"Round", run_unary, F32, 0, 6, UNARY_ROUND},
    {"Sigmoid", run_unary, F32, 0, 6, UNARY_SIGMOID},
    {"Softmax", run_softmax, F32, 1, 6, 0},
    {"Sqrt", run_unary, F32, 0, 6, UNARY_SQRT},
    {"Squeeze", run_reshape, F32, 0, 6, 0},
    {"Sub", run_binary, F32, 0, 6, BINARY_SUB},
    {"Sum", run_variadic, F32, 0, 6, BINARY_ADD},
    {"Unsqueeze", run_reshape, F32, 0, 6, 0},
    {NULL},
};

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    (void)engine;
    /* The library has no version of its own to ask for; Debian names it by the date of its sources. */
    str_add(version, XNNPACK_VERSION);
    if (xnn_initialize(NULL) != xnn_status_success)
        return adapter_fail(call, ADAPTER_FAILED, "XNNPACK does not start on this processor");
    return 0;
}

static void stop(void *engine)
{
    (void)engine;
    xnn_deinitialize();
}

int main(int argc, char **argv)
{
    struct walk_library library = {
        .name = "xnnpack",
        .rows = rows,
        .start = start,
        .stop = stop,
    };
    return walker_main(&library, argc, argv);
}
