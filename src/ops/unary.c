/*
 * Elementwise operators of one input that round nothing: copies, signs, steps, tests and Clip.
 */
#include "ops/draw.h"
#include "ops/gradient.h"

#include <math.h>
#include <string.h>

/* Makes output 0 like input 0 with another type (DTYPE_NONE: the same); NULL when the call ends here. */
static struct bounded *output_like(struct op_call *call, enum dtype type, const struct bounded **in,
                                   int *result)
{
    *in = call_need(call, 0);
    struct bounded *out = NULL;
    if (*in)
        out = call_output(call, 0, type == DTYPE_NONE ? (*in)->type : type, &(*in)->shape);
    *result = out ? 0 : -1;
    return call->shapes_only ? NULL : out;
}

static int eval_identity(struct op_call *call)
{
    int result;
    const struct bounded *in = call_need(call, 0);
    if (in && in->kind != BOUNDED_TENSOR) {
        bounded_release(&call->outputs[0]);
        return bounded_copy(&call->outputs[0], in, call->err);
    }
    struct bounded *out = output_like(call, DTYPE_NONE, &in, &result);
    for (size_t i = 0; out && i < out->count; i++)
        bounded_move(out, i, in, i);
    return result;
}

/* The bound of -x is that of x; only the least integer has no negative. */
static void put_negated(struct bounded *out, size_t i, const struct bounded *in)
{
    bounded_move(out, i, in, i);
    if (dtype_is_integer(out->type) && bounded_hard(in, i) - in->value[i] > dtype_highest(out->type))
        bounded_put_open(out, i);
    else
        out->value[i] = -in->value[i];
}

static int eval_neg(struct op_call *call)
{
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_NONE, &in, &result);
    for (size_t i = 0; out && i < out->count; i++)
        put_negated(out, i, in);
    return result;
}

/* The slope is at most 1: the bound of the input is valid even when the interval contains 0. */
static int eval_abs(struct op_call *call)
{
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_NONE, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        if (in->value[i] < 0)
            put_negated(out, i, in);
        else
            bounded_move(out, i, in, i);
        out->value[i] = fabsl(out->value[i]);
    }
    return result;
}

/* y = max(0, x), NaN stays NaN as in Max, or is left out as there. */
static int eval_relu(struct op_call *call)
{
    const struct bounded *in = call_need(call, 0);
    struct bounded *out = in ? call_output_unset(call, 0, in->type, &in->shape) : NULL;
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    bounded_move_row(out, 0, in, 0, out->count);
    for (size_t i = 0; i < out->count; i++) {
        bool left_out = call->nans_left_out && isnan(in->value[i]);
        bool zero = in->value[i] + bounded_hard(in, i) <= 0 || left_out;
        if (zero || in->value[i] < 0)
            out->value[i] = 0;
        if (zero && out->hard)
            out->hard[i] = out->likely[i] = 0;
    }
    return 0;
}

/* Steps. Within [x-h, x+h] a step function is between its values at the ends. */
static long double step_sign(long double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* rintl rounds halves to even: the rounding mode is never changed. */
static int eval_step(struct op_call *call)
{
    static const struct {
        const char *name;
        long double (*step)(long double);
    } steps[] = {{"Ceil", ceill}, {"Floor", floorl}, {"Round", rintl}, {"Sign", step_sign}};
    size_t kind = 0;
    while (strcmp(steps[kind].name, call->op->name) != 0)
        kind++;
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_NONE, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        long double x = in->value[i], h = bounded_hard(in, i);
        if (isnan(x) && steps[kind].step == step_sign)
            bounded_put_open(out, i); /* ONNX only says "the sign" */
        else if (h == 0 || isinf(h) || isnan(x))
            bounded_put(out, i, steps[kind].step(x), h, bounded_likely(in, i));
        else
            bounded_put_range(out, i, steps[kind].step(x), steps[kind].step(x - h), steps[kind].step(x + h));
    }
    return result;
}

