/*
 * QuantizeLinear and DequantizeLinear: per tensor, per axis and, from opset 21, by blocks.
 *
 * y = saturate(round(x / scale) + zero_point), halves to even. x / scale may be a product with the reciprocal
 * (2 units), so near a half both neighbours are right; by a power of two either way is exact, and so is the
 * rounding.
 */
#include "base/wide.h"
#include "bounds/number.h"
#include "ops/draw.h"
#include "ops/op.h"
#include "ops/to_narrow.h"

#include <inttypes.h>
#include <math.h>

/* How the elements of the scale are assigned to those of the data. */
struct grain {
    enum { GRAIN_TENSOR, GRAIN_AXIS, GRAIN_BLOCK } kind;
    size_t inner, length, block, blocks; /* elements below the axis; the axis; of a block; number of blocks */
};

static size_t grain_at(const struct grain *grain, size_t i)
{
    if (grain->kind == GRAIN_TENSOR)
        return 0;
    size_t along = i / grain->inner % grain->length;
    if (grain->kind == GRAIN_AXIS)
        return along;
    size_t outer = i / grain->inner / grain->length;
    return (outer * grain->blocks + along / grain->block) * grain->inner + i % grain->inner;
}

static int blocked(struct op_call *call, const struct shape *x, const struct shape *scale, int axis,
                   int64_t block, struct grain *grain)
{
    int64_t blocks = (x->dims[axis] + block - 1) / block;
    for (int i = 0; i < x->rank; i++)
        if (scale->dims[i] != (i == axis ? blocks : x->dims[i]))
            return call_invalid(call, "dimension %d of the scale does not match blocks of %" PRId64, i,
                                block);
    grain->kind = GRAIN_BLOCK;
    grain->block = (size_t)block;
    grain->blocks = (size_t)blocks;
    return 0;
}

/* Whether a scale of shape [1] means one scale per element along the axis. */
static bool is_one_along(const struct op_call *call, const struct shape *x)
{
    int64_t axis = call_int(call, "axis", 1);
    axis += axis < 0 ? x->rank : 0;
    return call->opset >= 13 && axis >= 0 && axis < x->rank && x->dims[axis] == 1;
}

/* A scale of one element is used for the whole tensor; engines may refuse it where ONNX requires a scalar. */
static int find_grain(struct op_call *call, const struct shape *x, const struct bounded *scale,
                      struct grain *grain)
{
    int64_t block = call->opset >= 21 ? call_int(call, "block_size", 0) : 0;
    int axis;
    *grain = (struct grain){.kind = GRAIN_TENSOR, .inner = 1, .length = 1};
    if (block < 0)
        return call_invalid(call, "block_size %" PRId64 " is negative", block);
    if (block == 0 && scale->count == 1 && scale->shape.rank <= 1) {
        call->open |= scale->shape.rank == 1 && !is_one_along(call, x);
        return 0;
    }
    if (call->opset < 13)
        return call_invalid(call, "the scale is not a scalar");
    if (call_axis(call, call_int(call, "axis", 1), x->rank, &axis))
        return -1;
    grain->inner = shape_span(x, axis + 1, x->rank);
    grain->length = (size_t)x->dims[axis];
    if (block > 0 && scale->shape.rank == x->rank)
        return blocked(call, x, &scale->shape, axis, block, grain);
    if (scale->shape.rank != 1 || scale->shape.dims[0] != x->dims[axis])
        return call_invalid(call, "the scale is neither a scalar nor a vector along axis %d", axis);
    grain->kind = GRAIN_AXIS;
    return 0;
}

/* Data, scale and zero point (may be NULL), checked against each other; the type in which x / scale is
 * computed, and how a narrow float is made of it. */
struct quantized {
    const struct bounded *x, *scale, *zero;
    struct grain grain;
    enum dtype precision;
    struct to_narrow how;
};

