/*
 * Rule 12 of EAGLE: MatMulInteger and ConvInteger by products of other types, which are exact as long as no
 * sum reaches the end of the mantissa. After its zero point is taken off, the magnitude of an 8-bit number is
 * at most 255.
 */
#include "rules/rule.h"

#include "base/str.h"

static const int64_t factor = 255 * 255;

/* How many products are summed up in each result; 0 when the shapes are not known. */
static int64_t summands(const struct rewrite *rewrite, const Onnx__NodeProto *node, bool conv)
{
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    if (!a || !b || !a->count || !b->count || a->shape.rank < (conv ? 3 : 2) || b->shape.rank < 2)
        return 0;
    return conv ? (int64_t)(b->count / (size_t)b->shape.dims[0]) : a->shape.dims[a->shape.rank - 1];
}

/*
 * An operand in the type of the product, its zero point taken off. A list of zero points belongs to the rows
 * of A, to the columns of B or to the output channels of W, and is reshaped to broadcast with them.
 */
static const char *operand(struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number,
                           enum dtype type, int axis)
{
    const struct bounded *x = rewrite_input(rewrite, node, number);
    const struct bounded *zero = rewrite_input(rewrite, node, number + 2);
    const char *wide = rewrite_cast(rewrite, node->input[number], type);
    if (!rewrite_has_input(node, number + 2))
        return wide;
    const char *offset = rewrite_cast(rewrite, node->input[number + 2], type);
    if (zero->count != 1) {
        struct shape shape = {.rank = x->shape.rank};
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = i == axis ? (int64_t)zero->count : 1;
        offset = rewrite_reshape(rewrite, offset, &shape);
    } else if (zero->shape.rank) {
        offset = rewrite_reshape(rewrite, offset, &(struct shape){.rank = 0});
    }
    return rewrite_op(rewrite, "Sub", NULL, wide, offset, NULL);
}

/* A zero point is one number, or a list with one for each place on the axis. */
static bool zero_fits(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number, int axis)
{
    const struct bounded *x = rewrite_input(rewrite, node, number);
    const struct bounded *zero = rewrite_input(rewrite, node, number + 2);
    if (!rewrite_has_input(node, number + 2))
        return true;
    return zero && (zero->count == 1 ||
                    (zero->shape.rank == 1 && axis >= 0 && zero->shape.dims[0] == x->shape.dims[axis]));
}

static enum dtype draw_type(struct rewrite *rewrite, int64_t count, bool conv)
{
    /* Sums of whole numbers are exact below the end of the mantissa, in whatever order they are added. */
    bool single = count <= ((int64_t)1 << 24) / factor;
    if (conv)
        return single ? DTYPE_FLOAT : DTYPE_DOUBLE;
    enum dtype types[] = {DTYPE_INT32, DTYPE_DOUBLE, DTYPE_FLOAT};
    return types[rng_below(&rewrite->rng, single ? 3 : 2)];
}

static int integer_product(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    bool conv = text_equal(node->op_type, "ConvInteger");
    int64_t count = summands(rewrite, node, conv);
    if (count < 1 || count > INT32_MAX / factor)
        return 0;
    int rows = conv ? -1 : rewrite_input(rewrite, node, 0)->shape.rank - 2;
    int columns = conv ? 0 : rewrite_input(rewrite, node, 1)->shape.rank - 1;
    if (!zero_fits(rewrite, node, 0, rows) || !zero_fits(rewrite, node, 1, columns))
        return 0;
    enum dtype type = draw_type(rewrite, count, conv);
    const char *a = operand(rewrite, node, 0, type, rows), *b = operand(rewrite, node, 1, type, columns);
    const char *product = rewrite_name(rewrite, "product");
    Onnx__NodeProto *made = rewrite_copy_node(rewrite, node);
    made->op_type = arena_strdup(&rewrite->model->arena, conv ? "Conv" : "MatMul");
    made->n_input = 2;
    rewrite_set_input(rewrite, made, 0, a);
    rewrite_set_input(rewrite, made, 1, b);
    made->output[0] = arena_strdup(&rewrite->model->arena, product);
    rewrite_remove(rewrite, node);
    Onnx__NodeProto *back = rewrite_op_to(rewrite, node->output[0], "Cast", product, NULL);
    node_set_int(&rewrite->model->arena, back, "to", DTYPE_INT32);
    return 1;
}

const struct rule rule_integer_product = {
    .name = "integer-product",
    .paper = 12,
    .summary = "an integer product by one of 32-bit or floating-point numbers that is exact",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMulInteger|ConvInteger",
    .apply = integer_product,
};
