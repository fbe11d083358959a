/* Operators that move elements: Concat, Transpose, Expand, Tile, Pad, Slice, Gather, Trilu, Resize. */
#include "ops.h"

#include "base/memory.h"

int run_concat(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int rank = call->inputs[0]->shape.rank;
    int axis = walk_axis(node_int(call->node, "axis", call->opset < 4 ? 1 : -1), rank);
    struct ggml_tensor *y = net_input(&net, call->inputs[0]);
    for (size_t i = 1; i < call->n_inputs && y; i++) {
        struct ggml_tensor *t = net_input(&net, call->inputs[i]);
        y = t ? net.api->concat(net.context, y, t, rank - 1 - axis) : NULL;
    }
    /* Of one input nothing is computed: its elements are the graph's. */
    return net_finish(&net, y && call->n_inputs == 1 ? net.api->cont(net.context, y) : y);
}

/* ggml_permute says for each dim of the operand where it goes; both count from the last. */
int run_transpose(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int rank = call->inputs[0]->shape.rank, to[NET_RANK] = {0, 1, 2, 3};
    const int64_t *perm;
    size_t n = 0;
    if (!node_ints(call->node, "perm", &perm, &n))
        n = 0;
    for (int i = 0; i < rank; i++) {
        int from = n ? (int)perm[i] : rank - 1 - i;
        to[rank - 1 - from] = rank - 1 - i;
    }
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    if (!x)
        return net_finish(&net, NULL);
    x = net.api->permute(net.context, x, to[0], to[1], to[2], to[3]);
    return net_finish(&net, net.api->cont(net.context, x));
}

/* Expand and Tile. Expand's result may have more dims, and its shape ones where x has more. */
int run_repeat(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    struct ggml_tensor *shape = x ? net_shape(&net, &call->outputs[0].shape) : NULL;
    return net_finish(&net, shape ? net.api->repeat(net.context, x, shape) : NULL);
}

/* The numbers to pad by, at dims as ggml counts them. */
static int read_pads(struct walk_call *call, int *before, int *after)
{
    const struct tensor *pads = walk_input(call, 1);
    int rank = call->inputs[0]->shape.rank;
    if (!pads || walk_input(call, 3))
        return walk_unsupported(call, "with pads as an attribute, or of some axes");
    for (int i = 0; i < rank; i++) {
        int64_t low = (int64_t)tensor_get(pads, (size_t)i),
                high = (int64_t)tensor_get(pads, (size_t)(i + rank));
        if (low < 0 || high < 0 || low > INT32_MAX || high > INT32_MAX)
            return walk_unsupported(call, "by a negative or huge number");
        before[rank - 1 - i] = (int)low;
        after[rank - 1 - i] = (int)high;
    }
    return 0;
}

static bool all_zero(const int *numbers, int from)
{
    for (int i = from; i < NET_RANK; i++)
        if (numbers[i])
            return false;
    return true;
}

/* What ggml_pad_reflect_1d asserts of the last axis: fewer elements are asked for than it has. */
static bool can_mirror(const struct shape *shape, int before, int after)
{
    int64_t elements = shape->rank ? shape->dims[shape->rank - 1] : 1;
    return before < elements && after < elements;
}

/* Zeros after the elements on any axis; before them in releases with ggml_pad_ext; on the last, its mirror.
 */
int run_pad(struct walk_call *call)
{
    struct net net;
    int before[NET_RANK] = {0}, after[NET_RANK] = {0};
    const struct tensor *value = walk_input(call, 2);
    bool constant = walk_text_is(call, "mode", "constant", "constant");
    bool mirror = walk_text_is(call, "mode", "constant", "reflect");
    if (net_init(&net, call))
        return -1;
    if (read_pads(call, before, after)) {
        net_release(&net);
        return -1;
    }
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    if (!x)
        return net_finish(&net, NULL);
    if (mirror && !can_mirror(&call->inputs[0]->shape, before[0], after[0]))
        return net_refuse(&net, "by a mirror of more elements than there are");
    if (mirror && net.api->pad_reflect_1d && all_zero(before, 1) && all_zero(after, 1))
        return net_finish(&net, net.api->pad_reflect_1d(net.context, x, before[0], after[0]));
    if (!constant || (value && tensor_get(value, 0) != 0))
        return net_refuse(&net, "by anything but zeros, or a mirror on the last axis");
    if (all_zero(before, 0))
        return net_finish(&net, net.api->pad(net.context, x, after[0], after[1], after[2], after[3]));
    if (!net.api->pad_ext)
        return net_refuse(&net, "this release has no ggml_pad_ext");
    return net_finish(&net, net.api->pad_ext(net.context, x, before[0], after[0], before[1], after[1],
                                             before[2], after[2], before[3], after[3]));
}

