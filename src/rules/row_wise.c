#include "rules/row_wise.h"

#include "base/memory.h"
#include "base/str.h"
#include "ops/op.h"
#include "rules/rule.h"

#include <stdlib.h>
#include <string.h>

static size_t number_of(const struct row_wise *r, const char *name)
{
    const struct index_value *value = *name ? model_index_find(&r->rewrite->index, name) : NULL;
    return value ? (size_t)(value - r->rewrite->index.values) : r->rewrite->index.count;
}

bool row_wise_is(const struct row_wise *r, const char *name)
{
    size_t number = number_of(r, name);
    return number < r->rewrite->index.count && r->batched[number];
}

/* --- What operators ask --- */

static bool has_rows(const struct row_wise *r, const Onnx__NodeProto *node, size_t input)
{
    return rewrite_has_input(node, input) && row_wise_is(r, node->input[input]);
}

/* Whether the inputs with rows are exactly these (bit i: input i). */
static bool rows_are(const struct row_wise *r, const Onnx__NodeProto *node, unsigned inputs)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (has_rows(r, node, i) != (i < 32 && inputs >> i & 1))
            return false;
    return true;
}

static int rank_of(const struct row_wise *r, const Onnx__NodeProto *node, size_t input)
{
    const struct bounded *type = rewrite_input(r->rewrite, node, input);
    return type ? type->shape.rank : 0;
}

/* An axis counted from the front; -1 when it is none. */
static int64_t front(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis >= 0 && axis < rank ? axis : -1;
}

static int64_t axis_of(const struct row_wise *r, const Onnx__NodeProto *node, int64_t otherwise)
{
    return front(node_int(node, "axis", otherwise), rank_of(r, node, 0));
}

/* A list that is an attribute in some opsets and a constant input in others; false when it is neither. */
static bool list_of(const struct row_wise *r, const Onnx__NodeProto *node, const char *name, size_t input,
                    int64_t *values, size_t *count)
{
    const int64_t *given;
    if (node_ints(node, name, &given, count)) {
        if (*count <= TENSOR_MAX_RANK)
            memcpy(values, given, *count * sizeof *values);
        return *count <= TENSOR_MAX_RANK;
    }
    return rewrite_has_input(node, input) &&
           rewrite_constant_ints(r->rewrite, node->input[input], values, TENSOR_MAX_RANK, count);
}

/* Whether a value without rows is the same for all of them when it broadcasts to a rank. */
static bool is_shared(const struct row_wise *r, const Onnx__NodeProto *node, size_t input, int rank)
{
    const struct bounded *type = rewrite_input(r->rewrite, node, input);
    if (!rewrite_has_input(node, input))
        return true;
    return type && (type->shape.rank < rank || (type->shape.rank == rank && type->shape.dims[0] == 1));
}

/* Whether a list of axes is known and has not the first one. */
static bool spares_first(const struct row_wise *r, const Onnx__NodeProto *node, int rank)
{
    int64_t axes[TENSOR_MAX_RANK];
    size_t count;
    if (!list_of(r, node, "axes", 1, axes, &count) || count == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (front(axes[i], rank) < 1)
            return false;
    return true;
}

/* --- How operators treat rows --- */

static bool first_only(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1);
}

static bool first_output_only(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1) && rewrite_one_output(node);
}

/* Broadcasting aligns the last axes: rows stay first where nothing has a higher rank. */
static bool elementwise(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct bounded *out = rewrite_type(r->rewrite, node->output[0]);
    if (!out || (text_equal(node->op_type, "Dropout") && rewrite_has_input(node, 2)))
        return false; /* in training it is random */
    for (size_t i = 0; i < node->n_input; i++)
        if (has_rows(r, node, i) ? rank_of(r, node, i) != out->shape.rank
                                 : !is_shared(r, node, i, out->shape.rank))
            return false;
    return true;
}

static bool other_axis(const struct row_wise *r, const Onnx__NodeProto *node)
{
    bool last =
        rewrite_opset(r->rewrite) >= 13 || strstr(node->op_type, "Layer") || strstr(node->op_type, "Lp");
    bool zero = strncmp(node->op_type, "Arg", 3) == 0 || text_equal(node->op_type, "Split");
    return rows_are(r, node, 1) && axis_of(r, node, zero ? 0 : last ? -1 : 1) > 0;
}

static bool topk(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1) && axis_of(r, node, -1) > 0;
}

static bool cumsum(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t axis[TENSOR_MAX_RANK];
    size_t count;
    return rows_are(r, node, 1) && node->n_input == 2 &&
           rewrite_constant_ints(r->rewrite, node->input[1], axis, TENSOR_MAX_RANK, &count) && count == 1 &&
           front(axis[0], rank_of(r, node, 0)) > 0;
}

