/*
 * The geometry of pooling: windows that slide over the spatial dims of [N, C, D1 ...].
 */
#ifndef OPS_POOL_GEOMETRY_H
#define OPS_POOL_GEOMETRY_H

#include "ops/op.h"

struct geometry {
    int rank; /* of the spatial dims */
    int64_t in[TENSOR_MAX_RANK], out[TENSOR_MAX_RANK];
    int64_t kernel[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK];
    int64_t begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK]; /* padding */
};

/* Reads kernel_shape, strides, dilations (if allowed), pads, auto_pad and ceil_mode, checks them and computes
 * the output sizes. */
int geometry_read(struct op_call *call, const struct shape *x, bool dilations, bool ceil_mode,
                  struct geometry *g);

/* For global pooling: one window over all spatial dims. */
void geometry_global(const struct shape *x, struct geometry *g);

/*
 * Output size along one dim; 0 when not even one window fits. With `ceil`, a last window that would start in
 * the padding at the end is dropped: earlier versions of the ONNX text do not mention it, later ones say so.
 */
int64_t window_count(int64_t in, int64_t span, int64_t stride, int64_t begin, int64_t end, bool ceil);

/*
 * Splits the padding of SAME along one dim: the odd one goes to the end with `upper`. Where the stride is
 * larger than the window, ONNX's formula gives a negative padding, which can be read as none, as here, or as
 * elements to leave out. False when the two readings give different results, because the first window starts
 * elsewhere.
 */
bool window_pad_same(int64_t in, int64_t span, int64_t stride, bool upper, int64_t *begin, int64_t *end);

/* The part of a window that lies inside the input. */
struct window {
    struct shape taps;              /* taps inside the input, per dim; may be 0 */
    int64_t first[TENSOR_MAX_RANK]; /* coordinate of the first tap inside */
    size_t padded;                  /* taps inside the input or its padding */
};
struct window window_at(const struct geometry *g, const int64_t *position);

/* Offset of a tap (index within window.taps) in a dense spatial block. */
size_t window_offset(const struct geometry *g, const struct window *w, const int64_t *tap);

#endif
