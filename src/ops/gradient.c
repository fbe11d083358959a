#include "ops/gradient.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct bounded *gradient_make(struct op_gradient *g, size_t input)
{
    const struct bounded *in = call_input(g->call, input);
    if (!in || !g->wanted[input])
        return NULL;
    struct bounded *slope = &g->slopes[input];
    if (bounded_alloc(slope, in->type, &in->shape, false, g->call->err) < 0)
        return NULL;
    return slope;
}

int gradient_begin(struct op_gradient *g, size_t input, struct bounded **slope)
{
    bool any = false;
    for (size_t o = 0; o < g->call->n_outputs; o++)
        any |= g->upstream[o] != NULL;
    *slope = NULL;
    if (!any || !call_input(g->call, input) || !g->wanted[input])
        return 0;
    *slope = gradient_make(g, input);
    return *slope ? 0 : -1;
}

struct number gradient_upstream(const struct op_gradient *g, size_t output, size_t i)
{
    const struct bounded *of = output < g->call->n_outputs ? g->upstream[output] : NULL;
    return of ? number_of(of, i) : number_exact(0);
}

struct number gradient_between(struct number a, struct number b)
{
    long double apart = fabsl(a.v - b.v);
    return (struct number){a.v, apart + fmaxl(a.h, b.h), apart + fmaxl(a.l, b.l)};
}

bool gradient_may_vanish(long double value, enum dtype type)
{
    return value != 0 && fabsl(value) < dtype_precision(type).tiny;
}

struct number gradient_undecided(void)
{
    return (struct number){.h = INFINITY};
}

bool gradient_is_idle(const struct op_gradient *g)
{
    for (size_t i = 0; i < g->call->n_outputs; i++)
        if (g->upstream[i])
            return false;
    return true;
}

bool gradient_is_number(struct number n)
{
    return isfinite(n.v) && isfinite(n.h);
}

void gradient_store(struct bounded *slope, size_t i, struct number n)
{
    if (isinf(n.h) || isnan(n.h) || !isfinite(n.v))
        bounded_put_undecided(slope, i, isfinite(n.v) ? n.v : 0);
    else
        number_put(slope, i, n);
}

/* Below this, a product with a constant such as 1/2 may underflow. */
static long double least_on_the_way(enum dtype type)
{
    return 4 * dtype_precision(type).tiny;
}

/* Above this, the reciprocal of the product may underflow, or its product with a constant overflow. */
static long double most_on_the_way(enum dtype type)
{
    return dtype_highest(type) / 8;
}

/*
 * What the underflow of products of some of the factors costs, which is then multiplied by the others; and
 * INFINITY when such a product overflows. A quotient a/b whose b overflows is one that underflows: `tiny` is
 * above the reciprocal of the largest number.
 */
static long double lost_on_the_way(const struct number *factors, size_t count, enum dtype type)
{
    long double highest = most_on_the_way(type), tiny = least_on_the_way(type), lost = 0;
    for (unsigned set = 1; set < 1U << count; set++) {
        long double most = 1, least = 1, rest = 1;
        for (size_t k = 0; k < count; k++) {
            long double size = fabsl(factors[k].v);
            if (set & 1U << k) {
                most *= size + factors[k].h;
                least *= fmaxl(size - factors[k].h, 0);
            } else {
                rest *= size + factors[k].h;
            }
        }
        if (!(most < highest))
            return INFINITY;
        if (least < tiny)
            lost += tiny * rest;
    }
    return lost;
}

