/*
 * Resize. Every axis is handled on its own: for each output coordinate, the coordinate in the input, how far
 * rounding may have moved it, and the taps or the candidates there. Output elements are products over the
 * axes.
 *
 * Engines compute coordinates in float32. With `scales`, which are float32, a coordinate near a jump of
 * `nearest` may fall on either side. With `sizes`, the scale is a quotient of integers and a coordinate is a
 * rational number that a correct implementation can compute exactly: nearest is decided, ties included.
 */
#include "base/limits.h"
#include "bounds/interpolate.h"
#include "ops/interpolate_gradient.h"
#include "ops/resize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const resize_transforms[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize",
};
const char *const resize_roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
const char *const resize_modes[] = {"nearest", "linear", "cubic"};
const char *const resize_policies[] = {"stretch", "not_larger", "not_smaller"};

/* Half an ulp of float32, in which coordinates are computed whatever the data's type. */
static const double coordinate_unit = 0x1p-24;

struct axis {
    int64_t in, out;
    long double num, den; /* scale = num / den */
    bool rational;        /* from sizes */
    bool resized;         /* `axes` names it */
    long double start, end;
};

enum side { INSIDE, OUTSIDE, UNSURE };

/* What an output coordinate needs, once for each. */
struct place {
    enum side side; /* OUTSIDE: extrapolation_value */
    struct nearest nearest;
    struct tap *taps;
    size_t n_taps;
};

struct resize {
    enum mode mode;
    enum transform transform;
    enum rounding rounding;
    enum policy policy;
    bool exclude_outside, antialias, disputed;
    bool strange; /* an element is NaN or infinite, or may be */
    double a, extrapolation;
    struct axis axes[TENSOR_MAX_RANK];
    struct place *places[TENSOR_MAX_RANK];
    struct tap *taps[TENSOR_MAX_RANK]; /* of all places of an axis */
};

static int read_word(struct op_call *call, const char *name, const char *const *words, int count, int initial,
                     int *value)
{
    const char *text = call_string(call, name, words[initial]);
    for (*value = 0; *value < count; ++*value)
        if (strcmp(text, words[*value]) == 0)
            return 0;
    return call_invalid(call, "%s %.60s is not known", name, text);
}

static int read_attributes(struct op_call *call, struct resize *r)
{
    int mode, transform, rounding, policy;
    bool old = call->opset < 11;
    if (read_word(call, "mode", resize_modes, MODES, NEAREST, &mode) ||
        read_word(call, "coordinate_transformation_mode", resize_transforms, TRANSFORMS,
                  old ? ASYMMETRIC : HALF_PIXEL, &transform) ||
        read_word(call, "nearest_mode", resize_roundings, ROUNDINGS, old ? ROUND_FLOOR : ROUND_PREFER_FLOOR,
                  &rounding) ||
        read_word(call, "keep_aspect_ratio_policy", resize_policies, POLICIES, STRETCH, &policy))
        return -1;
    if (transform == HALF_PIXEL_SYMMETRIC && call->opset < 19)
        return call_invalid(call, "half_pixel_symmetric exists only since opset 19");
    if (transform == TF_HALF_PIXEL_FOR_NN && call->opset > 12)
        return call_invalid(call, "tf_half_pixel_for_nn exists only before opset 13");
    r->mode = (enum mode)mode;
    r->transform = (enum transform)transform;
    r->rounding = (enum rounding)rounding;
    r->policy = (enum policy)policy;
    r->exclude_outside = call_int(call, "exclude_outside", 0) != 0;
    r->antialias = call->opset >= 18 && call_int(call, "antialias", 0) != 0 && mode != NEAREST;
    r->a = call_float(call, "cubic_coeff_a", -0.75);
    r->extrapolation = call_float(call, "extrapolation_value", 0);
    return 0;
}

/* Input `index` unless omitted or empty, with `count` values known. */
static int read_list(struct op_call *call, size_t index, size_t count, const struct bounded **list)
{
    *list = call_input(call, index);
    if (!*list || (*list)->count == 0) {
        *list = NULL;
        return 0;
    }
    if ((*list)->shape.rank != 1 || (*list)->count != count)
        return call_invalid(call, "input %zu is not a list of %zu values", index, count);
    if (!(*list)->value)
        return call_unsupported(call, "the shape depends on data (input %zu)", index);
    return 0;
}

