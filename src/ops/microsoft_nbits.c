/*
 * com.microsoft: MatMulNBits, the product with weights of 2, 4 or 8 bits that share a scale and a zero point
 * in blocks (docs/bounds/microsoft.md derives the bounds).
 */
#include "bounds/number.h"
#include "bounds/steps.h"
#include "ops/draw.h"
#include "ops/inner.h"
#include "ops/matmul.h"

#include <inttypes.h>
#include <math.h>

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

struct nbits {
    const struct bounded *a, *b, *scales, *zeros, *bias;
    int64_t k, n, bits, block, blocks, level;
};

static int take_nbits(struct op_call *call, struct nbits *w)
{
    w->a = call_need(call, A);
    w->b = call_need(call, B);
    w->scales = call_need(call, SCALES);
    w->zeros = call_input(call, ZEROS);
    w->bias = call_input(call, BIAS);
    w->k = call_int(call, "K", 0);
    w->n = call_int(call, "N", 0);
    w->bits = call_int(call, "bits", 4);
    w->block = call_int(call, "block_size", 0);
    w->level = call_int(call, "accuracy_level", 0);
    if (!w->a || !w->b || !w->scales)
        return -1;
    if (call_input(call, GROUPS) || call_int(call, "weight_prepacked", 0))
        return call_unsupported(call, "g_idx and prepacked weights are not supported");
    if ((w->bits != 2 && w->bits != 4 && w->bits != 8) || w->block < 16 || (w->block & (w->block - 1)) ||
        w->k < 1 || w->n < 1 || w->k > (1 << 24) || w->n > (1 << 24) || w->block > (1 << 24))
        return call_invalid(call, "bits, block_size, K or N is none that it has");
    w->blocks = (w->k + w->block - 1) / w->block;
    size_t packed = (size_t)(w->n * w->blocks * (w->block * w->bits / 8));
    if (w->b->type != DTYPE_UINT8 || w->b->count != packed || w->scales->type != w->a->type ||
        w->scales->count != (size_t)(w->n * w->blocks) || w->a->shape.rank < 1 ||
        w->a->shape.dims[w->a->shape.rank - 1] != w->k)
        return call_invalid(call, "B, scales and A do not fit together");
    size_t bytes = (size_t)(w->n * ((w->blocks * w->bits + 7) / 8));
    if (w->zeros && w->zeros->count != (w->zeros->type == DTYPE_UINT8 ? bytes : w->scales->count))
        return call_invalid(call, "zero_points have another size");
    if (w->bias && (w->bias->count != (size_t)w->n || w->bias->type != w->a->type))
        return call_invalid(call, "bias has another size");
    return 0;
}

/* Element `at` of a row of packed ones, which begins at a byte. */
static struct number unpacked(const struct bounded *from, size_t start, int64_t bits, int64_t at)
{
    size_t byte = start + (size_t)(at * bits / 8);
    if (bounded_hard(from, byte) > 0)
        return (struct number){0, INFINITY, 0};
    unsigned value = (unsigned)from->value[byte] >> (unsigned)(at * bits % 8);
    return number_exact((long double)(value & ((1U << (unsigned)bits) - 1)));
}

static struct number zero_of(const struct nbits *w, int64_t row, int64_t block)
{
    if (!w->zeros)
        return number_exact((long double)(1 << (w->bits - 1)));
    if (w->zeros->type != DTYPE_UINT8)
        return number_of(w->zeros, (size_t)(row * w->blocks + block));
    return unpacked(w->zeros, (size_t)(row * ((w->blocks * w->bits + 7) / 8)), w->bits, block);
}

/*
 * One weight. An engine may sum up a q and a zero apart from each other, before the scale is multiplied in:
 * the roundings of all K terms are of numbers as large as |q| + |zero|, times the scale.
 */
static struct number weight_of(const struct nbits *w, int64_t row, int64_t at, long double u)
{
    int64_t block = at / w->block;
    size_t start = (size_t)((row * w->blocks + block) * (w->block * w->bits / 8));
    struct number q = unpacked(w->b, start, w->bits, at % w->block), zero = zero_of(w, row, block),
                  scale = number_of(w->scales, (size_t)(row * w->blocks + block));
    struct number weight = number_mul(number_sub(q, zero, 0), scale, 0);
    long double size = (number_most(q) + number_most(zero)) * number_most(scale);
    return number_loosen(weight, (long double)(w->k + 4) * u * size, 2 * u * size);
}

/* The weights as a matrix [K, N]. */
static int dequantize(struct op_call *call, const struct nbits *w, struct bounded *out)
{
    struct shape shape = {2, {w->k, w->n}};
    long double u = unit_of(w->a->type);
    bounded_init(out);
    if (bounded_alloc(out, w->a->type, &shape, call->shapes_only, call->err))
        return -1;
    for (int64_t i = 0; !call->shapes_only && i < w->k; i++)
        for (int64_t j = 0; j < w->n; j++) {
            struct number x = weight_of(w, j, i, u);
            bounded_set(out, (size_t)(i * w->n + j), isfinite(x.v) ? x.v : 0,
                        isfinite(x.v) ? (double)x.h : INFINITY, isfinite(x.v) ? (double)x.l : 0);
        }
    return 0;
}

/* How much of an element of A is lost at an accuracy level: rounded to a half or a bfloat16, or to one of 255
 * steps of the largest of its block. */
