/*
 * Signals: the window functions, DFT, STFT and MelWeightMatrix. Bounds: docs/bounds/signal.md.
 */
#include "bounds/number.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const long double tau = 6.283185307179586476925286766559005768L;

/* The most products that one node computes: about a second. */
enum { WORK_LIMIT = 1 << 26 };

/* cos(tau * i / n), exact at quarter turns. */
static long double cosine(uint64_t i, uint64_t n)
{
    if (4 * i % n == 0) {
        static const long double quarters[4] = {1, 0, -1, 0};
        return quarters[4 * i / n % 4];
    }
    return cosl(tau * (long double)i / (long double)n);
}

/* ---- HannWindow, HammingWindow, BlackmanWindow ---- */

/* w(i) = a[0] - a[1] cos(tau i / n) + a[2] cos(2 tau i / n) */
struct cosines {
    long double a[3];
};

/* The type named by output_datatype, of the set. */
static int output_type(struct op_call *call, dtype_set set, enum dtype *type)
{
    int64_t number = call_int(call, "output_datatype", DTYPE_FLOAT);
    if (dtype_check(number, call->err))
        return -1;
    if (!dtype_in((enum dtype)number, set))
        return call_invalid(call, "output_datatype %" PRId64 " is no number", number);
    *type = (enum dtype)number;
    return 0;
}

/* The unit of the coarser of the type and float32, in which ONNX's function bodies compute. */
static long double unit_at_least_float(enum dtype type)
{
    return dtype_is_float(type) ? fmaxl(unit_of(type), unit_of(DTYPE_FLOAT)) : unit_of(DTYPE_FLOAT);
}

/*
 * The angle has four roundings, each relative; a cosine moves by no more than its angle, and has two units
 * of error of its own. Three more roundings each follow in the products and the sum. Integers are cut.
 */
static void put_window(struct bounded *out, size_t i, const struct cosines *w, uint64_t n)
{
    long double u = unit_at_least_float(out->type), angle = tau * (long double)i / (long double)n;
    long double value = w->a[0] - w->a[1] * cosine(i, n) + w->a[2] * cosine(2 * i, n);
    long double hard = 4 * u * angle * (w->a[1] + 2 * w->a[2]) + 5 * u * (w->a[0] + w->a[1] + w->a[2]);
    if (dtype_is_float(out->type))
        bounded_put(out, i, value, hard, hard / 4);
    else
        bounded_put_range(out, i, truncl(value), truncl(value - hard), truncl(value + hard));
}

static int eval_window(struct op_call *call, const struct cosines *w)
{
    enum dtype type = DTYPE_NONE;
    int64_t size;
    if (output_type(call, DTYPES_NUMBER, &type) || call_int_single(call, 0, &size))
        return -1;
    if (size < 1)
        return call_invalid(call, "size %" PRId64 " is not positive", size);
    struct bounded *out = call_output(call, 0, type, &(struct shape){1, {size}});
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    uint64_t n = (uint64_t)size - (call_int(call, "periodic", 1) == 0 && size > 0);
    for (size_t i = 0; i < out->count; i++)
        if (n == 0) /* 0 / 0 */
            bounded_put_open(out, i);
        else
            put_window(out, i, w, n);
    return 0;
}

static int eval_hann(struct op_call *call)
{
    return eval_window(call, &(struct cosines){{0.5L, 0.5L, 0}});
}

static int eval_hamming(struct op_call *call)
{
    return eval_window(call, &(struct cosines){{25.0L / 46, 21.0L / 46, 0}});
}

static int eval_blackman(struct op_call *call)
{
    return eval_window(call, &(struct cosines){{0.42L, 0.5L, 0.08L}});
}

static int sample_window(struct draw *d)
{
    struct shape scalar = {0};
    int64_t size = draw_chance(d, 0.1) ? draw_between(d, 1, 2) : draw_between(d, 2, 40);
    draw_int_typed(d, d->type, &scalar, &size);
    if (draw_chance(d, 0.6))
        draw_int(d, "periodic", draw_between(d, 0, 1));
    if (draw_chance(d, 0.4))
        draw_int(d, "output_datatype", draw_chance(d, 0.7) ? DTYPE_FLOAT : draw_type(d, DTYPES_FLOAT));
    return 0;
}