/* Reads which axes the lists apply to, in their order. */
static int read_axes(struct op_call *call, int rank, int *order, size_t *count)
{
    const int64_t *axes = call->opset >= 18 ? call_ints(call, "axes", count) : (*count = 0, NULL);
    bool seen[TENSOR_MAX_RANK] = {false};
    if (*count == 0) {
        for (int i = 0; i < rank; i++)
            order[i] = i;
        *count = (size_t)rank;
        return 0;
    }
    if (*count > (size_t)rank)
        return call_invalid(call, "there are more axes than dims");
    for (size_t i = 0; i < *count; i++) {
        if (call_axis(call, axes[i], rank, &order[i]))
            return -1;
        if (seen[order[i]])
            return call_invalid(call, "axis %d is given twice", order[i]);
        seen[order[i]] = true;
    }
    return 0;
}

/* Whether the size is another length than the one it was rounded from. */
static bool is_rounded(const struct axis *axis, long double length)
{
    return fabsl(length - (long double)axis->out) > 1e-5L * length;
}

/*
 * One scale for all named axes; sizes round half up. One sentence of the ONNX text computes coordinates with
 * that scale, another ("scale = length_resized / length_original") with the scale that remains after
 * rounding.
 */
static void keep_ratio(struct resize *r, const int *order, size_t count)
{
    const struct axis *best = &r->axes[order[0]];
    for (size_t i = 1; i < count; i++) {
        const struct axis *axis = &r->axes[order[i]];
        bool less = axis->num * best->den < best->num * axis->den;
        if (less == (r->policy == NOT_LARGER))
            best = axis;
    }
    long double num = best->num, den = best->den;
    for (size_t i = 0; i < count; i++) {
        struct axis *axis = &r->axes[order[i]];
        axis->num = num;
        axis->den = den;
        long double length = num * (long double)axis->in / den;
        axis->out = (int64_t)floorl(length + 0.5L);
        r->disputed |= is_rounded(axis, length);
    }
}

static int from_sizes(struct op_call *call, struct resize *r, const struct bounded *sizes, const int *order,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct axis *axis = &r->axes[order[i]];
        if (bounded_hard(sizes, i) > 0)
            return call_unsupported(call, "size %zu is undecided", i);
        axis->out = (int64_t)sizes->value[i];
        axis->num = (long double)axis->out;
        axis->den = (long double)axis->in;
        axis->rational = true;
        if (axis->out < 0 || (axis->in == 0 && axis->out > 0))
            return call_invalid(call, "size %" PRId64 " is not possible for a dim of %" PRId64, axis->out,
                                axis->in);
        /* A scale must be "greater than 0", and that of size 0 is not. */
        call->open |= axis->out == 0 && axis->in > 0;
    }
    if (r->policy != STRETCH && count > 0)
        keep_ratio(r, order, count);
    return 0;
}

/*
 * Where dim times scale is not an integer, versions of ONNX and implementations disagree on whether these
 * transformations divide by that product or by the size.
 */
static void find_disputes(struct resize *r, const struct axis *axis, long double length)
{
    bool uses_length = r->transform == ALIGN_CORNERS || r->transform == TF_CROP_AND_RESIZE ||
                       (r->transform == PYTORCH_HALF_PIXEL && axis->out == 1);
    r->disputed |= uses_length && is_rounded(axis, length);
}

/* Whether a region or scales have error bounds: then the positions of the samples are uncertain. */
static bool unsure(const struct bounded *b)
{
    for (size_t i = 0; b && b->hard && i < b->count; i++)
        if (b->hard[i] > 0)
            return true;
    return false;
}

