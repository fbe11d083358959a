/*
 * Operators that give the same elements another shape or order. Nothing is computed: elements move with their
 * bounds.
 */
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <string.h>

/* ---- Concat ---- */

static int concat_shape(struct op_call *call, int *axis, struct shape *shape)
{
    const struct bounded *first = call_need(call, 0);
    if (!first)
        return -1;
    if (!call_has(call, "axis"))
        return call_invalid(call, "axis must be given");
    if (call_axis(call, call_int(call, "axis", 0), first->shape.rank, axis))
        return -1;
    *shape = first->shape;
    for (size_t i = 1; i < call->n_inputs; i++) {
        const struct bounded *x = call_need(call, i);
        if (!x)
            return -1;
        struct shape other = x->shape;
        other.dims[*axis] = shape->dims[*axis];
        if (x->type != first->type || !shape_equal(&other, shape))
            return call_invalid(call, "type or shape of input %zu does not match the first one", i);
        shape->dims[*axis] += x->shape.dims[*axis];
    }
    return 0;
}

static int eval_concat(struct op_call *call)
{
    int axis;
    struct shape shape;
    if (concat_shape(call, &axis, &shape))
        return -1;
    struct bounded *out = call_output(call, 0, call->inputs[0]->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    size_t row = shape_span(&shape, axis, shape.rank), outer = shape_span(&shape, 0, axis), at = 0;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct bounded *x = call->inputs[i];
        size_t run = shape_span(&x->shape, axis, shape.rank);
        for (size_t o = 0; o < outer; o++)
            move_run(out, o * row + at, x, o * run, run);
        at += run;
    }
    return 0;
}

static int sample_concat(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1);
    size_t at = (size_t)(axis < 0 ? axis + x.shape.rank : axis);
    int64_t others = draw_chance(d, 0.1) ? 0 : draw_between(d, 1, 3);
    for (int64_t i = 0; i < others; i++) {
        struct shape shape = x.shape;
        if (draw_chance(d, 0.5))
            shape.dims[at] = draw_chance(d, 0.05) ? 0 : draw_dim(d);
        draw_data(d, x.type, &shape);
    }
    draw_int(d, "axis", axis);
    return 0;
}

/* ---- Expand ---- */

static int eval_expand(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct shape wanted = {0}, shape;
    size_t count;
    if (!x || call_int_list(call, 1, wanted.dims, TENSOR_MAX_RANK, &count))
        return -1;
    wanted.rank = (int)count;
    for (int i = 0; i < wanted.rank; i++)
        if (wanted.dims[i] < 0)
            return call_invalid(call, "dimension %" PRId64 " is negative", wanted.dims[i]);
    if (call_broadcast(call, &x->shape, &wanted, &shape))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct strides strides = strides_broadcast(&x->shape, &shape);
    int64_t steps[TENSOR_MAX_RANK];
    for (int i = 0; i < shape.rank; i++)
        steps[i] = (int64_t)strides.of[i];
    move_strided(out, x, 0, steps);
    return 0;
}

static int sample_expand(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t dims[TENSOR_MAX_RANK];
    int more = (int)draw_between(d, 0, x.shape.rank < 5 ? 2 : 0), skip = 0;
    /* A shape that is shorter than that of the data, or has 1 where the data has more: the dimension of the
     * data stays. */
    if (!more && x.shape.rank > 1 && draw_chance(d, 0.2))
        skip = (int)draw_between(d, 1, x.shape.rank - 1);
    int rank = x.shape.rank + more - skip;
    int64_t room = 300 / (int64_t)(1 + shape_span(&x.shape, 0, x.shape.rank));
    for (int i = 0; i < rank; i++) {
        int64_t own = i < more ? 1 : x.shape.dims[i - more + skip];
        bool free = own == 1 && room > 1 && draw_chance(d, 0.7);
        dims[i] = free ? draw_between(d, 1, 6) : draw_chance(d, 0.3) ? 1 : own;
        room /= free ? dims[i] : 1;
    }
    draw_int_input(d, dims, (size_t)rank);
    return 0;
}

/* ---- Flatten ---- */