static int take_inputs(struct op_call *call, struct quantized *q)
{
    *q = (struct quantized){.precision = DTYPE_FLOAT};
    q->x = call_need(call, 0);
    q->scale = call_need(call, 1);
    q->zero = call_input(call, 2);
    if (!q->x || !q->scale)
        return -1;
    if (q->zero && q->zero->count != q->scale->count)
        return call_invalid(call, "scale and zero point have different shapes");
    /* [1] beside a scalar: ONNX wants the same shape, and nobody checks it; engines may refuse it. */
    call->open |= q->zero && !shape_equal(&q->zero->shape, &q->scale->shape);
    return find_grain(call, &q->x->shape, q->scale, &q->grain);
}

static long double saturate(enum dtype type, long double value)
{
    return fminl(fmaxl(value, dtype_lowest(type)), dtype_highest(type));
}

/* Whether converting numbers of a type to the type of the division rounds them. */
static bool is_finer(const struct quantized *q, enum dtype type)
{
    return dtype_in(type, DTYPES_FLOAT) && dtype_precision(type).unit < dtype_precision(q->precision).unit;
}

/* Whether one of the numbers is out of the range of the type of the division. */
static bool out_of_range(const struct quantized *q, long double x, long double scale)
{
    struct dtype_precision p = dtype_precision(q->precision);
    return q->precision != q->scale->type &&
           (x > dtype_highest(q->precision) || scale > dtype_highest(q->precision) || scale < p.tiny);
}

/* The error of x / scale; an int32 is first converted to the type of the division, which rounds large ones.
 */
static long double quotient_error(const struct quantized *q, size_t i, size_t at, long double quotient)
{
    long double scale = q->scale->value[at], hard_scale = bounded_hard(q->scale, at);
    long double unit = unit_of(q->precision), hard_x = bounded_hard(q->x, i), roundings = 0;
    if (hard_scale >= fabsl(scale))
        return INFINITY;
    if (isfinite(q->x->value[i]) && out_of_range(q, fabsl(q->x->value[i]) + hard_x, fabsl(scale)))
        return INFINITY;
    if (isinf(quotient))
        return isinf(hard_x) ? INFINITY : 0;
    if (!is_power_of_two(scale) || hard_scale > 0)
        roundings += 2;
    if (!dtype_is_float(q->x->type) && (fabsl(q->x->value[i]) + hard_x) * unit > 1)
        roundings += 1;
    roundings += is_finer(q, q->x->type) + (is_finer(q, q->scale->type) && !is_power_of_two(scale));
    long double error = 0;
    if (hard_x > 0 || hard_scale > 0)
        error = (hard_x + fabsl(quotient) * hard_scale) / (fabsl(scale) - hard_scale);
    return roundings > 0 ? error + roundings * unit * (fabsl(quotient) + error) : error;
}

/*
 * To float8 and float4. ONNX's text adds the zero point, but says that there usually is none, and its own
 * implementation leaves it out for float8: a result with one is open there. A quotient near 0 may be flushed.
 */
static void put_narrow(const struct quantized *q, struct bounded *out, size_t i)
{
    size_t at = grain_at(&q->grain, i);
    long double zero = q->zero ? q->zero->value[at] : 0, quotient = q->x->value[i] / q->scale->value[at];
    bool added = out->type == DTYPE_FLOAT4E2M1;
    if (q->scale->value[at] == 0 || (!added && zero != 0) || (q->zero && bounded_hard(q->zero, at) > 0)) {
        bounded_put_open(out, i);
        return;
    }
    long double error = isnan(quotient) ? bounded_hard(q->x, i) : quotient_error(q, i, at, quotient);
    long double sum = quotient + zero;
    if (error > 0)
        error += 16 * WIDE_UNIT * (fabsl(quotient) + error) + dtype_precision(q->precision).tiny;
    if (zero != 0)
        error += unit_of(q->precision) * (fabsl(sum) + error);
    to_narrow_put(&q->how, out, i, sum, error);
}

