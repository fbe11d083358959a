/*
 * TensorFlow Lite through its C interface, on the graph walker: each node becomes a model of its own, which
 * the adapter writes in the library's format.
 */
#include "tflite.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    F32 = 1 << DTYPE_FLOAT,
    I8 = 1 << DTYPE_INT8,
    U8 = 1 << DTYPE_UINT8,
    I32 = 1 << DTYPE_INT32,
    I64 = 1 << DTYPE_INT64,
    BOOLS = 1 << DTYPE_BOOL,
    NUMBERS = F32 | I32 | I64,
    /* What is moved is not computed with. */
    MOVED = NUMBERS | I8 | U8 | 1 << DTYPE_INT16 | BOOLS,
    CAST = MOVED | 1 << DTYPE_FLOAT16 | 1 << DTYPE_DOUBLE | 1 << DTYPE_UINT16 | 1 << DTYPE_UINT32
};

/* Ranks are what the library's operators take. */
static const struct walk_row rows[] = {
    {"Abs", run_unary, F32 | I32, 0, 8, OP_ABS, NULL},
    {"Add", run_binary, NUMBERS, 0, 6, OP_ADD, NULL},
    {"And", run_binary, BOOLS, 0, 6, OP_LOGICAL_AND, NULL},
    {"ArgMax", run_arg, F32 | I32, 1, 8, OP_ARG_MAX, NULL},
    {"ArgMin", run_arg, F32 | I32, 1, 8, OP_ARG_MIN, NULL},
    {"AveragePool", run_average_pool, F32, 3, 4, 0, NULL},
    {"BitwiseXor", run_binary, I32 | I8 | U8 | 1 << DTYPE_INT16, 0, 6, OP_BITWISE_XOR, NULL},
    {"Cast", run_cast, CAST, 0, 8, 0, NULL},
    {"Ceil", run_unary, F32, 0, 8, OP_CEIL, NULL},
    {"Clip", run_clip, NUMBERS, 0, 8, 0, NULL},
    {"Concat", run_concat, MOVED, 1, 6, 0, NULL},
    {"Conv", run_conv, F32, 3, 5, 0, NULL},
    {"ConvTranspose", run_conv_transpose, F32, 3, 4, 0, NULL},
    {"Cos", run_unary, F32, 0, 8, OP_COS, NULL},
    {"CumSum", run_cumsum, NUMBERS, 1, 8, 0, NULL},
    {"DepthToSpace", run_depth_to_space, MOVED, 4, 4, 0, NULL},
    {"DequantizeLinear", run_dequantize, I8 | U8, 0, 6, 0, NULL},
    {"Div", run_binary, F32 | I32, 0, 6, OP_DIV, NULL},
    {"Elu", run_elu, F32, 0, 8, OP_ELU, NULL},
    {"Equal", run_binary, NUMBERS | BOOLS, 0, 6, OP_EQUAL, NULL},
    {"Exp", run_unary, F32, 0, 8, OP_EXP, NULL},
    {"Expand", run_expand, MOVED, 0, 8, 0, NULL},
    {"Flatten", run_reshape, MOVED, 0, 8, 0, NULL},
    {"Floor", run_unary, F32, 0, 8, OP_FLOOR, NULL},
    {"Gather", run_gather, MOVED, 1, 6, 0, NULL},
    {"GatherND", run_gather_nd, MOVED, 1, 6, 0, NULL},
    {"Gelu", run_gelu, F32, 0, 8, 0, NULL},
    {"Gemm", run_gemm, F32, 2, 2, 0, NULL},
    {"GlobalAveragePool", run_global_pool, F32, 3, 5, OP_MEAN, NULL},
    {"GlobalMaxPool", run_global_pool, F32, 3, 5, OP_REDUCE_MAX, NULL},
    {"Greater", run_binary, NUMBERS, 0, 6, OP_GREATER, NULL},
    {"GreaterOrEqual", run_binary, NUMBERS, 0, 6, OP_GREATER_EQUAL, NULL},
    {"HardSwish", run_unary, F32, 0, 8, OP_HARD_SWISH, NULL},
    {"LRN", run_lrn, F32, 4, 4, 0, NULL},
    {"LeakyRelu", run_leaky_relu, F32, 0, 8, 0, NULL},
    {"Less", run_binary, NUMBERS, 0, 6, OP_LESS, NULL},
    {"LessOrEqual", run_binary, NUMBERS, 0, 6, OP_LESS_EQUAL, NULL},
    {"Log", run_unary, F32, 0, 8, OP_LOG, NULL},
    {"LogSoftmax", run_softmax, F32, 1, 8, OP_LOG_SOFTMAX, NULL},
    {"MatMul", run_matmul, F32, 1, 5, 0, NULL},
    {"Max", run_variadic, NUMBERS, 0, 4, OP_MAXIMUM, NULL},
    {"MaxPool", run_max_pool, F32, 3, 4, 0, NULL},
    {"Mean", run_mean, F32, 0, 6, OP_ADD, NULL},
    {"Min", run_variadic, NUMBERS, 0, 4, OP_MINIMUM, NULL},
    {"Mod", run_mod, I32 | I64, 0, 6, OP_FLOOR_MOD, NULL},
    {"Mul", run_binary, NUMBERS, 0, 6, OP_MUL, NULL},
    {"Neg", run_unary, NUMBERS, 0, 8, OP_NEG, NULL},
    {"Not", run_unary, BOOLS, 0, 8, OP_LOGICAL_NOT, NULL},
    {"OneHot", run_one_hot, I32 | I64, 0, 5, 0, NULL},
    {"Or", run_binary, BOOLS, 0, 6, OP_LOGICAL_OR, NULL},
    {"PRelu", run_prelu, F32, 0, 4, 0, NULL},
    {"Pad", run_pad, NUMBERS | I8 | U8, 1, 5, 0, NULL},
    {"Pow", run_binary, F32 | I32, 0, 6, OP_POW, NULL},
    {"QLinearConv", run_qlinear_conv, I8 | U8, 3, 4, 0, NULL},
    {"QLinearMatMul", run_qlinear_matmul, I8 | U8, 1, 6, 0, NULL},
    {"QuantizeLinear", run_quantize, F32, 0, 6, 0, NULL},
    {"Reciprocal", run_reciprocal, F32, 0, 4, 0, NULL},
    {"ReduceL1", run_reduce_l1, F32, 1, 6, 0, NULL},
    {"ReduceL2", run_reduce_of_squares, F32, 1, 6, 1, NULL},
    {"ReduceMax", run_reduce, NUMBERS | I8 | U8, 1, 6, OP_REDUCE_MAX, NULL},
    {"ReduceMean", run_reduce, F32, 1, 6, OP_MEAN, NULL},
    {"ReduceMin", run_reduce, NUMBERS | I8 | U8, 1, 6, OP_REDUCE_MIN, NULL},
    {"ReduceProd", run_reduce, NUMBERS, 1, 6, OP_REDUCE_PROD, NULL},
    {"ReduceSum", run_reduce, NUMBERS, 1, 6, OP_SUM, NULL},
    {"ReduceSumSquare", run_reduce_of_squares, F32, 1, 6, 0, NULL},
    {"Relu", run_unary, F32, 0, 8, OP_RELU, NULL},
    {"Reshape", run_reshape, MOVED, 0, 8, 0, NULL},
    {"Resize", run_resize, F32 | I8 | U8, 4, 4, 0, NULL},
    {"ReverseSequence", run_reverse_sequence, MOVED, 2, 6, 0, NULL},
    {"Round", run_unary, F32, 0, 8, OP_ROUND, NULL},
    {"Sigmoid", run_unary, F32, 0, 8, OP_LOGISTIC, NULL},
    {"Sign", run_unary, F32, 0, 8, OP_SIGN, NULL},
    {"Sin", run_unary, F32, 0, 8, OP_SIN, NULL},
    {"Slice", run_slice, MOVED, 1, 5, 0, NULL},
    {"Softmax", run_softmax, F32, 1, 8, OP_SOFTMAX, NULL},
    {"SpaceToDepth", run_space_to_depth, MOVED, 4, 4, 0, NULL},
    {"Split", run_split, MOVED, 1, 6, 0, NULL},
    {"Sqrt", run_unary, F32, 0, 8, OP_SQRT, NULL},
    {"Squeeze", run_reshape, MOVED, 0, 8, 0, NULL},
    {"Sub", run_binary, NUMBERS, 0, 6, OP_SUB, NULL},
    {"Sum", run_variadic, F32, 0, 6, OP_ADD, NULL},
    {"Tanh", run_unary, F32, 0, 8, OP_TANH, NULL},
    {"Tile", run_tile, MOVED, 1, 8, 0, NULL},
    {"TopK", run_topk, NUMBERS, 1, 6, 0, NULL},
    {"Transpose", run_transpose, MOVED, 1, 6, 0, NULL},
    {"Unsqueeze", run_reshape, MOVED, 0, 8, 0, NULL},
    {"Where", run_where, BOOLS, 0, 6, 0, NULL},
    {"Xor", run_binary, BOOLS, 0, 6, OP_NOT_EQUAL, NULL},
    {NULL, NULL, 0, 0, 0, 0, NULL},
};

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct library *library = memory_zeroed(1, sizeof *library);
    *engine = library;
    if (library_open(call, library))
        return -1;
    str_add(version, library->TfLiteVersion());
    return 0;
}

static void stop(void *engine)
{
    if (engine)
        library_close(engine);
    free(engine);
}

int main(int argc, char **argv)
{
    static const struct adapter_knob knobs[] = {
        {.name = "xnnpack",
         .values = "off|on",
         .value = "off",
         .help = "XNNPACK's delegate takes what it can"},
        {.name = "kernels",
         .values = "optimised|reference",
         .value = "optimised",
         .help = "which of the library's own kernels compute"},
        {.name = "fixed",
         .values = "off|on",
         .value = "off",
         .help = "whether QLinearConv and QLinearMatMul are computed, which the library rounds twice"},
        {.name = "threads",
         .values = "1..256",
         .value = "1",
         .help = "threads of one operator",
         .kind = KNOB_SCHEDULE},
        {.name = "save",
         .values = "PATH",
         .value = "",
         .help = "where to write the model of the last node, as TensorFlow Lite reads it",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct walk_library library = {
        .name = "tflite",
        .rows = rows,
        .knobs = knobs,
        .start = start,
        .stop = stop,
    };
    return walker_main(&library, argc, argv);
}
