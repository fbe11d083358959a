/*
 * Values with error bounds: what the reference computes with.
 *
 * `value` is the result of real arithmetic on the exact inputs, in long double (base/wide.h), which holds
 * every int64 and uint64 and is wider than float64, so one storage serves all element types. With it, for the
 * model's own type:
 *
 * - `hard`: the largest deviation from `value` that any correct implementation can show, whatever its order
 *   of summation, use of FMA, blocking or library functions;
 * - `likely`: one standard deviation of these errors, taken as independent.
 *
 * Both are NULL while every element is exact (integers, copies of inputs). An infinite hard bound means that
 * the element is not judged. It is *undecided* when `likely` is finite: the bound of an input reaches across
 * a jump. It is *open* when `likely` is infinite too: ONNX leaves the result unspecified and any value
 * passes. Arithmetic passes an infinite hard bound on to everything computed from it. It may also make both
 * bounds infinite by growth alone; `opened` tells the two apart, and the evaluator makes the latter undecided
 * (bounded_close). A jump whose possible results are known (floor, argmax) needs no infinite bound: its hard
 * bound reaches the farthest of them.
 *
 * When only shapes are computed, `value` is NULL, unless the value is a known constant.
 *
 * A weight of many elements can stay as it is stored: then `floats` are its elements, `value` is NULL, and it
 * is exact. Only kernels whose rows say so (ops/op.h: reads_floats) get such a value.
 *
 * A value can also be a sequence of tensors, or an optional that holds nothing; an optional that holds
 * something is what it holds. Both have the shape [0] and no elements, so that code for tensors that is given
 * one by mistake touches nothing; only kernels whose rows have OP_CONTAINERS get them (ops/op.h).
 */
#ifndef BOUNDS_BOUNDED_H
#define BOUNDS_BOUNDED_H

#include "base/error.h"
#include "tensor/tensor.h"

enum bounded_kind { BOUNDED_TENSOR, BOUNDED_SEQUENCE, BOUNDED_ABSENT };

struct bounded {
    enum dtype type; /* DTYPE_NONE: not set; of a sequence: that of its tensors */
    struct shape shape;
    size_t count;
    long double *value;
    double *hard, *likely; /* both or neither */
    const float *floats;   /* borrowed: the elements in place of `value`; each is a normal number or 0 */
    float largest;         /* of `floats`, in magnitude */
    bool given;            /* read, not computed: the sign of its zeros is certain */
    bool opened;           /* some element was made open, as opposed to bounds that grew infinite */
    long double *beyond; /* owned: what elements are that the type cannot hold, NaN for others; NULL: none is.
                            Copies have none: it tells where they became so */
    enum bounded_kind kind;
    size_t n_items;
    struct bounded *items; /* of a sequence, owned */
};

void bounded_init(struct bounded *b);
void bounded_release(struct bounded *b);

/* Sets type and shape, and zeroes the values unless shape_only. Refuses more than BOUNDED_LIMIT elements. */
#define BOUNDED_LIMIT ((size_t)1 << 28)
int bounded_alloc(struct bounded *b, enum dtype type, const struct shape *shape, bool shape_only,
                  struct error *err);
/* The same with values that are not set: each must be stored before it is read. */
int bounded_alloc_unset(struct bounded *b, enum dtype type, const struct shape *shape, struct error *err);
int bounded_copy(struct bounded *to, const struct bounded *from, struct error *err);

/* A sequence of `count` items, which are not set yet, or an optional that holds nothing. Refuses more than
 * SEQUENCE_LIMIT items. */
enum { SEQUENCE_LIMIT = 1 << 16 };
int bounded_sequence(struct bounded *b, enum dtype type, size_t count, struct error *err);
void bounded_absent(struct bounded *b, enum dtype type);

/* A tensor, a sequence or nothing, from outside. */
int bounded_from_value(struct bounded *b, const struct value *value, struct error *err);

/* The exact value of a tensor from an engine or a user. Only a subnormal gets a bound: it may also be read as
 * 0. */
int bounded_from_tensor(struct bounded *b, const struct tensor *tensor, struct error *err);

/*
 * The same without a copy, for large float32 tensors of ordinary numbers, whose elements are borrowed; false
 * for others. bounded_read_floats turns such a value into one that every kernel reads.
 */
bool bounded_view_floats(struct bounded *b, const struct tensor *tensor);
int bounded_read_floats(struct bounded *b, struct error *err);

/* Element i as it is stored. */
static inline long double bounded_value(const struct bounded *b, size_t i)
{
    return b->floats ? (long double)b->floats[i] : b->value[i];
}