/* ONNX leaves NaN and a scale of 0 unspecified. */
static void put_quantized(const struct quantized *q, struct bounded *out, size_t i)
{
    size_t at = grain_at(&q->grain, i);
    long double scale = q->scale->value[at], zero = q->zero ? q->zero->value[at] : 0;
    long double quotient = q->x->value[i] / scale;
    if (isnan(quotient) || scale == 0 || (q->zero && bounded_hard(q->zero, at) > 0)) {
        bounded_put_open(out, i);
        return;
    }
    long double error = quotient_error(q, i, at, quotient);
    if (error > 0) /* the ends of the interval are rounded sums */
        error += 16 * WIDE_UNIT * (fabsl(quotient) + error);
    bool any = isinf(error); /* the sign of an infinite quotient is uncertain too */
    bounded_put_range(out, i, saturate(out->type, rintl(quotient) + zero),
                      saturate(out->type, any ? -INFINITY : rintl(quotient - error) + zero),
                      saturate(out->type, any ? INFINITY : rintl(quotient + error) + zero));
    bounded_note_beyond(out, i, rintl(quotient) + zero);
}

/* The type of the division: the attribute precision or else the scale's. A float8e8m0 holds only powers of
 * two, by which dividing is exact in the type of x. */
static int read_precision(struct op_call *call, struct quantized *q)
{
    int64_t precision = call->opset >= 23 ? call_int(call, "precision", 0) : 0;
    if (precision && (dtype_check(precision, call->err) || !dtype_in((enum dtype)precision, DTYPES_FLOAT)))
        return call_invalid(call, "precision %" PRId64 " is no float", precision);
    q->precision = precision                                ? (enum dtype)precision
                   : dtype_in(q->scale->type, DTYPES_FLOAT) ? q->scale->type
                   : dtype_in(q->x->type, DTYPES_FLOAT)     ? q->x->type
                                                            : DTYPE_FLOAT;
    return 0;
}

static int eval_quantize(struct op_call *call)
{
    struct quantized q;
    if (take_inputs(call, &q) || read_precision(call, &q) || to_narrow_read(call, &q.how))
        return -1;
    int64_t wanted = call->opset >= 21 ? call_int(call, "output_dtype", 0) : 0;
    if (wanted && dtype_check(wanted, call->err))
        return -1;
    if (wanted && q.zero && (enum dtype)wanted != q.zero->type)
        return call_invalid(call, "output_dtype and the zero point's type differ");
    enum dtype type = q.zero ? q.zero->type : wanted ? (enum dtype)wanted : DTYPE_UINT8;
    bool narrow = dtype_in(type, DTYPES_FLOAT8) || type == DTYPE_FLOAT4E2M1;
    if (!narrow && !dtype_is_integer(type))
        return call_invalid(call, "nothing is quantized to %s", dtype_name(type));
    struct bounded *out = call_output(call, 0, type, &q.x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++)
        if (narrow)
            put_narrow(&q, out, i);
        else
            put_quantized(&q, out, i);
    return 0;
}

/* Whether a conversion between the types of scale and output may overflow. */
static bool scale_overflows(const struct quantized *q, enum dtype out, long double scale, long double most)
{
    if (out == q->scale->type)
        return false;
    if (q->scale->type == DTYPE_FLOAT8E8M0)
        return scale > dtype_highest(out) || scale < dtype_precision(out).tiny;
    return most * fabsl(scale) > 65504;
}

/*
 * (x - zero_point) * scale. The difference is exact in integers; converted to a float type it is rounded when
 * it needs more bits, and in float16 it may overflow although the product does not.
 */
