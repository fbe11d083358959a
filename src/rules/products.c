/* Gemm by MatMul, MatMul by Gemm, and a MatMul in parts. */
#include "base/str.h"
#include "rules/rule.h"

/* Whether a number is the same in a type. */
static bool is_exact(enum dtype type, float number)
{
    if (dtype_is_float(type))
        return dtype_round(type, number) == number;
    return number >= (dtype_is_signed(type) ? -100 : 0) && number <= 100 && number == (float)(int)number;
}

static const char *scale(struct rewrite *rewrite, const char *value, enum dtype type, float factor)
{
    if (factor == 1)
        return value;
    return rewrite_op(rewrite, "Mul", NULL, value, rewrite_scalar(rewrite, type, 0, factor), NULL);
}

static const char *matrix(struct rewrite *rewrite, const char *value, bool transposed)
{
    static const int64_t order[] = {1, 0};
    return transposed ? rewrite_transpose(rewrite, value, order, 2) : value;
}

/* What a Gemm does, with everything known about its operands. */
struct gemm {
    enum dtype type;
    bool trans_a, trans_b;
    float alpha, beta;
};

static bool read_gemm(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct gemm *g)
{
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    if (!a || !b || a->shape.rank != 2 || b->shape.rank != 2)
        return false;
    *g = (struct gemm){a->type, node_int(node, "transA", 0) != 0, node_int(node, "transB", 0) != 0,
                       node_float(node, "alpha", 1), node_float(node, "beta", 1)};
    return is_exact(a->type, g->alpha) && is_exact(a->type, g->beta) &&
           rewrite_takes(rewrite, "MatMul", a->type) && rewrite_takes(rewrite, "Mul", a->type);
}

/* alpha * product + beta * C, in place of the Gemm. */
static void finish_gemm(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct gemm *g,
                        const char *product)
{
    const char *result = scale(rewrite, product, g->type, g->alpha);
    if (rewrite_has_input(node, 2)) {
        const char *added = scale(rewrite, node->input[2], g->type, g->beta);
        result = rewrite_op(rewrite, "Add", NULL, result, added, NULL);
    }
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, result, node->output[0]);
}

static int gemm_by_matmul(struct rewrite *rewrite, const struct rule_site *site)
{
    struct gemm g;
    if (!read_gemm(rewrite, site->node, &g))
        return 0;
    const char *a = matrix(rewrite, site->node->input[0], g.trans_a);
    const char *b = matrix(rewrite, site->node->input[1], g.trans_b);
    finish_gemm(rewrite, site->node, &g, rewrite_op(rewrite, "MatMul", NULL, a, b, NULL));
    return 1;
}

const struct rule rule_gemm_by_matmul = {
    .name = "gemm-by-matmul",
    .paper = 7,
    .summary = "a Gemm by Transpose, MatMul, Mul and Add",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Gemm",
    .apply = gemm_by_matmul,
};

/* The equation of a MatMul; NULL when both operands have leading dimensions, but not equally many: an
 * ellipsis must stand for the same number of them everywhere. */
static const char *matmul_equation(struct rewrite *rewrite, int left, int right)
{
    if (left > 2 && right > 2 && left != right)
        return NULL;
    return arena_printf(&rewrite->model->arena, "%s%s,%s%s->%s%s%s", left > 2 ? "..." : "",
                        left == 1 ? "j" : "ij", right > 2 ? "..." : "", right == 1 ? "j" : "jk",
                        left > 2 || right > 2 ? "..." : "", left == 1 ? "" : "i", right == 1 ? "" : "k");
}