static int eval_not(struct op_call *call)
{
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_BOOL, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        bounded_move(out, i, in, i);
        out->value[i] = in->value[i] == 0;
    }
    return result;
}

/* ~x, the same for two's complement and for unsigned: the ends of the range change places. */
static int eval_bitwise_not(struct op_call *call)
{
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_NONE, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        bounded_move(out, i, in, i);
        out->value[i] = dtype_lowest(in->type) + dtype_highest(in->type) - in->value[i];
    }
    return result;
}

static int eval_is_nan(struct op_call *call)
{
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_BOOL, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        if (isinf(bounded_hard(in, i)))
            bounded_put_range(out, i, isnan(in->value[i]), 0, 1);
        else
            bounded_put(out, i, isnan(in->value[i]), 0, 0);
    }
    return result;
}

static int eval_is_inf(struct op_call *call)
{
    bool positive = call_int(call, "detect_positive", 1), negative = call_int(call, "detect_negative", 1);
    int result;
    const struct bounded *in;
    struct bounded *out = output_like(call, DTYPE_BOOL, &in, &result);
    for (size_t i = 0; out && i < out->count; i++) {
        long double x = in->value[i];
        bool yes = isinf(x) && (x > 0 ? positive : negative);
        if (isinf(bounded_hard(in, i)))
            bounded_put_range(out, i, yes, 0, 1);
        else
            bounded_put(out, i, yes, 0, 0);
    }
    return result;
}

/* An end of Clip's interval: input `index`, or the type's own end. */
struct end {
    long double value, hard, likely;
    long double inner; /* values on the inner side of it are certainly not clipped by this end */
    bool given;
};

static int clip_end(struct op_call *call, size_t index, const struct bounded *in, struct end *end)
{
    const struct bounded *limit = call_input(call, index);
    end->given = limit != NULL;
    end->hard = end->likely = 0;
    end->value = end->inner = index == 1 ? -INFINITY : INFINITY;
    if (!limit)
        return 0;
    if (limit->type != in->type)
        return call_invalid(call, "input %zu has type %s, the data %s", index, dtype_name(limit->type),
                            dtype_name(in->type));
    /* A tensor of one element instead of a scalar is commonly accepted. */
    if (limit->count != 1)
        return call_invalid(call, "input %zu is not a scalar", index);
    if (limit->value) {
        end->value = limit->value[0];
        end->hard = bounded_hard(limit, 0);
        end->likely = bounded_likely(limit, 0);
        end->inner = end->value + (index == 1 ? end->hard : -end->hard);
    }
    return 0;
}

static long double clip(long double x, long double low, long double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/*
 * Min(max, Max(x, min)), in which NaN wins or is left out as in these. Unspecified: min > max before opset
 * 13, which first says that max wins; NaN as a limit; an infinite x where the limit has its default, which is
 * the largest number in the ONNX text and no limit in practice.
 */
static void put_clip(struct op_call *call, const struct bounded *in, struct bounded *out, size_t i,
                     const struct end *low, const struct end *high, bool left_out)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    if (isnan(low->value) || isnan(high->value) || (call->opset < 13 && low->inner > high->inner) ||
        (x == INFINITY && !high->given) || (x == -INFINITY && !low->given)) {
        bounded_put_open(out, i);
        return;
    }
    if (isnan(x) && left_out && (low->given || high->given)) {
        const struct end *end = low->given ? low : high;
        long double least = high->given ? fminl(end->value, high->value) : end->value;
        bounded_put(out, i, least, fmaxl(low->hard, high->hard), fmaxl(low->likely, high->likely));
        return;
    }
    if (isinf(low->hard) || isinf(high->hard)) {
        bounded_put_undecided(out, i, clip(x, low->value, high->value));
        return;
    }
    /* An element that is not judged may be NaN, which no limit clips. */
    if (isnan(x) || (isinf(h) && dtype_is_float(in->type)) || (x - h >= low->inner && x + h <= high->inner)) {
        bounded_move(out, i, in, i);
        return;
    }
    long double value = clip(x, low->value, high->value);
    long double least = clip(x - h, low->value - low->hard, high->value - high->hard);
    long double most = clip(x + h, low->value + low->hard, high->value + high->hard);
    long double reach = least == most ? 0 : fmaxl(value - least, most - value);
    long double likely = fmaxl(bounded_likely(in, i), fmaxl(low->likely, high->likely));
    bounded_put(out, i, value, reach, reach == 0 ? 0 : likely);
}

