/*
 * Values with error bounds: what the reference computes with.
 *
 * `value` is the result of real arithmetic on the exact inputs, in long double: its 64-bit mantissa holds
 * every int64 and uint64, and is wider than float64, so one storage serves all element types. Beside it, for
 * the model's own type:
 *
 * - `hard`: the largest deviation from `value` that any correct implementation can show, whatever its order
 * of summation, FMA, blocking or library functions;
 * - `likely`: one standard deviation of the same errors taken as independent.
 *
 * Both are NULL while every element is exact (integers, copies of inputs). An infinite hard bound means the
 * element is not judged: *undecided* when `likely` is finite (an input's bound straddles a jump), *open* when
 * `likely` is infinite too (the ONNX text leaves the result open: any value passes). Arithmetic carries an
 * infinite hard bound to everything computed from it. A jump whose candidates are known (floor, argmax) is no
 * infinity: its hard bound reaches the farthest candidate.
 *
 * When only shapes are asked for, `value` is NULL, unless the value is a known constant.
 */
#ifndef BOUNDS_BOUNDED_H
#define BOUNDS_BOUNDED_H

#include "base/error.h"
#include "tensor/tensor.h"

struct bounded {
    enum dtype type; /* DTYPE_NONE: not set */
    struct shape shape;
    size_t count;
    long double *value;
    double *hard, *likely; /* both or neither */
    bool given;            /* as it was read, not computed: its zeros have a sign that counts */
};

void bounded_init(struct bounded *b);
void bounded_release(struct bounded *b);

/* Type and shape; values zeroed unless shape_only. Refuses tensors beyond BOUNDED_LIMIT elements. */
#define BOUNDED_LIMIT ((size_t)1 << 28)
int bounded_alloc(struct bounded *b, enum dtype type, const struct shape *shape, bool shape_only,
                  struct error *err);
int bounded_copy(struct bounded *to, const struct bounded *from, struct error *err);

/* An exact value from an engine's or a user's tensor; only a subnormal may also be read as 0. */
int bounded_from_tensor(struct bounded *b, const struct tensor *tensor, struct error *err);

/* The value rounded into its own type. */
int bounded_to_tensor(const struct bounded *b, struct tensor *tensor, struct error *err);

static inline double bounded_hard(const struct bounded *b, size_t i)
{
    return b->hard ? b->hard[i] : 0;
}

static inline double bounded_likely(const struct bounded *b, size_t i)
{
    return b->hard ? b->likely[i] : 0;
}

/*
 * Stores element i computed as `value`, with the error `hard` (and its standard deviation `likely`) that the
 * computation and the inputs' bounds make *before* the last rounding into b's type; the last rounding is
 * added here. So a single correctly rounded operation on exact inputs passes 0 and 0, and gets bound 0 when
 * its result is representable. Overflow becomes an infinity, or undecided when the bound straddles the
 * largest number. A NaN bound counts as infinite. For integer types the value must be an integer: unsigned
 * overflow wraps, signed overflow is open.
 */
void bounded_put(struct bounded *b, size_t i, long double value, long double hard, long double likely);

/* Stores `value`; a correct implementation may give anything in [low, high]. For jumps: no rounding is added.
 */
void bounded_put_range(struct bounded *b, size_t i, long double value, long double low, long double high);
void bounded_put_undecided(struct bounded *b, size_t i, long double value);
void bounded_put_open(struct bounded *b, size_t i);

/* Stores a value with its finished bounds, as somebody else computed them. */
void bounded_set(struct bounded *b, size_t i, long double value, double hard, double likely);

/* Copies element j of `from` with its bounds: no arithmetic, no rounding. */
void bounded_move(struct bounded *b, size_t i, const struct bounded *from, size_t j);

bool bounded_has_infinity(const struct bounded *b);

/* Whether an element is no number, or may be none as it may be anything: 0 times it is NaN where an
 * implementation multiplies, and nothing where it skips. */
bool bounded_may_be_strange(const struct bounded *b);

/*
 * An element that may be anything is no NaN and no infinity to those who read it: their rules for these
 * (NaN wins, an infinity is exact) are for elements that are so for certain. *open, if it is there, is set
 * when one is open.
 */
void bounded_settle(struct bounded *b, bool *open);

/*
 * An engine may keep a half in a wider type on the way from node to node (most CPUs have no half arithmetic),
 * so a half that overflowed may still be a number there: undecided for whoever reads it. So is any type on
 * the way inside nodes that are computed as one.
 */
void bounded_widen(struct bounded *b);

/* The value rounded into its type, without bounds: what an engine has. */
void bounded_round(struct bounded *b);

/* As if each number had been read with some units of its own rounding more; integers stay as they are. */
void bounded_loosen(struct bounded *b);

/* Half an ulp of 1 in b's type, 0 for integers. */
double bounded_unit(const struct bounded *b);

/* hypot for standard deviations that may be infinite. */
long double likely_add(long double a, long double b);

/* The unit of rounding for computing in `type`: of float32 for integer types, so that helpers never divide by
 * 0. */
double unit_of(enum dtype type);

#endif
