/* Det: determinants. Bounds: docs/bounds/signal.md. */
#include "bounds/number.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The most steps of elimination that one node does: about a second. */
enum { WORK_LIMIT = 1 << 27 };

/* Brings the row with the largest element of column k to place k; false when they are all 0. */
static bool pivot(long double *m, size_t n, size_t k, long double *sign)
{
    size_t best = k;
    for (size_t i = k + 1; i < n; i++)
        best = fabsl(m[i * n + k]) > fabsl(m[best * n + k]) ? i : best;
    if (m[best * n + k] == 0)
        return false;
    for (size_t j = 0; best != k && j < n; j++) {
        long double other = m[k * n + j];
        m[k * n + j] = m[best * n + j];
        m[best * n + j] = other;
    }
    *sign *= best != k ? -1 : 1;
    return true;
}

/* Elimination in long double; destroys m. *most: the largest element met on the way. */
static long double determinant(long double *m, size_t n, long double *most)
{
    long double value = 1;
    for (size_t k = 0; k < n; k++) {
        if (!pivot(m, n, k, &value))
            return 0;
        value *= m[k * n + k];
        for (size_t i = k + 1; i < n; i++) {
            long double factor = m[i * n + k] / m[k * n + k];
            for (size_t j = k; j < n; j++) {
                m[i * n + j] -= factor * m[k * n + j];
                *most = fmaxl(*most, fabsl(m[i * n + j]));
            }
        }
    }
    return value;
}

/*
 * How far the determinant of A + E is from that of A, when no element of E is larger than `each` but for the
 * bound of A's own: the product of the lengths of rows, each made longer, less the product itself (Hadamard).
 */
static long double reach(const struct bounded *x, size_t at, size_t n, long double each)
{
    long double grown = 1, plain = 1;
    for (size_t i = 0; i < n; i++) {
        long double size = 0, off = 0;
        for (size_t j = 0; j < n; j++) {
            size_t k = at + i * n + j;
            long double more = bounded_hard(x, k);
            size += x->value[k] * x->value[k];
            off += more * more;
        }
        plain *= sqrtl(size);
        grown *= sqrtl(size) + sqrtl(off) + sqrtl((long double)n) * each;
    }
    return grown - plain;
}

/* The square of the length of row i, with the deviations of its elements or without. */
static long double row_square(const struct bounded *x, size_t at, size_t n, size_t i, bool deviations)
{
    long double square = 0;
    for (size_t k = at + i * n; k < at + (i + 1) * n; k++) {
        long double v = deviations ? (long double)bounded_likely(x, k) : x->value[k];
        square += v * v;
    }
    return square;
}

/*
 * The deviation of the determinant when each element has an independent error, of its own deviation and of
 * `each`: to first order the sum of the errors times their cofactors. Those of a row are as long as the
 * volume of the other rows, at most the product of their lengths.
 */
static long double deviation(const struct bounded *x, size_t at, size_t n, long double each)
{
    long double variance = 0;
    for (size_t i = 0; i < n; i++) {
        long double others = 1;
        for (size_t k = 0; k < n; k++)
            others *= k == i ? 1 : row_square(x, at, n, k, false);
        variance += (row_square(x, at, n, i, true) + each * each) * others;
    }
    return sqrtl(variance);
}

static void put_determinant(struct bounded *out, size_t at, const struct bounded *x, size_t n,
                            long double *scratch)
{
    long double largest = 0, u = unit_of(out->type), length = (long double)n;
    bool strange = false;
    for (size_t i = 0; i < n * n; i++) {
        struct number v = number_of(x, at * n * n + i);
        strange |= !isfinite(v.v) || !isfinite(v.h);
        largest = fmaxl(largest, number_most(v));
        scratch[i] = v.v;
    }
    long double met = largest, value = strange ? 0 : determinant(scratch, n, &met);
    /* Elements grow to at most 2^(n-1) of the largest one on the way. */
    long double grown = ldexpl(largest, n < 512 ? (int)n - 1 : 511), tiny = dtype_precision(out->type).tiny;
    long double lost = 3 * length * grown * u + length * tiny;
    long double hard = reach(x, at * n * n, n, lost);
    long double likely = likely_add(deviation(x, at * n * n, n, sqrtl(length) * met * u),
                                    sqrtl(length / 3) * u * fabsl(value));
    hard += (length + 1) * u * (fabsl(value) + hard) + tiny * powl(fmaxl(1, grown), length);
    /* Products of some of the pivots may be larger or smaller than that of all. */
    bool strays = !(powl(fmaxl(1, largest * length), length) < dtype_highest(out->type));
    if (strange || strays)
        bounded_put_undecided(out, at, 0);
    else
        bounded_put(out, at, value, n == 1 ? bounded_hard(x, at) : hard,
                    n == 1 ? bounded_likely(x, at) : fminl(likely, hard));
}

static int eval_det(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    struct shape shape = x->shape;
    if (shape.rank < 2 || shape.dims[shape.rank - 1] != shape.dims[shape.rank - 2])
        return call_invalid(call, "the input holds no square matrices");
    shape.rank -= 2;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    size_t n = (size_t)x->shape.dims[shape.rank];
    if ((long double)x->count * (long double)n > WORK_LIMIT)
        return error_set(call->err, ERROR_LIMIT, "Det: more steps than the reference does");
    long double *scratch = calloc(n ? n * n : 1, sizeof *scratch);
    if (!scratch)
        return error_set(call->err, ERROR_MEMORY, "no memory for a matrix of %zu", n);
    for (size_t i = 0; i < out->count; i++)
        put_determinant(out, i, x, n, scratch);
    free(scratch);
    return 0;
}

static int sample_det(struct draw *d)
{
    int64_t n = draw_between(d, 1, 5);
    struct shape shape = {2, {n, n}};
    if (d->rank ? d->rank - 1 > 2 : draw_chance(d, 0.5))
        shape = (struct shape){3, {draw_between(d, 1, 3), n, n}};
    if (d->given)
        return -1;
    draw_data(d, d->type, &shape);
    return 0;
}

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

const struct op ops_det[] = {
    {OP("Det", 11), .flags = OP_ON_REQUEST, .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {2, 3},
     .types = {{11, BASE}, {22, DTYPES_FLOAT}}, .eval = eval_det, .sample = sample_det, .data = DATA_FIRST,
     .range = {RANGE_PRODUCT}, .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