static int from_scales(struct op_call *call, struct resize *r, const struct bounded *scales, const int *order,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct axis *axis = &r->axes[order[i]];
        long double scale = scales->value[i], length = scale * (long double)axis->in;
        if (r->transform == TF_CROP_AND_RESIZE)
            length *= axis->end - axis->start;
        long double off = bounded_hard(scales, i) > 0
                              ? bounded_hard(scales, i) * (long double)axis->in + 0x1p-22L * fabsl(length)
                              : 0;
        if (off > 0 && !(scale > bounded_hard(scales, i) && floorl(length - off) == floorl(length + off)))
            return call_unsupported(call, "scale %zu determines a shape, and its value is undecided", i);
        if (!(scale > 0))
            return call_invalid(call, "scale %Lg is out of range", scale);
        if (!(length < 0x1p40L))
            return call_unsupported(call, "scale %Lg is too large", scale);
        axis->out = (int64_t)floorl(length);
        axis->num = scale;
        axis->den = 1;
        find_disputes(r, axis, length);
    }
    return 0;
}

static int read_sizes(struct op_call *call, struct resize *r, const struct bounded *x)
{
    const struct bounded *roi = NULL, *scales, *sizes = NULL;
    int order[TENSOR_MAX_RANK];
    size_t count;
    bool old = call->opset < 11, crop = r->transform == TF_CROP_AND_RESIZE;
    if (read_axes(call, x->shape.rank, order, &count) || read_list(call, old ? 1 : 2, count, &scales) ||
        (!old && read_list(call, 3, count, &sizes)) || (crop && read_list(call, 1, 2 * count, &roi)))
        return -1;
    if (!scales == !sizes)
        return call_invalid(call, "one of scales and sizes must be given");
    if (crop && !roi)
        return call_invalid(call, "roi is missing");
    if (scales && crop && (unsure(roi) || unsure(scales)))
        return call_unsupported(call, "the region or a scale determines a shape, and its value is undecided");
    for (int i = 0; i < x->shape.rank; i++)
        r->axes[i] =
            (struct axis){.in = x->shape.dims[i], .out = x->shape.dims[i], .num = 1, .den = 1, .end = 1};
    for (size_t i = 0; i < count; i++) {
        r->axes[order[i]].resized = true;
        if (roi) {
            r->axes[order[i]].start = roi->value[i];
            r->axes[order[i]].end = roi->value[count + i];
        }
    }
    return sizes ? from_sizes(call, r, sizes, order, count) : from_scales(call, r, scales, order, count);
}

static bool is_untouched(const struct resize *r, const struct axis *axis)
{
    bool whole = r->transform != TF_CROP_AND_RESIZE || (axis->start == 0 && axis->end == 1);
    return axis->in == axis->out && axis->num == axis->den && whole && r->transform != TF_HALF_PIXEL_FOR_NN;
}

/*
 * The input coordinate of output coordinate p, and in *e how far float32 may move it: 4 roundings of what is
 * added. A scale that is a power of two moves nothing.
 */
static long double coordinate(const struct resize *r, const struct axis *axis, int64_t p, long double *e)
{
    long double in = (long double)axis->in, out = (long double)axis->out, x = (long double)p;
    long double scaled = x * axis->den / axis->num, centred = (x + 0.5L) * axis->den / axis->num;
    bool exact = is_power_of_two(axis->num / axis->den);
    *e = exact ? 0 : 4 * coordinate_unit * (centred + 1);
    switch (r->transform) {
    case HALF_PIXEL:
        return centred - 0.5L;
    case HALF_PIXEL_SYMMETRIC: {
        if (out * axis->den != axis->num * in || !exact)
            *e = 4 * coordinate_unit * (centred + in + 1);
        /* offset + centred - 1/2 with a common denominator, so that a tie is exact. */
        return ((in - 1) * axis->num + (2 * x + 1 - out) * axis->den) / (2 * axis->num);
    }
    case PYTORCH_HALF_PIXEL:
        if (axis->out > 1)
            return centred - 0.5L;
        *e = 0;
        return 0;
    case ALIGN_CORNERS:
        *e = axis->out == 1 || axis->in == axis->out ? 0 : 4 * coordinate_unit * in;
        return axis->out == 1 ? 0 : x * (in - 1) / (out - 1);
    case ASYMMETRIC:
        return scaled;
    case TF_HALF_PIXEL_FOR_NN:
        return centred;
    default:
        *e = 6 * coordinate_unit * (fabsl(axis->start) + fabsl(axis->end) + 1) * in;
        if (axis->out == 1)
            return (axis->start + axis->end) * (in - 1) / 2;
        return axis->start * (in - 1) + x * (axis->end - axis->start) * (in - 1) / (out - 1);
    }
}

