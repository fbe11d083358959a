/* Rule 13 of EAGLE: a value encoded and decoded again, by operators that lose nothing. */
#include "rules/rule.h"

#include <math.h>

enum { ELEMENTS = 1 << 20 }; /* of the largest constant that a pair needs */

/* --- Blocks of space and depth --- */

/* Draws a block size that both spatial sizes are multiples of (space), or whose square divides the channels;
 * 0 when there is none. */
static int64_t draw_block(struct rewrite *rewrite, const struct shape *shape, bool space)
{
    int64_t found[3], count = 0;
    for (int64_t block = 2; block <= 4; block++)
        if (space ? shape->dims[2] % block == 0 && shape->dims[3] % block == 0
                  : shape->dims[1] % (block * block) == 0)
            found[count++] = block;
    return count ? found[rng_below(&rewrite->rng, (uint64_t)count)] : 0;
}

/* A value of another rank as one image with one channel, if there is a way to divide it into blocks. */
static bool as_image(const struct bounded *type, struct shape *image)
{
    if (type->count % 4)
        return false;
    *image = shape_make(4, (const int64_t[]){1, 1, 2, (int64_t)(type->count / 2)});
    return true;
}

static void set_block(struct rewrite *rewrite, Onnx__NodeProto *node, int64_t block)
{
    node_set_int(&rewrite->model->arena, node, "blocksize", block);
}

/* SpaceToDepth lays blocks out as DepthToSpace reads them in its default mode. */
static int depth_space(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    struct shape image;
    const char *before, *after;
    Onnx__NodeProto *there;
    if (!type || !type->count || type->type == DTYPE_STRING)
        return 0;
    bool flat = type->shape.rank != 4;
    if (flat && !as_image(type, &image))
        return 0;
    image = flat ? image : type->shape;
    bool space = flat || rng_chance(&rewrite->rng, 0.5);
    int64_t block = draw_block(rewrite, &image, space);
    if (!block)
        block = draw_block(rewrite, &image, space = !space);
    if (!block)
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *x = flat ? rewrite_reshape(rewrite, before, &image) : before;
    x = rewrite_op(rewrite, space ? "SpaceToDepth" : "DepthToSpace", &there, x, NULL);
    set_block(rewrite, there, block);
    x = rewrite_op(rewrite, space ? "DepthToSpace" : "SpaceToDepth", &there, x, NULL);
    set_block(rewrite, there, block);
    rewrite_result(rewrite, flat ? rewrite_reshape(rewrite, x, &type->shape) : x, after);
    return 1;
}

const struct rule rule_depth_space = {
    .name = "depth-space",
    .paper = 13,
    .summary = "SpaceToDepth and DepthToSpace inserted behind a value, in either order",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = depth_space,
};

/* --- Gather and Scatter --- */

static const char *zeros(struct rewrite *rewrite, const struct bounded *type, struct error *err)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, type->type, &type->shape, 0, err))
        return NULL;
    const char *name = rewrite_tensor(rewrite, &tensor);
    tensor_release(&tensor);
    return name;
}

/* Rows picked in another order and scattered to where they were, over zeros. */
static int gather_scatter(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    struct tensor order;
    const char *before, *after;
    if (!type || !type->count || type->shape.rank < 1 || type->count > ELEMENTS ||
        !dtype_in(type->type, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)) || rewrite_opset(rewrite) < 11 ||
        (type->type == DTYPE_BFLOAT16 && rewrite_opset(rewrite) < 13))
        return 0;
    int64_t rows = type->shape.dims[0];
    struct shape column = shape_make(2, (const int64_t[]){rows, 1});
    const char *blank = zeros(rewrite, type, rewrite->err);
    if (!blank || tensor_alloc(&order, DTYPE_INT64, &column, 0, rewrite->err))
        return -1;
    rng_order(&rewrite->rng, order.data, (size_t)rows);
    const char *list = rewrite_ints(rewrite, order.data, (size_t)rows);
    const char *places = rewrite_tensor(rewrite, &order);
    tensor_release(&order);
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *picked = rewrite_op(rewrite, "Gather", NULL, before, list, NULL);
    rewrite_op_to(rewrite, after, "ScatterND", blank, places, picked, NULL);
    return 1;
}

const struct rule rule_gather_scatter = {
    .name = "gather-scatter",
    .paper = 13,
    .summary = "rows picked in another order by Gather and put back by ScatterND",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = gather_scatter,
};

/* --- Quantisation --- */

/* The least power of two of which all numbers are multiples that fit into a byte, so that they use much of
 * its range; 0 when there is none. */
static long double grid(const struct tensor *tensor)
{
    for (int exponent = -6; exponent <= 4; exponent++) {
        long double step = exp2l(exponent);
        size_t i = 0;
        for (; i < tensor->count; i++) {
            long double steps = tensor_get(tensor, i) / step;
            if (!(steps == floorl(steps) && steps >= -128 && steps <= 127))
                break;
        }
        if (i == tensor->count)
            return step;
    }
    return 0;
}

static int quantize_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    struct tensor tensor;
    const char *before, *after;
    if (!type || type->type != DTYPE_FLOAT || !type->count || rewrite_opset(rewrite) < 10)
        return 0;
    int status = rewrite_known(rewrite, site->value->name, &tensor, rewrite->err);
    if (status != 1)
        return status;
    bool is_signed = rng_chance(&rewrite->rng, 0.5);
    long double step = grid(&tensor);
    tensor_release(&tensor);
    if (step == 0)
        return 0;
    const char *scale = rewrite_scalar(rewrite, DTYPE_FLOAT, 0, step);
    const char *zero = rewrite_scalar(rewrite, is_signed ? DTYPE_INT8 : DTYPE_UINT8, 0, is_signed ? 0 : 128);
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *quantized = rewrite_op(rewrite, "QuantizeLinear", NULL, before, scale, zero, NULL);
    rewrite_op_to(rewrite, after, "DequantizeLinear", quantized, scale, zero, NULL);
    return 1;
}

const struct rule rule_quantize_pair = {
    .name = "quantize-pair",
    .paper = 13,
    .summary = "QuantizeLinear and DequantizeLinear behind a value whose numbers lie on the grid",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = quantize_pair,
};
