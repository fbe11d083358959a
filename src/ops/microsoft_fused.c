/*
 * com.microsoft: FusedGemm and FusedConv: Gemm and Conv whose result goes through an activation before it is
 * stored.
 */
#include "ops/convolve.h"
#include "ops/draw.h"
#include "ops/draw_window.h"
#include "ops/inner.h"

#include <math.h>
#include <string.h>

/* FusedGemm has no Clip. */
static const char gemm_activations[] = "Relu|Tanh|Sigmoid|LeakyRelu|HardSigmoid";
static const char activations[] = "Relu|Tanh|Sigmoid|LeakyRelu|HardSigmoid|Clip";

/* Parameters of an activation, in the order of the list that FusedConv has. */
struct activation {
    const char *name; /* NULL: none */
    size_t count;
    float params[2];
};

/* The steepest slope of an activation. */
static long double slope_of(const struct activation *a)
{
    bool leaky = a->name && strcmp(a->name, "LeakyRelu") == 0;
    bool hard = a->name && strcmp(a->name, "HardSigmoid") == 0;
    if (leaky)
        return fmaxl(1, a->count > 0 ? fabsl((long double)a->params[0]) : 0);
    return hard ? (a->count > 0 ? fabsl((long double)a->params[0]) : 0.2L) : 1;
}

/* Where an activation cuts off one side of an interval, the bound, which has two sides, must not be narrower
 * than that of inputs that are known better. */
static void keep_width(struct bounded *y, const struct bounded *x, long double slope)
{
    for (size_t i = 0; y->value && i < y->count; i++) {
        long double width =
            1.01L * slope * bounded_hard(x, i) + 16 * unit_of(y->type) * (1 + fabsl(y->value[i]));
        if (isfinite(width) && isfinite(y->value[i]) && bounded_hard(x, i) > 0 && bounded_hard(y, i) < width)
            bounded_set(y, i, y->value[i], (double)width, bounded_likely(y, i));
    }
}

/* The limits of a Clip, which are inputs of ONNX's. */
static int clip(struct op_call *call, const struct bounded *x, const struct activation *a)
{
    struct shape scalar = {0};
    struct bounded limits[2];
    const struct bounded *in[3] = {x, &limits[0], &limits[1]};
    int result = a->count == 2 ? 0 : call_invalid(call, "Clip has %zu parameters", a->count);
    for (int i = 0; i < 2; i++) {
        bounded_init(&limits[i]);
        if (!result)
            result = bounded_alloc(&limits[i], x->type, &scalar, false, call->err);
        if (!result)
            limits[i].value[0] = dtype_round(x->type, (long double)a->params[i]);
    }
    if (!result) {
        struct inner step;
        inner_begin(&step, call, "Clip");
        result = inner_last(&step, in, 3);
    }
    for (int i = 0; i < 2; i++)
        bounded_release(&limits[i]);
    if (!result)
        keep_width(&call->outputs[0], x, 1);
    return result;
}

static int activate(struct op_call *call, const struct bounded *x, const struct activation *a)
{
    struct inner step;
    if (a->name && strcmp(a->name, "Clip") == 0)
        return clip(call, x, a);
    if (!a->name || !*a->name) {
        inner_begin(&step, call, "Identity");
    } else if (!strstr(activations, a->name)) {
        return call_unsupported(call, "the activation %.40s is not supported", a->name);
    } else {
        inner_begin(&step, call, a->name);
        if (a->count > 0)
            node_set_float(&step.arena, step.node, "alpha", a->params[0]);
        if (a->count > 1)
            node_set_float(&step.arena, step.node, "beta", a->params[1]);
    }
    if (inner_last(&step, &x, 1))
        return -1;
    keep_width(&call->outputs[0], x, slope_of(a));
    return 0;
}

/* The step has the attributes of the node itself. */
static int with_attributes(struct op_call *call, const char *name, size_t inputs, struct bounded *out)
{
    struct inner step;
    inner_begin(&step, call, name);
    step.node->n_attribute = call->node->n_attribute;
    step.node->attribute = call->node->attribute;
    return inner_step(&step, call->inputs, inputs < call->n_inputs ? inputs : call->n_inputs, out);
}

static int eval_fused_gemm(struct op_call *call)
{
    struct activation a = {.name = call_string(call, "activation", NULL)};
    struct bounded product;
    static const char *const names[] = {"activation_alpha", "activation_beta"};
    for (size_t i = 0; i < 2 && call_has(call, names[i]); i++)
        a.params[a.count++] = (float)call_float(call, names[i], 0);
    int result = with_attributes(call, "Gemm", 3, &product);
    if (!result)
        result = activate(call, &product, &a);
    bounded_release(&product);
    return result;
}

/* Z may be what the sum of products begins with: then all roundings of the sum are of numbers as large as
 * it. */
static int add_summand(struct op_call *call, struct bounded *sum, const struct bounded *z)
{
    const struct shape *w = &call->inputs[1]->shape;
    struct bounded before = *sum;
    if (z->type != sum->type || !shape_equal(&z->shape, &sum->shape))
        return call_invalid(call, "Z has another shape than the convolution");
    if (inner_simple(call, "Add", &before, z, sum)) {
        *sum = before;
        return -1;
    }
    bounded_release(&before);
    long double roundings = (long double)shape_span(w, 1, w->rank) + 2, u = unit_of(sum->type);
    for (size_t i = 0; sum->value && i < sum->count; i++) {
        long double more = roundings * u * (fabsl(z->value[i]) + bounded_hard(z, i));
        bounded_put(sum, i, sum->value[i], bounded_hard(sum, i) + more,
                    likely_add(bounded_likely(sum, i), more / sqrtl(roundings)));
    }
    return 0;
}

