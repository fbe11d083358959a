/* A ConvTranspose by a Conv, a Conv by a ConvTranspose, and the padding of a ConvTranspose cut off behind it.
 */
#include "rules/rule.h"
#include "rules/window.h"

enum { IMAGE_MAX = 1 << 22 };

/* A Slice over spatial axes. */
static const char *cut(struct rewrite *rewrite, const char *value, const int64_t *from, const int64_t *to,
                       const int64_t *steps, int axes)
{
    int64_t along[WINDOW_AXES];
    size_t count = (size_t)axes;
    for (int i = 0; i < axes; i++)
        along[i] = i + 2;
    const char *starts = rewrite_ints(rewrite, from, count), *ends = rewrite_ints(rewrite, to, count),
               *spatial = rewrite_ints(rewrite, along, count), *by = rewrite_ints(rewrite, steps, count);
    return rewrite_op(rewrite, "Slice", NULL, value, starts, ends, spatial, by, NULL);
}

/* Weights [G * A, B, kernel ...] as [G * B, A, kernel ...] with every kernel turned round. */
static const char *turn_weights(struct rewrite *rewrite, const char *weights, const struct shape *shape,
                                int64_t groups)
{
    int64_t from[WINDOW_AXES], to[WINDOW_AXES], steps[WINDOW_AXES], order[WINDOW_AXES + 3];
    int axes = shape->rank - 2;
    struct shape apart = {.rank = shape->rank + 1, .dims = {groups, shape->dims[0] / groups, shape->dims[1]}};
    struct shape turned = *shape;
    for (int i = 0; i < axes; i++) {
        from[i] = shape->dims[i + 2] - 1;
        to[i] = -shape->dims[i + 2] - 1; /* before the first element */
        steps[i] = -1;
        apart.dims[i + 3] = shape->dims[i + 2];
    }
    for (int i = 0; i < apart.rank; i++)
        order[i] = i == 1 ? 2 : i == 2 ? 1 : i;
    turned.dims[0] = groups * shape->dims[1];
    turned.dims[1] = shape->dims[0] / groups;
    const char *flipped = cut(rewrite, weights, from, to, steps, axes);
    const char *swapped =
        rewrite_transpose(rewrite, rewrite_reshape(rewrite, flipped, &apart), order, (size_t)apart.rank);
    return rewrite_reshape(rewrite, swapped, &turned);
}

/* The image that a Conv at stride 1 slides over: zeros between the elements, and around them as many as the
 * kernel reaches over. What the padding of the ConvTranspose takes away is cut off. NULL when nothing would
 * be left, or too much. */
static const char *spread_image(struct rewrite *rewrite, const Onnx__NodeProto *node,
                                const struct rule_deconvolution *d)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    struct shape shape = x->shape;
    struct rule_window around = {.axes = d->axes};
    int64_t from[WINDOW_AXES], to[WINDOW_AXES], steps[WINDOW_AXES], size = shape.dims[0] * shape.dims[1];
    const char *image = node->input[0];
    bool cuts = false;
    for (int i = 0; i < d->axes; i++) {
        int64_t extent = (d->kernel[i] - 1) * d->dilation[i] + 1, front = extent - 1 - d->begin[i];
        int64_t length = (d->in[i] - 1) * d->stride[i] + 1, behind = d->out[i] - 1 + extent - front - length;
        from[i] = front < 0 ? -front : 0;
        to[i] = length + (behind < 0 ? behind : 0);
        steps[i] = 1;
        cuts |= front < 0 || behind < 0;
        around.begin[i] = front > 0 ? front : 0;
        around.end[i] = behind > 0 ? behind : 0;
        size = size > IMAGE_MAX ? size : size * (d->out[i] + extent + length);
        if (to[i] <= from[i] || size > IMAGE_MAX)
            return NULL;
    }
    for (int i = 0; i < d->axes; i++)
        if (d->stride[i] > 1)
            image = window_stuff(rewrite, image, x->type, &shape, i + 2, d->stride[i]);
    if (cuts)
        image = cut(rewrite, image, from, to, steps, d->axes);
    return window_pad(rewrite, image, &around, rewrite_scalar(rewrite, x->type, 0, 0));
}

