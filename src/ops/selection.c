/*
 * Operators that choose or rearrange slices: Compress, Unique, ReverseSequence, CenterCropPad. Nothing is
 * computed: elements move with their bounds.
 */
#include "ops/draw.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A tensor as slices along an axis, or the flattened one as single elements (axis -1). */
struct slices {
    const struct bounded *x;
    int axis;
    size_t outer, length, inner;
};

static int take_slices(struct op_call *call, const struct bounded *x, struct slices *s)
{
    *s = (struct slices){x, -1, 1, x->count, 1};
    if (!call_has(call, "axis"))
        return 0;
    if (call_axis(call, call_int(call, "axis", 0), x->shape.rank, &s->axis))
        return -1;
    s->outer = shape_span(&x->shape, 0, s->axis);
    s->length = (size_t)x->shape.dims[s->axis];
    s->inner = shape_span(&x->shape, s->axis + 1, x->shape.rank);
    return 0;
}

/* Element k of slice i. */
static size_t slice_at(const struct slices *s, size_t i, size_t k)
{
    return (k / s->inner * s->length + i) * s->inner + k % s->inner;
}

static struct shape slices_shape(const struct slices *s, size_t count)
{
    struct shape shape = s->axis < 0 ? (struct shape){.rank = 1} : s->x->shape;
    shape.dims[s->axis < 0 ? 0 : s->axis] = (int64_t)count;
    return shape;
}

/* Copies slice `from` to place `to` of `count`. */
static void slice_move(struct bounded *out, const struct slices *s, size_t to, size_t count, size_t from)
{
    struct slices made = *s;
    made.length = count;
    for (size_t k = 0; k < s->outer * s->inner; k++)
        bounded_move(out, slice_at(&made, to, k), s->x, slice_at(s, from, k));
}

/* ---- Compress ---- */

static int count_chosen(struct op_call *call, const struct bounded *condition, size_t *count)
{
    *count = 0;
    if (!condition->value)
        return call_unsupported(call, "the shape depends on data (input 1)");
    for (size_t i = 0; i < condition->count; i++) {
        if (bounded_hard(condition, i) > 0)
            return call_unsupported(call, "whether a slice is chosen is undecided");
        *count += condition->value[i] != 0;
    }
    return 0;
}

static int eval_compress(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *condition = call_need(call, 1);
    struct slices s;
    size_t count, made = 0;
    if (!x || !condition || take_slices(call, x, &s))
        return -1;
    if (condition->shape.rank != 1 || condition->type != DTYPE_BOOL)
        return call_invalid(call, "the condition is no list of bools");
    if (condition->count > s.length)
        return call_invalid(call, "%zu conditions for %zu slices", condition->count, s.length);
    if (count_chosen(call, condition, &count))
        return -1;
    struct shape shape = slices_shape(&s, count);
    struct bounded *out = call_output(call, 0, x->type, &shape);
    for (size_t i = 0; out && !call->shapes_only && i < condition->count; i++)
        if (condition->value[i] != 0)
            slice_move(out, &s, made++, count, i);
    return out ? 0 : -1;
}

static int sample_compress(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t length = (int64_t)shape_span(&x.shape, 0, x.shape.rank);
    if (draw_chance(d, 0.7)) {
        int axis = (int)draw_between(d, 0, x.shape.rank - 1);
        draw_int(d, "axis", draw_chance(d, 0.3) ? axis - x.shape.rank : axis);
        length = x.shape.dims[axis];
    }
    if (draw_chance(d, 0.3))
        length = draw_between(d, 0, length);
    int64_t *values = arena_array(d->arena, (size_t)length + 1, sizeof *values);
    for (int64_t i = 0; i < length; i++)
        values[i] = draw_between(d, 0, 1);
    draw_int_typed(d, DTYPE_BOOL, &(struct shape){1, {length}}, values);
    return 0;
}

/* ---- Unique ---- */

struct unique {
    const struct slices *s;
    size_t index;
};

