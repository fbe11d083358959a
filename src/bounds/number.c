#include "bounds/number.h"

#include <math.h>

struct number number_exact(long double value)
{
    return (struct number){.v = value};
}

struct number number_of(const struct bounded *b, size_t i)
{
    return (struct number){b->value[i], bounded_hard(b, i), bounded_likely(b, i)};
}

static struct number rounded(long double v, long double h, long double l, long double u)
{
    /* A rounding error is uniform within half an ulp; u|v| / sqrt(3) is its standard deviation at most. */
    return (struct number){v, h + u * (fabsl(v) + h), likely_add(l, 0.577350269L * u * fabsl(v))};
}

struct number number_add(struct number a, struct number b, long double u)
{
    return rounded(a.v + b.v, a.h + b.h, likely_add(a.l, b.l), u);
}

struct number number_sub(struct number a, struct number b, long double u)
{
    return rounded(a.v - b.v, a.h + b.h, likely_add(a.l, b.l), u);
}

struct number number_mul(struct number a, struct number b, long double u)
{
    long double v = a.v * b.v, h = fabsl(a.v) * b.h + fabsl(b.v) * a.h + a.h * b.h;
    long double p = a.v * b.l, q = b.v * a.l, r = a.l * b.l, own = 0.577350269L * u * fabsl(v);
    /* One root for all of likely_add's, which is where the time would go. */
    long double squares = p * p + q * q + r * r + own * own;
    bool plain = squares > 0x1p-16000L && squares < 0x1p16000L;
    long double l = plain ? sqrtl(squares) : likely_add(likely_add(likely_add(p, q), r), own);
    return (struct number){v, h + u * (fabsl(v) + h), l};
}

long double number_most(struct number a)
{
    return fabsl(a.v) + a.h;
}

long double number_least(struct number a)
{
    return fmaxl(fabsl(a.v) - a.h, 0);
}

struct number number_product(const struct number *factors, size_t count, enum dtype type, long double u)
{
    struct dtype_precision p = dtype_precision(type);
    struct number product = number_exact(1);
    long double high = 1, low = 1;
    for (size_t i = 0; i < count; i++) {
        struct number x = factors[i];
        product = number_mul(product, x, i > 0 ? u : 0);
        high *= fmaxl(1, number_most(x));
        low *= x.v == 0 && x.h == 0 ? 1 : fminl(1, number_least(x));
    }
    if (!(high < dtype_highest(type))) {
        product.h = INFINITY;
    } else if (low < p.tiny) {
        /* The error of a partial product that underflows may be multiplied by the other factors. */
        long double lost = (type == DTYPE_FLOAT16 ? p.smallest : p.tiny) * (long double)count * high;
        product = number_loosen(product, lost, lost / 3);
    }
    return product;
}

struct number number_loosen(struct number a, long double hard, long double likely)
{
    return (struct number){a.v, a.h + hard, likely_add(a.l, likely)};
}

static long double reach(long double centre, long double low, long double high)
{
    return fmaxl(fabsl(high - centre), fabsl(centre - low));
}

struct number number_monotone(struct number a, long double (*f)(long double x, const void *context),
                              const void *context, long double own)
{
    struct number y = {.v = f(a.v, context)};
    if (a.h > 0)
        y.h = isfinite(a.h) ? reach(y.v, f(a.v - a.h, context), f(a.v + a.h, context)) : INFINITY;
    if (a.l > 0)
        y.l = isfinite(a.l) ? reach(y.v, f(a.v - a.l, context), f(a.v + a.l, context)) : INFINITY;
    return number_loosen(y, own, own / 4);
}

static long double clamp(long double x, const void *context)
{
    long double limit = *(const long double *)context;
    return isnan(x) ? x : fmaxl(-limit, fminl(limit, x));
}

struct number number_clamp(struct number a, long double limit)
{
    return number_monotone(a, clamp, &limit, 0);
}

bool is_power_of_two(long double value)
{
    int exponent;
    return isfinite(value) && fabsl(frexpl(value, &exponent)) == 0.5L;
}

void number_put(struct bounded *b, size_t i, struct number n)
{
    /* The standard deviation of an error of at most h is at most h. */
    bounded_put(b, i, n.v, n.h, fminl(n.l, n.h));
}