static int eval_flatten(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    int64_t axis = call_int(call, "axis", 1);
    int rank = x->shape.rank;
    if (axis < (call->opset < 11 ? 0 : -rank) || axis > rank)
        return call_invalid(call, "axis %" PRId64 " is out of range for rank %d", axis, rank);
    int at = (int)(axis < 0 ? axis + rank : axis);
    struct shape shape = {
        .rank = 2, .dims = {(int64_t)shape_span(&x->shape, 0, at), (int64_t)shape_span(&x->shape, at, rank)}};
    return move_reshaped(call, x, &shape);
}

static int sample_flatten(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (x.shape.rank == 0 || draw_chance(d, 0.8))
        draw_int(d, "axis", draw_between(d, -x.shape.rank, x.shape.rank));
    return 0;
}

/* ---- Reshape ---- */

/* Replaces 0 and -1 in the wanted shape by dimensions. */
static int reshape_resolve(struct op_call *call, const struct bounded *x, struct shape *shape)
{
    bool allowzero = call->opset >= 14 && call_int(call, "allowzero", 0) != 0, zero = false;
    int open = -1;
    size_t known = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t *dim = &shape->dims[i];
        if (*dim < -1)
            return call_invalid(call, "dimension %" PRId64 " is below -1", *dim);
        if (*dim == 0 && !allowzero) {
            if (i >= x->shape.rank)
                return call_invalid(call, "dimension %d is to be copied, but the data has no such dimension",
                                    i);
            *dim = x->shape.dims[i];
        } else if (*dim == 0) {
            zero = true;
        }
        if (*dim == -1 && open >= 0)
            return call_invalid(call, "the shape has more than one -1");
        if (*dim == -1)
            open = i;
        else if (__builtin_mul_overflow(known, (size_t)*dim, &known))
            return call_invalid(call, "the shape is too large");
    }
    if (open < 0)
        return 0;
    if (zero || known == 0 || x->count % known)
        return call_invalid(call, "the size for -1 cannot be determined");
    shape->dims[open] = (int64_t)(x->count / known);
    return 0;
}

static int eval_reshape(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct shape shape = {0};
    size_t count;
    if (!x || call_int_list(call, 1, shape.dims, TENSOR_MAX_RANK, &count))
        return -1;
    shape.rank = (int)count;
    if (reshape_resolve(call, x, &shape))
        return -1;
    return move_reshaped(call, x, &shape);
}

/* Splits `count` into `rank` factors. */
static void draw_factors(struct draw *d, int64_t count, int64_t *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        dims[i] = 1;
    for (int64_t p = 2; p <= count && rank; p++)
        for (; count % p == 0; count /= p)
            dims[draw_between(d, 0, rank - 1)] *= p;
}

static int sample_reshape(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t dims[TENSOR_MAX_RANK] = {0};
    int64_t count = (int64_t)shape_span(&x.shape, 0, x.shape.rank);
    int rank = (int)draw_between(d, count == 1 ? 0 : 1, 5);
    bool allowzero = d->opset >= 14 && draw_chance(d, 0.2);
    if (count == 0 && !allowzero) {
        /* Without allowzero a 0 can only be copied from its own place. */
        rank = x.shape.rank;
        memset(dims, 0, sizeof dims);
    } else if (count == 0) {
        for (int i = 0; i < rank; i++)
            dims[i] = draw_between(d, 1, 4);
        dims[draw_between(d, 0, rank - 1)] = 0;
    } else {
        draw_factors(d, count, dims, rank);
        for (int i = 0; i < rank && i < x.shape.rank; i++)
            if (!allowzero && dims[i] == x.shape.dims[i] && draw_chance(d, 0.5))
                dims[i] = 0;
        if (rank && draw_chance(d, 0.5))
            dims[draw_between(d, 0, rank - 1)] = -1;
    }
    draw_int_input(d, dims, (size_t)rank);
    if (allowzero || (d->opset >= 14 && draw_chance(d, 0.1)))
        draw_int(d, "allowzero", allowzero);
    return 0;
}

/* ---- Squeeze, Unsqueeze ---- */

