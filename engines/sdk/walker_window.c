/* The windows of convolutions and pooling nodes, for rows of the walker (walker.h). */
#include "walker.h"

#include <string.h>

static void read_ints(const struct walk_call *call, const char *name, int rank, int64_t otherwise,
                      int64_t *out)
{
    const int64_t *values;
    size_t count;
    bool given = node_ints(call->node, name, &values, &count);
    for (int i = 0; i < rank; i++)
        out[i] = given && (size_t)i < count ? values[i] : otherwise;
}

static void read_pads(const struct walk_call *call, struct walk_window *w)
{
    int64_t pads[2 * TENSOR_MAX_RANK];
    read_ints(call, "pads", 2 * w->rank, 0, pads);
    for (int i = 0; i < w->rank; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->rank + i];
    }
}

static bool is_same(const struct walk_call *call)
{
    return walk_text_is(call, "auto_pad", "NOTSET", "SAME_UPPER") ||
           walk_text_is(call, "auto_pad", "NOTSET", "SAME_LOWER");
}

/* An odd total has its larger half before or behind. */
static void split(struct walk_window *w, int i, int64_t total, bool more_before)
{
    total = total > 0 ? total : 0;
    w->before[i] = more_before ? total - total / 2 : total / 2;
    w->after[i] = total - w->before[i];
}

static void read_common(const struct walk_call *call, const struct shape *kernel, struct walk_window *w)
{
    w->rank = call->inputs[0]->shape.rank - 2;
    read_ints(call, "kernel_shape", w->rank, 1, w->kernel);
    for (int i = 0; kernel && i < w->rank; i++)
        w->kernel[i] = kernel->dims[i + 2];
    read_ints(call, "strides", w->rank, 1, w->stride);
    read_ints(call, "dilations", w->rank, 1, w->dilation);
}

struct walk_window walk_window(const struct walk_call *call, const struct shape *kernel)
{
    struct walk_window w = {0};
    const int64_t *in = call->inputs[0]->shape.dims + 2, *out = call->outputs[0].shape.dims + 2;
    read_common(call, kernel, &w);
    read_pads(call, &w);
    bool same = is_same(call), valid = walk_text_is(call, "auto_pad", "NOTSET", "VALID");
    for (int i = 0; i < w.rank; i++) {
        int64_t reach = (out[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
        if (valid)
            w.before[i] = w.after[i] = 0;
        if (same)
            split(&w, i, reach - in[i], walk_text_is(call, "auto_pad", "NOTSET", "SAME_LOWER"));
        int64_t beyond = reach - (in[i] + w.before[i] + w.after[i]);
        w.beyond[i] = beyond > 0 ? beyond : 0;
    }
    return w;
}

struct walk_window walk_window_transposed(const struct walk_call *call, const struct shape *kernel)
{
    struct walk_window w = {0};
    const int64_t *in = call->inputs[0]->shape.dims + 2, *out = call->outputs[0].shape.dims + 2;
    const int64_t *values;
    size_t count;
    int64_t extra[TENSOR_MAX_RANK];
    read_common(call, kernel, &w);
    read_pads(call, &w);
    read_ints(call, "output_padding", w.rank, 0, extra);
    bool given = node_ints(call->node, "output_shape", &values, &count);
    for (int i = 0; i < w.rank; i++) {
        int64_t full = (in[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
        if (given || is_same(call))
            split(&w, i, full + extra[i] - out[i], !walk_text_is(call, "auto_pad", "NOTSET", "SAME_UPPER"));
        else if (walk_text_is(call, "auto_pad", "NOTSET", "VALID"))
            w.before[i] = 0;
        /* What is cut off behind, or added there when negative. */
        w.after[i] = full - w.before[i] - out[i];
    }
    return w;
}
