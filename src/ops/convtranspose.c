/* ConvTranspose: the input spread by the stride under a flipped kernel. Bounds: contract.h and winograd.h. */
#include "ops/convolve.h"
#include "ops/draw_window.h"

#include <inttypes.h>
#include <string.h>

struct transpose_geometry {
    struct conv_attributes w;
    int64_t full[SPATIAL_MAX]; /* output size before padding is taken off */
    int64_t out[SPATIAL_MAX], begin[SPATIAL_MAX];
    bool open; /* ONNX does not say where the output starts */
};

/*
 * Computes the padding from a given output size. A negative total (an output larger than the data gives) is
 * not defined by the integer division in the ONNX text, except that the official cases put a single missing
 * row at the end. Up to opset 10 the equation and the text on auto_pad put the odd one at opposite ends.
 */
static void pads_for(struct transpose_geometry *p, int i, int opset)
{
    int64_t total = p->full[i] - p->out[i];
    bool upper = p->w.auto_pad == PAD_SAME_UPPER;
    p->open = p->open || (opset < 11 && total % 2 != 0);
    if (total < 0) {
        p->open = p->open || upper || total < -1;
        p->begin[i] = 0;
        return;
    }
    p->begin[i] = upper ? total / 2 : total - total / 2;
}

static int transpose_axis(struct op_call *call, struct transpose_geometry *p, int i, int64_t in,
                          int64_t extra, const int64_t *wanted)
{
    int64_t most = p->w.stride[i] > p->w.dilation[i] ? p->w.stride[i] : p->w.dilation[i];
    if (extra < 0 || extra >= most)
        return call_invalid(call, "output_padding %" PRId64 " is not smaller than the stride or the dilation",
                            extra);
    p->full[i] = p->w.stride[i] * (in - 1) + extra + conv_extent(&p->w, i);
    bool same = p->w.auto_pad == PAD_SAME_UPPER || p->w.auto_pad == PAD_SAME_LOWER;
    /* According to the ONNX text the output is input * stride; its shape inference adds output_padding. */
    if (same && !wanted && extra > 0)
        return call_unsupported(call,
                                "ONNX does not define output_padding together with SAME_UPPER or SAME_LOWER");
    if (wanted || same) {
        p->out[i] = wanted ? wanted[i] : in * p->w.stride[i];
        pads_for(p, i, call->opset);
    } else {
        p->begin[i] = p->w.begin[i];
        p->out[i] = p->full[i] - p->w.begin[i] - p->w.end[i];
    }
    if (p->out[i] < 0 || (p->out[i] == 0 && in > 0))
        return call_invalid(call, "the output size would be %" PRId64, p->out[i]);
    if (p->out[i] > (int64_t)1 << 30)
        return call_unsupported(call, "the output size %" PRId64 " is too large", p->out[i]);
    return 0;
}

static int transpose_geometry(struct op_call *call, const struct shape *x, const struct shape *k,
                              struct transpose_geometry *p)
{
    *p = (struct transpose_geometry){.open = false};
    if (conv_attributes_read(call, x, k, &p->w))
        return -1;
    if (p->w.cut)
        return call_unsupported(call, "strides or dilations are too large");
    if (k->dims[0] != x->dims[1])
        return call_invalid(call, "the weights are for %" PRId64 " channels instead of %" PRId64, k->dims[0],
                            x->dims[1]);
    size_t rank = (size_t)p->w.rank, extras, wants;
    const int64_t *extra = call_ints(call, "output_padding", &extras);
    const int64_t *wanted = call_ints(call, "output_shape", &wants);
    if ((extras && extras != rank) || (wants && wants != rank))
        return call_invalid(call, "output_padding and output_shape must have one value per spatial axis");
    for (int i = 0; i < p->w.rank; i++)
        if (transpose_axis(call, p, i, x->dims[i + 2], extras ? extra[i] : 0, wants ? wanted : NULL))
            return -1;
    return 0;
}

static int eval_conv_transpose(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *weights = call_need(call, 1), *bias = call_input(call, 2);
    struct transpose_geometry p;
    if (!x || !weights || transpose_geometry(call, &x->shape, &weights->shape, &p))
        return -1;
    if (x->type != weights->type || (bias && bias->type != x->type))
        return call_invalid(call, "the operands have different types");
    struct shape shape = {.rank = x->shape.rank,
                          .dims = {x->shape.dims[0], weights->shape.dims[1] * p.w.groups}};
    memcpy(shape.dims + 2, p.out, (size_t)p.w.rank * sizeof *p.out);
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != shape.dims[1]))
        return call_invalid(call, "the bias must have one element per output channel");
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; p.open && i < out->count; i++)
        bounded_put_open(out, i);
    if (p.open)
        return 0;
    struct convolution c = convolution_transposed(&p.w, p.begin, p.out, x, weights);
    c.unbounded = call->unbounded;
    c.direct = call->direct;
    c.bias = bias;
    c.out = out;
    return convolve(&c, call->err);
}

