/*
 * Operators that select elements by index. Nothing is computed: elements move with their bounds. Where an
 * index is undecided, so is the element that it selects; where it may be out of range, ONNX leaves the result
 * unspecified.
 */
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/indices.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The name of one of the inputs of the node. */
static const char *name_of(const struct op_call *call, const struct bounded *input)
{
    for (size_t i = 0; i < call->n_inputs && i < call->node->n_input; i++)
        if (call->inputs[i] == input)
            return call->node->input[i];
    return "the indices";
}

int index_at(struct op_call *call, const struct bounded *indices, size_t i, int64_t dim,
             struct picked *picked)
{
    long double at = indices->value[i];
    double off = bounded_hard(indices, i);
    picked->undecided = off > 0;
    picked->outside = picked->undecided && !(at - off >= -dim && at + off < dim);
    call->open |= picked->outside; /* even if nothing is selected */
    if (picked->undecided && dim > 0)
        at = fminl(fmaxl(at, -dim), dim - 1);
    if (!(at >= -dim && at < dim))
        return call_invalid(call, "index %.0Lf of %s is out of range for a dimension of %" PRId64, at,
                            name_of(call, indices), dim);
    picked->at = (size_t)(at < 0 ? (int64_t)at + dim : (int64_t)at);
    return 0;
}

int indices_check(struct op_call *call, const struct bounded *indices, bool only_int64)
{
    if (indices->type == DTYPE_INT64 || (indices->type == DTYPE_INT32 && !only_int64))
        return 0;
    return call_invalid(call, "the indices have type %s", dtype_name(indices->type));
}

static void put_picked(struct bounded *out, size_t i, const struct bounded *x, size_t from,
                       const struct picked *picked)
{
    if (picked->undecided)
        bounded_set(out, i, bounded_value(x, from), INFINITY, picked->outside ? INFINITY : 0);
    else
        bounded_move(out, i, x, from);
}

/* ---- Gather ---- */

static int gather_move(struct op_call *call, struct bounded *out, const struct bounded *x,
                       const struct bounded *indices, int axis)
{
    size_t outer = shape_span(&x->shape, 0, axis), inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    int64_t dim = x->shape.dims[axis];
    for (size_t i = 0; i < indices->count; i++) {
        struct picked picked;
        if (index_at(call, indices, i, dim, &picked))
            return -1;
        for (size_t o = 0; o < outer; o++)
            for (size_t k = 0; k < inner; k++)
                put_picked(out, (o * indices->count + i) * inner + k, x,
                           (o * (size_t)dim + picked.at) * inner + k, &picked);
    }
    return 0;
}

static int eval_gather(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *indices = call_need(call, 1);
    int axis;
    if (!x || !indices || indices_check(call, indices, false) ||
        call_axis(call, call_int(call, "axis", 0), x->shape.rank, &axis))
        return -1;
    if (x->shape.rank - 1 + indices->shape.rank > TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    struct shape shape = {.rank = x->shape.rank - 1 + indices->shape.rank};
    int at = 0;
    for (int i = 0; i < axis; i++)
        shape.dims[at++] = x->shape.dims[i];
    for (int i = 0; i < indices->shape.rank; i++)
        shape.dims[at++] = indices->shape.dims[i];
    for (int i = axis + 1; i < x->shape.rank; i++)
        shape.dims[at++] = x->shape.dims[i];
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out)
        return -1;
    return call->shapes_only ? 0 : gather_move(call, out, x, indices, axis);
}

static enum dtype draw_index_type(struct draw *d)
{
    return draw_chance(d, 0.3) ? DTYPE_INT32 : DTYPE_INT64;
}

static int64_t *draw_indices(struct draw *d, size_t count, int64_t dim)
{
    int64_t *values = arena_array(d->arena, count ? count : 1, sizeof *values);
    bool negative = draw_chance(d, 0.4);
    for (size_t i = 0; i < count; i++)
        values[i] = draw_between(d, negative ? -dim : 0, dim - 1);
    return values;
}

/* Draws an axis that is not empty, or -1. */
static int draw_full_axis(struct draw *d, const struct shape *shape)
{
    int axis = (int)draw_between(d, 0, shape->rank - 1);
    return shape->dims[axis] > 0 ? axis : -1;
}

