/*
 * Operators that change nothing for the operands they get: a product with 1, a Slice of everything, the Sum
 * of one tensor. Optimisers have a pass for each of them.
 */
#include "rules/rule.h"

#include "base/str.h"

/* One way to write nothing. `make` adds nodes that compute a copy of `value`, whose type and shape are
 * `type`, and returns its name; NULL when it cannot be done here. */
struct neutral {
    const char *op; /* must take the type of the value */
    const char *(*make)(struct rewrite *rewrite, const char *op, const char *value,
                        const struct bounded *type);
};

/* A number that broadcasts: a scalar, or of the value's own rank. */
static const char *operand(struct rewrite *rewrite, const struct bounded *type, long double number)
{
    int rank = rng_chance(&rewrite->rng, 0.5) ? type->shape.rank : 0;
    return rewrite_scalar(rewrite, type->type, rank, number);
}

static const char *with_one(struct rewrite *rewrite, const char *op, const char *value,
                            const struct bounded *type)
{
    const char *one = operand(rewrite, type, 1);
    return rewrite_op(rewrite, op, NULL, value, one, NULL);
}

/* x + -0 is x for every x, and x + 0 is not for -0. */
static const char *plus_zero(struct rewrite *rewrite, const char *op, const char *value,
                             const struct bounded *type)
{
    const char *zero = operand(rewrite, type, dtype_is_float(type->type) ? -0.0L : 0);
    return rng_chance(&rewrite->rng, 0.5) ? rewrite_op(rewrite, op, NULL, value, zero, NULL)
                                          : rewrite_op(rewrite, op, NULL, zero, value, NULL);
}

static const char *with_zero(struct rewrite *rewrite, const char *op, const char *value,
                             const struct bounded *type)
{
    const char *zero = operand(rewrite, type, 0);
    return rewrite_op(rewrite, op, NULL, value, zero, NULL);
}

static const char *where_true(struct rewrite *rewrite, const char *op, const char *value,
                              const struct bounded *type)
{
    const char *condition = rewrite_scalar(rewrite, DTYPE_BOOL, 0, 1), *other = operand(rewrite, type, 0);
    return rewrite_op(rewrite, op, NULL, condition, value, other, NULL);
}

static const char *where_false(struct rewrite *rewrite, const char *op, const char *value,
                               const struct bounded *type)
{
    const char *condition = rewrite_scalar(rewrite, DTYPE_BOOL, 0, 0), *other = operand(rewrite, type, 1);
    return rewrite_op(rewrite, op, NULL, condition, other, value, NULL);
}

/* Of one input alone, or of the same one twice. */
static const char *alone(struct rewrite *rewrite, const char *op, const char *value,
                         const struct bounded *type)
{
    (void)type;
    return rewrite_op(rewrite, op, NULL, value, NULL);
}

static const char *with_itself(struct rewrite *rewrite, const char *op, const char *value,
                               const struct bounded *type)
{
    (void)type;
    return rewrite_op(rewrite, op, NULL, value, value, NULL);
}

static const char *concat_of_one(struct rewrite *rewrite, const char *op, const char *value,
                                 const struct bounded *type)
{
    (void)op;
    if (type->shape.rank == 0)
        return NULL;
    return rewrite_concat(rewrite, rng_range(&rewrite->rng, -type->shape.rank, type->shape.rank - 1), &value,
                          1);
}

static const char *split_into_one(struct rewrite *rewrite, const char *op, const char *value,
                                  const struct bounded *type)
{
    const char *part;
    (void)op;
    if (type->shape.rank == 0)
        return NULL;
    int64_t axis = rng_range(&rewrite->rng, 0, type->shape.rank - 1);
    rewrite_split(rewrite, value, axis, &type->shape.dims[axis], 1, &part);
    return part;
}

static const char *slice_of_everything(struct rewrite *rewrite, const char *op, const char *value,
                                       const struct bounded *type)
{
    (void)op;
    if (type->shape.rank == 0)
        return NULL;
    int64_t axis = rng_range(&rewrite->rng, 0, type->shape.rank - 1);
    int64_t end = rng_chance(&rewrite->rng, 0.5) ? INT64_MAX : type->shape.dims[axis];
    return rewrite_slice(rewrite, value, axis, 0, end);
}