/* ---- DFT ---- */

/* A lane of complex numbers, `step` elements apart; `parts` is 1 when they are real. */
struct lane {
    const struct bounded *x;
    size_t at, step, count, parts;
};

/* The cosines of all multiples of tau / n; a sine is a quarter turn behind. */
struct turns {
    uint64_t n;
    long double *cosines, *sines;
};

static int turns_init(struct turns *t, uint64_t n, struct error *err)
{
    *t = (struct turns){.n = n};
    t->cosines = calloc(n ? n : 1, sizeof *t->cosines);
    t->sines = calloc(n ? n : 1, sizeof *t->sines);
    if (!t->cosines || !t->sines)
        return error_set(err, ERROR_MEMORY, "no memory for a transform of %" PRIu64, n);
    for (uint64_t i = 0; i < n; i++) {
        t->cosines[i] = cosine(i, n);
        t->sines[i] = cosine((4 * i + 3 * n) % (4 * n), 4 * n);
    }
    return 0;
}

static void turns_release(struct turns *t)
{
    free(t->cosines);
    free(t->sines);
}

/* What the bound of every element of a transform depends on. */
struct size {
    long double magnitude; /* sum of |re| + |im|, as large as they may be */
    long double energy;    /* sum of their squares */
    long double hard, variance;
    bool strange;
};

static struct size lane_size(const struct lane *lane)
{
    struct size s = {0};
    for (size_t j = 0; j < lane->count; j++)
        for (size_t part = 0; part < lane->parts; part++) {
            struct number x = number_of(lane->x, lane->at + j * lane->step + part);
            s.strange |= !isfinite(x.v) || !isfinite(x.h);
            s.magnitude += number_most(x);
            s.energy += number_most(x) * number_most(x);
            s.hard += x.h;
            s.variance += x.l * x.l;
        }
    return s;
}

/* The error of one element of a transform in units of rounding: the largest, and a standard deviation. */
struct transform_error {
    long double hard, likely;
};

/* How large element j of a lane may be: |re| + |im|. */
static long double lane_most(const struct lane *lane, size_t j)
{
    size_t at = lane->at + j * lane->step;
    long double size = number_most(number_of(lane->x, at));
    return lane->parts == 2 ? size + number_most(number_of(lane->x, at + 1)) : size;
}

/*
 * Element k of a transform of n computed as the sum stands, with angles tau j k / n that need not be reduced;
 * `walk` is the sum of the squares of the partial sums. One rounding of the angle, that of tau, is the same
 * in all terms. See docs/bounds/signal.md.
 */
static struct transform_error sum_error(const struct lane *lane, const struct size *s, uint64_t n, uint64_t k,
                                        long double walk)
{
    long double hard = 0, common = 0, variance = 0;
    for (size_t j = 0; j < lane->count; j++) {
        long double size = lane_most(lane, j), angle = tau * (long double)j * (long double)k / (long double)n;
        hard += size * (3 * angle + 6);
        common += size * angle;
        variance += size * size * (2 * angle * angle / 3 + 4.0L / 3 + 1);
    }
    variance += (walk + (long double)n * s->energy) / 3 + common * common / 3;
    return (struct transform_error){hard + ((long double)n + 4) * s->magnitude, sqrtl(variance)};
}

/* By fast transforms, or for any length by convolution with a chirp; `square` is that of the result's size.
 */
static struct transform_error fast_error(const struct size *s, uint64_t n, long double square)
{
    long double length = (long double)n, steps = log2l(4 * length), turn = tau / 2 * length;
    long double variance =
        13.0L / 3 * length * s->energy * (18 + 2 * steps) + turn * turn * (2 * s->energy + square);
    return (struct transform_error){(8 * (steps + 2) * sqrtl(2 * length) + 9 * turn) * s->magnitude,
                                    sqrtl(variance)};
}

