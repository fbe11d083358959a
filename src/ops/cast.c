/*
 * Cast and CastLike between numbers and bool. The reference does not support strings.
 */
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/to_narrow.h"

#include <math.h>

/* What is added to the error by rounding twice, through float32, to a type of fewer bits. */
static long double extra_rounding(const struct bounded *in, const struct bounded *out, size_t i)
{
    bool fewer = out->type != DTYPE_FLOAT && out->type != DTYPE_DOUBLE;
    bool wide = !dtype_is_float(in->type) || in->type == DTYPE_DOUBLE;
    long double x = in->value[i], h = bounded_hard(in, i);
    if (!fewer || !wide || !isfinite(x) || (h == 0 && dtype_round(out->type, x) == x))
        return 0;
    return dtype_precision(DTYPE_FLOAT).unit * (fabsl(x) + h);
}

static void put_float(const struct bounded *in, struct bounded *out, size_t i)
{
    long double own = extra_rounding(in, out, i);
    bounded_put(out, i, in->value[i], bounded_hard(in, i) + own, likely_add(bounded_likely(in, i), own / 2));
}

/* 0 is false and everything else true, NaN too. */
static void put_bool(const struct bounded *in, struct bounded *out, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    if (h == 0 || fabsl(x) > h || (isnan(x) && !isinf(h)))
        bounded_put(out, i, x != 0, 0, 0);
    else
        bounded_put_range(out, i, x != 0, 0, 1);
}

/* To an integer: truncated towards zero. ONNX leaves the result unspecified when it is out of range or not
 * finite. To 4 and 2 bits its pages on these types say "rounding to the nearest", and the operator's text
 * nothing: either is right. */
static void put_truncated(const struct bounded *in, struct bounded *out, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    long double low = truncl(x - h), high = truncl(x + h);
    if (dtype_is_narrow(out->type)) {
        low = fminl(low, rintl(x - h));
        high = fmaxl(high, rintl(x + h));
    }
    if (!(low >= dtype_lowest(out->type) && high <= dtype_highest(out->type)))
        bounded_put_open(out, i);
    else
        bounded_put_range(out, i, truncl(x), low, high);
}

/*
 * Between integers: a value out of range keeps its low bits, as ONNX says since opset 13 (and as C does).
 */
static void put_integer(int opset, const struct bounded *in, struct bounded *out, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    long double low = dtype_lowest(out->type), high = dtype_highest(out->type), span = high - low + 1;
    if (x - h >= low && x + h <= high)
        bounded_put(out, i, x, h, bounded_likely(in, i));
    else if (opset < 13)
        bounded_put_open(out, i);
    else if (h > 0)
        bounded_put_undecided(out, i, low);
    else
        bounded_put(out, i, x - floorl((x - low) / span) * span, 0, 0);
}

static int cast(struct op_call *call, enum dtype type, bool by_function)
{
    const struct bounded *in = call_need(call, 0);
    struct to_narrow how;
    if (to_narrow_read(call, &how))
        return -1;
    how.or_up = by_function;
    struct bounded *out = in ? call_output(call, 0, type, &in->shape) : NULL;
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++) {
        if (type == in->type)
            bounded_move(out, i, in, i);
        else if (type == DTYPE_BOOL)
            put_bool(in, out, i);
        else if (dtype_in(type, DTYPES_NARROW_FLOAT))
            to_narrow_put(&how, out, i, in->value[i], bounded_hard(in, i) + extra_rounding(in, out, i));
        else if (dtype_is_float(type))
            put_float(in, out, i);
        else if (dtype_is_float(in->type))
            put_truncated(in, out, i);
        else
            put_integer(call->opset, in, out, i);
    }
    return 0;
}

/* The derivatives are cast back. None go through an integer. */
static int gradient_cast(struct op_gradient *g)
{
    const struct bounded *from = g->upstream[0];
    struct bounded *slope;
    if (!from || !dtype_is_float(from->type))
        return 0;
    if (gradient_begin(g, 0, &slope))
        return -1;
    for (size_t i = 0; slope && i < slope->count; i++)
        put_float(from, slope, i);
    return 0;
}

static int eval_cast(struct op_call *call)
{
    int64_t to = call_int(call, "to", 0);
    if (to == 0)
        return call_invalid(call, "the attribute 'to' is missing");
    if (dtype_check(to, call->err))
        return -1;
    return cast(call, (enum dtype)to, false);
}