static int compare_slices(const struct slices *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->outer * s->inner; k++) {
        long double x = s->x->value[slice_at(s, a, k)], y = s->x->value[slice_at(s, b, k)];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* By value; of equal ones the first comes first. */
static int by_value(const void *left, const void *right)
{
    const struct unique *a = left, *b = right;
    int order = compare_slices(a->s, a->index, b->index);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

/* The groups of equal slices: where the first of each is, how many there are, and the group of each slice. */
struct groups {
    size_t count, *first, *size, *of;
};

static int groups_alloc(struct groups *g, size_t slices, struct error *err)
{
    size_t room = slices ? slices : 1;
    *g = (struct groups){0, calloc(room, sizeof(size_t)), calloc(room, sizeof(size_t)),
                         calloc(room, sizeof(size_t))};
    return g->first && g->size && g->of ? 0
                                        : error_set(err, ERROR_MEMORY, "no memory for %zu slices", slices);
}

static void groups_release(struct groups *g)
{
    free(g->first);
    free(g->size);
    free(g->of);
}

/* Renumbers groups, which are in order of value, by their first slices. */
static int groups_in_order(struct groups *g, size_t slices, struct error *err)
{
    struct groups ordered;
    size_t *number = calloc(g->count ? g->count : 1, sizeof *number);
    if (groups_alloc(&ordered, slices, err) || !number) {
        groups_release(&ordered);
        free(number);
        return -1;
    }
    for (size_t i = 0; i < slices; i++) {
        size_t old = g->of[i];
        if (g->first[old] == i) {
            number[old] = ordered.count++;
            ordered.first[number[old]] = i;
            ordered.size[number[old]] = g->size[old];
        }
        ordered.of[i] = number[old];
    }
    groups_release(g);
    free(number);
    *g = ordered;
    return 0;
}

static int find_groups(const struct slices *s, struct groups *g, struct error *err)
{
    struct unique *order = calloc(s->length ? s->length : 1, sizeof *order);
    if (groups_alloc(g, s->length, err) || !order) {
        free(order);
        return -1;
    }
    for (size_t i = 0; i < s->length; i++)
        order[i] = (struct unique){s, i};
    qsort(order, s->length, sizeof *order, by_value);
    for (size_t i = 0; i < s->length; i++) {
        if (i == 0 || compare_slices(s, order[i - 1].index, order[i].index) != 0)
            g->first[g->count++] = order[i].index;
        g->size[g->count - 1]++;
        g->of[order[i].index] = g->count - 1;
    }
    free(order);
    return 0;
}

static int check_certain(struct op_call *call, const struct bounded *x)
{
    if (!x->value)
        return call_unsupported(call, "the shape depends on data (input 0)");
    for (size_t i = 0; i < x->count; i++)
        if (isnan(x->value[i]) || bounded_hard(x, i) > 0)
            return call_unsupported(call, "which elements are equal is undecided");
    return 0;
}

/* A list of one of the other three outputs. */
static int put_list(struct op_call *call, size_t output, const size_t *values, size_t count)
{
    if (output >= call->n_outputs)
        return 0;
    struct bounded *out = call_output(call, output, DTYPE_INT64, &(struct shape){1, {(int64_t)count}});
    for (size_t i = 0; out && !call->shapes_only && i < count; i++)
        out->value[i] = (long double)values[i];
    return out ? 0 : -1;
}

static int eval_unique(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct slices s;
    struct groups g = {0};
    if (!x || take_slices(call, x, &s) || check_certain(call, x))
        return -1;
    int result = find_groups(&s, &g, call->err);
    if (!result && call_int(call, "sorted", 1) == 0)
        result = groups_in_order(&g, s.length, call->err);
    struct shape shape = slices_shape(&s, g.count);
    struct bounded *out = result ? NULL : call_output(call, 0, x->type, &shape);
    result = out ? 0 : -1;
    for (size_t i = 0; out && !call->shapes_only && i < g.count; i++)
        slice_move(out, &s, i, g.count, g.first[i]);
    if (!result)
        result = put_list(call, 1, g.first, g.count) || put_list(call, 2, g.of, s.length) ||
                         put_list(call, 3, g.size, g.count)
                     ? -1
                     : 0;
    groups_release(&g);
    return result;
}

/* Few different values, so that some are equal. */
static int sample_unique(struct draw *d)
{
    struct drawn x = draw_primary(d);
    bool fresh = x.source == DRAWN_NEW && x.type != DTYPE_BOOL;
    for (size_t i = 0; fresh && i < x.data.count; i++)
        tensor_set(&x.data, i, (long double)draw_between(d, dtype_is_signed(x.type) ? -2 : 0, 3));
    if (draw_chance(d, 0.5))
        draw_int(d, "axis", draw_between(d, -x.shape.rank, x.shape.rank - 1));
    if (draw_chance(d, 0.6))
        draw_int(d, "sorted", draw_between(d, 0, 1));
    draw_outputs(d, (size_t)draw_between(d, 1, 4));
    return 0;
}

/* ---- ReverseSequence ---- */

static int take_reverse(struct op_call *call, const struct bounded *x, const struct bounded *lengths,
                        int64_t *batch, int64_t *time)
{
    *batch = call_int(call, "batch_axis", 1);
    *time = call_int(call, "time_axis", 0);
    if (x->shape.rank < 2)
        return call_invalid(call, "an input of rank %d", x->shape.rank);
    if (*batch < 0 || *batch > 1 || *time < 0 || *time > 1 || *batch == *time)
        return call_invalid(call, "batch_axis and time_axis are not 0 and 1");
    if (lengths->type != DTYPE_INT64 || lengths->shape.rank != 1 ||
        lengths->shape.dims[0] != x->shape.dims[*batch])
        return call_invalid(call, "sequence_lens is no list of %" PRId64 " lengths", x->shape.dims[*batch]);
    return 0;
}

/* ONNX does not say what a length outside the sequence means. */
static void reverse_row(struct bounded *out, size_t to, const struct bounded *x, size_t from, size_t inner,
                        bool sure, bool inside)
{
    for (size_t k = 0; k < inner; k++)
        if (!inside)
            bounded_put_open(out, to + k);
        else if (!sure)
            bounded_put_undecided(out, to + k, x->value[from + k]);
        else
            bounded_move(out, to + k, x, from + k);
}

static int eval_reverse(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *lengths = call_need(call, 1);
    int64_t batch, time;
    if (!x || !lengths || take_reverse(call, x, lengths, &batch, &time))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    size_t inner = shape_span(&x->shape, 2, x->shape.rank), steps = (size_t)x->shape.dims[time];
    for (size_t b = 0; b < lengths->count; b++) {
        long double length = lengths->value[b];
        bool inside = length >= 0 && length <= (long double)steps, sure = bounded_hard(lengths, b) == 0;
        for (size_t t = 0; t < steps; t++) {
            size_t source = inside && (long double)t < length ? (size_t)length - 1 - t : t;
            size_t to = batch == 0 ? b * steps + t : t * lengths->count + b;
            size_t from = batch == 0 ? b * steps + source : source * lengths->count + b;
            reverse_row(out, to * inner, x, from * inner, inner, sure, inside);
        }
    }
    return 0;
}

static int sample_reverse(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t batch = draw_between(d, 0, 1), count = x.shape.dims[batch];
    if (batch == 0 || draw_chance(d, 0.5)) {
        draw_int(d, "batch_axis", batch);
        draw_int(d, "time_axis", 1 - batch);
    }
    if (x.shape.dims[1 - batch] < 1)
        return -1;
    draw_range(d, DTYPE_INT64, &(struct shape){1, {count}}, 1, (double)x.shape.dims[1 - batch]);
    return 0;
}

/* ---- CenterCropPad ---- */

/* The axes that are named, all of them by default; *count of them. */
static int crop_axes(struct op_call *call, int rank, int *axes, size_t *count)
{
    bool given;
    if (move_axes(call, 0, OP_VARIADIC, rank, axes, count, &given))
        return -1;
    if (given)
        return 0;
    *count = (size_t)rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    return 0;
}

static int crop_shape(struct op_call *call, const struct shape *x, struct shape *shape)
{
    int axes[TENSOR_MAX_RANK];
    int64_t sizes[TENSOR_MAX_RANK];
    size_t n_axes, count;
    if (crop_axes(call, x->rank, axes, &n_axes) || call_int_list(call, 1, sizes, TENSOR_MAX_RANK, &count))
        return -1;
    if (count != n_axes)
        return call_invalid(call, "%zu sizes for %zu axes", count, n_axes);
    *shape = *x;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 0)
            return call_invalid(call, "size %" PRId64 " is negative", sizes[i]);
        shape->dims[axes[i]] = sizes[i];
    }
    return 0;
}

