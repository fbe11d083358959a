/* Rule 2 of EAGLE: padding that auto_pad computes, by a Pad node. */
#include "rules/rule.h"

#include "base/str.h"

#include <math.h>

/*
 * Sizes of the padding in front and behind for SAME_UPPER and SAME_LOWER, as ONNX defines them: the output
 * has ceil(input / stride) places, and the odd one goes behind with SAME_UPPER.
 */
static void same_pads(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, bool upper,
                      int64_t *front, int64_t *behind)
{
    int64_t output = (input + stride - 1) / stride;
    int64_t total = (output - 1) * stride + (kernel - 1) * dilation + 1 - input;
    total = total > 0 ? total : 0;
    *front = upper ? total / 2 : total - total / 2;
    *behind = total - *front;
}

static bool window(const struct rewrite *rewrite, const Onnx__NodeProto *node, int spatial,
                   int64_t sizes[3][TENSOR_MAX_RANK])
{
    const char *const names[3] = {"kernel_shape", "strides", "dilations"};
    for (int k = 0; k < 3; k++) {
        const int64_t *values;
        size_t count;
        bool given = node_ints(node, names[k], &values, &count);
        if (given && count != (size_t)spatial)
            return false;
        for (int i = 0; i < spatial; i++)
            sizes[k][i] = given ? values[i] : 1;
        if (k > 0 || given)
            continue;
        const struct bounded *weights = rewrite_input(rewrite, node, 1);
        if (!weights || weights->shape.rank != spatial + 2)
            return false;
        for (int i = 0; i < spatial; i++)
            sizes[0][i] = weights->shape.dims[i + 2];
    }
    for (int i = 0; i < spatial; i++)
        if (sizes[0][i] < 1 || sizes[1][i] < 1 || sizes[2][i] < 1)
            return false;
    return true;
}

/* Conv adds zeros; MaxPool takes no padding into account, so only the lowest number may stand for it. */
static int by_pad(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    (void)err;
    Onnx__NodeProto *node = site->node;
    const char *auto_pad = rewrite_string(rewrite, node, "auto_pad", "NOTSET");
    bool upper = text_equal(auto_pad, "SAME_UPPER"), maximum = text_equal(node->op_type, "MaxPool");
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    int64_t sizes[3][TENSOR_MAX_RANK], pads[2 * TENSOR_MAX_RANK] = {0};
    if ((!upper && !text_equal(auto_pad, "SAME_LOWER")) || !x || x->shape.rank < 3 || x->count == 0 ||
        rewrite_opset(rewrite) < 11 || !rewrite_one_output(node))
        return 0;
    if (maximum && x->type != DTYPE_FLOAT && x->type != DTYPE_DOUBLE)
        return 0;
    int rank = x->shape.rank, spatial = rank - 2;
    if (!window(rewrite, node, spatial, sizes))
        return 0;
    for (int i = 0; i < spatial; i++)
        same_pads(x->shape.dims[i + 2], sizes[0][i], sizes[1][i], sizes[2][i], upper, &pads[i + 2],
                  &pads[rank + i + 2]);
    const char *amounts = rewrite_ints(rewrite, pads, 2 * (size_t)rank);
    const char *fill = rewrite_scalar(rewrite, x->type, 0, maximum ? -INFINITY : 0);
    const char *padded = rewrite_op(rewrite, "Pad", NULL, node->input[0], amounts, fill, NULL);
    rewrite_set_input(rewrite, node, 0, padded);
    node_remove_attribute(node, "auto_pad");
    node_remove_attribute(node, "pads");
    return 1;
}

const struct rule rule_auto_pad = {
    .name = "auto-pad",
    .paper = 2,
    .summary = "padding by auto_pad against a Pad node in front",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|MaxPool",
    .apply = by_pad,
};