static void put_element(struct bounded *out, size_t at, const struct lane *lane, const struct size *s,
                        const struct turns *t, uint64_t k, bool inverse)
{
    long double re = 0, im = 0, walk = 0, u = unit_of(out->type);
    for (size_t j = 0; j < lane->count; j++) {
        uint64_t turn = (uint64_t)j * k % t->n;
        long double c = t->cosines[turn], d = inverse ? t->sines[turn] : -t->sines[turn];
        long double a = lane->x->value[lane->at + j * lane->step];
        long double b = lane->parts == 2 ? lane->x->value[lane->at + j * lane->step + 1] : 0;
        re += a * c - b * d;
        im += a * d + b * c;
        walk += re * re + im * im;
    }
    struct transform_error sum = sum_error(lane, s, t->n, k, walk),
                           fast = fast_error(s, t->n, re * re + im * im);
    long double own = fmaxl(sum.hard, fast.hard) * u, by = inverse ? (long double)t->n : 1;
    own += inverse ? 2 * u * s->magnitude : 0;
    long double hard = (own + s->hard) / by + dtype_precision(out->type).tiny * (long double)(t->n + 1);
    long double likely = likely_add(fmaxl(sum.likely, fast.likely) * u, sqrtl(s->variance)) / by;
    /* On the way numbers may be larger than the results. */
    if (s->strange || !(s->magnitude * 8 * (long double)t->n < dtype_highest(out->type))) {
        bounded_put_undecided(out, at, 0);
        bounded_put_undecided(out, at + 1, 0);
        return;
    }
    bounded_put(out, at, re / by, hard, fminl(likely, hard));
    bounded_put(out, at + 1, im / by, hard, fminl(likely, hard));
}

/* Elements 0 to count - 1 of a lane's transform, from `at` on, `step` elements apart. */
static void transform(struct bounded *out, size_t at, size_t step, size_t count, const struct lane *lane,
                      const struct turns *t, bool inverse)
{
    struct size s = lane_size(lane);
    for (size_t k = 0; k < count; k++)
        put_element(out, at + k * step, lane, &s, t, k, inverse);
}

static int check_work(struct op_call *call, size_t lanes, uint64_t inputs, uint64_t outputs)
{
    if ((long double)lanes * (long double)inputs * (long double)outputs > WORK_LIMIT)
        return error_set(call->err, ERROR_LIMIT, "%s: more products than the reference computes",
                         call->op->name);
    return 0;
}

struct dft {
    const struct bounded *x;
    int axis;
    int64_t n;
    bool inverse, onesided;
    struct shape shape;
};

static int dft_axis(struct op_call *call, int rank, int *axis)
{
    int64_t number = call->opset < 20 ? call_int(call, "axis", 1) : -2;
    if (call->opset >= 20 && call_input(call, 2) && call_int_single(call, 2, &number))
        return -1;
    if (call_axis(call, number, rank, axis))
        return -1;
    if (*axis == rank - 1)
        return call_invalid(call, "the last axis holds the parts of complex numbers");
    return 0;
}

static int take_dft(struct op_call *call, struct dft *d)
{
    d->x = call_need(call, 0);
    if (!d->x)
        return -1;
    int rank = d->x->shape.rank;
    int64_t parts = rank ? d->x->shape.dims[rank - 1] : 0;
    if (rank < 2 || parts < 1 || parts > 2)
        return call_invalid(call, "the last dimension of the input is neither 1 nor 2");
    if (dft_axis(call, rank, &d->axis))
        return -1;
    d->n = d->x->shape.dims[d->axis];
    if (call_input(call, 1) && call_int_single(call, 1, &d->n))
        return -1;
    if (d->n < 1)
        return call_invalid(call, "a transform of length %" PRId64, d->n);
    d->inverse = call_int(call, "inverse", 0) != 0;
    d->onesided = call_int(call, "onesided", 0) != 0;
    if (d->onesided && parts == 2 && !d->inverse)
        return call_invalid(call, "complex numbers have no onesided transform");
    if (d->onesided && d->inverse)
        return call_unsupported(call, "the inverse of a onesided transform");
    d->shape = d->x->shape;
    d->shape.dims[d->axis] = d->onesided ? d->n / 2 + 1 : d->n;
    d->shape.dims[rank - 1] = 2;
    return 0;
}

