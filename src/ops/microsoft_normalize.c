/*
 * com.microsoft: SimplifiedLayerNormalization, which is RMSNormalization and whose nodes stand in ONNX's own
 * domain; SkipLayerNormalization and SkipSimplifiedLayerNormalization: the sum of two tensors and a bias,
 * normalised as LayerNormalization and RMSNormalization do.
 */
#include "bounds/number.h"
#include "bounds/strides.h"
#include "ops/inner.h"
#include "ops/normalize.h"

enum { SUM = 3 }; /* the output that has the sum */

/* input + skip + bias, in any order: two roundings of the largest partial sum. */
static int add_up(struct op_call *call, const struct bounded *bias, struct bounded *sum)
{
    const struct bounded *x = call_need(call, 0), *skip = call_need(call, 1);
    struct shape common;
    if (!x || !skip)
        return -1;
    int64_t last = x->shape.rank ? x->shape.dims[x->shape.rank - 1] : -1;
    if (x->shape.rank < 2 || x->type != skip->type ||
        call_broadcast(call, &skip->shape, &x->shape, &common) || !shape_equal(&common, &x->shape) ||
        (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != last || bias->type != x->type)))
        return call_invalid(call, "skip or bias does not fit the input");
    if (bounded_alloc(sum, x->type, &x->shape, call->shapes_only, call->err))
        return -1;
    struct strides at = strides_broadcast(&skip->shape, &x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    long double u = unit_of(x->type);
    for (size_t i = 0; sum->value && i < sum->count; i++, odometer_next(index, &x->shape)) {
        struct number a = number_of(x, i), b = number_of(skip, strides_at(&at, x->shape.rank, index)),
                      c = bias ? number_of(bias, i % bias->count) : number_exact(0);
        long double size = number_most(a) + number_most(b) + number_most(c);
        struct number y = {a.v + b.v + c.v, a.h + b.h + c.h + (bias ? 2 : 1) * u * size,
                           likely_add(likely_add(a.l, b.l), likely_add(c.l, u * size / 2))};
        number_put(sum, i, y);
    }
    if (sum->value) {
        bounded_settle(sum, NULL);
        bounded_widen(sum);
    }
    return 0;
}

/* The outputs are that of the normalisation, statistics that are not supported, and the sum. */
static int normalise(struct op_call *call, const char *name, const struct bounded *bias,
                     const struct bounded *beta)
{
    struct bounded sum, y;
    struct inner step;
    bounded_init(&sum);
    bounded_init(&y);
    int result = add_up(call, bias, &sum);
    if (!result) {
        const struct bounded *in[3] = {&sum, call_need(call, 2), beta};
        inner_begin(&step, call, name);
        node_set_float(&step.arena, step.node, "epsilon", (float)call_float(call, "epsilon", (double)1e-12F));
        result = in[1] ? inner_step(&step, in, beta ? 3 : 2, &y) : -1;
    }
    if (!result) {
        call->outputs[0] = y;
        if (call->n_outputs > SUM)
            call->outputs[SUM] = sum;
        else
            bounded_release(&sum);
        return 0;
    }
    bounded_release(&sum);
    bounded_release(&y);
    return result;
}

static int eval_skip_layer(struct op_call *call)
{
    return normalise(call, "LayerNormalization", call_input(call, 4), call_input(call, 3));
}

static int eval_skip_simplified(struct op_call *call)
{
    return normalise(call, "RMSNormalization", call_input(call, 3), NULL);
}

static int eval_simplified(struct op_call *call)
{
    struct inner rms;
    if (call->n_outputs > 1)
        return call_unsupported(call, "the inverse deviation as an output");
    inner_begin(&rms, call, "RMSNormalization");
    node_set_float(&rms.arena, rms.node, "epsilon", (float)call_float(call, "epsilon", (double)1e-5F));
    node_set_int(&rms.arena, rms.node, "axis", call_int(call, "axis", -1));
    node_set_int(&rms.arena, rms.node, "stash_type", call_int(call, "stash_type", DTYPE_FLOAT));
    return inner_last(&rms, call->inputs, call->n_inputs);
}

