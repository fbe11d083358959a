/*
 * Sums of products with both bounds: what MatMul, Gemm, Conv, Einsum and the recurrent operators share.
 *
 * One contraction is  sum over k of A[i,k] * B[k,j]  for i < m, j < n. The matrices are views of tensors
 * through tables of offsets, so that transposition, broadcasting, diagonals and the windows of a convolution
 * are all the same thing: element (r, c) of a view is at base + rows[r] + cols[c].
 *
 * Bounds. With n terms t = ab, in any order, blocked, with or without FMA, in the type's own precision u or
 * in a wider one:
 *   hard:   sum of (|a| hb + ha |b| + ha hb)  +  (roundings - 1) u (sum |t| + the former)
 *   likely: variance = sum of (a^2 lb^2 + la^2 b^2 + la^2 lb^2) + roundings u^2 (sum t^2 + v^2 / 9)
 * The last rounding is left to bounded_put. The hard form needs no higher powers of u: for sums and dot
 * products in round-to-nearest the linear bound holds for every n. The v^2/9 stands for partial sums that
 * grow steadily towards the result when the terms have one sign. Integers (also in float tensors) with sum
 * |t| <= 1/u are exact in every order: no error at all. When sum |t| reaches the type's largest number a
 * partial sum may overflow: the element is undecided, unless only one sign can overflow.
 *
 * Small contractions, float64 and wide integers are plain long double loops; larger ones run as a few dgemm
 * on values, magnitudes and squares, whose own error (2^-53 against 2^-24 and coarser) vanishes in the bound.
 */
#ifndef BOUNDS_CONTRACT_H
#define BOUNDS_CONTRACT_H

#include "bounds/number.h"
#include "bounds/bounded.h"
#include "bounds/strides.h"

/* What a contraction needs to know of a tensor, found once. Borrows the tensor's arrays. */
struct operand {
    enum dtype type;
    const long double *value;
    const double *hard, *likely; /* NULL: exact */
    bool integral;               /* exact, and every value an integer */
    bool finite;                 /* every value finite, and none may be anything */
    long double largest;         /* magnitude that an element may have; one that may be anything aside */
};
struct operand operand_of(const struct bounded *b);

struct view {
    const struct operand *of;
    size_t base;
    const size_t *rows, *cols;
};

/* Gets each sum once, in no particular order; its last rounding is not in the bounds yet. */
typedef void contract_sink(void *context, size_t i, size_t j, struct number sum);

/* What follows a sum: y = alpha * sum + beta * c[rows[i] + cols[j]], as in Gemm, or a bias. */
struct epilogue {
    long double alpha, beta;
    const struct bounded *c; /* NULL: nothing is added */
    const size_t *rows, *cols;
};

struct contraction {
    enum dtype type; /* the type the engine accumulates in at worst: the output's */
    size_t m, n, k;
    struct view a, b; /* a: m rows, k columns; b: k rows, n columns */
    /*
     * Roundings on the way of one term into the result: k when it is a plain sum of products; the epilogue's
     * are added by contract.
     */
    double roundings;
    const struct epilogue *then; /* NULL: none */
    contract_sink *sink;
    void *context;
};
int contract(const struct contraction *c, struct error *err);

/* Whether the elements of A's row i, or those of B's column j, may sum up to more than the type holds. */
bool contract_strays(const struct contraction *c, size_t i, size_t j);

/* What underflow may take from one product; halves are never flushed. */
long double contract_underflow(enum dtype type);

/* Table 0, step, 2 step ... of `count` offsets; and of all index tuples of a shape under strides. Heap. */
size_t *offsets_linear(size_t count, size_t step, struct error *err);
size_t *offsets_of(const struct shape *shape, const struct strides *strides, struct error *err);

#endif
