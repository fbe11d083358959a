/*
 * Operators that cut tensors up. Nothing is computed: elements move with their
 * bounds.
 */
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Slice ---- */

struct cut {
    int64_t start, step, count;
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Negative positions count from the end; then both are clamped, differently for each direction. */
static struct cut cut_axis(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (start < 0)
        start += dim;
    if (end < 0)
        end += dim;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        return (struct cut){start, step, end > start ? (end - start - 1) / step + 1 : 0};
    }
    if (dim == 0)
        return (struct cut){0, step, 0};
    start = clamp(start, 0, dim - 1);
    end = clamp(end, -1, dim - 1);
    int64_t back = step == INT64_MIN ? INT64_MAX : -step;
    return (struct cut){start, -back, start > end ? (start - end - 1) / back + 1 : 0};
}

/* The lists a slice is described by: inputs from opset 10 on, attributes before. */
struct cut_lists {
    int64_t starts[TENSOR_MAX_RANK], ends[TENSOR_MAX_RANK], steps[TENSOR_MAX_RANK];
    size_t count, n_ends, n_steps;
};

static int read_old_lists(struct op_call *call, struct cut_lists *lists)
{
    const int64_t *starts = call_ints(call, "starts", &lists->count);
    const int64_t *ends = call_ints(call, "ends", &lists->n_ends);
    if (!starts || !ends || lists->count > TENSOR_MAX_RANK || lists->n_ends > TENSOR_MAX_RANK)
        return call_invalid(call, "starts or ends are missing or too long");
    memcpy(lists->starts, starts, lists->count * sizeof *starts);
    memcpy(lists->ends, ends, lists->n_ends * sizeof *ends);
    return 0;
}

static int read_lists(struct op_call *call, struct cut_lists *lists)
{
    if (call->opset < 10 ? read_old_lists(call, lists)
                         : call_int_list(call, 1, lists->starts, TENSOR_MAX_RANK, &lists->count) ||
                               call_int_list(call, 2, lists->ends, TENSOR_MAX_RANK, &lists->n_ends))
        return -1;
    lists->n_steps = lists->count;
    for (size_t i = 0; i < lists->count; i++)
        lists->steps[i] = 1;
    if (call->opset < 10 || !call_input(call, 4))
        return 0;
    return call_int_list(call, 4, lists->steps, TENSOR_MAX_RANK, &lists->n_steps);
}

static int read_cuts(struct op_call *call, const struct bounded *x, struct cut *cuts)
{
    struct cut_lists lists;
    int axes[TENSOR_MAX_RANK];
    size_t n_axes = 0;
    bool given;
    if (read_lists(call, &lists) || move_axes(call, 3, 10, x->shape.rank, axes, &n_axes, &given))
        return -1;
    if (lists.n_ends != lists.count || lists.n_steps != lists.count || (given && n_axes != lists.count) ||
        lists.count > (size_t)x->shape.rank)
        return call_invalid(call, "starts, ends, axes and steps have different lengths");
    for (int i = 0; i < x->shape.rank; i++)
        cuts[i] = (struct cut){0, 1, x->shape.dims[i]};
    for (size_t i = 0; i < lists.count; i++) {
        int axis = given ? axes[i] : (int)i;
        if (lists.steps[i] == 0)
            return call_invalid(call, "a step is 0");
        cuts[axis] = cut_axis(x->shape.dims[axis], lists.starts[i], lists.ends[i], lists.steps[i]);
    }
    return 0;
}

static int eval_slice(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct cut cuts[TENSOR_MAX_RANK];
    if (!x || read_cuts(call, x, cuts))
        return -1;
    struct shape shape = x->shape;
    struct strides strides = strides_dense(&x->shape);
    int64_t base = 0, steps[TENSOR_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = cuts[i].count;
        base += cuts[i].start * (int64_t)strides.of[i];
        /* One element needs no step, and a huge one must not be multiplied. */
        steps[i] = cuts[i].count > 1 ? cuts[i].step * (int64_t)strides.of[i] : 0;
    }
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out)
        return -1;
    if (!call->shapes_only)
        move_strided(out, x, base, steps);
    return 0;
}

/* A position inside, at an end, or beyond it, from either end. */
static int64_t draw_position(struct draw *d, int64_t dim)
{
    switch (draw_between(d, 0, 9)) {
    case 0:
        return INT64_MAX;
    case 1:
        return INT64_MIN;
    case 2:
        return draw_between(d, dim, dim + 5);
    case 3:
        return draw_between(d, -dim - 5, -dim);
    case 4:
    case 5:
        return draw_between(d, -dim, -1);
    default:
        return draw_between(d, 0, dim);
    }
}