static int eval_squeeze(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int axes[TENSOR_MAX_RANK];
    size_t count = 0;
    bool given;
    if (!x || move_axes(call, 1, 13, x->shape.rank, axes, &count, &given))
        return -1;
    if (given && count == 0)
        return call_unsupported(call, "ONNX does not define an empty list of axes");
    unsigned drop = 0;
    for (size_t i = 0; given && i < count; i++) {
        if (x->shape.dims[axes[i]] != 1)
            return call_invalid(call, "dimension %d is %" PRId64 " instead of 1", axes[i],
                                x->shape.dims[axes[i]]);
        drop |= 1U << axes[i];
    }
    struct shape shape = {0};
    for (int i = 0; i < x->shape.rank; i++)
        if (given ? !(drop & 1U << i) : x->shape.dims[i] != 1)
            shape.dims[shape.rank++] = x->shape.dims[i];
    return move_reshaped(call, x, &shape);
}

/* As an attribute up to 12, as an input from 13. */
static void draw_axes(struct draw *d, const int64_t *axes, size_t count)
{
    if (d->opset < 13)
        draw_ints(d, "axes", axes, count);
    else
        draw_int_input(d, axes, count);
}

static int sample_squeeze(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < x.shape.rank; i++)
        if (x.shape.dims[i] == 1 && draw_chance(d, 0.7))
            axes[count++] = draw_chance(d, 0.3) ? i - x.shape.rank : i;
    if (count > 0 && draw_chance(d, 0.8))
        draw_axes(d, axes, count);
    return 0;
}

static int eval_unsqueeze(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int axes[TENSOR_MAX_RANK];
    size_t count = 0;
    bool given;
    if (!x)
        return -1;
    /* The rank of the result is known once the number of axes is. */
    if (call->opset >= 13 && call_input(call, 1))
        count = call_input(call, 1)->count;
    else if (call->opset < 13)
        call_ints(call, "axes", &count);
    if (count > TENSOR_MAX_RANK - (size_t)x->shape.rank)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    struct shape shape = {.rank = x->shape.rank + (int)count};
    if (move_axes(call, 1, 13, shape.rank, axes, &count, &given))
        return -1;
    if (!given)
        return call_invalid(call, "axes must be given");
    for (size_t i = 0; i < count; i++)
        shape.dims[axes[i]] = -1;
    for (int i = 0, from = 0; i < shape.rank; i++)
        shape.dims[i] = shape.dims[i] < 0 ? 1 : x->shape.dims[from++];
    return move_reshaped(call, x, &shape);
}

static int sample_unsqueeze(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axes[3];
    int more = (int)draw_between(d, 1, 3), rank = x.shape.rank + more;
    unsigned seen = 0;
    for (int i = 0; i < more; i++) {
        int64_t axis = draw_between(d, 0, rank - 1);
        while (seen & 1U << axis)
            axis = (axis + 1) % rank;
        seen |= 1U << axis;
        axes[i] = draw_chance(d, 0.3) ? axis - rank : axis;
    }
    draw_axes(d, axes, (size_t)more);
    return 0;
}

/* ---- Tile ---- */

static int eval_tile(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int64_t repeats[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK] = {0};
    size_t count;
    if (!x || call_int_list(call, 1, repeats, TENSOR_MAX_RANK, &count))
        return -1;
    if (count != (size_t)x->shape.rank)
        return call_invalid(call, "there are %zu repeats for rank %d", count, x->shape.rank);
    struct shape shape = x->shape;
    for (size_t i = 0; i < count; i++) {
        if (repeats[i] < 0)
            return call_invalid(call, "the repeat %" PRId64 " is out of range", repeats[i]);
        if (__builtin_mul_overflow(shape.dims[i], repeats[i], &shape.dims[i]))
            return call_unsupported(call, "the repeat %" PRId64 " is too large", repeats[i]);
    }
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    struct strides strides = strides_dense(&x->shape);
    size_t i = 0;
    do {
        size_t from = 0;
        for (int axis = 0; axis < shape.rank; axis++)
            from += strides.of[axis] * (size_t)(index[axis] % x->shape.dims[axis]);
        bounded_move(out, i++, x, from);
    } while (odometer_next(index, &shape));
    return 0;
}

