/*
 * Operators that ONNX has withdrawn, for models of old opsets: Scatter, which ScatterElements replaced, and
 * Upsample, which Resize did. They are evaluated and never drawn.
 */
#include "ops/inner.h"

#include <math.h>
#include <string.h>

static int eval_scatter(struct op_call *call)
{
    if (call->opset >= 11)
        return call_invalid(call, "withdrawn with opset 11");
    return op_find("ScatterElements")->eval(call);
}

/* The factors by which the dimensions grow. */
static int take_scales(struct op_call *call, const struct bounded *x, long double scales[TENSOR_MAX_RANK])
{
    const struct bounded *given = call_need(call, 1);
    if (!given)
        return -1;
    if (given->shape.rank != 1 || given->count != (size_t)x->shape.rank)
        return call_invalid(call, "there are not as many scales as dimensions");
    if (!given->value || given->hard)
        return call_unsupported(call, "the shape depends on data (scales)");
    for (size_t i = 0; i < given->count; i++) {
        scales[i] = given->value[i];
        if (!(scales[i] >= 1) || !(scales[i] < 1 << 20))
            return call_invalid(call, "scale %Lg is out of range", scales[i]);
    }
    return 0;
}

/* Linear. ONNX's text does not say at which coordinates; they are quotients by the scale, as its cases of the
 * nearest element have them, which Resize calls asymmetric. */
static int interpolate(struct op_call *call, const struct bounded *x)
{
    const struct bounded *in[3] = {x, NULL, call_need(call, 1)};
    struct inner step;
    inner_begin(&step, call, "Resize");
    node_set_string(&step.arena, step.node, "mode", "linear");
    node_set_string(&step.arena, step.node, "coordinate_transformation_mode", "asymmetric");
    return inner_last(&step, in, 3);
}

/* The nearest element is that at the coordinate divided by the scale and rounded down. A quotient that
 * float32 rounds up to a whole number is another element; where that can be is left undecided. */
static int eval_upsample(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    long double scales[TENSOR_MAX_RANK];
    if (!x || take_scales(call, x, scales))
        return -1;
    if (call->opset >= 10)
        return call_invalid(call, "withdrawn with opset 10");
    const char *mode = call_string(call, "mode", "nearest");
    if (strcmp(mode, "linear") == 0)
        return interpolate(call, x);
    if (strcmp(mode, "nearest") != 0)
        return call_invalid(call, "mode '%s' is neither nearest nor linear", mode);
    struct shape shape = x->shape;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = (int64_t)floorl((long double)shape.dims[i] * scales[i]);
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t at = 0; at < out->count; at++, odometer_next(index, &shape)) {
        size_t from = 0;
        bool sure = true;
        for (int i = 0; i < shape.rank; i++) {
            long double place = (long double)index[i] / scales[i], nearest = rintl(place);
            sure &= place == nearest || fabsl(place - nearest) > 4 * unit_of(DTYPE_FLOAT) * (place + 1);
            int64_t low = (int64_t)floorl(place), last = x->shape.dims[i] - 1;
            from = from * (size_t)x->shape.dims[i] + (size_t)(low < last ? low : last);
        }
        if (sure)
            bounded_move(out, at, x, from);
        else
            bounded_put_undecided(out, at, 0);
    }
    return 0;
}

static const struct op_param scatter_params[] = {{"axis", PARAM_INT, .initial = "0"}, {0}};
static const struct op_param upsample_params[] = {
    {"mode", PARAM_STRING, .initial = "nearest"}, {"scales", PARAM_INPUT, .input = 1}, {0}};

const struct op ops_withdrawn[] = {
    {OP("Scatter", 9), .flags = OP_ON_REQUEST, .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = {{9, DTYPES_NUMBER | 1 << DTYPE_BOOL}}, .params = scatter_params,
     .index = {.input = 1, .axis = "axis"}, .eval = eval_scatter, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 9},
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Upsample", 1), .flags = OP_ON_REQUEST, .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = {{9, DTYPES_NUMBER | 1 << DTYPE_BOOL}}, .params = upsample_params, .eval = eval_upsample,
     .data = DATA_FIRST, .range = {RANGE_MOVE}, .factors = {FACTORS_NONE}, .history = {.same_since = 9},
     .result = RESULT_TYPE, .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
