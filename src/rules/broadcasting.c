/* Rules about broadcasting: made explicit by Expand, and left to the operator. */
#include "rules/rule.h"

#include "base/str.h"

#include <string.h>

enum { MAX_ELEMENTS = 1 << 20 };

#define BROADCASTING                                                                                      \
    "Add|And|BitShift|BitwiseAnd|BitwiseOr|BitwiseXor|Div|Equal|Greater|GreaterOrEqual|Less|LessOrEqual|" \
    "Max|Mean|Min|Mod|Mul|Or|PRelu|Pow|Sub|Sum|Where|Xor"

/* The shape that broadcasting gives an input of the node; false when the input is not broadcast. */
static bool wide_shape(const Onnx__NodeProto *node, size_t number, const struct shape *in,
                       const struct shape *out, struct shape *wide)
{
    *wide = *out;
    if (text_equal(node->op_type, "Gemm"))
        return number == 2;
    if (!text_equal(node->op_type, "MatMul"))
        return true;
    /* The last two dimensions are those of the product. */
    if (in->rank < 2 || out->rank < 3)
        return false;
    wide->dims[out->rank - 2] = in->dims[in->rank - 2];
    wide->dims[out->rank - 1] = in->dims[in->rank - 1];
    return true;
}

/* Expands input `number`; false when it has its full shape already, or when something is not known. */
static bool expand_input(struct rewrite *rewrite, Onnx__NodeProto *node, size_t number,
                         const struct shape *out)
{
    struct shape wide;
    size_t count;
    const struct bounded *in = rewrite_input(rewrite, node, number);
    if (!in || !wide_shape(node, number, &in->shape, out, &wide) || shape_equal(&in->shape, &wide) ||
        shape_count(&wide, &count, NULL) || count == 0 || count > MAX_ELEMENTS ||
        !rewrite_takes(rewrite, "Expand", in->type))
        return false;
    const char *shape = rewrite_ints(rewrite, wide.dims, (size_t)wide.rank);
    rewrite_set_input(rewrite, node, number,
                      rewrite_op(rewrite, "Expand", NULL, node->input[number], shape, NULL));
    return true;
}

/* Of a product with a vector the dimensions are fewer. */
static bool has_vector(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *in = rewrite_input(rewrite, node, i);
        if (!in || in->shape.rank < 2)
            return true;
    }
    return false;
}

static int expand(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *out = rewrite_type(rewrite, node->output[0]);
    bool changed = false;
    if (!out || *node->domain || rewrite_opset(rewrite) < 11 ||
        (text_equal(node->op_type, "MatMul") && has_vector(rewrite, node)))
        return 0;
    for (size_t i = 0; i < node->n_input; i++)
        changed |= expand_input(rewrite, node, i, &out->shape);
    return changed;
}

const struct rule rule_broadcast_expanded = {
    .name = "broadcast-expanded",
    .summary = "inputs that broadcast, by an Expand to their full shape",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = BROADCASTING "|Gemm|MatMul",
    .apply = expand,
};

/* --- The reverse, for constants --- */

/* Whether the elements of a constant are the same, bit by bit, all along the axis. */
static bool is_constant_along(const struct tensor *tensor, int axis)
{
    size_t inner = dtype_size(tensor->type), along = (size_t)tensor->shape.dims[axis];
    const char *bytes = tensor->data;
    for (int i = axis + 1; i < tensor->shape.rank; i++)
        inner *= (size_t)tensor->shape.dims[i];
    for (size_t at = 0; at < tensor->size; at += inner * along)
        for (size_t k = 1; k < along; k++)
            if (memcmp(bytes + at, bytes + at + k * inner, inner) != 0)
                return false;
    return true;
}

/* Whether another input of the node has the size of the output at this axis, counted from behind. */
static bool others_have(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number,
                        int from_behind, int64_t size)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *in = i == number ? NULL : rewrite_input(rewrite, node, i);
        if (in && in->shape.rank >= from_behind && in->shape.dims[in->shape.rank - from_behind] == size)
            return true;
    }
    return false;
}