static int product_by_einsum(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *made;
    struct arena *arena = &rewrite->model->arena;
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    struct gemm g;
    bool gemm = text_equal(node->op_type, "Gemm");
    if (!a || !b || a->shape.rank < 1 || b->shape.rank < 1 || rewrite_opset(rewrite) < 12 ||
        !rewrite_takes(rewrite, "Einsum", a->type) || (gemm && !read_gemm(rewrite, node, &g)))
        return 0;
    const char *equation =
        gemm ? arena_printf(arena, "%s,%s->ik", g.trans_a ? "ji" : "ij", g.trans_b ? "kj" : "jk")
             : matmul_equation(rewrite, a->shape.rank, b->shape.rank);
    if (!equation)
        return 0;
    const char *product = rewrite_op(rewrite, "Einsum", &made, node->input[0], node->input[1], NULL);
    node_set_string(arena, made, "equation", equation);
    if (gemm) {
        finish_gemm(rewrite, node, &g, product);
    } else {
        rewrite_remove(rewrite, node);
        rewrite_result(rewrite, product, node->output[0]);
    }
    return 1;
}

const struct rule rule_product_by_einsum = {
    .name = "product-by-einsum",
    .summary = "a MatMul, or the product of a Gemm, by Einsum",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul|Gemm",
    .apply = product_by_einsum,
};

/* The rows of all matrices of A are those of one matrix when B is only one. */
static int matmul_by_gemm(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *gemm;
    struct arena *arena = &rewrite->model->arena;
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    if (!a || !b || a->shape.rank < 1 || b->shape.rank < 1 || b->shape.rank > 2 || a->count == 0 ||
        b->count == 0 || rewrite_opset(rewrite) < 11 || !rewrite_takes(rewrite, "Gemm", a->type))
        return 0;
    int64_t k = a->shape.dims[a->shape.rank - 1], n = b->shape.rank == 2 ? b->shape.dims[1] : 1;
    if (b->shape.dims[0] != k)
        return 0;
    int64_t m = (int64_t)a->count / k;
    struct shape left = {.rank = 2, .dims = {m, k}}, right = {.rank = 2, .dims = {k, n}}, result = a->shape;
    result.rank--;
    if (b->shape.rank == 2)
        result.dims[result.rank++] = n;
    bool trans_a = rng_below(&rewrite->rng, 2), trans_b = rng_below(&rewrite->rng, 2);
    const char *rows = a->shape.rank == 2 ? node->input[0] : rewrite_reshape(rewrite, node->input[0], &left);
    const char *columns =
        b->shape.rank == 2 ? node->input[1] : rewrite_reshape(rewrite, node->input[1], &right);
    const char *product = rewrite_op(rewrite, "Gemm", &gemm, matrix(rewrite, rows, trans_a),
                                     matrix(rewrite, columns, trans_b), NULL);
    node_set_int(arena, gemm, "transA", trans_a);
    node_set_int(arena, gemm, "transB", trans_b);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite,
                   a->shape.rank == 2 && b->shape.rank == 2 ? product
                                                            : rewrite_reshape(rewrite, product, &result),
                   node->output[0]);
    return 1;
}

const struct rule rule_matmul_by_gemm = {
    .name = "matmul-by-gemm",
    .summary = "a MatMul by a Gemm, with operands transposed or not",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul",
    .apply = matmul_by_gemm,
};

/* Both parts of a value, cut along an axis. */
static void halve(struct rewrite *rewrite, const char *value, int64_t axis, int64_t first, int64_t size,
                  const char *parts[2])
{
    rewrite_split(rewrite, value, axis, (const int64_t[]){first, size - first}, 2, parts);
}

