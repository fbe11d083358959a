/*
 * Sums with their rounding error: what every reduction, pooling and normalisation adds up with.
 *
 * A correct implementation may add in any order, in blocks, in the type of the tensor or a wider one. With n
 * roundings of unit u the hard bound is ((1+u)^n - 1) * sum|t| plus the bounds of the terms t themselves. The
 * likely bound takes the roundings as independent: its variance is u^2/3 times the squares of the partial
 * sums (the error of adding one term after the other) and n sum t^2 (that of any other order).
 */
#ifndef BOUNDS_SUM_H
#define BOUNDS_SUM_H

#include "tensor/dtype.h"

struct sum {
    long double value;     /* sum of the finite terms, or NaN or an infinity */
    long double magnitude; /* sum of |t| over finite terms */
    long double squares;   /* sum of t^2 */
    long double walk;      /* sum of the squares of partial sums */
    long double hard;      /* sum of the terms' bounds */
    long double variance;  /* sum of the squares of the terms' deviations */
    size_t count;
    bool inexact;       /* a term is no integer or has a bound: partial sums may need rounding */
    bool up, down, nan; /* a term is inf, -inf, NaN */
};

/* Adds a term with its bounds. Start from {0}. */
void sum_add(struct sum *s, long double term, long double hard, long double likely);

/* The sum: NaN or infinite when a term is. */
long double sum_value(const struct sum *s);

/* Its bounds when it is computed with unit roundoff `unit`; 0 when no partial sum needs rounding. */
long double sum_hard(const struct sum *s, double unit);
long double sum_likely(const struct sum *s, double unit);

/* Whether a partial sum may overflow in `type` although the whole sum does not, or the other way round. */
bool sum_overflows(const struct sum *s, enum dtype type);

/*
 * The error of x to the power of `inverse` (1/2, 1/3 ...) where x inherits an error from the inputs and has
 * one of its own. A root is steepest at 0, so what x has of its own counts most where x is smallest: it is
 * taken there, in addition to what is inherited.
 */
long double root_hard(long double x, long double inherited, long double own, long double inverse);

/* (1+unit)^count - 1 */
long double rounding_growth(double unit, size_t count);

/*
 * The largest of several elements, or the least with sign -1. It changes by no more than the largest change
 * of an element, so its interval is that of the ends, and its deviation at most the largest one. NaN wins.
 */
struct extreme {
    long double value, low, high, likely; /* of sign * element */
    size_t at, count;
    int sign;
    bool nan;
    bool skips; /* set before: NaN does not win, unless there is nothing else */
    bool open;  /* an element may be anything, NaN included */
};
void extreme_add(struct extreme *e, long double value, long double hard, long double likely);
long double extreme_value(const struct extreme *e);
long double extreme_hard(const struct extreme *e);

#endif
