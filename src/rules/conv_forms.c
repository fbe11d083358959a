/* A convolution by other operators, and by other convolutions: products of unfolded windows, sums of shifted
 * images, a depthwise convolution and a pointwise one, a kernel with zeros in place of dilations. */
#include "base/memory.h"
#include "base/str.h"
#include "rules/rule.h"
#include "rules/window.h"

enum { TAPS_MAX = 32, ELEMENTS_MAX = 1000000 };

static bool is_integer(const Onnx__NodeProto *node)
{
    return text_equal(node->op_type, "ConvInteger");
}

/* The window of a convolution whose weights fit its input. */
static bool read_convolution(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_window *w)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0), *weights = rewrite_input(rewrite, node, 1);
    return rewrite_opset(rewrite) >= 11 && window_read(rewrite, node, w) && rewrite_one_output(node) &&
           x->shape.dims[1] % w->groups == 0 && weights->shape.dims[0] % w->groups == 0 &&
           weights->shape.dims[1] == x->shape.dims[1] / w->groups && weights->count > 0;
}

/* The bias as [M, 1 ...], added to a value of shape [N, M, ...]. */
static const char *add_bias(struct rewrite *rewrite, const Onnx__NodeProto *node, const char *value, int axes)
{
    if (is_integer(node) || !rewrite_has_input(node, 2))
        return value;
    struct shape shape = {.rank = axes + 1,
                          .dims = {rewrite_input(rewrite, node, 1)->shape.dims[0], 1, 1, 1}};
    return rewrite_op(rewrite, "Add", NULL, value, rewrite_reshape(rewrite, node->input[2], &shape), NULL);
}

/* A zero point as a scalar; "" when there is none, NULL when there is one for each channel. */
static const char *scalar_zero(struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number)
{
    const struct bounded *zero = rewrite_input(rewrite, node, number);
    struct shape scalar = {.rank = 0};
    if (!rewrite_has_input(node, number))
        return "";
    if (!zero || zero->count != 1)
        return NULL;
    return zero->shape.rank == 0 ? node->input[number]
                                 : rewrite_reshape(rewrite, node->input[number], &scalar);
}

static const char *multiply(struct rewrite *rewrite, const Onnx__NodeProto *node, const char *weights,
                            const char *windows)
{
    if (!is_integer(node))
        return rewrite_op(rewrite, "MatMul", NULL, weights, windows, NULL);
    const char *of_weights = scalar_zero(rewrite, node, 3), *of_data = scalar_zero(rewrite, node, 2);
    if (!of_weights || !of_data)
        return NULL;
    return rewrite_op(rewrite, "MatMulInteger", NULL, weights, windows,
                      *of_weights || *of_data ? of_weights : NULL, *of_data ? of_data : NULL, NULL);
}

/* Weights [G, M/G, C/G * taps] times windows [N, G, C/G * taps, places]; a single group has no dimension. */
static const char *product(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct rule_window *w,
                           const char *windows, int64_t places)
{
    const struct shape *x = &rewrite_input(rewrite, node, 0)->shape;
    const struct shape *k = &rewrite_input(rewrite, node, 1)->shape;
    int64_t outputs = k->dims[0] / w->groups, terms = k->dims[1] * w->taps;
    struct shape left = {.rank = 3, .dims = {w->groups, outputs, terms}};
    struct shape right = {.rank = 4, .dims = {x->dims[0], w->groups, terms, places}};
    struct shape result = {.rank = x->rank, .dims = {x->dims[0], k->dims[0]}};
    if (w->groups == 1) {
        left = (struct shape){.rank = 2, .dims = {outputs, terms}};
        right = (struct shape){.rank = 3, .dims = {x->dims[0], terms, places}};
    }
    for (int i = 0; i < w->axes; i++)
        result.dims[i + 2] = w->out[i];
    const char *sums = multiply(rewrite, node, rewrite_reshape(rewrite, node->input[1], &left),
                                rewrite_reshape(rewrite, windows, &right));
    return sums ? rewrite_reshape(rewrite, sums, &result) : NULL;
}

