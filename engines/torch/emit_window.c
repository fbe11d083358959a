/* Sliding windows: convolutions and pooling. */
#include "emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_SPATIAL = 3 }; /* what the library has kernels for */

struct geometry {
    int rank; /* spatial */
    int64_t in[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
    int64_t begin[MAX_SPATIAL], end[MAX_SPATIAL];
    int64_t over[MAX_SPATIAL]; /* beyond the padding: what ceil_mode's last window hangs over */
    int64_t out[MAX_SPATIAL];
    bool ceil;
};

static int64_t span_of(const struct geometry *g, int i)
{
    return (g->kernel[i] - 1) * g->dilation[i] + 1;
}

/* A window may start in the input or in the padding before it, never behind. */
static int64_t window_count(const struct geometry *g, int i)
{
    int64_t room = g->in[i] + g->begin[i] + g->end[i] - span_of(g, i);
    if (room < 0)
        return 0;
    int64_t count = (room + (g->ceil ? g->stride[i] - 1 : 0)) / g->stride[i] + 1;
    return g->ceil && (count - 1) * g->stride[i] >= g->in[i] + g->begin[i] ? count - 1 : count;
}

static void pad_same(struct geometry *g, int i, bool upper)
{
    g->out[i] = (g->in[i] + g->stride[i] - 1) / g->stride[i];
    int64_t total = (g->out[i] - 1) * g->stride[i] + span_of(g, i) - g->in[i];
    total = total < 0 ? 0 : total;
    g->begin[i] = upper ? total / 2 : total - total / 2;
    g->end[i] = total - g->begin[i];
}

static int place(struct emit *e, struct geometry *g)
{
    bool upper = emit_word(e, "auto_pad", "SAME_UPPER", "NOTSET");
    bool same = upper || emit_word(e, "auto_pad", "SAME_LOWER", "NOTSET");
    bool valid = emit_word(e, "auto_pad", "VALID", "NOTSET");
    if (!same && !valid && !emit_word(e, "auto_pad", "NOTSET", "NOTSET"))
        return emit_invalid(e, "an unknown auto_pad");
    if (same || valid)
        g->ceil = false;
    for (int i = 0; i < g->rank; i++) {
        if (valid)
            g->begin[i] = g->end[i] = 0;
        if (same)
            pad_same(g, i, upper);
        else
            g->out[i] = window_count(g, i);
        if (g->out[i] < 1 || g->kernel[i] < 1)
            return emit_invalid(e, "no window fits");
        int64_t reach = (g->out[i] - 1) * g->stride[i] + span_of(g, i) - g->in[i] - g->begin[i] - g->end[i];
        g->over[i] = reach > 0 ? reach : 0;
    }
    return 0;
}

/* Attributes of a window; kernel_shape defaults to the weights' shape, when there are any. */
static int read_attributes(struct emit *e, struct geometry *g, const struct shape *weights)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t pads[2 * MAX_SPATIAL] = {0};
    *g = (struct geometry){.rank = x->rank - 2};
    if (g->rank < 1 || g->rank > MAX_SPATIAL)
        return emit_unsupported(e, "%d spatial dims", g->rank);
    if (weights && weights->rank != x->rank)
        return emit_invalid(e, "weights of rank %d", weights->rank);
    for (int i = 0; i < g->rank; i++) {
        g->in[i] = x->dims[i + 2];
        g->stride[i] = g->dilation[i] = 1;
        g->kernel[i] = weights ? weights->dims[i + 2] : 0;
    }
    size_t n = (size_t)g->rank;
    if (emit_attr_list(e, "kernel_shape", g->kernel, n) < 0 ||
        emit_attr_list(e, "strides", g->stride, n) < 0 ||
        emit_attr_list(e, "dilations", g->dilation, n) < 0 || emit_attr_list(e, "pads", pads, 2 * n) < 0)
        return -1;
    for (int i = 0; i < g->rank; i++) {
        g->begin[i] = pads[i];
        g->end[i] = pads[i + g->rank];
        if (g->stride[i] < 1 || g->dilation[i] < 1 || g->begin[i] < 0 || g->end[i] < 0)
            return emit_invalid(e, "strides, dilations or pads");
    }
    return 0;
}

