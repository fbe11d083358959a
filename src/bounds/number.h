/*
 * Scalars with error bounds: intermediate results inside a kernel, before they are stored in a tensor.
 *
 * `v` is the exact value, `h` the largest deviation that any correct implementation can show, `l` one
 * standard deviation. Every operation takes the unit of rounding `u` of the type the engine computes in, and
 * includes the rounding of its result. NaN and infinite bounds are passed on and finally mean "not judged"
 * (bounded_put).
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

/*
 * The product of several numbers, which are multiplied in any order in `type` with unit `u`. Undecided (h is
 * infinite) where a partial product may overflow; what is lost where one may underflow is in the bounds.
 */
struct number number_product(const struct number *factors, size_t count, enum dtype type, long double u);

/* How large a number may be, and how small. */
long double number_most(struct number a);
long double number_least(struct number a);

/* Adds an error of the computation itself: at most `hard`, of standard deviation `likely`. */
struct number number_loosen(struct number a, long double hard, long double likely);

/*
 * A monotone function of a number: the image of the interval of the argument, and `own`, the largest error of
 * the function itself (a quarter of it is taken as its standard deviation). `context` is passed to f.
 */
struct number number_monotone(struct number a, long double (*f)(long double x, const void *context),
                              const void *context, long double own);

/* Clamps to [-limit, limit]. */
struct number number_clamp(struct number a, long double limit);

/* Whether a product with it, or with its reciprocal, is exact but for overflow and underflow. */
bool is_power_of_two(long double value);

/* bounded_put of a number. The last rounding is already in the bounds of n, so it is counted twice: that
 * costs little, and covers an implementation that computes in a wider type and rounds when it stores. */
void number_put(struct bounded *b, size_t i, struct number n);

#endif
