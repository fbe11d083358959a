/*
 * Places moved on purpose: AffineGrid makes the places that GridSample reads, DeformConv reads an image at
 * places that are off by what an input says. Bounds: docs/bounds/regions.md.
 */
#include "bounds/number.h"
#include "bounds/sum.h"
#include "ops/convolve.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>

/* The most samples that one node takes: about a second. */
enum { WORK_LIMIT = 1 << 25 };

/* ---- AffineGrid ---- */

struct grid {
    const struct bounded *theta;
    int rank;
    int64_t batch, size[3]; /* sizes of the image: height and width, or depth, height and width */
    bool corners;
};

static int take_grid(struct op_call *call, struct grid *g)
{
    int64_t size[5];
    size_t count;
    g->theta = call_need(call, 0);
    if (!g->theta || call_int_list(call, 1, size, 5, &count))
        return -1;
    if (count < 4)
        return call_invalid(call, "size has %zu values instead of 4 or 5", count);
    g->rank = (int)count - 2;
    g->batch = size[0];
    g->corners = call_int(call, "align_corners", 0) != 0;
    struct shape wanted = {3, {size[0], g->rank, g->rank + 1}};
    if (!shape_equal(&g->theta->shape, &wanted))
        return call_invalid(call, "theta does not fit the size");
    for (int i = 0; i < g->rank; i++) {
        g->size[i] = size[i + 2];
        if (g->size[i] < 1)
            return call_invalid(call, "size %" PRId64 " is out of range", g->size[i]);
    }
    return 0;
}

/* Place i of n in [-1, 1], with up to four roundings of numbers of at most 2. */
static struct number place(const struct grid *g, int64_t i, int64_t n, double u)
{
    long double v = g->corners ? 2 * (long double)i / (long double)(n - 1) - 1
                               : (2 * (long double)i + 1) / (long double)n - 1;
    return (struct number){v, 8 * u, 3 * u};
}

/* One coordinate: row `row` of theta times (x, y, z, 1). */
static void put_coordinate(struct bounded *out, size_t at, const struct grid *g, size_t row,
                           const int64_t *index)
{
    double u = unit_of(out->type);
    struct sum sum = {0};
    size_t base = row * (size_t)(g->rank + 1);
    bool open = false;
    for (int k = 0; k < g->rank; k++) {
        int axis = g->rank - 1 - k; /* x comes first, and is the last axis */
        struct number p =
            number_mul(number_of(g->theta, base + (size_t)k), place(g, index[axis], g->size[axis], u), u);
        open |= g->corners && g->size[axis] == 1;
        sum_add(&sum, p.v, p.h, p.l);
    }
    struct number last = number_of(g->theta, base + (size_t)g->rank);
    sum_add(&sum, last.v, last.h, last.l);
    long double tiny = dtype_precision(out->type).tiny * 4;
    sum.inexact = true;
    if (open)
        bounded_put_open(out, at);
    else if (!isfinite(sum_value(&sum)) || sum_overflows(&sum, out->type))
        bounded_put_undecided(out, at, 0);
    else
        bounded_put(out, at, sum_value(&sum), sum_hard(&sum, u) + tiny, sum_likely(&sum, u));
}

