/*
 * Copying elements with their bounds to other places: what layout, slicing and indexing operators share.
 */
#ifndef OPS_MOVE_ELEMENTS_H
#define OPS_MOVE_ELEMENTS_H

#include "ops/op.h"

/* Element types that can be moved, from opset 13 on and before it. */
#define MOVE_ANY (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL))
#define MOVE_ANY_11 (MOVE_ANY & ~DTYPE_BIT(DTYPE_BFLOAT16))
/* clang-format off */
#define MOVE_TYPES {{1, MOVE_ANY_11}, {13, MOVE_ANY}}
/* clang-format on */

/* Copies every element in order; the counts must be equal. */
void move_all(struct bounded *out, const struct bounded *in);

/* out[at + i] = in[from + i] for i < count. */
void move_run(struct bounded *out, size_t at, const struct bounded *in, size_t from, size_t count);

/* out[index] = in[base + sum of index[i] * steps[i]], over out's shape; steps in elements, may be negative.
 */
void move_strided(struct bounded *out, const struct bounded *in, int64_t base, const int64_t *steps);

/* Makes output 0 of another shape with the same number of elements, and copies them in order. */
int move_reshaped(struct op_call *call, const struct bounded *in, const struct shape *shape);

/*
 * Reads axes from input `index` when the opset is at least since_input, else from the attribute "axes", and
 * normalises them to [0, rank). When none are given, *given is false and the other results are not set.
 * Repeated axes are invalid.
 */
int move_axes(struct op_call *call, size_t index, int since_input, int rank, int *axes, size_t *count,
              bool *given);

#endif