static bool concat(const struct row_wise *r, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (!has_rows(r, node, i))
            return false;
    return axis_of(r, node, 0) > 0;
}

static bool matmul(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int a = rank_of(r, node, 0), b = rank_of(r, node, 1);
    for (size_t i = 2; i < node->n_input; i++) {
        const struct bounded *zero = rewrite_input(r->rewrite, node, i);
        if (rewrite_has_input(node, i) && (has_rows(r, node, i) || !zero || zero->count != 1))
            return false;
    }
    if (has_rows(r, node, 0) && has_rows(r, node, 1))
        return a >= 3 && a == b;
    if (has_rows(r, node, 0))
        return a == 2 ? b <= 2 : a >= 3 && is_shared(r, node, 1, a);
    return b >= 3 && is_shared(r, node, 0, b);
}

static bool gemm(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return has_rows(r, node, 0) && !has_rows(r, node, 1) && !node_int(node, "transA", 0) &&
           (has_rows(r, node, 2) ? rank_of(r, node, 2) == 2 : is_shared(r, node, 2, 2));
}

static bool flatten(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct bounded *x = rewrite_input(r->rewrite, node, 0);
    int64_t axis = node_int(node, "axis", 1);
    if (!x)
        return false;
    axis = axis < 0 ? axis + x->shape.rank : axis;
    for (int64_t i = 1; i < axis && i < x->shape.rank; i++)
        if (x->shape.dims[i] != 1)
            return false;
    return axis > 0;
}

/* Its shape is replaced by that of the new number of rows, in which a 0 would not be a size. */
static bool reshape(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct bounded *x = rewrite_input(r->rewrite, node, 0);
    return rows_are(r, node, 1) && node->n_input == 2 && x && x->count > 0;
}

static bool squeeze(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct bounded *wider = text_equal(node->op_type, "Squeeze")
                                      ? rewrite_input(r->rewrite, node, 0)
                                      : rewrite_type(r->rewrite, node->output[0]);
    return rows_are(r, node, 1) && wider && spares_first(r, node, wider->shape.rank);
}

static bool transpose(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const int64_t *order;
    size_t count;
    (void)r;
    return node_ints(node, "perm", &order, &count) && count > 0 && order[0] == 0;
}

/* Rows may be named in a slice only as a whole. */
static bool slice(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t starts[TENSOR_MAX_RANK], ends[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK], steps[TENSOR_MAX_RANK];
    size_t n_starts, n_ends, n_axes, n_steps;
    if (!rows_are(r, node, 1) || !list_of(r, node, "starts", 1, starts, &n_starts) ||
        !list_of(r, node, "ends", 2, ends, &n_ends) || n_starts != n_ends)
        return false;
    bool axes_given = list_of(r, node, "axes", 3, axes, &n_axes);
    bool steps_given = list_of(r, node, "steps", 4, steps, &n_steps);
    if ((rewrite_has_input(node, 3) && !axes_given) || (rewrite_has_input(node, 4) && !steps_given) ||
        (axes_given && n_axes != n_starts) || (steps_given && n_steps != n_starts))
        return false;
    for (size_t i = 0; i < n_starts; i++) {
        int64_t axis = axes_given ? front(axes[i], rank_of(r, node, 0)) : (int64_t)i;
        if (axis < 0 ||
            (axis == 0 && (starts[i] != 0 || ends[i] < INT32_MAX || (steps_given && steps[i] != 1))))
            return false;
    }
    return true;
}

static bool pad(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t pads[2 * TENSOR_MAX_RANK];
    size_t count, rank = (size_t)rank_of(r, node, 0);
    return rows_are(r, node, 1) && node->n_input >= 2 && !rewrite_has_input(node, 3) &&
           rewrite_constant_ints(r->rewrite, node->input[1], pads, 2 * TENSOR_MAX_RANK, &count) &&
           count == 2 * rank && pads[0] == 0 && pads[rank] == 0;
}

/* Columns of a table with rows, or rows of indices into one without. */
static bool gather(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t axis = axis_of(r, node, 0);
    return (rows_are(r, node, 1) && axis > 0) || (rows_are(r, node, 2) && axis == 0);
}

static bool elements_at(const struct row_wise *r, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (!has_rows(r, node, i))
            return false;
    return axis_of(r, node, 0) > 0;
}

static bool reduce(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1) && spares_first(r, node, rank_of(r, node, 0));
}

