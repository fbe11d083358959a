/* Operators that only move the elements of an image, by Reshape, Transpose, Slice, Expand and Gather. */
#include "base/str.h"
#include "rules/rule.h"

#include <math.h>

enum { BLOCK_MAX = 64, LENGTH_MAX = 4096 };

/* The block size of an image of rank 4; 0 when something is not as it has to be. */
static int64_t block_size(const struct bounded *x, const Onnx__NodeProto *node)
{
    int64_t block = node_int(node, "blocksize", 0);
    return x && x->shape.rank == 4 && x->count > 0 && block >= 1 && block <= BLOCK_MAX ? block : 0;
}

/* Takes dimensions apart, reorders them and joins them again. */
static void move_blocks(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct shape *apart,
                        const int64_t *order, const struct shape *result)
{
    const char *blocks = rewrite_reshape(rewrite, node->input[0], apart);
    const char *moved = rewrite_transpose(rewrite, blocks, order, (size_t)apart->rank);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_reshape(rewrite, moved, result), node->output[0]);
}

static int depth_to_space(struct rewrite *rewrite, const struct rule_site *site)
{
    static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    const struct bounded *x = rewrite_input(rewrite, site->node, 0);
    const char *mode = rewrite_string(rewrite, site->node, "mode", "DCR");
    bool columns_first = text_equal(mode, "CRD");
    int64_t b = block_size(x, site->node);
    if (b == 0 || x->shape.dims[1] % (b * b) != 0 || (!columns_first && !text_equal(mode, "DCR")))
        return 0;
    const int64_t *dims = x->shape.dims;
    int64_t depth = dims[1] / (b * b);
    struct shape apart = {.rank = 6, .dims = {dims[0], b, b, depth, dims[2], dims[3]}};
    struct shape result = {.rank = 4, .dims = {dims[0], depth, dims[2] * b, dims[3] * b}};
    if (columns_first)
        apart = (struct shape){.rank = 6, .dims = {dims[0], depth, b, b, dims[2], dims[3]}};
    move_blocks(rewrite, site->node, &apart, columns_first ? crd : dcr, &result);
    return 1;
}

const struct rule rule_depth_to_space = {
    .name = "depth-to-space",
    .paper = 7,
    .summary = "a DepthToSpace by Reshape, Transpose and Reshape",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "DepthToSpace",
    .apply = depth_to_space,
};

/* Every b-th row and column, from each place of a block. */
static void slice_blocks(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct bounded *x,
                         int64_t b)
{
    const char *parts[16];
    const int64_t axes[] = {2, 3}, steps[] = {b, b};
    for (int64_t i = 0; i < b * b; i++) {
        const int64_t from[] = {i / b, i % b}, to[] = {x->shape.dims[2], x->shape.dims[3]};
        const char *starts = rewrite_ints(rewrite, from, 2), *ends = rewrite_ints(rewrite, to, 2);
        parts[i] = rewrite_op(rewrite, "Slice", NULL, node->input[0], starts, ends,
                              rewrite_ints(rewrite, axes, 2), rewrite_ints(rewrite, steps, 2), NULL);
    }
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, rewrite_concat(rewrite, 1, parts, (size_t)(b * b)), node->output[0]);
}

static int space_to_depth(struct rewrite *rewrite, const struct rule_site *site)
{
    static const int64_t order[] = {0, 3, 5, 1, 2, 4};
    const struct bounded *x = rewrite_input(rewrite, site->node, 0);
    int64_t b = block_size(x, site->node);
    if (b == 0 || x->shape.dims[2] % b != 0 || x->shape.dims[3] % b != 0 || rewrite_opset(rewrite) < 11)
        return 0;
    const int64_t *dims = x->shape.dims;
    struct shape apart = {.rank = 6, .dims = {dims[0], dims[1], dims[2] / b, b, dims[3] / b, b}};
    struct shape result = {.rank = 4, .dims = {dims[0], dims[1] * b * b, dims[2] / b, dims[3] / b}};
    if (b <= 4 && rng_below(&rewrite->rng, 2) == 0)
        slice_blocks(rewrite, site->node, x, b);
    else
        move_blocks(rewrite, site->node, &apart, order, &result);
    return 1;
}

const struct rule rule_space_to_depth = {
    .name = "space-to-depth",
    .paper = 7,
    .summary = "a SpaceToDepth by Reshape, Transpose and Reshape, or by Slice and Concat",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "SpaceToDepth",
    .apply = space_to_depth,
};

/* --- Resize to the nearest element --- */

