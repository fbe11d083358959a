/*
 * Drawing the attributes of a sliding window: kernel_shape, strides, dilations, pads or auto_pad, group.
 */
#ifndef OPS_DRAW_WINDOW_H
#define OPS_DRAW_WINDOW_H

#include "ops/draw.h"

struct drawn_window {
    int rank; /* spatial axes */
    int64_t kernel[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK];
    int64_t pads[2 * TENSOR_MAX_RANK]; /* zeros unless auto_pad is NOTSET */
    const char *auto_pad;
    int64_t groups; /* divides the channels */
};

/*
 * Draws the attributes for an input [N, C, ...] and sets them on the node; half of the time, those that have
 * their default value are left out. With `fits` the kernel is not larger than the padded input. Returns -1
 * when a dimension is 0.
 */
int draw_window(struct draw *d, const struct shape *x, bool fits, struct drawn_window *w);

/* The shape of weights for that window, with one to three output channels a group. */
struct shape draw_window_weights(struct draw *d, const struct shape *x, const struct drawn_window *w);

#endif