static int64_t round_coordinate(enum rounding rounding, long double x)
{
    switch (rounding) {
    case ROUND_PREFER_FLOOR:
        return (int64_t)ceill(x - 0.5L);
    case ROUND_PREFER_CEIL:
        return (int64_t)floorl(x + 0.5L);
    case ROUND_FLOOR:
        return (int64_t)floorl(x);
    default:
        return (int64_t)ceill(x);
    }
}

static int64_t clamp(int64_t index, int64_t length)
{
    return index < 0 ? 0 : index >= length ? length - 1 : index;
}

static void place_taps(const struct resize *r, const struct axis *axis, const struct kernel *kernel,
                       long double x, long double e, struct place *place)
{
    /* Beyond the edge the hat kernel reads only the edge sample. */
    long double last = (long double)(axis->in - 1);
    if (!kernel->cubic && kernel->stretch == 1 && (x + e <= 0 || x - e >= last)) {
        x = x + e <= 0 ? 0 : last;
        e = 0;
    }
    place->n_taps = taps_at(kernel, x, e, place->taps);
    for (size_t i = 0; i < place->n_taps; i++) {
        int64_t index = place->taps[i].index;
        bool outside = index < 0 || index >= axis->in;
        place->taps[i].index = outside && r->exclude_outside ? TAP_OUTSIDE : clamp(index, axis->in);
    }
    if (r->exclude_outside)
        place->n_taps = taps_normalise(place->taps, place->n_taps, kernel->unit);
}

static void fill_place(const struct resize *r, const struct axis *axis, const struct kernel *kernel,
                       int64_t p, struct place *place)
{
    long double e, x = coordinate(r, axis, p, &e), last = (long double)(axis->in - 1);
    if (is_untouched(r, axis)) {
        place->nearest = (struct nearest){p, p, p, 0};
        place->taps[0] = (struct tap){p, 1, 0};
        place->n_taps = 1;
        return;
    }
    if (r->transform == TF_CROP_AND_RESIZE)
        place->side = x + e < 0 || x - e > last ? OUTSIDE : x - e < 0 || x + e > last ? UNSURE : INSIDE;
    if (r->mode != NEAREST) {
        place_taps(r, axis, kernel, x, e, place);
        return;
    }
    /* The symmetric form uses a quotient of sizes that no type represents exactly: its ties may fall either
     * way. */
    if (axis->rational && r->transform != TF_CROP_AND_RESIZE && r->transform != HALF_PIXEL_SYMMETRIC)
        e = 0;
    place->nearest.chosen = clamp(round_coordinate(r->rounding, x), axis->in);
    place->nearest.low = clamp(round_coordinate(r->rounding, x - e), axis->in);
    place->nearest.high = clamp(round_coordinate(r->rounding, x + e), axis->in);
}

static int make_places(struct op_call *call, struct resize *r, int a, enum dtype type)
{
    const struct axis *axis = &r->axes[a];
    struct kernel kernel = {.cubic = r->mode == CUBIC, .a = r->a, .stretch = 1, .unit = coordinate_unit};
    if (dtype_is_float(type) && unit_of(type) > kernel.unit)
        kernel.unit = unit_of(type);
    if (r->antialias && axis->num < axis->den)
        kernel.stretch = axis->num / axis->den;
    size_t room = taps_max(&kernel), count = (size_t)axis->out;
    if (count > BOUNDED_LIMIT / room)
        return call_unsupported(call, "axis %d is too long", a);
    r->places[a] = calloc(count, sizeof *r->places[a]);
    r->taps[a] = calloc(count * room, sizeof *r->taps[a]);
    if (!r->places[a] || !r->taps[a])
        return error_set(call->err, ERROR_MEMORY, "no memory for an axis of %zu", count);
    for (size_t p = 0; p < count; p++) {
        r->places[a][p].taps = r->taps[a] + p * room;
        fill_place(r, axis, &kernel, (int64_t)p, &r->places[a][p]);
    }
    return 0;
}

static int64_t same_index(const void *context, int axis, int64_t index)
{
    (void)context;
    (void)axis;
    return index;
}