struct resize {
    int rank;
    int64_t in[TENSOR_MAX_RANK], out[TENSOR_MAX_RANK];
    double scale[TENSOR_MAX_RANK];
    const char *transform, *rounding;
};

/* Which axes the lists of scales or sizes are for. */
static bool read_axes(const Onnx__NodeProto *node, int rank, size_t count, int64_t *axes)
{
    const int64_t *given;
    size_t n_given;
    if (!node_ints(node, "axes", &given, &n_given) || n_given == 0) {
        for (int i = 0; i < rank; i++)
            axes[i] = i;
        return count == (size_t)rank;
    }
    if (n_given != count || count > (size_t)rank)
        return false;
    for (size_t i = 0; i < count; i++) {
        axes[i] = given[i] < 0 ? given[i] + rank : given[i];
        if (axes[i] < 0 || axes[i] >= rank)
            return false;
    }
    return true;
}

/* Reads constant scales; false when they do not give the sizes that the output has without doubt. */
static bool read_scales(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct resize *r)
{
    struct tensor scales;
    int64_t axes[TENSOR_MAX_RANK];
    if (rewrite_constant(rewrite, node->input[2], &scales, NULL) != 1)
        return false;
    bool good = scales.type == DTYPE_FLOAT && scales.count > 0 && scales.count <= (size_t)r->rank &&
                read_axes(node, r->rank, scales.count, axes);
    for (size_t i = 0; good && i < scales.count; i++) {
        int64_t axis = axes[i];
        double scale = (double)tensor_get(&scales, i), length = scale * (double)r->in[axis];
        double over = length - (double)r->out[axis];
        r->scale[axis] = scale;
        good = scale > 0 && over >= 0 && over < 0.999 && (over == 0 || over > 0.001) &&
               (r->out[axis] != r->in[axis] || scale == 1);
    }
    tensor_release(&scales);
    return good;
}

static bool read_sizes(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct resize *r)
{
    int64_t axes[TENSOR_MAX_RANK], sizes[TENSOR_MAX_RANK];
    size_t count;
    if (!rewrite_constant_ints(rewrite, node->input[3], sizes, (size_t)r->rank, &count) || count == 0 ||
        !read_axes(node, r->rank, count, axes))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] != r->out[axes[i]])
            return false;
        r->scale[axes[i]] = (double)sizes[i] / (double)r->in[axes[i]];
    }
    return true;
}

static bool read_resize(struct rewrite *rewrite, const Onnx__NodeProto *node, struct resize *r)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0), *y = rewrite_type(rewrite, node->output[0]);
    bool resized = false;
    if (!x || !y || x->count == 0 || y->count == 0 || x->shape.rank != y->shape.rank || x->shape.rank < 1 ||
        rewrite_opset(rewrite) < 11 ||
        !text_equal(rewrite_string(rewrite, node, "mode", "nearest"), "nearest") ||
        !text_equal(rewrite_string(rewrite, node, "keep_aspect_ratio_policy", "stretch"), "stretch"))
        return false;
    *r = (struct resize){.rank = x->shape.rank};
    r->transform = rewrite_string(rewrite, node, "coordinate_transformation_mode", "half_pixel");
    r->rounding = rewrite_string(rewrite, node, "nearest_mode", "round_prefer_floor");
    for (int i = 0; i < r->rank; i++) {
        r->in[i] = x->shape.dims[i];
        r->out[i] = y->shape.dims[i];
        r->scale[i] = 1;
        resized |= r->in[i] != r->out[i];
        if (r->in[i] != r->out[i] && (r->in[i] > LENGTH_MAX || r->out[i] > LENGTH_MAX))
            return false;
    }
    const struct bounded *scales = rewrite_input(rewrite, node, 2), *sizes = rewrite_input(rewrite, node, 3);
    bool by_scales = scales && scales->count > 0, by_sizes = sizes && sizes->count > 0;
    return resized && by_scales != by_sizes &&
           (by_scales ? read_scales(rewrite, node, r) : read_sizes(rewrite, node, r));
}

/* The coordinate in the input; NAN for transformations that are left alone. */
static double coordinate(const struct resize *r, int axis, int64_t i)
{
    double at = (double)i, scale = r->scale[axis], out = (double)r->out[axis];
    if (text_equal(r->transform, "asymmetric"))
        return at / scale;
    if (text_equal(r->transform, "pytorch_half_pixel") && r->out[axis] == 1)
        return 0;
    if (text_equal(r->transform, "half_pixel") || text_equal(r->transform, "pytorch_half_pixel"))
        return (at + 0.5) / scale - 0.5;
    if (text_equal(r->transform, "align_corners") && out == (double)r->in[axis] * scale)
        return out == 1 ? 0 : at * (double)(r->in[axis] - 1) / (out - 1);
    return NAN;
}

