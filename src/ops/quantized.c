/*
 * Products of quantized numbers: QLinearMatMul and QLinearConv, and DynamicQuantizeLinear, which chooses
 * scale and zero point itself.
 *
 * The sums of products are those of MatMulInteger and ConvInteger, exact in int32. They are then multiplied
 * by a_scale * b_scale / y_scale, which takes four roundings in any order, and so is the rounding to whole
 * numbers certain except near a half, where both neighbours are right.
 */
#include "ops/quantized.h"

#include "base/wide.h"
#include "ops/convolve.h"
#include "ops/draw.h"
#include "ops/draw_window.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>

/* Inputs of both operators, in this order. */
enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, BIAS };

static long double saturate(enum dtype type, long double value)
{
    return fminl(fmaxl(value, dtype_lowest(type)), dtype_highest(type));
}

/* A whole number between the ends, each rounded to even and saturated after the zero point is added. */
void quantized_put(struct bounded *out, size_t i, long double value, long double error, struct number zero)
{
    if (!isfinite(value) || !isfinite(error) || !isfinite(zero.h)) {
        bounded_put_undecided(out, i, 0);
        return;
    }
    error += 16 * WIDE_UNIT * fabsl(value);
    bounded_put_range(out, i, saturate(out->type, rintl(value) + zero.v),
                      saturate(out->type, rintl(value - error) + zero.v - zero.h),
                      saturate(out->type, rintl(value + error) + zero.v + zero.h));
    bounded_note_beyond(out, i, rintl(value) + zero.v);
}

static int check_scales(struct op_call *call)
{
    const struct bounded *in[8];
    for (size_t i = 0; i < 8; i++)
        if (!(in[i] = call_need(call, i)))
            return -1;
    for (size_t i = A_SCALE; i <= Y_SCALE; i += i == B_SCALE ? 2 : 3)
        if (!dtype_is_float(in[i]->type))
            return call_invalid(call, "input %zu is no scale", i);
    if (!dtype_in(in[Y_ZERO]->type, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8)))
        return call_unsupported(call, "results of type %s", dtype_name(in[Y_ZERO]->type));
    for (size_t i = A_SCALE; i <= Y_SCALE; i += i == B_SCALE ? 2 : 3)
        if (in[i]->count != in[i + 1]->count)
            return call_invalid(call, "the scale and the zero point of inputs %zu and %zu differ in size", i,
                                i + 1);
    return 0;
}

/* The number in a list of one or of `count`. */
static int list_at(struct op_call *call, size_t input, size_t place, size_t count, struct number *n)
{
    const struct bounded *list = call->inputs[input];
    if (list->count != 1 && list->count != count)
        return call_invalid(call, "input %zu has %zu elements", input, list->count);
    *n = number_of(list, list->count == 1 ? 0 : place);
    return 0;
}

/* Element i from its sum of products; rows and columns choose among scales. */
static int put_scaled(struct op_call *call, struct bounded *out, size_t i, struct number sum,
                      const size_t places[2], const size_t counts[2])
{
    struct number a, b, y, zero;
    if (list_at(call, A_SCALE, places[0], counts[0], &a) ||
        list_at(call, B_SCALE, places[1], counts[1], &b) ||
        list_at(call, Y_SCALE, places[0], counts[0], &y) ||
        list_at(call, Y_ZERO, places[0], counts[0], &zero))
        return -1;
    long double u = unit_of(call->inputs[A_SCALE]->type), value = sum.v * a.v * b.v / y.v;
    long double product = number_most(a) * number_most(b), least = number_least(y);
    if (isnan(value) || !(least > 0) || a.h > 0 || b.h > 0 || y.h > 0 || isinf(sum.h)) {
        bool open = y.v == 0 || isnan(value) || isinf(sum.l);
        if (open)
            bounded_put_open(out, i);
        else
            bounded_put_undecided(out, i, 0);
        return 0;
    }
    long double error = sum.h * product / least + 5 * u * fabsl(value);
    /* The product of scales may underflow, and the sum may not fit a half. */
    bool strays = product < dtype_precision(call->inputs[A_SCALE]->type).tiny * 4 ||
                  fabsl(sum.v) > dtype_highest(call->inputs[A_SCALE]->type) || a.v * b.v / y.v == 0;
    quantized_put(out, i, value, strays ? INFINITY : error, zero);
    return 0;
}

/* The sums of products, by the kernel of another operator. */
static int integer_sums(struct op_call *call, const char *op, const struct bounded *a,
                        const struct bounded *b, struct bounded *sums)
{
    const struct bounded *inputs[4] = {a, b, call->inputs[A_ZERO], call->inputs[B_ZERO]};
    struct op_call inner = *call;
    inner.op = op_find(op);
    inner.inputs = inputs;
    inner.n_inputs = 4;
    inner.outputs = sums;
    inner.n_outputs = 1;
    int result = inner.op ? inner.op->eval(&inner) : call_unsupported(call, "%s is missing", op);
    call->open |= inner.open;
    return result;
}