static int eval_clip(struct op_call *call)
{
    const struct bounded *in = call_need(call, 0);
    struct end low, high;
    if (!in || clip_end(call, 1, in, &low) || clip_end(call, 2, in, &high))
        return -1;
    struct bounded *out = call_output(call, 0, in->type, &in->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++)
        put_clip(call, in, out, i, &low, &high, call->nans_left_out);
    return 0;
}

/* Whether numbers may be drawn: in training, unless nothing is dropped. */
static bool dropout_is_random(const struct op_call *call)
{
    const struct bounded *ratio = call_input(call, 1), *training = call_input(call, 2);
    bool trains = training && training->value && training->count &&
                  (training->value[0] != 0 || bounded_hard(training, 0) > 0);
    bool keeps = ratio && ratio->value && ratio->count && ratio->value[0] == 0 && bounded_hard(ratio, 0) == 0;
    return trains && !keeps;
}

/* Training: each element becomes 0 or x / (1 - ratio), two roundings; which one is random. */
static int dropout_training(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *ratio = call_input(call, 1);
    struct bounded *out = x ? call_output(call, 0, x->type, &x->shape) : NULL;
    struct bounded *mask = out && call->n_outputs > 1 ? call_output(call, 1, DTYPE_BOOL, &x->shape) : out;
    if (!out || !mask)
        return -1;
    long double left = 1 - (ratio && ratio->count ? ratio->value[0] : 0.5L);
    bool sure = left > 0 && left <= 1 && !(ratio && ratio->hard) && !call->inputs[2]->hard;
    for (size_t i = 0; i < out->count; i++) {
        long double end = x->value[i] / left,
                    reach = fabsl(end) * 4 * unit_of(x->type) + bounded_hard(x, i) / left;
        reach += dtype_precision(x->type).tiny;
        if (sure && isfinite(end) && isfinite(reach))
            bounded_put_range(out, i, 0, fminl(0, end - reach), fmaxl(0, end + reach));
        else
            bounded_put_undecided(out, i, 0);
        if (mask != out)
            bounded_put_range(mask, i, 1, 0, 1);
    }
    return 0;
}

/*
 * Inference: a copy and a mask of ones, which ONNX does not define before opset 12. Training with ratio 0
 * drops nothing.
 */
static int eval_dropout(struct op_call *call)
{
    if (dropout_is_random(call) && !call->shapes_only)
        return dropout_training(call);
    int result = eval_identity(call);
    if (result || call->n_outputs < 2)
        return result;
    struct bounded *mask = call_output(call, 1, DTYPE_BOOL, &call->inputs[0]->shape);
    for (size_t i = 0; mask && !call->shapes_only && i < mask->count; i++) {
        if (call->opset < 12)
            bounded_put_open(mask, i);
        else
            bounded_put(mask, i, 1, 0, 0);
    }
    return mask ? 0 : -1;
}