static bool tile(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t times[TENSOR_MAX_RANK];
    size_t count;
    return rows_are(r, node, 1) && node->n_input == 2 &&
           rewrite_constant_ints(r->rewrite, node->input[1], times, TENSOR_MAX_RANK, &count) && count > 0 &&
           times[0] == 1;
}

static bool expand(const struct row_wise *r, const Onnx__NodeProto *node)
{
    int64_t sizes[TENSOR_MAX_RANK];
    size_t count, rank = (size_t)rank_of(r, node, 0);
    return rows_are(r, node, 1) && node->n_input == 2 &&
           rewrite_constant_ints(r->rewrite, node->input[1], sizes, TENSOR_MAX_RANK, &count) &&
           (count < rank || (count == rank && sizes[0] == 1));
}

static bool resize(const struct row_wise *r, const Onnx__NodeProto *node)
{
    struct tensor scales;
    if (!rows_are(r, node, 1) || node_attribute(node, "axes") || !rewrite_has_input(node, 2) ||
        rewrite_has_input(node, 3) || rewrite_constant(r->rewrite, node->input[2], &scales, NULL) != 1)
        return false;
    bool kept = scales.count > 0 && tensor_get(&scales, 0) == 1;
    tensor_release(&scales);
    return kept && !text_equal(rewrite_string(r->rewrite, node, "coordinate_transformation_mode", ""),
                               "tf_crop_and_resize");
}

static bool quantize(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct bounded *scale = rewrite_input(r->rewrite, node, 1);
    return rows_are(r, node, 1) && scale && !node_int(node, "block_size", 0) &&
           (scale->count == 1 || axis_of(r, node, 1) > 0);
}

static bool one_hot(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1) && front(node_int(node, "axis", -1), rank_of(r, node, 0) + 1) > 0;
}

static bool of_matrices(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 1) && rank_of(r, node, 0) >= 3;
}

static bool both(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return rows_are(r, node, 3);
}

/* Statistics that are given, not taken from the batch. */
static bool batch_normalization(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return first_output_only(r, node) && !node_int(node, "training_mode", 0);
}

static bool cast_like(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return has_rows(r, node, 0);
}

/* Only the slope broadcasts. */
static bool prelu(const struct row_wise *r, const Onnx__NodeProto *node)
{
    return has_rows(r, node, 0) && elementwise(r, node);
}

/* --- The table --- */

static const struct {
    const char *operators;
    bool (*keeps_rows)(const struct row_wise *r, const Onnx__NodeProto *node);
} row_operators[] = {
    {.operators =
         "Conv|ConvTranspose|ConvInteger|GlobalMaxPool|GlobalAveragePool|GlobalLpPool|AveragePool|LpPool",
     .keeps_rows = first_only},
    {.operators = "InstanceNormalization|GroupNormalization|LRN|DepthToSpace|SpaceToDepth",
     .keeps_rows = first_only},
    {.operators = "MaxPool", .keeps_rows = first_output_only}, /* its indices count through all rows */
    {.operators = "BatchNormalization", .keeps_rows = batch_normalization},
    {.operators = "Softmax|LogSoftmax|Hardmax|LayerNormalization|LpNormalization|ArgMax|ArgMin|Split",
     .keeps_rows = other_axis},
    {.operators = "TopK", .keeps_rows = topk},
    {.operators = "CumSum", .keeps_rows = cumsum},
    {.operators = "Concat", .keeps_rows = concat},
    {.operators = "MatMul|MatMulInteger", .keeps_rows = matmul},
    {.operators = "Gemm", .keeps_rows = gemm},
    {.operators = "Flatten", .keeps_rows = flatten},
    {.operators = "Reshape", .keeps_rows = reshape},
    {.operators = "Squeeze|Unsqueeze", .keeps_rows = squeeze},
    {.operators = "Transpose", .keeps_rows = transpose},
    {.operators = "Slice", .keeps_rows = slice},
    {.operators = "Pad", .keeps_rows = pad},
    {.operators = "Gather", .keeps_rows = gather},
    {.operators = "GatherElements|ScatterElements", .keeps_rows = elements_at},
    {.operators =
         "ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceMax|ReduceMean|ReduceMin|ReduceProd|ReduceSum|"
         "ReduceSumSquare",
     .keeps_rows = reduce},
    {.operators = "Tile", .keeps_rows = tile},
    {.operators = "Expand", .keeps_rows = expand},
    {.operators = "Resize", .keeps_rows = resize},
    {.operators = "QuantizeLinear|DequantizeLinear", .keeps_rows = quantize},
    {.operators = "OneHot", .keeps_rows = one_hot},
    {.operators = "Trilu", .keeps_rows = of_matrices},
    {.operators = "GridSample", .keeps_rows = both},
    {.operators = "CastLike", .keeps_rows = cast_like},
    {.operators = "PRelu", .keeps_rows = prelu},
};

