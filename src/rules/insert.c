/* Rules that insert nodes without effect behind a value. */
#include "rules/rule.h"

static int identity(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    const char *before, *after;
    (void)err;
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

static void draw_order(struct rng *rng, int64_t *order, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        order[i] = (int64_t)i;
    for (size_t i = rank; i > 1; i--) {
        size_t k = (size_t)rng_below(rng, i);
        int64_t swapped = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swapped;
    }
}

static int transpose_pair(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    const char *before, *after;
    int64_t order[TENSOR_MAX_RANK], back[TENSOR_MAX_RANK];
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    (void)err;
    if (!type || type->shape.rank < 2)
        return 0;
    size_t rank = (size_t)type->shape.rank;
    draw_order(&rewrite->rng, order, rank);
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