static int eval_cast_like(struct op_call *call)
{
    const struct bounded *like = call_need(call, 1);
    return like ? cast(call, like->type, true) : -1;
}

static enum dtype draw_target(struct draw *d, enum dtype from)
{
    dtype_set types = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    if (draw_chance(d, 0.1))
        return from;
    return draw_type_or_narrow(d, d->opset < 13 ? types & ~DTYPE_BIT(DTYPE_BFLOAT16) : types);
}

/* How to convert to a narrow float, which no other type has a use for: some engines refuse it there. */
static void draw_conversion(struct draw *d, enum dtype to)
{
    if (d->opset >= 19 && draw_chance(d, 0.2))
        draw_int(d, "saturate", dtype_in(to, DTYPES_FLOAT8) || to == DTYPE_FLOAT8E8M0 ? 0 : 1);
    if (to == DTYPE_FLOAT8E8M0 && draw_chance(d, 0.5))
        draw_string(d, "round_mode", draw_word(d, "up|down|nearest"));
}

/* Draws floats that are cast to integers: mostly in range, many of them in (-1, 1). */
static void draw_castable(struct draw *d, enum dtype from, enum dtype to)
{
    if (!dtype_is_float(from) || !dtype_is_integer(to) || d->fill == FILL_EXACT)
        return;
    double most = draw_chance(d, 0.5) ? 2 : 100;
    if (dtype_is_narrow(to))
        most = (double)dtype_highest(to);
    draw_primary_range(d, dtype_is_signed(to) ? -most : -0.9, most);
}

static int sample_cast(struct draw *d)
{
    struct drawn x = draw_primary(d);
    enum dtype to = draw_target(d, x.type);
    draw_castable(d, x.type, to);
    draw_int(d, "to", to);
    draw_conversion(d, to);
    return 0;
}

static int sample_cast_like(struct draw *d)
{
    struct drawn x = draw_primary(d);
    enum dtype to = draw_target(d, x.type);
    draw_castable(d, x.type, to);
    struct shape shape = draw_shape(d, 0, 2);
    draw_data(d, to, &shape);
    if (d->narrow)
        draw_conversion(d, to);
    return 0;
}

static const struct op_param cast_params[] = {
    {"to", PARAM_INT, .legal = "1|2|3|4|5|6|7|9|10|11|12|13|16", .illegal = "0|-1|99"},
    {"saturate", PARAM_INT, .since = 19, .legal = "0|1", .illegal = "2", .initial = "1"},
    {"round_mode", PARAM_STRING, .since = 24, .legal = "up|down|nearest", .illegal = "even", .initial = "up"},
    {0},
};

enum {
    ANY = DTYPES_NUMBER | 1 << DTYPE_BOOL,
    ANY_BEFORE_13 = ANY & ~(1 << DTYPE_BFLOAT16),
};

const struct op ops_cast[] = {
    {OP("Cast", 1),
     .open = "a number that the integer type cannot hold",
     .inputs = {1, 1},
     .outputs = {1, 1},
     .ranks = {0, 6},
     .types = {{11, ANY_BEFORE_13}, {13, ANY}},
     .params = cast_params,
     .eval = eval_cast,
     .gradient = gradient_cast,
     .sample = sample_cast,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_SUM},
     .history = {.same_since = 6},
     .result = RESULT_OTHER,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_ALMOST_EVERYWHERE,
     .each = {EACH_ALONE},
     .flags = OP_CASTS | OP_MAKES_NARROW,
     .narrow = {19, DTYPES_NARROW},
     .dangers = {{DANGER_STEP}}},
    {OP("CastLike", 15), .open = "a number that the integer type cannot hold, and whether round_mode counts",
     .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {0, 6}, .types = {{15, ANY}}, .eval = eval_cast_like,
     .gradient = gradient_cast, .sample = sample_cast_like, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .result = RESULT_OTHER, .work = WORK_ELEMENTS,
     .slope = SLOPE_ALMOST_EVERYWHERE, .each = {EACH_ALONE}, .flags = OP_MAKES_NARROW,
     .narrow = {19, DTYPES_NARROW}, .dangers = {{DANGER_STEP}}},
    {0},
};