static int scale_product(struct op_call *call, const struct bounded *sums)
{
    struct bounded *out = call_output(call, 0, call->inputs[Y_ZERO]->type, &sums->shape);
    const struct shape *a = &call->inputs[A]->shape, *b = &call->inputs[B]->shape;
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    size_t columns = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    size_t rows = a->rank > 1 ? (size_t)a->dims[a->rank - 2] : 1;
    for (size_t i = 0; i < out->count; i++) {
        const size_t places[2] = {i / columns % rows, i % columns}, counts[2] = {rows, columns};
        if (put_scaled(call, out, i, number_of(sums, i), places, counts))
            return -1;
    }
    return 0;
}

static int scale_convolution(struct op_call *call, const struct bounded *sums)
{
    const struct bounded *bias = call_input(call, BIAS);
    struct bounded *out = call_output(call, 0, call->inputs[Y_ZERO]->type, &sums->shape);
    if (!out)
        return -1;
    size_t channels = (size_t)sums->shape.dims[1], inner = shape_span(&sums->shape, 2, sums->shape.rank);
    if (bias && (bias->type != DTYPE_INT32 || bias->shape.rank != 1 || bias->count != channels))
        return call_invalid(call, "the bias is not one int32 for each output channel");
    for (size_t i = 0; !call->shapes_only && i < out->count; i++) {
        size_t channel = i / inner % channels;
        const size_t places[2] = {0, channel}, counts[2] = {1, channels};
        struct number sum = number_of(sums, i);
        if (bias)
            sum = number_add(sum, number_of(bias, channel), 0);
        if (fabsl(sum.v) > dtype_highest(DTYPE_INT32)) /* 32 bits are what ONNX promises */
            sum = (struct number){0, INFINITY, INFINITY};
        if (put_scaled(call, out, i, sum, places, counts))
            return -1;
    }
    return 0;
}

/* The sums as the operator of integers gives them, scaled. */
static int eval_qlinear(struct op_call *call, const char *of_integers,
                        int (*scale)(struct op_call *call, const struct bounded *sums))
{
    struct bounded sums;
    if (check_scales(call))
        return -1;
    bounded_init(&sums);
    int result = integer_sums(call, of_integers, call->inputs[A], call->inputs[B], &sums);
    if (!result)
        result = scale(call, &sums);
    bounded_release(&sums);
    return result;
}

static int eval_qlinear_matmul(struct op_call *call)
{
    return eval_qlinear(call, "MatMulInteger", scale_product);
}

static int eval_qlinear_conv(struct op_call *call)
{
    return eval_qlinear(call, "ConvInteger", scale_convolution);
}

static void draw_quantizer(struct draw *d, enum dtype scale, enum dtype type, const struct shape *shape)
{
    draw_range(d, scale, shape, 0.01, 0.5);
    draw_range(d, type, shape, dtype_is_signed(type) ? -20 : 0, 20);
}

static enum dtype draw_byte(struct draw *d)
{
    return draw_type(d, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8));
}

static int sample_qlinear_matmul(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 3);
    struct shape scalar = {0}, b = a.shape;
    if (a.shape.rank < 2)
        return -1;
    int64_t columns = draw_between(d, 1, 5);
    b.dims[b.rank - 2] = a.shape.dims[a.shape.rank - 1];
    b.dims[b.rank - 1] = columns;
    enum dtype scale = DTYPE_FLOAT, type = draw_byte(d);
    struct shape each = {1, {columns}};
    draw_quantizer(d, scale, a.type, &scalar);
    draw_range(d, type, &b, (double)dtype_lowest(type), (double)dtype_highest(type));
    draw_quantizer(d, scale, type, a.shape.rank == 2 && draw_chance(d, 0.3) ? &each : &scalar);
    draw_quantizer(d, scale, draw_byte(d), &scalar);
    return 0;
}

static int sample_qlinear_conv(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 3, 4);
    struct drawn_window w;
    struct shape scalar = {0};
    enum dtype type = draw_byte(d);
    if (draw_window(d, &x.shape, true, &w))
        return -1;
    struct shape weights = draw_window_weights(d, &x.shape, &w);
    struct shape each = {1, {weights.dims[0]}};
    draw_quantizer(d, DTYPE_FLOAT, x.type, &scalar);
    draw_range(d, type, &weights, (double)dtype_lowest(type), (double)dtype_highest(type));
    draw_quantizer(d, DTYPE_FLOAT, type, &scalar);
    draw_quantizer(d, DTYPE_FLOAT, draw_byte(d), &scalar);
    if (draw_chance(d, 0.5))
        draw_range(d, DTYPE_INT32, &each, -1000, 1000);
    return 0;
}

