/* Rules that compute a reduction in two steps: axis after axis, or half by half. */
#include "rules/rule.h"

#include "base/str.h"

/* A reduction and what puts two partial results together. */
struct reduction {
    const char *name;
    const char *rest; /* the reduction of partial results; NULL: there is none */
    const char *pair; /* of two partial results; NULL: there is none */
};

static const struct reduction reductions[] = {
    {.name = "ReduceSum", .rest = "ReduceSum", .pair = "Add"},
    {.name = "ReduceMax", .rest = "ReduceMax", .pair = "Max"},
    {.name = "ReduceMin", .rest = "ReduceMin", .pair = "Min"},
    {.name = "ReduceProd", .rest = "ReduceProd", .pair = "Mul"},
    {.name = "ReduceL1", .rest = "ReduceSum", .pair = "Add"},
    {.name = "ReduceSumSquare", .rest = "ReduceSum", .pair = "Add"},
    {.name = "ReduceMean", .rest = "ReduceMean"},
    {.name = "ReduceL2", .rest = "ReduceL2"},
    {.name = "ReduceLogSumExp", .rest = "ReduceLogSumExp"},
};

static const struct reduction *find_reduction(const char *name)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (text_equal(reductions[i].name, name))
            return &reductions[i];
    return NULL;
}

/* What a node reduces. */
struct task {
    const struct reduction *reduction;
    const struct bounded *x;
    bool reduced[TENSOR_MAX_RANK];
    size_t count; /* of reduced axes */
    bool keepdims;
};

/* Axes come as an attribute or as a constant input; without any, all are reduced. */
static bool read_axes(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct task *task)
{
    int64_t axes[TENSOR_MAX_RANK];
    if (!rewrite_reduced_axes(rewrite, node, task->x->shape.rank, axes, &task->count))
        return false;
    for (size_t i = 0; i < task->count; i++)
        task->reduced[axes[i]] = true;
    return true;
}

static bool read_task(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct task *task)
{
    *task = (struct task){.reduction = find_reduction(node->op_type), .x = rewrite_input(rewrite, node, 0)};
    if (!task->reduction || !task->x || task->x->count == 0 || *node->domain ||
        !rewrite_takes(rewrite, task->reduction->rest, task->x->type))
        return false;
    task->keepdims = node_int(node, "keepdims", 1) != 0;
    return read_axes(rewrite, node, task);
}

static int by_axes(struct rewrite *rewrite, const struct rule_site *site)
{
    struct task task;
    int64_t first[TENSOR_MAX_RANK], rest[TENSOR_MAX_RANK];
    size_t n_first = 0, n_rest = 0, left;
    if (!read_task(rewrite, site->node, &task) || task.count < 2)
        return 0;
    left = task.count;
    for (int i = 0; i < task.x->shape.rank; i++) {
        if (!task.reduced[i])
            continue;
        left--;
        bool early =
            (left == 0 && n_first == 0) || (rng_chance(&rewrite->rng, 0.5) && !(left == 0 && n_rest == 0));
        if (early)
            first[n_first++] = i;
        else /* axes move up when those before them are gone */
            rest[n_rest++] = task.keepdims ? i : i - (int64_t)n_first;
    }
    const char *part =
        rewrite_reduce(rewrite, task.reduction->name, site->node->input[0], first, n_first, task.keepdims);
    const char *whole = site->node->output[0];
    rewrite_remove(rewrite, site->node);
    rewrite_result(rewrite, rewrite_reduce(rewrite, task.reduction->rest, part, rest, n_rest, task.keepdims),
                   whole);
    return 1;
}

const struct rule rule_reduction_split = {
    .name = "reduction-split",
    .summary = "a reduction over several axes by two, one after the other",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceSumSquare|ReduceMean|ReduceL2|"
                 "ReduceLogSumExp",
    .apply = by_axes,
};

static int by_halves(struct rewrite *rewrite, const struct rule_site *site)
{
    struct task task;
    int64_t axes[TENSOR_MAX_RANK];
    size_t n_axes = 0;
    int axis = -1;
    if (!read_task(rewrite, site->node, &task) || !task.reduction->pair ||
        !rewrite_takes(rewrite, task.reduction->pair, task.x->type) ||
        !rewrite_takes(rewrite, "Slice", task.x->type))
        return 0;
    for (int i = 0; i < task.x->shape.rank; i++) {
        if (!task.reduced[i])
            continue;
        axes[n_axes++] = i;
        if (task.x->shape.dims[i] > 1 && (axis < 0 || rng_chance(&rewrite->rng, 0.5)))
            axis = i;
    }
    if (axis < 0)
        return 0;
    int64_t size = task.x->shape.dims[axis], middle = rng_range(&rewrite->rng, 1, size - 1);
    const char *x = site->node->input[0], *whole = site->node->output[0], *halves[2];
    for (int i = 0; i < 2; i++) {
        const char *part = rewrite_slice(rewrite, x, axis, i ? middle : 0, i ? size : middle);
        halves[i] = rewrite_reduce(rewrite, task.reduction->name, part, axes, n_axes, task.keepdims);
    }
    rewrite_remove(rewrite, site->node);
    rewrite_op_to(rewrite, whole, task.reduction->pair, halves[0], halves[1], NULL);
    return 1;
}

const struct rule rule_reduction_halved = {
    .name = "reduction-halved",
    .summary = "a reduction by those of two slices, put together by Add, Max, Min or Mul",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceSumSquare",
    .apply = by_halves,
};