static bool is_even(const struct geometry *g)
{
    for (int i = 0; i < g->rank; i++)
        if (g->begin[i] != g->end[i])
            return false;
    return true;
}

/* The input with these pads around it, from the last axis on. */
static const char *padded(struct emit *e, const struct geometry *g, const char *x, const char *value,
                          bool over)
{
    int64_t list[2 * MAX_SPATIAL];
    for (int i = 0; i < g->rank; i++) {
        int axis = g->rank - 1 - i;
        list[2 * i] = g->begin[axis];
        list[2 * i + 1] = g->end[axis] + (over ? g->over[axis] : 0);
    }
    return emit_let(e, "torch.constant_pad_nd(%s, %s, %s)", x, emit_ints(e, list, (size_t)g->rank * 2),
                    value);
}

static const char *list_of(struct emit *e, const struct geometry *g, const int64_t *values)
{
    return emit_ints(e, values, (size_t)g->rank);
}

static const char *zeros_of(struct emit *e, const struct geometry *g)
{
    static const int64_t zeros[MAX_SPATIAL] = {0};
    return list_of(e, g, zeros);
}

/* ---- convolution ---- */

static int write_conv(struct emit *e)
{
    struct geometry g;
    const char *x = emit_in(e, 0), *pads;
    int64_t group = emit_attr(e, "group", 1);
    if (read_attributes(e, &g, emit_shape(e, 1)) < 0 || place(e, &g) < 0)
        return -1;
    if (is_even(&g)) {
        pads = list_of(e, &g, g.begin);
    } else {
        x = padded(e, &g, x, "0", false);
        pads = zeros_of(e, &g);
    }
    return emit_out(e, 0, "torch.convolution(%s, %s, %s, %s, %s, %s, False, %s, %" PRId64 ")", x,
                    emit_in(e, 1), emit_in(e, 2), list_of(e, &g, g.stride), pads, list_of(e, &g, g.dilation),
                    zeros_of(e, &g), group);
}

/* The pads of ConvTranspose and how much longer the result is than the windows' reach. */
static int place_transposed(struct emit *e, struct geometry *g, int64_t *longer)
{
    const int64_t *shape;
    size_t count;
    bool upper = emit_word(e, "auto_pad", "SAME_UPPER", "NOTSET");
    bool same = upper || emit_word(e, "auto_pad", "SAME_LOWER", "NOTSET");
    bool given = node_ints(e->node, "output_shape", &shape, &count) && count > 0;
    if (emit_attr_list(e, "output_padding", longer, (size_t)g->rank) < 0)
        return -1;
    if (given && count != (size_t)g->rank)
        return emit_unsupported(e, "an output_shape of %zu values", count);
    for (int i = 0; i < g->rank && (same || given); i++) {
        int64_t full = (g->in[i] - 1) * g->stride[i] + longer[i] + span_of(g, i);
        int64_t total = full - (given ? shape[i] : g->in[i] * g->stride[i]);
        if (total < 0)
            return emit_unsupported(e, "an output larger than the windows reach");
        g->begin[i] = upper ? total / 2 : total - total / 2;
        g->end[i] = total - g->begin[i];
    }
    for (int i = 0; i < g->rank && !given && emit_word(e, "auto_pad", "VALID", "NOTSET"); i++)
        g->begin[i] = g->end[i] = 0;
    return 0;
}

/* The library pads alike on both sides: else everything is computed, and cut. */
static int write_conv_transpose(struct emit *e)
{
    struct geometry g;
    int64_t longer[MAX_SPATIAL] = {0}, cut[MAX_SPATIAL] = {0};
    if (read_attributes(e, &g, emit_shape(e, 1)) < 0 || place_transposed(e, &g, longer) < 0)
        return -1;
    bool even = is_even(&g);
    for (int i = 0; i < g.rank; i++) {
        if (!even) {
            cut[i] = g.end[i] > longer[i] ? g.end[i] - longer[i] : 0;
            longer[i] = longer[i] > g.end[i] ? longer[i] - g.end[i] : 0;
        }
        if (longer[i] >= g.stride[i] && longer[i] >= g.dilation[i])
            return emit_unsupported(e, "output_padding %" PRId64, longer[i]);
    }
    const char *y = emit_let(e, "torch.convolution(%s, %s, %s, %s, %s, %s, True, %s, %" PRId64 ")",
                             emit_in(e, 0), emit_in(e, 1), emit_in(e, 2), list_of(e, &g, g.stride),
                             even ? list_of(e, &g, g.begin) : zeros_of(e, &g), list_of(e, &g, g.dilation),
                             list_of(e, &g, longer), emit_attr(e, "group", 1));
    for (int i = 0; i < g.rank && !even; i++) {
        int64_t size = (g.in[i] - 1) * g.stride[i] + span_of(&g, i) + longer[i] - cut[i];
        if (size <= g.begin[i])
            return emit_invalid(e, "pads leave nothing");
        y = emit_let(e, "torch.slice(%s, %d, %" PRId64 ", %" PRId64 ")", y, i + 2, g.begin[i], size);
    }
    return emit_out(e, 0, "%s", y);
}

