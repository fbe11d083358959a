#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

const struct curve *curve_find(const struct curve *table, const char *name)
{
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table->name ? table : NULL;
}

void curve_params(const struct op_call *call, const struct curve *curve, double p[CURVE_PARAMS])
{
    for (int i = 0; i < CURVE_PARAMS; i++)
        p[i] = curve->params[i] ? call_float(call, curve->params[i], (double)curve->defaults[i]) : 0;
}

/* 0: inside, 1: outside, -1: the interval holds both. */
static int outside(const struct curve *curve, long double x, long double h)
{
    if (curve->low == 0 && curve->high == 0)
        return 0;
    bool least = x - h >= curve->low && x - h <= curve->high;
    bool most = x + h >= curve->low && x + h <= curve->high;
    if (least && most)
        return 0;
    bool apart = x + h < curve->low || x - h > curve->high;
    return apart ? 1 : -1;
}

/* The function over [x-h, x+h]: how far it gets from y = f(x), and how much an implementation errs. */
struct stretch {
    long double reach, error;
};

/* Widens a stretch by what the function is at one of its places. */
static void look_at(struct stretch *stretch, const struct curve *curve, const struct curve_spot *centre,
                    long double x)
{
    struct curve_spot there = *centre;
    there.x = x;
    there.y = curve->value(centre->p, x);
    stretch->reach = fmaxl(stretch->reach, fabsl(there.y - centre->y));
    if (!curve->error)
        return;
    long double error = curve->error(&there);
    stretch->error = isnan(error) ? INFINITY : fmaxl(stretch->error, error);
}

/*
 * An implementation computes f where it really is, somewhere in [x-h, x+h], and errs as one errs there.
 * Errors are made of units of the result: those at the ends and turns are the largest, but for the few units
 * that a saturated function has between its ends.
 */
static struct stretch stretch_of(const struct curve *curve, const struct curve_spot *spot, long double h,
                                 long double error)
{
    const long double units = 16;
    struct stretch stretch = {.error = error};
    int where = outside(curve, spot->x, h);
    if (isinf(h) || where < 0)
        return (struct stretch){INFINITY, error};
    if (where > 0)
        return stretch;
    if (curve->reach) {
        stretch.reach = curve->reach(spot->p, spot->x, spot->y, h);
    } else {
        look_at(&stretch, curve, spot, spot->x - h);
        look_at(&stretch, curve, spot, spot->x + h);
        for (int i = 0; i < curve->n_turns; i++)
            if (fabsl(curve->turns[i] - spot->x) < h)
                look_at(&stretch, curve, spot, curve->turns[i]);
    }
    if (curve->error)
        stretch.error += units * spot->unit * stretch.reach;
    return stretch;
}

static long double reach_of(const struct curve *curve, const struct curve_spot *spot, long double h)
{
    struct curve exact = *curve;
    exact.error = NULL;
    return h == 0 ? 0 : stretch_of(&exact, spot, h, 0).reach;
}

/* Where the function is as good as straight over the interval, the deviation goes the way of the bound. */
static long double deviation(const struct curve *curve, const struct curve_spot *spot, long double h,
                             long double s, long double reach)
{
    if (h <= 0.01L * fminl(1, fabsl(spot->x)) && !isinf(reach))
        return reach * (s / h);
    return reach_of(curve, spot, s);
}

static void put(const struct curve *curve, const double *p, const struct bounded *in, struct bounded *out,
                size_t i)
{
    long double x = in->value[i], h = bounded_hard(in, i), s = bounded_likely(in, i);
    if (isnan(x)) {
        bounded_put(out, i, x, h, s);
        return;
    }
    struct curve_spot spot = {p, x, curve->value(p, x), unit_of(out->type), out->type};
    long double error = curve->error ? curve->error(&spot) : 0;
    if (isnan(error)) {
        bounded_put_open(out, i);
    } else if (isnan(spot.y) && outside(curve, x, h) > 0) {
        bounded_put(out, i, spot.y, 0, 0);
    } else if (h == 0) {
        bounded_put(out, i, spot.y, error, error * CURVE_DEVIATION);
    } else {
        struct stretch all = stretch_of(curve, &spot, h, error);
        bounded_put(out, i, spot.y, all.error + all.reach,
                    likely_add(all.error * CURVE_DEVIATION, deviation(curve, &spot, h, s, all.reach)));
    }
}

int curve_eval(struct op_call *call, const struct curve *curve, const double *p)
{
    const struct bounded *in = call_need(call, 0);
    if (!in)
        return -1;
    if (!dtype_is_float(in->type))
        return call_unsupported(call, "of %s: only floats have a meaning for it", dtype_name(in->type));
    struct bounded *out = call_output(call, 0, in->type, &in->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    for (size_t i = 0; i < out->count; i++)
        put(curve, p, in, out, i);
    return 0;
}

int curve_sample(struct draw *d, const struct curve *curve)
{
    draw_primary(d);
    if (d->fill != FILL_EXACT && (curve->draw_low != 0 || curve->draw_high != 0) && draw_chance(d, 0.8))
        draw_primary_range(d, curve->draw_low, curve->draw_high);
    for (int i = 0; i < CURVE_PARAMS; i++)
        if (curve->params[i] && draw_chance(d, 0.6))
            draw_float(d, curve->params[i], (float)draw_between(d, 1, 40) / 16.0f);
    return 0;
}
