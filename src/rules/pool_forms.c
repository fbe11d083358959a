/* Rule 7 of EAGLE for pools: by reductions of unfolded windows, by convolutions, by pools along one axis. */
#include "base/memory.h"
#include "base/str.h"
#include "rules/rule.h"
#include "rules/window.h"

#include <string.h>

/* Numbers up to 256 are exact in every floating-point type. */
enum { SLICES_MAX = 32, TAPS_MAX = 256, PLACES_MAX = 1 << 17 };

static bool read_pool(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_window *w)
{
    return rewrite_opset(rewrite) >= 11 && window_read(rewrite, node, w) && !w->disputed &&
           w->taps <= TAPS_MAX && rewrite_one_output(node) && window_never_outside(w);
}

static bool counts_padding(const Onnx__NodeProto *node)
{
    return node_int(node, "count_include_pad", 0) != 0;
}

/* How many elements AveragePool divides by at each place, [1, 1, out ...]; NULL when that is too large. */
static const char *divisors(struct rewrite *rewrite, const struct rule_window *w, enum dtype type,
                            bool padded)
{
    struct tensor counts;
    struct shape shape = {.rank = w->axes + 2, .dims = {1, 1}};
    int64_t places = 1;
    for (int i = 0; i < w->axes; i++) {
        shape.dims[i + 2] = w->out[i];
        if ((places *= w->out[i]) > PLACES_MAX)
            return NULL;
    }
    if (tensor_alloc(&counts, type, &shape, 0, NULL))
        memory_exhausted((size_t)places);
    for (int64_t place = 0; place < places; place++) {
        int64_t rest = place, count = 1;
        for (int i = w->axes - 1; i >= 0; i--) {
            count *= window_inside(w, i, rest % w->out[i], padded);
            rest /= w->out[i];
        }
        tensor_set(&counts, (size_t)place, (long double)count);
    }
    const char *name = rewrite_tensor(rewrite, &counts);
    tensor_release(&counts);
    return name;
}

/* One operator over the values under all taps, such as Max or Sum. */
static const char *over_taps(struct rewrite *rewrite, const char *op_type, const char *padded,
                             const struct rule_window *w)
{
    const char *taps[SLICES_MAX + 1];
    const char *result = rewrite_name(rewrite, op_type);
    for (int64_t tap = 0; tap < w->taps; tap++)
        taps[tap] = window_tap(rewrite, padded, w, tap);
    taps[w->taps] = NULL;
    rewrite_node(rewrite, op_type, taps, (const char *const[]){result, NULL});
    return result;
}

/* A reduction of all windows; NULL when they are too large to be unfolded. */
static const char *over_windows(struct rewrite *rewrite, const char *op_type, const char *padded,
                                const struct bounded *x, const struct rule_window *w)
{
    struct shape shape = {.rank = w->axes + 2, .dims = {x->shape.dims[0], x->shape.dims[1]}};
    const int64_t axis = 2;
    const char *windows = window_unfold(rewrite, padded, x, w);
    for (int i = 0; i < w->axes; i++)
        shape.dims[i + 2] = w->out[i];
    if (!windows || !rewrite_takes(rewrite, op_type, x->type))
        return NULL;
    return rewrite_reshape(rewrite, rewrite_reduce(rewrite, op_type, windows, &axis, 1, false), &shape);
}

static const char *reduce(struct rewrite *rewrite, const char *by_taps, const char *by_windows,
                          const char *padded, const struct bounded *x, const struct rule_window *w)
{
    bool few = by_taps && w->taps <= SLICES_MAX && rewrite_takes(rewrite, by_taps, x->type);
    if (few && rng_below(&rewrite->rng, 2) == 0)
        return over_taps(rewrite, by_taps, padded, w);
    return over_windows(rewrite, by_windows, padded, x, w);
}