static void draw_list(struct draw *d, enum dtype type, int64_t *values, size_t count)
{
    struct shape shape = {1, {(int64_t)count}};
    for (size_t i = 0; i < count; i++)
        if (type == DTYPE_INT32)
            values[i] = clamp(values[i], INT32_MIN, INT32_MAX);
    draw_int_typed(d, type, &shape, values);
}

static int sample_slice(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t starts[TENSOR_MAX_RANK], ends[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK], steps[TENSOR_MAX_RANK];
    enum dtype type = draw_chance(d, 0.2) ? DTYPE_INT32 : DTYPE_INT64;
    bool with_axes = draw_chance(d, 0.7), with_steps = draw_chance(d, 0.6);
    size_t count = 0;
    for (int i = 0; i < x.shape.rank; i++) {
        if (with_axes && x.shape.rank > 1 && draw_chance(d, 0.4))
            continue;
        int64_t dim = x.shape.dims[i], step = with_steps ? draw_between(d, 1, 3) : 1;
        if (with_steps && draw_chance(d, 0.1))
            step = draw_chance(d, 0.5) ? INT32_MAX : 100;
        bool back = with_steps && draw_chance(d, 0.4);
        /* Mostly some elements are left; seldom none. */
        int64_t low = draw_position(d, dim), high = draw_position(d, dim);
        for (int tries = 0; tries < 8; tries++) {
            int64_t left =
                back ? cut_axis(dim, low, high, -step).count : cut_axis(dim, low, high, step).count;
            if (left || draw_chance(d, 0.03))
                break;
            low = draw_position(d, dim), high = draw_position(d, dim);
        }
        starts[count] = low;
        ends[count] = high;
        axes[count] = draw_chance(d, 0.3) ? i - x.shape.rank : i;
        steps[count++] = back ? -step : step;
    }
    if (!count)
        return -1;
    draw_list(d, type, starts, count);
    draw_list(d, type, ends, count);
    if (with_axes)
        draw_list(d, type, axes, count);
    else
        draw_omit(d);
    if (with_steps)
        draw_list(d, type, steps, count);
    return 0;
}

/* ---- Split ---- */

/* Sizes from the attribute (up to opset 12), from the input (from 13), or equal ones, of which the last may
 * be smaller from 18 on. */
static int split_sizes(struct op_call *call, int64_t dim, int64_t *sizes)
{
    size_t count = 0, parts = call->n_outputs;
    const int64_t *ints = NULL;
    if (call->opset < 13 && (ints = call_ints(call, "split", &count)) != NULL) {
        if (count != parts)
            return call_invalid(call, "there are %zu sizes for %zu outputs", count, parts);
        memcpy(sizes, ints, count * sizeof *sizes);
    } else if (call->opset >= 13 && call_input(call, 1)) {
        if (call->opset >= 18 && call_has(call, "num_outputs"))
            return call_invalid(call, "both split and num_outputs are given");
        if (call_int_list(call, 1, sizes, parts, &count))
            return -1;
        if (count != parts)
            return call_invalid(call, "there are %zu sizes for %zu outputs", count, parts);
    } else {
        int64_t n = (int64_t)parts, part = (dim + n - 1) / n;
        if (call->opset >= 18 && call_int(call, "num_outputs", 0) != n)
            return call_invalid(call, "num_outputs differs from the number of outputs");
        if (call->opset < 18 && dim % n)
            return call_invalid(call, "%" PRId64 " cannot be split into %zu equal parts", dim, parts);
        for (size_t i = 0; i < parts; i++)
            sizes[i] = i + 1 < parts ? part : dim - part * (n - 1);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < parts; i++)
        if (sizes[i] < 0 || sizes[i] > dim || (sum += sizes[i]) > dim)
            return call_invalid(call, "the sizes do not add up to %" PRId64, dim);
    return sum == dim ? 0 : call_invalid(call, "the sizes do not add up to %" PRId64, dim);
}

static int split_parts(struct op_call *call, const struct bounded *x, int axis, const int64_t *sizes)
{
    size_t outer = shape_span(&x->shape, 0, axis), row = shape_span(&x->shape, axis, x->shape.rank), at = 0;
    for (size_t i = 0; i < call->n_outputs; i++) {
        struct shape shape = x->shape;
        shape.dims[axis] = sizes[i];
        struct bounded *out = call_output(call, i, x->type, &shape);
        if (!out)
            return -1;
        size_t run = shape_span(&shape, axis, shape.rank);
        for (size_t o = 0; o < outer && !call->shapes_only; o++)
            move_run(out, o * run, x, o * row + at, run);
        at += run;
    }
    return 0;
}

