/*
 * Operators with windows on an image whose axes are exchanged or turned round, with windows at every place
 * instead of some, and on parts of the image's batch or channels.
 */
#include "base/str.h"
#include "rules/rule.h"
#include "rules/window.h"

static bool has_weights(const Onnx__NodeProto *node)
{
    return text_equal(node->op_type, "Conv") || text_equal(node->op_type, "ConvInteger") ||
           text_equal(node->op_type, "ConvTranspose");
}

/* Lets the node make another value, from which `*name`, that of its output, is to be computed. */
static const char *divert_output(struct rewrite *rewrite, Onnx__NodeProto *node, const char **name)
{
    const char *made = rewrite_name(rewrite, "image");
    *name = node->output[0];
    node->output[0] = arena_strdup(&rewrite->model->arena, made);
    return made;
}

/* --- Axes exchanged --- */

/* Reorders a list with one entry for each spatial axis, or with two halves of that length. */
static bool reorder_list(struct rewrite *rewrite, Onnx__NodeProto *node, const char *name, size_t axes,
                         size_t halves, const int64_t *order)
{
    const int64_t *values;
    int64_t moved[2 * WINDOW_AXES];
    size_t count;
    if (!node_ints(node, name, &values, &count) || count == 0)
        return true;
    if (count != halves * axes)
        return false;
    for (size_t i = 0; i < count; i++)
        moved[i] = values[i / axes * axes + (size_t)order[i % axes + 2] - 2];
    node_set_ints(&rewrite->model->arena, node, name, moved, count);
    return true;
}

static bool reorder_lists(struct rewrite *rewrite, Onnx__NodeProto *node, size_t axes, const int64_t *order)
{
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "output_padding",
                                        "output_shape"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!reorder_list(rewrite, node, lists[i], axes, 1, order))
            return false;
    return reorder_list(rewrite, node, "pads", axes, 2, order);
}

/* Draws an order of the axes that leaves batch and channels where they are and moves something. */
static void draw_order(struct rng *rng, size_t rank, int64_t *order)
{
    for (size_t i = 0; i < rank; i++)
        order[i] = (int64_t)i;
    size_t first = 2 + (size_t)rng_below(rng, rank - 3);
    size_t second = first + 1 + (size_t)rng_below(rng, rank - first - 1);
    order[first] = (int64_t)second;
    order[second] = (int64_t)first;
}

static int axes_exchanged(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    int64_t order[WINDOW_AXES + 2];
    const char *output;
    if (!x || x->shape.rank < 4 || x->shape.rank > WINDOW_AXES + 2 || !rewrite_one_output(node) ||
        node_int(node, "training_mode", 0) != 0)
        return 0;
    size_t rank = (size_t)x->shape.rank;
    draw_order(&rewrite->rng, rank, order);
    if (!reorder_lists(rewrite, node, rank - 2, order))
        return 0;
    if (has_weights(node)) {
        const struct bounded *weights = rewrite_input(rewrite, node, 1);
        if (!weights || weights->shape.rank != x->shape.rank)
            return 0;
        rewrite_set_input(rewrite, node, 1, rewrite_transpose(rewrite, node->input[1], order, rank));
    }
    rewrite_set_input(rewrite, node, 0, rewrite_transpose(rewrite, node->input[0], order, rank));
    const char *made = divert_output(rewrite, node, &output);
    /* Two axes exchanged twice are as they were. */
    rewrite_result(rewrite, rewrite_transpose(rewrite, made, order, rank), output);
    return 1;
}

const struct rule rule_axes_exchanged = {
    .name = "axes-exchanged",
    .summary = "an image against one with two spatial axes exchanged",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|ConvTranspose|MaxPool|AveragePool|LpPool|GlobalAveragePool|GlobalMaxPool|"
                 "GlobalLpPool|InstanceNormalization|BatchNormalization",
    .apply = axes_exchanged,
};

/* --- An axis turned round --- */