/* By x a convolution of what arrives at the output, and by the weights its gradient. */
static int gradient_conv_transpose(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *weights = call->inputs[1], *up = g->upstream[0];
    struct transpose_geometry p;
    if (!up || transpose_geometry(call, &x->shape, &weights->shape, &p))
        return up ? -1 : 0;
    if (p.open)
        return gradient_leave_undecided(g, 0) || gradient_leave_undecided(g, 1) ||
                       gradient_leave_undecided(g, 2)
                   ? -1
                   : 0;
    int64_t size[SPATIAL_MAX];
    for (int i = 0; i < p.w.rank; i++)
        size[i] = (x->shape.dims[i + 2] - 1) * p.w.stride[i] + conv_extent(&p.w, i);
    struct convolution c = convolution_plain(&p.w, p.begin, size, up, weights);
    c.out = gradient_make(g, 0);
    if ((!c.out && g->wanted[0]) || (c.out && convolve(&c, call->err)))
        return -1;
    struct bounded *slope = gradient_make(g, 1);
    if ((!slope && g->wanted[1]) || (slope && convolve_weights_gradient(&c, x, slope, call->err)))
        return -1;
    return call_input(call, 2) && g->wanted[2] ? convolve_bias_gradient(g) : 0;
}

/* output_padding, and sometimes output_shape with no or little padding over. */
static int draw_output(struct draw *d, const struct shape *x, const struct drawn_window *w)
{
    int64_t extra[TENSOR_MAX_RANK], wanted[TENSOR_MAX_RANK];
    bool same = strncmp(w->auto_pad, "SAME", 4) == 0, extras = !same && draw_chance(d, 0.4), any = false;
    bool shaped = !same && draw_chance(d, 0.2);
    double outputs = (double)(x->dims[0] * x->dims[1]);
    for (int i = 0; i < w->rank; i++) {
        int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
        extra[i] = extras ? draw_between(d, 0, w->stride[i] - 1) : 0;
        any = any || extra[i] > 0;
        int64_t full = w->stride[i] * (x->dims[i + 2] - 1) + extra[i] + extent;
        if (same && full < x->dims[i + 2] * w->stride[i])
            return -1;
        if (!same && full - w->pads[i] - w->pads[w->rank + i] < 1)
            return -1;
        outputs *= (double)full;
        wanted[i] = full > 3 ? full - draw_between(d, 0, 2) : full;
    }
    if (outputs > 3000)
        return -1;
    if (any || (extras && draw_chance(d, 0.3)))
        draw_ints(d, "output_padding", extra, (size_t)w->rank);
    if (shaped)
        draw_ints(d, "output_shape", wanted, (size_t)w->rank);
    return 0;
}

static int sample_conv_transpose(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 3, 5);
    struct drawn_window w;
    if (draw_window(d, &x.shape, false, &w) || draw_output(d, &x.shape, &w))
        return -1;
    struct shape weights = {.rank = x.shape.rank, .dims = {x.shape.dims[1], draw_between(d, 1, 3)}};
    memcpy(weights.dims + 2, w.kernel, (size_t)w.rank * sizeof *w.kernel);
    draw_data(d, x.type, &weights);
    struct shape bias = {.rank = 1, .dims = {weights.dims[1] * w.groups}};
    if (draw_chance(d, 0.5))
        draw_data(d, x.type, &bias);
    return 0;
}

/* Weights [C, M/group, kernel...]; the number of results M stays where group divides it. */
static void fit_transpose(const struct op_call *call, size_t input, struct shape *shape)
{
    const struct bounded *x = call_input(call, 0), *weights = call_input(call, 1);
    int64_t group = call_int(call, "group", 1);
    if (!x || !weights || x->shape.rank < 3 || weights->shape.rank != x->shape.rank || group < 1)
        return;
    if (input == 2 && shape->rank == 1)
        shape->dims[0] = weights->shape.dims[1] * group;
    if (input != 1)
        return;
    shape->dims[0] = x->shape.dims[1];
    conv_fit_kernel(call, shape);
}

enum { TRANSPOSE_FLOAT = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

static const struct op_param transpose_params[] = {
    {"auto_pad", PARAM_STRING, .legal = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .illegal = "SAME",
     .initial = "NOTSET"},
    {"dilations", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"group", PARAM_INT, .legal = "1|2|4", .illegal = "0|-1|7", .initial = "1"},
    {"kernel_shape", PARAM_INTS, .illegal = "0|-1"},
    {"output_padding", PARAM_INTS, .legal = "0|1", .illegal = "-1|100", .initial = "0"},
    {"output_shape", PARAM_INTS, .illegal = "0|-1"},
    {"pads", PARAM_INTS, .legal = "0|1", .illegal = "-1|100", .initial = "0"},
    {"strides", PARAM_INTS, .legal = "1|2|3", .illegal = "0|-1", .initial = "1"},
    {"W", PARAM_INPUT, .input = 1},
    {0},
};

static const struct op_param transpose_extras[] = {{"B", PARAM_INPUT, .input = 2}, {0}};

const struct op ops_convtranspose[] = {
    {OP("ConvTranspose", 1),
     .open = "where the padding goes for this output size",
     .inputs = {2, 3},
     .outputs = {1, 1},
     .ranks = {3, 5},
     .types = {{11, TRANSPOSE_FLOAT}, {22, DTYPES_FLOAT}},
     .params = transpose_params,
     .extras = transpose_extras,
     .eval = eval_conv_transpose,
     .gradient = gradient_conv_transpose,
     .sample = sample_conv_transpose,
     .data = DATA_FIRST,
     .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}, .added = 1 << 2},
     .history = {.same_since = 1},
     .result = RESULT_TYPE,
     .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE,
     .flags = OP_CONVOLVES,
     .fit = fit_transpose,
     .dangers = {{DANGER_NONE}}},
    {0},
};