/* Derivatives of functions that are straight on both sides of 0: upstream times `below` or `above`. */
static int gradient_straight(struct op_gradient *g, int below, int above)
{
    const struct bounded *in = g->call->inputs[0];
    struct bounded *slope;
    if (gradient_begin(g, 0, &slope))
        return -1;
    for (size_t i = 0; slope && i < slope->count; i++) {
        long double x = in->value[i], h = bounded_hard(in, i);
        struct number here = number_exact(x < 0 ? below : above), there = number_exact(x < 0 ? above : below);
        bool decided = below == above || fabsl(x) > h;
        if (!decided)
            here = isfinite(x) && isfinite(h) ? gradient_between(here, there) : gradient_undecided();
        struct number factors[] = {gradient_upstream(g, 0, i), here};
        gradient_store(slope, i, gradient_factors(factors, 2, slope->type));
    }
    return 0;
}

static int gradient_identity(struct op_gradient *g)
{
    return gradient_straight(g, 1, 1);
}

static int gradient_dropout(struct op_gradient *g)
{
    if (dropout_is_random(g->call))
        return call_unsupported(g->call, "training mode is random");
    return gradient_identity(g);
}

static int gradient_neg(struct op_gradient *g)
{
    return gradient_straight(g, -1, -1);
}

static int gradient_abs(struct op_gradient *g)
{
    return gradient_straight(g, -1, 1);
}

static int gradient_relu(struct op_gradient *g)
{
    return gradient_straight(g, 0, 1);
}

enum { CLIP_UNKNOWN = -1, CLIP_EDGE = -2 };

/*
 * Which input Clip passes on at element i: 0 the data, 1 or 2 a limit; CLIP_EDGE: the data or a limit that it
 * may be equal to. Only opset 13 says that the upper limit wins when it is below the lower one.
 */
static int clip_source(const struct op_call *call, const struct bounded *in, size_t i, const struct end *low,
                       const struct end *high)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    if (low->value - low->hard > high->value + high->hard)
        return call->opset < 13 ? CLIP_UNKNOWN : 2;
    if (!(low->inner < high->inner) || !isfinite(x) || !isfinite(h))
        return CLIP_UNKNOWN;
    /* A limit that is not given is the largest number, which x may be equal to. */
    if (x - h > low->inner && x + h < high->inner && fabsl(x) + h < dtype_highest(in->type))
        return 0;
    if (x + h < low->value - low->hard)
        return 1;
    return x - h > high->value + high->hard ? 2 : CLIP_EDGE;
}

static int gradient_clip(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *in = call->inputs[0];
    struct end low, high;
    if (clip_end(call, 1, in, &low) || clip_end(call, 2, in, &high))
        return -1;
    struct gradient_sums *sums;
    int result = gradient_sums_all(g, &sums);
    for (size_t i = 0; !result && i < in->count; i++) {
        int source = clip_source(call, in, i, &low, &high);
        if (!gradient_is_number(gradient_upstream(g, 0, i)))
            source = CLIP_UNKNOWN;
        for (size_t k = 0; k < call->n_inputs; k++) {
            if (source == CLIP_UNKNOWN)
                gradient_sums_undecided(&sums[k], k == 0 ? i : 0);
            else if (source == CLIP_EDGE)
                gradient_sums_add(&sums[k], k == 0 ? i : 0,
                                  gradient_between(number_exact(0), gradient_upstream(g, 0, i)));
            else if ((size_t)source == k)
                gradient_sums_add(&sums[k], k == 0 ? i : 0, gradient_upstream(g, 0, i));
        }
    }
    gradient_sums_finish(g, sums);
    return result;
}

static int sample_plain(struct draw *d)
{
    draw_primary(d);
    return 0;
}

/* Numbers around which steps differ: halves, and beyond what a 32-bit integer holds. */
static int sample_step(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (x.source == DRAWN_NEW && dtype_is_float(x.type) && d->fill == FILL_NORMAL)
        for (size_t i = 0; i < x.data.count; i++)
            if (draw_chance(d, 0.3))
                tensor_set(&x.data, i, (long double)draw_between(d, -9, 9) / 2);
    if (draw_chance(d, 0.2) && d->fill != FILL_SPECIAL)
        draw_primary_range(d, -1e10, 1e10);
    return 0;
}