static int eval_split(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int axis;
    if (!x || call_axis(call, call_int(call, "axis", 0), x->shape.rank, &axis))
        return -1;
    int64_t *sizes = calloc(call->n_outputs, sizeof *sizes);
    if (!sizes)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu sizes", call->n_outputs);
    int result = split_sizes(call, x->shape.dims[axis], sizes);
    if (!result)
        result = split_parts(call, x, axis, sizes);
    free(sizes);
    return result;
}

static int sample_split(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1), sizes[4];
    if (draw_chance(d, 0.2))
        axis = 0;
    int64_t dim = x.shape.dims[axis < 0 ? axis + x.shape.rank : axis], rest = dim,
            parts = draw_between(d, 1, 4);
    if (axis || draw_chance(d, 0.5))
        draw_int(d, "axis", axis);
    bool equal = draw_chance(d, 0.4) && (dim > 0 || d->opset < 18);
    if (equal && d->opset < 18)
        while (dim % parts)
            parts--;
    /* Engines and versions of ONNX differ where rounding up leaves nothing, or less, for the last part; so no
     * axis of size 0. */
    if (equal && d->opset >= 18)
        while (parts > 1 && (dim + parts - 1) / parts * (parts - 1) >= dim)
            parts--;
    for (int64_t i = 0; i < parts; i++) {
        sizes[i] = i + 1 < parts ? draw_between(d, rest > parts - i ? 1 : 0, rest - (parts - 1 - i)) : rest;
        sizes[i] = clamp(sizes[i], 0, rest);
        rest -= sizes[i];
    }
    if (equal && d->opset >= 18)
        draw_int(d, "num_outputs", parts);
    else if (!equal && d->opset < 13)
        draw_ints(d, "split", sizes, (size_t)parts);
    else if (!equal)
        draw_int_input(d, sizes, (size_t)parts);
    draw_outputs(d, (size_t)parts);
    return 0;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

/*
 * Both operators are a transposition of the tensor seen with six dimensions: `seen` are these dimensions of
 * the input, and `order` says where each goes.
 */
static int move_blocks(struct op_call *call, const struct bounded *x, const int64_t *seen, const int *order,
                       const struct shape *shape)
{
    struct bounded *out = call_output(call, 0, x->type, shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct shape six = {.rank = 6};
    memcpy(six.dims, seen, 6 * sizeof *seen);
    struct strides strides = strides_dense(&six);
    struct shape target = {.rank = 6};
    int64_t steps[6], base;
    for (int i = 0; i < 6; i++) {
        target.dims[i] = six.dims[order[i]];
        steps[i] = (int64_t)strides.of[order[i]];
    }
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &target)) {
        base = 0;
        for (int axis = 0; axis < 6; axis++)
            base += index[axis] * steps[axis];
        bounded_move(out, i, x, (size_t)base);
    }
    return 0;
}

static int read_block(struct op_call *call, const struct bounded *x, int64_t *block)
{
    *block = call_int(call, "blocksize", 0);
    if (x->shape.rank != 4)
        return call_invalid(call, "the input has rank %d instead of 4", x->shape.rank);
    return *block > 0 && *block < 1 << 20
               ? 0
               : call_invalid(call, "blocksize %" PRId64 " is out of range", *block);
}

static int eval_depth_to_space(struct op_call *call)
{
    static const int dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    const struct bounded *x = call_need(call, 0);
    int64_t b;
    if (!x || read_block(call, x, &b))
        return -1;
    const int64_t *dims = x->shape.dims;
    const char *mode = call_string(call, "mode", "DCR");
    bool columns_first = strcmp(mode, "CRD") == 0;
    if (!columns_first && strcmp(mode, "DCR") != 0)
        return call_invalid(call, "mode '%s' is not known", mode);
    if (dims[1] % (b * b))
        return call_invalid(call, "%" PRId64 " channels cannot be divided into blocks of %" PRId64, dims[1],
                            b);
    int64_t depth = dims[1] / (b * b);
    struct shape shape = {4, {dims[0], depth, dims[2] * b, dims[3] * b}};
    int64_t by_block[] = {dims[0], b, b, depth, dims[2], dims[3]};
    int64_t by_depth[] = {dims[0], depth, b, b, dims[2], dims[3]};
    return move_blocks(call, x, columns_first ? by_depth : by_block, columns_first ? crd : dcr, &shape);
}

static int eval_space_to_depth(struct op_call *call)
{
    static const int order[] = {0, 3, 5, 1, 2, 4};
    const struct bounded *x = call_need(call, 0);
    int64_t b;
    if (!x || read_block(call, x, &b))
        return -1;
    const int64_t *dims = x->shape.dims;
    if (dims[2] % b || dims[3] % b)
        return call_invalid(call, "height or width is not a multiple of %" PRId64, b);
    struct shape shape = {4, {dims[0], dims[1] * b * b, dims[2] / b, dims[3] / b}};
    int64_t seen[] = {dims[0], dims[1], dims[2] / b, b, dims[3] / b, b};
    return move_blocks(call, x, seen, order, &shape);
}

