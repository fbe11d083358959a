/* DepthToSpace, SpaceToDepth and Resize. */
#include "tflite.h"

static int by_block(struct walk_call *call, enum lite_op op, int options)
{
    struct net net;
    uint64_t block = (uint64_t)node_int(call->node, "blocksize", 1);
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    net_op(&net, op, x, NONE, NONE, y, NET_OPTIONS(options, {0, 4, block}));
    return net_finish(&net);
}

int run_depth_to_space(struct walk_call *call)
{
    if (!walk_text_is(call, "mode", "DCR", "DCR"))
        return walk_unsupported(call, "of mode CRD");
    return by_block(call, OP_DEPTH_TO_SPACE, OPTIONS_DEPTH_TO_SPACE);
}

int run_space_to_depth(struct walk_call *call)
{
    return by_block(call, OP_SPACE_TO_DEPTH, OPTIONS_SPACE_TO_DEPTH);
}

/* Each way in which the library's coordinates are those of ONNX. Nearest rounds down, after half a pixel was
 * added to both or none, and to the next number with corners aligned. */
struct resize_mode {
    const char *mode, *transformation, *nearest;
    bool aligned, half;
};
static const struct resize_mode resize_modes[] = {
    {"linear", "half_pixel", NULL, false, true},
    {"linear", "align_corners", NULL, true, false},
    {"linear", "asymmetric", NULL, false, false},
    {"nearest", "half_pixel", "round_prefer_ceil", false, true},
    {"nearest", "align_corners", "round_prefer_ceil", true, false},
    {"nearest", "asymmetric", "floor", false, false},
};

static const struct resize_mode *resize_mode(const struct walk_call *call)
{
    for (size_t i = 0; i < sizeof resize_modes / sizeof *resize_modes; i++) {
        const struct resize_mode *m = &resize_modes[i];
        if (walk_text_is(call, "mode", "nearest", m->mode) &&
            walk_text_is(call, "coordinate_transformation_mode", "half_pixel", m->transformation) &&
            (!m->nearest || walk_text_is(call, "nearest_mode", "round_prefer_floor", m->nearest)))
            return m;
    }
    return NULL;
}

int run_resize(struct walk_call *call)
{
    struct net net;
    const struct resize_mode *m = resize_mode(call);
    if (!m || !walk_resizes_plane(call))
        return walk_unsupported(call, "other than linear or nearest in a way of the library's");
    bool nearest = m->nearest;
    net_init(&net, call);
    int x = net_image(&net, call->inputs[0]), y = net_output_image(&net, &call->outputs[0]);
    int size = net_ints(&net, 2, call->outputs[0].shape.dims + 2), first = nearest ? 0 : 2;
    net_op(&net, nearest ? OP_RESIZE_NEAREST_NEIGHBOR : OP_RESIZE_BILINEAR, x, size, NONE, y,
           NET_OPTIONS(nearest ? OPTIONS_RESIZE_NEAREST_NEIGHBOR : OPTIONS_RESIZE_BILINEAR,
                       {first, 1, m->aligned}, {first + 1, 1, m->half}));
    return net_finish(&net);
}