struct number gradient_factors(const struct number *factors, size_t count, enum dtype type)
{
    long double u = unit_of(type), most = 1, least = 1;
    struct number product = number_exact(1), real[GRADIENT_FACTORS];
    size_t n = 0; /* of factors other than 1 and -1, which round nothing */
    bool zero = false;
    for (size_t k = 0; k < count; k++) {
        struct number f = factors[k];
        if (!isfinite(f.v) || !isfinite(f.h))
            return gradient_undecided();
        if (f.h == 0 && (f.v == 0 || fabsl(f.v) == 1)) {
            zero |= f.v == 0;
            product.v *= f.v < 0 ? -1 : 1;
            continue;
        }
        real[n++] = f;
        most *= fmaxl(1, fabsl(f.v) + f.h);
        least *= fminl(1, fmaxl(fabsl(f.v) - f.h, 0));
    }
    bool inside = most < most_on_the_way(type) && least >= least_on_the_way(type);
    bool alone = n < 2 && !zero; /* nothing is multiplied */
    long double lost = alone || inside ? 0 : lost_on_the_way(real, n, type);
    if (isinf(lost))
        return gradient_undecided();
    if (zero)
        return number_exact(0);
    /* Each factor may be divided by, which costs two units, and there is one product less than factors. */
    for (size_t k = 0; k < n; k++)
        product = number_mul(product, real[k], k == 0 ? 0 : 3 * u);
    return number_loosen(product, lost, lost / 4);
}

struct number gradient_product(struct number a, struct number b, enum dtype type)
{
    struct number product = number_mul(a, b, 0);
    struct dtype_precision p = dtype_precision(type);
    if (!isfinite(product.v) || !isfinite(product.h))
        return gradient_undecided();
    if (product.h == 0 && dtype_round(type, product.v) == product.v)
        return product;
    long double size = fabsl(product.v), own = p.unit * (size + product.h);
    if (size - product.h < p.tiny)
        own += p.tiny;
    return number_loosen(product, own, own / 2);
}

struct number gradient_inverse(struct number b, enum dtype type)
{
    if (!(fabsl(b.v) > b.h) || !isfinite(b.v))
        return gradient_undecided();
    long double unit = unit_of(type), y = 1 / b.v, reach = fabsl(y) * b.h / (fabsl(b.v) - b.h);
    struct number inverse = {y, reach, fabsl(y) * fminl(b.l, b.h) / fabsl(b.v)};
    if (is_power_of_two(b.v) && b.h == 0)
        return inverse;
    return number_loosen(inverse, 2 * unit * (fabsl(y) + reach), unit * fabsl(y));
}

struct number gradient_share(size_t count, enum dtype type)
{
    return gradient_inverse(number_exact((long double)count), type);
}

int gradient_sums_init(struct gradient_sums *s, struct bounded *slope, struct error *err)
{
    *s = (struct gradient_sums){.sums = calloc(slope->count ? slope->count : 1, sizeof *s->sums)};
    if (!s->sums)
        return error_set(err, ERROR_MEMORY, "no memory for the sums of %zu derivatives", slope->count);
    s->slope = slope;
    return 0;
}

void gradient_sums_add(struct gradient_sums *s, size_t i, struct number term)
{
    if (!s->sums)
        return;
    if (!isfinite(term.v) || !isfinite(term.h))
        term = gradient_undecided();
    sum_add(&s->sums[i], term.v, term.h, term.l);
}

void gradient_sums_undecided(struct gradient_sums *s, size_t i)
{
    gradient_sums_add(s, i, gradient_undecided());
}

void gradient_sums_store(struct gradient_sums *s)
{
    double unit = unit_of(s->slope->type);
    for (size_t i = 0; i < s->slope->count; i++) {
        const struct sum *sum = &s->sums[i];
        if (sum_overflows(sum, s->slope->type))
            bounded_put_undecided(s->slope, i, sum_value(sum));
        else
            bounded_put(s->slope, i, sum_value(sum), sum_hard(sum, unit), sum_likely(sum, unit));
    }
    free(s->sums);
    s->sums = NULL;
}

int gradient_leave_undecided(struct op_gradient *g, size_t input)
{
    struct bounded *slope = gradient_make(g, input);
    if (!slope)
        return call_input(g->call, input) && g->wanted[input] ? -1 : 0;
    for (size_t i = 0; i < slope->count; i++)
        bounded_put_undecided(slope, i, 0);
    return 0;
}

void gradient_put(void *target, size_t i, size_t j, struct number sum)
{
    const struct gradient_target *t = target;
    size_t at = t->base + t->rows[i] + t->cols[j];
    if (isfinite(sum.v))
        number_put(t->slope, at, sum);
    else
        bounded_put_undecided(t->slope, at, 0);
}

