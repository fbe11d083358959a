/* Normalisations: the ways to compute a variance, and the ways to apply it. */
#include "adversary.h"

#include <math.h>

enum { MOST = 512 };

/* A variant is a way of statistics and a form of the result. */
enum { TWO_PASSES, ONE_PASS, RUNNING, MERGED, SHIFTED, WAYS };
enum { PLAIN, FOLDED, FOLDED_FUSED, SCALED_FIRST, DIVIDED, FORMS };

static const float epsilon = 1e-5f;

struct moments {
    double mean, variance;
};

static struct moments running(struct machine m, const double *x, size_t count)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = sub(m, x[i], mean);
        mean = add(m, mean, quotient(m, d, (double)(i + 1)));
        sum = add(m, sum, mul(m, d, sub(m, x[i], mean)));
    }
    return (struct moments){mean, sum};
}

/* Four running ones over interleaved elements, merged as Chan, Golub and LeVeque do. */
static struct moments merged(struct machine m, const double *x, size_t count)
{
    double lane[MOST], have = 0;
    struct moments all = {0, 0};
    for (size_t l = 0; l < 4; l++) {
        size_t n = 0;
        for (size_t i = l; i < count; i += 4)
            lane[n++] = x[i];
        if (n == 0)
            continue;
        struct moments part = running(m, lane, n);
        double size = (double)n, d = sub(m, part.mean, all.mean), share = quotient(m, size, have + size);
        all.variance = add(m, add(m, all.variance, part.variance), mul(m, mul(m, mul(m, d, d), have), share));
        all.mean = add(m, all.mean, mul(m, d, share));
        have += size;
    }
    return all;
}

static struct moments moments_of(struct machine m, int way, const double *x, size_t count)
{
    double n = (double)count, terms[MOST] = {0}, shift = way == SHIFTED ? x[0] : 0;
    struct moments s = {0, 0};
    if (way == RUNNING || way == MERGED) {
        s = way == RUNNING ? running(m, x, count) : merged(m, x, count);
        s.variance = quotient(m, s.variance, n);
        return s;
    }
    for (size_t i = 0; i < count; i++)
        terms[i] = sub(m, x[i], shift);
    s.mean = quotient(m, total(m, FORWARD, terms, count), n);
    if (way == TWO_PASSES) {
        for (size_t i = 0; i < count; i++)
            terms[i] = sub(m, x[i], s.mean);
        s.variance = quotient(m, inner(m, FORWARD, false, terms, 1, terms, 1, count), n);
        return s;
    }
    double squares = quotient(m, inner(m, FORWARD, true, terms, 1, terms, 1, count), n);
    s.variance = fmax(0, sub(m, squares, mul(m, s.mean, s.mean)));
    s.mean = add(m, s.mean, shift);
    return s;
}

/* scale (x - mean) / sqrt(variance + epsilon) + bias. */
static double apply(struct machine m, int form, double x, struct moments s, double scale, double bias)
{
    double deviation = root(m, add(m, s.variance, rounded(m, (double)epsilon))),
           inverse = quotient(m, 1, deviation);
    double a = mul(m, scale, inverse);
    switch (form) {
    case FOLDED:
        return add(m, mul(m, x, a), sub(m, bias, mul(m, s.mean, a)));
    case FOLDED_FUSED:
        return fused(m, x, a, fused(m, -s.mean, a, bias));
    case SCALED_FIRST:
        return add(m, mul(m, mul(m, sub(m, x, s.mean), scale), inverse), bias);
    case DIVIDED:
        return fused(m, scale, quotient(m, sub(m, x, s.mean), deviation), bias);
    default:
        return add(m, mul(m, mul(m, sub(m, x, s.mean), inverse), scale), bias);
    }
}

/* The elements of a block lie about a mean that may be large against their spread. */
static void block_inputs(struct trial *t)
{
    trial_input(t, 3, (const int64_t[]){1, 1, t->size[0]}, -16, 16);
    trial_input(t, 1, (const int64_t[]){1}, -4, 4);
    trial_input(t, 1, (const int64_t[]){1}, -4, 4);
}

static void layer_inputs(struct trial *t)
{
    trial_input(t, 2, (const int64_t[]){1, t->size[0]}, -16, 16);
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -4, 4);
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -4, 4);
}

static void normalize(const struct trial *t, double *y)
{
    size_t n = t->in[0].count, step = t->in[1].count > 1 ? 1 : 0;
    struct moments s = moments_of(t->machine, t->is->variant / FORMS, t->in[0].at, n);
    for (size_t i = 0; i < n; i++)
        y[i] = apply(t->machine, t->is->variant % FORMS, t->in[0].at[i], s, t->in[1].at[i * step],
                     t->in[2].at[i * step]);
}

/* Given statistics. */
static void given_inputs(struct trial *t)
{
    trial_input(t, 3, (const int64_t[]){1, 1, 4}, -16, 16);
    for (int i = 0; i < 3; i++)
        trial_input(t, 1, (const int64_t[]){1}, -4, 4);
    trial_input(t, 1, (const int64_t[]){1}, 0, 4);
}

