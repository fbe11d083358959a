/* Operators on quantised tensors: int8 and uint8 that stand for real numbers by a scale and a zero point,
 * which the library keeps with the tensor. */
#include "tflite.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Scales and zero points of an input as the library has them. */
struct scales {
    struct net_scale scale;
    float *scales;
    int64_t *zeros;
};

static void scales_release(struct scales *s)
{
    free(s->scales);
    free(s->zeros);
}

/* A scale without a zero point has 0. */
static struct scales scales_of(const struct tensor *scale, const struct tensor *zero, int axis)
{
    struct scales s = {.scales = memory_zeroed(scale->count + 1, sizeof(float)),
                       .zeros = memory_zeroed(scale->count + 1, sizeof(int64_t))};
    for (size_t i = 0; i < scale->count; i++) {
        s.scales[i] = (float)tensor_get(scale, i);
        if (zero && zero->count)
            s.zeros[i] = (int64_t)tensor_get(zero, zero->count == 1 ? 0 : i);
    }
    int at = scale->count > 1 ? axis : 0; /* the one scale of a tensor has no axis */
    s.scale = (struct net_scale){.count = scale->count, .scales = s.scales, .zeros = s.zeros, .axis = at};
    return s;
}

/* The format has positive scales alone. */
static bool scales_fit(const struct scales *s)
{
    for (size_t i = 0; i < s->scale.count; i++)
        if (!(s->scales[i] > 0 && isfinite(s->scales[i])))
            return false;
    return s->scale.count > 0;
}

static bool all_zero(const struct scales *s)
{
    for (size_t i = 0; i < s->scale.count; i++)
        if (s->zeros[i])
            return false;
    return true;
}

/* One number each; false where the tensor has more or no scale. */
static bool read_one(const struct walk_call *call, size_t index, float *scale, int64_t *zero)
{
    const struct tensor *s = walk_input(call, index), *z = walk_input(call, index + 1);
    if (!s || s->count != 1 || (z && z->count != 1))
        return false;
    *scale = (float)tensor_get(s, 0);
    *zero = z ? (int64_t)tensor_get(z, 0) : 0;
    return *scale > 0 && isfinite(*scale);
}

static const char no_scale[] = "with a scale that is not one positive number";

/* Numbers halfway between two codes are rounded to the even one by ONNX, away from zero by the library. */
static bool has_halves(const struct tensor *x, float scale)
{
    for (size_t i = 0; i < x->count; i++) {
        float quotient = ((const float *)x->data)[i] / scale;
        if (fabsf(quotient - truncf(quotient)) == 0.5F)
            return true;
    }
    return false;
}

int run_quantize(struct walk_call *call)
{
    struct net net;
    float scale;
    int64_t zero;
    if (!read_one(call, 1, &scale, &zero))
        return walk_unsupported(call, no_scale);
    if (!dtype_in(call->outputs[0].type, 1 << DTYPE_INT8 | 1 << DTYPE_UINT8 | 1 << DTYPE_INT16))
        return walk_unsupported(call, "to %s", dtype_name(call->outputs[0].type));
    if (has_halves(call->inputs[0], scale))
        return walk_unsupported(call, "of numbers halfway between two codes");
    net_init(&net, call);
    int x = net_input(&net, call->inputs[0]), y = net_output(&net, &call->outputs[0]);
    net_scale(&net, y, scale, zero);
    net_op(&net, OP_QUANTIZE, x, NONE, NONE, y, NULL);
    return net_finish(&net);
}

int run_dequantize(struct walk_call *call)
{
    struct net net;
    const struct tensor *in = call->inputs[0];
    int axis = in->shape.rank ? walk_axis(node_int(call->node, "axis", 1), in->shape.rank) : 0;
    if (call->inputs[1]->shape.rank > 1 || node_int(call->node, "block_size", 0))
        return walk_unsupported(call, "in blocks");
    if (call->outputs[0].type != DTYPE_FLOAT)
        return walk_unsupported(call, "to %s", dtype_name(call->outputs[0].type));
    struct scales s = scales_of(call->inputs[1], walk_input(call, 2), axis);
    if (!scales_fit(&s)) {
        scales_release(&s);
        return walk_unsupported(call, "with a scale that is not positive");
    }
    net_init(&net, call);
    int x = net_input(&net, in), y = net_output(&net, &call->outputs[0]);
    net_scales(&net, x, s.scale);
    net_op(&net, OP_DEQUANTIZE, x, NONE, NONE, y, NULL)->version = s.scale.count > 1 ? 5 : 2;
    int result = net_finish(&net);
    scales_release(&s);
    return result;
}

/* What the library has: all of one type, weights of int8 around 0, weights of uint8 with one scale. */
static const char *misfit(const struct walk_call *call, const struct tensor *weights, const struct scales *w)
{
    enum dtype type = call->inputs[0]->type;
    if (weights->type != type || call->outputs[0].type != type)
        return "of operands of different types";
    if (!scales_fit(w))
        return no_scale;
    if (type == DTYPE_INT8 && !all_zero(w))
        return "with weights of int8 around another number than 0";
    return type == DTYPE_UINT8 && w->scale.count > 1 ? "with weights of uint8 by several scales" : NULL;
}