static const char *average(struct rewrite *rewrite, const Onnx__NodeProto *node, const char *padded,
                           const struct bounded *x, const struct rule_window *w,
                           const struct rule_window *cover)
{
    const char *sums = reduce(rewrite, "Sum", "ReduceSum", padded, x, cover);
    const char *counts = divisors(rewrite, w, x->type, counts_padding(node));
    return sums && counts ? rewrite_op(rewrite, "Div", NULL, sums, counts, NULL) : NULL;
}

static int pool_by_unfolding(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    int64_t p = node_int(node, "p", 2);
    if (!read_pool(rewrite, node, &w))
        return 0;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    struct rule_window cover = window_cover(&w);
    bool maximum = text_equal(node->op_type, "MaxPool"), mean = text_equal(node->op_type, "AveragePool");
    const char *fill = maximum ? window_fill(rewrite, node, &w) : rewrite_scalar(rewrite, x->type, 0, 0),
               *result = NULL;
    const char *padded = window_pad(rewrite, node->input[0], &cover, fill);
    if (maximum)
        result = reduce(rewrite, "Max", "ReduceMax", padded, x, &cover);
    else if (mean)
        result = average(rewrite, node, padded, x, &w, &cover);
    else if (p == 1 || p == 2)
        result = reduce(rewrite, NULL, p == 1 ? "ReduceL1" : "ReduceL2", padded, x, &cover);
    if (!result)
        return 0;
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, result, node->output[0]);
    return 1;
}

const struct rule rule_pool_by_unfolding = {
    .name = "pool-by-unfolding",
    .paper = 7,
    .summary = "a pool by the maximum, mean or norm of unfolded windows",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MaxPool|AveragePool|LpPool",
    .apply = pool_by_unfolding,
};

/* Sums by a depthwise kernel of ones, divided by the number of elements. */
static int average_by_conv(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node, *conv;
    struct arena *arena = &rewrite->model->arena;
    struct rule_window w;
    struct tensor ones;
    int64_t pads[2 * WINDOW_AXES];
    if (!read_pool(rewrite, node, &w))
        return 0;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    const char *counts = divisors(rewrite, &w, x->type, counts_padding(node));
    struct rule_window cover = window_cover(&w);
    struct shape shape = {.rank = w.axes + 2, .dims = {x->shape.dims[1], 1}};
    if (!counts || !rewrite_takes(rewrite, "Conv", x->type) || x->shape.dims[1] > 4096)
        return 0;
    for (int i = 0; i < w.axes; i++) {
        shape.dims[i + 2] = w.kernel[i];
        pads[i] = cover.begin[i];
        pads[w.axes + i] = cover.end[i];
    }
    if (tensor_alloc(&ones, x->type, &shape, 0, NULL))
        memory_exhausted((size_t)(x->shape.dims[1] * w.taps));
    for (size_t i = 0; i < ones.count; i++)
        tensor_set(&ones, i, 1);
    const char *weights = rewrite_tensor(rewrite, &ones);
    tensor_release(&ones);
    const char *sums = rewrite_op(rewrite, "Conv", &conv, node->input[0], weights, NULL);
    node_set_ints(arena, conv, "strides", w.stride, (size_t)w.axes);
    node_set_ints(arena, conv, "dilations", w.dilation, (size_t)w.axes);
    node_set_ints(arena, conv, "pads", pads, 2 * (size_t)w.axes);
    node_set_int(arena, conv, "group", x->shape.dims[1]);
    rewrite_remove(rewrite, node);
    rewrite_op_to(rewrite, node->output[0], "Div", sums, counts, NULL);
    return 1;
}

const struct rule rule_average_by_conv = {
    .name = "average-by-conv",
    .paper = 7,
    .summary = "an AveragePool by a depthwise Conv with ones, divided by the counts",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "AveragePool",
    .apply = average_by_conv,
};