static int eval_crop(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct shape shape;
    if (!x || crop_shape(call, &x->shape, &shape))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct strides from = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &shape)) {
        bool inside = true;
        size_t at = 0;
        for (int a = 0; a < shape.rank; a++) {
            /* Both halves are rounded down. */
            int64_t in = x->shape.dims[a], made = shape.dims[a];
            int64_t place = made < in ? index[a] + (in - made) / 2 : index[a] - (made - in) / 2;
            inside &= place >= 0 && place < in;
            at += inside ? (size_t)place * from.of[a] : 0;
        }
        if (inside)
            bounded_move(out, i, x, at);
    }
    return 0;
}

static int sample_crop(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axes[TENSOR_MAX_RANK], sizes[TENSOR_MAX_RANK];
    size_t count = 0;
    bool some = draw_chance(d, 0.5);
    for (int i = 0; i < x.shape.rank; i++) {
        if (some && draw_chance(d, 0.4))
            continue;
        axes[count] = draw_chance(d, 0.3) ? i - x.shape.rank : i;
        sizes[count++] = draw_between(d, 1, x.shape.dims[i] + 4);
    }
    if (count == 0)
        return -1;
    draw_int_typed(d, draw_chance(d, 0.3) ? DTYPE_INT32 : DTYPE_INT64, &(struct shape){1, {(int64_t)count}},
                   sizes);
    if (some)
        draw_ints(d, "axes", axes, count);
    return 0;
}

