/*
 * The type that the reference computes in, `long double`, and what the bounds count on: a mantissa of 64
 * bits, which holds every int64, uint64 and float64, and exponents far beyond those of float64. No other file
 * says how wide it is.
 *
 * On x86 these 64 bits are what the processor has. Elsewhere `long double` has 113 bits, computed in software
 * (aarch64, riscv64, loongarch64): results are then nearer to the exact ones than the bounds ask, and the
 * bounds are the same, so that a verdict does not depend on the machine that judges. Where it is shorter, or
 * is a pair of doubles, which has not the exponents, meson.build refuses to configure
 * (docs/dependencies.md#other-processors).
 */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define WIDE_BITS 64
#define WIDE_UNIT 0x1p-64L /* half an ulp of 1: the relative error of a rounding, at most */
#define WIDE_HIGHEST LDBL_MAX
/* The exponents of the smallest number, which has one bit, and behind the largest, at the least. */
#define WIDE_LOWEST_EXPONENT (-16445)
#define WIDE_HIGHEST_EXPONENT 16384

_Static_assert(LDBL_MANT_DIG >= WIDE_BITS && LDBL_MAX_EXP >= WIDE_HIGHEST_EXPONENT &&
                   LDBL_MIN_EXP - WIDE_BITS <= WIDE_LOWEST_EXPONENT,
               "long double is too short for the reference");

/* Computed in software, at fifty times the instructions: long sums are worth another way. */
#define WIDE_IN_SOFTWARE (LDBL_MANT_DIG > WIDE_BITS)

/*
 * Sums of products in pairs of doubles, high + low, of which the processor has all operations. Of n products
 * of numbers that wide_pair_holds the sum is within 2 n^2 2^-106 of the sum of their magnitudes: finer than
 * what n additions of 64 bits give, for any n below 2^40.
 */
struct wide_pair {
    double high, low;
};

static inline bool wide_pair_holds(long double value)
{
    return value == 0 || (fabsl(value) >= 0x1p-200L && fabsl(value) <= 0x1p200L);
}

static inline struct wide_pair wide_split(long double value)
{
    double high = (double)value;
    return (struct wide_pair){high, (double)(value - high)};
}

static inline long double wide_join(struct wide_pair pair)
{
    return (long double)pair.high + pair.low;
}

static inline struct wide_pair wide_pair_product(struct wide_pair a, struct wide_pair b)
{
    double high = a.high * b.high;
    return (struct wide_pair){high, fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high)};
}

static inline void wide_pair_add(struct wide_pair *sum, struct wide_pair term)
{
    double high = sum->high + term.high, added = high - sum->high;
    sum->low += (sum->high - (high - added)) + (term.high - added) + term.low;
    sum->high = high;
}

#endif