/* What an output element is made from. */
struct sources {
    enum side side;
    struct tap_list lists[TENSOR_MAX_RANK];
    struct nearest nearest[TENSOR_MAX_RANK];
};

static struct sources sources_of(const struct resize *r, int rank, const struct strides *strides,
                                 const int64_t *index)
{
    struct sources s = {.side = INSIDE};
    for (int a = 0; a < rank; a++) {
        const struct place *place = &r->places[a][index[a]];
        if (place->side == OUTSIDE || (place->side == UNSURE && s.side == INSIDE))
            s.side = place->side;
        s.lists[a] = (struct tap_list){place->taps, place->n_taps, strides->of[a]};
        s.nearest[a] = place->nearest;
        s.nearest[a].stride = strides->of[a];
    }
    return s;
}

static void put_element(const struct resize *r, struct bounded *out, size_t i, const struct bounded *x,
                        const struct strides *strides, const int64_t *index)
{
    int rank = x->shape.rank;
    struct sources from = sources_of(r, rank, strides, index);
    if (r->disputed)
        bounded_put_open(out, i);
    else if (from.side == UNSURE)
        bounded_put_undecided(out, i, 0);
    else if (from.side == OUTSIDE &&
             (dtype_is_float(out->type) || r->extrapolation == floor(r->extrapolation)))
        bounded_put(out, i, r->extrapolation, 0, 0);
    else if (from.side == OUTSIDE)
        bounded_put_open(out, i);
    else if (r->mode == NEAREST)
        put_nearest(out, i, x, 0, rank, from.nearest, same_index, NULL);
    else if (r->strange && taps_near_strange(x, 0, rank, from.lists, x->shape.dims, r->mode == CUBIC ? 2 : 1))
        put_beside_strange(out, i, x, 0, rank, from.lists);
    else
        put_interpolated(out, i, x, 0, rank, from.lists);
}

static void places_release(struct resize *r, int rank)
{
    for (int a = 0; a < rank; a++) {
        free(r->places[a]);
        free(r->taps[a]);
    }
}

static int compute(struct op_call *call, struct resize *r, const struct bounded *x, struct bounded *out)
{
    int result = -1;
    for (int a = 0; a < x->shape.rank; a++)
        if (make_places(call, r, a, x->type))
            goto out;
    struct strides strides = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    r->strange = r->mode != NEAREST && taps_may_be_strange(x);
    for (size_t i = 0; i < out->count && !limits_late(64); i++) {
        put_element(r, out, i, x, &strides, index);
        odometer_next(index, &out->shape);
    }
    result = 0;
out:
    places_release(r, x->shape.rank);
    return result;
}

/* Integers that float32 rounds out of the range of their type: an interpolation between them may leave it,
 * which is unspecified (and some engines refuse). */
static bool at_the_edge(const struct bounded *x)
{
    if (x->type != DTYPE_INT32 && x->type != DTYPE_UINT32 && x->type != DTYPE_INT64 &&
        x->type != DTYPE_UINT64)
        return false;
    long double edge = (long double)dtype_highest(x->type) * (1 - 0x1p-22L);
    for (size_t i = 0; i < x->count; i++)
        if (fabsl(x->value[i]) + bounded_hard(x, i) > edge)
            return true;
    return false;
}

static int eval_resize(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct resize r = {0};
    if (!x || read_attributes(call, &r) || read_sizes(call, &r, x))
        return -1;
    struct shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = r.axes[i].out;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || out->count == 0)
        return out ? 0 : -1;
    if ((r.mode != NEAREST && at_the_edge(x)) || unsure(call_input(call, 1)) || unsure(call_input(call, 2))) {
        for (size_t i = 0; i < out->count; i++)
            bounded_put_open(out, i);
        return 0;
    }
    return compute(call, &r, x, out);
}

static bool has_taps(const struct sources *from, int rank)
{
    for (int a = 0; a < rank; a++)
        if (from->lists[a].count == 0)
            return false;
    return true;
}

