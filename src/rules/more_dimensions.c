/* Rule 3 of EAGLE: an operator over one or two spatial dimensions by itself over one more, of size 1. */
#include "base/str.h"
#include "rules/rule.h"

/* A list with one entry for each spatial dimension gets one more, `added`; pads get it in both halves. False
 * when the list has another length. */
static bool widen_list(struct rewrite *rewrite, Onnx__NodeProto *node, const char *name, size_t spatial,
                       size_t at, size_t halves, int64_t added)
{
    const int64_t *values;
    int64_t wider[2 * TENSOR_MAX_RANK];
    size_t count, made = 0;
    if (!node_ints(node, name, &values, &count) || count == 0)
        return true;
    if (count != halves * spatial)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i % spatial == at)
            wider[made++] = added;
        wider[made++] = values[i];
        if (at == spatial && i % spatial == spatial - 1)
            wider[made++] = added;
    }
    node_set_ints(&rewrite->model->arena, node, name, wider, made);
    return true;
}

static bool widen_attributes(struct rewrite *rewrite, Onnx__NodeProto *node, size_t spatial, size_t at)
{
    static const char *const ones[] = {"kernel_shape", "strides", "dilations", "output_shape"};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (!widen_list(rewrite, node, ones[i], spatial, at, 1, 1))
            return false;
    return widen_list(rewrite, node, "output_padding", spatial, at, 1, 0) &&
           widen_list(rewrite, node, "pads", spatial, at, 2, 0);
}

static bool has_weights(const Onnx__NodeProto *node)
{
    return text_equal(node->op_type, "Conv") || text_equal(node->op_type, "ConvInteger") ||
           text_equal(node->op_type, "ConvTranspose");
}

/* The dimension is taken off again behind every output that is used. */
static void narrow_outputs(struct rewrite *rewrite, Onnx__NodeProto *node, int64_t axis)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = node->output[i];
        if (!*name)
            continue;
        node->output[i] = arena_strdup(&rewrite->model->arena, rewrite_name(rewrite, "wide"));
        rewrite_result(rewrite, rewrite_squeeze(rewrite, node->output[i], axis), name);
    }
}

static int more_dimensions(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    bool normalises = text_equal(node->op_type, "BatchNormalization");
    if (!x || x->shape.rank < 3 || x->shape.rank > 4 || rewrite_opset(rewrite) < 11 ||
        (normalises && (!rewrite_one_output(node) || node_int(node, "training_mode", 0) != 0)))
        return 0;
    size_t spatial = (size_t)x->shape.rank - 2, at = (size_t)rng_below(&rewrite->rng, spatial + 1);
    int64_t axis = 2 + (int64_t)at;
    if (!widen_attributes(rewrite, node, spatial, at))
        return 0;
    if (has_weights(node)) {
        const struct bounded *weights = rewrite_input(rewrite, node, 1);
        if (!weights || weights->shape.rank != x->shape.rank)
            return 0;
        rewrite_set_input(rewrite, node, 1, rewrite_unsqueeze(rewrite, node->input[1], axis));
    }
    rewrite_set_input(rewrite, node, 0, rewrite_unsqueeze(rewrite, node->input[0], axis));
    narrow_outputs(rewrite, node, axis);
    return 1;
}

const struct rule rule_more_dimensions = {
    .name = "more-dimensions",
    .paper = 3,
    .summary = "one or two spatial dimensions against one more, of size 1",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|ConvTranspose|MaxPool|AveragePool|LpPool|GlobalAveragePool|GlobalMaxPool|"
                 "GlobalLpPool|InstanceNormalization|BatchNormalization",
    .apply = more_dimensions,
};
