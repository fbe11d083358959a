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
    struct gradient_sums scale_sums, bias_sums;
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

/* x - mean, whose last rounding is relative to the size of both where they are multiplied apart. */
static struct number centred(struct number x, struct number mean, long double u)
{
    struct number d = number_sub(x, mean, 0);
    long double size = number_most(x) + number_most(mean);
    return number_loosen(d, 2 * u * size, u * size);
}

/*
 * Adds a term g (x - mean) factor to a sum that may be computed as factor (sum g x - mean sum g): the
 * roundings of the sum are relative to |x| + |mean|.
 */
static void add_centred(struct gradient_sums *sums, size_t at, const struct number factors[3],
                        long double size, enum dtype type, long double u)
{
    struct number term = number_product(factors, 3, type, u);
    long double magnitude = number_most(factors[0]) * size * number_most(factors[2]);
    if (!isfinite(term.v) || !isfinite(term.h) || !(magnitude < dtype_highest(type))) {
        gradient_sums_undecided(sums, at);
        return;
    }
    struct sum *sum = &sums->sums[at];
    long double coarser = fmaxl(u / unit_of(sums->slope->type), 1);
    gradient_sums_add(sums, at, number_loosen(term, 4 * u * magnitude, u * magnitude));
    sum->magnitude += coarser * magnitude - fabsl(term.v);
    sum->squares += coarser * coarser * magnitude * magnitude - term.v * term.v;
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
            gradient_sums_undecided(&b->scale_sums, b->scale_at[i]);
        else if (b->has_scale)
            add_centred(&b->scale_sums, b->scale_at[i],
                        (const struct number[]){up, centred(x, m.mean, b->unit), m.inverse},
                        number_most(x) + number_most(m.mean), b->type, b->unit);
    }
}

/* Makes the slopes of x, scale and bias, and fills them. */
static int run_blocks(struct blocks *b)
{
    struct error *err = b->g->call->err;
    b->has_x = b->g->wanted[0];
    if (b->has_x && !(b->slope = gradient_make(b->g, 0)))
        return -1;
    struct gradient_sums *sums[2] = {&b->scale_sums, &b->bias_sums};
    bool *has[2] = {&b->has_scale, &b->has_bias};
    int result = 0;
    for (size_t i = 0; i < 2 && result == 0; i++) {
        struct bounded *slope = gradient_make(b->g, i + 1);
        if (slope)
            result = gradient_sums_init(sums[i], slope, err);
        else if (call_input(b->g->call, i + 1) && b->g->wanted[i + 1])
            result = -1;
        *has[i] = slope && result == 0;
    }
    for (size_t block = 0; result == 0 && b->x->count > 0 && block < b->x->count / b->length; block++)
        run_block(b, block);
    for (size_t i = 0; i < 2; i++)
        if (*has[i])
            gradient_sums_store(sums[i]);
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

static bool is_idle(const struct op_gradient *g)
{
    for (size_t i = 0; i < g->call->n_outputs; i++)
        if (g->upstream[i])
            return false;
    return true;
}

int normalize_gradient_instance(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    struct blocks b = {.g = g, .x = x, .scale = call->inputs[1], .type = x->type};
    b.epsilon = call_float(call, "epsilon", (double)1e-5f);
    b.unit = unit_of(x->type);
    b.length = shape_span(&x->shape, 2, x->shape.rank);
    return is_idle(g) ? 0 : run_channels(&b, b.length, (size_t)x->shape.dims[1]);
}

int normalize_gradient_group(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    enum dtype stash = DTYPE_FLOAT;
    if (is_idle(g))
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
    if (is_idle(g))
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

/* BatchNormalization with given statistics: every channel is a linear function of x. */
struct channel {
    struct number mean, inverse, scale, factor; /* factor = scale * inverse */
    struct number bend;                         /* -scale * inverse^3 / 2 */
};

struct batch {
    struct op_gradient *g;
    struct channel *channels;
    struct bounded *x_slope;
    struct gradient_sums sums[5]; /* of inputs 1 to 4 */
    bool has[5];
    enum dtype type;
    double unit;
};

static struct channel channel_of(const struct batch *b, size_t c, double epsilon)
{
    const struct bounded *const *in = b->g->call->inputs;
    struct channel t = {.mean = number_of(in[3], c), .scale = number_of(in[1], c)};
    t.inverse = inverse_root(number_of(in[4], c), epsilon, b->unit, b->type);
    if (isnan(t.inverse.v))
        t.inverse = (struct number){0, INFINITY, 0};
    const struct number factors[] = {t.scale, t.inverse, t.inverse, t.inverse, number_exact(-0.5L)};
    t.factor = number_product(factors, 2, b->type, b->unit);
    t.bend = number_product(factors, 5, b->type, b->unit);
    t.bend = number_loosen(t.bend, 8 * b->unit * number_most(t.bend), 4 * b->unit * fabsl(t.bend.v));
    return t;
}

static void batch_element(struct batch *b, size_t i, size_t c)
{
    const struct channel *t = &b->channels[c];
    long double u = b->unit;
    struct number up = number_of(b->g->upstream[0], i), x = number_of(b->g->call->inputs[0], i);
    struct number direct = number_product((const struct number[]){up, t->scale, t->inverse}, 3, b->type, u);
    if (b->x_slope && isfinite(direct.v))
        number_put(b->x_slope, i, direct);
    else if (b->x_slope)
        bounded_put_undecided(b->x_slope, i, 0);
    struct number d = centred(x, t->mean, u);
    long double size = number_most(x) + number_most(t->mean);
    if (b->has[1])
        add_centred(&b->sums[1], c, (const struct number[]){up, d, t->inverse}, size, b->type, u);
    if (b->has[2])
        add_plain(&b->sums[2], c, up, u);
    if (b->has[3])
        add_plain(&b->sums[3], c, number_mul(direct, number_exact(-1), u), u);
    if (b->has[4])
        add_centred(&b->sums[4], c, (const struct number[]){up, d, t->bend}, size, b->type, u);
}

int normalize_gradient_batch(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    if (is_idle(g))
        return 0;
    struct batch b = {.g = g, .type = x->type};
    size_t channels = x->shape.rank < 2 ? 1 : (size_t)x->shape.dims[1],
           inner = x->shape.rank < 2 ? 1 : shape_span(&x->shape, 2, x->shape.rank);
    b.unit = normalize_coarser(normalize_coarser(unit_of(x->type), unit_of(call->inputs[1]->type)),
                               unit_of(call->inputs[3]->type));
    int result = 0;
    for (size_t i = 0; i < 5 && result == 0; i++) {
        struct bounded *slope = gradient_make(g, i);
        if (!slope)
            result = g->wanted[i] ? -1 : 0;
        else if (i > 0)
            result = gradient_sums_init(&b.sums[i], slope, call->err);
        else
            b.x_slope = slope;
        b.has[i] = i > 0 && slope && result == 0;
    }
    if (result == 0 && !(b.channels = calloc(channels ? channels : 1, sizeof *b.channels)))
        result = error_set(call->err, ERROR_MEMORY, "no memory for %zu channels", channels);
    for (size_t c = 0; result == 0 && c < channels; c++)
        b.channels[c] = channel_of(&b, c, call_float(call, "epsilon", (double)1e-5f));
    for (size_t i = 0; result == 0 && i < x->count; i++)
        batch_element(&b, i, i / inner % channels);
    for (size_t i = 1; i < 5; i++)
        if (b.has[i])
            gradient_sums_store(&b.sums[i]);
    free(b.channels);
    return result;
}