/* Families of the operator table whose members compute each element from the elements at its place. */
static const struct {
    const char *name;
    bool broadcasts; /* else only the first input has the shape of the output */
} families[] = {
    {.name = "activation", .broadcasts = false},     {.name = "binary", .broadcasts = true},
    {.name = "cast", .broadcasts = false},           {.name = "comparison", .broadcasts = true},
    {.name = "math_functions", .broadcasts = false}, {.name = "power", .broadcasts = true},
    {.name = "unary", .broadcasts = false},          {.name = "variadic", .broadcasts = true},
};

static bool keeps_places(const struct row_wise *r, const Onnx__NodeProto *node, const struct op *op)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (text_equal(op_family(op), families[i].name))
            return (families[i].broadcasts || rows_are(r, node, 1)) && elementwise(r, node);
    return false;
}

static bool keeps_rows(const struct row_wise *r, const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    if (*node->domain || !op || !rewrite_type(r->rewrite, node->output[0]))
        return false;
    for (size_t i = 0; i < sizeof row_operators / sizeof *row_operators; i++)
        if (rule_list_has(row_operators[i].operators, '|', node->op_type))
            return row_operators[i].keeps_rows(r, node);
    return keeps_places(r, node, op);
}

/* --- Following rows --- */

static bool uses_rows(const struct row_wise *r, size_t node)
{
    const struct model_index *index = &r->rewrite->index;
    for (size_t i = 0; i < index->n_uses[node]; i++)
        if (r->batched[index->uses[node][i]])
            return true;
    return false;
}

/* Marks the outputs of a node that was reached. */
static bool mark_outputs(struct row_wise *r, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const struct bounded *type = *node->output[i] ? rewrite_type(r->rewrite, node->output[i]) : NULL;
        if (!*node->output[i])
            continue;
        if (!type || type->shape.rank < 1 || type->shape.dims[0] != r->rows)
            return false;
        r->batched[number_of(r, node->output[i])] = true;
    }
    return true;
}

static bool follow(struct row_wise *r)
{
    const struct model_index *index = &r->rewrite->index;
    const Onnx__GraphProto *graph = index->model->graph;
    bool reached = false;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[index->order[i]];
        if (!uses_rows(r, index->order[i]))
            continue;
        if (!node->n_output || !keeps_rows(r, node) || !mark_outputs(r, node))
            return false;
    }
    for (size_t i = 0; i < graph->n_output; i++)
        reached |= row_wise_is(r, graph->output[i]->name);
    return reached;
}

/* Marks an input of the case; false when it has no rows, or another number of them. */
static bool mark_input(struct row_wise *r, const char *name)
{
    const struct tensor *given = rewrite_given(r->rewrite, name);
    if (!given || given->shape.rank < 1 || given->count == 0 || given->type == DTYPE_STRING ||
        (r->rows && given->shape.dims[0] != r->rows))
        return false;
    r->rows = given->shape.dims[0];
    r->batched[number_of(r, name)] = true;
    return true;
}

/* Tries the inputs whose bits are set in `chosen`, in the order of the graph. */
static bool try_inputs(struct row_wise *r, uint64_t chosen)
{
    const Onnx__GraphProto *graph = r->rewrite->model->graph;
    memset(r->batched, 0, r->rewrite->index.count * sizeof *r->batched);
    r->rows = 0;
    bool any = false;
    for (size_t i = 0; i < graph->n_input && i < 64; i++)
        if (chosen >> i & 1)
            any |= mark_input(r, graph->input[i]->name);
    return any && follow(r);
}

enum { TRIES = 8 };

bool row_wise_init(struct row_wise *r, struct rewrite *rewrite)
{
    *r = (struct row_wise){.rewrite = rewrite};
    r->batched = memory_zeroed(rewrite->index.count + 1, sizeof *r->batched);
    /* All that have as many as the first; else one alone, the others being weights. */
    if (try_inputs(r, UINT64_MAX))
        return true;
    for (size_t i = 0; i < rewrite->model->graph->n_input && i < TRIES; i++)
        if (try_inputs(r, (uint64_t)1 << i) || try_inputs(r, (uint64_t)3 << i))
            return true;
    row_wise_release(r);
    return false;
}

void row_wise_release(struct row_wise *r)
{
    free(r->batched);
    r->batched = NULL;
}
