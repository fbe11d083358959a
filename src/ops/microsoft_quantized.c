/*
 * com.microsoft: operators of 8 bits that ONNX does not have: QLinearAdd, QLinearMul, QLinearLeakyRelu,
 * QLinearSigmoid, QLinearConcat, QLinearGlobalAveragePool; and products that end in real numbers:
 * MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm. NhwcMaxPool is MaxPool with channels last.
 *
 * All read (x - zero) * scale, compute in float32, divide by the scale of the result and round to a whole
 * number.
 */
#include "bounds/strides.h"
#include "ops/draw.h"
#include "ops/inner.h"
#include "ops/quantized.h"

#include <inttypes.h>
#include <math.h>

enum { BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8 };

static const long double unit = 0x1p-24L; /* of float32 */

/* A scale and a zero point that hold for a whole tensor. */
struct quantizer {
    struct number scale, zero;
};

static int take_quantizer(struct op_call *call, size_t input, enum dtype type, struct quantizer *q)
{
    const struct bounded *scale = call_need(call, input), *zero = call_input(call, input + 1);
    if (!scale)
        return -1;
    if (scale->type != DTYPE_FLOAT || scale->count != 1 || (zero && (zero->type != type || zero->count != 1)))
        return call_invalid(call, "inputs %zu and %zu are no scale and zero point", input, input + 1);
    q->scale = scale->value ? number_of(scale, 0) : number_exact(1);
    q->zero = zero && zero->value ? number_of(zero, 0) : number_exact(0);
    return 0;
}

/* Whether results by this scale are not certain at all. */
static bool is_doubtful(const struct quantizer *q)
{
    return q->scale.h > 0 || !(q->scale.v >= 0x1p-60L && q->scale.v <= 0x1p60L) || !isfinite(q->zero.h);
}

/* (x - zero) scale, and the size of the terms that an engine may have on the way. */
static struct number read_number(const struct quantizer *q, struct number x, long double *size)
{
    *size += (number_most(x) + number_most(q->zero)) * q->scale.v;
    return (struct number){(x.v - q->zero.v) * q->scale.v, (x.h + q->zero.h) * q->scale.v, 0};
}

/* A bound has two sides also where the result saturates on one of them: it must not be narrower than that of
 * inputs that are known better. */
static void put_unsure(struct bounded *out, size_t i, long double value, long double error, long double zero)
{
    long double whole = fminl(fmaxl(rintl(value) + zero, dtype_lowest(out->type)), dtype_highest(out->type));
    long double reach = ceill(error) + 2;
    if (isfinite(reach))
        bounded_put_range(out, i, whole, whole - reach, whole + reach);
    else
        bounded_put_undecided(out, i, 0);
}

/* Stores a real number: `roundings` of numbers as large as `size`, of the zero point and of the result. */
static void put_number(struct bounded *out, size_t i, struct number y, long double size,
                       const struct quantizer *to, bool doubtful)
{
    long double value = y.v / to->scale.v;
    long double error =
        y.h / to->scale.v + 8 * unit * (size / to->scale.v + fabsl(value) + fabsl(to->zero.v));
    if (doubtful || is_doubtful(to))
        bounded_put_undecided(out, i, 0);
    else if (y.h > 0 || to->zero.h > 0)
        put_unsure(out, i, value, error + to->zero.h, to->zero.v);
    else
        quantized_put(out, i, value, error, to->zero);
}

/* ---- QLinearAdd, QLinearMul ---- */