/* A part of x, which begins at `start` in ONNX's order and has the output's shape. */
static struct ggml_tensor *part(struct net *net, struct ggml_tensor *t, const struct tensor *x,
                                const int64_t *start, const struct shape *shape)
{
    size_t strides[NET_RANK + 1] = {x->size / x->count}, offset = 0;
    int64_t ne[NET_RANK] = {1, 1, 1, 1};
    for (int i = 0; i < NET_RANK; i++) {
        int axis = x->shape.rank - 1 - i;
        strides[i + 1] = strides[i] * (size_t)(axis >= 0 ? x->shape.dims[axis] : 1);
        if (axis < 0)
            continue;
        ne[i] = shape->dims[axis];
        offset += strides[i] * (size_t)start[axis];
    }
    t = net->api->view_4d(net->context, t, ne[0], ne[1], ne[2], ne[3], strides[1], strides[2], strides[3],
                          offset);
    return net->api->cont(net->context, t);
}

/* Where a slice begins on an axis; -1 where it has a step. */
static int64_t start_of(const struct walk_call *call, size_t i, int64_t dim)
{
    const struct tensor *steps = walk_input(call, 4);
    int64_t start = (int64_t)tensor_get(call->inputs[1], i);
    if (steps && tensor_get(steps, i) != 1)
        return -1;
    if (start < 0)
        start += dim;
    return start < 0 ? 0 : start > dim ? dim : start;
}

int run_slice(struct walk_call *call)
{
    struct net net;
    const struct tensor *x = call->inputs[0], *axes = walk_input(call, 3);
    int64_t start[TENSOR_MAX_RANK] = {0};
    if (net_init(&net, call))
        return -1;
    if (call->opset < 10)
        return net_refuse(&net, "before opset 10");
    for (size_t i = 0; i < call->inputs[1]->count; i++) {
        int axis = axes ? walk_axis((int64_t)tensor_get(axes, i), x->shape.rank) : (int)i;
        start[axis] = start_of(call, i, x->shape.dims[axis]);
        if (start[axis] < 0)
            return net_refuse(&net, "with steps");
    }
    struct ggml_tensor *t = net_input(&net, x);
    return net_finish(&net, t ? part(&net, t, x, start, &call->outputs[0].shape) : NULL);
}

static int give_parts(struct net *net, struct ggml_tensor *t, int axis)
{
    struct walk_call *call = net->call;
    struct ggml_tensor *parts[NET_MAX_INPUTS];
    int64_t start[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < call->n_outputs; i++) {
        parts[i] = part(net, t, call->inputs[0], start, &call->outputs[i].shape);
        start[axis] += call->outputs[i].shape.dims[axis];
    }
    int result = net_run(net, parts, call->n_outputs);
    for (size_t i = 0; i < call->n_outputs && result == 0; i++)
        result = net_give(net, parts[i], &call->outputs[i]);
    net_release(net);
    return result;
}

int run_split(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    for (size_t i = 0; i < call->n_outputs; i++)
        if (!walk_wants(call, i) || call->outputs[i].count == 0 || i == NET_MAX_INPUTS)
            return net_refuse(&net, "into parts that are empty, omitted or too many");
    struct ggml_tensor *t = net_input(&net, call->inputs[0]);
    int axis = walk_axis(node_int(call->node, "axis", 0), call->inputs[0]->shape.rank);
    return t ? give_parts(&net, t, axis) : net_finish(&net, NULL);
}

/* The indices once for each matrix, counted from the first row. */
static struct ggml_tensor *row_numbers(struct net *net, const struct tensor *indices,
                                       const struct net_rows *rows)
{
    size_t count = indices->count, outer = (size_t)rows->outer;
    int32_t *numbers = memory_zeroed(count * outer, sizeof *numbers);
    for (size_t i = 0; i < count * outer; i++) {
        int64_t index = (int64_t)tensor_get(indices, i % count);
        numbers[i] = (int32_t)(index < 0 ? index + rows->count : index);
    }
    int64_t dims[] = {rows->outer, (int64_t)count};
    return net_computed(net, TYPE_I32, numbers, 2, dims);
}

/* ggml_get_rows takes rows of matrices: what is behind the axis is a row, what is before it counts matrices.
 */
int run_gather(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *x = call->inputs[0];
    int axis = walk_axis(node_int(call->node, "axis", 0), x->shape.rank);
    struct net_rows rows = net_rows_of(x, axis, 1);
    int64_t dims[] = {rows.outer, rows.count, rows.inner};
    if (rows.count > INT32_MAX)
        return net_refuse(&net, "of more rows than int32 counts");
    struct ggml_tensor *t = net_input_as(&net, x, 3, dims),
                       *numbers = row_numbers(&net, call->inputs[1], &rows);
    return net_finish(&net, t && numbers ? net.api->get_rows(net.context, t, numbers) : NULL);
}