/* The scale of the bias is the product of the other two, as ONNX says. */
static int add_bias(struct net *net, const struct tensor *bias, const struct scales *w, float x_scale,
                    struct scales *out)
{
    *out = (struct scales){.scales = memory_zeroed(w->scale.count, sizeof(float)),
                           .zeros = memory_zeroed(w->scale.count, sizeof(int64_t))};
    for (size_t i = 0; i < w->scale.count; i++)
        out->scales[i] = w->scales[i] * x_scale;
    out->scale = (struct net_scale){.count = w->scale.count, .scales = out->scales, .zeros = out->zeros};
    int number = net_const(net, bias);
    net_scales(net, number, out->scale);
    return number;
}

/* The library wants a bias: without one it is zeros. */
static int bias_or_zeros(struct net *net, const struct tensor *bias, int64_t count, const struct scales *w,
                         float x_scale, struct scales *out)
{
    if (bias)
        return add_bias(net, bias, w, x_scale, out);
    struct tensor zeros = {.type = DTYPE_INT32, .shape = {1, {count}}, .count = (size_t)count};
    zeros.data = memory_zeroed((size_t)count, sizeof(int32_t));
    int number = add_bias(net, &zeros, w, x_scale, out);
    free(zeros.data);
    return number;
}

/*
 * The library brings a sum of products to the scale of the output by a number of fixed point, and rounds
 * twice: to an integer of the multiplier's 31 bits, then to the code. That is how its format is defined, and
 * not always what ONNX asks for, which is the quotient rounded once; so these operators are given to it only
 * where the knob says so.
 */
static bool takes_fixed_point(const struct walk_call *call)
{
    const struct lite *lite = call->engine;
    return lite->fixed;
}

static const char fixed_point[] = "by fixed point, which rounds otherwise than ONNX; fixed=on takes it";

/* x, its scale and zero point; weights with theirs; y's scale and zero point; bias. */
int run_qlinear_conv(struct walk_call *call)
{
    struct net net;
    const struct tensor *weights = call->inputs[3];
    float x_scale, y_scale;
    int64_t x_zero, y_zero, m = weights->shape.dims[0];
    bool depthwise = conv_is_depthwise(call, weights);
    struct scales w = scales_of(call->inputs[4], walk_input(call, 5), depthwise ? 3 : 0), b = {0};
    const char *why = takes_fixed_point(call) ? misfit(call, weights, &w) : fixed_point;
    if (!read_one(call, 1, &x_scale, &x_zero) || !read_one(call, 6, &y_scale, &y_zero))
        why = no_scale;
    if (why) {
        scales_release(&w);
        return walk_unsupported(call, "%s", why);
    }
    net_init(&net, call);
    struct conv_tensors t = {.x = net_image(&net, call->inputs[0]), .weights = conv_weights(&net, weights)};
    t.bias = bias_or_zeros(&net, walk_input(call, 8), m, &w, x_scale, &b);
    t.y = net_output_image(&net, &call->outputs[0]);
    net_scale(&net, t.x, x_scale, x_zero);
    net_scales(&net, t.weights, w.scale);
    net_scale(&net, t.y, y_scale, y_zero);
    int result = conv_add(&net, &t, weights);
    scales_release(&w);
    scales_release(&b);
    return result;
}

/* a, its scale and zero point; b with its own; y's scale and zero point. By a matrix: FULLY_CONNECTED. */
int run_qlinear_matmul(struct walk_call *call)
{
    static const int order[] = {1, 0};
    struct net net;
    const struct tensor *a = call->inputs[0], *b = call->inputs[3];
    float a_scale, b_scale, y_scale;
    int64_t a_zero, b_zero, y_zero;
    if (!takes_fixed_point(call))
        return walk_unsupported(call, fixed_point);
    if (!read_one(call, 1, &a_scale, &a_zero) || !read_one(call, 4, &b_scale, &b_zero) ||
        !read_one(call, 6, &y_scale, &y_zero))
        return walk_unsupported(call, no_scale);
    if (b->shape.rank != 2 || b->type != a->type || call->outputs[0].type != a->type)
        return walk_unsupported(call, "by anything but a matrix of the same type");
    if (a->type == DTYPE_INT8 && b_zero)
        return walk_unsupported(call, "with a right operand of int8 around another number than 0");
    int64_t k = b->shape.dims[0], n = b->shape.dims[1], rows = k ? (int64_t)a->count / k : 0;
    net_init(&net, call);
    int x = net_input_as(&net, a, 2, (int64_t[]){rows, k});
    int w = net_turned(&net, b, 2, b->shape.dims, order);
    int y = net_output_as(&net, &call->outputs[0], 2, (int64_t[]){rows, n});
    net_scale(&net, x, a_scale, a_zero);
    net_scale(&net, w, b_scale, b_zero);
    net_scale(&net, y, y_scale, y_zero);
    net_op(&net, OP_FULLY_CONNECTED, x, w, NONE, y, NET_OPTIONS(OPTIONS_FULLY_CONNECTED, {0, 1, 0}))
        ->version = 4;
    return net_finish(&net);
}