static int eval_binary(struct op_call *call, bool product)
{
    const struct bounded *a = call_need(call, 0), *b = call_need(call, 3);
    struct quantizer of_a, of_b, of_c;
    struct shape shape;
    if (!a || !b || take_quantizer(call, 1, a->type, &of_a) || take_quantizer(call, 4, a->type, &of_b) ||
        take_quantizer(call, 6, a->type, &of_c) || call_broadcast(call, &a->shape, &b->shape, &shape))
        return -1;
    if (a->type != b->type || !dtype_in(a->type, BYTES))
        return call_invalid(call, "the operands are not of one type of 8 bits");
    struct bounded *out = call_output(call, 0, a->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct strides at_a = strides_broadcast(&a->shape, &shape), at_b = strides_broadcast(&b->shape, &shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &shape)) {
        long double size = 0;
        struct number x = read_number(&of_a, number_of(a, strides_at(&at_a, shape.rank, index)), &size),
                      y = read_number(&of_b, number_of(b, strides_at(&at_b, shape.rank, index)), &size);
        struct number result = product ? number_mul(x, y, 0) : number_add(x, y, 0);
        put_number(out, i, result, product ? number_most(result) : size, &of_c,
                   is_doubtful(&of_a) || is_doubtful(&of_b));
    }
    return 0;
}

static int eval_add(struct op_call *call)
{
    return eval_binary(call, false);
}

static int eval_mul(struct op_call *call)
{
    return eval_binary(call, true);
}

static void draw_quantizer(struct draw *d, enum dtype type)
{
    struct shape scalar = {0};
    draw_range(d, DTYPE_FLOAT, &scalar, 0.01, 0.5);
    draw_range(d, type, &scalar, dtype_is_signed(type) ? -20 : 0, 20);
    for (size_t i = d->n_inputs - 2; i < d->n_inputs; i++) /* engines take parameters as constants */
        d->inputs[i].constant |= d->inputs[i].source == DRAWN_NEW;
}

static void fill_bytes(struct draw *d)
{
    enum dtype type = d->inputs[0].type;
    draw_primary_range(d, (double)dtype_lowest(type), (double)dtype_highest(type));
}

static int sample_binary(struct draw *d)
{
    struct drawn a = draw_primary(d);
    if (shape_span(&a.shape, 0, a.shape.rank) == 0)
        return -1;
    fill_bytes(d);
    struct shape b = draw_chance(d, 0.5) ? a.shape : draw_broadcastable(d, &a.shape);
    draw_quantizer(d, a.type);
    draw_range(d, a.type, &b, (double)dtype_lowest(a.type), (double)dtype_highest(a.type));
    draw_quantizer(d, a.type);
    draw_quantizer(d, a.type);
    return 0;
}

/* ---- Functions of one element ---- */

static struct number leaky(const struct op_call *call, struct number x)
{
    long double alpha = call_float(call, "alpha", (double)0.01F), low = x.v - x.h, high = x.v + x.h;
    long double slope = fmaxl(1, fabsl(alpha)), y = x.v < 0 ? alpha * x.v : x.v;
    return (struct number){y, low >= 0 ? x.h : high <= 0 ? fabsl(alpha) * x.h : slope * x.h, 0};
}

static struct number sigmoid(const struct op_call *call, struct number x)
{
    (void)call;
    long double y = 1 / (1 + expl(-x.v));
    return (struct number){y, x.h / 4 + 16 * unit * y, 0};
}

static int eval_function(struct op_call *call,
                         struct number (*function)(const struct op_call *call, struct number x))
{
    const struct bounded *x = call_need(call, 0);
    struct quantizer from, to;
    if (!x || take_quantizer(call, 1, x->type, &from) || take_quantizer(call, 3, x->type, &to))
        return -1;
    if (!dtype_in(x->type, BYTES))
        return call_invalid(call, "the input has no 8 bits");
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    for (size_t i = 0; out && !call->shapes_only && i < out->count; i++) {
        long double size = 0;
        struct number real = read_number(&from, number_of(x, i), &size);
        struct number y = function(call, number_loosen(real, 2 * unit * number_most(real), 0));
        put_number(out, i, y, number_most(y), &to, is_doubtful(&from));
    }
    return out ? 0 : -1;
}

static int eval_leaky(struct op_call *call)
{
    return eval_function(call, leaky);
}

static int eval_sigmoid(struct op_call *call)
{
    return eval_function(call, sigmoid);
}

static int sample_function(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1;
    fill_bytes(d);
    draw_quantizer(d, x.type);
    draw_quantizer(d, x.type);
    return 0;
}

