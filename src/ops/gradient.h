/*
 * Gradients of one node, by reverse differentiation: from the derivatives of some scalar by the outputs
 * follow its derivatives by the inputs, with both bounds. What every kernel of a gradient needs.
 *
 * The bounds hold for any correct implementation, whichever of the usual formulas it uses: from the input or
 * from the output of the node, y (1 - y) or e^-x / (1 + e^-x)^2, with sums in any order. ONNX says nothing of
 * derivatives where there is none. At a kink (Relu at 0, equal elements under Max) the bound reaches from one
 * side's derivative to the other's; where the derivative is infinite, the result is undecided.
 */
#ifndef OPS_GRADIENT_H
#define OPS_GRADIENT_H

#include "bounds/contract.h"
#include "bounds/number.h"
#include "bounds/sum.h"
#include "ops/op.h"

struct op_gradient {
    struct op_call *call; /* evaluated: inputs and outputs have their values */
    /* For each output of the call, the derivatives of the scalar by its elements; NULL: all are 0. */
    const struct bounded *const *upstream;
    /* For each input, whether its derivatives are asked for; only inputs of floating-point type are. */
    const bool *wanted;
    /* For each input, the derivatives by its elements. The kernel makes those that are wanted with
     * gradient_make; what it leaves unmade counts as 0. */
    struct bounded *slopes;
};

/*
 * Makes the slope of an input, in its type and shape, exact zeros. NULL when it is not wanted, and when there
 * is no memory; then call->err is set.
 */
struct bounded *gradient_make(struct op_gradient *g, size_t input);

/* The same in *slope; NULL also when no derivative by any output is given, so that the slope stays 0. Fails
 * only when there is no memory. */
int gradient_begin(struct op_gradient *g, size_t input, struct bounded **slope);

/* Element i of the derivatives by output `output`: exactly 0 where there are none. */
struct number gradient_upstream(const struct op_gradient *g, size_t output, size_t i);

/*
 * The product of an upstream derivative and other factors, as implementations compute it: in any order and
 * grouping, each product rounded in `type`, a factor perhaps the reciprocal of what the implementation
 * divides by. Undecided when any of these products overflows or a factor is not finite; where one underflows,
 * what is lost is in the bounds. At most GRADIENT_FACTORS factors.
 */
enum { GRADIENT_FACTORS = 5 };
struct number gradient_factors(const struct number *factors, size_t count, enum dtype type);

/* A single product, which every implementation rounds once. */
struct number gradient_product(struct number a, struct number b, enum dtype type);

/* 1/b for all divisors within the bound, rounded; undecided when b may be 0. */
struct number gradient_inverse(struct number b, enum dtype type);

/* The share of one of `count` elements in their mean: 1 / count, or a quotient. */
struct number gradient_share(size_t count, enum dtype type);

/* Any number from one to the other, both of which must be numbers: what implementations give at a kink or a
 * tie, where each takes the derivative of one side or something between them. */
struct number gradient_between(struct number a, struct number b);

/* Whether the number is subnormal: an implementation that reads it as 0, and looks for the element that is
 * equal to the result, may find none. */
bool gradient_may_vanish(long double value, enum dtype type);

/* A number of which nothing is known. */
struct number gradient_undecided(void);

/* Whether what arrives is a number: an implementation that multiplies by masks of 0 and 1 makes NaN of an
 * infinity or a NaN, even where the mask is 0. */
bool gradient_is_number(struct number n);

/* Whether no output is differentiated. */
bool gradient_is_idle(const struct op_gradient *g);

/* Stores a number that is complete but for its last rounding. */
void gradient_store(struct bounded *slope, size_t i, struct number n);

/*
 * Sums of any number of terms for each element of a slope, with the bounds of sums in any order (sum.h). For
 * operands that broadcast, and for elements that are read several times.
 */
struct gradient_sums {
    struct bounded *slope;
    struct sum *sums; /* one for each element */
};
int gradient_sums_init(struct gradient_sums *s, struct bounded *slope, struct error *err);
void gradient_sums_add(struct gradient_sums *s, size_t i, struct number term);
void gradient_sums_undecided(struct gradient_sums *s, size_t i);
/* Stores the sums in the slope and releases them. */
void gradient_sums_store(struct gradient_sums *s);

/* The slope of an input whose derivatives nobody computes (scales, regions): every element is undecided. */
int gradient_leave_undecided(struct op_gradient *g, size_t input);

/*
 * A sink of contract.h: the sum (i, j) is element base + rows[i] + cols[j] of a slope. A sum with a NaN or an
 * infinity is undecided, because implementations differ in whether they multiply by zeros.
 */
struct gradient_target {
    struct bounded *slope;
    size_t base;
    const size_t *rows, *cols;
};
void gradient_put(void *target, size_t i, size_t j, struct number sum);

/* Both for the slopes of all inputs, of which those that are not wanted have no sums; release in any case,
 * also after a failure. Adding to the sums of an input that is not wanted does nothing. */
int gradient_sums_all(struct op_gradient *g, struct gradient_sums **sums);
void gradient_sums_finish(const struct op_gradient *g, struct gradient_sums *sums);

/*
 * The whole gradient of an operator that only moves elements of its inputs or puts constants beside them
 * (Transpose, Slice, Pad, Concat, Gather, Where ...): the kernel itself is run on numbered elements to see
 * where each came from.
 */
int gradient_of_moves(struct op_gradient *g);

#endif
