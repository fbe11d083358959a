/*
 * Sums with their rounding error: what every reduction, pooling and normalisation adds up with.
 *
 * A correct implementation may add in any order, in blocks, in the tensor's own type or wider. With (1+u)^n-1
 * as the factor of n roundings the hard bound is ((1+u)^n - 1) * sum|t| plus the terms' own bounds. The
 * likely bound takes each rounding as independent: u^2/3 times the squares of the partial sums (adding one
 * after the other), and of n sum t^2 (any other order).
 */
#ifndef BOUNDS_SUM_H
#define BOUNDS_SUM_H

#include "tensor/dtype.h"

struct sum {
    long double value;     /* of the finite terms, or NaN or an infinity */
    long double magnitude; /* sum of |t| over finite terms */
    long double squares;   /* sum of t^2 */
    long double walk;      /* sum of the squares of partial sums */
    long double hard;      /* sum of the terms' bounds */
    long double variance;  /* sum of the squares of the terms' deviations */
    size_t count;
    bool inexact; /* a term is no integer or has a bound: partial sums may need rounding */
    bool up, down, nan;
};

/* Adds a term with its bounds. Start from {0}. */
void sum_add(struct sum *s, long double term, long double hard, long double likely);

/* The sum: NaN or infinite when a term is. */
long double sum_value(const struct sum *s);

/* Its bounds when it is computed with unit roundoff `unit`; 0 when no partial sum needs rounding. */
long double sum_hard(const struct sum *s, double unit);
long double sum_likely(const struct sum *s, double unit);

/* A partial sum may overflow in `type` although the whole does not (or the other way round). */
bool sum_overflows(const struct sum *s, enum dtype type);

/* (1+unit)^count - 1 */
long double rounding_growth(double unit, size_t count);

/*
 * The largest (or least: sign -1) of several elements: 1-Lipschitz in the largest deviation, so the interval
 * is that of the ends, and the deviation at most the largest one. NaN wins.
 */
struct extreme {
    long double value, low, high, likely; /* of sign * element */
    size_t at, count;
    int sign;
    bool nan;
    bool open; /* one may be anything, NaN included */
};
void extreme_add(struct extreme *e, long double value, long double hard, long double likely);
long double extreme_value(const struct extreme *e);
long double extreme_hard(const struct extreme *e);

#endif