static int sample_leaky(struct draw *d)
{
    if (draw_chance(d, 0.7))
        draw_float(d, "alpha", (float)draw_between(d, 0, 8) / 8);
    return sample_function(d);
}

/* ---- QLinearGlobalAveragePool ---- */

static int eval_pool(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct quantizer from, to;
    bool last = call_int(call, "channels_last", 0) != 0;
    if (!x || take_quantizer(call, 1, x->type, &from) || take_quantizer(call, 3, x->type, &to))
        return -1;
    int rank = x->shape.rank;
    if (rank < 3 || !dtype_in(x->type, BYTES))
        return call_invalid(call, "the input has no spatial dimensions, or no 8 bits");
    struct shape shape = x->shape;
    for (int i = last ? 1 : 2; i < (last ? rank - 1 : rank); i++)
        shape.dims[i] = 1;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || out->count == 0)
        return out ? 0 : -1;
    size_t channels = (size_t)x->shape.dims[last ? rank - 1 : 1], places = x->count / out->count;
    for (size_t i = 0; i < out->count; i++) {
        long double size = 0;
        struct number sum = number_exact(0);
        size_t first = last ? i / channels * channels * places + i % channels : i * places;
        for (size_t k = 0; k < places; k++)
            sum = number_add(sum, read_number(&from, number_of(x, first + k * (last ? channels : 1)), &size),
                             0);
        sum.v /= (long double)places;
        sum.h /= (long double)places;
        put_number(out, i, sum, number_most(sum), &to, is_doubtful(&from) || places == 0);
    }
    return 0;
}

static int sample_pool(struct draw *d)
{
    if (draw_chance(d, 0.4))
        draw_int(d, "channels_last", draw_between(d, 0, 1));
    return sample_function(d);
}

/* ---- QLinearConcat ---- */

enum { FIRST = 2, EACH = 3 };

/* The tensors in the type of the result, behind each other. */
static int join(struct op_call *call, const struct quantizer *to, enum dtype type, struct bounded *made,
                size_t count)
{
    const struct bounded *inputs[64];
    struct inner step;
    for (size_t n = 0; n < count; n++) {
        const struct bounded *x = call_need(call, FIRST + n * EACH);
        struct quantizer from;
        if (!x || take_quantizer(call, FIRST + n * EACH + 1, x->type, &from) ||
            bounded_alloc(&made[n], type, &x->shape, call->shapes_only, call->err))
            return -1;
        for (size_t i = 0; made[n].value && i < made[n].count; i++) {
            long double size = 0;
            struct number real = read_number(&from, number_of(x, i), &size);
            put_number(&made[n], i, real, number_most(real), to, is_doubtful(&from));
        }
        inputs[n] = &made[n];
    }
    inner_begin(&step, call, "Concat");
    node_set_int(&step.arena, step.node, "axis", call_int(call, "axis", 0));
    return inner_last(&step, inputs, count);
}

static int eval_concat(struct op_call *call)
{
    const struct bounded *zero = call_need(call, 1);
    struct bounded made[64];
    struct quantizer to;
    size_t count = (call->n_inputs - FIRST) / EACH;
    if (!zero || take_quantizer(call, 0, zero->type, &to))
        return -1;
    if (!dtype_in(zero->type, BYTES) || call->n_inputs != FIRST + count * EACH || count < 1 || count > 64)
        return call_invalid(call, "the inputs are not triples of 8 bits");
    for (size_t i = 0; i < count; i++)
        bounded_init(&made[i]);
    int result = join(call, &to, zero->type, made, count);
    for (size_t i = 0; i < count; i++)
        bounded_release(&made[i]);
    return result;
}

static int sample_concat(struct draw *d)
{
    enum dtype type = draw_type(d, BYTES);
    struct shape shape = draw_shape(d, 1, 4);
    int axis = (int)draw_between(d, 0, shape.rank - 1);
    if (d->given || shape_span(&shape, 0, shape.rank) == 0)
        return -1;
    draw_quantizer(d, type);
    for (int64_t i = draw_between(d, 1, 3); i > 0; i--) {
        shape.dims[axis] = draw_dim(d);
        draw_range(d, type, &shape, (double)dtype_lowest(type), (double)dtype_highest(type));
        draw_quantizer(d, type);
    }
    draw_int(d, "axis", axis);
    return 0;
}