/* The values rounded to their type, as a tensor. */
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
 * Stores element i as `value`. `hard` and its standard deviation `likely` are the error of the computation
 * and of its inputs *before* the last rounding into the type of b, which is added here. So a single correctly
 * rounded operation on exact inputs passes 0 and 0, and gets the bound 0 when its result is representable.
 * Overflow becomes an infinity, or undecided when the bound reaches across the largest number. A NaN bound
 * counts as infinite. For integer types the value must be an integer: unsigned overflow wraps, signed
 * overflow is open.
 */
void bounded_put(struct bounded *b, size_t i, long double value, long double hard, long double likely);

/* Results of a kernel before the last rounding; hard and likely NULL: they are exact, or nobody looks at
 * their bounds. */
struct bounded_row {
    size_t count;
    const double *value, *hard, *likely;
    const long double *wide; /* the values where double does not hold them; then `value` is NULL */
};

/* bounded_put for the elements from `first` on, in a fraction of its time where they are ordinary float32. */
void bounded_put_row(struct bounded *b, size_t first, const struct bounded_row *row);

/* The same for at most BOUNDED_BLOCK elements; false, with nothing stored, unless all are ordinary float32.
 */
enum { BOUNDED_BLOCK = 32 };
bool bounded_put_ordinary(struct bounded *b, size_t first, const struct bounded_row *row);

/*
 * The part of a float's hard bound that bounded_put adds for the reference, which rounds to long double:
 * where the bound counts a rounding of the engine, the reference makes at most a few. A 256th in float64,
 * nothing elsewhere.
 */
long double bounded_reference_share(enum dtype type);

/* Stores `value` for which a correct implementation may give anything in [low, high]. For jumps: no rounding
 * is added. */
void bounded_put_range(struct bounded *b, size_t i, long double value, long double low, long double high);
void bounded_put_undecided(struct bounded *b, size_t i, long double value);
void bounded_put_open(struct bounded *b, size_t i);
void bounded_doubt(struct bounded *b, size_t i); /* what is stored becomes undecided */

/*
 * Undecided, but a finite number wherever the operator is computed by the steps that its text states: an
 * implementation that gives NaN or an infinity computes it otherwise and is imprecise. Nodes that read it
 * see an undecided element; copies of it stay what they are. A mark in `likely`, which means nothing else
 * beside an infinite hard bound, says so.
 */
void bounded_put_some_number(struct bounded *b, size_t i, long double value);
bool bound_is_some_number(double hard, double likely);

/* Stores a value with bounds that are already complete. */
void bounded_set(struct bounded *b, size_t i, long double value, double hard, double likely);

/* Copies element j of `from` and its bounds; nothing is rounded. */
void bounded_move(struct bounded *b, size_t i, const struct bounded *from, size_t j);

/* The same for `count` elements. */
void bounded_move_row(struct bounded *b, size_t i, const struct bounded *from, size_t j, size_t count);

bool bounded_has_infinity(const struct bounded *b);

/* Whether an element is NaN or infinite, or may be because it is not judged. 0 times such an element is NaN
 * in an implementation that multiplies, and 0 in one that skips zeros. */
bool bounded_may_be_strange(const struct bounded *b);

/*
 * Sets NaN and infinite values of elements that are not judged to 0 before other nodes read them: the rules
 * for NaN and infinity (NaN wins, an infinity is exact) apply only to elements that certainly are so. Sets
 * *open, unless NULL, when an element is open.
 */
void bounded_settle(struct bounded *b, bool *open);

/* Notes that element i would be `value`, which the type cannot hold, for those who explain results.
 * bounded_put does so; kernels that saturate do it themselves, after they stored the element. A value within
 * the range, or NaN, is not noted. */
void bounded_note_beyond(struct bounded *b, size_t i, long double value);

/* Whether an element is open. */
bool bounded_is_open(const struct bounded *b);

/* Makes open elements undecided, with the largest likely error there is: for the result of a node none of
 * whose inputs is open, unless the node opened an element itself. */
void bounded_close(struct bounded *b);

/*
 * Makes infinities undecided for the nodes that read them. It is called for halves, which an engine may keep
 * in a wider type between nodes (most CPUs have no half arithmetic), so that what overflows as a half may
 * still be a number there; and for any type between nodes that are computed as one.
 */
void bounded_widen(struct bounded *b);

/* Rounds the values to their type and drops the bounds: what an engine would have. */
void bounded_round(struct bounded *b);

/* Adds to the bounds as if each number had been read with a few roundings more; integers are unchanged. */
void bounded_loosen(struct bounded *b);

/* Half an ulp of 1 in b's type, 0 for integers. */
double bounded_unit(const struct bounded *b);

/* hypot for standard deviations that may be infinite. */
long double likely_add(long double a, long double b);

/* The unit of rounding when computing in `type`. For integer types it is that of float32, so that no helper
 * divides by 0. */
double unit_of(enum dtype type);

#endif
