/*
 * GridSample: samples X at the coordinates of `grid`, which run from -1 to 1 over the image and are given in
 * the order x, y, z. Coordinates are known up to a few roundings of the grid's type; see interpolate.h.
 */
#include "base/limits.h"
#include "bounds/interpolate.h"
#include "ops/draw.h"
#include "ops/interpolate_gradient.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

enum mode { LINEAR, NEAREST, CUBIC };
enum padding { ZEROS, BORDER, REFLECTION };

struct sampler {
    enum mode mode;
    enum padding padding;
    bool align;
    int rank; /* spatial */
    int64_t dims[TENSOR_MAX_RANK];
    struct strides strides;
};

static int64_t reflect(int64_t index, int64_t length, bool align)
{
    /* Reflects about the centres of the edge samples, or about the edges themselves. */
    int64_t period = align ? 2 * (length - 1) : 2 * length;
    if (period == 0)
        return 0;
    index %= period;
    if (index < 0)
        index += period;
    if (index < length)
        return index;
    return align ? period - index : period - 1 - index;
}

static int64_t map_index(const struct sampler *s, int axis, int64_t index)
{
    int64_t length = s->dims[axis];
    if (index >= 0 && index < length)
        return index;
    if (s->padding == ZEROS)
        return -1;
    if (s->padding == BORDER)
        return index < 0 ? 0 : length - 1;
    return reflect(index, length, s->align);
}

static int64_t map_nearest(const void *context, int axis, int64_t index)
{
    return map_index(context, axis, index);
}

struct spot {
    long double x, e;
};

/*
 * Whether implementations differ for border padding and cubic mode: they clamp the coordinate, or the samples
 * around it. That makes a difference between the edge and the place from which on all samples are the edge.
 */
static bool is_disputed(const struct sampler *s, int axis, const struct spot *at)
{
    if (s->mode != CUBIC || s->padding != BORDER)
        return false;
    long double length = (long double)s->dims[axis], margin = s->align ? 0 : 0.5L;
    long double low = at->x - at->e, high = at->x + at->e;
    return (low < -margin && high > -2) || (high > length - 1 + margin && low < length + 1);
}

/* Four roundings of numbers no larger than (|n| + 1) * length; ONNX's own evaluator computes them in float32,
 * also for a grid of float64. */
static struct spot locate(const struct sampler *s, int axis, const struct bounded *grid, size_t at)
{
    long double n = grid->value[at], length = (long double)s->dims[axis];
    long double x = s->align ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    long double hard = bounded_hard(grid, at), unit = fmaxl(unit_of(grid->type), 0x1p-24L);
    return (struct spot){x, 4 * unit * (fabsl(n) + hard + 1) * length + hard * length / 2};
}

static bool find_nearest(const struct sampler *s, const struct spot *spots, struct nearest *nearest)
{
    for (int a = 0; a < s->rank; a++) {
        if (!(spots[a].e < 1))
            return false;
        nearest[a].chosen = (int64_t)rintl(spots[a].x);
        nearest[a].low = (int64_t)ceill(spots[a].x - spots[a].e - 0.5L);
        nearest[a].high = (int64_t)floorl(spots[a].x + spots[a].e + 0.5L);
        nearest[a].stride = s->strides.of[a];
    }
    return true;
}

/* The taps of one position, for each axis. */
struct taps {
    struct tap of[3][12];
    struct tap_list lists[3];
};

static struct kernel kernel_for(const struct sampler *s, enum dtype type)
{
    struct kernel kernel = {.cubic = s->mode == CUBIC, .a = -0.75, .stretch = 1, .unit = unit_of(type)};
    if (kernel.unit < 0x1p-24)
        kernel.unit = 0x1p-24; /* weights in float32 for float64 data */
    return kernel;
}

/* The taps of one axis, or their derivatives by the coordinate; false: not known. */
static bool find_taps(const struct sampler *s, enum dtype type, const struct spot *spot, int a, bool slopes,
                      struct taps *taps)
{
    struct kernel kernel = kernel_for(s, type);
    struct tap *of = taps->of[a];
    size_t count =
        slopes ? tap_slopes_at(&kernel, spot->x, spot->e, of) : taps_at(&kernel, spot->x, spot->e, of);
    if (count == 0 || is_disputed(s, a, spot))
        return false;
    for (size_t k = 0; k < count; k++) {
        int64_t index = map_index(s, a, of[k].index);
        of[k].index = index < 0 ? TAP_OUTSIDE : index;
    }
    taps->lists[a] = (struct tap_list){of, count, s->strides.of[a]};
    return true;
}