/* ---- Products ---- */

/* What is done to the sums of a product of integers. */
struct scaling {
    struct number a;            /* scale of A, times alpha */
    const struct bounded *b;    /* scale of B: one or one for each column */
    const struct bounded *bias; /* one for each column, of real numbers; NULL: none */
};

/* Sums to real numbers: three products, the conversion of the sum, and the bias. */
static int scale_sums(struct op_call *call, const struct bounded *sums, const struct scaling *s,
                      struct bounded *out)
{
    size_t columns = sums->shape.rank ? (size_t)sums->shape.dims[sums->shape.rank - 1] : 1;
    if ((s->b->count != 1 && s->b->count != columns) || (s->bias && s->bias->count != columns))
        return call_invalid(call, "scale or bias is none for each column");
    for (size_t i = 0; out->value && i < out->count; i++) {
        struct number b = number_of(s->b, s->b->count == 1 ? 0 : i % columns), sum = number_of(sums, i);
        struct number y = number_mul(number_mul(sum, s->a, 2 * unit), b, 2 * unit);
        if (s->bias)
            y = number_add(y, number_of(s->bias, i % columns), unit);
        y = number_loosen(y, 0x1p-125L, 0);
        if (isfinite(y.v))
            number_put(out, i, y);
        else
            bounded_put_undecided(out, i, 0);
    }
    return 0;
}

static int multiply(struct op_call *call, const struct bounded *const in[4], struct bounded *sums)
{
    struct inner step;
    inner_begin(&step, call, "MatMulInteger");
    return inner_step(&step, in, 4, sums);
}

static int put_real(struct op_call *call, const struct bounded *sums, const struct scaling *s)
{
    struct bounded *out = call_output(call, 0, DTYPE_FLOAT, &sums->shape);
    return out ? scale_sums(call, sums, s, out) : -1;
}

static int eval_to_float(struct op_call *call)
{
    const struct bounded *in[4] = {call_need(call, 0), call_need(call, 1), call_input(call, 4),
                                   call_input(call, 5)};
    const struct bounded *scale = call_need(call, 2);
    struct scaling s = {.b = call_need(call, 3), .bias = call_input(call, 6)};
    struct bounded sums;
    if (!in[0] || !in[1] || !scale || !s.b)
        return -1;
    if (scale->count != 1 || scale->type != DTYPE_FLOAT || s.b->type != DTYPE_FLOAT)
        return call_unsupported(call, "a scale for each row, or of halves, is not supported");
    s.a = scale->value ? number_of(scale, 0) : number_exact(1);
    int result = multiply(call, in, &sums);
    if (!result)
        result = put_real(call, &sums, &s);
    bounded_release(&sums);
    return result;
}

/* The parts of DynamicQuantizeLinear: elements, scale and zero point. */
static int eval_dynamic(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *in[4];
    struct scaling s = {.b = call_need(call, 2), .bias = call_input(call, 4)};
    struct bounded parts[3], sums;
    struct op_call inner = *call;
    if (!x || !s.b || !call_need(call, 1))
        return -1;
    for (int i = 0; i < 3; i++)
        bounded_init(&parts[i]);
    bounded_init(&sums);
    inner.op = op_find("DynamicQuantizeLinear");
    inner.inputs = &x;
    inner.n_inputs = 1;
    inner.outputs = parts;
    inner.n_outputs = 3;
    int result = inner.op->eval(&inner);
    for (int i = 0; i < 3 && !result && parts[i].value; i++)
        bounded_settle(&parts[i], NULL);
    in[0] = &parts[0];
    in[1] = call->inputs[1];
    in[2] = &parts[2];
    in[3] = call_input(call, 3);
    if (!result)
        result = multiply(call, in, &sums);
    s.a = !result && parts[1].value ? number_of(&parts[1], 0) : number_exact(1);
    if (!result)
        result = put_real(call, &sums, &s);
    for (int i = 0; i < 3; i++)
        bounded_release(&parts[i]);
    bounded_release(&sums);
    return result;
}

