/* Functions of two elements, comparisons and casts. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096 };

struct binary {
    const char *name;
    void (*value)(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole);
    const char *attribute; /* an int that is set to 1 */
    dtype_set types;       /* 0: all that the operator has */
    double low, high;      /* of ordinary arguments */
    bool any_exponent;     /* the second has a type of its own */
};

static void add(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    mpfr_add(z, x, y, MPFR_RNDN);
}

static void sub(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    mpfr_sub(z, x, y, MPFR_RNDN);
}

static void mul(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    mpfr_mul(z, x, y, MPFR_RNDN);
}

/* Integers divide towards zero. */
static void divide(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    mpfr_div(z, x, y, MPFR_RNDN);
    if (whole)
        mpfr_rint(z, z, MPFR_RNDZ);
}

static void remainder_of(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    mpfr_fmod(z, x, y, MPFR_RNDN);
}

/* As in Python: with the sign of the divisor. */
static void modulo(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    mpfr_fmod(z, x, y, MPFR_RNDN);
    if (mpfr_regular_p(z) && (mpfr_sgn(z) < 0) != (mpfr_sgn(y) < 0))
        mpfr_add(z, z, y, MPFR_RNDN);
}

static void power(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    mpfr_pow(z, x, y, MPFR_RNDN);
    if (whole)
        mpfr_rint(z, z, MPFR_RNDZ);
}

static void prelu(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    if (!mpfr_nan_p(x) && mpfr_sgn(x) < 0)
        mpfr_mul(z, x, y, MPFR_RNDN);
    else
        mpfr_set(z, x, MPFR_RNDN);
}

#define COMPARISON(name, predicate)                                      \
    static void name(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole) \
    {                                                                    \
        (void)whole;                                                     \
        mpfr_set_ui(z, predicate(x, y) != 0, MPFR_RNDN);                 \
    }
COMPARISON(equal, mpfr_equal_p)
COMPARISON(greater, mpfr_greater_p)
COMPARISON(greater_or_equal, mpfr_greaterequal_p)
COMPARISON(less, mpfr_less_p)
COMPARISON(less_or_equal, mpfr_lessequal_p)

/* NaN wins. */
static void larger(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    if (mpfr_nan_p(x) || mpfr_nan_p(y))
        mpfr_set_nan(z);
    else
        mpfr_max(z, x, y, MPFR_RNDN);
}

static void smaller(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    (void)whole;
    if (mpfr_nan_p(x) || mpfr_nan_p(y))
        mpfr_set_nan(z);
    else
        mpfr_min(z, x, y, MPFR_RNDN);
}

static void mean(mpfr_t z, mpfr_srcptr x, mpfr_srcptr y, bool whole)
{
    add(z, x, y, whole);
    mpfr_div_ui(z, z, 2, MPFR_RNDN);
}

static const struct binary binaries[] = {
    {"Add", add, .low = -9, .high = 9},
    {"Div", divide, .low = -9, .high = 9},
    {"Equal", equal, .types = DTYPES_NUMBER, .low = -2, .high = 2},
    {"Greater", greater, .low = -2, .high = 2},
    {"GreaterOrEqual", greater_or_equal, .low = -2, .high = 2},
    {"Less", less, .low = -2, .high = 2},
    {"LessOrEqual", less_or_equal, .low = -2, .high = 2},
    {"Max", larger, .low = -9, .high = 9},
    {"Mean", mean, .low = -9, .high = 9},
    {"Min", smaller, .low = -9, .high = 9},
    {"Mod", modulo, .types = DTYPES_INTEGER, .low = -100, .high = 100},
    {"Mod", remainder_of, .attribute = "fmod", .low = -100, .high = 100},
    {"Mul", mul, .low = -9, .high = 9},
    {"Pow", power, .low = -4, .high = 4, .any_exponent = true},
    {"PRelu", prelu, .low = -9, .high = 9},
    {"Sub", sub, .low = -9, .high = 9},
    {"Sum", add, .low = -9, .high = 9},
};

static void check_batch(const struct binary *b, struct tally *tally, enum dtype second, const long double *x,
                        const long double *y, size_t count)
{
    struct arena arena;
    arena_init(&arena);
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    if (b->attribute)
        node_set_int(&arena, &node, b->attribute, 1);
    struct bounded in[2], out;
    const struct bounded *inputs[] = {&in[0], &in[1]};
    struct error err = {0};
    truth_input(&in[0], tally->type, x, count);
    truth_input(&in[1], second, y, count);
    struct op_call call = truth_call(op_find(b->name), &node, 2, inputs, &out, &err);
    bool whole = !dtype_is_float(tally->type);
    mpfr_t p, q, z;
    /* Sums and remainders are exact in this. */
    mpfr_inits(p, q, z, (mpfr_ptr)0);
    if (truth_run(&call)) {
        for (size_t i = 0; i < count; i++) {
            mpfr_set_ld(p, in[0].value[i], MPFR_RNDN);
            mpfr_set_ld(q, in[1].value[i], MPFR_RNDN);
            snprintf(truth_place, sizeof truth_place, "of %.21Lg and %s %.21Lg", in[0].value[i],
                     dtype_name(second), in[1].value[i]);
            if (!isinf(bounded_hard(&out, i)))
                b->value(z, p, q, whole);
            truth_check(tally, &out, i, z);
        }
        bounded_release(&out);
    }
    mpfr_clears(p, q, z, (mpfr_ptr)0);
    bounded_release(&in[0]);
    bounded_release(&in[1]);
    arena_release(&arena);
}

