/* Rules that write an operator with its operands in another order. */
#include "rules/rule.h"

#include "base/str.h"

static const char *const commutative[] = {"Add", "Mul", "And",  "Or",         "Xor",       "Equal",     "Max",
                                          "Min", "Sum", "Mean", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};

/* Comparisons, and what they are with their operands exchanged. */
static const char *const mirrored[][2] = {
    {"Greater", "Less"},
    {"Less", "Greater"},
    {"GreaterOrEqual", "LessOrEqual"},
    {"LessOrEqual", "GreaterOrEqual"},
};

static bool is_commutative(const char *op)
{
    for (size_t i = 0; i < sizeof commutative / sizeof *commutative; i++)
        if (text_equal(op, commutative[i]))
            return true;
    return false;
}

static void swap(char **a, char **b)
{
    char *kept = *a;
    *a = *b;
    *b = kept;
}

/* False when the order that was drawn is the one there was. */
static bool shuffle(struct rng *rng, Onnx__NodeProto *node)
{
    bool changed = false;
    if (node->n_input == 2) {
        changed = !text_equal(node->input[0], node->input[1]);
        swap(&node->input[0], &node->input[1]);
        return changed;
    }
    for (size_t i = node->n_input; i > 1; i--) {
        size_t k = (size_t)rng_below(rng, i);
        changed |= !text_equal(node->input[i - 1], node->input[k]);
        swap(&node->input[i - 1], &node->input[k]);
    }
    return changed;
}

static int exchange(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    if (*node->domain || rewrite_opset(rewrite) < 8 || node->n_input < 2)
        return 0;
    for (size_t i = 0; i < node->n_input; i++)
        if (!*node->input[i])
            return 0;
    rewrite->model->path = NULL;
    if (is_commutative(node->op_type))
        return shuffle(&rewrite->rng, node);
    for (size_t i = 0; i < sizeof mirrored / sizeof *mirrored; i++)
        if (text_equal(node->op_type, mirrored[i][0])) {
            node->op_type = arena_strdup(&rewrite->model->arena, mirrored[i][1]);
            swap(&node->input[0], &node->input[1]);
            return 1;
        }
    return 0;
}

const struct rule rule_operands_exchanged = {
    .name = "operands-exchanged",
    .summary = "the operands of a commutative operator, or of a mirrored comparison, in another order",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Add|Mul|And|Or|Xor|Equal|Max|Min|Sum|Mean|BitwiseAnd|BitwiseOr|BitwiseXor|Greater|Less|"
                 "GreaterOrEqual|LessOrEqual",
    .apply = exchange,
};

/* a - b is a + -b, rounding included. Integers are left alone: the least one has no negative. */
static int add_negative(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *b = rewrite_input(rewrite, node, 1);
    if (*node->domain || !b || node->n_input != 2 || !dtype_is_float(b->type) ||
        !rewrite_takes(rewrite, "Neg", b->type) || !rewrite_takes(rewrite, "Add", b->type))
        return 0;
    const char *negative = rewrite_op(rewrite, "Neg", NULL, node->input[1], NULL);
    node->op_type = arena_strdup(&rewrite->model->arena, "Add");
    rewrite_set_input(rewrite, node, 1, negative);
    if (rng_chance(&rewrite->rng, 0.5))
        swap(&node->input[0], &node->input[1]);
    return 1;
}

const struct rule rule_add_negative = {
    .name = "add-negative",
    .summary = "a Sub of real numbers by an Add of the negative",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Sub",
    .apply = add_negative,
};

static int where_not(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    if (*node->domain || node->n_input != 3 || rewrite_opset(rewrite) < 9)
        return 0;
    rewrite_set_input(rewrite, node, 0, rewrite_op(rewrite, "Not", NULL, node->input[0], NULL));
    swap(&node->input[1], &node->input[2]);
    return 1;
}

const struct rule rule_where_not = {
    .name = "where-not",
    .summary = "a Where by the opposite condition and exchanged branches",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Where",
    .apply = where_not,
};

/*
 * x / y by x times 1 / y. Only the reciprocal of a subnormal overflows, and every engine may read one as 0.
 * Zeros and infinities give the same: x / 0 is x times infinity.
 */
static int times_reciprocal(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *y = rewrite_input(rewrite, node, 1);
    if (*node->domain || !y || node->n_input != 2 || !dtype_is_float(y->type) ||
        !rewrite_takes(rewrite, "Reciprocal", y->type) || !rewrite_takes(rewrite, "Mul", y->type))
        return 0;
    const char *reciprocal = rewrite_op(rewrite, "Reciprocal", NULL, node->input[1], NULL);
    node->op_type = arena_strdup(&rewrite->model->arena, "Mul");
    rewrite_set_input(rewrite, node, 1, reciprocal);
    return 1;
}

const struct rule rule_times_reciprocal = {
    .name = "times-reciprocal",
    .summary = "a Div of real numbers by a product with the Reciprocal",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Div",
    .apply = times_reciprocal,
};