static int sample_simplified(struct draw *d)
{
    struct drawn x;
    struct shape part;
    if (normalize_draw_scaled(d, 0.5, &x, &part))
        return -1;
    draw_float(d, "epsilon", draw_chance(d, 0.5) ? 1e-5F : 1e-3F);
    return 0;
}

static int draw_skip(struct draw *d, struct shape *last)
{
    struct drawn x = draw_primary(d);
    struct shape skip = x.shape;
    int rank = x.shape.rank;
    if ((rank != 2 && rank != 3) || shape_span(&x.shape, 0, rank) == 0)
        return -1;
    *last = (struct shape){1, {x.shape.dims[rank - 1]}};
    if (rank == 3 && draw_chance(d, 0.2))
        skip = draw_chance(d, 0.5) ? (struct shape){3, {1, skip.dims[1], skip.dims[2]}}
                                   : (struct shape){2, {skip.dims[1], skip.dims[2]}};
    draw_data(d, x.type, &skip);
    draw_data(d, x.type, last);
    draw_float(d, "epsilon", draw_chance(d, 0.5) ? 1e-5F : 1e-3F);
    return 0;
}

static int sample_skip_layer(struct draw *d)
{
    struct shape last;
    if (draw_skip(d, &last))
        return -1;
    bool bias = draw_chance(d, 0.4);
    if (draw_chance(d, 0.6))
        draw_data(d, d->inputs[0].type, &last);
    else if (bias)
        draw_omit(d);
    if (bias)
        draw_data(d, d->inputs[0].type, &last);
    return 0;
}

static int sample_skip_simplified(struct draw *d)
{
    struct shape last;
    if (draw_skip(d, &last))
        return -1;
    if (draw_chance(d, 0.4))
        draw_data(d, d->inputs[0].type, &last);
    return 0;
}

static const struct op_param skip_params[] = {
    {"epsilon", PARAM_FLOAT, .legal = "1e-5|1e-3|0.1", .illegal = "-1", .initial = "1e-12"}, {0}};
static const struct op_param layer_extras[] = {
    {"beta", PARAM_INPUT, .input = 3}, {"bias", PARAM_INPUT, .input = 4}, {0}};
static const struct op_param simplified_extras[] = {{"bias", PARAM_INPUT, .input = 3}, {0}};

enum { TYPES = 1 << DTYPE_FLOAT | 1 << DTYPE_FLOAT16 };

static const struct op_param simplified_params[] = {
    {"epsilon", PARAM_FLOAT, .legal = "1e-5|1e-3|0.1", .illegal = "-1", .initial = "1e-5"},
    {"axis", PARAM_INT, .legal = "-3..2", .illegal = "99|-99", .initial = "-1"},
    {"stash_type", PARAM_INT, .legal = "1", .illegal = "0|99", .initial = "1"},
    {0},
};

/* Members that the rows have in common. */
#define SKIPS .outputs = {1, 4}, .ranks = {2, 3}, .params = skip_params
#define USUAL                                                                                    \
    .types = {{1, TYPES}}, .data = DATA_FIRST,                                                   \
    .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}}, .factors = {FACTORS_NONE}, \
    .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE,                \
    .dangers = {{DANGER_INNER, .power = 2}}

const struct op ops_microsoft_normalize[] = {
    {OP_MICROSOFT("SkipLayerNormalization"), USUAL, SKIPS, .inputs = {3, 5}, .extras = layer_extras,
     .eval = eval_skip_layer, .sample = sample_skip_layer},
    {OP_MICROSOFT("SkipSimplifiedLayerNormalization"), USUAL, SKIPS, .inputs = {3, 4},
     .extras = simplified_extras, .eval = eval_skip_simplified, .sample = sample_skip_simplified},
    {OP_MICROSOFT_IN("", "SimplifiedLayerNormalization"), USUAL, .inputs = {2, 2}, .outputs = {1, 2},
     .ranks = {1, 4}, .params = simplified_params, .eval = eval_simplified, .sample = sample_simplified},
    {0},
};
