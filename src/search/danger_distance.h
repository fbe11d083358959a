/* The distances of single numbers to what is dangerous: 0 is reached, 1 is far (danger.h). */
#ifndef SEARCH_DANGER_DISTANCE_H
#define SEARCH_DANGER_DISTANCE_H

#include "tensor/dtype.h"

/* Of value to the power of `power` to an overflow of the type. */
double distance_to_overflow(enum dtype type, long double value, double power);

/* Of exp(value) to an overflow of the type. */
double distance_to_exp_overflow(enum dtype type, long double value);

/* Of a number that is `margin` away from a pole; 0 only for 0 itself. */
double distance_to_pole(enum dtype type, long double margin);

/* Of a number that is `margin` inside a domain, which its end belongs to; 0 when it is outside. */
double distance_to_edge(enum dtype type, long double margin);

#endif
