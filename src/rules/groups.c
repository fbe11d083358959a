/* Rule 4 of EAGLE: a grouped or depthwise convolution by ungrouped ones. */
#include "base/str.h"
#include "rules/rule.h"
#include "rules/window.h"

enum { GROUPS_MAX = 64 };

/* The numbers of groups and of output channels; false when there is one group, or too many to write them
 * out. */
static bool read_groups(const struct rewrite *rewrite, const Onnx__NodeProto *node, int64_t *groups,
                        int64_t *outputs)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0), *weights = rewrite_input(rewrite, node, 1);
    bool transposed = text_equal(node->op_type, "ConvTranspose");
    *groups = node_int(node, "group", 1);
    if (!x || !weights || x->shape.rank < 3 || weights->shape.rank != x->shape.rank || *groups < 2 ||
        *groups > GROUPS_MAX || x->shape.dims[1] % *groups != 0 || weights->shape.dims[0] % *groups != 0 ||
        rewrite_opset(rewrite) < 11)
        return false;
    *outputs = transposed ? weights->shape.dims[1] * *groups : weights->shape.dims[0];
    return x->count > 0 && weights->count > 0;
}

static void split_evenly(struct rewrite *rewrite, const char *value, int64_t axis, int64_t size,
                         int64_t groups, const char **parts)
{
    int64_t sizes[GROUPS_MAX];
    for (int64_t i = 0; i < groups; i++)
        sizes[i] = size / groups;
    rewrite_split(rewrite, value, axis, sizes, (size_t)groups, parts);
}

/* Whether an input has one element for each output channel, so that it is split like them. False in *known
 * when its shape is neither that nor one element for all. */
static bool is_per_channel(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number,
                           int64_t outputs, bool *known)
{
    const struct bounded *input = rewrite_input(rewrite, node, number);
    bool each = input && input->shape.rank == 1 && input->shape.dims[0] == outputs;
    *known &= each || (input && input->count == 1);
    return each;
}

static int groups_by_split(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const char *parts[4][GROUPS_MAX], *results[GROUPS_MAX];
    bool integer = text_equal(node->op_type, "ConvInteger"), is_split[4] = {true, true}, known = true;
    int64_t groups, outputs;
    if (!read_groups(rewrite, node, &groups, &outputs) || node->n_input > 4)
        return 0;
    split_evenly(rewrite, node->input[0], 1, rewrite_input(rewrite, node, 0)->shape.dims[1], groups,
                 parts[0]);
    split_evenly(rewrite, node->input[1], 0, rewrite_input(rewrite, node, 1)->shape.dims[0], groups,
                 parts[1]);
    for (size_t i = 2; i < node->n_input; i++) {
        /* The bias, or the zero point of the weights; that of the data is the same for all groups. */
        if (!rewrite_has_input(node, i) || (integer && i == 2))
            continue;
        is_split[i] = is_per_channel(rewrite, node, i, outputs, &known);
        if (!known)
            return 0;
        if (is_split[i])
            split_evenly(rewrite, node->input[i], 0, outputs, groups, parts[i]);
    }
    for (int64_t g = 0; g < groups; g++) {
        Onnx__NodeProto *part = rewrite_copy_node(rewrite, node);
        node_remove_attribute(part, "group");
        for (size_t i = 0; i < node->n_input; i++)
            if (is_split[i])
                rewrite_set_input(rewrite, part, i, parts[i][g]);
        results[g] = rewrite_name(rewrite, "group");
        part->output[0] = arena_strdup(&rewrite->model->arena, results[g]);
    }
    const char *output = node->output[0];
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_concat(rewrite, 1, results, (size_t)groups), output);
    return 1;
}

const struct rule rule_groups_by_split = {
    .name = "groups-by-split",
    .paper = 4,
    .summary = "a grouped convolution by Split, one convolution a group, and Concat",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|ConvTranspose",
    .apply = groups_by_split,
};

/* The weights of a group with zeros for the channels of all other groups. */
static const char *surround(struct rewrite *rewrite, const char *weights, const struct bounded *all,
                            int64_t group, int64_t groups)
{
    int64_t pads[2 * TENSOR_MAX_RANK] = {0}, channels = all->shape.dims[1];
    size_t rank = (size_t)all->shape.rank;
    pads[1] = group * channels;
    pads[rank + 1] = (groups - 1 - group) * channels;
    return rewrite_op(rewrite, "Pad", NULL, weights, rewrite_ints(rewrite, pads, 2 * rank),
                      rewrite_scalar(rewrite, all->type, 0, 0), NULL);
}

/*
 * Zeros are multiplied with channels that the original does not use for an output, so no element of the input
 * may be infinite or NaN.
 */
static int groups_by_zeros(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const char *parts[GROUPS_MAX];
    int64_t groups, outputs;
    if (!read_groups(rewrite, node, &groups, &outputs) || !rewrite_is_finite(rewrite, node->input[0]))
        return 0;
    const struct bounded *weights = rewrite_input(rewrite, node, 1);
    if (weights->count > (size_t)1000000 / (size_t)groups)
        return 0;
    split_evenly(rewrite, node->input[1], 0, outputs, groups, parts);
    for (int64_t g = 0; g < groups; g++)
        parts[g] = surround(rewrite, parts[g], weights, g, groups);
    rewrite_set_input(rewrite, node, 1, rewrite_concat(rewrite, 0, parts, (size_t)groups));
    node_remove_attribute(node, "group");
    return 1;
}

const struct rule rule_groups_by_zeros = {
    .name = "groups-by-zeros",
    .respells = true,
    .paper = 4,
    .summary = "a grouped convolution by an ungrouped one with blocks of zeros in its weights",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv",
    .apply = groups_by_zeros,
};