static void draw_axis_attribute(struct draw *d, int axis, int rank)
{
    if (axis || draw_chance(d, 0.5))
        draw_int(d, "axis", draw_chance(d, 0.3) ? axis - rank : axis);
}

static int sample_gather(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int axis = draw_full_axis(d, &x.shape);
    if (axis < 0)
        return -1;
    struct shape shape = draw_shape(d, 0, 2);
    int64_t *values = draw_indices(d, shape_span(&shape, 0, shape.rank), x.shape.dims[axis]);
    draw_int_typed(d, draw_index_type(d), &shape, values);
    draw_axis_attribute(d, axis, x.shape.rank);
    return 0;
}

/* ---- GatherElements ---- */

static int elements_check(struct op_call *call, const struct bounded *x, const struct bounded *indices,
                          int axis)
{
    if (indices->shape.rank != x->shape.rank)
        return call_invalid(call, "data of rank %d needs indices of the same rank, not %d", x->shape.rank,
                            indices->shape.rank);
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis && indices->shape.dims[i] > x->shape.dims[i])
            return call_invalid(call, "indices are larger than the data along axis %d", i);
    return 0;
}

static int eval_gather_elements(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *indices = call_need(call, 1);
    int axis;
    if (!x || !indices || indices_check(call, indices, false) ||
        call_axis(call, call_int(call, "axis", 0), x->shape.rank, &axis) ||
        elements_check(call, x, indices, axis))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &indices->shape);
    if (!out)
        return -1;
    struct strides strides = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; !call->shapes_only && i < out->count; i++, odometer_next(index, &indices->shape)) {
        struct picked picked;
        if (index_at(call, indices, i, x->shape.dims[axis], &picked))
            return -1;
        size_t from = strides_at(&strides, x->shape.rank, index) - (size_t)index[axis] * strides.of[axis];
        put_picked(out, i, x, from + picked.at * strides.of[axis], &picked);
    }
    return 0;
}

static int sample_gather_elements(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int axis = draw_full_axis(d, &x.shape);
    if (axis < 0)
        return -1;
    struct shape shape = x.shape;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] > 0 && draw_chance(d, 0.3))
            shape.dims[i] = draw_between(d, 1, shape.dims[i]);
    if (draw_chance(d, 0.5))
        shape.dims[axis] = draw_dim(d);
    int64_t *values = draw_indices(d, shape_span(&shape, 0, shape.rank), x.shape.dims[axis]);
    draw_int_typed(d, draw_index_type(d), &shape, values);
    draw_axis_attribute(d, axis, x.shape.rank);
    return 0;
}

/* ---- GatherND ---- */

int index_tuple(struct op_call *call, const struct bounded *indices, size_t i, const struct shape *shape,
                int from, struct picked *picked)
{
    int k = (int)indices->shape.dims[indices->shape.rank - 1];
    *picked = (struct picked){0, false};
    for (int j = 0; j < k; j++) {
        struct picked one;
        if (index_at(call, indices, i * (size_t)k + (size_t)j, shape->dims[from + j], &one))
            return -1;
        picked->at += one.at * shape_span(shape, from + j + 1, shape->rank);
        picked->undecided |= one.undecided;
        picked->outside |= one.outside;
    }
    return 0;
}