static void put_dequantized(const struct quantized *q, struct bounded *out, size_t i)
{
    size_t at = grain_at(&q->grain, i);
    long double scale = q->scale->value[at], difference = q->x->value[i] - (q->zero ? q->zero->value[at] : 0);
    long double unit = unit_of(out->type), y = difference * scale;
    long double hard_x = bounded_hard(q->x, i) + (q->zero ? bounded_hard(q->zero, at) : 0);
    long double hard_scale = bounded_hard(q->scale, at), most = fabsl(difference) + hard_x, hard = 0;
    if (hard_x > 0 || hard_scale > 0)
        hard = fabsl(scale) * hard_x + most * hard_scale;
    if (most * unit > 1)
        hard += unit * (fabsl(y) + hard);
    /* Another type than the scale's: the scale is converted, or the product is. */
    if (out->type != q->scale->type)
        hard += 2 * unit * (fabsl(y) + hard);
    if (most > dtype_highest(out->type) || scale_overflows(q, out->type, scale, most))
        hard = INFINITY;
    long double likely_x = likely_add(bounded_likely(q->x, i), q->zero ? bounded_likely(q->zero, at) : 0);
    long double likely = hard == 0 ? 0
                                   : likely_add(fabsl(scale) * likely_x,
                                                most * bounded_likely(q->scale, at) + unit * fabsl(y));
    bounded_put(out, i, y, hard, likely);
}

/* "In the case of dequantizing int32, there's no zero point (zero point is supposed to be 0)": ONNX does not
 * say what another one means. Of narrow floats it says that it is usually not used, and its own
 * implementation does not subtract it. */
static bool lacks_zero_point(const struct quantized *q, size_t i)
{
    size_t at = grain_at(&q->grain, i);
    return (q->x->type == DTYPE_INT32 || dtype_is_float(q->x->type)) && q->zero &&
           (q->zero->value[at] != 0 || bounded_hard(q->zero, at) > 0);
}

static int eval_dequantize(struct op_call *call)
{
    struct quantized q;
    if (take_inputs(call, &q))
        return -1;
    if (q.zero && q.zero->type != q.x->type)
        return call_invalid(call, "the zero point has type %s, the data %s", dtype_name(q.zero->type),
                            dtype_name(q.x->type));
    if (!dtype_is_float(q.scale->type))
        return call_invalid(call, "the scale is not a float");
    if (dtype_is_float(q.x->type) && (!dtype_is_narrow(q.x->type) || q.x->type == DTYPE_FLOAT8E8M0))
        return call_invalid(call, "%s is not quantized", dtype_name(q.x->type));
    int64_t wanted = call->opset >= 23 ? call_int(call, "output_dtype", 0) : 0;
    if (wanted && (dtype_check(wanted, call->err) || !dtype_in((enum dtype)wanted, DTYPES_FLOAT)))
        return call_invalid(call, "output_dtype %" PRId64 " is no float", wanted);
    enum dtype type = wanted ? (enum dtype)wanted : q.scale->type;
    if (!dtype_in(type, DTYPES_FLOAT))
        return call_invalid(call, "the output cannot be %s: output_dtype must be set", dtype_name(type));
    struct bounded *out = call_output(call, 0, type, &q.x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++)
        if (lacks_zero_point(&q, i))
            bounded_put_open(out, i);
        else
            put_dequantized(&q, out, i);
    return 0;
}

/* The shape of scale and zero point, and the attributes that go with it. */
static struct shape draw_grain(struct draw *d, const struct shape *x)
{
    struct shape shape = {.rank = 0};
    if (x->rank < 2 || d->opset < 13 || draw_chance(d, 0.4))
        return shape;
    int axis = (int)draw_between(d, 0, x->rank - 1);
    if (axis != 1 || draw_chance(d, 0.5))
        draw_int(d, "axis", draw_chance(d, 0.4) ? axis - x->rank : axis);
    if (d->opset < 21 || x->dims[axis] == 0 || draw_chance(d, 0.5))
        return shape_make(1, &x->dims[axis]);
    int64_t block = draw_between(d, 1, x->dims[axis]);
    draw_int(d, "block_size", block);
    shape = *x;
    shape.dims[axis] = (x->dims[axis] + block - 1) / block;
    return shape;
}