static int sample_to_float(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 3);
    int rank = a.shape.rank;
    if (rank < 2 || shape_span(&a.shape, 0, rank) == 0)
        return -1;
    fill_bytes(d);
    enum dtype type = draw_type(d, BYTES);
    struct shape b = {2, {a.shape.dims[rank - 1], draw_dim(d)}}, scalar = {0}, each = {1, {b.dims[1]}};
    bool many = draw_chance(d, 0.4), zeros = draw_chance(d, 0.5), bias = draw_chance(d, 0.4);
    draw_range(d, type, &b, (double)dtype_lowest(type), (double)dtype_highest(type));
    draw_range(d, DTYPE_FLOAT, &scalar, 0.01, 0.5);
    draw_range(d, DTYPE_FLOAT, many ? &each : &scalar, 0.01, 0.5);
    if (zeros) {
        draw_range(d, a.type, &scalar, 0, 20);
        draw_range(d, type, many ? &each : &scalar, 0, 20);
    } else if (bias) {
        draw_omit(d);
        draw_omit(d);
    }
    if (bias)
        draw_range(d, DTYPE_FLOAT, &each, -4, 4);
    return 0;
}

static int sample_dynamic(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 3);
    int rank = a.shape.rank;
    if (rank < 2 || shape_span(&a.shape, 0, rank) == 0)
        return -1;
    enum dtype type = draw_type(d, BYTES);
    struct shape b = {2, {a.shape.dims[rank - 1], draw_dim(d)}}, scalar = {0}, each = {1, {b.dims[1]}};
    bool many = draw_chance(d, 0.4), zeros = draw_chance(d, 0.5), bias = draw_chance(d, 0.4);
    draw_range(d, type, &b, (double)dtype_lowest(type), (double)dtype_highest(type));
    draw_range(d, DTYPE_FLOAT, many ? &each : &scalar, 0.01, 0.5);
    if (zeros)
        draw_range(d, type, many ? &each : &scalar, 0, 20);
    else if (bias)
        draw_omit(d);
    if (bias)
        draw_range(d, DTYPE_FLOAT, &each, -4, 4);
    return 0;
}

/* ---- QGemm ---- */

enum { QA, QA_SCALE, QA_ZERO, QB, QB_SCALE, QB_ZERO, QC, QY_SCALE, QY_ZERO };

/* A or B, turned when the attribute says so; *turned is released by the caller. */
static int take_matrix(struct op_call *call, size_t input, const char *attribute, struct bounded *turned,
                       const struct bounded **matrix)
{
    const int64_t order[2] = {1, 0};
    *matrix = call_need(call, input);
    if (!*matrix)
        return -1;
    if ((*matrix)->shape.rank != 2 || !dtype_in((*matrix)->type, BYTES))
        return call_invalid(call, "input %zu is no matrix of 8 bits", input);
    if (!call_int(call, attribute, 0))
        return 0;
    int result = inner_transpose(call, *matrix, order, turned);
    *matrix = turned;
    return result;
}

/* C is in steps of the scale of the products, so that it is added to their sums. Beyond an int32 the result
 * is not decided. */
static int add_integers(struct op_call *call, struct bounded *sums)
{
    const struct bounded *c = call_input(call, QC);
    struct shape common;
    if (!c)
        return 0;
    if (c->type != DTYPE_INT32 || call_broadcast(call, &sums->shape, &c->shape, &common) ||
        !shape_equal(&common, &sums->shape))
        return call_invalid(call, "C is not of int32 or does not fit the product");
    struct strides at = strides_broadcast(&c->shape, &sums->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; sums->value && i < sums->count; i++, odometer_next(index, &sums->shape)) {
        struct number sum =
            number_add(number_of(sums, i), number_of(c, strides_at(&at, sums->shape.rank, index)), 0);
        if (number_most(sum) > (long double)INT32_MAX)
            bounded_put_undecided(sums, i, 0);
        else
            bounded_set(sums, i, sum.v, (double)sum.h, (double)sum.l);
    }
    return 0;
}