/* All pairs of special numbers, then random ones. */
static void check_binary(const struct binary *b, enum dtype type, enum dtype second, size_t count,
                         struct rng *rng)
{
    enum { SPECIALS = 120 };
    char name[48];
    snprintf(name, sizeof name, "%s%s%s", b->name, second == type ? "" : " by ",
             second == type ? "" : dtype_name(second));
    struct tally *tally = tally_of(name, type);
    long double a[SPECIALS], c[SPECIALS];
    size_t n = points_special(type, a, SPECIALS), m = points_special(second, c, SPECIALS);
    size_t room = n * m + count;
    long double *x = malloc(room * sizeof *x), *y = malloc(room * sizeof *y);
    if (!x || !y)
        abort();
    for (size_t i = 0; i < n * m; i++) {
        x[i] = a[i / m];
        y[i] = c[i % m];
    }
    points_fill(type, x + n * m, count, b->low, b->high, rng);
    points_fill(second, y + n * m, count, b->low, b->high, rng);
    for (size_t i = count; i > 1; i--) { /* so that the specials of both do not meet in order again */
        size_t k = rng_below(rng, i);
        long double t = y[n * m + k];
        y[n * m + k] = y[n * m + i - 1];
        y[n * m + i - 1] = t;
    }
    for (size_t i = 0; i < room; i += BATCH)
        check_batch(b, tally, second, x + i, y + i, room - i < BATCH ? room - i : BATCH);
    free(x);
    free(y);
}

static void check_cast(enum dtype from, enum dtype to, size_t count, struct rng *rng)
{
    char name[48];
    snprintf(name, sizeof name, "Cast from %s", dtype_name(from));
    struct tally *tally = tally_of(name, to);
    long double *points = malloc(count * sizeof *points);
    if (!points)
        abort();
    points_fill(from, points, count, -300, 300, rng);
    struct arena arena;
    arena_init(&arena);
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    node_set_int(&arena, &node, "to", to);
    struct bounded in, out;
    const struct bounded *inputs[] = {&in};
    struct error err = {0};
    truth_input(&in, from, points, count);
    struct op_call call = truth_call(op_find("Cast"), &node, 1, inputs, &out, &err);
    mpfr_t x;
    mpfr_init(x);
    if (truth_run(&call)) {
        for (size_t i = 0; i < count; i++) {
            mpfr_set_ld(x, in.value[i], MPFR_RNDN);
            if (to == DTYPE_BOOL)
                mpfr_set_ui(x, mpfr_zero_p(x) ? 0 : 1, MPFR_RNDN);
            snprintf(truth_place, sizeof truth_place, "of %.21Lg", in.value[i]);
            truth_check(tally, &out, i, x);
        }
        bounded_release(&out);
    }
    mpfr_clear(x);
    bounded_release(&in);
    arena_release(&arena);
    free(points);
}

void check_pairs(size_t count, uint64_t seed, const char *only)
{
    struct rng root = rng_seed(seed);
    for (size_t k = 0; k < sizeof binaries / sizeof *binaries; k++) {
        const struct binary *b = &binaries[k];
        const struct op *op = op_find(b->name);
        if (!op)
            abort();
        if (!strstr(op->name, only))
            continue;
        /* Sums of the largest and the least number are exact, and so are integers. */
        mpfr_set_default_prec(b->value == power ? PRECISION_FUNCTION : 2200);
        struct rng rng = rng_split(&root, 1000 + k);
        dtype_set types = op_types_at(op, 21) & (b->types ? b->types : (dtype_set)DTYPES_NUMBER);
        for (enum dtype type = 1; type < DTYPE_COUNT; type++) {
            if (!dtype_in(type, types))
                continue;
            size_t n = points_share(count, type);
            check_binary(b, type, type, n, &rng);
            for (enum dtype second = 1; b->any_exponent && second < DTYPE_COUNT; second++)
                if (second != type && dtype_in(second, DTYPES_NUMBER))
                    check_binary(b, type, second, n / 16 + 100, &rng);
        }
    }
    struct rng rng = rng_split(&root, 999);
    for (enum dtype from = 1; strstr("Cast", only) && from < DTYPE_COUNT; from++)
        for (enum dtype to = 1; to < DTYPE_COUNT; to++)
            if (dtype_in(from, DTYPES_NUMBER) && dtype_in(to, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)))
                check_cast(from, to, count / 64 + 200, &rng);
}
