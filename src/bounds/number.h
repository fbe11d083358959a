/*
 * Scalars with error bounds: intermediate results inside a kernel, before they are put into a tensor.
 *
 * `v` is the exact value, `h` the largest deviation any correct implementation can show, `l` one standard
 * deviation. Every operation takes the unit of rounding `u` of the type the engine computes in; the result's
 * rounding is included. NaN and infinite bounds travel on and mean "not judged" in the end (bounded_put).
 */
#ifndef BOUNDS_NUMBER_H
#define BOUNDS_NUMBER_H

#include "bounds/bounded.h"

struct number {
    long double v, h, l;
};

struct number number_exact(long double value);
struct number number_of(const struct bounded *b, size_t i);

struct number number_add(struct number a, struct number b, long double u);
struct number number_sub(struct number a, struct number b, long double u);
struct number number_mul(struct number a, struct number b, long double u);

/* More error of the computation itself: `hard` at most, of standard deviation `likely`. */
struct number number_loosen(struct number a, long double hard, long double likely);

/*
 * A monotone function on a number: what the interval of the argument becomes, and `own`, the largest error of
 * the function itself (of which a quarter is taken as its standard deviation). `context` goes to f.
 */
struct number number_monotone(struct number a, long double (*f)(long double x, const void *context),
                              const void *context, long double own);

/* Into [-limit, limit]. */
struct number number_clamp(struct number a, long double limit);

/* number_put(b, i, n) is bounded_put; n's own last rounding being in it already, the bound counts it twice:
 * cheap, and it covers a store into the type after computing wider. */
void number_put(struct bounded *b, size_t i, struct number n);

#endif