static int sample_tile(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t repeats[TENSOR_MAX_RANK];
    int64_t room = 600 / (int64_t)(1 + shape_span(&x.shape, 0, x.shape.rank));
    for (int i = 0; i < x.shape.rank; i++) {
        repeats[i] = draw_chance(d, 0.02) ? 0 : draw_between(d, 1, room > 1 ? 3 : 1);
        room /= repeats[i] ? repeats[i] : 1;
    }
    draw_int_input(d, repeats, (size_t)x.shape.rank);
    return 0;
}

/* ---- Transpose ---- */

static int eval_transpose(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    size_t count;
    const int64_t *perm = call_ints(call, "perm", &count);
    int rank = x->shape.rank;
    if (perm && count != (size_t)rank)
        return call_invalid(call, "perm has %zu axes for rank %d", count, rank);
    struct strides strides = strides_dense(&x->shape);
    struct shape shape = {.rank = rank};
    int64_t steps[TENSOR_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < rank; i++) {
        int64_t from = perm ? perm[i] : rank - 1 - i;
        if (from < 0 || from >= rank || seen & 1U << from)
            return call_invalid(call, "perm is not a permutation");
        seen |= 1U << from;
        shape.dims[i] = x->shape.dims[from];
        steps[i] = (int64_t)strides.of[from];
    }
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out)
        return -1;
    if (!call->shapes_only)
        move_strided(out, x, 0, steps);
    return 0;
}

static int sample_transpose(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t perm[TENSOR_MAX_RANK];
    if (x.shape.rank == 0 || draw_chance(d, 0.15))
        return 0;
    for (int i = 0; i < x.shape.rank; i++)
        perm[i] = i;
    /* The identity is a case too: optimisers treat it specially. */
    bool identity = draw_chance(d, 0.1);
    for (int i = x.shape.rank - 1; i > 0 && !identity; i--) {
        int64_t j = draw_between(d, 0, i), kept = perm[i];
        perm[i] = perm[j];
        perm[j] = kept;
    }
    draw_ints(d, "perm", perm, (size_t)x.shape.rank);
    return 0;
}

/* ---- Trilu ---- */

static int eval_trilu(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    if (x->shape.rank < 2)
        return call_invalid(call, "the input has rank %d, but needs at least 2", x->shape.rank);
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    int64_t k = 0;
    if (call_input(call, 1) && call_int_single(call, 1, &k))
        return -1;
    bool upper = call_int(call, "upper", 1) != 0;
    int64_t rows = x->shape.dims[x->shape.rank - 2], columns = x->shape.dims[x->shape.rank - 1];
    for (size_t i = 0; i < out->count; i++) {
        int64_t column = (int64_t)i % columns, row = (int64_t)i / columns % rows;
        if (upper ? column - row >= k : column - row <= k)
            bounded_move(out, i, x, i);
    }
    return 0;
}

static int sample_trilu(struct draw *d)
{
    struct drawn x = draw_primary(d);
    struct shape scalar = {0};
    if (draw_chance(d, 0.7)) {
        int64_t reach = x.shape.dims[x.shape.rank - 1] + x.shape.dims[x.shape.rank - 2] + 1;
        int64_t k = draw_between(d, -reach, reach);
        draw_int_typed(d, DTYPE_INT64, &scalar, &k);
    }
    if (draw_chance(d, 0.6))
        draw_int(d, "upper", draw_between(d, 0, 1));
    return 0;
}

static const struct op_param axis_param[] = {{"axis", PARAM_INT, .legal = "-2..2", .illegal = "100|-100"},
                                             {0}};
static const struct op_param flatten_params[] = {
    {"axis", PARAM_INT, .legal = "-2..2", .illegal = "100|-100", .initial = "1"}, {0}};
static const struct op_param expand_params[] = {
    {"shape", PARAM_INPUT, .input = 1, .legal = "1|1,1", .illegal = "-1|-2,3|7,7,7"}, {0}};
static const struct op_param reshape_params[] = {
    {"shape", PARAM_INPUT, .input = 1, .legal = "-1|0,-1|1,-1",
     .illegal = "-1,-1|-2|0,0,0,0,0,0,0,0|7,11,13"},
    {"allowzero", PARAM_INT, .since = 14, .legal = "0|1", .illegal = "2|-1", .initial = "0"},
    {0}};