static bool find_all_taps(const struct sampler *s, enum dtype type, const struct spot *spots,
                          struct taps *taps)
{
    for (int a = 0; a < s->rank; a++)
        if (!find_taps(s, type, &spots[a], a, false, taps))
            return false;
    return true;
}

/* Where a position of the output is in the image; false: too far away. */
static bool find_spots(const struct sampler *s, const struct bounded *grid, size_t position,
                       struct spot spots[3])
{
    size_t rank = (size_t)s->rank;
    bool known = true;
    for (size_t a = 0; a < rank; a++) {
        spots[a] = locate(s, (int)a, grid, position * rank + rank - 1 - a);
        known &= fabsl(spots[a].x) < 1e9L;
    }
    return known;
}

/* One output position: the same coordinates serve all channels. */
static void sample_position(const struct sampler *s, struct bounded *out, const struct bounded *x,
                            const struct bounded *grid, size_t n, size_t position, size_t positions)
{
    struct spot spots[3] = {{0, 0}};
    struct nearest nearest[TENSOR_MAX_RANK];
    struct taps taps;
    size_t channels = (size_t)x->shape.dims[1], block = shape_span(&x->shape, 2, x->shape.rank);
    bool known =
        find_spots(s, grid, n * positions + position, spots) &&
        (s->mode == NEAREST ? find_nearest(s, spots, nearest) : find_all_taps(s, x->type, spots, &taps));
    for (size_t c = 0; c < channels; c++) {
        size_t i = (n * channels + c) * positions + position, base = (n * channels + c) * block;
        if (!known)
            bounded_put_undecided(out, i, 0);
        else if (s->mode == NEAREST)
            put_nearest(out, i, x, base, s->rank, nearest, map_nearest, s);
        else
            put_interpolated(out, i, x, base, s->rank, taps.lists);
    }
}

/* The gradient at one position of the output, over all channels. */
struct position {
    const struct sampler *s;
    const struct bounded *x, *grid, *up;
    size_t n, position, positions; /* in sample n */
};

/* Gives what arrives to the samples; false when it is not known to which. */
static bool give_position(const struct position *p, const struct spot *spots, struct gradient_sums *sums)
{
    const struct sampler *s = p->s;
    struct nearest nearest[TENSOR_MAX_RANK];
    struct taps taps;
    size_t channels = (size_t)p->x->shape.dims[1], block = shape_span(&p->x->shape, 2, p->x->shape.rank);
    if (!(s->mode == NEAREST ? find_nearest(s, spots, nearest) : find_all_taps(s, p->x->type, spots, &taps)))
        return false;
    for (size_t c = 0; c < channels; c++) {
        size_t i = (p->n * channels + c) * p->positions + p->position;
        struct interpolated to = {.sums = sums, .up = number_of(p->up, i), .rank = s->rank};
        to.base = (p->n * channels + c) * block;
        if (s->mode == NEAREST)
            nearest_give(&to, nearest, map_nearest, s);
        else
            interpolated_give(&to, taps.lists);
    }
    return true;
}

/* The sum over channels and samples of g x w, where w is a product of weights and one derivative. */
struct bend {
    struct sum sum;
    const struct bounded *x;
    struct number up;
    long double unit;
    int rank;
};

static void add_bend(void *context, size_t at, long double weight, long double reach)
{
    struct bend *b = context;
    struct number x = number_of(b->x, at), w = {weight, reach - fabsl(weight), (reach - fabsl(weight)) / 3};
    struct number term = number_mul(number_mul(b->up, x, b->unit), w, b->unit);
    long double own = (long double)(2 * b->rank) * b->unit * number_most(b->up) * number_most(x) * reach;
    sum_add(&b->sum, term.v, term.h + own, likely_add(term.l, own / 3));
}

/*
 * The derivative by one coordinate of the grid. Linear interpolation has a kink at every sample, except
 * beyond the border, where it is constant; nearest is constant between its jumps.
 */
