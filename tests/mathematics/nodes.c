#include "../unit/drawn_node.h"
#include "nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    node_truth *truth;
    mpfr_prec_t precision;
} operators[] = {
    {"AveragePool", pool_truth, PRECISION_EXACT},
    {"BatchNormalization", batch_norm_truth, PRECISION_EXACT},
    {"Clip", clip_truth, PRECISION_FUNCTION},
    {"Conv", conv_truth, PRECISION_EXACT},
    {"ConvInteger", conv_truth, PRECISION_FUNCTION},
    {"ConvTranspose", conv_transpose_truth, PRECISION_EXACT},
    {"CumSum", cumsum_truth, PRECISION_EXACT},
    {"DequantizeLinear", dequantize_truth, PRECISION_FUNCTION},
    {"Einsum", einsum_truth, PRECISION_EXACT},
    {"Gemm", gemm_truth, PRECISION_EXACT},
    {"GlobalAveragePool", global_pool_truth, PRECISION_EXACT},
    {"GlobalLpPool", global_pool_truth, PRECISION_FUNCTION},
    {"GlobalMaxPool", global_pool_truth, PRECISION_FUNCTION},
    {"GridSample", grid_sample_truth, PRECISION_EXACT},
    {"GroupNormalization", group_norm_truth, PRECISION_EXACT},
    {"InstanceNormalization", group_norm_truth, PRECISION_EXACT},
    {"LRN", lrn_truth, PRECISION_FUNCTION},
    {"LayerNormalization", layer_norm_truth, PRECISION_EXACT},
    {"LogSoftmax", softmax_truth, PRECISION_FUNCTION},
    {"LpNormalization", lp_norm_truth, PRECISION_FUNCTION},
    {"LpPool", pool_truth, PRECISION_FUNCTION},
    {"MatMul", matmul_truth, PRECISION_EXACT},
    {"MatMulInteger", matmul_truth, PRECISION_FUNCTION},
    {"MaxPool", pool_truth, PRECISION_FUNCTION},
    {"QuantizeLinear", quantize_truth, PRECISION_FUNCTION},
    {"ReduceL1", reduce_truth, PRECISION_EXACT},
    {"ReduceL2", reduce_truth, PRECISION_EXACT},
    {"ReduceLogSum", reduce_truth, PRECISION_EXACT},
    {"ReduceLogSumExp", reduce_truth, PRECISION_FUNCTION},
    {"ReduceMax", reduce_truth, PRECISION_FUNCTION},
    {"ReduceMean", reduce_truth, PRECISION_EXACT},
    {"ReduceMin", reduce_truth, PRECISION_FUNCTION},
    {"ReduceProd", reduce_truth, PRECISION_EXACT},
    {"ReduceSum", reduce_truth, PRECISION_EXACT},
    {"ReduceSumSquare", reduce_truth, PRECISION_EXACT},
    {"Resize", resize_truth, PRECISION_EXACT},
    {"Softmax", softmax_truth, PRECISION_FUNCTION},
};

bool node_has(const struct node *node, size_t input)
{
    return input < node->call->n_inputs && node->call->inputs[input];
}

void index_of(size_t at, const struct shape *shape, int64_t *index)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(at % (size_t)shape->dims[i]);
        at /= (size_t)shape->dims[i];
    }
}

size_t place_of(const struct shape *shape, const int64_t *index)
{
    size_t at = 0;
    for (int i = 0; i < shape->rank; i++)
        at = at * (size_t)shape->dims[i] + (size_t)index[i];
    return at;
}

size_t place_broadcast(size_t at, const struct shape *to, const struct shape *from)
{
    int64_t index[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK];
    index_of(at, to, index);
    for (int i = 0; i < from->rank; i++)
        own[i] = from->dims[i] == 1 ? 0 : index[to->rank - from->rank + i];
    return place_of(from, own);
}