static int eval_dft(struct op_call *call)
{
    struct dft d = {0};
    struct turns t;
    if (take_dft(call, &d))
        return -1;
    struct bounded *out = call_output(call, 0, d.x->type, &d.shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    const struct shape *from = &d.x->shape;
    int rank = from->rank;
    size_t parts = (size_t)from->dims[rank - 1], length = (size_t)from->dims[d.axis];
    size_t outer = shape_span(from, 0, d.axis), inner = shape_span(from, d.axis + 1, rank - 1);
    size_t used = length < (size_t)d.n ? length : (size_t)d.n, made = (size_t)d.shape.dims[d.axis];
    if (check_work(call, outer * inner, used + 1, made) || turns_init(&t, (uint64_t)d.n, call->err))
        return -1;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++) {
            struct lane lane = {d.x, (o * length * inner + i) * parts, inner * parts, used, parts};
            transform(out, (o * made * inner + i) * 2, inner * 2, made, &lane, &t, d.inverse);
        }
    turns_release(&t);
    return 0;
}

static int sample_dft(struct draw *d)
{
    bool real = draw_chance(d, 0.5);
    struct shape shape = {3, {draw_between(d, 1, 3), draw_between(d, 1, 20), real ? 1 : 2}};
    if (draw_chance(d, 0.3))
        shape = (struct shape){4, {shape.dims[0], shape.dims[1], draw_between(d, 1, 6), shape.dims[2]}};
    if (d->given)
        return -1;
    draw_data(d, d->type, &shape);
    int axis = (int)draw_between(d, shape.rank > 3 ? 1 : 0, shape.rank - 2);
    int64_t length = draw_between(d, 1, 24), place = draw_chance(d, 0.4) ? axis - shape.rank : axis;
    bool sized = draw_chance(d, 0.4);
    struct shape scalar = {0};
    if (sized)
        draw_int_typed(d, draw_chance(d, 0.3) ? DTYPE_INT32 : DTYPE_INT64, &scalar, &length);
    else if (d->opset >= 20)
        draw_omit(d);
    if (d->opset >= 20)
        draw_int_typed(d, DTYPE_INT64, &scalar, &place);
    else
        draw_int(d, "axis", place);
    if (draw_chance(d, 0.4))
        draw_int(d, "inverse", 1);
    else if (real && draw_chance(d, 0.5))
        draw_int(d, "onesided", 1);
    return 0;
}

/* ---- STFT ---- */

struct stft {
    const struct bounded *x, *window;
    int64_t step, length, frames;
    bool onesided;
};

static int take_stft(struct op_call *call, struct stft *s)
{
    s->x = call_need(call, 0);
    s->window = call_input(call, 2);
    if (!s->x || call_int_single(call, 1, &s->step))
        return -1;
    const struct shape *x = &s->x->shape;
    if (x->rank != 3 || x->dims[2] < 1 || x->dims[2] > 2)
        return call_invalid(call, "the signal is not [batch, length, 1 or 2]");
    if (s->window && (s->window->shape.rank != 1 || s->window->type != s->x->type))
        return call_invalid(call, "the window is no vector of the signal's type");
    s->length = s->window ? s->window->shape.dims[0] : 0;
    if (call_input(call, 3) && call_int_single(call, 3, &s->length))
        return -1;
    if (!s->window && !call_input(call, 3))
        return call_invalid(call, "neither window nor frame_length is given");
    if (s->window && s->length != s->window->shape.dims[0])
        return call_unsupported(call, "a window of another length than frame_length");
    if (s->step < 1 || s->length < 1 || s->length > x->dims[1])
        return call_invalid(call, "frames of %" PRId64 " every %" PRId64 " of %" PRId64, s->length, s->step,
                            x->dims[1]);
    s->onesided = call_int(call, "onesided", 1) != 0;
    if (s->onesided && x->dims[2] == 2)
        return call_invalid(call, "complex numbers have no onesided transform");
    s->frames = (x->dims[1] - s->length) / s->step + 1;
    return 0;
}

