/*
 * Indices of gathering and scattering operators: int32 or int64; negative ones count from the end, and those
 * out of range are invalid.
 */
#ifndef OPS_INDICES_H
#define OPS_INDICES_H

#include "ops/op.h"

/* The element that an index selects. */
struct picked {
    size_t at;
    bool undecided; /* the index itself is not known exactly */
    bool outside;   /* it is undecided and may be out of range: an implementation may refuse it */
};

/* Fails with ERROR_INVALID unless the indices are int32 or int64, or int64 when only that is allowed. */
int indices_check(struct op_call *call, const struct bounded *indices, bool only_int64);

/* Reads index i into a dimension of size `dim`; invalid when it is out of range. */
int index_at(struct op_call *call, const struct bounded *indices, size_t i, int64_t dim,
             struct picked *picked);

/*
 * Reads tuple i, where the last dimension of `indices` holds the tuples, as an offset in elements into dims
 * [from, rank) of `shape`.
 */
int index_tuple(struct op_call *call, const struct bounded *indices, size_t i, const struct shape *shape,
                int from, struct picked *picked);

#endif
