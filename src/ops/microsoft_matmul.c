/* com.microsoft: FusedMatMul, MatMul with a factor and with transposed operands. */
#include "ops/draw.h"
#include "ops/inner.h"
#include "ops/matmul.h"

#include <inttypes.h>

/* The operand in the order of dimensions in which it is multiplied: its first dimension behind the others of
 * the batch (transBatch), the last two swapped (trans). */
static int arrange(struct op_call *call, size_t input, const char *batch, const char *last,
                   struct bounded *arranged, const struct bounded **operand)
{
    const struct bounded *x = *operand = call_need(call, input);
    bool rolls = call_int(call, batch, 0) != 0, swaps = call_int(call, last, 0) != 0;
    int64_t order[TENSOR_MAX_RANK];
    if (!x)
        return -1;
    int rank = x->shape.rank;
    if (!rolls && !swaps)
        return 0;
    if (rank < 2 || (rolls && rank < 3))
        return call_unsupported(call, "%s and %s of an operand of rank %d are not specified", batch, last,
                                rank);
    for (int i = 0; i < rank; i++)
        order[i] = rolls && i < rank - 1 ? (i + 1) % (rank - 1) : i;
    if (swaps) {
        int64_t before = order[rank - 2];
        order[rank - 2] = order[rank - 1];
        order[rank - 1] = before;
    }
    *operand = arranged;
    return inner_transpose(call, x, order, arranged);
}

static int eval_fused_matmul(struct op_call *call)
{
    const struct bounded *a, *b;
    struct bounded left, right;
    bounded_init(&left);
    bounded_init(&right);
    int result = arrange(call, 0, "transBatchA", "transA", &left, &a) ||
                         arrange(call, 1, "transBatchB", "transB", &right, &b)
                     ? -1
                     : matmul_scaled(call, a, b, call_float(call, "alpha", 1));
    bounded_release(&left);
    bounded_release(&right);
    return result;
}

/* The shape of the operand before it is arranged: what arrange() undoes. */
static struct shape scattered(struct draw *d, const struct shape *shape, const char *batch, const char *last)
{
    struct shape given = *shape;
    int rank = shape->rank;
    if (draw_chance(d, 0.5)) {
        draw_int(d, last, 1);
        given.dims[rank - 2] = shape->dims[rank - 1];
        given.dims[rank - 1] = shape->dims[rank - 2];
    }
    if (rank > 2 && draw_chance(d, 0.25)) {
        draw_int(d, batch, 1);
        struct shape rolled = given;
        for (int i = 0; i < rank - 1; i++)
            given.dims[(i + 1) % (rank - 1)] = rolled.dims[i];
    }
    return given;
}

static int sample_fused_matmul(struct draw *d)
{
    struct drawn a = draw_primary(d);
    struct shape b = a.shape;
    int rank = a.shape.rank;
    if (rank < 2 || shape_span(&a.shape, 0, rank) == 0)
        return -1; /* what becomes of no elements is not said anywhere */
    bool swaps = draw_chance(d, 0.4), rolls = rank > 2 && draw_chance(d, 0.25);
    struct shape left = a.shape;
    for (int i = 0; rolls && i < rank - 1; i++)
        left.dims[i] = a.shape.dims[(i + 1) % (rank - 1)];
    if (swaps)
        draw_int(d, "transA", 1);
    if (rolls)
        draw_int(d, "transBatchA", 1);
    b = left;
    b.dims[rank - 2] = left.dims[swaps ? rank - 2 : rank - 1];
    b.dims[rank - 1] = draw_dim(d);
    struct shape given = scattered(d, &b, "transBatchB", "transB");
    draw_data(d, a.type, &given);
    if (draw_chance(d, 0.6))
        draw_float(d, "alpha", (float)draw_between(d, -12, 12) / 4);
    return 0;
}

static const struct op_param fused_params[] = {
    {"alpha", PARAM_FLOAT, .legal = "0.5|-1|3", .initial = "1"},
    {"transA", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"transB", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"transBatchA", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"transBatchB", PARAM_INT, .legal = "0|1", .initial = "0"},
    {0},
};

/* Before opset 13 ONNX computes nothing in bfloat16. */
enum { EARLY = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

const struct op ops_microsoft_matmul[] = {
    {OP_MICROSOFT("FusedMatMul"), .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {2, 5},
     .types = {{1, EARLY}, {13, DTYPES_FLOAT}}, .params = fused_params, .eval = eval_fused_matmul,
     .sample = sample_fused_matmul, .data = DATA_ALL, .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}}, .result = RESULT_TYPE, .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