static void put_coordinate(const struct position *p, const struct spot *spots, int a, struct bounded *slope,
                           size_t at)
{
    const struct sampler *s = p->s;
    long double length = (long double)s->dims[a], stretch = (s->align ? length - 1 : length) / 2,
                unit = fmaxl(unit_of(p->x->type), unit_of(slope->type));
    bool constant = s->mode == LINEAR && s->padding == BORDER &&
                    (spots[a].x + spots[a].e < 0 || spots[a].x - spots[a].e > length - 1);
    struct taps taps;
    if (s->mode == NEAREST || constant)
        return;
    bool known =
        find_all_taps(s, p->x->type, spots, &taps) && find_taps(s, p->x->type, &spots[a], a, true, &taps);
    struct bend bend = {.x = p->x, .unit = unit, .rank = s->rank};
    size_t channels = (size_t)p->x->shape.dims[1], block = shape_span(&p->x->shape, 2, p->x->shape.rank);
    for (size_t c = 0; known && c < channels; c++) {
        bend.up = number_of(p->up, (p->n * channels + c) * p->positions + p->position);
        taps_visit((p->n * channels + c) * block, s->rank, taps.lists, add_bend, &bend);
    }
    struct number sum = {sum_value(&bend.sum), sum_hard(&bend.sum, (double)unit),
                         sum_likely(&bend.sum, (double)unit)};
    const struct number factors[] = {sum, number_exact(stretch)};
    sum = number_product(factors, 2, slope->type, 2 * unit);
    if (known && isfinite(sum.v) && !sum_overflows(&bend.sum, slope->type))
        number_put(slope, at, sum);
    else
        bounded_put_undecided(slope, at, 0);
}

static int read_attributes(struct op_call *call, struct sampler *s)
{
    bool renamed = call->opset >= 20;
    const char *mode = call_string(call, "mode", renamed ? "linear" : "bilinear");
    const char *padding = call_string(call, "padding_mode", "zeros");
    if (strcmp(mode, renamed ? "linear" : "bilinear") == 0)
        s->mode = LINEAR;
    else if (strcmp(mode, "nearest") == 0)
        s->mode = NEAREST;
    else if (strcmp(mode, renamed ? "cubic" : "bicubic") == 0)
        s->mode = CUBIC;
    else
        return call_invalid(call, "mode %.40s is not known", mode);
    if (strcmp(padding, "zeros") == 0)
        s->padding = ZEROS;
    else if (strcmp(padding, "border") == 0)
        s->padding = BORDER;
    else if (strcmp(padding, "reflection") == 0)
        s->padding = REFLECTION;
    else
        return call_invalid(call, "padding_mode %.40s is not known", padding);
    s->align = call_int(call, "align_corners", 0) != 0;
    return 0;
}

static int check_shapes(struct op_call *call, const struct bounded *x, const struct bounded *grid,
                        struct sampler *s)
{
    s->rank = x->shape.rank - 2;
    if (s->rank < 1 || x->shape.rank != grid->shape.rank || (call->opset < 20 && s->rank != 2))
        return call_invalid(call, "ranks %d and %d of input and grid are not allowed", x->shape.rank,
                            grid->shape.rank);
    if (s->rank > 3)
        return call_unsupported(call, "%d spatial dims are not supported", s->rank);
    if (grid->shape.dims[0] != x->shape.dims[0] || grid->shape.dims[grid->shape.rank - 1] != s->rank)
        return call_invalid(call, "the shape of the grid does not match the input");
    struct shape spatial = shape_make(s->rank, x->shape.dims + 2);
    s->strides = strides_dense(&spatial);
    for (int a = 0; a < s->rank; a++) {
        s->dims[a] = spatial.dims[a];
        if (s->dims[a] == 0)
            return call_invalid(call, "the image is empty");
    }
    return 0;
}

static int eval_grid_sample(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *grid = call_need(call, 1);
    struct sampler s = {0};
    if (!x || !grid || read_attributes(call, &s) || check_shapes(call, x, grid, &s))
        return -1;
    struct shape shape = x->shape;
    memcpy(shape.dims + 2, grid->shape.dims + 1, (size_t)s.rank * sizeof *shape.dims);
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || out->count == 0)
        return out ? 0 : -1;
    if (s.mode != NEAREST && bounded_may_be_strange(x)) {
        for (size_t i = 0; i < out->count; i++)
            bounded_put_undecided(out, i, 0);
        return 0;
    }
    size_t positions = shape_span(&shape, 2, shape.rank);
    for (size_t n = 0; n < (size_t)shape.dims[0]; n++)
        for (size_t p = 0; p < positions && !limits_late(256); p++)
            sample_position(&s, out, x, grid, n, p, positions);
    return 0;
}