static int eval_fused_conv(struct op_call *call)
{
    struct activation a = {.name = call_string(call, "activation", NULL)};
    const struct bounded *z = call_input(call, 3);
    const float *params;
    struct bounded sum;
    if (!call_need(call, 0) || !call_need(call, 1))
        return -1;
    if (node_floats(call->node, "activation_params", &params, &a.count))
        for (size_t i = 0; i < a.count && i < 2; i++)
            a.params[i] = params[i];
    int result = with_attributes(call, "Conv", 3, &sum);
    if (!result && z)
        result = add_summand(call, &sum, z);
    if (!result)
        result = activate(call, &sum, &a);
    bounded_release(&sum);
    return result;
}

static size_t draw_activation(struct draw *d, const char *words, float params[2])
{
    const char *name = draw_word(d, words);
    draw_string(d, "activation", name);
    params[0] = (float)draw_between(d, 1, 4) / 8;
    params[1] = (float)draw_between(d, 2, 4) / 8;
    if (strcmp(name, "Clip") == 0)
        params[0] = -params[0];
    return strcmp(name, "LeakyRelu") == 0                                  ? 1
           : strcmp(name, "HardSigmoid") == 0 || strcmp(name, "Clip") == 0 ? 2
                                                                           : 0;
}

static int sample_fused_gemm(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 2);
    float params[2];
    if (a.shape.rank != 2 || shape_span(&a.shape, 0, 2) == 0)
        return -1;
    bool ta = draw_chance(d, 0.4), tb = draw_chance(d, 0.4);
    int64_t m = a.shape.dims[ta], k = a.shape.dims[!ta], n = draw_dim(d);
    struct shape b = {2, {tb ? n : k, tb ? k : n}}, c = {2, {m, n}};
    draw_data(d, a.type, &b);
    if (draw_chance(d, 0.6)) {
        struct shape part = draw_broadcastable(d, &c);
        draw_data(d, a.type, &part);
    }
    if (ta)
        draw_int(d, "transA", 1);
    if (tb)
        draw_int(d, "transB", 1);
    if (draw_chance(d, 0.4))
        draw_float(d, "alpha", (float)draw_between(d, -8, 8) / 4);
    if (draw_chance(d, 0.4))
        draw_float(d, "beta", (float)draw_between(d, -8, 8) / 4);
    size_t count = draw_activation(d, gemm_activations, params);
    if (count > 0)
        draw_float(d, "activation_alpha", params[0]);
    if (count > 1)
        draw_float(d, "activation_beta", params[1]);
    return 0;
}

static int sample_fused_conv(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 3, 4);
    struct drawn_window w;
    float params[2];
    if (draw_window(d, &x.shape, true, &w))
        return -1;
    struct shape weights = draw_window_weights(d, &x.shape, &w);
    struct shape each = {1, {weights.dims[0]}};
    draw_data(d, x.type, &weights);
    if (draw_chance(d, 0.6))
        draw_data(d, x.type, &each);
    size_t count = draw_activation(d, activations, params);
    if (count)
        node_set_floats(d->arena, d->node, "activation_params", params, count);
    return 0;
}

static const struct op_param gemm_params[] = {
    {"activation", PARAM_STRING, .legal = gemm_activations},
    {"activation_alpha", PARAM_FLOAT, .legal = "0.125..1"},
    {"activation_beta", PARAM_FLOAT, .legal = "0.125..1"},
    {"activation_gamma", PARAM_FLOAT},
    {"alpha", PARAM_FLOAT, .legal = "0.5|-1|3", .initial = "1"},
    {"beta", PARAM_FLOAT, .legal = "0.5|-1|3", .initial = "1"},
    {"transA", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"transB", PARAM_INT, .legal = "0|1", .initial = "0"},
    {0},
};
static const struct op_param gemm_extras[] = {{"C", PARAM_INPUT, .input = 2}, {0}};
static const struct op_param conv_params[] = {
    CONV_ATTRIBUTES,
    {"activation", PARAM_STRING, .legal = activations},
    {"activation_params", PARAM_FLOATS},
    {"W", PARAM_INPUT, .input = 1},
    {0},
};
static const struct op_param conv_extras[] = {
    {"B", PARAM_INPUT, .input = 2}, {"Z", PARAM_INPUT, .input = 3}, {0}};

enum { TYPES = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

/* Members that the rows have in common. */
#define USUAL                                                                           \
    .outputs = {1, 1}, .types = {{1, TYPES}}, .data = DATA_FIRST, .range = {RANGE_DOT}, \
    .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .work = WORK_PRODUCTS,            \
    .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}

const struct op ops_microsoft_fused[] = {
    {OP_MICROSOFT("FusedConv"), USUAL, .flags = OP_CONVOLVES, .inputs = {2, 4}, .ranks = {3, 5},
     .params = conv_params, .extras = conv_extras, .eval = eval_fused_conv, .sample = sample_fused_conv},
    {OP_MICROSOFT("FusedGemm"), USUAL, .inputs = {2, 3}, .ranks = {2, 2}, .params = gemm_params,
     .extras = gemm_extras, .eval = eval_fused_gemm, .sample = sample_fused_gemm},
    {0},
};
