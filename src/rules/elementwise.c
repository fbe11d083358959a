/* Rules that apply an elementwise operator to the same elements in another arrangement. */
#include "rules/rule.h"

#include "base/str.h"

enum { MAX_INPUTS = 8, MAX_PIECES = 3 };

#define ELEMENTWISE                                                                                          \
    "Abs|Acos|Acosh|Add|And|Asin|Asinh|Atan|Atanh|BitShift|BitwiseNot|Cast|Ceil|Celu|Clip|Cos|Cosh|Div|Elu|" \
    "Equal|Erf|Exp|Floor|Gelu|Greater|GreaterOrEqual|HardSigmoid|HardSwish|IsInf|IsNaN|LeakyRelu|Less|"      \
    "LessOrEqual|Log|Max|Mean|Min|Mish|Mod|Mul|Neg|Not|Or|PRelu|Pow|Reciprocal|Relu|Round|Selu|Shrink|"      \
    "Sigmoid|Sign|Sin|Sinh|Softplus|Softsign|Sqrt|Sub|Sum|Tan|Tanh|ThresholdedRelu|Where|Xor"

/* An elementwise node whose inputs have the shape of its output, or are single numbers that stay as they are.
 */
struct plain_node {
    const struct bounded *result;
    bool whole[MAX_INPUTS]; /* inputs that have the shape of the output */
};

static bool describe(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct plain_node *plain)
{
    bool any = false;
    plain->result = rewrite_one_output(node) ? rewrite_type(rewrite, node->output[0]) : NULL;
    if (!plain->result || *node->domain || node->n_input > MAX_INPUTS ||
        !rewrite_takes(rewrite, "Concat", plain->result->type))
        return false;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *in = rewrite_input(rewrite, node, i);
        plain->whole[i] = in && shape_equal(&in->shape, &plain->result->shape);
        bool number = in && in->count == 1 && in->shape.rank <= 1;
        /* The limits of Clip are numbers even where the data is one too. */
        if (i > 0 && number && text_equal(node->op_type, "Clip"))
            plain->whole[i] = false;
        if (*node->input[i] && !plain->whole[i] && !number)
            return false;
        if (plain->whole[i] && !rewrite_takes(rewrite, "Concat", in->type))
            return false;
        any |= plain->whole[i];
    }
    return any;
}

/* Lets the node read what `there` makes of each whole input, and gives its output a new name. */
static const char *arrange(struct rewrite *rewrite, Onnx__NodeProto *node, const struct plain_node *plain,
                           const char *(*there)(struct rewrite *, const char *, const void *),
                           const void *context)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (plain->whole[i])
            rewrite_set_input(rewrite, node, i, there(rewrite, node->input[i], context));
    const char *result = node->output[0], *inner = rewrite_name(rewrite, node->op_type);
    node->output[0] = arena_strdup(&rewrite->model->arena, inner);
    return result;
}

/* --- Cut --- */

static void piece(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct plain_node *plain,
                  int64_t axis, int64_t start, int64_t end, const char *result)
{
    Onnx__NodeProto *copy = rewrite_copy_node(rewrite, node);
    for (size_t i = 0; i < node->n_input; i++)
        if (plain->whole[i])
            rewrite_set_input(rewrite, copy, i, rewrite_slice(rewrite, node->input[i], axis, start, end));
    copy->output[0] = arena_strdup(&rewrite->model->arena, result);
}

static int cut(struct rewrite *rewrite, const struct rule_site *site)
{
    struct plain_node plain;
    const char *pieces[MAX_PIECES];
    int axes[TENSOR_MAX_RANK], n_axes = 0;
    if (!describe(rewrite, site->node, &plain) || plain.result->count == 0)
        return 0;
    for (int i = 0; i < plain.result->shape.rank; i++)
        if (plain.result->shape.dims[i] > 1)
            axes[n_axes++] = i;
    if (n_axes == 0)
        return 0;
    int axis = axes[rng_below(&rewrite->rng, (uint64_t)n_axes)];
    int64_t size = plain.result->shape.dims[axis], start = 0;
    size_t count = size > 2 && rng_chance(&rewrite->rng, 0.3) ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        int64_t end =
            i + 1 == count ? size : rng_range(&rewrite->rng, start + 1, size - (int64_t)(count - 1 - i));
        pieces[i] = rewrite_name(rewrite, "piece");
        piece(rewrite, site->node, &plain, axis, start, end, pieces[i]);
        start = end;
    }
    const char *whole = site->node->output[0];
    rewrite_remove(rewrite, site->node);
    rewrite_result(rewrite, rewrite_concat(rewrite, axis, pieces, count), whole);
    return 1;
}

const struct rule rule_elementwise_batched = {
    .name = "elementwise-batched",
    .summary = "an elementwise operator applied to slices of its inputs, joined by Concat",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = ELEMENTWISE,
    .apply = cut,
};

/* --- Flattened --- */

static const char *flattened(struct rewrite *rewrite, const char *value, const void *context)
{
    return rewrite_reshape(rewrite, value, context);
}

static int flatten(struct rewrite *rewrite, const struct rule_site *site)
{
    struct plain_node plain;
    if (!describe(rewrite, site->node, &plain) || plain.result->count == 0 || plain.result->shape.rank == 1 ||
        !rewrite_takes(rewrite, "Reshape", plain.result->type))
        return 0;
    struct shape flat = {.rank = 1, .dims = {(int64_t)plain.result->count}};
    const char *result = arrange(rewrite, site->node, &plain, flattened, &flat);
    rewrite_result(rewrite, rewrite_reshape(rewrite, site->node->output[0], &plain.result->shape), result);
    return 1;
}

const struct rule rule_elementwise_reshaped = {
    .name = "elementwise-reshaped",
    .summary = "an elementwise operator applied to flattened inputs",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = ELEMENTWISE,
    .apply = flatten,
};

/* --- Transposed --- */

struct order {
    size_t rank;
    int64_t there[TENSOR_MAX_RANK], back[TENSOR_MAX_RANK];
};

static void draw_order(struct rng *rng, struct order *order)
{
    rng_order(rng, order->there, order->rank);
    for (size_t i = 0; i < order->rank; i++)
        order->back[order->there[i]] = (int64_t)i;
}

static const char *transposed(struct rewrite *rewrite, const char *value, const void *context)
{
    const struct order *order = context;
    return rewrite_transpose(rewrite, value, order->there, order->rank);
}

static int transpose(struct rewrite *rewrite, const struct rule_site *site)
{
    struct plain_node plain;
    if (!describe(rewrite, site->node, &plain) || plain.result->shape.rank < 2)
        return 0;
    struct order order = {.rank = (size_t)plain.result->shape.rank};
    draw_order(&rewrite->rng, &order);
    const char *result = arrange(rewrite, site->node, &plain, transposed, &order);
    rewrite_result(rewrite, rewrite_transpose(rewrite, site->node->output[0], order.back, order.rank),
                   result);
    return 1;
}

const struct rule rule_elementwise_transposed = {
    .name = "elementwise-transposed",
    .summary = "an elementwise operator between a Transpose and its inverse",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = ELEMENTWISE,
    .apply = transpose,
};