/* Leaves the windows of one axis only (`alone`), or those of all others. */
static void keep_axes(struct rewrite *rewrite, Onnx__NodeProto *node, const struct rule_window *w, int axis,
                      bool alone)
{
    struct arena *arena = &rewrite->model->arena;
    struct rule_window kept = *w;
    int64_t pads[2 * WINDOW_AXES];
    bool dilated = false;
    for (int i = 0; i < w->axes; i++) {
        if ((i == axis) != alone) {
            kept.kernel[i] = kept.stride[i] = kept.dilation[i] = 1;
            kept.begin[i] = kept.end[i] = 0;
        }
        pads[i] = kept.begin[i];
        pads[w->axes + i] = kept.end[i];
        dilated |= w->dilation[i] != 1;
    }
    node_remove_attribute(node, "auto_pad");
    node_set_ints(arena, node, "kernel_shape", kept.kernel, (size_t)w->axes);
    node_set_ints(arena, node, "strides", kept.stride, (size_t)w->axes);
    node_set_ints(arena, node, "pads", pads, 2 * (size_t)w->axes);
    if (dilated)
        node_set_ints(arena, node, "dilations", kept.dilation, (size_t)w->axes);
}

/* The maximum, mean or norm over a window is that over one axis of those over the others: how many elements
 * are inside is a product over the axes. */
static int pool_by_axes(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    if (!read_pool(rewrite, node, &w) || w.axes < 2)
        return 0;
    int axis = (int)rng_below(&rewrite->rng, (uint64_t)w.axes);
    const char *between = rewrite_name(rewrite, "rows");
    Onnx__NodeProto *second = rewrite_copy_node(rewrite, node);
    node->output[0] = arena_strdup(&rewrite->model->arena, between);
    rewrite_set_input(rewrite, second, 0, between);
    keep_axes(rewrite, node, &w, axis, true);
    keep_axes(rewrite, second, &w, axis, false);
    return 1;
}

const struct rule rule_pool_by_axes = {
    .name = "pool-by-axes",
    .summary = "a pool by one along one axis and another along the others",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MaxPool|AveragePool|LpPool",
    .apply = pool_by_axes,
};

static const char *reduction_for(const Onnx__NodeProto *node)
{
    if (text_equal(node->op_type, "GlobalAveragePool"))
        return "ReduceMean";
    if (text_equal(node->op_type, "GlobalMaxPool"))
        return "ReduceMax";
    int64_t p = node_int(node, "p", 2);
    return p == 1 ? "ReduceL1" : p == 2 ? "ReduceL2" : NULL;
}

static int global_pool_by_reduce(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    const char *op_type = reduction_for(node);
    int64_t axes[TENSOR_MAX_RANK];
    if (!x || x->shape.rank < 3 || x->count == 0 || !op_type || !rewrite_takes(rewrite, op_type, x->type))
        return 0;
    for (int i = 2; i < x->shape.rank; i++)
        axes[i - 2] = i;
    const char *result =
        rewrite_reduce(rewrite, op_type, node->input[0], axes, (size_t)x->shape.rank - 2, true);
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, result, node->output[0]);
    return 1;
}

const struct rule rule_global_pool_by_reduce = {
    .name = "global-pool-by-reduce",
    .paper = 7,
    .summary = "a global pool by ReduceMean, ReduceMax, ReduceL1 or ReduceL2",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "GlobalAveragePool|GlobalMaxPool|GlobalLpPool",
    .apply = global_pool_by_reduce,
};

static int global_pool_by_pool(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    if (!x || x->shape.rank < 3 || x->shape.rank > 2 + WINDOW_AXES || x->count == 0 ||
        !rewrite_one_output(node))
        return 0;
    node_set_ints(&rewrite->model->arena, node, "kernel_shape", x->shape.dims + 2, (size_t)x->shape.rank - 2);
    node->op_type = arena_strdup(&rewrite->model->arena, node->op_type + strlen("Global"));
    return 1;
}

const struct rule rule_global_pool_by_pool = {
    .name = "global-pool-by-pool",
    .paper = 7,
    .summary = "a global pool by a pool whose window is the whole image",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "GlobalAveragePool|GlobalMaxPool|GlobalLpPool",
    .apply = global_pool_by_pool,
};