static void differentiate(const struct sampler *s, struct position *p, struct gradient_sums *sums,
                          struct bounded *by_grid)
{
    bool strange = bounded_may_be_strange(p->x), known = true;
    for (p->n = 0; p->n < (size_t)p->x->shape.dims[0]; p->n++)
        for (p->position = 0; p->position < p->positions; p->position++) {
            struct spot spots[3] = {{0, 0}};
            size_t row = p->n * p->positions + p->position, rank = (size_t)s->rank;
            bool near = find_spots(s, p->grid, row, spots);
            known = known && near && (!sums->slope || give_position(p, spots, sums));
            for (size_t a = 0; by_grid && a < rank; a++)
                if (near && !strange)
                    put_coordinate(p, spots, (int)a, by_grid, row * rank + rank - 1 - a);
                else
                    bounded_put_undecided(by_grid, row * rank + rank - 1 - a, 0);
        }
    for (size_t i = 0; sums->slope && !known && i < p->x->count; i++)
        gradient_sums_undecided(sums, i);
}

static int gradient_grid_sample(struct op_gradient *g)
{
    struct op_call *call = g->call;
    struct position p = {.x = call->inputs[0], .grid = call->inputs[1], .up = g->upstream[0]};
    struct sampler s = {0};
    if (!p.up || read_attributes(call, &s) || check_shapes(call, p.x, p.grid, &s))
        return p.up ? -1 : 0;
    struct gradient_sums sums = {0};
    struct bounded *by_x = gradient_make(g, 0), *by_grid = gradient_make(g, 1);
    if ((g->wanted[1] && !by_grid) || (g->wanted[0] && (!by_x || gradient_sums_init(&sums, by_x, call->err))))
        return -1;
    p.s = &s;
    p.positions = shape_span(&p.up->shape, 2, p.up->shape.rank);
    if (p.up->count > 0)
        differentiate(&s, &p, &sums, by_grid);
    if (by_x)
        gradient_sums_store(&sums);
    return 0;
}

static int sample_grid_sample(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 4, d->opset >= 20 && draw_chance(d, 0.3) ? 5 : 4);
    if (x.shape.rank != 4 && d->opset < 20)
        return -1;
    for (int i = 0; i < x.shape.rank; i++)
        if (x.shape.dims[i] == 0)
            return -1;
    bool renamed = d->opset >= 20, deep = x.shape.rank == 5;
    struct shape grid = x.shape;
    for (int i = 1; i < grid.rank - 1; i++)
        grid.dims[i] = draw_between(d, 1, deep ? 3 : 6);
    grid.dims[grid.rank - 1] = grid.rank - 2;
    double reach = draw_chance(d, 0.5) ? 1 : 1.8;
    draw_range(d, x.type, &grid, -reach, reach);
    if (draw_chance(d, 0.8)) {
        const char *all = renamed ? "linear|nearest|cubic" : "bilinear|nearest|bicubic";
        draw_string(d, "mode", draw_word(d, deep ? "linear|nearest" : all));
    }
    if (draw_chance(d, 0.8))
        draw_string(d, "padding_mode", draw_word(d, "zeros|border|reflection"));
    if (draw_chance(d, 0.6))
        draw_int(d, "align_corners", draw_between(d, 0, 1));
    return 0;
}

static const struct op_param params[] = {
    {"mode", PARAM_STRING, .since = 16, .until = 19, .legal = "bilinear|nearest|bicubic",
     .illegal = "linear|", .initial = "bilinear"},
    {"mode", PARAM_STRING, .since = 20, .legal = "linear|nearest|cubic", .illegal = "bilinear|",
     .initial = "linear"},
    {"padding_mode", PARAM_STRING, .legal = "zeros|border|reflection", .illegal = "reflect|",
     .initial = "zeros"},
    {"align_corners", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};

const struct op ops_gridsample[] = {
    {OP("GridSample", 16), .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {4, 5},
     .types = {{16, DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE)},
               {22, DTYPES_FLOAT}},
     .params = params, .eval = eval_grid_sample, .gradient = gradient_grid_sample,
     .sample = sample_grid_sample, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .history = {.reformed = 20}, .result = RESULT_TYPE,
     .work = WORK_ELEMENTS, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