int gradient_sums_all(struct op_gradient *g, struct gradient_sums **sums)
{
    size_t n = g->call->n_inputs;
    *sums = memory_zeroed(n + 1, sizeof **sums);
    for (size_t k = 0; k < n; k++) {
        struct bounded *slope;
        if (gradient_begin(g, k, &slope) || (slope && gradient_sums_init(&(*sums)[k], slope, g->call->err)))
            return -1;
    }
    return 0;
}

void gradient_sums_finish(const struct op_gradient *g, struct gradient_sums *sums)
{
    for (size_t k = 0; k < g->call->n_inputs; k++)
        if (sums[k].sums)
            gradient_sums_store(&sums[k]);
    free(sums);
}

/* Elements are numbered from here on: no attribute of a node is such a number by chance. */
static const long double FIRST_NUMBER = 0x1p50L;

/* The inputs with each element of a wanted one replaced by its number, counted through all inputs, and other
 * floating-point numbers by 0. All are float64, which holds the numbers. */
static int number_inputs(const struct op_gradient *g, struct bounded *numbered, size_t *offsets)
{
    const struct op_call *call = g->call;
    size_t next = 0;
    for (size_t k = 0; k < call->n_inputs; k++) {
        const struct bounded *in = call->inputs[k];
        offsets[k] = next;
        if (!in || !dtype_is_float(in->type))
            continue;
        if (bounded_alloc(&numbered[k], DTYPE_DOUBLE, &in->shape, false, call->err) < 0)
            return -1;
        if (!g->wanted[k])
            continue;
        for (size_t i = 0; i < in->count; i++)
            numbered[k].value[i] = FIRST_NUMBER + (long double)next++;
    }
    offsets[call->n_inputs] = next;
    return 0;
}

/* Adds what arrives at the outputs to the elements that they came from. */
static void add_moved(const struct op_gradient *g, const struct bounded *moved, const size_t *offsets,
                      struct gradient_sums *sums)
{
    const struct op_call *call = g->call;
    bool from_anywhere = false; /* an element whose source is not known */
    for (size_t o = 0; o < call->n_outputs; o++) {
        const struct bounded *out = &moved[o];
        if (!g->upstream[o] || out->type != DTYPE_DOUBLE)
            continue;
        for (size_t i = 0; i < out->count; i++) {
            if (bounded_hard(out, i) > 0) { /* one of several elements, or any */
                from_anywhere = true;
                continue;
            }
            long double number = out->value[i] - FIRST_NUMBER;
            if (!(number >= 0 && number < (long double)offsets[call->n_inputs]))
                continue;
            size_t at = (size_t)number, k = 0;
            while (at >= offsets[k + 1])
                k++;
            gradient_sums_add(&sums[k], at - offsets[k], gradient_upstream(g, o, i));
        }
    }
    for (size_t k = 0; from_anywhere && k < call->n_inputs; k++)
        for (size_t j = 0; sums[k].slope && j < sums[k].slope->count; j++)
            gradient_sums_undecided(&sums[k], j);
}

int gradient_of_moves(struct op_gradient *g)
{
    struct op_call *call = g->call, again = *call;
    size_t n = call->n_inputs;
    struct bounded *numbered = memory_zeroed(n + 1, sizeof *numbered);
    struct bounded *moved = memory_zeroed(call->n_outputs + 1, sizeof *moved);
    const struct bounded **inputs = memory_zeroed(n + 1, sizeof *inputs);
    size_t *offsets = memory_zeroed(n + 1, sizeof *offsets);
    struct gradient_sums *sums;
    int status = gradient_sums_all(g, &sums);
    if (status == 0)
        status = number_inputs(g, numbered, offsets);
    for (size_t k = 0; k < n; k++)
        inputs[k] = numbered[k].type == DTYPE_NONE ? call->inputs[k] : &numbered[k];
    again.inputs = inputs;
    again.outputs = moved;
    if (status == 0)
        status = call->op->eval(&again);
    if (status == 0)
        add_moved(g, moved, offsets, sums);
    gradient_sums_finish(g, sums);
    for (size_t k = 0; k < n; k++)
        bounded_release(&numbered[k]);
    for (size_t o = 0; o < call->n_outputs; o++)
        bounded_release(&moved[o]);
    free(numbered);
    free(moved);
    free(inputs);
    free(offsets);
    return status;
}
