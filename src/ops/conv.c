/* Conv and ConvInteger. Bounds: contract.h and winograd.h. */
#include "ops/convolve.h"
#include "ops/draw.h"
#include "ops/draw_window.h"
#include "ops/pool_geometry.h"

#include <inttypes.h>

/* The padding of SAME; false when ONNX leaves open where windows start. */
static bool pad_same(struct conv_attributes *w, const struct shape *x)
{
    bool upper = w->auto_pad == PAD_SAME_UPPER, clear = true;
    for (int i = 0; i < w->rank; i++)
        clear &=
            window_pad_same(x->dims[i + 2], conv_extent(w, i), w->stride[i], upper, &w->begin[i], &w->end[i]);
    return clear;
}

/* Computes the shape of the output, and the image and windows that give it. */
static int plan(struct op_call *call, const struct bounded *x, const struct bounded *weights,
                struct conv_attributes *attributes, struct convolution *c, struct shape *out)
{
    struct conv_attributes w;
    int64_t size[SPATIAL_MAX];
    const struct shape *k = &weights->shape;
    if (conv_attributes_read(call, &x->shape, k, &w))
        return -1;
    if (k->dims[1] != x->shape.dims[1] / w.groups || k->dims[0] % w.groups != 0)
        return call_invalid(call, "the weights do not match %" PRId64 " channels in %" PRId64 " groups",
                            x->shape.dims[1], w.groups);
    if (w.auto_pad == PAD_SAME_UPPER || w.auto_pad == PAD_SAME_LOWER)
        call->open |= !pad_same(&w, &x->shape);
    *out = (struct shape){.rank = x->shape.rank, .dims = {x->shape.dims[0], k->dims[0]}};
    for (int i = 0; i < w.rank; i++) {
        size[i] = x->shape.dims[i + 2] + w.begin[i] + w.end[i];
        int64_t room = size[i] - conv_extent(&w, i);
        if (room < 0 && x->shape.dims[i + 2] > 0)
            return call_invalid(call, "the kernel is larger than the padded input");
        out->dims[i + 2] = room < 0 ? 0 : room / w.stride[i] + 1;
    }
    if (w.cut)
        return call_unsupported(call, "strides or dilations are too large");
    *c = convolution_plain(&w, w.begin, size, x, weights);
    *attributes = w;
    return 0;
}

static int eval_conv(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *weights = call_need(call, 1), *bias = call_input(call, 2);
    struct conv_attributes w;
    struct convolution c;
    struct shape shape;
    if (!x || !weights || plan(call, x, weights, &w, &c, &shape))
        return -1;
    if (x->type != weights->type || (bias && bias->type != x->type))
        return call_invalid(call, "the operands have different types");
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != shape.dims[1]))
        return call_invalid(call, "the bias must have one element per output channel");
    struct bounded *out = call_output_unset(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    c.bias = bias;
    c.out = out;
    c.unbounded = call->unbounded;
    c.direct = call->direct;
    return convolve(&c, call->err);
}

/* By x a transposed convolution of what arrives at the output. */
static int gradient_conv(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *weights = call->inputs[1], *up = g->upstream[0];
    struct conv_attributes w;
    struct convolution c;
    struct shape shape;
    if (!up || plan(call, x, weights, &w, &c, &shape))
        return up ? -1 : 0;
    struct convolution back = convolution_transposed(&w, w.begin, x->shape.dims + 2, up, weights);
    back.out = gradient_make(g, 0);
    if ((!back.out && g->wanted[0]) || (back.out && convolve(&back, call->err)))
        return -1;
    struct bounded *slope = gradient_make(g, 1);
    if ((!slope && g->wanted[1]) || (slope && convolve_weights_gradient(&c, up, slope, call->err)))
        return -1;
    return call_input(call, 2) && g->wanted[2] ? convolve_bias_gradient(g) : 0;
}

/* x - zero point as int32; a zero point of several elements is one for each slice of axis 0. */
static int subtract_zero(struct op_call *call, const struct bounded *x, const struct bounded *zero,
                         struct bounded *out)
{
    if (bounded_alloc(out, DTYPE_INT32, &x->shape, false, call->err))
        return -1;
    size_t slice = zero && zero->count > 1 ? x->count / zero->count : x->count;
    for (size_t i = 0; i < x->count; i++)
        number_put(out, i,
                   zero ? number_sub(number_of(x, i), number_of(zero, i / slice), 0) : number_of(x, i));
    return 0;
}

static int check_integer(struct op_call *call, const struct bounded *x, size_t input, int64_t slices)
{
    const struct bounded *zero = call_input(call, input);
    if (!dtype_in(x->type, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8)))
        return call_invalid(call, "the operands must be int8 or uint8");
    if (zero && zero->type != x->type)
        return call_invalid(call, "a zero point has another type than its tensor");
    bool one = zero && zero->count == 1 && zero->shape.rank <= 1;
    bool each = zero && zero->shape.rank == 1 && zero->shape.dims[0] == slices;
    if (zero && !one && !each)
        return call_invalid(call, "the shape of a zero point does not match its tensor");
    return 0;
}

