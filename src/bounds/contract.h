/*
 * Sums of products with both bounds: what MatMul, Gemm, Conv, Einsum and the recurrent operators share.
 *
 * One contraction is  sum over k of A[i,k] * B[k,j]  for i < m, j < n. The matrices are views of tensors
 * through tables of offsets, so that transposition, broadcasting, diagonals and the windows of a convolution
 * are all handled alike: element (r, c) of a view is at base + rows[r] + cols[c].
 *
 * Bounds. Let u be the unit of rounding of the type, t = ab a term, h and l the hard and the likely bound of
 * a factor, v the sum, and `roundings` the number of roundings between a term and the result. For any order
 * of summation, blocked or not, with or without FMA, in the type's own precision or a wider one:
 *     hard:   sum of (|a| hb + ha |b| + ha hb)  +  (roundings - 1) u (sum |t| + the former)
 *     likely: variance = sum of (a^2 lb^2 + la^2 b^2 + la^2 lb^2) + roundings u^2 (sum t^2 + v^2 / 9)
 * The last rounding is left to bounded_put. The hard bound needs no higher powers of u: for sums and dot
 * products in round-to-nearest the linear bound holds for every number of terms. The v^2/9 stands for partial
 * sums that grow steadily towards the result when the terms have one sign. Integers (also in float tensors)
 * with sum |t| <= 1/u are exact in every order: no error at all. When sum |t| reaches the largest number of
 * the type, a partial sum may overflow: the element is undecided, unless only one sign can overflow.
 *
 * Small contractions, float64 and wide integers are computed by plain long double loops. Larger ones run as a
 * few dgemm calls on values, magnitudes and squares, whose own error (2^-53 against 2^-24 and coarser) is
 * negligible in the bound.
 */
#ifndef BOUNDS_CONTRACT_H
#define BOUNDS_CONTRACT_H

#include "bounds/number.h"
#include "bounds/bounded.h"
#include "bounds/strides.h"

/* What a contraction needs to know of a tensor, found once by operand_of. Borrows the arrays of the tensor,
 * which must outlive it. */
struct operand {
    enum dtype type;
    const long double *value;
    const float *floats; /* in place of `value`: a weight as it is stored */
    size_t count;
    const double *hard, *likely; /* NULL: exact */
    bool integral;               /* exact, and every value an integer */
    bool finite;                 /* every value and every hard bound is finite */
    long double largest; /* magnitude that an element may have; those that are not judged do not count */
};
struct operand operand_of(const struct bounded *b);

/* A matrix over an operand: element (r, c) is at base + rows[r] + cols[c]. The tables are borrowed. */
struct view {
    const struct operand *of;
    size_t base;
    const size_t *rows, *cols;
};

/* Receives each sum once, in no particular order. Its bounds do not include the last rounding, which
 * bounded_put or number_put adds when the sink stores it. */
typedef void contract_sink(void *context, size_t i, size_t j, struct number sum);

/* Receives sums of row i, from column j on, at once: where all of them are ordinary numbers. Their likely
 * error is at most the hard one. */
typedef void contract_row(void *context, size_t i, size_t j, const struct bounded_row *sums);

/* What is done to each sum before the sink gets it: y = alpha * sum + beta * c[rows[i] + cols[j]], as in Gemm
 * or for a bias. */
struct epilogue {
    long double alpha, beta;
    const struct bounded *c; /* NULL: nothing is added */
    const size_t *rows, *cols;
};

struct contraction {
    enum dtype type; /* of the output: the least precise type that an engine may sum in */
    size_t m, n, k;
    struct view a, b; /* a: m rows, k columns; b: k rows, n columns */
    /*
     * Roundings between one term and the result: k for a plain sum of products. contract adds those of the
     * epilogue.
     */
    double roundings;
    const struct epilogue *then; /* NULL: none */
    bool unbounded;              /* nobody looks at the bounds of the sums: they may be 0 */
    contract_sink *sink;
    contract_row *row; /* NULL: each sum goes to the sink */
    void *context;
};

/* Computes all m * n sums and passes them to the sink. Fails only when there is no memory. */
int contract(const struct contraction *c, struct error *err);

/* From here on the products of this process are computed on the thread that asks for them. */
void contract_on_one_thread(void);

/* Whether the elements of row i of A, or those of column j of B, may add up to more than the type can hold.
 * An implementation that sums an operand before it multiplies may then overflow. */
bool contract_strays(const struct contraction *c, size_t i, size_t j);

/* The largest error that underflow may cause in one product. Halves are never flushed to 0. */
long double contract_underflow(enum dtype type);

/* Tables of offsets on the heap; NULL and an error when there is no memory or, in offsets_of, for more than
 * BOUNDED_LIMIT entries. offsets_linear: 0, step, 2 step ..., `count` in all. offsets_of: of all indices of a
 * shape in row-major order, under the given strides. */
size_t *offsets_linear(size_t count, size_t step, struct error *err);
size_t *offsets_of(const struct shape *shape, const struct strides *strides, struct error *err);

#endif
