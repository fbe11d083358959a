/*
 * Moving elements about with their bounds: what layout, slicing and indexing operators share.
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

/* Every element in order; the counts must be equal. */
void move_all(struct bounded *out, const struct bounded *in);

/* out[at + i] = in[from + i] for i < count. */
void move_run(struct bounded *out, size_t at, const struct bounded *in, size_t from, size_t count);

/* out[index] = in[base + sum of index[i] * steps[i]], over out's shape; steps in elements, may be negative.
 */
void move_strided(struct bounded *out, const struct bounded *in, int64_t base, const int64_t *steps);

/* Output 0 with the input's type and another shape of the same count: all elements in order. */
int move_reshaped(struct op_call *call, const struct bounded *in, const struct shape *shape);

/*
 * Axes from input `index` when opset >= since_input, else from the attribute "axes"; normalised into
 * [0, rank). *given is false when there are none (the other results are then not set). Repeated axes are
 * invalid.
 */
int move_axes(struct op_call *call, size_t index, int since_input, int rank, int *axes, size_t *count,
              bool *given);

#endif
