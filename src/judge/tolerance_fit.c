#include "judge/tolerance_fit.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 4096 };

/* The comparison itself is computed in the type of the arrays, float16 at worst. */
static const double slack = 1.002;

/* Below it two digits are more than a double has. */
static const double tiny = 1e-300;

static int by_size(const void *a, const void *b)
{
    const struct tolerance_point *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->off < y->off ? -1 : x->off > y->off;
}

/* Whether b lies on or below the line from a to c. */
static bool is_below(const struct tolerance_point *a, const struct tolerance_point *b,
                     const struct tolerance_point *c)
{
    return ((long double)b->off - a->off) * ((long double)c->size - a->size) <=
           ((long double)c->off - a->off) * ((long double)b->size - a->size);
}

static void make_hull(struct tolerance_fit *fit)
{
    size_t kept = 0;
    if (fit->count == fit->hull)
        return;
    qsort(fit->points, fit->count, sizeof *fit->points, by_size);
    for (size_t i = 0; i < fit->count; i++) {
        const struct tolerance_point point = fit->points[i];
        while (kept && fit->points[kept - 1].size == point.size)
            kept--;
        while (kept > 1 && is_below(&fit->points[kept - 2], &fit->points[kept - 1], &point))
            kept--;
        fit->points[kept++] = point;
    }
    fit->count = fit->hull = kept;
}

static void add_point(struct tolerance_fit *fit, struct tolerance_point point)
{
    if (fit->count == fit->capacity && fit->count >= fit->hull + CHUNK)
        make_hull(fit);
    fit->points = memory_grow(fit->points, &fit->capacity, fit->count + 1, sizeof *fit->points);
    fit->points[fit->count++] = point;
}

void tolerance_add(struct tolerance_fit *fit, double size, double off, bool whole)
{
    add_point(fit, (struct tolerance_point){size, off});
    fit->whole = whole && (fit->whole || !fit->added);
    fit->added++;
    fit->sum_size += size;
    fit->in_group++;
    fit->group_off += off;
    fit->most_off = fmax(fit->most_off, off);
    fit->largest = fmax(fit->largest, size);
}

void tolerance_end_group(struct tolerance_fit *fit)
{
    if (fit->in_group)
        fit->most_mean = fmax(fit->most_mean, fit->group_off / (double)fit->in_group);
    fit->in_group = 0;
    fit->group_off = 0;
}

void tolerance_merge(struct tolerance_fit *fit, const struct tolerance_fit *other)
{
    if (!other->added)
        return;
    for (size_t i = 0; i < other->count; i++)
        add_point(fit, other->points[i]);
    fit->largest = fit->added ? fmin(fit->largest, other->largest) : other->largest;
    fit->whole = other->whole && (fit->whole || !fit->added);
    fit->added += other->added;
    fit->sum_size += other->sum_size;
    fit->most_mean = fmax(fit->most_mean, other->most_mean);
    fit->most_off = fmax(fit->most_off, other->most_off);
}

void tolerance_release(struct tolerance_fit *fit)
{
    free(fit->points);
    *fit = (struct tolerance_fit){0};
}

/* Two digits, never less; or never more. */
static double round_digits(double value, bool up)
{
    char text[32];
    if (!(value > 0 && isfinite(value)))
        return value > 0 ? value : 0;
    if (value < tiny)
        return up ? tiny : 0;
    double unit = pow(10, floor(log10(value)) - 1);
    double digits = up ? ceil(value / unit) : floor(value / unit);
    snprintf(text, sizeof text, "%.2g", digits * unit);
    double rounded = strtod(text, NULL);
    return (up ? rounded < value : rounded > value) ? value : rounded;
}

/* The edge of the hull above the mean size; a level line, or one through 0, where it would fall or begin
 * below 0. */
static struct tolerance touch(const struct tolerance_fit *fit)
{
    double mean = fit->sum_size / (double)fit->added, steepest = 0;
    size_t right = 0;
    while (right + 1 < fit->count && fit->points[right].size < mean)
        right++;
    const struct tolerance_point *to = &fit->points[right], *from = right ? to - 1 : to;
    double slope =
        from == to ? to->size > 0 ? to->off / to->size : 0 : (to->off - from->off) / (to->size - from->size);
    if (!(slope > 0) || !isfinite(slope))
        return (struct tolerance){.atol = fit->most_off};
    double start = to->off - slope * to->size;
    if (start > 0)
        return (struct tolerance){slope, start};
    for (size_t i = 0; i < fit->count; i++)
        if (fit->points[i].size > 0)
            steepest = fmax(steepest, fit->points[i].off / fit->points[i].size);
    return (struct tolerance){.rtol = steepest};
}

/* What is missing of the tolerance at the worst point. */
static double missing(const struct tolerance_fit *fit, double rtol)
{
    double most = 0;
    for (size_t i = 0; i < fit->count; i++)
        most = fmax(most, fit->points[i].off * slack - rtol * fit->points[i].size);
    return most;
}

struct tolerance tolerance_least(struct tolerance_fit *fit)
{
    make_hull(fit);
    if (!fit->added || !(fit->most_off > 0))
        return (struct tolerance){0};
    struct tolerance least = touch(fit);
    least.rtol = round_digits(least.rtol * slack, true);
    least.atol = round_digits(missing(fit, least.rtol), true);
    return least;
}

bool tolerance_holds(struct tolerance_fit *fit, struct tolerance tolerance)
{
    make_hull(fit);
    for (size_t i = 0; i < fit->count; i++)
        if (!(fit->points[i].off <= tolerance.atol + tolerance.rtol * fit->points[i].size))
            return false;
    return true;
}

double tolerance_passes(struct tolerance_fit *fit, struct tolerance tolerance)
{
    double most = 0;
    make_hull(fit);
    for (size_t i = 0; i < fit->count; i++) {
        double error = fit->points[i].off + tolerance.atol + tolerance.rtol * fit->points[i].size;
        most = fmax(most, fit->whole ? floor(error) : error);
    }
    return !(most > 0) ? 0 : fit->largest > 0 ? most / fit->largest : INFINITY;
}

double tolerance_most(struct tolerance_fit *fit, double rtol, double error)
{
    double least = INFINITY, size = error * fit->largest;
    make_hull(fit);
    if (fit->whole)
        size = fmax(ceil(size), 1);
    for (size_t i = 0; i < fit->count; i++)
        least = fmin(least, (size - fit->points[i].off) / slack - rtol * fit->points[i].size);
    return least > 0 && isfinite(least) ? round_digits(least, false) : -1;
}

struct tolerance tolerance_norms(const struct tolerance_fit *fit)
{
    return (struct tolerance){round_digits(fit->most_mean * slack, true),
                              round_digits(fit->most_off * slack, true)};
}
