/*
 * Gradients of normalisations.
 *
 * With d = x - mean, r = 1/sqrt(variance + epsilon) and t = g scale, of a block of n elements
 *
 *     dx = r t - r S1/n - r^3 d S2/n,   S1 = sum t,   S2 = sum t d.
 *
 * Implementations compute it so, or by the chain through mean and variance, with x - mean or with
 * b x - b mean and sum t x - mean sum t. The last form cancels, so the roundings of its terms are relative to
 * |x| + |mean|; mean and r may be as far off as the kernel's own (normalize.h), whether they were kept or are
 * computed again. The sum of d, which is 0, appears in the chain: there it adds the error of a sum.
 */
#include "ops/normalize.h"

#include "ops/gradient.h"

#include <math.h>
#include <stdlib.h>

/* A normalisation whose statistics are those of blocks of x. */
struct blocks {
    struct op_gradient *g;
    const struct bounded *x, *scale;
    const size_t *scale_at, *bias_at; /* for each element of x; bias_at may be NULL */
    size_t length;                    /* of a block */
    double epsilon, unit;
    enum dtype type; /* in which statistics are computed */
    bool has_x, has_scale, has_bias;
    struct bounded *slope;
    struct centred_sum *scale_sums;
    struct gradient_sums bias_sums;
};

/* x, which is rounded where the statistics have a coarser type. */
static struct number element(const struct blocks *b, size_t i)
{
    struct number x = number_of(b->x, i);
    if (b->unit > bounded_unit(b->x)) {
        long double rounding = b->unit * number_most(x) + dtype_precision(b->type).tiny;
        x = number_loosen(x, rounding, rounding / 2);
    }
    return x;
}

/*
 * Sums of terms g (x - mean) factor, which may be computed as factor (sum g x - mean sum g): the roundings of
 * the sum are relative to |x| + |mean|. Kept as plain numbers, because there is a term for every element.
 */
struct centred_sum {
    long double value, hard, variance;
    long double magnitude, squares; /* of g (|x| + |mean|) factor */
    size_t count;
};

static void add_centred(struct centred_sum *s, struct number g, struct number x, struct number mean,
                        struct number factor)
{
    long double d = x.v - mean.v, shift = x.h + mean.h, width = number_most(factor),
                far = number_most(g) * (number_most(x) + number_most(mean)) * width, term = g.v * d;
    s->value += term * factor.v;
    s->hard += width * (g.h * (fabsl(d) + shift) + fabsl(g.v) * shift) + fabsl(term) * factor.h;
    long double scaled = factor.v * factor.v, spread = x.l * x.l + mean.l * mean.l;
    s->variance += scaled * (g.l * g.l * d * d + g.v * g.v * spread) + term * term * factor.l * factor.l;
    s->magnitude += far;
    s->squares += far * far;
    s->count++;
}

/* The sum; undecided where a part of it may overflow, or an element is not finite. */
static struct number centred_total(const struct centred_sum *s, enum dtype type, long double u)
{
    long double n = (long double)s->count, tiny = n * dtype_precision(type).tiny;
    struct number total = {s->value, s->hard + rounding_growth((double)u, s->count + 6) * s->magnitude + tiny,
                           sqrtl(s->variance + u * u * (n + 6) * s->squares)};
    if (!(isfinite(total.v) && s->magnitude < dtype_highest(type)))
        return (struct number){0, INFINITY, 0};
    return total;
}

static struct centred_sum *centred_sums(size_t count, struct error *err)
{
    struct centred_sum *sums = calloc(count ? count : 1, sizeof *sums);
    if (!sums)
        error_set(err, ERROR_MEMORY, "no memory for the sums of %zu derivatives", count);
    return sums;
}