static const char *turn(struct rewrite *rewrite, const char *value, int64_t axis, int64_t size)
{
    const int64_t from = size - 1, to = -size - 1, step = -1;
    const char *start = rewrite_ints(rewrite, &from, 1), *end = rewrite_ints(rewrite, &to, 1);
    return rewrite_op(rewrite, "Slice", NULL, value, start, end, rewrite_ints(rewrite, &axis, 1),
                      rewrite_ints(rewrite, &step, 1), NULL);
}

static void set_pads(struct rewrite *rewrite, Onnx__NodeProto *node, const struct rule_window *w)
{
    int64_t pads[2 * WINDOW_AXES];
    for (int i = 0; i < w->axes; i++) {
        pads[i] = w->begin[i];
        pads[w->axes + i] = w->end[i];
    }
    node_remove_attribute(node, "auto_pad");
    node_set_ints(&rewrite->model->arena, node, "pads", pads, 2 * (size_t)w->axes);
}

/* The windows are the same from the other end when the last one ends where the padding ends. */
static int axis_reversed(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    const char *output;
    if (rewrite_opset(rewrite) < 11 || !window_read(rewrite, node, &w) || w.disputed ||
        !rewrite_one_output(node))
        return 0;
    int axis = (int)rng_below(&rewrite->rng, (uint64_t)w.axes);
    int64_t room = w.in[axis] + w.begin[axis] + w.end[axis] - window_extent(&w, axis);
    if (room % w.stride[axis] != 0 || w.out[axis] != room / w.stride[axis] + 1)
        return 0;
    int64_t front = w.begin[axis];
    w.begin[axis] = w.end[axis];
    w.end[axis] = front;
    set_pads(rewrite, node, &w);
    rewrite_set_input(rewrite, node, 0, turn(rewrite, node->input[0], axis + 2, w.in[axis]));
    if (has_weights(node))
        rewrite_set_input(rewrite, node, 1, turn(rewrite, node->input[1], axis + 2, w.kernel[axis]));
    const char *made = divert_output(rewrite, node, &output);
    rewrite_result(rewrite, turn(rewrite, made, axis + 2, w.out[axis]), output);
    return 1;
}

const struct rule rule_axis_reversed = {
    .name = "axis-reversed",
    .summary = "an image, and its kernel, against one with a spatial axis reversed",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|MaxPool|AveragePool|LpPool",
    .apply = axis_reversed,
};

/* --- Strides --- */

enum { PLACES_MAX = 1 << 20 };

static int strides_by_slice(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    int64_t from[WINDOW_AXES] = {0}, to[WINDOW_AXES], along[WINDOW_AXES], places = 1;
    const char *output;
    bool strides = false;
    if (rewrite_opset(rewrite) < 11 || !window_read(rewrite, node, &w) || w.disputed ||
        !rewrite_one_output(node))
        return 0;
    size_t axes = (size_t)w.axes;
    for (int i = 0; i < w.axes; i++) {
        int64_t room = w.in[i] + w.begin[i] + w.end[i] - window_extent(&w, i);
        to[i] = (w.out[i] - 1) * w.stride[i] + 1;
        along[i] = i + 2;
        strides |= w.stride[i] > 1;
        places *= room + 1;
        /* A window that hangs over the padding has no counterpart without ceil_mode. */
        if (to[i] > room + 1 || places > PLACES_MAX)
            return 0;
    }
    if (!strides)
        return 0;
    set_pads(rewrite, node, &w);
    node_remove_attribute(node, "strides");
    node_remove_attribute(node, "ceil_mode");
    const char *all = divert_output(rewrite, node, &output);
    const char *starts = rewrite_ints(rewrite, from, axes), *ends = rewrite_ints(rewrite, to, axes);
    rewrite_op_to(rewrite, output, "Slice", all, starts, ends, rewrite_ints(rewrite, along, axes),
                  rewrite_ints(rewrite, w.stride, axes), NULL);
    return 1;
}