static int gather_nd_shape(struct op_call *call, const struct bounded *x, const struct bounded *indices,
                           int batch, struct shape *shape)
{
    int q = indices->shape.rank, r = x->shape.rank;
    if (q < 1 || r < 1 || batch >= q || batch >= r)
        return call_invalid(call, "data of rank %d and indices of rank %d do not match batch_dims %d", r, q,
                            batch);
    int64_t k = indices->shape.dims[q - 1];
    if (k < 1 || k > r - batch)
        return call_invalid(call, "index tuples of %" PRId64 " do not match rank %d", k, r - batch);
    for (int i = 0; i < batch; i++)
        if (x->shape.dims[i] != indices->shape.dims[i])
            return call_invalid(call, "batch dimension %d differs between data and indices", i);
    if (q - 1 + r - batch - (int)k > TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    *shape = indices->shape;
    shape->rank = q - 1;
    for (int i = batch + (int)k; i < r; i++)
        shape->dims[shape->rank++] = x->shape.dims[i];
    return 0;
}

static int eval_gather_nd(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *indices = call_need(call, 1);
    struct shape shape;
    if (!x || !indices || indices_check(call, indices, true))
        return -1;
    int64_t batch_dims = call->opset >= 12 ? call_int(call, "batch_dims", 0) : 0;
    if (batch_dims < 0 || batch_dims > TENSOR_MAX_RANK)
        return call_invalid(call, "batch_dims %" PRId64 " is out of range", batch_dims);
    int batch = (int)batch_dims, q = indices->shape.rank;
    if (gather_nd_shape(call, x, indices, batch, &shape))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    int k = (int)indices->shape.dims[q - 1];
    size_t tuples = shape_span(&indices->shape, 0, q - 1),
           run = shape_span(&x->shape, batch + k, x->shape.rank);
    size_t per_batch = shape_span(&indices->shape, batch, q - 1);
    size_t batch_size = shape_span(&x->shape, batch, x->shape.rank);
    for (size_t i = 0; i < tuples; i++) {
        struct picked picked;
        if (index_tuple(call, indices, i, &x->shape, batch, &picked))
            return -1;
        for (size_t j = 0; j < run; j++)
            put_picked(out, i * run + j, x, i / per_batch * batch_size + picked.at + j, &picked);
    }
    return 0;
}

static int sample_gather_nd(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int rank = x.shape.rank;
    int batch = d->opset >= 12 && rank > 1 && draw_chance(d, 0.4) ? (int)draw_between(d, 1, rank - 1) : 0;
    int k = (int)draw_between(d, 1, rank - batch);
    struct shape shape = {0};
    for (int i = 0; i < batch; i++)
        shape.dims[shape.rank++] = x.shape.dims[i];
    for (int64_t more = draw_between(d, 0, 2); more > 0; more--)
        shape.dims[shape.rank++] = draw_between(d, 1, 4);
    size_t tuples = shape_span(&shape, 0, shape.rank);
    shape.dims[shape.rank++] = k;
    int64_t *values = arena_array(d->arena, tuples * (size_t)k + 1, sizeof *values);
    bool negative = draw_chance(d, 0.3);
    for (size_t i = 0; i < tuples * (size_t)k; i++) {
        int64_t dim = x.shape.dims[batch + (int)(i % (size_t)k)];
        if (dim == 0)
            return -1;
        values[i] = draw_between(d, negative ? -dim : 0, dim - 1);
    }
    draw_int_typed(d, DTYPE_INT64, &shape, values);
    if (d->opset >= 12 && (batch || draw_chance(d, 0.3)))
        draw_int(d, "batch_dims", batch);
    return 0;
}

/* ---- OneHot ---- */

static int one_hot_depth(struct op_call *call, int64_t *depth)
{
    const struct bounded *x = call_need(call, 1);
    if (!x)
        return -1;
    if (x->count != 1)
        return call_invalid(call, "depth has %zu elements instead of one", x->count);
    if (!x->value || bounded_hard(x, 0) > 0)
        return call_unsupported(call, "the shape depends on data (input 1)");
    if (!(x->value[0] >= 0))
        return call_invalid(call, "depth %Lg is out of range", x->value[0]);
    if (!(x->value[0] < (long double)BOUNDED_LIMIT))
        return call_unsupported(call, "depth %Lg is too large", x->value[0]);
    *depth = (int64_t)x->value[0];
    return 0;
}

/* Which of the `depth` places index i selects: -1 none, -2 undecided (beyond int64 the cast is unspecified).
 */
static int64_t one_hot_place(const struct bounded *indices, size_t i, int64_t depth)
{
    long double v = indices->value[i], reach = bounded_hard(indices, i);
    if (!(fabsl(v) < 0x1p62L) || !(reach < 0x1p62L) || truncl(v - reach) != truncl(v + reach))
        return -2;
    int64_t at = (int64_t)v;
    return at < -depth || at >= depth ? -1 : at < 0 ? at + depth : at;
}

static void one_hot_fill(struct bounded *out, const struct bounded *indices, const struct bounded *values,
                         int axis, int64_t depth)
{
    size_t inner = shape_span(&indices->shape, axis, indices->shape.rank);
    bool same = values->value[0] == values->value[1] && !values->hard;
    for (size_t i = 0; i < indices->count; i++) {
        int64_t place = one_hot_place(indices, i, depth);
        for (int64_t j = 0; j < depth; j++) {
            size_t at = (i / inner * (size_t)depth + (size_t)j) * inner + i % inner;
            if (place == -2 && !same)
                bounded_put_undecided(out, at, values->value[0]);
            else
                bounded_move(out, at, values, j == place);
        }
    }
}

/* The derivatives by the two values, which are the only data: each is the sum of the derivatives that arrive
 * where that value was put. */
static int gradient_one_hot(struct op_gradient *g)
{
    const struct bounded *indices = g->call->inputs[0], *out = &g->call->outputs[0];
    struct gradient_sums sums;
    int axis;
    if (!g->wanted[2])
        return 0;
    struct bounded *slope = gradient_make(g, 2);
    if (!slope || call_axis(g->call, call_int(g->call, "axis", -1), out->shape.rank, &axis) ||
        gradient_sums_init(&sums, slope, g->call->err))
        return -1;
    size_t inner = shape_span(&indices->shape, axis, indices->shape.rank);
    int64_t depth = out->shape.dims[axis];
    for (size_t i = 0; i < indices->count; i++) {
        int64_t place = one_hot_place(indices, i, depth);
        for (int64_t j = 0; j < depth; j++) {
            size_t at = (i / inner * (size_t)depth + (size_t)j) * inner + i % inner;
            if (place == -2) {
                gradient_sums_undecided(&sums, 0);
                gradient_sums_undecided(&sums, 1);
            } else {
                gradient_sums_add(&sums, j == place, gradient_upstream(g, 0, at));
            }
        }
    }
    gradient_sums_store(&sums);
    return 0;
}

static int eval_one_hot(struct op_call *call)
{
    const struct bounded *indices = call_need(call, 0), *values = call_need(call, 2);
    int64_t depth = 0;
    int axis;
    if (!indices || !values || one_hot_depth(call, &depth) ||
        call_axis(call, call_int(call, "axis", -1), indices->shape.rank + 1, &axis))
        return -1;
    if (values->shape.rank != 1 || values->count != 2)
        return call_invalid(call, "values is not a list of two elements (off, on)");
    if (indices->shape.rank == TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    struct shape shape = {.rank = indices->shape.rank + 1};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = i == axis ? depth : indices->shape.dims[i - (i > axis)];
    struct bounded *out = call_output(call, 0, values->type, &shape);
    if (!out)
        return -1;
    if (!call->shapes_only)
        one_hot_fill(out, indices, values, axis, depth);
    return 0;
}

static int sample_one_hot(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t depth = draw_between(d, 1, 6);
    /* Engines support few of the many combinations of types. */
    bool usual = draw_chance(d, 0.6);
    enum dtype depth_type = usual ? DTYPE_INT64 : draw_type(d, DTYPES_NUMBER & ~DTYPES_FLOAT);
    enum dtype type = usual ? draw_chance(d, 0.5) ? DTYPE_INT64 : DTYPE_FLOAT : draw_type(d, MOVE_ANY_11);
    /* Whole numbers, some of them out of range; seldom fractions, which are cast towards zero. */
    if (draw_chance(d, 0.8))
        draw_primary_range(d, dtype_is_signed(x.type) || dtype_is_float(x.type) ? (double)(-depth - 1) : 0,
                           (double)(depth + 1));
    bool whole = d->inputs[0].source == DRAWN_NEW && dtype_is_float(x.type) && draw_chance(d, 0.9);
    for (size_t i = 0; whole && i < d->inputs[0].data.count; i++)
        tensor_set(&d->inputs[0].data, i, truncl(tensor_get(&d->inputs[0].data, i)));
    struct shape depth_shape = {.rank = draw_chance(d, 0.5) ? 1 : 0, .dims = {1}};
    draw_int_typed(d, depth_type, &depth_shape, &depth);
    draw_data(d, type, &(struct shape){.rank = 1, .dims = {2}});
    if (draw_chance(d, 0.7))
        draw_int(d, "axis", draw_between(d, -x.shape.rank - 1, x.shape.rank));
    return 0;
}

/* ---- NonZero ---- */

static int count_nonzero(struct op_call *call, const struct bounded *x, int64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < x->count; i++) {
        long double v = x->value[i], hard = bounded_hard(x, i);
        if (hard > 0 && !(fabsl(v) > hard))
            return call_unsupported(call, "whether an element is 0 is undecided");
        *count += v != 0;
    }
    return 0;
}

static int eval_nonzero(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct shape shape = {.rank = 2};
    if (!x)
        return -1;
    if (!x->value)
        return call_unsupported(call, "the shape depends on data (input 0)");
    /* A scalar gives [0, N] according to ONNX, where NumPy gives [1, N]. */
    shape.dims[0] = x->shape.rank;
    if (count_nonzero(call, x, &shape.dims[1]))
        return -1;
    struct bounded *out = call_output(call, 0, DTYPE_INT64, &shape);
    if (!out)
        return -1;
    int64_t index[TENSOR_MAX_RANK] = {0};
    size_t column = 0;
    for (size_t i = 0; !call->shapes_only && i < x->count; i++, odometer_next(index, &x->shape)) {
        if (x->value[i] == 0)
            continue;
        for (int axis = 0; axis < x->shape.rank; axis++)
            out->value[(size_t)axis * (size_t)shape.dims[1] + column] = (long double)index[axis];
        column++;
    }
    return 0;
}

static int sample_nonzero(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (x.type != DTYPE_BOOL && dtype_is_integer(x.type))
        draw_primary_range(d, 0, 2);
    return 0;
}

static const struct op_param axis_params[] = {
    {"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100", .initial = "0"},
    {"indices", PARAM_INPUT, .input = 1, .legal = "0|-1", .illegal = "1000000|-1000000"},
    {0}};
static const struct op_param nd_params[] = {
    {"batch_dims", PARAM_INT, .since = 12, .legal = "0|1", .illegal = "-1|100", .initial = "0"},
    {"indices", PARAM_INPUT, .input = 1, .legal = "0|-1", .illegal = "1000000|-1000000"},
    {0}};
static const struct op_param one_hot_params[] = {
    {"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100", .initial = "-1"},
    {"depth", PARAM_INPUT, .input = 1, .legal = "1..6", .illegal = "-1|0"},
    {0}};

#define NUMBERS_11 (DTYPES_NUMBER & ~DTYPE_BIT(DTYPE_BFLOAT16))

const struct op ops_gather[] = {
    {OP("Gather", 1),
     .open = "an index outside the axis",
     .inputs = {2, 2},
     .outputs = {1, 1},
     .ranks = {1, 5},
     .types = MOVE_TYPES,
     .params = axis_params,
     .index = {.input = 1, .axis = "axis"},
     .reads_floats = 1,
     .eval = eval_gather,
     .gradient = gradient_of_moves,
     .sample = sample_gather,
     .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_SUM},
     .history = {.same_since = 1},
     .result = RESULT_TYPE,
     .work = WORK_MOVES,
     .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("GatherElements", 11), .open = "an index outside the axis", .inputs = {2, 2}, .outputs = {1, 1},
     .ranks = {1, 5}, .types = MOVE_TYPES, .params = axis_params, .index = {.input = 1, .axis = "axis"},
     .eval = eval_gather_elements, .gradient = gradient_of_moves, .sample = sample_gather_elements,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .result = RESULT_TYPE,
     .work = WORK_MOVES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("GatherND", 11), .open = "an index outside the axis", .inputs = {2, 2}, .outputs = {1, 1},
     .ranks = {1, 5}, .types = MOVE_TYPES, .params = nd_params, .index = {.input = 1, .any = true},
     .eval = eval_gather_nd, .gradient = gradient_of_moves, .sample = sample_gather_nd, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .result = RESULT_TYPE, .work = WORK_MOVES,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("NonZero", 9), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 5}, .flags = OP_DATA_SHAPE,
     .types = MOVE_TYPES, .eval = eval_nonzero, .sample = sample_nonzero, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 9},
     .result = RESULT_OTHER, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_JUMP}}},
    {OP("OneHot", 9), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {1, 4}, .types = {{9, NUMBERS_11}},
     .params = one_hot_params, .eval = eval_one_hot, .gradient = gradient_one_hot, .sample = sample_one_hot,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_PRODUCT, .powers = {0, 0, 1}},
     .history = {.same_since = 9}, .result = RESULT_OTHER, .work = WORK_ELEMENTS, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_NONE}}},
    {0},
};