/* To its own shape, or to as many ones. */
static const char *expand(struct rewrite *rewrite, const char *op, const char *value,
                          const struct bounded *type)
{
    const int64_t one = 1;
    const char *shape = rng_chance(&rewrite->rng, 0.5)
                            ? rewrite_ints(rewrite, type->shape.dims, (size_t)type->shape.rank)
                            : rewrite_ints(rewrite, &one, type->shape.rank > 0);
    return rewrite_op(rewrite, op, NULL, value, shape, NULL);
}

static const char *repeated(struct rewrite *rewrite, const char *op, const char *value,
                            const struct bounded *type, int64_t number, int times)
{
    int64_t numbers[2 * TENSOR_MAX_RANK];
    for (int i = 0; i < times * type->shape.rank; i++)
        numbers[i] = number;
    return rewrite_op(rewrite, op, NULL, value,
                      rewrite_ints(rewrite, numbers, (size_t)(times * type->shape.rank)), NULL);
}

static const char *tile_once(struct rewrite *rewrite, const char *op, const char *value,
                             const struct bounded *type)
{
    return type->shape.rank ? repeated(rewrite, op, value, type, 1, 1) : NULL;
}

static const char *pad_nothing(struct rewrite *rewrite, const char *op, const char *value,
                               const struct bounded *type)
{
    return type->shape.rank ? repeated(rewrite, op, value, type, 0, 2) : NULL;
}

static const char *transpose_nothing(struct rewrite *rewrite, const char *op, const char *value,
                                     const struct bounded *type)
{
    int64_t order[TENSOR_MAX_RANK];
    (void)op;
    for (int i = 0; i < type->shape.rank; i++)
        order[i] = i;
    return type->shape.rank ? rewrite_transpose(rewrite, value, order, (size_t)type->shape.rank) : NULL;
}

static const char *reshape_to_itself(struct rewrite *rewrite, const char *op, const char *value,
                                     const struct bounded *type)
{
    static const int64_t zeros[TENSOR_MAX_RANK] = {0};
    if (type->count == 0)
        return NULL;
    /* A 0 stands for the dimension of the input. */
    if (type->shape.rank > 0 && rng_chance(&rewrite->rng, 0.5))
        return rewrite_op(rewrite, op, NULL, value, rewrite_ints(rewrite, zeros, (size_t)type->shape.rank),
                          NULL);
    return rewrite_reshape(rewrite, value, &type->shape);
}

enum { MAX_INDICES = 1 << 16 };

static const char *gather_all(struct rewrite *rewrite, const char *op, const char *value,
                              const struct bounded *type)
{
    Onnx__NodeProto *node;
    struct arena *arena = &rewrite->model->arena;
    if (type->shape.rank == 0)
        return NULL;
    int64_t axis = rng_range(&rewrite->rng, 0, type->shape.rank - 1), size = type->shape.dims[axis];
    if (size == 0 || size > MAX_INDICES)
        return NULL;
    int64_t *indices = arena_array(arena, (size_t)size, sizeof *indices);
    for (int64_t i = 0; i < size; i++)
        indices[i] = i;
    const char *result =
        rewrite_op(rewrite, op, &node, value, rewrite_ints(rewrite, indices, (size_t)size), NULL);
    node_set_int(arena, node, "axis", axis);
    return result;
}

static const char *cast_to_itself(struct rewrite *rewrite, const char *op, const char *value,
                                  const struct bounded *type)
{
    (void)op;
    return rewrite_cast(rewrite, value, type->type);
}

/* The sum over no axes, which noop_with_empty_axes turns into nothing. */
static const char *sum_over_nothing(struct rewrite *rewrite, const char *op, const char *value,
                                    const struct bounded *type)
{
    Onnx__NodeProto *node;
    (void)type;
    if (rewrite_opset(rewrite) < 13)
        return NULL;
    const char *result = rewrite_op(rewrite, op, &node, value, NULL);
    node_set_int(&rewrite->model->arena, node, "noop_with_empty_axes", 1);
    return result;
}

