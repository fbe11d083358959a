/*
 * The attribute values of Resize, shared by its kernel and its sampler.
 */
#ifndef OPS_RESIZE_H
#define OPS_RESIZE_H

#include "ops/op.h"

enum transform {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    TF_CROP_AND_RESIZE,
    TRANSFORMS
};
enum rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL, ROUNDINGS };
enum mode { NEAREST, LINEAR, CUBIC, MODES };
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER, POLICIES };

/* The texts of the attribute values, indexed by the enums above. */
extern const char *const resize_transforms[], *const resize_roundings[], *const resize_modes[],
                                                                             *const resize_policies[];

int resize_sample(struct draw *d);

#endif
