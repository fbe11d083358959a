/*
 * What the reference computes, held against mathematics: true values by MPFR, and the tables of results.
 *
 * Everything here is computed apart from the reference: only types, shapes and attributes are shared. Sums
 * and products are exact in PRECISION_EXACT bits, because a product of two float64 spans 4,200 of them;
 * roots, quotients and functions are right to PRECISION_FUNCTION bits or more.
 *
 * The properties that are checked of each judged element, whose value is v and whose hard bound is h:
 * - the true value t, rounded to the element's type, is in [v - h, v + h]: the best possible engine is never
 *   called wrong;
 * - t itself is, unless h is 0, where v must be t rounded.
 */
#ifndef MATHEMATICS_TRUTH_H
#define MATHEMATICS_TRUTH_H

#include "ops/draw.h"

#include <stdio.h> /* before mpfr.h, which then prints */

#include <mpfr.h>

enum {
    PRECISION_EXACT = 4400,
    PRECISION_FUNCTION = 320,
};

/* One row of the table: an operator on one type. */
struct tally {
    char name[48];
    enum dtype type;
    size_t elements, unjudged, outside;
    double ulps;  /* largest |v - t| in units in the last place of t in long double */
    double share; /* largest |v - t| / h */
};

/* The row of an operator and a type, made when it is not there. */
struct tally *tally_of(const char *name, enum dtype type);

/* Prints all rows; returns how many elements are outside. */
size_t tally_print(void);

/* What is looked at, for messages about an element that is outside. */
extern char truth_place[256];

/* True values of a tensor; shape and type are those of the reference's output. */
struct reals {
    enum dtype type;
    struct shape shape;
    size_t count;
    mpfr_t *at;
};
struct reals reals_make(enum dtype type, const struct shape *shape);
struct reals reals_of(const struct bounded *b); /* its values without bounds */
void reals_free(struct reals *r);

/* Rounds to nearest into a type: floats overflow to infinity, integers truncate. */
void truth_round(mpfr_t rounded, enum dtype type, mpfr_srcptr truth);

/* Holds element i of the reference's output against the true value. */
void truth_check(struct tally *tally, const struct bounded *out, size_t i, mpfr_srcptr truth);

/* A bounded tensor of rank 1 from long doubles, read as one from outside. */
void truth_input(struct bounded *b, enum dtype type, const long double *values, size_t count);

/* A call of a node in opset 21 with one output. */
struct op_call truth_call(const struct op *op, const Onnx__NodeProto *node, size_t n_inputs,
                          const struct bounded *const *inputs, struct bounded *out, struct error *err);

/* Runs a node of the reference; false when it does not support it. */
bool truth_run(struct op_call *call);

/*
 * A mixture of numbers of a type: specials first (zeros, infinities, NaN, ends of the range, neighbours of 1,
 * thresholds of functions), then random bit patterns, numbers in [low, high] and neighbours of specials.
 * Every bit pattern of a half when `count` allows.
 */
void points_fill(enum dtype type, long double *points, size_t count, double low, double high,
                 struct rng *rng);
size_t points_special(enum dtype type, long double *points, size_t room);

/* How many of an operator's points one type gets: halves no more than they have bit patterns, float32 and
 * float64 the rest, integers few. */
size_t points_share(size_t count, enum dtype type);

/* The three parts of the test. `count` is the number of points, or of nodes, of each operator, over all
 * types; only operators whose name contains `only`. */
void check_functions(size_t count, uint64_t seed, const char *only);
void check_pairs(size_t count, uint64_t seed, const char *only);
void check_nodes(size_t count, uint64_t seed, const char *only);

#endif
