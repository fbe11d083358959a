/*
 * ggml, the tensor library of llama.cpp, on the graph walker: each node becomes a graph of its own, which the
 * processor's backend computes. The releases are those of the npm package @node-llama-cpp/linux-x64; the
 * library is opened with dlopen, so that one adapter serves them all.
 */
#include "library.h"
#include "ops.h"

enum { F32 = 1 << DTYPE_FLOAT, FLOATS = F32 | 1 << DTYPE_FLOAT16, MOVED = FLOATS | 1 << DTYPE_INT32 };

/* ggml's tensors have up to four dims. */
static const struct walk_row rows[] = {
    {"Abs", run_unary, FLOATS, 0, 4, UNARY_ABS},
    {"Add", run_binary, FLOATS, 0, 4, BINARY_ADD},
    {"ArgMax", run_argmax, F32, 1, 4, 0},
    {"Attention", run_attention, F32, 3, 4, 0},
    {"AveragePool", run_pool, F32, 3, 4, POOL_AVERAGE},
    {"BatchNormalization", run_batch_norm, F32, 1, 4, 0},
    {"Ceil", run_unary, FLOATS, 0, 4, UNARY_CEIL},
    {"Clip", run_clip, FLOATS, 0, 4, 0},
    {"Concat", run_concat, MOVED, 1, 4, 0},
    {"Conv", run_conv, F32, 3, 4, 0},
    {"ConvTranspose", run_conv_transpose, F32, 3, 4, 0},
    {"Cos", run_unary, FLOATS, 0, 4, UNARY_COS},
    {"CumSum", run_cumsum, F32, 1, 4, 0},
    {"Div", run_binary, FLOATS, 0, 4, BINARY_DIV},
    {"Elu", run_elu, FLOATS, 0, 4, UNARY_ELU},
    {"Exp", run_unary, FLOATS, 0, 4, UNARY_EXP},
    {"Expand", run_repeat, MOVED, 0, 4, 0},
    {"Floor", run_unary, FLOATS, 0, 4, UNARY_FLOOR},
    {"Gather", run_gather, F32 | 1 << DTYPE_INT32, 1, 4, 0},
    {"Gelu", run_gelu, FLOATS, 0, 4, 0},
    {"Gemm", run_gemm, F32, 2, 2, 0},
    {"GlobalAveragePool", run_global_pool, F32, 3, 4, POOL_AVERAGE},
    {"GlobalMaxPool", run_global_pool, F32, 3, 4, POOL_MAX},
    {"GroupNormalization", run_group_norm, F32, 3, 4, 0},
    {"HardSigmoid", run_hard_sigmoid, FLOATS, 0, 4, UNARY_HARDSIGMOID},
    {"HardSwish", run_unary, FLOATS, 0, 4, UNARY_HARDSWISH},
    {"InstanceNormalization", run_group_norm, F32, 3, 4, 0},
    {"LayerNormalization", run_row_norm, F32, 1, 4, NORM_CENTRED},
    {"LeakyRelu", run_leaky_relu, FLOATS, 0, 4, 0},
    {"Log", run_unary, FLOATS, 0, 4, UNARY_LOG},
    {"LpNormalization", run_lp_normalization, F32, 1, 4, 0},
    {"MatMul", run_matmul, F32, 1, 4, 0},
    {"MaxPool", run_pool, F32, 3, 4, POOL_MAX},
    {"Mul", run_binary, FLOATS, 0, 4, BINARY_MUL},
    {"Neg", run_unary, FLOATS, 0, 4, UNARY_NEG},
    {"Pad", run_pad, F32, 1, 4, 0},
    {"Pow", run_pow, FLOATS, 0, 4, UNARY_SQR},
    {"RMSNormalization", run_row_norm, F32, 1, 4, NORM_RMS},
    {"ReduceMean", run_reduce, F32, 1, 4, REDUCE_MEAN},
    {"ReduceSum", run_reduce, F32, 1, 4, REDUCE_SUM},
    {"ReduceSumSquare", run_reduce, F32, 1, 4, REDUCE_SQUARES},
    {"Relu", run_unary, FLOATS, 0, 4, UNARY_RELU},
    {"Resize", run_resize, F32, 4, 4, 0},
    {"Sigmoid", run_unary, FLOATS, 0, 4, UNARY_SIGMOID},
    {"Sign", run_unary, FLOATS, 0, 4, UNARY_SGN},
    {"Sin", run_unary, FLOATS, 0, 4, UNARY_SIN},
    {"Slice", run_slice, MOVED, 1, 4, 0},
    {"Softmax", run_softmax, F32, 1, 4, 0},
    {"Softplus", run_unary, FLOATS, 0, 4, UNARY_SOFTPLUS},
    {"Split", run_split, MOVED, 1, 4, 0},
    {"Sqrt", run_unary, FLOATS, 0, 4, UNARY_SQRT},
    {"Sub", run_binary, FLOATS, 0, 4, BINARY_SUB},
    {"Sum", run_binary, FLOATS, 0, 4, BINARY_ADD},
    {"Swish", run_swish, FLOATS, 0, 4, UNARY_SILU},
    {"Tanh", run_unary, FLOATS, 0, 4, UNARY_TANH},
    {"Tile", run_repeat, MOVED, 1, 4, 0},
    {"TopK", run_top_k, F32, 1, 4, 0},
    {"Transpose", run_transpose, MOVED, 0, 4, 0},
    {"Trilu", run_trilu, F32, 2, 4, 0},
    {NULL},
};

static const struct adapter_knob knobs[] = {
    {.name = "cpu",
     .values = library_levels,
     .value = "best",
     .help = "the level of the processor whose kernels are loaded",
     .kind = KNOB_KERNELS},
    {.name = "weights",
     .values = "f32|f16|bf16|q8_0|q5_0|q4_0",
     .value = "f32",
     .help = "the type of the second operand of products; only values that it holds are taken",
     .kind = KNOB_KERNELS},
    {.name = "conv",
     .values = "auto|direct|im2col|conv_2d",
     .value = "auto",
     .help = "how Conv is computed; auto: direct where the release has it, else im2col",
     .kind = KNOB_KERNELS},
    {.name = "threads", .values = "1..256", .value = "1", .help = "number of threads", .kind = KNOB_SCHEDULE},
    {0},
};

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct library *library;
    if (library_open(call, &library, version))
        return -1;
    *engine = library;
    return 0;
}

static void stop(void *engine)
{
    library_close(engine);
}

int main(int argc, char **argv)
{
    struct walk_library library = {
        .name = "ggml", .rows = rows, .knobs = knobs, .start = start, .stop = stop};
    return walker_main(&library, argc, argv);
}