/* ggml_tri has the main diagonal and the next one, of squares; ggml_diag_mask_zero lower parts from it on. */
int run_trilu(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *x = call->inputs[0], *diagonal = walk_input(call, 1);
    int64_t k = diagonal ? (int64_t)tensor_get(diagonal, 0) : 0;
    bool upper = node_int(call->node, "upper", 1), square;
    square = x->shape.dims[x->shape.rank - 1] == x->shape.dims[x->shape.rank - 2];
    struct ggml_tensor *t = net_input(&net, x);
    if (!t)
        return net_finish(&net, NULL);
    if (net.api->tri && square && (k == 0 || k == (upper ? 1 : -1))) {
        int kind = upper ? (k ? TRI_UPPER : TRI_UPPER_DIAG) : (k ? TRI_LOWER : TRI_LOWER_DIAG);
        return net_finish(&net, net.api->tri(net.context, t, kind));
    }
    if (upper || k < 0 || k > INT32_MAX)
        return net_refuse(&net, "of this part, for which this release has no builder");
    return net_finish(&net, net.api->diag_mask_zero(net.context, t, (int)k));
}

/*
 * The library takes the element at the floor of i / scale. At scales that are whole numbers that is the
 * nearest one by half pixels too, without a tie.
 */
static bool is_floor(const struct walk_call *call, bool half, bool plain)
{
    const struct shape *from = &call->inputs[0]->shape, *to = &call->outputs[0].shape;
    if (plain)
        return walk_text_is(call, "nearest_mode", "round_prefer_floor", "floor");
    bool nearest = walk_text_is(call, "nearest_mode", "round_prefer_floor", "round_prefer_floor") ||
                   walk_text_is(call, "nearest_mode", "round_prefer_floor", "round_prefer_ceil");
    return half && nearest && to->dims[2] % from->dims[2] == 0 && to->dims[3] % from->dims[3] == 0;
}

/* Which of ggml's modes this is; -1: none. */
static int resize_mode(const struct walk_call *call)
{
    bool half = walk_text_is(call, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    bool corners = walk_text_is(call, "coordinate_transformation_mode", "half_pixel", "align_corners");
    bool plain = walk_text_is(call, "coordinate_transformation_mode", "half_pixel", "asymmetric");
    if (walk_text_is(call, "mode", "nearest", "nearest"))
        return is_floor(call, half, plain) ? SCALE_NEAREST : -1;
    if (!half && !corners)
        return -1;
    if (walk_text_is(call, "mode", "nearest", "linear"))
        return SCALE_BILINEAR | (corners ? SCALE_ALIGN_CORNERS : 0);
    if (walk_text_is(call, "mode", "nearest", "cubic") && half &&
        node_float(call->node, "cubic_coeff_a", -0.75F) == -0.75F)
        return SCALE_BICUBIC;
    return -1;
}

/* The library computes the scale from the sizes; another one is another function. */
static bool scales_are_sizes(const struct walk_call *call)
{
    const struct tensor *scales = walk_input(call, 2);
    const struct shape *from = &call->inputs[0]->shape, *to = &call->outputs[0].shape;
    if (!scales || scales->count == 0)
        return true;
    for (int i = 0; i < from->rank; i++)
        if ((double)tensor_get(scales, (size_t)i) * (double)from->dims[i] != (double)to->dims[i])
            return false;
    return true;
}

int run_resize(struct walk_call *call)
{
    struct net net;
    const struct shape *from = &call->inputs[0]->shape, *to = &call->outputs[0].shape;
    int mode = resize_mode(call);
    if (net_init_of(&net, call, 1)) /* the region, and scales or sizes, may be empty */
        return -1;
    bool same = from->dims[0] == to->dims[0] && from->dims[1] == to->dims[1];
    if (mode < 0 || !same || !scales_are_sizes(call) || node_int(call->node, "antialias", 0) ||
        call->opset < 11)
        return net_refuse(&net, "other than ggml's modes of the last two axes");
    struct ggml_tensor *x = net_input(&net, call->inputs[0]);
    if (!x)
        return net_finish(&net, NULL);
    if (mode == SCALE_NEAREST)
        return net_finish(&net, net.api->upscale_ext(net.context, x, (int)to->dims[3], (int)to->dims[2],
                                                     (int)to->dims[1], (int)to->dims[0], SCALE_NEAREST));
    if (!net.api->interpolate || (mode == SCALE_BICUBIC && !library_since(net.library, 3, 14, 4)))
        return net_refuse(&net, "this release has only ggml_upscale_ext to the nearest");
    return net_finish(&net, net.api->interpolate(net.context, x, to->dims[3], to->dims[2], to->dims[1],
                                                 to->dims[0], (uint32_t)mode));
}