static int conv_by_matmul(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    int64_t places = 1;
    if (!read_convolution(rewrite, node, &w))
        return 0;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    if (!rewrite_takes(rewrite, is_integer(node) ? "MatMulInteger" : "MatMul", x->type))
        return 0;
    const char *fill = window_fill(rewrite, node, &w);
    const char *windows =
        fill ? window_unfold(rewrite, window_pad(rewrite, node->input[0], &w, fill), x, &w) : NULL;
    if (!windows)
        return 0;
    for (int i = 0; i < w.axes; i++)
        places *= w.out[i];
    const char *sums = product(rewrite, node, &w, windows, places);
    if (!sums)
        return 0;
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, add_bias(rewrite, node, sums, w.axes), node->output[0]);
    return 1;
}

const struct rule rule_conv_by_matmul = {
    .name = "conv-by-matmul",
    .summary = "a convolution by unfolded windows and MatMul",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvInteger",
    .apply = conv_by_matmul,
};

/* The weights of one tap, [M, C/G, 1 ...]. */
static const char *tap_weights(struct rewrite *rewrite, const char *weights, const struct rule_window *w,
                               int64_t tap)
{
    struct rule_window one = *w;
    for (int i = 0; i < w->axes; i++)
        one.out[i] = one.stride[i] = one.dilation[i] = 1;
    return window_tap(rewrite, weights, &one, tap);
}

static int conv_by_shifts(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    const char *sum = NULL;
    if (!read_convolution(rewrite, node, &w) || w.taps > TAPS_MAX)
        return 0;
    const char *zero = rewrite_scalar(rewrite, rewrite_input(rewrite, node, 0)->type, 0, 0);
    const char *padded = window_pad(rewrite, node->input[0], &w, zero);
    for (int64_t tap = 0; tap < w.taps; tap++) {
        Onnx__NodeProto *part;
        const char *image = window_tap(rewrite, padded, &w, tap);
        const char *weights = tap_weights(rewrite, node->input[1], &w, tap);
        /* The bias goes with the first. */
        const char *bias = tap == 0 && rewrite_has_input(node, 2) ? node->input[2] : NULL;
        const char *result = rewrite_op(rewrite, "Conv", &part, image, weights, bias, NULL);
        node_set_int(&rewrite->model->arena, part, "group", w.groups);
        sum = sum ? rewrite_op(rewrite, "Add", NULL, sum, result, NULL) : result;
    }
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, sum, node->output[0]);
    return 1;
}

const struct rule rule_conv_by_shifts = {
    .name = "conv-by-shifts",
    .summary = "a Conv by the sum of a 1x1 Conv for each tap of the kernel, on shifted images",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv",
    .apply = conv_by_shifts,
};

/* Depthwise weights [C * taps, 1, kernel ...] that copy the element under tap t of channel c to channel
 * c * taps + t. */
static const char *picking_weights(struct rewrite *rewrite, enum dtype type, int64_t channels,
                                   const struct rule_window *w)
{
    struct tensor weights;
    struct shape shape = {.rank = w->axes + 2, .dims = {channels * w->taps, 1}};
    for (int i = 0; i < w->axes; i++)
        shape.dims[i + 2] = w->kernel[i];
    if (tensor_alloc(&weights, type, &shape, 0, NULL))
        memory_exhausted((size_t)(channels * w->taps * w->taps));
    for (int64_t i = 0; i < channels * w->taps; i++)
        tensor_set(&weights, (size_t)(i * w->taps + i % w->taps), 1);
    const char *name = rewrite_tensor(rewrite, &weights);
    tensor_release(&weights);
    return name;
}

/*
 * A separable convolution is a depthwise and a pointwise one. Every Conv is separable when its depthwise part
 * only copies: a channel for each tap. That part multiplies what it does not copy by zero, which must not be
 * infinite or NaN; a kernel of one tap leaves nothing out.
 */