static int blur(struct op_call *call, const struct nbits *w, struct bounded *out)
{
    static const double units[] = {0, 0, 0x1p-11, 0x1p-8};
    if (w->level == 4)
        return bounded_in_steps(out, w->a, (size_t)w->k, (size_t)w->block, call->err);
    if (bounded_copy(out, w->a, call->err))
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++) {
        long double lost = units[w->level] * (fabsl(out->value[i]) + bounded_hard(out, i));
        /* A half overflows. */
        bool strays =
            !isfinite(lost) || !isfinite(out->value[i]) || (w->level == 2 && fabsl(out->value[i]) > 65000);
        if (strays)
            bounded_put_undecided(out, i, 0);
        else
            bounded_set(out, i, out->value[i],
                        (double)(bounded_hard(out, i) + lost * 1.001L + 0x1p-24L * (w->level == 2)),
                        (double)likely_add(bounded_likely(out, i), lost / 3));
    }
    return 0;
}

static int multiply(struct op_call *call, const struct nbits *w, const struct bounded *a,
                    const struct bounded *weights)
{
    struct bounded product;
    const struct bounded *in[2] = {a, weights};
    struct inner step;
    if (!w->bias)
        return matmul_scaled(call, a, weights, 1);
    inner_begin(&step, call, "MatMul");
    int result = inner_step(&step, in, 2, &product);
    in[0] = &product;
    in[1] = w->bias;
    if (!result) {
        inner_begin(&step, call, "Add");
        result = inner_last(&step, in, 2);
    }
    bounded_release(&product);
    return result;
}

static int eval_nbits(struct op_call *call)
{
    struct nbits w = {0};
    struct bounded weights, blurred;
    bounded_init(&weights);
    bounded_init(&blurred);
    if (take_nbits(call, &w))
        return -1;
    if (w.level < 0 || w.level > 4)
        return call_invalid(call, "accuracy_level %" PRId64 " is none of 0 to 4", w.level);
    int result = dequantize(call, &w, &weights);
    bool coarse = w.level > 1 && !call->shapes_only;
    if (!result && coarse)
        result = blur(call, &w, &blurred);
    if (!result)
        result = multiply(call, &w, coarse ? &blurred : w.a, &weights);
    bounded_release(&weights);
    bounded_release(&blurred);
    return result;
}

/* Weights are constants, the text says. */
static void draw_weights(struct draw *d, enum dtype type, const struct shape *shape, double low, double high)
{
    draw_range(d, type, shape, low, high);
    struct drawn *drawn = &d->inputs[d->n_inputs - 1];
    drawn->constant |= drawn->source == DRAWN_NEW;
}

/* A new one has whole blocks most of the time. */
static struct drawn draw_left(struct draw *d, int64_t block)
{
    int rank = d->rank ? d->rank - 1 : (int)draw_between(d, 2, 3);
    struct shape shape = draw_shape(d, rank, rank);
    if (d->given || draw_chance(d, 0.3))
        return draw_primary(d);
    shape.dims[rank - 1] = block * draw_between(d, 1, 2);
    draw_data(d, d->type, &shape);
    return d->inputs[0];
}

static int sample_nbits(struct draw *d)
{
    int64_t block = 16 << draw_between(d, 0, 2);
    struct drawn a = draw_left(d, block);
    int rank = a.shape.rank;
    if (rank < 2 || shape_span(&a.shape, 0, rank) == 0)
        return -1;
    int64_t k = a.shape.dims[rank - 1], n = draw_dim(d), bits = draw_chance(d, 0.6) ? 4 : 8;
    int64_t blocks = (k + block - 1) / block;
    struct shape weights = {3, {n, blocks, block * bits / 8}}, scales = {2, {n, blocks}};
    struct shape zeros = {2, {n, (blocks * bits + 7) / 8}};
    draw_weights(d, DTYPE_UINT8, &weights, 0, 255);
    draw_weights(d, a.type, &scales, 0.01, 0.5);
    bool bias = draw_chance(d, 0.3);
    if (draw_chance(d, 0.5))
        draw_weights(d, DTYPE_UINT8, &zeros, 0, 255);
    else if (bias)
        draw_omit(d);
    struct shape each = {1, {n}};
    if (bias) {
        draw_omit(d);
        draw_weights(d, a.type, &each, -4, 4);
    }
    draw_int(d, "K", k);
    draw_int(d, "N", n);
    draw_int(d, "bits", bits);
    draw_int(d, "block_size", block);
    if (draw_chance(d, 0.4))
        draw_int(d, "accuracy_level", draw_between(d, 0, 4));
    return 0;
}

static const struct op_param nbits_params[] = {
    {"K", PARAM_INT, .illegal = "0|-1"},
    {"N", PARAM_INT, .illegal = "0|-1"},
    {"accuracy_level", PARAM_INT, .legal = "0|1|4", .initial = "0"},
    {"bits", PARAM_INT, .legal = "4|8", .initial = "4"},
    {"block_size", PARAM_INT, .legal = "16|32|64"},
    {"weight_prepacked", PARAM_INT, .legal = "0", .initial = "0"},
    {0},
};
static const struct op_param nbits_extras[] = {
    {"zero_points", PARAM_INPUT, .input = ZEROS},
    {"bias", PARAM_INPUT, .input = BIAS},
    {0},
};

enum { TYPES = 1 << DTYPE_FLOAT | 1 << DTYPE_FLOAT16 };

const struct op ops_microsoft_nbits[] = {
    {OP_MICROSOFT("MatMulNBits"), .inputs = {3, 6}, .outputs = {1, 1}, .ranks = {2, 4}, .types = {{1, TYPES}},
     .params = nbits_params, .extras = nbits_extras, .eval = eval_nbits, .sample = sample_nbits,
     .data = DATA_FIRST, .range = {RANGE_DOT}, .factors = {FACTORS_NONE}, .result = RESULT_TYPE,
     .work = WORK_PRODUCTS, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