static int eval_affine_grid(struct op_call *call)
{
    struct grid g = {0};
    if (take_grid(call, &g))
        return -1;
    struct shape shape = {.rank = g.rank + 2, .dims = {g.batch}}, image = {.rank = g.rank};
    for (int i = 0; i < g.rank; i++)
        shape.dims[i + 1] = image.dims[i] = g.size[i];
    shape.dims[g.rank + 1] = g.rank;
    struct bounded *out = call_output(call, 0, g.theta->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    size_t at = 0;
    for (size_t b = 0; b < (size_t)g.batch; b++) {
        int64_t index[TENSOR_MAX_RANK] = {0};
        do {
            for (size_t row = 0; row < (size_t)g.rank; row++)
                put_coordinate(out, at++, &g, b * (size_t)g.rank + row, index);
        } while (odometer_next(index, &image));
    }
    return 0;
}

static int sample_affine_grid(struct draw *d)
{
    int rank = draw_chance(d, 0.5) ? 2 : 3;
    int64_t size[5] = {draw_between(d, 1, 3), draw_between(d, 1, 3)};
    if (d->given)
        return -1;
    for (int i = 0; i < rank; i++)
        size[i + 2] = draw_between(d, 1, 5);
    draw_data(d, d->type, &(struct shape){3, {size[0], rank, rank + 1}});
    draw_int_input(d, size, (size_t)rank + 2);
    if (draw_chance(d, 0.6))
        draw_int(d, "align_corners", draw_between(d, 0, 1));
    return 0;
}

/* ---- DeformConv ---- */

struct deform {
    const struct bounded *x, *weights, *offset, *bias, *mask;
    struct conv_attributes w;
    struct shape shape;
    int64_t offset_groups, channels; /* channels: of a group of the weights */
};

static int check_places(struct op_call *call, const struct deform *c, const struct bounded *input,
                        int64_t each)
{
    int64_t taps = c->w.kernel[0] * c->w.kernel[1];
    struct shape wanted = {
        4, {c->x->shape.dims[0], c->offset_groups * taps * each, c->shape.dims[2], c->shape.dims[3]}};
    if (!shape_equal(&input->shape, &wanted) || input->type != c->x->type)
        return call_invalid(call, "the offset or the mask does not fit the output");
    return 0;
}

static int take_deform(struct op_call *call, struct deform *c)
{
    c->x = call_need(call, 0);
    c->weights = call_need(call, 1);
    c->offset = call_need(call, 2);
    c->bias = call_input(call, 3);
    c->mask = call_input(call, 4);
    if (!c->x || !c->weights || !c->offset)
        return -1;
    if (c->x->shape.rank != 4 || c->weights->shape.rank != 4)
        return call_unsupported(call, "an image of another rank than 4");
    if (c->weights->type != c->x->type || conv_attributes_read(call, &c->x->shape, &c->weights->shape, &c->w))
        return c->weights->type == c->x->type ? -1 : call_invalid(call, "the operands have different types");
    int64_t outputs = c->weights->shape.dims[0], inputs = c->x->shape.dims[1];
    c->channels = c->weights->shape.dims[1];
    c->offset_groups = call_int(call, "offset_group", 1);
    if (c->channels * c->w.groups != inputs || outputs % c->w.groups)
        return call_invalid(call, "the weights do not match %" PRId64 " channels", inputs);
    if (c->offset_groups < 1 || inputs % c->offset_groups || (c->bias && c->bias->count != (size_t)outputs))
        return call_invalid(call, "the bias or offset_group does not match the channels");
    c->shape = (struct shape){4, {c->x->shape.dims[0], outputs}};
    for (int i = 0; i < 2; i++) {
        int64_t room = c->x->shape.dims[i + 2] + c->w.begin[i] + c->w.end[i] - conv_extent(&c->w, i);
        if (room < 0)
            return call_invalid(call, "the kernel is larger than the padded input");
        c->shape.dims[i + 2] = room / c->w.stride[i] + 1;
    }
    if (c->w.cut)
        return call_unsupported(call, "strides or dilations are too large");
    return check_places(call, c, c->offset, 2) || (c->mask && check_places(call, c, c->mask, 1)) ? -1 : 0;
}

/* The largest number of a channel, and whether all are numbers. */
struct channel {
    const struct bounded *x;
    size_t at;
    int64_t height, width;
    long double size, hard, likely;
    bool strange;
};

static struct channel channel_of(const struct bounded *x, size_t number)
{
    struct channel c = {.x = x, .height = x->shape.dims[2], .width = x->shape.dims[3]};
    size_t count = (size_t)(c.height * c.width);
    c.at = number * count;
    for (size_t i = c.at; i < c.at + count; i++) {
        struct number v = number_of(x, i);
        c.strange |= !isfinite(v.v) || !isfinite(v.h);
        c.size = fmaxl(c.size, number_most(v));
        c.hard = fmaxl(c.hard, v.h);
        c.likely = fmaxl(c.likely, v.l);
    }
    return c;
}

static long double pixel(const struct channel *c, int64_t row, int64_t column)
{
    bool inside = row >= 0 && row < c->height && column >= 0 && column < c->width;
    return inside ? c->x->value[c->at + (size_t)(row * c->width + column)] : 0;
}

/*
 * The image between four pixels, zeros around it: continuous, so an error of the coordinates costs at most
 * twice the largest number times it; eight roundings follow.
 */
static struct number sample_at(const struct channel *c, struct number y, struct number x, double u)
{
    struct number n = {0, 0, 0};
    if (c->strange || !isfinite(y.v) || !isfinite(x.v) || !isfinite(y.h) || !isfinite(x.h))
        return (struct number){0, INFINITY, 0};
    if (y.v > -2 - y.h && x.v > -2 - x.h && y.v < (long double)c->height + 1 + y.h &&
        x.v < (long double)c->width + 1 + x.h) {
        long double row = floorl(y.v), column = floorl(x.v), down = y.v - row, right = x.v - column;
        int64_t i = row < -3 ? -3 : (int64_t)row, j = column < -3 ? -3 : (int64_t)column;
        n.v = (1 - down) * ((1 - right) * pixel(c, i, j) + right * pixel(c, i, j + 1)) +
              down * ((1 - right) * pixel(c, i + 1, j) + right * pixel(c, i + 1, j + 1));
        n.h = fminl(2 * c->size, 2 * c->size * (y.h + x.h) + 8 * u * c->size) + c->hard;
        n.l = likely_add(2 * c->size * likely_add(y.l, x.l), sqrtl(8.0L / 3) * u * c->size);
        n.l = likely_add(fminl(n.l, n.h), c->likely);
    }
    return n;
}

/* Place of a tap along an axis: exact, plus an offset, which may be rounded. */
static struct number tap_place(const struct deform *c, int axis, int64_t out, int64_t tap,
                               struct number offset, double u)
{
    int64_t base = out * c->w.stride[axis] - c->w.begin[axis] + tap * c->w.dilation[axis];
    return number_add(number_exact((long double)base), offset, 2 * u);
}

/* Element [batch, output, row, column]. */
static void put_deformed(struct bounded *out, size_t at, const struct deform *c, const int64_t *index)
{
    double u = unit_of(out->type);
    struct sum sum = {0};
    int64_t inputs = c->x->shape.dims[1], kh = c->w.kernel[0], kw = c->w.kernel[1], taps = kh * kw;
    int64_t first = index[1] / (c->shape.dims[1] / c->w.groups) * c->channels;
    size_t pixels = (size_t)(c->shape.dims[2] * c->shape.dims[3]);
    size_t here = (size_t)(index[2] * c->shape.dims[3] + index[3]);
    for (int64_t k = 0; k < c->channels; k++) {
        struct channel channel = channel_of(c->x, (size_t)(index[0] * inputs + first + k));
        int64_t group = (first + k) / (inputs / c->offset_groups);
        for (int64_t t = 0; t < taps; t++) {
            size_t place = (size_t)((index[0] * c->offset_groups + group) * taps + t);
            struct number y =
                tap_place(c, 0, index[2], t / kw, number_of(c->offset, place * 2 * pixels + here), u);
            struct number x =
                tap_place(c, 1, index[3], t % kw, number_of(c->offset, (place * 2 + 1) * pixels + here), u);
            struct number v = sample_at(&channel, y, x, u);
            v = c->mask ? number_mul(v, number_of(c->mask, place * pixels + here), u) : v;
            v = number_mul(v, number_of(c->weights, (size_t)((index[1] * c->channels + k) * taps + t)), u);
            sum_add(&sum, v.v, v.h, v.l);
        }
    }
    if (c->bias)
        sum_add(&sum, c->bias->value[index[1]], bounded_hard(c->bias, (size_t)index[1]),
                bounded_likely(c->bias, (size_t)index[1]));
    sum.inexact = true;
    long double tiny = (long double)sum.count * contract_underflow(out->type) * 4;
    if (!isfinite(sum_value(&sum)) || sum_overflows(&sum, out->type))
        bounded_put_undecided(out, at, 0);
    else
        bounded_put(out, at, sum_value(&sum), sum_hard(&sum, u) + tiny, sum_likely(&sum, u));
}

static int eval_deform(struct op_call *call)
{
    struct deform c = {0};
    if (take_deform(call, &c))
        return -1;
    struct bounded *out = call_output(call, 0, c.x->type, &c.shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    long double each = (long double)c.channels *
                       (long double)(c.x->shape.dims[2] * c.x->shape.dims[3] + c.w.kernel[0] * c.w.kernel[1]);
    if ((long double)out->count * each > WORK_LIMIT)
        return error_set(call->err, ERROR_LIMIT, "DeformConv: more samples than the reference takes");
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &c.shape))
        put_deformed(out, i, &c, index);
    return 0;
}