/* Sums to numbers of 8 bits. */
static int put_bytes(struct op_call *call, const struct bounded *sums, const struct scaling *s)
{
    const struct bounded *zero = call_need(call, QY_ZERO);
    struct quantizer to;
    if (!zero || take_quantizer(call, QY_SCALE, zero->type, &to))
        return -1;
    size_t columns = (size_t)sums->shape.dims[1];
    if (!dtype_in(zero->type, BYTES) || (s->b->count != 1 && s->b->count != columns))
        return call_invalid(call, "a scale is none for each column, or the zero point has no 8 bits");
    struct bounded *out = call_output(call, 0, zero->type, &sums->shape);
    for (size_t i = 0; out && out->value && i < out->count; i++) {
        struct quantizer by = {.scale = number_of(s->b, s->b->count == 1 ? 0 : i % columns)};
        struct number y = number_mul(number_mul(number_of(sums, i), s->a, 0), by.scale, 0);
        put_number(out, i, y, number_most(y), &to, s->a.h > 0 || !isfinite(y.v) || is_doubtful(&by));
    }
    return out ? 0 : -1;
}

static int eval_gemm(struct op_call *call)
{
    const struct bounded *in[4] = {0}, *scale = call_need(call, QA_SCALE);
    struct scaling s = {.b = call_need(call, QB_SCALE)};
    struct bounded turned[2], sums;
    for (int i = 0; i < 2; i++)
        bounded_init(&turned[i]);
    bounded_init(&sums);
    if (!scale || !s.b)
        return -1;
    if (scale->count != 1 || scale->type != DTYPE_FLOAT || s.b->type != DTYPE_FLOAT)
        return call_invalid(call, "a scale is not of float32, or A has several");
    if (!call_input(call, QY_SCALE) != !call_input(call, QY_ZERO))
        return call_unsupported(call, "a scale of the result without its zero point is not supported");
    s.a = scale->value ? number_of(scale, 0) : number_exact(1);
    s.a.v *= call_float(call, "alpha", 1);
    s.a.h *= fabsl(call_float(call, "alpha", 1));
    int result = take_matrix(call, QA, "transA", &turned[0], &in[0]);
    if (!result)
        result = take_matrix(call, QB, "transB", &turned[1], &in[1]);
    in[2] = call_input(call, QA_ZERO);
    in[3] = call_input(call, QB_ZERO);
    if (!result)
        result = multiply(call, in, &sums);
    if (!result)
        result = add_integers(call, &sums);
    if (!result)
        result = call_input(call, QY_SCALE) ? put_bytes(call, &sums, &s) : put_real(call, &sums, &s);
    for (int i = 0; i < 2; i++)
        bounded_release(&turned[i]);
    bounded_release(&sums);
    return result;
}

/* Scales and zero points, one for the tensor or one for each of `count` columns. */
static void draw_quantizers(struct draw *d, enum dtype type, int64_t count)
{
    struct shape shape = {count > 0, {count}};
    draw_range(d, DTYPE_FLOAT, &shape, 0.01, 0.5);
    draw_range(d, type, &shape, dtype_is_signed(type) ? -20 : 0, 20);
    for (size_t i = d->n_inputs - 2; i < d->n_inputs; i++)
        d->inputs[i].constant |= d->inputs[i].source == DRAWN_NEW;
}