/* Draws a block size that divides the dimensions; a new input is drawn to have one. */
static int sample_depth_to_space(struct draw *d)
{
    int64_t block = draw_between(d, 1, 3);
    if (!d->given) {
        struct shape shape = {4,
                              {draw_between(d, 1, 2), block * block * draw_between(d, 1, 3),
                               draw_between(d, 1, 4), draw_between(d, 1, 4)}};
        draw_data(d, d->type, &shape);
    } else {
        struct drawn x = draw_primary(d);
        while (x.shape.dims[1] % (block * block))
            block--;
    }
    draw_int(d, "blocksize", block);
    if (draw_chance(d, 0.7))
        draw_string(d, "mode", draw_word(d, "DCR|CRD"));
    return 0;
}

static int sample_space_to_depth(struct draw *d)
{
    int64_t block = draw_between(d, 1, 3);
    if (!d->given) {
        struct shape shape = {4,
                              {draw_between(d, 1, 2), draw_between(d, 1, 3), block * draw_between(d, 1, 3),
                               block * draw_between(d, 1, 3)}};
        draw_data(d, d->type, &shape);
    } else {
        struct drawn x = draw_primary(d);
        while (x.shape.dims[2] % block || x.shape.dims[3] % block)
            block--;
    }
    draw_int(d, "blocksize", block);
    return 0;
}

static const struct op_param slice_params[] = {
    {"starts", PARAM_INPUT, .input = 1, .legal = "0|1|-1"},
    {"ends", PARAM_INPUT, .input = 2, .legal = "1|-1|9223372036854775807"},
    {"axes", PARAM_INPUT, .input = 3, .legal = "0|-1", .illegal = "100|-100", .initial = ""},
    {"steps", PARAM_INPUT, .input = 4, .legal = "1|2|-1", .illegal = "0", .initial = "1"},
    {0}};
static const struct op_param split_params[] = {
    {"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100", .initial = "0"},
    {"split", PARAM_INTS, .until = 12, .legal = "1,1|1,2", .illegal = "-1,2|0|1000000,1"},
    {"split", PARAM_INPUT, .input = 1, .since = 13, .legal = "1,1|1,2", .illegal = "-1,2|0|1000000,1"},
    {"num_outputs", PARAM_INT, .since = 18, .legal = "1..4", .illegal = "0|-1|1000000"},
    {0}};
static const struct op_param depth_params[] = {
    {"blocksize", PARAM_INT, .legal = "1|2|3", .illegal = "0|-1|7|1048576"},
    {"mode", PARAM_STRING, .legal = "DCR|CRD", .illegal = "XYZ|", .initial = "DCR"},
    {0}};
static const struct op_param space_params[] = {
    {"blocksize", PARAM_INT, .legal = "1|2|3", .illegal = "0|-1|7|1048576"}, {0}};

/* Members that the rows have in common. */
#define USUAL                                                                                          \
    .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .result = RESULT_TYPE, \
    .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, .gradient = gradient_of_moves

const struct op ops_slicing[] = {
    {OP("DepthToSpace", 1), USUAL, .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {4, 4}, .types = MOVE_TYPES,
     .params = depth_params, .eval = eval_depth_to_space, .sample = sample_depth_to_space,
     .history = {.same_since = 1}, .dangers = {{DANGER_NONE}}},
    {OP("Slice", 1), USUAL, .inputs = {3, 5}, .outputs = {1, 1}, .ranks = {1, 5}, .types = MOVE_TYPES,
     .params = slice_params, .eval = eval_slice, .sample = sample_slice,
     .history = {.same_since = 1,
                 .reformed = 10,
                 .attributes = {{"starts", PARAM_INTS}, {"ends", PARAM_INTS}, {"axes", PARAM_INTS}}},
     .dangers = {{DANGER_NONE}}},
    {OP("SpaceToDepth", 1), USUAL, .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {4, 4}, .types = MOVE_TYPES,
     .params = space_params, .eval = eval_space_to_depth, .sample = sample_space_to_depth,
     .history = {.same_since = 1}, .dangers = {{DANGER_NONE}}},
    {OP("Split", 1), USUAL, .inputs = {1, 2}, .outputs = {1, OP_VARIADIC}, .ranks = {1, 5},
     .types = MOVE_TYPES, .params = split_params, .eval = eval_split, .sample = sample_split,
     .history = {.same_since = 2, .reformed = 18}, .dangers = {{DANGER_NONE}}},
    {0},
};