static int sample_deform(struct draw *d)
{
    int64_t groups = draw_between(d, 1, 2), offset_groups = draw_between(d, 1, 2);
    int64_t channels = groups * offset_groups * draw_between(d, 1, 2),
            outputs = groups * draw_between(d, 1, 2);
    int64_t kernel[2], stride[2], dilation[2], pads[4], size[2];
    struct shape x = {4, {draw_between(d, 1, 2), channels}}, weights = {4, {outputs, channels / groups}};
    if (d->given)
        return -1;
    for (int i = 0; i < 2; i++) {
        kernel[i] = draw_between(d, 1, 3);
        stride[i] = draw_between(d, 1, 2);
        dilation[i] = draw_between(d, 1, 2);
        pads[i] = draw_between(d, 0, 2);
        pads[i + 2] = draw_between(d, 0, 2);
        int64_t span = dilation[i] * (kernel[i] - 1) + 1;
        x.dims[i + 2] = span + draw_between(d, 0, 3);
        weights.dims[i + 2] = kernel[i];
        size[i] = (x.dims[i + 2] + pads[i] + pads[i + 2] - span) / stride[i] + 1;
    }
    int64_t places = offset_groups * kernel[0] * kernel[1];
    draw_data(d, d->type, &x);
    draw_data(d, d->type, &weights);
    draw_range(d, d->type, &(struct shape){4, {x.dims[0], 2 * places, size[0], size[1]}}, -2, 2);
    bool mask = draw_chance(d, 0.5);
    if (draw_chance(d, 0.5))
        draw_data(d, d->type, &(struct shape){1, {outputs}});
    else if (mask)
        draw_omit(d);
    if (mask)
        draw_range(d, d->type, &(struct shape){4, {x.dims[0], places, size[0], size[1]}}, 0, 1);
    draw_ints(d, "kernel_shape", kernel, 2);
    draw_ints(d, "strides", stride, 2);
    draw_ints(d, "dilations", dilation, 2);
    draw_ints(d, "pads", pads, 4);
    if (groups > 1 || draw_chance(d, 0.3))
        draw_int(d, "group", groups);
    if (offset_groups > 1 || draw_chance(d, 0.3))
        draw_int(d, "offset_group", offset_groups);
    return 0;
}