static int sample_gemm(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 2);
    if (a.shape.rank != 2 || shape_span(&a.shape, 0, 2) == 0)
        return -1;
    fill_bytes(d);
    bool trans_a = draw_chance(d, 0.3), trans_b = draw_chance(d, 0.3), many = draw_chance(d, 0.4),
         added = draw_chance(d, 0.6), bytes = draw_chance(d, 0.6);
    /* Engines have no product of signed by unsigned numbers. */
    enum dtype type = a.type == DTYPE_INT8 ? DTYPE_INT8 : draw_type(d, BYTES);
    int64_t rows = a.shape.dims[trans_a], inner = a.shape.dims[!trans_a], columns = draw_dim(d);
    struct shape b = {2, {trans_b ? columns : inner, trans_b ? inner : columns}}, y = {2, {rows, columns}};
    draw_quantizers(d, a.type, 0);
    draw_range(d, type, &b, (double)dtype_lowest(type), (double)dtype_highest(type));
    draw_quantizers(d, type, many ? columns : 0);
    struct shape c = draw_chance(d, 0.5) ? (struct shape){1, {columns}} : draw_broadcastable(d, &y);
    if (added)
        draw_range(d, DTYPE_INT32, &c, -20000, 20000);
    else if (bytes)
        draw_omit(d);
    if (bytes) {
        draw_quantizers(d, a.type, 0);
        if (draw_chance(d, 0.8)) /* most results saturate otherwise */
            tensor_set(&d->inputs[QY_SCALE].data, 0, draw_between(d, 20, 200));
    }
    if (trans_a || draw_chance(d, 0.2))
        draw_int(d, "transA", trans_a);
    if (trans_b || draw_chance(d, 0.2))
        draw_int(d, "transB", trans_b);
    if (draw_chance(d, 0.4))
        draw_float(d, "alpha", (float)draw_between(d, 1, 12) / 8);
    return 0;
}

/* ---- NhwcMaxPool ---- */