static int sample_is_inf(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (x.source == DRAWN_NEW)
        for (size_t i = 0; i < x.data.count; i++)
            if (draw_chance(d, 0.3))
                tensor_set(&x.data, i,
                           draw_chance(d, 0.3)   ? NAN
                           : draw_chance(d, 0.5) ? INFINITY
                                                 : -INFINITY);
    if (strcmp(d->op->name, "IsInf") != 0)
        return 0;
    if (draw_chance(d, 0.5))
        draw_int(d, "detect_positive", draw_between(d, 0, 1));
    if (draw_chance(d, 0.5))
        draw_int(d, "detect_negative", draw_between(d, 0, 1));
    return 0;
}

static int sample_clip(struct draw *d)
{
    struct drawn x = draw_primary(d);
    bool is_unsigned = dtype_in(x.type, DTYPES_UNSIGNED);
    double low = (double)draw_between(d, is_unsigned ? 0 : -6, 4) / (dtype_is_float(x.type) ? 4 : 1);
    double high = low + (double)draw_between(d, 0, 6) / (dtype_is_float(x.type) ? 4 : 1);
    if (d->opset >= 13 && draw_chance(d, 0.1))
        high = low - 1 >= 0 ? low - 1 : high; /* max wins */
    if (draw_chance(d, 0.75))
        draw_scalar(d, x.type, low);
    else
        draw_omit(d);
    if (draw_chance(d, 0.75))
        draw_scalar(d, x.type, high);
    return 0;
}

static int sample_dropout(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (d->opset < 12) {
        if (draw_chance(d, 0.7))
            draw_float(d, "ratio", (float)draw_between(d, 0, 9) / 10.0f);
    } else {
        if (draw_chance(d, 0.3))
            draw_int(d, "seed", draw_between(d, 0, 100));
        if (draw_chance(d, 0.6))
            draw_scalar(d, x.type == DTYPE_BFLOAT16 ? DTYPE_FLOAT : x.type,
                        (double)draw_between(d, 0, 3) / 4);
        else
            draw_omit(d);
        if (draw_chance(d, 0.5))
            draw_scalar(d, DTYPE_BOOL, 0);
    }
    draw_outputs(d, draw_chance(d, 0.5) ? 2 : 1);
    return 0;
}

static const struct op_param is_inf_params[] = {
    {"detect_positive", PARAM_INT, .legal = "0|1", .initial = "1"},
    {"detect_negative", PARAM_INT, .legal = "0|1", .initial = "1"},
    {0},
};
static const struct op_param clip_params[] = {
    {"min", PARAM_INPUT, .input = 1, .legal = "-2..0", .initial = "lowest"},
    {"max", PARAM_INPUT, .input = 2, .legal = "0..2", .initial = "highest"},
    {0},
};
static const struct op_param dropout_params[] = {
    {"ratio", PARAM_FLOAT, .until = 11, .legal = "0|0.25|0.5|0.9", .illegal = "-1|2", .initial = "0.5"},
    {"seed", PARAM_INT, .since = 12, .legal = "0..100"},
    {"ratio", PARAM_INPUT, .input = 1, .since = 12, .legal = "0|0.25|0.5|0.75", .initial = "0.5"},
    {"training_mode", PARAM_INPUT, .input = 2, .since = 12, .legal = "0", .initial = "0"},
    {0},
};

enum {
    SOME_FLOATS = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16),
    BOOLEAN = 1 << DTYPE_BOOL,
};