static const struct op_param grid_params[] = {
    {"align_corners", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"size", PARAM_INPUT, .input = 1, .legal = "1,1,2,3", .illegal = "1,1,0,-1"},
    {0}};
static const struct op_param deform_params[] = {
    {"dilations", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"group", PARAM_INT, .legal = "1|2", .illegal = "0|-1|7", .initial = "1"},
    {"kernel_shape", PARAM_INTS, .illegal = "0|-1"},
    {"offset_group", PARAM_INT, .legal = "1|2", .illegal = "0|-1|7", .initial = "1"},
    {"pads", PARAM_INTS, .legal = "0|1", .illegal = "-1", .initial = "0"},
    {"strides", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},
    {"W", PARAM_INPUT, .input = 1},
    {0}};
static const struct op_param deform_extras[] = {
    {"B", PARAM_INPUT, .input = 3}, {"mask", PARAM_INPUT, .input = 4}, {0}};

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

const struct op ops_deform[] = {
    {OP("AffineGrid", 20), .flags = OP_ON_REQUEST, .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {3, 3},
     .types = {{20, DTYPES_FLOAT}}, .params = grid_params, .eval = eval_affine_grid,
     .sample = sample_affine_grid, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .result = RESULT_TYPE, .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}, .open = "the corners of a side of one pixel"},
    {OP("DeformConv", 19), .flags = OP_ON_REQUEST, .inputs = {3, 5}, .outputs = {1, 1}, .ranks = {4, 4},
     .types = {{19, BASE}, {22, DTYPES_FLOAT}}, .params = deform_params, .extras = deform_extras,
     .eval = eval_deform, .sample = sample_deform, .data = DATA_FIRST, .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}, .added = 1 << 3}, .result = RESULT_TYPE,
     .work = WORK_PRODUCTS, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