/* Scales: powers of two half of the time, so that halves are exact. */
static void draw_scale(struct draw *d, enum dtype type, const struct shape *shape)
{
    bool powers = draw_chance(d, 0.5);
    draw_range(d, type, shape, dtype_is_float(type) ? 0.01 : 1, dtype_is_float(type) ? 1 : 4);
    struct tensor data = d->inputs[d->n_inputs - 1].data;
    for (size_t i = 0; dtype_is_float(type) && powers && i < data.count; i++)
        tensor_set(&data, i, ldexpl(1, (int)draw_between(d, -3, 1)));
}

/* Narrow floats have none that ONNX agrees about. */
static void draw_zero_point(struct draw *d, enum dtype type, const struct shape *shape)
{
    if (dtype_is_float(type))
        draw_range(d, type, shape, 0, 0);
    else if (draw_chance(d, 0.2))
        draw_range(d, type, shape, (double)dtype_lowest(type), (double)dtype_highest(type));
    else
        draw_range(d, type, shape, dtype_is_signed(type) ? -20 : 0, 20);
}

/* Narrow types that are asked for and that data is quantized to: all but that of scales. */
static dtype_set narrow_targets(const struct draw *d)
{
    return d->narrow & ~DTYPE_BIT(DTYPE_FLOAT8E8M0);
}

static enum dtype draw_target(struct draw *d, dtype_set to)
{
    dtype_set narrow = narrow_targets(d);
    return draw_type(d, narrow && draw_chance(d, 0.8) ? narrow : to);
}

static bool draw_power_scale(struct draw *d)
{
    return dtype_in(DTYPE_FLOAT8E8M0, d->narrow) && draw_chance(d, 0.5);
}

/* How narrow floats are made; for other types an engine may refuse saturate = 0. */
static void draw_conversion(struct draw *d, enum dtype to)
{
    if (d->opset >= 19 && draw_chance(d, 0.2))
        draw_int(d, "saturate", !dtype_in(to, DTYPES_FLOAT8));
    if (d->narrow && d->opset >= 23 && draw_chance(d, 0.3))
        draw_int(d, "precision", draw_chance(d, 0.5) ? DTYPE_FLOAT : DTYPE_FLOAT16);
}

static int sample_quantize(struct draw *d)
{
    struct drawn x = draw_primary(d);
    struct shape shape = draw_grain(d, &x.shape);
    enum dtype scale = draw_power_scale(d) ? DTYPE_FLOAT8E8M0 : d->opset < 19 ? DTYPE_FLOAT : x.type;
    enum dtype target = DTYPE_UINT8;
    dtype_set to = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8);
    if (d->opset >= 21)
        to |= DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_UINT16);
    /* Multiples of 1/8 meet the halves of the scales; larger numbers meet the ends of the types. */
    double most = draw_chance(d, 0.3) ? 2000 : 160;
    if (x.source == DRAWN_NEW && d->fill != FILL_SPECIAL)
        for (size_t i = 0; i < x.data.count; i++)
            tensor_set(&x.data, i, (long double)draw_between(d, (int64_t)-most, (int64_t)most) / 8);
    draw_scale(d, scale, &shape);
    if (draw_chance(d, 0.75)) {
        target = draw_target(d, to);
        draw_zero_point(d, target, &shape);
    } else if (d->opset >= 21 && draw_chance(d, 0.5)) {
        target = draw_target(d, to);
        draw_int(d, "output_dtype", target);
    }
    draw_conversion(d, target);
    return 0;
}

static int sample_dequantize(struct draw *d)
{
    if (d->type == DTYPE_FLOAT8E8M0) /* only of scales */
        d->type = DTYPE_INT8;
    struct drawn x = draw_primary(d);
    struct shape shape = draw_grain(d, &x.shape);
    dtype_set scales = DTYPE_BIT(DTYPE_FLOAT);
    if (d->opset >= 19)
        scales |= DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16);
    bool power = draw_power_scale(d);
    draw_scale(d, power ? DTYPE_FLOAT8E8M0 : draw_type(d, scales), &shape);
    if (power || (d->opset >= 23 && draw_chance(d, 0.4)))
        draw_int(d, "output_dtype", draw_type(d, scales));
    if (x.type != DTYPE_INT32 && draw_chance(d, 0.75))
        draw_zero_point(d, x.type, &shape);
    return 0;
}