static int eval_conv_integer(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *weights = call_need(call, 1);
    struct conv_attributes w;
    struct convolution c;
    struct shape shape;
    if (!x || !weights || plan(call, x, weights, &w, &c, &shape) || check_integer(call, x, 2, 1) ||
        check_integer(call, weights, 3, shape.dims[1]))
        return -1;
    struct bounded *out = call_output(call, 0, DTYPE_INT32, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct bounded pixels, kernel;
    bounded_init(&pixels);
    bounded_init(&kernel);
    int result = -1;
    if (subtract_zero(call, x, call_input(call, 2), &pixels) ||
        subtract_zero(call, weights, call_input(call, 3), &kernel))
        goto out;
    /* Padding is the zero point, 0 after the subtraction. */
    c.x = &pixels;
    c.weights = &kernel;
    c.out = out;
    result = convolve(&c, call->err);
out:
    bounded_release(&pixels);
    bounded_release(&kernel);
    return result;
}

static int sample_weights(struct draw *d, const struct drawn *x, enum dtype type, struct shape *weights)
{
    struct drawn_window w;
    if (draw_window(d, &x->shape, true, &w))
        return -1;
    *weights = draw_window_weights(d, &x->shape, &w);
    draw_data(d, type, weights);
    return 0;
}

static int sample_conv(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 3, 5);
    struct shape weights;
    if (sample_weights(d, &x, x.type, &weights))
        return -1;
    struct shape bias = shape_make(1, weights.dims);
    if (draw_chance(d, 0.6))
        draw_data(d, x.type, &bias);
    return 0;
}

static void draw_zero(struct draw *d, enum dtype type, const struct shape *shape)
{
    draw_range(d, type, shape, type == DTYPE_UINT8 ? 0 : -20, type == DTYPE_UINT8 ? 255 : 20);
}

static int sample_conv_integer(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 3, 5);
    enum dtype type = draw_type(d, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8));
    struct shape weights, scalar = {.rank = 0};
    if (sample_weights(d, &x, type, &weights))
        return -1;
    struct shape each = shape_make(1, weights.dims);
    if (draw_chance(d, 0.3))
        return 0;
    if (draw_chance(d, 0.2))
        draw_omit(d);
    else
        draw_zero(d, x.type, &scalar);
    if (draw_chance(d, 0.6))
        draw_zero(d, type, draw_chance(d, 0.2) ? &each : &scalar);
    return 0;
}

/* Weights [M, C/group, kernel...], M a multiple of group, and one bias for each of M. */
static void fit_conv(const struct op_call *call, size_t input, struct shape *shape)
{
    const struct bounded *x = call_input(call, 0);
    int64_t group = call_int(call, "group", 1);
    if (!x || x->shape.rank < 3 || group < 1 || input == 0 || shape->rank < 1)
        return;
    shape->dims[0] = shape->dims[0] < group ? group : shape->dims[0] / group * group;
    if (input != 1 || shape->rank != x->shape.rank)
        return;
    shape->dims[1] = x->shape.dims[1] / group;
    conv_fit_kernel(call, shape);
}

enum {
    CONV_FLOAT = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16,
    CONV_BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8,
};

static const struct op_param conv_params[] = {
    CONV_ATTRIBUTES,
    {"W", PARAM_INPUT, .input = 1},
    {0},
};

static const struct op_param conv_extras[] = {{"B", PARAM_INPUT, .input = 2}, {0}};
static const struct op_param integer_extras[] = {
    {"x_zero_point", PARAM_INPUT, .input = 2}, {"w_zero_point", PARAM_INPUT, .input = 3}, {0}};

const struct op ops_conv[] = {
    {OP("Conv", 1),
     .inputs = {2, 3},
     .outputs = {1, 1},
     .ranks = {3, 5},
     .types = {{11, CONV_FLOAT}, {22, DTYPES_FLOAT}},
     .params = conv_params,
     .extras = conv_extras,
     .reads_floats = 2,
     .eval = eval_conv,
     .gradient = gradient_conv,
     .sample = sample_conv,
     .data = DATA_FIRST,
     .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}, .added = 1 << 2},
     .history = {.same_since = 1},
     .result = RESULT_TYPE,
     .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE,
     .flags = OP_CONVOLVES,
     .fit = fit_conv,
     .dangers = {{DANGER_NONE}},
     .open = "a negative padding of SAME"},
    {OP("ConvInteger", 10), .inputs = {2, 4}, .outputs = {1, 1}, .ranks = {3, 5}, .types = {{10, CONV_BYTES}},
     .params = conv_params, .extras = integer_extras, .eval = eval_conv_integer,
     .sample = sample_conv_integer, .data = DATA_FIRST, .range = {RANGE_DOT}, .factors = {FACTORS_NONE},
     .history = {.same_since = 10}, .result = RESULT_OTHER, .work = WORK_PRODUCTS, .slope = SLOPE_NOWHERE,
     .flags = OP_CONVOLVES, .dangers = {{DANGER_NONE}}, .open = "a negative padding of SAME"},
    {0},
};