/* ---- pooling ---- */

static int read_pool(struct emit *e, struct geometry *g, bool dilations)
{
    if (read_attributes(e, g, NULL) < 0)
        return -1;
    g->ceil = emit_attr(e, "ceil_mode", 0) != 0;
    for (int i = 0; i < g->rank && !dilations; i++)
        if (g->dilation[i] != 1)
            return emit_unsupported(e, "dilations");
    return place(e, g);
}

/* The library's own padding: alike on both sides and at most half the kernel. */
static bool is_native(const struct geometry *g)
{
    for (int i = 0; i < g->rank; i++)
        if (g->begin[i] != g->end[i] || g->begin[i] > g->kernel[i] / 2)
            return false;
    return true;
}

static const char *max_pool(struct emit *e, const struct geometry *g, const char *x, bool native,
                            const char *suffix)
{
    return emit_let(e, "torch.max_pool%dd%s(%s, %s, %s, %s, %s, %s)", g->rank, suffix, x,
                    list_of(e, g, g->kernel), list_of(e, g, g->stride),
                    native ? list_of(e, g, g->begin) : zeros_of(e, g), list_of(e, g, g->dilation),
                    native && g->ceil ? "True" : "False");
}

/* The library counts within one channel, ONNX through the whole tensor. */
static int write_max_indices(struct emit *e, const struct geometry *g)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t plane = 1, dims[MAX_SPATIAL + 2] = {x->dims[0], x->dims[1], 1, 1, 1};
    if (!is_native(g) || emit_attr(e, "storage_order", 0) != 0)
        return emit_unsupported(e, "indices with these pads or in this order");
    for (int i = 0; i < g->rank; i++)
        plane *= g->in[i];
    const char *both = max_pool(e, g, emit_in(e, 0), true, "_with_indices");
    emit_out(e, 0, "%s[0]", both);
    return emit_out(e, 1,
                    "torch.add(%s[1], torch.reshape(torch.mul(torch.arange(%" PRId64 "), %" PRId64 "), %s))",
                    both, x->dims[0] * x->dims[1], plane, emit_ints(e, dims, (size_t)x->rank));
}

static int write_max_pool(struct emit *e)
{
    struct geometry g;
    if (read_pool(e, &g, true) < 0)
        return -1;
    if (emit_wants(e, 1))
        return write_max_indices(e, &g);
    if (is_native(&g))
        return emit_out(e, 0, "%s", max_pool(e, &g, emit_in(e, 0), true, ""));
    enum dtype type = emit_type(e, 0);
    long double lowest = dtype_is_float(type) ? -INFINITY : dtype_lowest(type);
    const char *x = padded(e, &g, emit_in(e, 0), emit_number(e, type, lowest), true);
    return emit_out(e, 0, "%s", max_pool(e, &g, x, false, ""));
}

/* Sums of windows: the library's averages with 1 as divisor, which those of one dim cannot be given. */
static const char *sum_pool(struct emit *e, const struct geometry *g, const char *x)
{
    if (g->rank > 1)
        return emit_let(e, "torch.avg_pool%dd(%s, %s, %s, %s, False, True, 1)", g->rank, x,
                        list_of(e, g, g->kernel), list_of(e, g, g->stride), zeros_of(e, g));
    return emit_let(e,
                    "torch.squeeze(torch.avg_pool2d(torch.unsqueeze(%s, 2), [1, %" PRId64 "], [1, %" PRId64
                    "], [0, 0], False, True, 1), 2)",
                    x, g->kernel[0], g->stride[0]);
}