static const struct op_param quantize_params[] = {
    {"axis", PARAM_INT, .since = 13, .legal = "-1|0|1|2", .illegal = "99|-99", .initial = "1"},
    {"block_size", PARAM_INT, .since = 21, .legal = "0|1|2|3", .illegal = "-1|1000000", .initial = "0"},
    {"output_dtype", PARAM_INT, .since = 21, .legal = "0|2|3|4|5", .illegal = "1|99", .initial = "0"},
    {"precision", PARAM_INT, .since = 23, .legal = "0|1", .illegal = "7|99", .initial = "0"},
    {"saturate", PARAM_INT, .since = 19, .legal = "0|1", .initial = "1"},
    {"y_scale", PARAM_INPUT, .input = 1, .legal = "0.125|0.5|1|0.3"},
    {"y_zero_point", PARAM_INPUT, .input = 2, .legal = "0|1|5", .initial = "0"},
    {0},
};
static const struct op_param dequantize_params[] = {
    {"output_dtype", PARAM_INT, .since = 23, .legal = "0|1|10|16", .illegal = "7|99", .initial = "0"},
    {"axis", PARAM_INT, .since = 13, .legal = "-1|0|1|2", .illegal = "99|-99", .initial = "1"},
    {"block_size", PARAM_INT, .since = 21, .legal = "0|1|2|3", .illegal = "-1|1000000", .initial = "0"},
    {"x_scale", PARAM_INPUT, .input = 1, .legal = "0.125|0.5|1|0.3"},
    {"x_zero_point", PARAM_INPUT, .input = 2, .legal = "0|1|5", .initial = "0"},
    {0},
};

enum {
    BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8 | 1 << DTYPE_INT32,
    WORDS = BYTES | 1 << DTYPE_INT16 | 1 << DTYPE_UINT16,
    SOURCES = 1 << DTYPE_FLOAT | 1 << DTYPE_INT32,
    HALVES = 1 << DTYPE_FLOAT16 | 1 << DTYPE_BFLOAT16,
};

const struct op ops_quantize[] = {
    {OP("DequantizeLinear", 10),
     .open = "what follows from a missing zero point, or one of another shape than the scale, or the axis of "
             "this scale",
     .inputs = {2, 3},
     .outputs = {1, 1},
     .ranks = {0, 5},
     .types = {{11, BYTES}, {21, WORDS}},
     .params = dequantize_params,
     .eval = eval_dequantize,
     .sample = sample_dequantize,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}},
     .history = {.same_since = 10},
     .result = RESULT_OTHER,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE,
     .narrow = {19, DTYPES_NARROW},
     .each = {EACH_ALONE},
     .flags = OP_DEQUANTIZES,
     .dangers = {{DANGER_NONE}}},
    {OP("QuantizeLinear", 10),
     .open = "the code of NaN, or of a number divided by a scale of 0, and a zero point of another shape "
             "than the scale",
     .inputs = {2, 3},
     .outputs = {1, 1},
     .ranks = {0, 5},
     .types = {{11, SOURCES}, {19, SOURCES | HALVES}},
     .params = quantize_params,
     .eval = eval_quantize,
     .sample = sample_quantize,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE},
     .history = {.same_since = 10},
     .result = RESULT_OTHER,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_NOWHERE,
     .narrow = {19, DTYPES_NARROW},
     .each = {EACH_ALONE},
     .flags = OP_MAKES_NARROW | OP_FIRST_NOT_NARROW | OP_QUANTIZES,
     .dangers = {{DANGER_POLE, .input = 1}}},
    {0},
};