static void add_plain(struct gradient_sums *sums, size_t at, struct number term, long double u)
{
    long double coarser = u / unit_of(sums->slope->type);
    if (!isfinite(term.v)) {
        gradient_sums_undecided(sums, at);
        return;
    }
    gradient_sums_add(sums, at, term);
    if (coarser > 1)
        sums->sums[at].magnitude += (coarser - 1) * fabsl(term.v);
}

/* S1 and S2 of a block, with what the sums are worth in any order. */
struct block_sums {
    struct number plain, centred;
    long double spread; /* mean of |d| */
    bool undecided;
};

static struct block_sums sums_of(const struct blocks *b, size_t start, const struct moments *m)
{
    struct block_sums s = {0};
    const struct bounded *up = b->g->upstream[0];
    long double u = b->unit, size = 0, wide = 0, squares = 0, wide_squares = 0, plain_l = 0, centred_l = 0,
                n = (long double)b->length;
    for (size_t i = start; up && i < start + b->length; i++) {
        struct number x = element(b, i),
                      t = number_mul(number_of(up, i), number_of(b->scale, b->scale_at[i]), u);
        long double d = x.v - m->mean.v, most = number_most(t), far = number_most(x) + number_most(m->mean);
        s.plain.v += t.v;
        s.plain.h += t.h;
        s.centred.v += t.v * d;
        s.centred.h += t.h * (fabsl(d) + x.h + m->mean.h) + fabsl(t.v) * x.h;
        plain_l += t.l * t.l;
        centred_l += t.l * t.l * d * d + t.v * t.v * x.l * x.l;
        size += most;
        wide += most * far;
        squares += t.v * t.v;
        wide_squares += t.v * t.v * far * far;
    }
    for (size_t i = start; i < start + b->length; i++)
        s.spread += (fabsl(b->x->value[i] - m->mean.v) + m->mean.h) / n;
    s.centred.h += m->mean.h * (fabsl(s.plain.v) + s.plain.h);
    s.plain.l = sqrtl(plain_l);
    s.centred.l = likely_add(sqrtl(centred_l), m->mean.l * s.plain.v);
    long double growth = rounding_growth((double)u, b->length + 6), tiny = n * dtype_precision(b->type).tiny;
    s.plain = number_loosen(s.plain, growth * size + tiny, u * sqrtl(n * squares));
    s.centred = number_loosen(s.centred, growth * wide + tiny * (1 + number_most(m->mean)),
                              u * sqrtl(n * wide_squares));
    long double highest = dtype_highest(b->type);
    s.undecided = !(size < highest && wide < highest && isfinite(s.centred.h) && isfinite(s.plain.v));
    return s;
}

/* The factors of a block: dx = inverse t - shift - bend d. */
struct block_factors {
    struct number shift, bend;
};

static struct block_factors factors_of(const struct blocks *b, size_t block, const struct moments *m,
                                       struct block_sums s)
{
    long double u = b->unit, n = (long double)b->length;
    struct number count = number_loosen(number_exact(1 / n), u / n, u / n / 2), r = m->inverse;
    /* Outputs 1 and 2 of LayerNormalization are the mean and r, whose derivative by x is -r^3 d / n. */
    s.centred = number_add(s.centred, gradient_upstream(b->g, 2, block), u);
    struct block_factors f;
    f.shift = number_product((const struct number[]){r, s.plain, count}, 3, b->type, u);
    f.shift = number_sub(f.shift, number_mul(gradient_upstream(b->g, 1, block), count, u), u);
    f.bend = number_product((const struct number[]){r, r, r, s.centred, count}, 5, b->type, u);
    /* r^3 may be a power of the variance. */
    return (struct block_factors){
        f.shift, number_loosen(f.bend, 8 * u * number_most(f.bend), 4 * u * number_most(f.bend))};
}