/* The element nearest to a coordinate; -1 when the way of rounding is not known. */
static int64_t nearest(const struct resize *r, int axis, double at)
{
    double index = -1;
    if (text_equal(r->rounding, "round_prefer_floor"))
        index = ceil(at - 0.5);
    else if (text_equal(r->rounding, "round_prefer_ceil"))
        index = floor(at + 0.5);
    else if (text_equal(r->rounding, "floor"))
        index = floor(at);
    else if (text_equal(r->rounding, "ceil"))
        index = ceil(at);
    else
        return -1;
    double last = (double)r->in[axis] - 1;
    return (int64_t)(index < 0 ? 0 : index > last ? last : index);
}

/* Whether coordinates are exact in float32 however they are computed: asymmetric by a whole factor or by a
 * half, a quarter ... */
static bool is_exact(const struct resize *r, int axis)
{
    int exponent;
    double scale = r->scale[axis];
    return text_equal(r->transform, "asymmetric") &&
           ((scale == floor(scale) && scale < 8) || (scale < 1 && frexp(scale, &exponent) == 0.5));
}

/* The index of the input element for each output element along an axis. False where rounding of coordinates
 * may choose another one. */
static bool find_indices(const struct resize *r, int axis, int64_t *indices)
{
    const double margin = 1e-3;
    for (int64_t i = 0; i < r->out[axis]; i++) {
        double at = coordinate(r, axis, i);
        if (isnan(at))
            return false;
        int64_t low = nearest(r, axis, at - margin), high = nearest(r, axis, at + margin);
        indices[i] = nearest(r, axis, at);
        if (low < 0 || (low != high && !is_exact(r, axis)))
            return false;
    }
    return true;
}

/* Whether every element is repeated equally often along each axis. */
static bool only_repeats(const struct resize *r, int axis, const int64_t *indices)
{
    if (r->out[axis] % r->in[axis] != 0)
        return false;
    for (int64_t i = 0; i < r->out[axis]; i++)
        if (indices[i] != i / (r->out[axis] / r->in[axis]))
            return false;
    return true;
}

/* Repeats the elements along one axis by Expand. */
static const char *repeat(struct rewrite *rewrite, const char *value, struct shape *shape, int axis,
                          int64_t times)
{
    struct shape wide = {.rank = shape->rank + 1};
    if (wide.rank > TENSOR_MAX_RANK)
        return NULL;
    for (int i = 0; i < wide.rank; i++)
        wide.dims[i] = i <= axis ? shape->dims[i] : i == axis + 1 ? times : shape->dims[i - 1];
    const char *apart = rewrite_unsqueeze(rewrite, value, axis + 1);
    const char *sizes = rewrite_ints(rewrite, wide.dims, (size_t)wide.rank);
    shape->dims[axis] *= times;
    return rewrite_reshape(rewrite, rewrite_op(rewrite, "Expand", NULL, apart, sizes, NULL), shape);
}

static int resize_nearest(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *gather;
    struct resize r;
    int64_t indices[LENGTH_MAX];
    const char *value = node->input[0];
    if (!read_resize(rewrite, node, &r))
        return 0;
    struct shape shape = rewrite_input(rewrite, node, 0)->shape;
    for (int axis = 0; value && axis < r.rank; axis++) {
        if (r.in[axis] == r.out[axis] && r.scale[axis] == 1)
            continue;
        if (!find_indices(&r, axis, indices))
            return 0;
        if (only_repeats(&r, axis, indices) && rng_below(&rewrite->rng, 2) == 0) {
            value = repeat(rewrite, value, &shape, axis, r.out[axis] / r.in[axis]);
            continue;
        }
        const char *list = rewrite_ints(rewrite, indices, (size_t)r.out[axis]);
        value = rewrite_op(rewrite, "Gather", &gather, value, list, NULL);
        node_set_int(&rewrite->model->arena, gather, "axis", axis);
        shape.dims[axis] = r.out[axis];
    }
    if (!value)
        return 0;
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, value, node->output[0]);
    return 1;
}

const struct rule rule_resize_nearest = {
    .name = "resize-nearest",
    .summary = "a Resize to nearest elements by Expand or Gather",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Resize",
    .apply = resize_nearest,
};
