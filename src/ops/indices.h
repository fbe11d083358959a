/*
 * Indices as gathering and scattering operators read them: int32 or int64, negative ones count from the end,
 * others out of range are invalid.
 */
#ifndef OPS_INDICES_H
#define OPS_INDICES_H

#include "ops/op.h"

struct picked {
    size_t at;
    bool undecided; /* the index itself is not known exactly */
    bool outside;   /* then it may be out of range: an implementation may refuse it */
};

int indices_check(struct op_call *call, const struct bounded *indices, bool only_int64);

/* Index i into a dimension. */
int index_at(struct op_call *call, const struct bounded *indices, size_t i, int64_t dim,
             struct picked *picked);

/*
 * Tuple i of indices whose last dimension holds the tuples: an offset in elements into dims [from, rank) of
 * `shape`.
 */
int index_tuple(struct op_call *call, const struct bounded *indices, size_t i, const struct shape *shape,
                int from, struct picked *picked);

#endif