static int matmul_split(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    const char *left[2] = {node->input[0], node->input[0]}, *right[2] = {node->input[1], node->input[1]};
    const char *products[2];
    if (!a || !b || a->shape.rank < 2 || b->shape.rank < 2 || a->count == 0 || b->count == 0 ||
        rewrite_opset(rewrite) < 11)
        return 0;
    int ra = a->shape.rank, rb = b->shape.rank, most = ra > rb ? ra : rb;
    const int64_t sizes[3] = {a->shape.dims[ra - 2], b->shape.dims[rb - 1], a->shape.dims[ra - 1]};
    enum { ROWS, COLUMNS, INNER } along = (int)rng_below(&rewrite->rng, 3);
    if (sizes[along] < 2)
        along = sizes[INNER] > 1 ? INNER : sizes[ROWS] > 1 ? ROWS : COLUMNS;
    if (sizes[along] < 2 || !rewrite_takes(rewrite, "Add", a->type))
        return 0;
    int64_t first = 1 + (int64_t)rng_below(&rewrite->rng, (uint64_t)sizes[along] - 1);
    if (along != COLUMNS)
        halve(rewrite, node->input[0], along == ROWS ? ra - 2 : ra - 1, first, sizes[along], left);
    if (along != ROWS)
        halve(rewrite, node->input[1], along == INNER ? rb - 2 : rb - 1, first, sizes[along], right);
    for (int i = 0; i < 2; i++)
        products[i] = rewrite_op(rewrite, "MatMul", NULL, left[i], right[i], NULL);
    rewrite_remove(rewrite, node);
    if (along == INNER)
        rewrite_op_to(rewrite, node->output[0], "Add", products[0], products[1], NULL);
    else
        rewrite_result(rewrite, rewrite_concat(rewrite, along == ROWS ? most - 2 : most - 1, products, 2),
                       node->output[0]);
    return 1;
}

const struct rule rule_matmul_split = {
    .name = "matmul-split",
    .summary = "a MatMul by two: of parts of the rows or columns, or of the terms of its sums",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul",
    .apply = matmul_split,
};

/* A value with its last two dimensions exchanged. */
static const char *turn_matrices(struct rewrite *rewrite, const char *value, int rank)
{
    int64_t order[TENSOR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
    return rewrite_transpose(rewrite, value, order, (size_t)rank);
}

static int matmul_transposed(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    if (!a || !b || a->shape.rank < 2 || b->shape.rank < 2)
        return 0;
    int rank = a->shape.rank > b->shape.rank ? a->shape.rank : b->shape.rank;
    const char *left = turn_matrices(rewrite, node->input[1], b->shape.rank);
    const char *right = turn_matrices(rewrite, node->input[0], a->shape.rank);
    const char *product = rewrite_op(rewrite, "MatMul", NULL, left, right, NULL);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, turn_matrices(rewrite, product, rank), node->output[0]);
    return 1;
}

const struct rule rule_matmul_transposed = {
    .name = "matmul-transposed",
    .summary = "a MatMul by that of its operands transposed and exchanged",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul",
    .apply = matmul_transposed,
};

static int matmul_batched(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *a = rewrite_input(rewrite, node, 0), *b = rewrite_input(rewrite, node, 1);
    if (!a || !b || a->shape.rank < 2 || b->shape.rank < 2 || a->shape.rank > 4 || b->shape.rank > 4)
        return 0;
    const char *left = rewrite_unsqueeze(rewrite, node->input[0], 0);
    const char *right = rewrite_unsqueeze(rewrite, node->input[1], 0);
    const char *product = rewrite_op(rewrite, "MatMul", NULL, left, right, NULL);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_squeeze(rewrite, product, 0), node->output[0]);
    return 1;
}

const struct rule rule_matmul_batched = {
    .name = "matmul-batched",
    .summary = "a MatMul by one with one more batch dimension, of size 1",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul",
    .apply = matmul_batched,
};

static int gemm_transposed(struct rewrite *rewrite, const struct rule_site *site)
{
    static const char *const flags[] = {"transA", "transB"};
    Onnx__NodeProto *node = site->node;
    size_t number = (size_t)rng_below(&rewrite->rng, 2);
    const struct bounded *operand = rewrite_input(rewrite, node, number);
    if (!operand || operand->shape.rank != 2)
        return 0;
    rewrite_set_input(rewrite, node, number, matrix(rewrite, node->input[number], true));
    node_set_int(&rewrite->model->arena, node, flags[number], !node_int(node, flags[number], 0));
    return 1;
}

const struct rule rule_gemm_transposed = {
    .name = "gemm-transposed",
    .respells = true,
    .summary = "a Gemm by one that takes an operand transposed",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Gemm",
    .apply = gemm_transposed,
};