/* Other pads than the library's: the sum of zeros and ones tells how many elements counted. */
static int write_uneven_average(struct emit *e, const struct geometry *g, bool count_pads)
{
    const char *sum = sum_pool(e, g, padded(e, g, emit_in(e, 0), "0", true));
    const char *ones =
        emit_let(e, "torch.ones_like(torch.slice(torch.slice(%s, 0, 0, 1), 1, 0, 1))", emit_in(e, 0));
    struct geometry rest = *g;
    if (count_pads) {
        ones = padded(e, g, ones, "1", false);
        memset(rest.begin, 0, sizeof rest.begin);
        memset(rest.end, 0, sizeof rest.end);
    }
    return emit_out(e, 0, "torch.div(%s, %s)", sum, sum_pool(e, g, padded(e, &rest, ones, "0", true)));
}

static int write_average_pool(struct emit *e)
{
    struct geometry g;
    bool count_pads = emit_attr(e, "count_include_pad", 0) != 0;
    if (read_pool(e, &g, false) < 0)
        return -1;
    if (!is_native(&g))
        return write_uneven_average(e, &g, count_pads);
    return emit_out(e, 0, "torch.avg_pool%dd(%s, %s, %s, %s, %s, %s)", g.rank, emit_in(e, 0),
                    list_of(e, &g, g.kernel), list_of(e, &g, g.stride), list_of(e, &g, g.begin),
                    g.ceil ? "True" : "False", count_pads ? "True" : "False");
}

/* The library has no norm of windows: roots of sums of powers. */
static int write_lp_pool(struct emit *e)
{
    struct geometry g;
    int64_t p = emit_attr(e, "p", 2);
    if (read_pool(e, &g, false) < 0)
        return -1;
    const char *power = p == 1 ? emit_let(e, "torch.abs(%s)", emit_in(e, 0))
                               : emit_let(e, "torch.pow(torch.abs(%s), %" PRId64 ")", emit_in(e, 0), p);
    const char *sum = sum_pool(e, &g, padded(e, &g, power, "0", true));
    if (p == 1)
        return emit_out(e, 0, "%s", sum);
    return p == 2 ? emit_out(e, 0, "torch.sqrt(%s)", sum)
                  : emit_out(e, 0, "torch.pow(%s, %s)", sum, emit_float(e, 1 / (double)p));
}

static const char *spatial_axes(struct emit *e)
{
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = 0;
    for (int i = 2; i < emit_shape(e, 0)->rank; i++)
        axes[count++] = i;
    return count ? emit_ints(e, axes, count) : NULL;
}

static int write_global(struct emit *e, const char *before, const char *after)
{
    const char *axes = spatial_axes(e);
    return axes ? emit_out(e, 0, "%s%s, %s%s, True)", before, emit_in(e, 0), after, axes)
                : emit_unsupported(e, "no spatial dims");
}

static int write_global_average(struct emit *e)
{
    int rank = emit_shape(e, 0)->rank - 2;
    static const int64_t ones[MAX_SPATIAL] = {1, 1, 1};
    if (rank < 1 || rank > MAX_SPATIAL)
        return write_global(e, "torch.mean(", "");
    return emit_out(e, 0, "torch.adaptive_avg_pool%dd(%s, %s)", rank, emit_in(e, 0),
                    emit_ints(e, ones, (size_t)rank));
}

static int write_global_max(struct emit *e)
{
    return write_global(e, "torch.amax(", "");
}

static int write_global_lp(struct emit *e)
{
    return write_global(e, "torch.norm(", emit_text(e, "%" PRId64 ", ", emit_attr(e, "p", 2)));
}

const struct emit_op emit_window[] = {
    {.name = "AveragePool", .write = write_average_pool},
    {.name = "Conv", .write = write_conv},
    {.name = "ConvTranspose", .write = write_conv_transpose},
    {.name = "GlobalAveragePool", .write = write_global_average},
    {.name = "GlobalLpPool", .write = write_global_lp},
    {.name = "GlobalMaxPool", .write = write_global_max},
    {.name = "LpPool", .write = write_lp_pool},
    {.name = "MaxPool", .write = write_max_pool},
    {.name = NULL},
};