/* Keeps the first place along the axis. */
static int keep_first(struct tensor *tensor, int axis, struct error *err)
{
    struct tensor lean;
    struct shape shape = tensor->shape;
    size_t inner = dtype_size(tensor->type), along = (size_t)shape.dims[axis];
    shape.dims[axis] = 1;
    for (int i = axis + 1; i < shape.rank; i++)
        inner *= (size_t)shape.dims[i];
    if (tensor_alloc(&lean, tensor->type, &shape, 0, err))
        return -1;
    for (size_t to = 0, from = 0; to < lean.size; to += inner, from += inner * along)
        memcpy((char *)lean.data + to, (const char *)tensor->data + from, inner);
    tensor_release(tensor);
    *tensor = lean;
    return 0;
}

/* Dimensions of 1 in front are not needed when another input has as many dimensions. */
static bool drop_leading(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number,
                         struct shape *shape)
{
    bool changed = false;
    int rank = 0;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *in = i == number ? NULL : rewrite_input(rewrite, node, i);
        rank = in && in->shape.rank > rank ? in->shape.rank : rank;
    }
    while (shape->rank > 0 && shape->rank <= rank && shape->dims[0] == 1) {
        shape->rank--;
        memmove(shape->dims, shape->dims + 1, (size_t)shape->rank * sizeof *shape->dims);
        changed = true;
    }
    return changed;
}

/* Makes a constant input as small as broadcasting allows; 0 when it is so already. */
static int slim(struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number, struct tensor *tensor,
                struct error *err)
{
    int changed = 0;
    for (int axis = 0; axis < tensor->shape.rank; axis++) {
        int64_t size = tensor->shape.dims[axis];
        if (size < 2 || !others_have(rewrite, node, number, tensor->shape.rank - axis, size) ||
            !is_constant_along(tensor, axis))
            continue;
        if (keep_first(tensor, axis, err))
            return -1;
        changed = 1;
    }
    return drop_leading(rewrite, node, number, &tensor->shape) ? 1 : changed;
}

/* A constant is stored in its smaller form. Returns 1, 0 when it has none or is not constant, or -1. */
static int slim_constant(struct rewrite *rewrite, Onnx__NodeProto *node, size_t number, struct error *err)
{
    struct tensor tensor;
    int result = rewrite_constant(rewrite, node->input[number], &tensor, err);
    if (result != 1)
        return result;
    result = slim(rewrite, node, number, &tensor, err);
    if (result == 1)
        rewrite_set_input(rewrite, node, number, rewrite_tensor(rewrite, &tensor));
    tensor_release(&tensor);
    return result;
}

/* Other operands lose their dimensions of 1 in front by a Reshape. */
static int slim_value(struct rewrite *rewrite, Onnx__NodeProto *node, size_t number, const struct bounded *in)
{
    struct shape shape = in->shape;
    if (!drop_leading(rewrite, node, number, &shape) || !rewrite_takes(rewrite, "Reshape", in->type))
        return 0;
    rewrite_set_input(rewrite, node, number, rewrite_reshape(rewrite, node->input[number], &shape));
    return 1;
}

static int shrink(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    int changed = 0;
    if (*node->domain || rewrite_opset(rewrite) < 11)
        return 0;
    /* PRelu's first input is never broadcast. */
    for (size_t i = text_equal(node->op_type, "PRelu"); i < node->n_input && changed == 0; i++) {
        const struct bounded *in = rewrite_input(rewrite, node, i);
        if (!in || in->count == 0 || in->count > MAX_ELEMENTS || dtype_size(in->type) == 0)
            continue;
        changed = slim_constant(rewrite, node, i, rewrite->err);
        if (changed == 0)
            changed = slim_value(rewrite, node, i, in);
    }
    return changed;
}

const struct rule rule_scalar_weight = {
    .name = "scalar-weight",
    .summary =
        "an operand with equal elements, or dimensions of 1 in front, by a smaller one that broadcasts",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = BROADCASTING,
    .apply = shrink,
};
