/* Operators that move or convert data: Transpose, Cast, Concat, DepthToSpace, SpaceToDepth, Resize. */
#include "onednn.h"

#include <string.h>

/* A view of the input's shape, turned as the node says. */
static struct view turned(const struct walk_call *call, const struct tensor *tensor)
{
    struct view view = view_of(tensor);
    int64_t reversed[TENSOR_MAX_RANK];
    const int64_t *turn;
    size_t count;
    for (int i = 0; i < view.rank; i++)
        reversed[i] = view.rank - 1 - i;
    if (!node_ints(call->node, "perm", &turn, &count) || count == 0)
        turn = reversed;
    return view_transposed(&view, turn);
}

int run_transpose(struct walk_call *call)
{
    struct view src = turned(call, call->inputs[0]), dst = view_of(&call->outputs[0]);
    return library_reorder(call->engine, &src, &dst, call->err);
}

int grad_transpose(struct walk_gradient *g)
{
    struct view diff = view_of(g->upstream), slope = turned(g->call, &g->slopes[0]);
    return library_reorder(g->call->engine, &diff, &slope, g->call->err);
}

/*
 * The library rounds to nearest and saturates where ONNX truncates: only casts whose every value has one
 * answer, and those between floats, where both round to nearest.
 */
static bool cast_fits(enum dtype from, enum dtype to)
{
    bool small = from == DTYPE_INT8 || from == DTYPE_UINT8;
    if (from == to || (dtype_is_float(from) && dtype_is_float(to)))
        return true;
    return (small && (to == DTYPE_INT32 || dtype_is_float(to))) || (from == DTYPE_INT32 && to == DTYPE_FLOAT);
}

int run_cast(struct walk_call *call)
{
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    if (dst.type == dnnl_data_type_undef || call->outputs[0].type == DTYPE_BOOL ||
        call->inputs[0]->type == DTYPE_BOOL || !cast_fits(call->inputs[0]->type, call->outputs[0].type))
        return walk_unsupported(call, "from %s to %s", dtype_name(call->inputs[0]->type),
                                dtype_name(call->outputs[0].type));
    return library_reorder(call->engine, &src, &dst, call->err);
}

int grad_cast(struct walk_gradient *g)
{
    struct view diff = view_of(g->upstream), slope = view_of(&g->slopes[0]);
    return library_reorder(g->call->engine, &diff, &slope, g->call->err);
}

int run_concat(struct walk_call *call)
{
    struct view srcs[16], dst = view_of(&call->outputs[0]);
    if (call->n_inputs > 15)
        return walk_unsupported(call, "of more than 15 operands");
    for (size_t i = 0; i < call->n_inputs; i++)
        srcs[i] = view_of(call->inputs[i]);
    int axis = walk_axis(node_int(call->node, "axis", 0), call->outputs[0].shape.rank);
    return library_concat(call->engine, call->n_inputs, srcs, axis, &dst, call->err);
}

int grad_concat(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    int axis = walk_axis(node_int(call->node, "axis", 0), g->upstream->shape.rank);
    struct view whole = view_of(g->upstream);
    char *at = whole.data;
    for (size_t i = 0; i < call->n_inputs; i++) {
        struct view part = whole;
        part.dims[axis] = call->inputs[i]->shape.dims[axis];
        part.data = at;
        if (at)
            at += (size_t)(part.dims[axis] * part.strides[axis]) * dtype_size(g->upstream->type);
        if (!g->wanted[i])
            continue;
        struct view slope = view_of(&g->slopes[i]);
        if (library_reorder(call->engine, &part, &slope, call->err))
            return -1;
    }
    return 0;
}

/* The input as six dims which, turned, are the output's. */
struct blocks {
    int64_t dims[6];
    const int64_t *turn;
};

static int reorder_blocks(struct walk_call *call, struct blocks b)
{
    struct view src = view_as(call->inputs[0], 6, b.dims);
    src = view_transposed(&src, b.turn);
    struct view dst = view_as(&call->outputs[0], 6, src.dims);
    return library_reorder(call->engine, &src, &dst, call->err);
}