static int eval_nhwc(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct bounded turned, pooled;
    const struct bounded *in[1] = {&turned};
    int64_t there[TENSOR_MAX_RANK], back[TENSOR_MAX_RANK];
    struct inner step;
    bounded_init(&turned);
    bounded_init(&pooled);
    if (!x)
        return -1;
    int rank = x->shape.rank;
    if (rank < 3)
        return call_invalid(call, "the input has no spatial dimensions");
    for (int i = 0; i < rank; i++) {
        there[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        back[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    }
    int result = inner_transpose(call, x, there, &turned);
    if (!result) {
        inner_begin(&step, call, "MaxPool");
        step.node->n_attribute = call->node->n_attribute;
        step.node->attribute = call->node->attribute;
        result = inner_step(&step, in, 1, &pooled);
    }
    in[0] = &pooled;
    if (!result) {
        inner_begin(&step, call, "Transpose");
        node_set_ints(&step.arena, step.node, "perm", back, (size_t)rank);
        result = inner_last(&step, in, 1);
    }
    bounded_release(&turned);
    bounded_release(&pooled);
    return result;
}

static int sample_nhwc(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 4, 4);
    int64_t kernel[2], strides[2] = {draw_between(d, 1, 2), draw_between(d, 1, 2)}, pads[4] = {0};
    if (x.shape.rank != 4 || shape_span(&x.shape, 0, 4) == 0)
        return -1;
    fill_bytes(d);
    for (int i = 0; i < 2; i++) {
        kernel[i] = draw_between(d, 1, x.shape.dims[i + 1] < 3 ? x.shape.dims[i + 1] : 3);
        if (kernel[i] > 1 && draw_chance(d, 0.3))
            pads[i] = pads[i + 2] = 1;
    }
    draw_ints(d, "kernel_shape", kernel, 2);
    draw_ints(d, "strides", strides, 2);
    draw_ints(d, "pads", pads, 4);
    return 0;
}

static const struct op_param leaky_params[] = {{"alpha", PARAM_FLOAT, .legal = "0..1", .initial = "0.01"},
                                               {0}};
static const struct op_param pool_params[] = {{"channels_last", PARAM_INT, .legal = "0|1", .initial = "0"},
                                              {0}};
static const struct op_param concat_params[] = {{"axis", PARAM_INT, .legal = "0|1", .illegal = "99|-99"},
                                                {0}};
static const struct op_param gemm_params[] = {{"alpha", PARAM_FLOAT, .legal = "0.5|1|1.5", .initial = "1"},
                                              {"transA", PARAM_INT, .legal = "0|1", .initial = "0"},
                                              {"transB", PARAM_INT, .legal = "0|1", .initial = "0"},
                                              {0}};
static const struct op_param gemm_extras[] = {{"C", PARAM_INPUT, .input = QC}, {0}};
static const struct op_param nhwc_params[] = {
    {"auto_pad", PARAM_STRING, .legal = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .illegal = "SAME",
     .initial = "NOTSET"},
    {"ceil_mode", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"dilations", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"kernel_shape", PARAM_INTS, .illegal = "0|-1"},
    {"pads", PARAM_INTS, .legal = "0|1", .illegal = "-1", .initial = "0"},
    {"strides", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {0},
};

/* Members that the rows have in common. */
#define USUAL                                                                                       \
    .outputs = {1, 1}, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, \
    .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}
#define ELEMENTS USUAL, .types = {{1, BYTES}}, .result = RESULT_OTHER, .work = WORK_ELEMENTS

const struct op ops_microsoft_quantized[] = {
    {OP_MICROSOFT("DynamicQuantizeMatMul"), USUAL, .types = {{1, 1 << DTYPE_FLOAT}}, .inputs = {3, 5},
     .ranks = {2, 3}, .eval = eval_dynamic, .sample = sample_dynamic, .result = RESULT_TYPE,
     .work = WORK_PRODUCTS, .open = "the scale of numbers that are all 0, or of NaN and infinities"},
    {OP_MICROSOFT("MatMulIntegerToFloat"), USUAL, .types = {{1, BYTES}}, .inputs = {4, 7}, .ranks = {2, 3},
     .eval = eval_to_float, .sample = sample_to_float, .result = RESULT_OTHER, .work = WORK_PRODUCTS},
    {OP_MICROSOFT("NhwcMaxPool"), USUAL, .types = {{1, BYTES}}, .inputs = {1, 1}, .ranks = {4, 4},
     .params = nhwc_params, .eval = eval_nhwc, .sample = sample_nhwc, .result = RESULT_TYPE,
     .work = WORK_REDUCES},
    {OP_MICROSOFT("QGemm"), USUAL, .types = {{1, BYTES}}, .inputs = {6, 9}, .ranks = {2, 2},
     .params = gemm_params, .extras = gemm_extras, .eval = eval_gemm, .sample = sample_gemm,
     .result = RESULT_OTHER, .work = WORK_PRODUCTS},
    {OP_MICROSOFT("QLinearAdd"), ELEMENTS, .each = {EACH_PAIR, .second = 3}, .inputs = {7, 8},
     .ranks = {0, 5}, .eval = eval_add, .sample = sample_binary},
    {OP_MICROSOFT("QLinearConcat"), USUAL, .types = {{1, 1 << DTYPE_FLOAT}}, .inputs = {5, OP_VARIADIC},
     .ranks = {0, 0}, .params = concat_params, .eval = eval_concat, .sample = sample_concat,
     .result = RESULT_OTHER, .work = WORK_ELEMENTS},
    {OP_MICROSOFT("QLinearGlobalAveragePool"), USUAL, .types = {{1, BYTES}}, .inputs = {5, 5},
     .ranks = {3, 5}, .params = pool_params, .eval = eval_pool, .sample = sample_pool, .result = RESULT_OTHER,
     .work = WORK_REDUCES},
    {OP_MICROSOFT("QLinearLeakyRelu"), ELEMENTS, .each = {EACH_ALONE}, .inputs = {4, 5}, .ranks = {0, 5},
     .params = leaky_params, .eval = eval_leaky, .sample = sample_leaky},
    {OP_MICROSOFT("QLinearMul"), ELEMENTS, .each = {EACH_PAIR, .second = 3}, .inputs = {7, 8},
     .ranks = {0, 5}, .eval = eval_mul, .sample = sample_binary},
    {OP_MICROSOFT("QLinearSigmoid"), ELEMENTS, .each = {EACH_ALONE}, .inputs = {4, 5}, .ranks = {0, 5},
     .eval = eval_sigmoid, .sample = sample_function},
    {0},
};