static void normalize_given(const struct trial *t, double *y)
{
    struct moments s = {t->in[3].at[0], t->in[4].at[0]};
    for (size_t i = 0; i < t->in[0].count; i++)
        y[i] = apply(t->machine, t->is->variant, t->in[0].at[i], s, t->in[1].at[0], t->in[2].at[0]);
}

/* x / norm, by the norm or by its reciprocal. */
static void norm_input(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -16, 16);
}

static void unit_norm(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    size_t n = t->in[0].count;
    double norm = root(m, inner(m, FORWARD, true, t->in[0].at, 1, t->in[0].at, 1, n)),
           inverse = quotient(m, 1, norm);
    for (size_t i = 0; i < n; i++)
        y[i] = t->is->variant ? mul(m, t->in[0].at[i], inverse) : quotient(m, t->in[0].at[i], norm);
}

/* LRN over three channels: each window summed, or a sum that runs; the power by exp and log or by two roots.
 */
enum { WINDOWS, RUNS, ROOTS };

static void channels_input(struct trial *t)
{
    trial_input(t, 3, (const int64_t[]){1, t->size[0], 1}, -16, 16);
}

static void lrn_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_int(arena, node, "size", 3);
    node_set_float(arena, node, "alpha", 0.5f);
    node_set_float(arena, node, "beta", 0.75f);
    node_set_float(arena, node, "bias", 1);
}

static double lrn_power(struct machine m, int way, double base)
{
    if (way == ROOTS)
        return mul(m, root(m, base), root(m, root(m, base)));
    return library_exp(m, mul(m, 0.75, library_log(m, base)));
}

static void lrn(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    const double *x = t->in[0].at;
    size_t n = t->in[0].count;
    double sum = 0, factor = quotient(m, 0.5, 3), squares[MOST];
    for (size_t i = 0; i < n; i++)
        squares[i] = mul(m, x[i], x[i]);
    sum = t->is->variant == RUNS ? squares[0] : 0;
    for (size_t i = 0; i < n; i++) {
        if (t->is->variant == RUNS) {
            sum = i + 1 < n ? add(m, sum, squares[i + 1]) : sum;
            sum = i > 1 ? sub(m, sum, squares[i - 2]) : sum;
        } else {
            size_t from = i ? i - 1 : 0, to = i + 1 < n ? i + 1 : i;
            sum = total(m, FORWARD, squares + from, to - from + 1);
        }
        y[i] = quotient(m, x[i], lrn_power(m, t->is->variant, add(m, 1, mul(m, factor, sum))));
    }
}

#define BLOCK(what, way, form)                                                                           \
    {                                                                                                    \
        "InstanceNormalization", what, (way)*FORMS + (form), .size = {{1, 40}}, .lay_out = block_inputs, \
                                                             .compute = normalize                        \
    }
#define LAYER(what, way, form)                                                                        \
    {                                                                                                 \
        "LayerNormalization", what, (way)*FORMS + (form), .size = {{1, 24}}, .lay_out = layer_inputs, \
                                                          .compute = normalize                        \
    }
#define GIVEN(what, form)                                                                     \
    {                                                                                         \
        "BatchNormalization", what, form, .lay_out = given_inputs, .compute = normalize_given \
    }

const struct implementation statistics[] = {
    BLOCK("two passes", TWO_PASSES, PLAIN),
    BLOCK("one pass", ONE_PASS, PLAIN),
    BLOCK("one pass, folded, fused", ONE_PASS, FOLDED_FUSED),
    BLOCK("running", RUNNING, FOLDED),
    BLOCK("running, four merged", MERGED, SCALED_FIRST),
    BLOCK("one pass, shifted by the first", SHIFTED, DIVIDED),
    LAYER("two passes", TWO_PASSES, PLAIN),
    LAYER("two passes, divided", TWO_PASSES, DIVIDED),
    LAYER("one pass, folded", ONE_PASS, FOLDED),
    LAYER("one pass, fused", ONE_PASS, FOLDED_FUSED),
    LAYER("running", RUNNING, PLAIN),
    LAYER("running, four merged", MERGED, FOLDED),
    LAYER("one pass, shifted by the first", SHIFTED, SCALED_FIRST),
    GIVEN("plain", PLAIN),
    GIVEN("folded", FOLDED),
    GIVEN("folded, fused", FOLDED_FUSED),
    GIVEN("scaled first", SCALED_FIRST),
    GIVEN("divided, fused", DIVIDED),
    {"LpNormalization", "divided", 0, .size = {{1, 32}}, .lay_out = norm_input, .compute = unit_norm},
    {"LpNormalization", "times the reciprocal", 1, .size = {{1, 32}}, .lay_out = norm_input,
     .compute = unit_norm},
    {"LRN", "windows, pow by exp and log", WINDOWS, .size = {{1, 10}}, .lay_out = channels_input,
     .attributes = lrn_attributes, .compute = lrn},
    {"LRN", "a sum that runs", RUNS, .size = {{1, 10}}, .lay_out = channels_input,
     .attributes = lrn_attributes, .compute = lrn},
    {"LRN", "two roots", ROOTS, .size = {{1, 10}}, .lay_out = channels_input, .attributes = lrn_attributes,
     .compute = lrn},
    {0},
};
