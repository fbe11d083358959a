/*
 * The sliding window of a Conv, ConvInteger, MaxPool, AveragePool or LpPool node, with defaults filled in and
 * auto_pad resolved, for rules that write the same windows in another way.
 */
#ifndef RULES_WINDOW_H
#define RULES_WINDOW_H

#include "rules/rewrite.h"

enum { WINDOW_AXES = 3 };

struct rule_window {
    int axes; /* spatial ones */
    int64_t in[WINDOW_AXES], out[WINDOW_AXES];
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], dilation[WINDOW_AXES];
    int64_t begin[WINDOW_AXES], end[WINDOW_AXES]; /* padding; that of auto_pad when `same` */
    int64_t groups;
    int64_t taps;   /* of the whole kernel */
    bool same;      /* auto_pad is SAME_UPPER or SAME_LOWER */
    bool automatic; /* auto_pad is given and not NOTSET */
    bool gaps;      /* SAME, and windows leave gaps: the padding would be negative; it is taken as 0 */
    bool ceil;
    /* ceil_mode, and a last window would start in the padding at the end. Versions of ONNX differ in whether
     * it exists; in `out` it does not. */
    bool disputed;
};

/* False when something is not known, not valid, not defined by ONNX, or beyond what rules handle: more than
 * three spatial axes, an empty input, sizes beyond a million. */
bool window_read(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_window *window);

/* (kernel - 1) * dilation + 1 */
int64_t window_extent(const struct rule_window *window, int axis);

/* How many places of the window at `position` of one axis are in the input, or, with `padded`, in the input
 * or its padding. */
int64_t window_inside(const struct rule_window *window, int axis, int64_t position, bool padded);

/* Whether every window has at least one place in the input. */
bool window_never_outside(const struct rule_window *window);

/* A Pad node that surrounds the spatial axes of `value` with `fill`; returns `value` when there is nothing to
 * add. */
const char *window_pad(struct rewrite *rewrite, const char *value, const struct rule_window *window,
                       const char *fill);

/*
 * What a Pad node must add so that the operator answers as if it padded itself; NULL when nothing does. Conv
 * and LpPool add zeros, ConvInteger its zero point. MaxPool takes no padding into account, so that only the
 * lowest number may stand for it. AveragePool counts what a Pad node adds.
 */
const char *window_fill(struct rewrite *rewrite, const Onnx__NodeProto *node,
                        const struct rule_window *window);

/* Makes the padding at the end large enough for windows that hang over it, as they may with ceil_mode. */
struct rule_window window_cover(const struct rule_window *window);

/* The elements of a padded value that lie under one tap of every window, [N, C, out ...]; taps are numbered
 * as the elements of a kernel. */
const char *window_tap(struct rewrite *rewrite, const char *padded, const struct rule_window *window,
                       int64_t tap);

/* All windows of a padded value as [N, C, taps, places], places being those of the output in row-major order;
 * by Gather or by Slice and Concat, as the rewriting's random numbers will have it. NULL when that is too
 * large. */
const char *window_unfold(struct rewrite *rewrite, const char *padded, const struct bounded *x,
                          const struct rule_window *window);

/* Puts distance - 1 zeros between the elements along one axis of a value of the given type and shape; *shape
 * becomes that of the result. */
const char *window_stuff(struct rewrite *rewrite, const char *value, enum dtype type, struct shape *shape,
                         int axis, int64_t distance);

/* The window of a ConvTranspose node, whose output is (in - 1) * stride + extent + extra - begin - end. */
struct rule_deconvolution {
    int axes;
    int64_t in[WINDOW_AXES], out[WINDOW_AXES];
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], dilation[WINDOW_AXES];
    int64_t begin[WINDOW_AXES], end[WINDOW_AXES]; /* as pads, auto_pad or output_shape say */
    int64_t extra[WINDOW_AXES];                   /* output_padding */
    int64_t groups;
    bool automatic; /* auto_pad is given and not NOTSET, or there is an output_shape */
};

/* False as window_read, and also when ONNX leaves open where the output starts. */
bool deconvolution_read(struct rewrite *rewrite, const Onnx__NodeProto *node, struct rule_deconvolution *d);

#endif
