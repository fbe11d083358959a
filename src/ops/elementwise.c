#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

const struct elementwise *elementwise_find(const struct elementwise *table, const char *name)
{
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table->name ? table : NULL;
}

void elementwise_params(const struct op_call *call, const struct elementwise *function,
                        double p[ELEMENTWISE_PARAMS])
{
    for (int i = 0; i < ELEMENTWISE_PARAMS; i++)
        p[i] = function->params[i] ? call_float(call, function->params[i], (double)function->defaults[i]) : 0;
}

/* 0: inside, 1: outside, -1: the interval holds both. */
static int outside(const struct elementwise *function, long double x, long double h)
{
    if (function->low == 0 && function->high == 0)
        return 0;
    bool least = x - h >= function->low && x - h <= function->high;
    bool most = x + h >= function->low && x + h <= function->high;
    if (least && most)
        return 0;
    bool apart = x + h < function->low || x - h > function->high;
    return apart ? 1 : -1;
}

/* The function over [x-h, x+h]: how far it gets from y = f(x), and how much an implementation errs. */
struct interval {
    long double reach, error;
};

/* Widens an interval by the value and error of the function at one point of it. */
static void look_at(struct interval *interval, const struct elementwise *function,
                    const struct elementwise_point *centre, long double x)
{
    struct elementwise_point there = *centre;
    there.x = x;
    there.y = function->value(centre->p, x);
    interval->reach = fmaxl(interval->reach, fabsl(there.y - centre->y));
    if (!function->error)
        return;
    long double error = function->error(&there);
    interval->error = isnan(error) ? INFINITY : fmaxl(interval->error, error);
}

/*
 * An implementation computes f at the true argument, somewhere in [x-h, x+h], with its error there. Errors
 * are in units of the result: those at the ends and turns are the largest, except for the few units that a
 * saturated function has between its ends.
 */
static struct interval interval_of(const struct elementwise *function, const struct elementwise_point *point,
                                   long double h, long double error)
{
    const long double units = 16;
    struct interval interval = {.error = error};
    int where = outside(function, point->x, h);
    if (isinf(h) || where < 0)
        return (struct interval){INFINITY, error};
    if (where > 0)
        return interval;
    if (function->reach) {
        interval.reach = function->reach(point->p, point->x, point->y, h);
    } else {
        look_at(&interval, function, point, point->x - h);
        look_at(&interval, function, point, point->x + h);
        for (int i = 0; i < function->n_turns; i++)
            if (fabsl(function->turns[i] - point->x) < h)
                look_at(&interval, function, point, function->turns[i]);
    }
    if (function->error)
        interval.error += units * point->unit * interval.reach;
    return interval;
}

static long double reach_of(const struct elementwise *function, const struct elementwise_point *point,
                            long double h)
{
    struct elementwise exact = *function;
    exact.error = NULL;
    return h == 0 ? 0 : interval_of(&exact, point, h, 0).reach;
}

/* The standard deviation of the result. Where the function is nearly straight over the interval, it is scaled
 * like the bound. */
static long double deviation(const struct elementwise *function, const struct elementwise_point *point,
                             long double h, long double s, long double reach)
{
    if (h <= 0.01L * fminl(1, fabsl(point->x)) && !isinf(reach))
        return reach * (s / h);
    return reach_of(function, point, s);
}

static void put(const struct elementwise *function, const double *p, const struct bounded *in,
                struct bounded *out, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i), s = bounded_likely(in, i);
    if (isnan(x)) {
        bounded_put(out, i, x, h, s);
        return;
    }
    struct elementwise_point point = {p, x, function->value(p, x), unit_of(out->type), out->type};
    long double error = function->error ? function->error(&point) : 0;
    if (isnan(error)) {
        bounded_put_open(out, i);
    } else if (isnan(point.y) && outside(function, x, h) > 0) {
        bounded_put(out, i, point.y, 0, 0);
    } else if (h == 0) {
        bounded_put(out, i, point.y, error, error * ELEMENTWISE_DEVIATION);
    } else {
        struct interval all = interval_of(function, &point, h, error);
        bounded_put(
            out, i, point.y, all.error + all.reach,
            likely_add(all.error * ELEMENTWISE_DEVIATION, deviation(function, &point, h, s, all.reach)));
    }
}

int elementwise_eval(struct op_call *call, const struct elementwise *function, const double *p)
{
    const struct bounded *in = call_need(call, 0);
    if (!in)
        return -1;
    if (!dtype_is_float(in->type))
        return call_unsupported(call, "the reference supports floats only, not %s", dtype_name(in->type));
    struct bounded *out = call_output(call, 0, in->type, &in->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++)
        put(function, p, in, out, i);
    return 0;
}

/* The derivative at element i, as a factor: without the rounding of the product that it is part of. */
static struct number derivative_at(const struct elementwise *derivative, const double *p,
                                   const struct bounded *in, size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i);
    if (!isfinite(x) || !isfinite(h) || outside(derivative, x, h))
        return gradient_undecided();
    struct elementwise_point point = {p, x, derivative->value(p, x), unit_of(in->type), in->type};
    long double error = derivative->error ? derivative->error(&point) : 0;
    if (!isfinite(point.y) || !isfinite(error))
        return gradient_undecided();
    struct number d = {point.y, error, error * ELEMENTWISE_DEVIATION};
    if (h == 0)
        return d;
    struct interval all = interval_of(derivative, &point, h, error);
    d.h = all.error + all.reach;
    d.l = likely_add(all.error * ELEMENTWISE_DEVIATION,
                     deviation(derivative, &point, h, bounded_likely(in, i), all.reach));
    return d;
}

/* Whether upstream times what a formula multiplies it with may overflow. */
static bool overflows_on_the_way(const struct elementwise *derivative, const double *p,
                                 struct number upstream, struct number x, enum dtype type)
{
    if (!derivative->on_the_way)
        return false;
    long double most = fmaxl(derivative->on_the_way(p, x.v - x.h), derivative->on_the_way(p, x.v + x.h));
    return !(2 * most * (fabsl(upstream.v) + upstream.h) < dtype_highest(type));
}

int elementwise_gradient(struct op_gradient *g, const struct elementwise *derivative, const double *p)
{
    const struct bounded *in = g->call->inputs[0];
    struct bounded *slope;
    if (gradient_begin(g, 0, &slope))
        return -1;
    struct dtype_precision precision = dtype_precision(in->type);
    long double lost = 4 * (in->type == DTYPE_FLOAT16 ? precision.smallest : precision.tiny);
    for (size_t i = 0; slope && i < slope->count; i++) {
        struct number factors[] = {gradient_upstream(g, 0, i), derivative_at(derivative, p, in, i)};
        struct number product = gradient_factors(factors, 2, slope->type);
        if (overflows_on_the_way(derivative, p, factors[0], number_of(in, i), slope->type))
            product = gradient_undecided();
        else if (factors[1].h > 0) /* a formula of several terms loses each that underflows */
            product = number_loosen(product, lost, lost / 4);
        gradient_store(slope, i, product);
    }
    return 0;
}

int elementwise_sample(struct draw *d, const struct elementwise *function)
{
    draw_primary(d);
    if (d->fill != FILL_EXACT && (function->draw_low != 0 || function->draw_high != 0) && draw_chance(d, 0.8))
        draw_primary_range(d, function->draw_low, function->draw_high);
    for (int i = 0; i < ELEMENTWISE_PARAMS; i++)
        if (function->params[i] && draw_chance(d, 0.6))
            draw_float(d, function->params[i], (float)draw_between(d, 1, 40) / 16.0f);
    return 0;
}
