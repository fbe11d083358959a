#include "ops/curve.h"

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

long double curve_reach(const struct curve *curve, const double *p, long double x, long double y,
                        long double h)
{
    if (h == 0)
        return 0;
    int where = outside(curve, x, h);
    if (isinf(h) || where < 0)
        return INFINITY;
    if (where > 0)
        return 0;
    if (curve->reach)
        return curve->reach(p, x, y, h);
    long double reach = fmaxl(fabsl(curve->value(p, x - h) - y), fabsl(curve->value(p, x + h) - y));
    for (int i = 0; i < curve->n_turns; i++)
        if (fabsl(curve->turns[i] - x) < h)
            reach = fmaxl(reach, fabsl(curve->value(p, curve->turns[i]) - y));
    return reach;
}

/* Where the function is as good as straight over the interval, the deviation goes the way of the bound. */
static long double deviation(const struct curve *curve, const double *p, long double x, long double y,
                             long double h, long double s, long double reach)
{
    if (h <= 0.01L * fminl(1, fabsl(x)) && !isinf(reach))
        return reach * (s / h);
    return curve_reach(curve, p, x, y, s);
}

/*
 * An implementation computes f where it really is, somewhere in [x-h, x+h], and errs as one errs there. Over
 * a narrow interval that is hardly another error; a wide one (behind a jump) is looked at where it ends and
 * turns.
 */
static long double widest_error(const struct curve *curve, const struct curve_spot *spot, long double h,
                                long double error)
{
    if (!curve->error || isinf(h) || outside(curve, spot->x, h))
        return error;
    if (h <= 0.01L * fminl(1, fabsl(spot->x)))
        return error * 1.05L;
    long double places[4] = {spot->x - h, spot->x + h};
    int count = 2;
    for (int i = 0; i < curve->n_turns; i++)
        if (fabsl(curve->turns[i] - spot->x) < h)
            places[count++] = curve->turns[i];
    for (int i = 0; i < count; i++) {
        struct curve_spot there = *spot;
        there.x = places[i];
        there.y = curve->value(spot->p, there.x);
        long double other = curve->error(&there);
        error = isnan(other) ? INFINITY : fmaxl(error, other);
    }
    return error;
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
        long double reach = curve_reach(curve, p, x, spot.y, h);
        error = widest_error(curve, &spot, h, error);
        bounded_put(out, i, spot.y, error + reach,
                    likely_add(error * CURVE_DEVIATION, deviation(curve, p, x, spot.y, h, s, reach)));
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
