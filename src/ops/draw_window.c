#include "ops/draw_window.h"

#include <string.h>

static void draw_axis(struct draw *d, struct drawn_window *w, int axis, int64_t size, bool fits)
{
    /* Three spatial axes would be too much work for a case. */
    bool deep = w->rank > 2;
    int64_t kernel = draw_chance(d, 0.4) ? 3 : draw_between(d, 1, deep ? 3 : 5);
    int64_t dilation = draw_chance(d, 0.75) ? 1 : draw_between(d, 2, 3);
    int64_t stride = draw_chance(d, 0.5) ? 1 : draw_between(d, 1, deep ? 2 : 3);
    bool given = strcmp(w->auto_pad, "NOTSET") == 0;
    int64_t begin = given && draw_chance(d, 0.5) ? draw_between(d, 0, 2) : 0;
    int64_t end = given && draw_chance(d, 0.5) ? draw_chance(d, 0.5) ? begin : draw_between(d, 0, 2) : 0;
    /* SAME pads as much as the kernel needs. */
    int64_t room = size + begin + end;
    if (fits && (given || strcmp(w->auto_pad, "VALID") == 0)) {
        kernel = kernel > room ? room : kernel;
        while (dilation > 1 && (kernel - 1) * dilation + 1 > room)
            dilation--;
    }
    w->kernel[axis] = kernel;
    w->dilation[axis] = dilation;
    w->stride[axis] = stride;
    w->pads[axis] = begin;
    w->pads[w->rank + axis] = end;
}

static int64_t draw_groups(struct draw *d, int64_t channels)
{
    if (draw_chance(d, 0.6))
        return 1;
    /* Depthwise, or any divisor. */
    if (draw_chance(d, 0.5))
        return channels;
    int64_t groups = draw_between(d, 1, channels);
    while (channels % groups != 0)
        groups--;
    return groups;
}

static bool all_are(const int64_t *values, int count, int64_t value)
{
    for (int i = 0; i < count; i++)
        if (values[i] != value)
            return false;
    return true;
}

/* Sets the attribute; when it has its default value, it may be left out. */
static void set_ints(struct draw *d, const char *name, const int64_t *values, int count, int64_t otherwise)
{
    if (!all_are(values, count, otherwise) || draw_chance(d, 0.5))
        draw_ints(d, name, values, (size_t)count);
}

int draw_window(struct draw *d, const struct shape *x, bool fits, struct drawn_window *w)
{
    *w = (struct drawn_window){.rank = x->rank - 2};
    if (x->rank < 3)
        return -1;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] < 1)
            return -1;
    w->auto_pad = draw_chance(d, 0.6) ? "NOTSET" : draw_word(d, "SAME_UPPER|SAME_LOWER|VALID");
    for (int i = 0; i < w->rank; i++)
        draw_axis(d, w, i, x->dims[i + 2], fits);
    w->groups = draw_groups(d, x->dims[1]);
    bool given = strcmp(w->auto_pad, "NOTSET") == 0;
    if (!given || draw_chance(d, 0.2))
        draw_string(d, "auto_pad", w->auto_pad);
    if (given)
        set_ints(d, "pads", w->pads, 2 * w->rank, 0);
    set_ints(d, "strides", w->stride, w->rank, 1);
    set_ints(d, "dilations", w->dilation, w->rank, 1);
    if (draw_chance(d, 0.6))
        draw_ints(d, "kernel_shape", w->kernel, (size_t)w->rank);
    if (w->groups != 1 || draw_chance(d, 0.3))
        draw_int(d, "group", w->groups);
    return 0;
}

struct shape draw_window_weights(struct draw *d, const struct shape *x, const struct drawn_window *w)
{
    struct shape weights = {.rank = x->rank};
    weights.dims[0] = w->groups * draw_between(d, 1, 3);
    weights.dims[1] = x->dims[1] / w->groups;
    for (int i = 0; i < w->rank; i++)
        weights.dims[i + 2] = w->kernel[i];
    return weights;
}