static void put_slope(const struct blocks *b, size_t i, const struct moments *m, const struct block_sums *s,
                      const struct block_factors *f)
{
    long double u = b->unit, highest = dtype_highest(b->type);
    struct number x = element(b, i), d = number_sub(x, m->mean, 0),
                  t = number_mul(gradient_upstream(b->g, 0, i), number_of(b->scale, b->scale_at[i]), u);
    struct number direct = number_mul(m->inverse, t, u), bent = number_mul(f->bend, d, u);
    long double far = number_most(f->bend) * (number_most(x) + number_most(m->mean)),
                size = number_most(direct) + number_most(f->shift) + far,
                chain = number_most(f->bend) *
                        (m->mean.h + rounding_growth((double)u, b->length + 3) * s->spread);
    struct number y = number_sub(number_sub(direct, f->shift, u), bent, u);
    y = number_loosen(y, 8 * u * size + chain + 4 * dtype_precision(b->type).tiny * (1 + number_most(x)),
                      2 * u * size + chain / 4);
    if (isfinite(y.v) && isfinite(y.h) && size < highest &&
        number_most(t) * fmaxl(number_most(m->inverse), 1) < highest)
        number_put(b->slope, i, y);
    else
        bounded_put_undecided(b->slope, i, isfinite(y.v) ? y.v : 0);
}

static void run_block(struct blocks *b, size_t block)
{
    size_t start = block * b->length;
    struct moments m = moments_of(b->x, start, b->length, b->epsilon, b->unit, b->type);
    bool lost = m.nan || m.undecided || !isfinite(m.inverse.h) || !isfinite(m.inverse.v);
    if (b->has_x) {
        struct block_sums s = {.undecided = true};
        if (!lost)
            s = sums_of(b, start, &m);
        struct block_factors f = {0};
        if (!s.undecided)
            f = factors_of(b, block, &m, s);
        for (size_t i = start; i < start + b->length; i++)
            if (s.undecided)
                bounded_put_undecided(b->slope, i, 0);
            else
                put_slope(b, i, &m, &s, &f);
    }
    for (size_t i = start; i < start + b->length; i++) {
        struct number up = gradient_upstream(b->g, 0, i), x = element(b, i);
        if (b->has_bias)
            add_plain(&b->bias_sums, b->bias_at[i], up, b->unit);
        if (b->has_scale && lost)
            b->scale_sums[b->scale_at[i]].hard = INFINITY;
        else if (b->has_scale)
            add_centred(&b->scale_sums[b->scale_at[i]], up, x, m.mean, m.inverse);
    }
}

/* Makes the slopes of x, scale and bias, and fills them. */
static int run_blocks(struct blocks *b)
{
    struct op_gradient *g = b->g;
    struct error *err = g->call->err;
    struct bounded *scale = NULL, *bias = NULL;
    int result = -1;
    b->has_x = g->wanted[0];
    b->has_scale = g->wanted[1];
    b->has_bias = call_input(g->call, 2) && g->wanted[2];
    if ((b->has_x && !(b->slope = gradient_make(g, 0))) || (b->has_scale && !(scale = gradient_make(g, 1))) ||
        (b->has_bias && !(bias = gradient_make(g, 2))))
        return -1;
    if (b->has_bias && gradient_sums_init(&b->bias_sums, bias, err))
        return -1;
    if (b->has_scale && !(b->scale_sums = centred_sums(scale->count, err)))
        goto out;
    for (size_t block = 0; b->x->count > 0 && block < b->x->count / b->length; block++)
        run_block(b, block);
    for (size_t i = 0; b->has_scale && i < scale->count; i++)
        number_put(scale, i, centred_total(&b->scale_sums[i], b->type, b->unit));
    result = 0;
out:
    free(b->scale_sums);
    if (b->has_bias)
        gradient_sums_store(&b->bias_sums);
    return result;
}

/* Where the elements of a vector with one for each channel, or for each `period` elements, are used. */
static int run_channels(struct blocks *b, size_t period, size_t channels)
{
    size_t *at = offsets_linear(b->x->count, 1, b->g->call->err);
    if (!at)
        return -1;
    for (size_t i = 0; i < b->x->count; i++)
        at[i] = i / period % channels;
    b->scale_at = b->bias_at = at;
    int result = run_blocks(b);
    free(at);
    return result;
}

