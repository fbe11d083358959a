/* Sliding windows as faults see them: Conv and pools, one spatial dimension at a time. */
#ifndef REFERENCE_WINDOW_H
#define REFERENCE_WINDOW_H

#include "ops/op.h"

struct window {
    int64_t input, kernel, stride, dilation, pad_low,
        pad_high; /* as the attributes say; pads 0 under auto_pad */
};

/* Spatial dimensions (input rank - 2), or 0 when the node does not look like a window operator. */
int windows_of(const struct op_call *call, struct window windows[TENSOR_MAX_RANK]);

/* Padding that SAME needs in all. */
int64_t window_same_total(const struct window *window);

#endif
