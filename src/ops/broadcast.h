/*
 * The walk over several inputs that broadcast together, and the drawing of such inputs: what binary and
 * variadic operators share.
 */
#ifndef OPS_BROADCAST_H
#define OPS_BROADCAST_H

#include "ops/draw.h"
#include "ops/gradient.h"

/* The walk over all inputs of a call. at[k] is the element of input k for the current output element. */
struct broadcast {
    struct shape shape;
    size_t count; /* of inputs */
    struct strides *strides;
    size_t *at;
    int64_t index[TENSOR_MAX_RANK];
};

/* Fails with ERROR_INVALID when an input is missing or the shapes do not broadcast. Release in any case. */
int broadcast_init(struct broadcast *b, struct op_call *call);
void broadcast_next(struct broadcast *b);
void broadcast_release(struct broadcast *b);

/* Fails with ERROR_INVALID unless all inputs from `first` on have one type. */
int broadcast_same_type(struct op_call *call, size_t first);

/* The two operands of one output element, with their bounds. */
struct pair {
    struct op_call *call;
    enum dtype type; /* of the output */
    long double a, hard_a, likely_a;
    long double b, hard_b, likely_b;
    bool exact;   /* both bounds are 0 */
    bool given_b; /* b was read, not computed: see bounded.given */
};

/* The whole kernel of a binary operator; the output has type `type` (DTYPE_NONE: input 0's). */
int broadcast_binary(struct op_call *call, enum dtype type,
                     void (*put)(const struct pair *pair, struct bounded *out, size_t i));

/* Operands of several output elements, some of which may be one element of the input, repeated; and what an
 * operator makes of them before the last rounding. */
struct pair_row {
    size_t count; /* at most BOUNDED_BLOCK */
    long double a[BOUNDED_BLOCK], b[BOUNDED_BLOCK];
    double hard_a[BOUNDED_BLOCK], hard_b[BOUNDED_BLOCK], likely_a[BOUNDED_BLOCK], likely_b[BOUNDED_BLOCK];
    long double value[BOUNDED_BLOCK];
    double hard[BOUNDED_BLOCK], likely[BOUNDED_BLOCK];
};

/* The same, with `row` to compute several elements of float32 at once: what `put` would store, with bounds in
 * double. It is asked only where standard deviations are below 2^200, and returns false where it does not
 * know; then, and where an element turns out not to be an ordinary number, each is put by itself. */
int broadcast_binary_rows(struct op_call *call, enum dtype type,
                          void (*put)(const struct pair *pair, struct bounded *out, size_t i),
                          bool (*row)(struct pair_row *row));

/*
 * The whole gradient of operators whose inputs broadcast together. For each output element, `add` gets the
 * walk and what arrives there, and adds to the sums of the inputs, at walk->at[k] for input k.
 */
int broadcast_gradient(struct op_gradient *g,
                       void (*add)(struct op_gradient *g, const struct broadcast *walk,
                                   struct number upstream, struct gradient_sums *sums));

/* Draws a shape that broadcasts with `shape`, in either direction or both, or is the same. */
struct shape broadcast_partner(struct draw *d, const struct shape *shape);

#endif