/* ---- DynamicQuantizeLinear ---- */

/* The interval that the scale divides: 0 is always in it. */
struct interval {
    long double low, high, error;
    bool strange;
};

static struct interval interval_of(const struct bounded *x)
{
    struct interval r = {0};
    for (size_t i = 0; i < x->count; i++) {
        r.strange |= !isfinite(x->value[i]) || !isfinite(bounded_hard(x, i));
        r.low = fminl(r.low, x->value[i]);
        r.high = fmaxl(r.high, x->value[i]);
        r.error = fmaxl(r.error, bounded_hard(x, i));
    }
    return r;
}

/* Two roundings for the scale, relative; the quotients by it have two more. */
static void put_dynamic(struct bounded *y, struct bounded *scale, struct bounded *zero,
                        const struct bounded *x, const struct interval *r)
{
    long double u = unit_of(DTYPE_FLOAT), step = (r->high - r->low) / 255, slack = 2 * r->error / 255;
    long double least = step - slack - 2 * u * step,
                relative = 4 * u + (least > 0 ? slack / least : INFINITY);
    bounded_put(scale, 0, step, slack + u * step, slack / 3 + u * step / 3);
    long double place = -r->low / step;
    quantized_put(zero, 0, saturate(DTYPE_UINT8, place), r->error / least + relative * (fabsl(place) + 1),
                  number_exact(0));
    for (size_t i = 0; i < x->count; i++) {
        long double quotient = x->value[i] / step;
        quantized_put(y, i, quotient, bounded_hard(x, i) / least + relative * fabsl(quotient),
                      number_of(zero, 0));
    }
}

static int eval_dynamic(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct shape scalar = {0};
    if (!x)
        return -1;
    struct bounded *out[3] = {call_output(call, 0, DTYPE_UINT8, &x->shape),
                              call_output(call, 1, DTYPE_FLOAT, &scalar),
                              call_output(call, 2, DTYPE_UINT8, &scalar)};
    if (!out[0] || !out[1] || !out[2] || call->shapes_only)
        return out[0] && out[1] && out[2] ? 0 : -1;
    struct interval r = interval_of(x);
    /* A scale of 0 divides; one that underflows may. */
    bool open = r.high == r.low,
         unsure = r.strange || !(r.high - r.low > 0x1p-110L) || !(r.high - r.low < 0x1p127L);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; (open || unsure) && i < out[k]->count; i++) {
            if (open || r.strange)
                bounded_put_open(out[k], i);
            else
                bounded_put_undecided(out[k], i, 0);
        }
    if (!open && !unsure)
        put_dynamic(out[0], out[1], out[2], x, &r);
    return 0;
}

static int sample_dynamic(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1;
    draw_outputs(d, 3);
    return 0;
}

static const struct op_param conv_params[] = {
    CONV_ATTRIBUTES,
    {"w", PARAM_INPUT, .input = 3},
    {0},
};
static const struct op_param conv_extras[] = {{"B", PARAM_INPUT, .input = 8}, {0}};

enum { BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8 };

/* Members that the rows have in common. */
#define USUAL                                                                                                \
    .outputs = {1, 1}, .types = {{10, BYTES}}, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},             \
    .factors = {FACTORS_NONE}, .history = {.same_since = 10}, .result = RESULT_OTHER, .work = WORK_PRODUCTS, \
    .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}},                                                      \
    .open = "a quotient by a scale of 0, and sums beyond int32"

const struct op ops_quantized[] = {
    {OP("DynamicQuantizeLinear", 11), .flags = OP_ON_REQUEST, .inputs = {1, 1}, .outputs = {3, 3},
     .ranks = {0, 5}, .types = {{11, 1 << DTYPE_FLOAT}}, .eval = eval_dynamic, .sample = sample_dynamic,
     .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {0, 255}}, .factors = {FACTORS_NONE},
     .result = RESULT_OTHER, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}},
     .open = "the scale of numbers that are all 0, or of NaN and infinities"},
    {OP("QLinearConv", 10), USUAL, .flags = OP_ON_REQUEST, .inputs = {8, 9}, .ranks = {3, 5},
     .on_levels = {.type = "Conv"}, .params = conv_params, .extras = conv_extras, .eval = eval_qlinear_conv,
     .sample = sample_qlinear_conv},
    {OP("QLinearMatMul", 10), USUAL, .each = {EACH_PRODUCT, .second = 3}, .flags = OP_ON_REQUEST,
     .inputs = {8, 8}, .ranks = {2, 3}, .on_levels = {.type = "MatMul", .channels_last = true},
     .eval = eval_qlinear_matmul, .sample = sample_qlinear_matmul},
    {0},
};