const struct rule rule_strides_by_slice = {
    .name = "strides-by-slice",
    .respells = true,
    .summary = "strides against windows at every place, of which a Slice takes some",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger|MaxPool|AveragePool|LpPool",
    .apply = strides_by_slice,
};

/* --- Parts of batch or channels --- */

/* What is divided in two: the batch, the output channels of a convolution or the channels of a pool, or the
 * input channels of a convolution, whose results are added. */
enum part { BATCH, OUTPUTS, INPUTS };

struct division {
    enum part part;
    int64_t size, first; /* of what is divided, and of its first part */
};

static bool draw_division(struct rewrite *rewrite, const Onnx__NodeProto *node, struct division *d)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0), *weights = rewrite_input(rewrite, node, 1);
    bool transposed = text_equal(node->op_type, "ConvTranspose");
    if (!x || x->shape.rank < 3 || x->count == 0 || rewrite_opset(rewrite) < 11 || !rewrite_one_output(node))
        return false;
    int64_t sizes[3] = {x->shape.dims[0], x->shape.dims[1], 1};
    if (has_weights(node)) {
        if (!weights || weights->shape.rank != x->shape.rank)
            return false;
        bool grouped = node_int(node, "group", 1) != 1;
        sizes[OUTPUTS] = grouped ? 1 : weights->shape.dims[transposed ? 1 : 0];
        sizes[INPUTS] = grouped ? 1 : x->shape.dims[1];
    }
    d->part = (enum part)rng_below(&rewrite->rng, 3);
    for (int i = 0; i < 3 && sizes[d->part] < 2; i++)
        d->part = (enum part)(((int)d->part + 1) % 3);
    d->size = sizes[d->part];
    if (d->size < 2)
        return false;
    d->first = 1 + (int64_t)rng_below(&rewrite->rng, (uint64_t)d->size - 1);
    return true;
}

/* The axis along which an input is divided; -1: both parts use all of it. */
static int divided_axis(const Onnx__NodeProto *node, enum part part, size_t input)
{
    bool transposed = text_equal(node->op_type, "ConvTranspose");
    if (input == 0)
        return part == BATCH ? 0 : part == INPUTS || !has_weights(node) ? 1 : -1;
    if (part == BATCH)
        return -1;
    if (input == 1)
        return (part == OUTPUTS) != transposed ? 0 : 1;
    return part == OUTPUTS ? 0 : -1; /* the bias */
}

static int window_parts(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *half[2];
    struct division d;
    const char *parts[2], *results[2];
    if (!draw_division(rewrite, node, &d) || node->n_input > 3)
        return 0;
    for (int i = 0; i < 2; i++) {
        half[i] = rewrite_copy_node(rewrite, node);
        results[i] = rewrite_name(rewrite, "half");
        half[i]->output[0] = arena_strdup(&rewrite->model->arena, results[i]);
    }
    for (size_t k = 0; k < node->n_input; k++) {
        int axis = divided_axis(node, d.part, k);
        if (axis < 0 || !rewrite_has_input(node, k))
            continue;
        rewrite_split(rewrite, node->input[k], axis, (const int64_t[]){d.first, d.size - d.first}, 2, parts);
        for (int i = 0; i < 2; i++)
            rewrite_set_input(rewrite, half[i], k, parts[i]);
    }
    if (d.part == INPUTS && half[1]->n_input > 2)
        half[1]->n_input = 2; /* the bias is added once */
    rewrite_remove(rewrite, node);
    if (d.part == INPUTS)
        rewrite_op_to(rewrite, node->output[0], "Add", results[0], results[1], NULL);
    else
        rewrite_result(rewrite, rewrite_concat(rewrite, d.part == BATCH ? 0 : 1, results, 2),
                       node->output[0]);
    return 1;
}

const struct rule rule_window_parts = {
    .name = "window-parts",
    .summary = "a convolution or pool by two: of parts of the batch, the channels, or the terms of its sums",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvTranspose|MaxPool|AveragePool|LpPool|GlobalAveragePool|GlobalMaxPool|GlobalLpPool",
    .apply = window_parts,
};