static const struct op_param compress_params[] = {
    {"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100"},
    {"condition", PARAM_INPUT, .input = 1, .legal = "0|1"},
    {0}};
static const struct op_param unique_params[] = {{"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100"},
                                                {"sorted", PARAM_INT, .legal = "0|1", .initial = "1"},
                                                {0}};
static const struct op_param reverse_params[] = {
    {"batch_axis", PARAM_INT, .legal = "0|1", .illegal = "2|-1", .initial = "1"},
    {"time_axis", PARAM_INT, .legal = "0|1", .illegal = "2|-1", .initial = "0"},
    {"sequence_lens", PARAM_INPUT, .input = 1, .legal = "1", .illegal = "-1|1000000"},
    {0}};
static const struct op_param crop_params[] = {
    {"axes", PARAM_INTS, .legal = "0|-1|0,1", .illegal = "99|-99"},
    {"shape", PARAM_INPUT, .input = 1, .legal = "1|2,3", .illegal = "-1|2,-3"},
    {0}};

/* Members that the rows have in common. */
#define USUAL                                                                                \
    .data = DATA_FIRST, .range = {RANGE_MOVE}, .factors = {FACTORS_SUM}, .work = WORK_MOVES, \
    .dangers = {{DANGER_NONE}}

const struct op ops_selection[] = {
    {OP("CenterCropPad", 18), USUAL, .flags = OP_ON_REQUEST, .inputs = {2, 2}, .outputs = {1, 1},
     .ranks = {1, 5}, .types = {{18, MOVE_ANY}}, .params = crop_params, .eval = eval_crop,
     .sample = sample_crop, .result = RESULT_TYPE, .slope = SLOPE_EVERYWHERE},
    {OP("Compress", 9), USUAL, .flags = OP_ON_REQUEST | OP_DATA_SHAPE, .inputs = {2, 2}, .outputs = {1, 1},
     .ranks = {1, 5}, .types = {{9, MOVE_ANY_11}}, .params = compress_params, .eval = eval_compress,
     .sample = sample_compress, .history = {.same_since = 9}, .result = RESULT_TYPE,
     .slope = SLOPE_EVERYWHERE},
    {OP("ReverseSequence", 10), USUAL, .flags = OP_ON_REQUEST, .inputs = {2, 2}, .outputs = {1, 1},
     .ranks = {2, 5}, .types = {{10, MOVE_ANY_11}}, .params = reverse_params,
     .index = {.input = 1, .axis = "time_axis", .lengths = true}, .eval = eval_reverse,
     .sample = sample_reverse, .history = {.same_since = 10}, .result = RESULT_LIKE_INPUT,
     .slope = SLOPE_EVERYWHERE, .open = "a length outside the sequence"},
    {OP("Unique", 11), USUAL, .flags = OP_ON_REQUEST | OP_DATA_SHAPE, .inputs = {1, 1}, .outputs = {1, 4},
     .ranks = {1, 5}, .types = {{11, MOVE_ANY_11}}, .params = unique_params, .eval = eval_unique,
     .sample = sample_unique, .result = RESULT_TYPE, .slope = SLOPE_NOWHERE},
    {0},
};
