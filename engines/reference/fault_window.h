/* The sliding windows of Conv and pooling nodes, one spatial dimension at a time, for faults that change
 * them. */
#ifndef REFERENCE_WINDOW_H
#define REFERENCE_WINDOW_H

#include "ops/op.h"

struct window {
    /* As in the attributes; pads are 0 with auto_pad. */
    int64_t input, kernel, stride, dilation, pad_low, pad_high;
};

/* Fills in `windows` and returns the number of spatial dimensions (input rank - 2), or 0 when the node does
 * not look like a window operator. */
int windows_of(const struct op_call *call, struct window windows[TENSOR_MAX_RANK]);

/* The total padding that auto_pad SAME needs in this dimension. */
int64_t window_same_total(const struct window *window);

#endif