int normalize_gradient_instance(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    struct blocks b = {.g = g, .x = x, .scale = call->inputs[1], .type = x->type};
    b.epsilon = call_float(call, "epsilon", (double)1e-5f);
    b.unit = unit_of(x->type);
    b.length = shape_span(&x->shape, 2, x->shape.rank);
    return gradient_is_idle(g) ? 0 : run_channels(&b, b.length, (size_t)x->shape.dims[1]);
}

int normalize_gradient_group(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    enum dtype stash = DTYPE_FLOAT;
    if (gradient_is_idle(g))
        return 0;
    if (call->opset >= 21 && normalize_stash(call, &stash))
        return -1;
    struct blocks b = {.g = g, .x = x, .scale = call->inputs[1], .type = x->type};
    b.epsilon = call_float(call, "epsilon", (double)1e-5f);
    b.unit = unit_of(x->type);
    if (call->opset >= 21 && unit_of(stash) > b.unit) {
        b.unit = unit_of(stash);
        b.type = stash;
    }
    size_t inner = shape_span(&x->shape, 2, x->shape.rank), channels = (size_t)x->shape.dims[1],
           groups = (size_t)call_int(call, "num_groups", 1);
    b.length = channels / groups * inner;
    return call->opset >= 21 ? run_channels(&b, inner, channels) : run_channels(&b, b.length, groups);
}

int normalize_gradient_layer(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *bias = call_input(call, 2);
    enum dtype stash;
    int axis;
    if (gradient_is_idle(g))
        return 0;
    if (normalize_stash(call, &stash) || call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis))
        return -1;
    struct blocks b = {.g = g, .x = x, .scale = call->inputs[1]};
    b.type = x->type == DTYPE_DOUBLE ? stash : x->type;
    b.epsilon = call_float(call, "epsilon", (double)1e-5f);
    b.unit = normalize_coarser(unit_of(x->type), unit_of(stash));
    b.length = shape_span(&x->shape, axis, x->shape.rank);
    struct strides scale_at = strides_broadcast(&b.scale->shape, &x->shape), bias_at = {{0}};
    if (bias)
        bias_at = strides_broadcast(&bias->shape, &x->shape);
    size_t *for_scale = offsets_of(&x->shape, &scale_at, call->err),
           *for_bias = bias ? offsets_of(&x->shape, &bias_at, call->err) : NULL;
    b.scale_at = for_scale;
    b.bias_at = for_bias;
    int result = for_scale && (for_bias || !bias) ? run_blocks(&b) : -1;
    free(for_scale);
    free(for_bias);
    return result;
}

/*
 * BatchNormalization with given statistics: every channel is a linear function of x. From S1 = sum g and
 * S2 = sum g d of a channel follow the derivatives by scale, bias, mean and variance.
 */
struct channel {
    struct number mean, inverse, scale, factor; /* factor = scale * inverse */
    long double high, low;                      /* what partial products of the factor may be */
    long double far;                            /* the largest distance of an element from the mean */
    struct centred_sum centred;
    struct sum plain;
};

static struct channel channel_of(const struct op_call *call, size_t c, enum dtype type, double unit)
{
    const struct bounded *const *in = call->inputs;
    struct channel t = {.mean = number_of(in[3], c), .scale = number_of(in[1], c)};
    t.inverse = inverse_root(number_of(in[4], c), call_float(call, "epsilon", (double)1e-5f), unit, type);
    if (isnan(t.inverse.v))
        t.inverse = (struct number){0, INFINITY, 0};
    t.factor = number_product((const struct number[]){t.scale, t.inverse}, 2, type, unit);
    t.high = fmaxl(1, number_most(t.scale)) * fmaxl(1, number_most(t.inverse));
    t.low = fminl(1, number_least(t.scale)) * fminl(1, number_least(t.inverse));
    return t;
}

