#include "bounds/sum.h"

#include <math.h>

void sum_add(struct sum *s, long double term, long double hard, long double likely)
{
    s->count++;
    s->hard += hard;
    s->variance += likely * likely;
    if (isnan(term)) {
        s->nan = true;
    } else if (isinf(term)) {
        s->up |= term > 0;
        s->down |= term < 0;
    } else {
        s->value += term;
        s->magnitude += fabsl(term);
        s->squares += term * term;
        s->walk += s->value * s->value;
        s->inexact |= hard != 0 || term != floorl(term);
    }
}

long double sum_value(const struct sum *s)
{
    if (s->nan || (s->up && s->down))
        return NAN;
    return s->up ? INFINITY : s->down ? -INFINITY : s->value;
}

long double rounding_growth(double unit, size_t count)
{
    return expm1l((long double)unit * (long double)count);
}

static bool is_exact(const struct sum *s, double unit)
{
    return !s->inexact && s->magnitude * unit <= 1;
}

long double sum_hard(const struct sum *s, double unit)
{
    if (is_exact(s, unit) || s->count < 2)
        return s->hard;
    return s->hard + rounding_growth(unit, s->count - 1) * (s->magnitude + s->hard);
}

long double sum_likely(const struct sum *s, double unit)
{
    if (is_exact(s, unit) || s->count < 2)
        return sqrtl(s->variance);
    long double roundings = (s->walk + (long double)s->count * s->squares) / 3;
    return fminl(sqrtl(s->variance + (long double)unit * unit * roundings), sum_hard(s, unit));
}

bool sum_overflows(const struct sum *s, enum dtype type)
{
    if (s->nan || (s->up && s->down))
        return false;
    return !(s->magnitude + s->hard < dtype_highest(type)) && !isinf(s->hard);
}

/* sqrtl where it will do: it is exact to the last place. */
static long double root_of(long double x, long double inverse)
{
    return inverse == 0.5L ? sqrtl(x) : powl(x, inverse);
}

/* The error of a root when its argument has the error h; with `near`, the argument may be larger as well. */
static long double root_reach(long double x, long double h, long double inverse, bool near)
{
    if (near && x < h)
        return root_of(h, inverse);
    long double root = root_of(x, inverse);
    return fmaxl(root_of(x + h, inverse) - root, root - root_of(fmaxl(x - h, 0), inverse));
}

long double root_hard(long double x, long double inherited, long double own, long double inverse)
{
    own = own < 0 ? 0 : own; /* a difference of sums, rounded */
    long double reach = root_reach(fmaxl(x - inherited, 0), own, inverse, inherited > 0);
    return inherited > 0 ? reach + root_reach(x, inherited, inverse, false) : reach;
}

/* fmaxl without the call. */
static long double larger(long double a, long double b)
{
    return a >= b || isnan(b) ? a : b;
}

void extreme_add(struct extreme *e, long double value, long double hard, long double likely)
{
    e->nan |= isnan(value);
    if (isnan(value) && e->skips)
        return;
    e->open |= isinf(hard);
    long double signed_value = e->sign < 0 ? -value : value;
    if (e->count == 0 || signed_value > e->value) {
        e->value = signed_value;
        e->at = e->count;
    }
    e->low = e->count == 0 ? signed_value - hard : larger(e->low, signed_value - hard);
    e->high = e->count == 0 ? signed_value + hard : larger(e->high, signed_value + hard);
    e->likely = larger(e->likely, likely);
    e->count++;
}

static bool nan_wins(const struct extreme *e)
{
    return e->nan && !(e->skips && e->count);
}

long double extreme_value(const struct extreme *e)
{
    if (nan_wins(e))
        return NAN;
    return e->sign < 0 ? -e->value : e->value;
}

long double extreme_hard(const struct extreme *e)
{
    /* NaN wins, whatever the others may be; inf - inf: an exact infinity. */
    if (nan_wins(e))
        return 0;
    if (e->open)
        return INFINITY;
    if (isinf(e->value) && e->low == e->value)
        return 0;
    return fmaxl(e->high - e->value, e->value - e->low);
}