static int reorder_back(struct walk_gradient *g, struct blocks b)
{
    struct view slope = view_as(&g->slopes[0], 6, b.dims);
    slope = view_transposed(&slope, b.turn);
    struct view diff = view_as(g->upstream, 6, slope.dims);
    return library_reorder(g->call->engine, &diff, &slope, g->call->err);
}

static struct blocks depth_blocks(const struct walk_call *call)
{
    static const int64_t depth_first[] = {0, 3, 4, 1, 5, 2}, column_first[] = {0, 1, 4, 2, 5, 3};
    const int64_t *in = call->inputs[0]->shape.dims;
    int64_t b = node_int(call->node, "blocksize", 1);
    if (walk_text_is(call, "mode", "DCR", "CRD"))
        return (struct blocks){{in[0], in[1] / (b * b), b, b, in[2], in[3]}, column_first};
    return (struct blocks){{in[0], b, b, in[1] / (b * b), in[2], in[3]}, depth_first};
}

static struct blocks space_blocks(const struct walk_call *call)
{
    static const int64_t turn[] = {0, 3, 5, 1, 2, 4};
    const int64_t *in = call->inputs[0]->shape.dims;
    int64_t b = node_int(call->node, "blocksize", 1);
    return (struct blocks){{in[0], in[1], in[2] / b, b, in[3] / b, b}, turn};
}

int run_depth_to_space(struct walk_call *call)
{
    return reorder_blocks(call, depth_blocks(call));
}

int grad_depth_to_space(struct walk_gradient *g)
{
    return reorder_back(g, depth_blocks(g->call));
}

int run_space_to_depth(struct walk_call *call)
{
    return reorder_blocks(call, space_blocks(call));
}

int grad_space_to_depth(struct walk_gradient *g)
{
    return reorder_back(g, space_blocks(g->call));
}

/* The library knows one rule: half-pixel centres by the ratio of sizes, nearest rounding halves up. */
static bool resize_fits(const struct walk_call *call, bool nearest)
{
    const struct tensor *scales = walk_input(call, 2), *in = call->inputs[0];
    if (!walk_text_is(call, "coordinate_transformation_mode", "half_pixel", "half_pixel") ||
        node_int(call->node, "exclude_outside", 0) || node_int(call->node, "antialias", 0) ||
        node_attribute(call->node, "axes") || call->opset < 11 ||
        !walk_text_is(call, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return false;
    if (nearest && !walk_text_is(call, "nearest_mode", "round_prefer_floor", "round_prefer_ceil"))
        return false;
    for (int i = 0; i < in->shape.rank; i++) {
        bool same = in->shape.dims[i] == call->outputs[0].shape.dims[i];
        if (i < 2 && !same)
            return false;
        if (scales && scales->count == (size_t)in->shape.rank &&
            tensor_get(scales, (size_t)i) * (long double)in->shape.dims[i] !=
                (long double)call->outputs[0].shape.dims[i])
            return false;
    }
    return true;
}

int run_resize(struct walk_call *call)
{
    bool nearest = walk_text_is(call, "mode", "nearest", "nearest");
    struct view src = view_of(call->inputs[0]), dst = view_of(&call->outputs[0]);
    if (!nearest && !walk_text_is(call, "mode", "nearest", "linear"))
        return walk_unsupported(call, "cubic");
    if (!resize_fits(call, nearest))
        return walk_unsupported(call, "of this coordinate transformation, rounding or scale");
    return library_resampling(call->engine, nearest ? dnnl_resampling_nearest : dnnl_resampling_linear, &src,
                              &dst, NULL, call->err);
}

int grad_resize(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    bool nearest = walk_text_is(call, "mode", "nearest", "nearest");
    struct view diff = view_of(g->upstream), slope = {0};
    for (size_t i = 1; i < call->n_inputs; i++)
        if (g->wanted[i])
            return walk_unsupported(call, "oneDNN has no gradient of it by input %zu", i);
    slope = view_of(&g->slopes[0]);
    return library_resampling_backward(
        call->engine, nearest ? dnnl_resampling_nearest : dnnl_resampling_linear, &diff, &slope, call->err);
}
