/* Rule 2 of EAGLE: padding that auto_pad computes, by the attribute pads and by a Pad node. */
#include "base/str.h"
#include "rules/rule.h"
#include "rules/window.h"

static int pad_in_front(struct rewrite *rewrite, Onnx__NodeProto *node, const struct rule_window *w)
{
    bool maximum = text_equal(node->op_type, "MaxPool");
    if (!rewrite_one_output(node) || w->disputed || (maximum && !window_never_outside(w)))
        return 0;
    const char *fill = window_fill(rewrite, node, w);
    const char *padded = fill ? window_pad(rewrite, node->input[0], w, fill) : NULL;
    if (!padded || padded == node->input[0])
        return 0;
    rewrite_set_input(rewrite, node, 0, padded);
    node_remove_attribute(node, "auto_pad");
    node_remove_attribute(node, "pads");
    return 1;
}

static int auto_pad(struct rewrite *rewrite, const struct rule_site *site)
{
    struct rule_window window;
    if (rewrite_opset(rewrite) < 11 || !window_read(rewrite, site->node, &window) || !window.same)
        return 0;
    return pad_in_front(rewrite, site->node, &window);
}

const struct rule rule_auto_pad = {
    .name = "auto-pad",
    .respells = true,
    .paper = 2,
    .summary = "padding by auto_pad against a Pad node in front",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|MaxPool|AveragePool|LpPool",
    .apply = auto_pad,
};

static int pads_by_pad(struct rewrite *rewrite, const struct rule_site *site)
{
    struct rule_window window;
    if (rewrite_opset(rewrite) < 11 || !window_read(rewrite, site->node, &window) || window.automatic)
        return 0;
    return pad_in_front(rewrite, site->node, &window);
}

const struct rule rule_pads_by_pad = {
    .name = "pads-by-pad",
    .respells = true,
    .paper = 2,
    .summary = "the attribute pads against a Pad node in front",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|MaxPool|AveragePool|LpPool",
    .apply = pads_by_pad,
};

/* The padding that auto_pad or output_shape stand for, as the attribute pads lists it. */
static bool resolve_pads(struct rewrite *rewrite, const Onnx__NodeProto *node, int64_t *pads)
{
    struct rule_deconvolution d;
    struct rule_window w;
    bool transposed = text_equal(node->op_type, "ConvTranspose");
    if (transposed ? !deconvolution_read(rewrite, node, &d) || !d.automatic
                   : !window_read(rewrite, node, &w) || !w.automatic)
        return false;
    int axes = transposed ? d.axes : w.axes;
    for (int i = 0; i < axes; i++) {
        pads[i] = transposed ? d.begin[i] : w.begin[i];
        pads[axes + i] = transposed ? d.end[i] : w.end[i];
    }
    return true;
}

static int explicit_pads(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    int64_t pads[2 * WINDOW_AXES];
    if (!resolve_pads(rewrite, node, pads))
        return 0;
    size_t axes = (size_t)rewrite_input(rewrite, node, 0)->shape.rank - 2;
    node_remove_attribute(node, "output_shape");
    node_remove_attribute(node, "auto_pad");
    node_set_ints(&rewrite->model->arena, node, "pads", pads, 2 * axes);
    return 1;
}

const struct rule rule_auto_pad_explicit = {
    .name = "auto-pad-explicit",
    .respells = true,
    .paper = 2,
    .summary = "padding by auto_pad or output_shape against the same padding in pads",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|ConvTranspose|MaxPool|AveragePool|LpPool",
    .apply = explicit_pads,
};