/* The greatest element along a new axis of one place. */
static const char *reduce_one(struct rewrite *rewrite, const char *op, const char *value,
                              const struct bounded *type)
{
    if (type->shape.rank >= 7 || type->count == 0 || !rewrite_takes(rewrite, "Unsqueeze", type->type))
        return NULL;
    int64_t axis = rng_range(&rewrite->rng, 0, type->shape.rank);
    return rewrite_reduce(rewrite, op, rewrite_unsqueeze(rewrite, value, axis), &axis, 1, false);
}

static const char *flatten(struct rewrite *rewrite, const char *op, const char *value,
                           const struct bounded *type)
{
    return type->shape.rank == 2 ? rewrite_op(rewrite, op, NULL, value, NULL) : NULL;
}

static const char *block_of_one(struct rewrite *rewrite, const char *op, const char *value,
                                const struct bounded *type)
{
    Onnx__NodeProto *node;
    if (type->shape.rank != 4 || type->count == 0)
        return NULL;
    const char *result = rewrite_op(rewrite, op, &node, value, NULL);
    node_set_int(&rewrite->model->arena, node, "blocksize", 1);
    return result;
}

static const struct neutral neutrals[] = {
    {.op = "Mul", .make = with_one},
    {.op = "Div", .make = with_one},
    {.op = "Add", .make = plus_zero},
    {.op = "Sub", .make = with_zero},
    {.op = "And", .make = with_one},
    {.op = "Or", .make = with_zero},
    {.op = "Xor", .make = with_zero},
    {.op = "And", .make = with_itself},
    {.op = "Or", .make = with_itself},
    {.op = "BitwiseOr", .make = with_zero},
    {.op = "BitwiseXor", .make = with_zero},
    {.op = "BitwiseAnd", .make = with_itself},
    {.op = "Where", .make = where_true},
    {.op = "Where", .make = where_false},
    {.op = "Max", .make = alone},
    {.op = "Min", .make = alone},
    {.op = "Sum", .make = alone},
    {.op = "Mean", .make = alone},
    {.op = "Max", .make = with_itself},
    {.op = "Min", .make = with_itself},
    {.op = "Identity", .make = alone},
    {.op = "Dropout", .make = alone},
    {.op = "Concat", .make = concat_of_one},
    {.op = "Split", .make = split_into_one},
    {.op = "Slice", .make = slice_of_everything},
    {.op = "Expand", .make = expand},
    {.op = "Tile", .make = tile_once},
    {.op = "Pad", .make = pad_nothing},
    {.op = "Transpose", .make = transpose_nothing},
    {.op = "Reshape", .make = reshape_to_itself},
    {.op = "Gather", .make = gather_all},
    {.op = "Cast", .make = cast_to_itself},
    {.op = "ReduceSum", .make = sum_over_nothing},
    {.op = "ReduceSum", .make = reduce_one},
    {.op = "ReduceMax", .make = reduce_one},
    {.op = "ReduceMin", .make = reduce_one},
    {.op = "ReduceMean", .make = reduce_one},
    {.op = "Flatten", .make = flatten},
    {.op = "DepthToSpace", .make = block_of_one},
    {.op = "SpaceToDepth", .make = block_of_one},
};
enum { NEUTRALS = sizeof neutrals / sizeof *neutrals };

/* Where's first input is the condition, so the table's types say nothing of the value. */
static bool takes(const struct rewrite *rewrite, const struct neutral *neutral, enum dtype type)
{
    if (text_equal(neutral->op, "Where"))
        return rewrite_takes(rewrite, "Concat", type) &&
               (type != DTYPE_BFLOAT16 || rewrite_opset(rewrite) >= 16);
    return rewrite_takes(rewrite, neutral->op, type);
}

static int no_op(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after, *made = NULL;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    if (!type)
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    size_t first = (size_t)rng_below(&rewrite->rng, NEUTRALS);
    for (size_t i = 0; i < NEUTRALS && !made; i++) {
        const struct neutral *neutral = &neutrals[(first + i) % NEUTRALS];
        if (takes(rewrite, neutral, type->type))
            made = neutral->make(rewrite, neutral->op, before, type);
    }
    if (!made)
        return 0;
    rewrite_result(rewrite, made, after);
    return 1;
}

const struct rule rule_no_op = {
    .name = "no-op",
    .summary = "an operator that changes nothing inserted behind a value: times 1, a Slice of everything ...",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = no_op,
};
