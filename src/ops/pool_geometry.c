#include "ops/pool_geometry.h"

#include <inttypes.h>
#include <string.h>

/*
 * The largest size: every product below then fits into 64 bits, and no real model comes near. ONNX allows
 * larger ones, which are cut to this and not computed: where a window that was cut does not fit, the whole
 * one does not either.
 */
static const int64_t largest_size = INT64_C(1) << 30;

/* Sets *cut where a value is larger than is computed. */
static int read_sizes(struct op_call *call, const char *name, int64_t least, size_t expected, int64_t *into,
                      bool *cut)
{
    size_t count;
    const int64_t *values = call_ints(call, name, &count);
    if (count == 0)
        return 0;
    if (count != expected)
        return call_invalid(call, "%s has %zu values instead of %zu", name, count, expected);
    for (size_t i = 0; i < count; i++) {
        if (values[i] < least)
            return call_invalid(call, "%s %" PRId64 " is out of range", name, values[i]);
        *cut = *cut || values[i] > largest_size;
        into[i] = values[i] > largest_size ? largest_size : values[i];
    }
    return 0;
}

int64_t window_count(int64_t in, int64_t span, int64_t stride, int64_t begin, int64_t end, bool ceil)
{
    int64_t room = in + begin + end - span;
    if (room < 0)
        return 0;
    int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    if (ceil && (count - 1) * stride >= in + begin)
        count--;
    return count;
}

bool window_pad_same(int64_t in, int64_t span, int64_t stride, bool upper, int64_t *begin, int64_t *end)
{
    int64_t out = (in + stride - 1) / stride, total = (out - 1) * stride + span - in;
    int64_t first = upper ? total / 2 : total - total / 2;
    *begin = total < 0 ? 0 : first;
    *end = total < 0 ? 0 : total - first;
    return *begin == first;
}

static int place(struct op_call *call, struct geometry *g, bool ceil)
{
    const char *pad = call_string(call, "auto_pad", "NOTSET");
    bool upper = strcmp(pad, "SAME_UPPER") == 0, lower = strcmp(pad, "SAME_LOWER") == 0;
    bool valid = strcmp(pad, "VALID") == 0;
    if (!upper && !lower && !valid && strcmp(pad, "NOTSET") != 0)
        return call_invalid(call, "auto_pad %.40s is not known", pad);
    for (int i = 0; i < g->rank; i++) {
        int64_t span = (g->kernel[i] - 1) * g->dilation[i] + 1;
        if (upper || lower) {
            g->out[i] = (g->in[i] + g->stride[i] - 1) / g->stride[i];
            call->open |= !window_pad_same(g->in[i], span, g->stride[i], upper, &g->begin[i], &g->end[i]);
        } else {
            if (valid)
                g->begin[i] = g->end[i] = 0;
            g->out[i] = window_count(g->in[i], span, g->stride[i], g->begin[i], g->end[i], ceil && !valid);
        }
        if (g->out[i] <= 0)
            return call_invalid(call, "no window fits in spatial dim %d", i);
    }
    return 0;
}

int geometry_read(struct op_call *call, const struct shape *x, bool dilations, bool ceil_mode,
                  struct geometry *g)
{
    *g = (struct geometry){.rank = x->rank - 2};
    if (g->rank < 1)
        return call_invalid(call, "input of rank %d has no spatial dims", x->rank);
    size_t rank = (size_t)g->rank, given;
    int64_t pads[2 * TENSOR_MAX_RANK] = {0};
    for (int i = 0; i < g->rank; i++) {
        g->in[i] = x->dims[i + 2];
        g->stride[i] = g->dilation[i] = 1;
        if (g->in[i] > largest_size)
            return call_unsupported(call, "spatial dim %d is too large", i);
    }
    call_ints(call, "kernel_shape", &given);
    if (given == 0)
        return call_invalid(call, "kernel_shape is missing");
    bool cut = false;
    if (read_sizes(call, "pads", 0, 2 * rank, pads, &cut))
        return -1;
    if (cut)
        return call_unsupported(call, "pads are too large");
    if (read_sizes(call, "kernel_shape", 1, rank, g->kernel, &cut) ||
        read_sizes(call, "strides", 1, rank, g->stride, &cut) ||
        (dilations && read_sizes(call, "dilations", 1, rank, g->dilation, &cut)))
        return -1;
    memcpy(g->begin, pads, rank * sizeof *pads);
    memcpy(g->end, pads + rank, rank * sizeof *pads);
    if (place(call, g, ceil_mode && call_int(call, "ceil_mode", 0) != 0))
        return -1;
    return cut ? call_unsupported(call, "kernel_shape, strides or dilations are too large") : 0;
}

void geometry_global(const struct shape *x, struct geometry *g)
{
    *g = (struct geometry){.rank = x->rank - 2};
    for (int i = 0; i < g->rank; i++) {
        g->in[i] = g->kernel[i] = x->dims[i + 2];
        g->out[i] = g->stride[i] = g->dilation[i] = 1;
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Taps at start + k * dilation, 0 <= k < kernel, that lie in [low, high); *skipped of them lie before low. */
static int64_t taps_between(int64_t start, int64_t kernel, int64_t dilation, int64_t low, int64_t high,
                            int64_t *skipped)
{
    int64_t before = start >= low ? 0 : (low - start + dilation - 1) / dilation;
    int64_t until = start >= high ? 0 : (high - start + dilation - 1) / dilation;
    *skipped = smaller(before, kernel);
    int64_t count = smaller(until, kernel) - *skipped;
    return count < 0 ? 0 : count;
}

struct window window_at(const struct geometry *g, const int64_t *position)
{
    struct window w = {.taps = {.rank = g->rank}, .padded = 1};
    for (int i = 0; i < g->rank; i++) {
        int64_t start = position[i] * g->stride[i] - g->begin[i], skipped;
        w.padded *= (size_t)taps_between(start, g->kernel[i], g->dilation[i], -g->begin[i],
                                         g->in[i] + g->end[i], &skipped);
        w.taps.dims[i] = taps_between(start, g->kernel[i], g->dilation[i], 0, g->in[i], &skipped);
        w.first[i] = start + skipped * g->dilation[i];
    }
    return w;
}

size_t window_offset(const struct geometry *g, const struct window *w, const int64_t *tap)
{
    size_t offset = 0;
    for (int i = 0; i < g->rank; i++)
        offset = offset * (size_t)g->in[i] + (size_t)(w->first[i] + tap[i] * g->dilation[i]);
    return offset;
}
