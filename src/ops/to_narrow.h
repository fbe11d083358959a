/*
 * Rounding to float8 and float4 with bounds, for Cast and QuantizeLinear. Where ONNX's text and its official
 * cases, or two of its texts, say different things of a number, the result is open.
 */
#ifndef OPS_TO_NARROW_H
#define OPS_TO_NARROW_H

#include "ops/op.h"
#include "tensor/narrow.h"

struct to_narrow {
    int opset;
    bool saturate;
    enum narrow_rounding rounding; /* of float8e8m0 */
    /* Rounding up is as right: the text of CastLike has round_mode, and its function body leaves it out. */
    bool or_up;
};

/* Reads the attributes saturate and round_mode. */
int to_narrow_read(struct op_call *call, struct to_narrow *how);

/* Element i of `out` becomes x, which an implementation may know only up to `hard`. */
void to_narrow_put(const struct to_narrow *how, struct bounded *out, size_t i, long double x,
                   long double hard);

#endif