/* Gives what arrives to the samples; false when it is not known to which. */
static bool give_element(const struct resize *r, struct gradient_sums *sums, struct number up, int rank,
                         const struct sources *from)
{
    struct interpolated to = {.sums = sums, .up = up, .rank = rank, .undecided = from->side == UNSURE};
    if (from->side == OUTSIDE)
        return true;
    if (r->mode == NEAREST)
        nearest_give(&to, from->nearest, same_index, NULL);
    else if (has_taps(from, rank))
        interpolated_give(&to, from->lists);
    else
        return false;
    return true;
}

static int spread(struct op_gradient *g, struct resize *r, struct gradient_sums *sums)
{
    const struct bounded *x = g->call->inputs[0], *up = g->upstream[0];
    int rank = x->shape.rank, result = 0;
    bool known = true;
    for (int a = 0; a < rank && result == 0; a++)
        result = make_places(g->call, r, a, x->type);
    struct strides strides = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; result == 0 && i < up->count; i++) {
        struct sources from = sources_of(r, rank, &strides, index);
        known &= give_element(r, sums, number_of(up, i), rank, &from);
        odometer_next(index, &up->shape);
    }
    for (size_t i = 0; !known && i < x->count; i++)
        gradient_sums_undecided(sums, i);
    places_release(r, rank);
    return result;
}

/* The transposed map. Nobody computes derivatives by the region or the scales. */
static int gradient_resize(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0], *up = g->upstream[0];
    struct resize r = {0};
    struct gradient_sums sums;
    for (size_t i = 1; i < call->n_inputs; i++)
        if (gradient_leave_undecided(g, i))
            return -1;
    if (!up || !g->wanted[0])
        return 0;
    if (read_attributes(call, &r) || read_sizes(call, &r, x))
        return -1;
    if (r.disputed || unsure(call_input(call, 1)) || unsure(call_input(call, 2)))
        return gradient_leave_undecided(g, 0);
    struct bounded *slope = gradient_make(g, 0);
    if (!slope || gradient_sums_init(&sums, slope, call->err))
        return -1;
    int result = up->count > 0 ? spread(g, &r, &sums) : 0;
    gradient_sums_store(&sums);
    return result;
}

static const struct op_param params[] = {
    {"mode", PARAM_STRING, .legal = "nearest|linear|cubic", .illegal = "bilinear|", .initial = "nearest"},
    {"coordinate_transformation_mode", PARAM_STRING, .since = 11,
     .legal = "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize", .illegal = "half|",
     .initial = "half_pixel"},
    {"nearest_mode", PARAM_STRING, .since = 11, .legal = "round_prefer_floor|round_prefer_ceil|floor|ceil",
     .illegal = "round|", .initial = "round_prefer_floor"},
    {"cubic_coeff_a", PARAM_FLOAT, .since = 11, .legal = "-0.75|-0.5|0", .illegal = "nan",
     .initial = "-0.75"},
    {"exclude_outside", PARAM_INT, .since = 11, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {"extrapolation_value", PARAM_FLOAT, .since = 11, .legal = "0|10|-1", .illegal = "nan", .initial = "0"},
    {"antialias", PARAM_INT, .since = 18, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {"axes", PARAM_INTS, .since = 18, .legal = "2,3|-2,-1|3,2", .illegal = "99|2,2"},
    {"keep_aspect_ratio_policy", PARAM_STRING, .since = 18, .legal = "stretch|not_larger|not_smaller",
     .illegal = "keep|", .initial = "stretch"},
    {"scales", PARAM_INPUT, .input = 2, .legal = "1,1,2,2|1,1,0.6,0.6"},
    {"sizes", PARAM_INPUT, .input = 3, .since = 11, .legal = "1,1,3,3|1,1,7,8"},
    {0},
};

enum { PLAIN = (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)) & ~DTYPE_BIT(DTYPE_BFLOAT16) };

const struct op ops_resize[] = {
    {OP("Resize", 10), .open = "how this combination of modes, sizes and scales is computed",
     .inputs = {2, 4}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = {{10, PLAIN}, {13, PLAIN | DTYPE_BIT(DTYPE_BFLOAT16)}}, .params = params, .eval = eval_resize,
     .gradient = gradient_resize, .sample = resize_sample, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .history = {.same_since = 11}, .result = RESULT_TYPE,
     .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