/* g scale inverse, in any order. */
static void put_scaled(struct bounded *slope, size_t i, struct number g, const struct channel *t, double unit)
{
    struct number y = number_mul(g, t->factor, unit);
    if (!isfinite(y.v) || !(number_most(g) * t->high < dtype_highest(slope->type))) {
        bounded_put_undecided(slope, i, 0);
        return;
    }
    bool zero = number_most(g) == 0 || number_most(t->factor) == 0;
    if (!zero && number_least(g) * t->low < dtype_precision(slope->type).tiny) {
        long double lost = 2 * contract_underflow(slope->type) * t->high;
        y = number_loosen(y, lost, lost / 3);
    }
    number_put(slope, i, number_loosen(y, unit * number_most(y), unit * fabsl(y.v)));
}

/* The derivatives by input 1 to 4 of a channel. */
static struct number channel_slope(const struct channel *t, size_t input, enum dtype type, double unit)
{
    struct number plain = {sum_value(&t->plain), sum_hard(&t->plain, unit), sum_likely(&t->plain, unit)},
                  centred = centred_total(&t->centred, type, unit), r = t->inverse;
    if (!isfinite(plain.v) || sum_overflows(&t->plain, type))
        plain = (struct number){0, INFINITY, 0};
    const struct number by_mean[] = {plain, t->scale, r, number_exact(-1)},
                        by_variance[] = {centred, t->scale, r, r, r, number_exact(-0.5L)};
    struct number y;
    /* Usually elements are normalised before they are multiplied by what arrives, which may overflow. */
    if ((input == 1 || input == 4) && !(t->far * fmaxl(1, number_most(r)) < dtype_highest(type)))
        return (struct number){0, INFINITY, 0};
    switch (input) {
    case 1:
        return number_product((const struct number[]){centred, r}, 2, type, unit);
    case 2:
        return plain;
    case 3:
        y = number_product(by_mean, 4, type, unit);
        break;
    default:
        y = number_product(by_variance, 6, type, unit);
    }
    /* Terms are multiplied before they are added, and r^3 may be a power of the variance. */
    return number_loosen(y, 12 * unit * number_most(y), 4 * unit * fabsl(y.v));
}

int normalize_gradient_batch(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *up = g->upstream[0];
    if (gradient_is_idle(g))
        return 0;
    size_t channels = x->shape.rank < 2 ? 1 : (size_t)x->shape.dims[1],
           inner = x->shape.rank < 2 ? 1 : shape_span(&x->shape, 2, x->shape.rank);
    double unit = normalize_coarser(normalize_coarser(unit_of(x->type), unit_of(call->inputs[1]->type)),
                                    unit_of(call->inputs[3]->type));
    struct bounded *slopes[5];
    for (size_t i = 0; i < 5; i++)
        if (!(slopes[i] = gradient_make(g, i)) && g->wanted[i])
            return -1;
    struct channel *of = calloc(channels ? channels : 1, sizeof *of);
    if (!of)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu channels", channels);
    for (size_t c = 0; c < channels; c++)
        of[c] = channel_of(call, c, x->type, unit);
    for (size_t i = 0; i < x->count; i++) {
        struct channel *t = &of[i / inner % channels];
        struct number arrived = number_of(up, i);
        if (slopes[0])
            put_scaled(slopes[0], i, arrived, t, unit);
        sum_add(&t->plain, arrived.v, arrived.h, arrived.l);
        add_centred(&t->centred, arrived, number_of(x, i), t->mean, number_exact(1));
        t->far = fmaxl(t->far, number_most(number_of(x, i)) + number_most(t->mean));
    }
    for (size_t k = 1; k < 5; k++)
        for (size_t c = 0; slopes[k] && c < channels; c++)
            number_put(slopes[k], c, channel_slope(&of[c], k, x->type, unit));
    free(of);
    return 0;
}
