/* Rules that insert nodes without effect behind a value. */
#include "rules/rule.h"

#include "base/str.h"

static int identity(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    /* From opset 13 on Identity takes every type of tensor; sequences are left alone. */
    if (!rewrite_type(rewrite, site->value->name))
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    rewrite_op_to(rewrite, after, "Identity", before, NULL);
    return 1;
}

const struct rule rule_identity = {
    .name = "identity",
    .summary = "an Identity inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = identity,
};

static int chained_identity(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    if (!rewrite_type(rewrite, site->value->name))
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    for (uint64_t more = 1 + rng_below(&rewrite->rng, 4); more > 0; more--)
        before = rewrite_op(rewrite, "Identity", NULL, before, NULL);
    rewrite_op_to(rewrite, after, "Identity", before, NULL);
    return 1;
}

const struct rule rule_chained_identity = {
    .name = "chained-identity",
    .summary = "two to five Identities in a row inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = chained_identity,
};

static int transpose_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    int64_t order[TENSOR_MAX_RANK], back[TENSOR_MAX_RANK];
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    if (!type || type->shape.rank < 2)
        return 0;
    size_t rank = (size_t)type->shape.rank;
    rng_order(&rewrite->rng, order, rank);
    for (size_t i = 0; i < rank; i++)
        back[order[i]] = (int64_t)i;
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *turned = rewrite_transpose(rewrite, before, order, rank);
    Onnx__NodeProto *node = rewrite_op_to(rewrite, after, "Transpose", turned, NULL);
    node_set_ints(&rewrite->model->arena, node, "perm", back, rank);
    return 1;
}

const struct rule rule_transpose_pair = {
    .name = "transpose-pair",
    .summary = "a Transpose and its inverse inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = transpose_pair,
};

enum { PAIR_MAX_RANK = 7 }; /* few engines take more than 8 dimensions */

static int unsqueeze_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    if (!type || type->shape.rank > PAIR_MAX_RANK || !rewrite_takes(rewrite, "Unsqueeze", type->type) ||
        !rewrite_takes(rewrite, "Squeeze", type->type))
        return 0;
    int64_t axis = rng_range(&rewrite->rng, 0, type->shape.rank);
    /* Both ways of counting mean the same axis. */
    int64_t back = rng_chance(&rewrite->rng, 0.3) ? axis - type->shape.rank - 1 : axis;
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *wider = rewrite_unsqueeze(rewrite, before, axis);
    rewrite_result(rewrite, rewrite_squeeze(rewrite, wider, back), after);
    return 1;
}

const struct rule rule_unsqueeze_pair = {
    .name = "unsqueeze-pair",
    .summary = "an Unsqueeze and its Squeeze inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = unsqueeze_pair,
};

/* One dimension, or two neighbours made one, or a dimension of 1 more. */
static struct shape draw_other_shape(struct rng *rng, const struct bounded *type)
{
    struct shape shape = {.rank = 1, .dims = {(int64_t)type->count}};
    int rank = type->shape.rank;
    uint64_t kind = rng_below(rng, 3);
    if (kind == 0 || (kind == 1 && rank < 2) || (kind == 2 && rank > PAIR_MAX_RANK))
        return shape;
    shape = type->shape;
    if (kind == 1) {
        int merged = (int)rng_below(rng, (uint64_t)rank - 1);
        shape.dims[merged] *= shape.dims[merged + 1];
        for (int i = merged + 1; i + 1 < rank; i++)
            shape.dims[i] = shape.dims[i + 1];
        shape.rank--;
    } else {
        shape.dims[shape.rank++] = 1;
    }
    return shape;
}

static int reshape_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    /* Before opset 14 no Reshape can say that a dimension is 0. */
    if (!type || type->count == 0 || !rewrite_takes(rewrite, "Reshape", type->type))
        return 0;
    struct shape shape = draw_other_shape(&rewrite->rng, type);
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *other = rewrite_reshape(rewrite, before, &shape);
    rewrite_result(rewrite, rewrite_reshape(rewrite, other, &type->shape), after);
    return 1;
}

const struct rule rule_reshape_pair = {
    .name = "reshape-pair",
    .summary = "a Reshape and its inverse inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = reshape_pair,
};

/* The least integer has no negative, so that integers have BitwiseNot only. */
static const char *inverse_of_itself(const struct rewrite *rewrite, enum dtype type)
{
    static const char *const operators[] = {"Not", "BitwiseNot", "Neg"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (rewrite_takes(rewrite, operators[i], type) &&
            (dtype_is_float(type) || !text_equal(operators[i], "Neg")))
            return operators[i];
    return NULL;
}

static int double_negation(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    const char *op = type ? inverse_of_itself(rewrite, type->type) : NULL;
    if (!op)
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *negated = rewrite_op(rewrite, op, NULL, before, NULL);
    rewrite_op_to(rewrite, after, op, negated, NULL);
    return 1;
}

const struct rule rule_double_negation = {
    .name = "double-negation",
    .summary = "Neg, Not or BitwiseNot twice behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = double_negation,
};