int axis_of(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

void add_product(mpfr_t sum, mpfr_srcptr a, mpfr_srcptr b)
{
    mpfr_fma(sum, a, b, sum, MPFR_RNDN);
}

/* Holds output 0 of a call against its truth. */
static void check_call(struct op_call *call, node_truth *truth)
{
    struct node node = {.call = call};
    struct bounded *out = &call->outputs[0];
    for (size_t k = 0; k < call->n_inputs; k++)
        if (call->inputs[k])
            node.in[k] = reals_of(call->inputs[k]);
    struct reals right = reals_make(out->type, &out->shape);
    if (truth(&node, &right)) {
        struct tally *tally = tally_of(call->op->name, out->type);
        for (size_t i = 0; i < out->count; i++)
            truth_check(tally, out, i, right.at[i]);
    }
    reals_free(&right);
    for (size_t k = 0; k < call->n_inputs; k++)
        reals_free(&node.in[k]);
}

static void check_drawn(const struct draw *d, node_truth *truth)
{
    enum { OUTPUTS = 8 };
    struct bounded values[NODE_INPUTS], outputs[OUTPUTS];
    const struct bounded *inputs[NODE_INPUTS] = {NULL};
    struct error err = {0};
    if (d->n_inputs > NODE_INPUTS || d->n_outputs > OUTPUTS)
        return;
    for (size_t k = 0; k < d->n_inputs; k++) {
        bounded_init(&values[k]);
        if (d->inputs[k].source != DRAWN_OMITTED &&
            bounded_from_tensor(&values[k], &d->inputs[k].data, &err) == 0)
            inputs[k] = &values[k];
    }
    struct op_call call = drawn_call(d, inputs, outputs, &err);
    if (truth_run(&call)) {
        check_call(&call, truth);
        for (size_t o = 0; o < call.n_outputs; o++)
            bounded_release(&outputs[o]);
    }
    for (size_t k = 0; k < d->n_inputs; k++)
        bounded_release(&values[k]);
}

static void check_operator(const struct op *op, node_truth *truth, size_t count, const struct rng *root)
{
    enum { OPSET_FIRST = 11, OPSET_LAST = 21 };
    int since = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST;
    for (size_t n = 0; n < count; n++) {
        struct rng rng = rng_split(root, n);
        int opset = (int)rng_range(&rng, since, OPSET_LAST);
        struct arena arena;
        arena_init(&arena);
        struct draw d;
        draw_init(&d, &arena, op, opset, drawn_type(&rng, op_types_at(op, opset)),
                  (enum fill)rng_below(&rng, FILL_COUNT), rng);
        snprintf(truth_place, sizeof truth_place, "node %zu, opset %d, %s", n, opset, fill_name(d.fill));
        if (draw_node(&d) == 0)
            check_drawn(&d, truth);
        draw_release(&d);
        arena_release(&arena);
    }
}

/* A product so large that the reference computes it in blocks, in float64. */
static void check_large_product(enum dtype type, struct rng *rng)
{
    enum { SIDE = 34 };
    struct shape shape = {2, {SIDE, SIDE}};
    struct bounded values[2], out;
    const struct bounded *inputs[] = {&values[0], &values[1]};
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    struct error err = {0};
    for (int k = 0; k < 2; k++) {
        long double data[SIDE * SIDE];
        for (size_t i = 0; i < SIDE * SIDE; i++)
            data[i] = rng_normal(rng) * exp(rng_uniform(rng, -5, 5));
        truth_input(&values[k], type, data, SIDE * SIDE);
        values[k].shape = shape;
    }
    struct op_call call = truth_call(op_find("MatMul"), &node, 2, inputs, &out, &err);
    snprintf(truth_place, sizeof truth_place, "large");
    if (truth_run(&call)) {
        check_call(&call, matmul_truth);
        bounded_release(&out);
    }
    bounded_release(&values[0]);
    bounded_release(&values[1]);
}

void check_nodes(size_t count, uint64_t seed, const char *only)
{
    struct rng seeded = rng_seed(seed);
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        const struct op *op = op_find(operators[k].name);
        if (!op)
            abort();
        if (!strstr(op->name, only))
            continue;
        mpfr_set_default_prec(operators[k].precision);
        struct rng root = rng_split(&seeded, 2000 + k);
        check_operator(op, operators[k].truth, count, &root);
        for (enum dtype type = 1; operators[k].truth == matmul_truth && type < DTYPE_COUNT; type++)
            if (dtype_in(type, op_types_at(op, 21) & DTYPES_FLOAT) && strcmp(op->name, "MatMul") == 0)
                check_large_product(type, &root);
    }
}