const struct op ops_unary[] = {
    {OP("Abs", 1), .flags = OP_UNDOES_ITSELF, .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}}, .eval = eval_abs,
     .gradient = gradient_abs, .sample = sample_plain, .data = DATA_FIRST, .range = {RANGE_RELU},
     .factors = {FACTORS_SUM}, .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("BitwiseNot", 18), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{18, DTYPES_INTEGER}}, .eval = eval_bitwise_not, .sample = sample_plain, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("Ceil", 1), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}}, .eval = eval_step, .sample = sample_step,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_STEP}}},
    {OP("Clip", 1),
     .flags = OP_LEVELS_OFF | OP_NAN_UNSAID,
     .open = "the limits of NaN, or a lower limit above the upper one",
     .inputs = {1, 3},
     .each = {EACH_ALONE},
     .outputs = {1, 1},
     .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {12, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}},
     .params = clip_params,
     .eval = eval_clip,
     .gradient = gradient_clip,
     .sample = sample_clip,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_SUM},
     .history = {.same_since = 1, .reformed = 11, .attributes = {{"min", PARAM_FLOAT}, {"max", PARAM_FLOAT}}},
     .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Dropout", 1),
     .open = "the mask of a Dropout that drops nothing",
     .inputs = {1, 3},
     .each = {EACH_ALONE},
     .outputs = {1, 2},
     .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}},
     .params = dropout_params,
     .eval = eval_dropout,
     .gradient = gradient_dropout,
     .sample = sample_dropout,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}},
     .history = {.same_since = 7, .reformed = 12},
     .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE,
     .flags = OP_RANDOM_IN_TRAINING,
     .dangers = {{DANGER_NONE}}},
    {OP("Floor", 1), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}}, .eval = eval_step, .sample = sample_step,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 1}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_STEP}}},
    {OP("Identity", 1), .flags = OP_CONTAINERS, .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, SOME_FLOATS | DTYPES_INTEGER | BOOLEAN}, {13, DTYPES_NUMBER | BOOLEAN}},
     .eval = eval_identity, .gradient = gradient_identity, .sample = sample_plain, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE,
     .narrow = {19, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("IsInf", 10), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{11, 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE}, {20, DTYPES_FLOAT}}, .params = is_inf_params,
     .eval = eval_is_inf, .sample = sample_is_inf, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 10}, .result = RESULT_OTHER, .work = WORK_ELEMENTS,
     .slope = SLOPE_NOWHERE, .narrow = {20, DTYPES_FLOAT8}, .dangers = {{DANGER_NONE}}},
    {OP("IsNaN", 9), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}}, .eval = eval_is_nan, .sample = sample_is_inf,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9}, .result = RESULT_OTHER, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE,
     .narrow = {20, DTYPES_FLOAT8}, .dangers = {{DANGER_NONE}}},
    {OP("Neg", 1), .flags = OP_UNDOES_ITSELF, .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, SOME_FLOATS | DTYPES_SIGNED}, {13, DTYPES_FLOAT | DTYPES_SIGNED}},
     .eval = eval_neg, .gradient = gradient_neg, .sample = sample_plain, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Not", 1), .flags = OP_UNDOES_ITSELF, .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, BOOLEAN}}, .eval = eval_not, .sample = sample_plain, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("Relu", 1), .flags = OP_NAN_UNSAID, .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, SOME_FLOATS}, {13, DTYPES_FLOAT}, {14, DTYPES_FLOAT | DTYPES_SIGNED}},
     .eval = eval_relu, .gradient = gradient_relu, .sample = sample_plain, .data = DATA_FIRST,
     .range = {RANGE_RELU}, .factors = {FACTORS_SUM}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Round", 11), .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1}, .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {22, DTYPES_FLOAT}}, .eval = eval_step, .sample = sample_step,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_STEP, .at = 0.5}}},
    {OP("Sign", 9), .open = "the sign of NaN", .inputs = {1, 1}, .each = {EACH_ALONE}, .outputs = {1, 1},
     .ranks = {0, 6}, .types = {{11, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}}, .eval = eval_step,
     .sample = sample_plain, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-1, 1}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .result = RESULT_LIKE_INPUT,
     .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_JUMP}}},
    {0},
};