static int separable(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    if (!read_convolution(rewrite, node, &w) || w.groups != 1 || w.taps > TAPS_MAX ||
        (w.taps > 1 && !rewrite_is_finite(rewrite, node->input[0])))
        return 0;
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    const struct shape *k = &rewrite_input(rewrite, node, 1)->shape;
    int64_t channels = x->shape.dims[1];
    if (channels > ELEMENTS_MAX / (w.taps * w.taps))
        return 0;
    struct shape pointwise = {.rank = k->rank, .dims = {k->dims[0], channels * w.taps, 1, 1, 1}};
    Onnx__NodeProto *depthwise = rewrite_copy_node(rewrite, node);
    const char *copies = rewrite_name(rewrite, "taps");
    depthwise->n_input = 2;
    depthwise->output[0] = arena_strdup(&rewrite->model->arena, copies);
    node_set_int(&rewrite->model->arena, depthwise, "group", channels);
    rewrite_set_input(rewrite, depthwise, 1, picking_weights(rewrite, x->type, channels, &w));
    const char *weights = rewrite_reshape(rewrite, node->input[1], &pointwise);
    const char *bias = rewrite_has_input(node, 2) ? node->input[2] : NULL;
    rewrite_remove(rewrite, node);
    rewrite_op_to(rewrite, node->output[0], "Conv", copies, weights, bias, NULL);
    return 1;
}

const struct rule rule_separable = {
    .name = "separable",
    .paper = 5,
    .summary = "a Conv by a depthwise Conv, which copies each tap to a channel, and a pointwise one",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv",
    .apply = separable,
};

/* Zeros are multiplied with elements that the dilated kernel leaves out, so they must not be infinite or NaN.
 */
static int dilated(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct rule_window w;
    if (!read_convolution(rewrite, node, &w) || !rewrite_is_finite(rewrite, node->input[0]))
        return 0;
    const struct bounded *weights = rewrite_input(rewrite, node, 1);
    struct shape shape = weights->shape;
    const char *stuffed = node->input[1];
    size_t count = weights->count;
    for (int i = 0; i < w.axes; i++) {
        if (w.dilation[i] > 1 && count > ELEMENTS_MAX / (size_t)w.dilation[i])
            return 0;
        count *= (size_t)w.dilation[i];
        if (w.dilation[i] > 1)
            stuffed = window_stuff(rewrite, stuffed, weights->type, &shape, i + 2, w.dilation[i]);
    }
    if (stuffed == node->input[1])
        return 0;
    rewrite_set_input(rewrite, node, 1, stuffed);
    node_remove_attribute(node, "dilations");
    node_remove_attribute(node, "kernel_shape");
    return 1;
}

const struct rule rule_dilated = {
    .name = "dilated",
    .respells = true,
    .paper = 6,
    .summary = "a dilated Conv by one whose kernel has zeros in between",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv",
    .apply = dilated,
};

static int bias_by_add(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *bias = rewrite_input(rewrite, node, 2);
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    if (!x || x->shape.rank < 3 || !bias || bias->shape.rank != 1 || !rewrite_takes(rewrite, "Add", x->type))
        return 0;
    struct shape shape = {.rank = x->shape.rank - 1, .dims = {bias->shape.dims[0]}};
    for (int i = 1; i < shape.rank; i++)
        shape.dims[i] = 1;
    const char *output = node->output[0], *sums = rewrite_name(rewrite, "sums");
    const char *added = rewrite_reshape(rewrite, node->input[2], &shape);
    node->n_input = 2;
    node->output[0] = arena_strdup(&rewrite->model->arena, sums);
    rewrite_op_to(rewrite, output, "Add", sums, added, NULL);
    return 1;
}

const struct rule rule_bias_by_add = {
    .name = "bias-by-add",
    .respells = true,
    .summary = "the bias of a convolution by an Add behind it",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Conv|ConvTranspose",
    .apply = bias_by_add,
};