/* The frame that starts at `at`, times the window. */
static void cut_frame(const struct stft *s, size_t at, struct bounded *frame)
{
    size_t parts = (size_t)s->x->shape.dims[2];
    double u = unit_of(s->x->type);
    for (size_t i = 0; i < frame->count; i++) {
        struct number x = number_of(s->x, at + i);
        number_put(frame, i, s->window ? number_mul(x, number_of(s->window, i / parts), u) : x);
    }
}

static int eval_stft(struct op_call *call)
{
    struct stft s = {0};
    struct turns t;
    struct bounded frame;
    if (take_stft(call, &s))
        return -1;
    int64_t bins = s.onesided ? s.length / 2 + 1 : s.length;
    struct shape shape = {4, {s.x->shape.dims[0], s.frames, bins, 2}};
    struct bounded *out = call_output(call, 0, s.x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    size_t parts = (size_t)s.x->shape.dims[2], signal = (size_t)s.x->shape.dims[1] * parts;
    size_t frames = (size_t)s.frames, batch = (size_t)shape.dims[0];
    bounded_init(&frame);
    if (check_work(call, frames * batch, (uint64_t)s.length, (uint64_t)bins) ||
        bounded_alloc(&frame, s.x->type, &(struct shape){2, {s.length, (int64_t)parts}}, false, call->err))
        return -1;
    int result = turns_init(&t, (uint64_t)s.length, call->err);
    for (size_t i = 0; !result && i < batch * frames; i++) {
        cut_frame(&s, i / frames * signal + i % frames * (size_t)s.step * parts, &frame);
        struct lane lane = {&frame, 0, parts, (size_t)s.length, parts};
        transform(out, i * (size_t)bins * 2, 2, (size_t)bins, &lane, &t, false);
    }
    turns_release(&t);
    bounded_release(&frame);
    return result;
}

static int sample_stft(struct draw *d)
{
    bool real = draw_chance(d, 0.7), window = draw_chance(d, 0.6);
    struct shape shape = {3, {draw_between(d, 1, 3), draw_between(d, 4, 40), real ? 1 : 2}}, scalar = {0};
    int64_t length = draw_between(d, 2, shape.dims[1]), step = draw_between(d, 1, 8);
    if (d->given)
        return -1;
    enum dtype type = draw_chance(d, 0.3) ? DTYPE_INT32 : DTYPE_INT64;
    draw_data(d, d->type, &shape);
    draw_int_typed(d, type, &scalar, &step);
    if (window)
        draw_range(d, d->type, &(struct shape){1, {length}}, 0, 1);
    else
        draw_omit(d);
    if (!window || draw_chance(d, 0.5))
        draw_int_typed(d, type, &scalar, &length);
    /* Always given: by the text it is 1 by default, but libonnx infers shapes as if it were 0. */
    draw_int(d, "onesided", real && draw_chance(d, 0.7));
    return 0;
}

/* ---- MelWeightMatrix ---- */

struct mel {
    int64_t bins, length, rate;
    long double low, high; /* in hertz */
};

static int mel_edge(struct op_call *call, size_t index, long double *value)
{
    const struct bounded *edge = call_need(call, index);
    if (!edge)
        return -1;
    if (edge->count != 1)
        return call_invalid(call, "input %zu is not one number", index);
    if (!edge->value)
        return call_unsupported(call, "the result depends on data (input %zu)", index);
    if (bounded_hard(edge, 0) > 0)
        return call_unsupported(call, "an edge is not exact");
    *value = edge->value[0];
    return 0;
}

/* The place of edge i of the triangles among the bins of the spectrum, before it is rounded down. */
static long double mel_place(const struct mel *m, int64_t i)
{
    long double low = 2595 * log10l(1 + m->low / 700), high = 2595 * log10l(1 + m->high / 700);
    long double at = low + (high - low) * (long double)i / (long double)(m->bins + 2);
    return (long double)(m->length + 1) * 700 * (powl(10, at / 2595) - 1) / (long double)m->rate;
}

/*
 * The bin of an edge; false when rounding decides. The logarithms lie below 30,000 and are computed in
 * float32 at least, where the few roundings on the way change the power by less than 64 units of its size.
 */
static bool mel_bin(const struct mel *m, int64_t i, int64_t *bin)
{
    long double place = mel_place(m, i);
    long double slack =
        64 * unit_of(DTYPE_FLOAT) * (place + (long double)(m->length + 1) * 700 / (long double)m->rate);
    *bin = (int64_t)floorl(place);
    return floorl(place - slack) == floorl(place + slack) || (place == 0 && i == 0);
}

static void mel_set(struct bounded *out, int64_t row, size_t column, long double value)
{
    if (row >= 0 && row < out->shape.dims[0])
        bounded_put(out, (size_t)(row * out->shape.dims[1]) + column, value, 0, 0);
}

/* One triangle: up from the first edge to the second, down to the third. */
static void mel_column(struct bounded *out, size_t column, const int64_t edge[3])
{
    if (edge[1] == edge[0])
        mel_set(out, edge[1], column, 1);
    for (int64_t j = edge[0]; edge[1] > edge[0] && j <= edge[1]; j++)
        mel_set(out, j, column, (long double)(j - edge[0]) / (long double)(edge[1] - edge[0]));
    for (int64_t j = edge[1]; j < edge[2]; j++)
        mel_set(out, j, column, (long double)(edge[2] - j) / (long double)(edge[2] - edge[1]));
}

static int take_mel(struct op_call *call, struct mel *m)
{
    if (call_int_single(call, 0, &m->bins) || call_int_single(call, 1, &m->length) ||
        call_int_single(call, 2, &m->rate))
        return -1;
    const int64_t most = (int64_t)BOUNDED_LIMIT;
    if (m->bins < 0 || m->length < 0 || m->rate < 1)
        return call_invalid(call, "a number of bins, a length or a rate is negative");
    if (m->bins > most || m->length > most)
        return call_unsupported(call, "more bins than the reference computes");
    return 0;
}

static int eval_mel(struct op_call *call)
{
    struct mel m = {0};
    enum dtype type = DTYPE_NONE;
    if (take_mel(call, &m) || output_type(call, DTYPES_NUMBER, &type))
        return -1;
    struct shape shape = {2, {m.length / 2 + 1, m.bins}};
    struct bounded *out = call_output(call, 0, type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    if (mel_edge(call, 3, &m.low) || mel_edge(call, 4, &m.high))
        return -1;
    if (!(m.low >= 0 && m.high >= m.low && m.high <= (long double)m.rate))
        return call_unsupported(call, "edges from %Lg to %Lg", m.low, m.high);
    if (!dtype_is_float(type))
        return call_unsupported(call, "%s as the output's type", dtype_name(type));
    for (int64_t i = 0; i < m.bins; i++) {
        int64_t edge[3];
        bool sure = true;
        for (int k = 0; k < 3; k++)
            sure &= mel_bin(&m, i + k, &edge[k]);
        mel_column(out, (size_t)i, edge);
        for (int64_t j = 0; !sure && j < shape.dims[0]; j++)
            bounded_put_undecided(out, (size_t)(j * m.bins + i), 0);
    }
    return 0;
}

static int sample_mel(struct draw *d)
{
    struct shape scalar = {0};
    int64_t bins = draw_between(d, 1, 8), length = 8 * draw_between(d, 1, 16),
            rate = 1000 * draw_between(d, 4, 20);
    draw_int_typed(d, d->type, &scalar, &bins);
    draw_int_typed(d, d->type, &scalar, &length);
    draw_int_typed(d, d->type, &scalar, &rate);
    draw_scalar(d, DTYPE_FLOAT, (double)draw_between(d, 0, rate / 8));
    draw_scalar(d, DTYPE_FLOAT, (double)draw_between(d, rate / 4, rate / 2));
    if (draw_chance(d, 0.3))
        draw_int(d, "output_datatype", DTYPE_FLOAT);
    return 0;
}

static const struct op_param window_params[] = {
    {"output_datatype", PARAM_INT, .legal = "1", .illegal = "8|99", .initial = "1"},
    {"periodic", PARAM_INT, .legal = "0|1", .initial = "1"},
    {"size", PARAM_INPUT, .input = 0, .legal = "1..20", .illegal = "-1"},
    {0}};
static const struct op_param dft_params[] = {
    {"axis", PARAM_INT, .since = 17, .until = 19, .legal = "0|1|-2", .illegal = "99|-99|-1", .initial = "1"},
    {"inverse", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"onesided", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"dft_length", PARAM_INPUT, .input = 1, .legal = "1..20", .illegal = "-1|0", .initial = ""},
    {"axis", PARAM_INPUT, .input = 2, .since = 20, .legal = "0|1|-2", .illegal = "99|-99|-1",
     .initial = "-2"},
    {0}};
static const struct op_param stft_params[] = {
    {"onesided", PARAM_INT, .legal = "0|1", .initial = "1"},
    {"frame_step", PARAM_INPUT, .input = 1, .legal = "1..4", .illegal = "-1|0"},
    {"frame_length", PARAM_INPUT, .input = 3, .legal = "2..4", .illegal = "-1|0|1000000"},
    {0}};
static const struct op_param mel_params[] = {
    {"output_datatype", PARAM_INT, .legal = "1", .illegal = "8|99", .initial = "1"},
    {"num_mel_bins", PARAM_INPUT, .input = 0, .legal = "1..8", .illegal = "-1"},
    {0}};

enum {
    COUNTS = 1 << DTYPE_INT32 | 1 << DTYPE_INT64,
};

/* Members that the rows have in common. */
#define CREATES                                                                                             \
    .flags = OP_ON_REQUEST, .outputs = {1, 1}, .ranks = {0, 0}, .types = {{17, COUNTS}}, .data = DATA_NONE, \
    .range = {RANGE_FIXED, .gives = {0, 1}}, .factors = {FACTORS_NONE}, .result = RESULT_OTHER,             \
    .work = WORK_CREATES, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}
#define TRANSFORMS                                                                                 \
    .flags = OP_ON_REQUEST, .outputs = {1, 1}, .types = {{17, DTYPES_FLOAT}}, .data = DATA_FIRST,  \
    .range = {RANGE_DOT}, .result = RESULT_TYPE, .work = WORK_PRODUCTS, .slope = SLOPE_EVERYWHERE, \
    .dangers = {{DANGER_NONE}}

const struct op ops_signal[] = {
    {OP("BlackmanWindow", 17), CREATES, .inputs = {1, 1}, .params = window_params, .eval = eval_blackman,
     .sample = sample_window, .open = "a symmetric window of one element"},
    {OP("DFT", 17), TRANSFORMS, .inputs = {1, 3}, .ranks = {3, 4}, .params = dft_params, .eval = eval_dft,
     .sample = sample_dft, .factors = {FACTORS_PRODUCT, .powers = {1}}},
    {OP("HammingWindow", 17), CREATES, .inputs = {1, 1}, .params = window_params, .eval = eval_hamming,
     .sample = sample_window, .open = "a symmetric window of one element"},
    {OP("HannWindow", 17), CREATES, .inputs = {1, 1}, .params = window_params, .eval = eval_hann,
     .sample = sample_window, .open = "a symmetric window of one element"},
    {OP("MelWeightMatrix", 17), CREATES, .inputs = {5, 5}, .params = mel_params, .eval = eval_mel,
     .sample = sample_mel},
    {OP("STFT", 17), TRANSFORMS, .inputs = {2, 4}, .ranks = {3, 3}, .params = stft_params, .eval = eval_stft,
     .sample = sample_stft, .factors = {FACTORS_PRODUCT, .powers = {1, 0, 1}}},
    {0},
};