static const struct op_param axes_params[] = {
    {"axes", PARAM_INTS, .until = 12, .legal = "0|-1", .illegal = "100|-100|0,0"},
    {"axes", PARAM_INPUT, .input = 1, .since = 13, .legal = "0|-1", .illegal = "100|-100|0,0"},
    {0}};
static const struct op_param tile_params[] = {
    {"repeats", PARAM_INPUT, .input = 1, .legal = "1|2|3", .illegal = "-1|0,-5"}, {0}};
static const struct op_param transpose_params[] = {
    {"perm", PARAM_INTS, .legal = "0|0,1|1,0|0,2,1|2,0,1", .illegal = "0,0|-1,0|5,6|9"}, {0}};
static const struct op_param trilu_params[] = {
    {"upper", PARAM_INT, .legal = "0|1", .illegal = "2|-1", .initial = "1"},
    {"k", PARAM_INPUT, .input = 1, .legal = "-3..3", .initial = "0"},
    {0}};

/* Members that the rows have in common. */
#define USUAL                                                                                   \
    .outputs = {1, 1}, .factors = {FACTORS_SUM}, .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, \
    .gradient = gradient_of_moves

const struct op ops_layout[] = {
    {OP("Concat", 1), USUAL, .flags = OP_SPECIMEN, .inputs = {1, OP_VARIADIC}, .ranks = {1, 6},
     .types = MOVE_TYPES, .params = axis_param, .eval = eval_concat, .sample = sample_concat,
     .data = DATA_ALL, .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 4}, .result = RESULT_TYPE,
     .dangers = {{DANGER_NONE}}},
    {OP("Expand", 8), USUAL, .inputs = {2, 2}, .ranks = {0, 6}, .types = MOVE_TYPES, .params = expand_params,
     .eval = eval_expand, .sample = sample_expand, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .history = {.same_since = 8}, .result = RESULT_TYPE, .dangers = {{DANGER_NONE}}},
    {OP("Flatten", 1), USUAL, .flags = OP_RESHAPES, .inputs = {1, 1}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .params = flatten_params, .eval = eval_flatten, .sample = sample_flatten, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1}, .result = RESULT_TYPE,
     .narrow = {21, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("Reshape", 1), USUAL, .flags = OP_RESHAPES, .inputs = {2, 2}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .params = reshape_params, .eval = eval_reshape, .sample = sample_reshape, .data = DATA_FIRST,
     .range = {RANGE_MOVE}, .history = {.same_since = 5}, .result = RESULT_TYPE,
     .narrow = {19, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("Squeeze", 1), USUAL, .flags = OP_RESHAPES, .inputs = {1, 2}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .params = axes_params, .eval = eval_squeeze, .sample = sample_squeeze, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1, .reformed = 13}, .result = RESULT_TYPE,
     .narrow = {21, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("Tile", 1), USUAL, .inputs = {2, 2}, .ranks = {1, 5}, .types = MOVE_TYPES, .params = tile_params,
     .eval = eval_tile, .sample = sample_tile, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .history = {.same_since = 6}, .result = RESULT_TYPE, .dangers = {{DANGER_NONE}}},
    {OP("Transpose", 1), USUAL, .flags = OP_PERMUTES, .inputs = {1, 1}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .params = transpose_params, .reads_floats = 1, .eval = eval_transpose, .sample = sample_transpose,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1}, .result = RESULT_TYPE,
     .narrow = {21, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("Trilu", 14), USUAL, .inputs = {1, 2}, .ranks = {2, 5}, .types = {{14, MOVE_ANY}},
     .params = trilu_params, .eval = eval_trilu, .sample = sample_trilu, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .result = RESULT_LIKE_INPUT, .dangers = {{DANGER_NONE}}},
    {OP("Unsqueeze", 1), USUAL, .flags = OP_RESHAPES, .inputs = {1, 2}, .ranks = {0, 4}, .types = MOVE_TYPES,
     .params = axes_params, .eval = eval_unsqueeze, .sample = sample_unsqueeze, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .history = {.same_since = 1, .reformed = 13}, .result = RESULT_TYPE,
     .narrow = {21, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {0},
};