static int convtranspose_by_conv(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_deconvolution d;
    if (!deconvolution_read(rewrite, node, &d) || !rewrite_one_output(node))
        return 0;
    const struct bounded *weights = rewrite_input(rewrite, node, 1);
    const char *image = spread_image(rewrite, node, &d);
    if (!image || weights->count == 0)
        return 0;
    const char *turned = turn_weights(rewrite, node->input[1], &weights->shape, d.groups);
    const char *bias = rewrite_has_input(node, 2) ? node->input[2] : NULL;
    rewrite_remove(rewrite, node);
    Onnx__NodeProto *conv = rewrite_op_to(rewrite, node->output[0], "Conv", image, turned, bias, NULL);
    node_set_ints(&rewrite->model->arena, conv, "dilations", d.dilation, (size_t)d.axes);
    node_set_int(&rewrite->model->arena, conv, "group", d.groups);
    return 1;
}

const struct rule rule_convtranspose_by_conv = {
    .name = "convtranspose-by-conv",
    .summary = "a ConvTranspose by a Conv of an image with zeros in between and a kernel turned round",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ConvTranspose",
    .apply = convtranspose_by_conv,
};

/* At stride 1 the two differ in how they pad and in the order of the weights; a stride skips some outputs. */
static int conv_by_convtranspose(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    struct arena *arena = &rewrite->model->arena;
    int64_t pads[2 * WINDOW_AXES], from[WINDOW_AXES] = {0}, to[WINDOW_AXES], size = 1;
    bool strides = false;
    if (rewrite_opset(rewrite) < 11 || !window_read(rewrite, node, &w) || !rewrite_one_output(node))
        return 0;
    const struct shape *k = &rewrite_input(rewrite, node, 1)->shape;
    for (int i = 0; i < w.axes; i++) {
        int64_t most = window_extent(&w, i) - 1;
        pads[i] = most - w.begin[i];
        pads[w.axes + i] = most - w.end[i];
        to[i] = (w.out[i] - 1) * w.stride[i] + 1;
        strides |= w.stride[i] > 1;
        size *= w.in[i] + most;
        if (pads[i] < 0 || pads[w.axes + i] < 0 || size > IMAGE_MAX)
            return 0;
    }
    if (k->dims[0] % w.groups != 0 || k->dims[0] == 0 || k->dims[1] == 0)
        return 0;
    const char *turned = turn_weights(rewrite, node->input[1], k, w.groups);
    const char *bias = rewrite_has_input(node, 2) ? node->input[2] : NULL;
    Onnx__NodeProto *made;
    rewrite_remove(rewrite, node);
    const char *all = rewrite_op(rewrite, "ConvTranspose", &made, node->input[0], turned, bias, NULL);
    node_set_ints(arena, made, "pads", pads, 2 * (size_t)w.axes);
    node_set_ints(arena, made, "dilations", w.dilation, (size_t)w.axes);
    node_set_int(arena, made, "group", w.groups);
    rewrite_result(rewrite, strides ? cut(rewrite, all, from, to, w.stride, w.axes) : all, node->output[0]);
    return 1;
}

const struct rule rule_conv_by_convtranspose = {
    .name = "conv-by-convtranspose",
    .summary = "a Conv by a ConvTranspose with a kernel turned round",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv",
    .apply = conv_by_convtranspose,
};

static int convtranspose_cut(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_deconvolution d;
    int64_t to[WINDOW_AXES], steps[WINDOW_AXES], total = 0;
    if (!deconvolution_read(rewrite, node, &d) || !rewrite_one_output(node))
        return 0;
    for (int i = 0; i < d.axes; i++) {
        to[i] = d.begin[i] + d.out[i];
        steps[i] = 1;
        total += d.begin[i] + d.end[i];
    }
    if (total == 0)
        return 0;
    const char *output = node->output[0], *whole = rewrite_name(rewrite, "whole");
    node->output[0] = arena_strdup(&rewrite->model->arena, whole);
    node_remove_attribute(node, "pads");
    node_remove_attribute(node, "auto_pad");
    node_remove_attribute(node, "output_shape");
    rewrite_result(rewrite, cut(rewrite, whole, d.begin, to, steps, d.axes), output);
    return 1;
}

const struct rule rule_convtranspose_cut = {
    .name = "convtranspose-cut",
    .paper = 2,
    .summary = "the padding of a ConvTranspose against a Slice of its whole output",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ConvTranspose",
    .apply = convtranspose_cut,
};
