/* Reductions by operators that reduce as well: global pools, and products with ones. */
#include "base/memory.h"
#include "base/str.h"
#include "rules/rule.h"

enum { ONES_MAX = 100000 };

/* What a node reduces: its axes moved to the end. */
struct reduced {
    const struct bounded *x;
    int64_t order[TENSOR_MAX_RANK]; /* kept axes, then reduced ones */
    int64_t kept, gone;             /* elements of either */
    struct shape result;
};

static bool read_reduced(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct reduced *r)
{
    int64_t axes[TENSOR_MAX_RANK];
    size_t count, made = 0;
    bool keepdims = node_int(node, "keepdims", 1) != 0, is_reduced[TENSOR_MAX_RANK] = {false};
    *r = (struct reduced){.x = rewrite_input(rewrite, node, 0), .kept = 1, .gone = 1};
    if (!r->x || r->x->count == 0 || rewrite_opset(rewrite) < 11 ||
        !rewrite_reduced_axes(rewrite, node, r->x->shape.rank, axes, &count) || count == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        is_reduced[axes[i]] = true;
    for (int i = 0; i < r->x->shape.rank; i++) {
        if (!is_reduced[i]) {
            r->order[made++] = i;
            r->kept *= r->x->shape.dims[i];
        }
        if (keepdims || !is_reduced[i])
            r->result.dims[r->result.rank++] = is_reduced[i] ? 1 : r->x->shape.dims[i];
    }
    for (size_t i = 0; i < count; i++) {
        r->order[made++] = axes[i];
        r->gone *= r->x->shape.dims[axes[i]];
    }
    return made == (size_t)r->x->shape.rank;
}

/* The elements as a matrix of the given shape, with what is reduced in each row. */
static const char *as_rows(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct reduced *r,
                           const struct shape *shape)
{
    size_t rank = (size_t)r->x->shape.rank;
    const char *value = node->input[0];
    bool moved = false;
    for (size_t i = 0; i < rank; i++)
        moved |= r->order[i] != (int64_t)i;
    if (moved)
        value = rewrite_transpose(rewrite, value, r->order, rank);
    return rewrite_reshape(rewrite, value, shape);
}

static const char *pool_for(const Onnx__NodeProto *node)
{
    if (text_equal(node->op_type, "ReduceMean"))
        return "GlobalAveragePool";
    return text_equal(node->op_type, "ReduceMax") ? "GlobalMaxPool" : "GlobalLpPool";
}

static int reduce_by_pool(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *pool;
    struct reduced r;
    if (!read_reduced(rewrite, node, &r) || !rewrite_takes(rewrite, pool_for(node), r.x->type))
        return 0;
    struct shape image = {.rank = 3, .dims = {1, r.kept, r.gone}};
    const char *rows = as_rows(rewrite, node, &r, &image);
    const char *pooled = rewrite_op(rewrite, pool_for(node), &pool, rows, NULL);
    if (text_equal(pool->op_type, "GlobalLpPool"))
        node_set_int(&rewrite->model->arena, pool, "p", text_equal(node->op_type, "ReduceL1") ? 1 : 2);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_reshape(rewrite, pooled, &r.result), node->output[0]);
    return 1;
}

const struct rule rule_reduce_by_pool = {
    .name = "reduce-by-pool",
    .paper = 7,
    .summary = "a reduction by a global pool of an image with one row for each result",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceMean|ReduceMax|ReduceL1|ReduceL2",
    .apply = reduce_by_pool,
};

static const char *ones(struct rewrite *rewrite, enum dtype type, int64_t count)
{
    struct tensor tensor;
    struct shape shape = {.rank = 2, .dims = {count, 1}};
    if (tensor_alloc(&tensor, type, &shape, 0, NULL))
        memory_exhausted((size_t)count);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, 1);
    const char *name = rewrite_tensor(rewrite, &tensor);
    tensor_release(&tensor);
    return name;
}

static int sum_by_matmul(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct reduced r;
    if (!read_reduced(rewrite, node, &r) || r.gone > ONES_MAX || !rewrite_takes(rewrite, "MatMul", r.x->type))
        return 0;
    struct shape matrix = {.rank = 2, .dims = {r.kept, r.gone}};
    const char *rows = as_rows(rewrite, node, &r, &matrix);
    const char *sums = rewrite_op(rewrite, "MatMul", NULL, rows, ones(rewrite, r.x->type, r.gone), NULL);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_reshape(rewrite, sums, &r.result), node->output[0]);
    return 1;
}

const struct rule rule_sum_by_matmul = {
    .name = "sum-by-matmul",
    .paper = 7,
    .summary = "a ReduceSum by a MatMul with ones",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceSum",
    .apply = sum_by_matmul,
};
