/*
 * Operators that make tensors from attributes and shapes. Results that depend on shapes alone have a value
 * even in shapes-only calls, so that shape arithmetic can be followed through a graph.
 */
#include "ops/draw.h"
#include "ops/move_elements.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Constant ---- */

static int constant_tensor(struct op_call *call, const Onnx__AttributeProto *a)
{
    struct tensor tensor;
    if (!a->t && !a->sparse_tensor)
        return call_invalid(call, "%s is not a tensor", a->name);
    if (a->t ? model_tensor_read(a->t, &tensor, call->err)
             : model_sparse_read(a->sparse_tensor, &tensor, call->err))
        return -1;
    struct bounded *out = call_output_known(call, 0, tensor.type, &tensor.shape);
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = tensor_get(&tensor, i);
    tensor_release(&tensor);
    return out ? 0 : -1;
}

static int eval_constant(struct op_call *call)
{
    const Onnx__NodeProto *node = call->node;
    if (node->n_attribute != 1)
        return call_invalid(call, "has %zu attributes instead of one", node->n_attribute);
    const Onnx__AttributeProto *a = node->attribute[0];
    if (strcmp(a->name, "value") == 0 || (call->opset >= 11 && strcmp(a->name, "sparse_value") == 0))
        return constant_tensor(call, a);
    bool floats = strcmp(a->name, "value_floats") == 0, one_float = strcmp(a->name, "value_float") == 0;
    bool ints = strcmp(a->name, "value_ints") == 0, one_int = strcmp(a->name, "value_int") == 0;
    if (call->opset < 12 || !(floats || one_float || ints || one_int))
        return call_unsupported(call, "attribute %s is not supported", a->name);
    struct shape shape = {.rank = floats || ints, .dims = {(int64_t)(floats ? a->n_floats : a->n_ints)}};
    struct bounded *out = call_output_known(call, 0, floats || one_float ? DTYPE_FLOAT : DTYPE_INT64, &shape);
    if (!out)
        return -1;
    for (size_t i = 0; i < out->count; i++)
        out->value[i] = floats      ? (long double)a->floats[i]
                        : ints      ? (long double)a->ints[i]
                        : one_float ? (long double)a->f
                                    : (long double)a->i;
    return 0;
}

static void draw_tensor_attribute(struct draw *d, const char *name, enum dtype type,
                                  const struct shape *shape)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, type, shape, 0, NULL))
        return;
    fill_tensor(&tensor, d->fill, rng_split(&d->rng, 77));
    node_set_tensor(d->arena, d->node, name, &tensor);
    tensor_release(&tensor);
}

static int sample_constant(struct draw *d)
{
    int64_t ints[5], kind = d->opset >= 12 ? draw_between(d, 0, 7) : 7;
    float floats[5];
    size_t count = (size_t)draw_between(d, 1, 5);
    for (size_t i = 0; i < count; i++) {
        ints[i] = draw_between(d, -9, 9);
        floats[i] = (float)rng_normal(&d->rng);
    }
    if (kind == 0) {
        draw_int(d, "value_int", ints[0]);
    } else if (kind == 1) {
        draw_ints(d, "value_ints", ints, count);
    } else if (kind == 2) {
        draw_float(d, "value_float", floats[0]);
    } else if (kind == 3) {
        node_set_floats(d->arena, d->node, "value_floats", floats, count);
    } else {
        struct shape shape = draw_shape(d, 0, 4);
        draw_tensor_attribute(d, "value", d->type, &shape);
    }
    return 0;
}

/* ---- ConstantOfShape ---- */

static int eval_constant_of_shape(struct op_call *call)
{
    struct shape shape = {0};
    size_t count;
    if (call_int_list(call, 0, shape.dims, TENSOR_MAX_RANK, &count))
        return -1;
    shape.rank = (int)count;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0)
            return call_invalid(call, "dimension %" PRId64 " is negative", shape.dims[i]);
    const Onnx__AttributeProto *attribute = node_attribute(call->node, "value");
    enum dtype type = DTYPE_FLOAT;
    long double value = 0;
    if (attribute) {
        struct tensor tensor;
        if (!attribute->t || model_tensor_read(attribute->t, &tensor, call->err))
            return attribute->t ? -1 : call_invalid(call, "value is not a tensor");
        size_t elements = tensor.count;
        type = tensor.type;
        if (elements == 1)
            value = tensor_get(&tensor, 0);
        tensor_release(&tensor);
        if (elements != 1)
            return call_invalid(call, "value has %zu elements instead of one", elements);
    }
    struct bounded *out = call_output(call, 0, type, &shape);
    if (!out)
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++)
        out->value[i] = value;
    return 0;
}

static int sample_constant_of_shape(struct draw *d)
{
    struct shape shape = draw_shape(d, 0, 4);
    draw_int_input(d, shape.dims, (size_t)shape.rank);
    if (draw_chance(d, 0.8)) {
        enum dtype type = draw_type_or_narrow(d, d->opset >= 20 ? MOVE_ANY : MOVE_ANY_11);
        draw_tensor_attribute(d, "value", type, &(struct shape){.rank = 1, .dims = {1}});
    }
    return 0;
}

/* ---- EyeLike ---- */

static int eval_eye_like(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    if (x->shape.rank != 2)
        return call_invalid(call, "the input has rank %d instead of 2", x->shape.rank);
    int64_t type = call_int(call, "dtype", x->type), k = call_int(call, "k", 0);
    if (dtype_check(type, call->err))
        return -1;
    struct bounded *out = call_output(call, 0, (enum dtype)type, &x->shape);
    if (!out)
        return -1;
    for (int64_t row = 0; out->value && row < x->shape.dims[0]; row++) {
        int64_t column;
        if (!__builtin_add_overflow(row, k, &column) && column >= 0 && column < x->shape.dims[1])
            out->value[row * x->shape.dims[1] + column] = 1;
    }
    return 0;
}

static int sample_eye_like(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (draw_chance(d, 0.6))
        draw_int(d, "dtype", draw_type(d, MOVE_ANY_11));
    if (draw_chance(d, 0.6))
        draw_int(d, "k", draw_between(d, -x.shape.dims[0] - 1, x.shape.dims[1] + 1));
    return 0;
}

/* ---- Range ---- */

/*
 * The number of elements: ceil((limit - start) / delta), at least 0. An implementation may round the
 * difference and the quotient of floats: where that could change the number of elements, it is undecided.
 */
static int range_count(struct op_call *call, const struct bounded *const in[3], int64_t *count)
{
    long double difference = in[1]->value[0] - in[0]->value[0], delta = in[2]->value[0];
    for (int i = 0; i < 3; i++)
        if (bounded_hard(in[i], 0) > 0)
            return call_unsupported(call, "the number of elements depends on an undecided value");
    if (delta == 0 || !isfinite(difference) || !isfinite(delta))
        return call_invalid(call, "the range from %Lg to %Lg by %Lg is not defined", in[0]->value[0],
                            in[1]->value[0], delta);
    long double quotient = difference / delta, slack = 0;
    if (!(quotient < (long double)BOUNDED_LIMIT))
        return error_set(call->err, ERROR_LIMIT, "Range: %Lg elements are more than the reference supports",
                         quotient);
    if (dtype_is_float(in[0]->type) && dtype_round(in[0]->type, quotient) != quotient)
        slack = fabsl(quotient) * 4 * unit_of(in[0]->type);
    if (quotient > 0 && ceill(quotient - slack) != ceill(quotient + slack))
        return call_unsupported(call, "the number of elements depends on rounding");
    *count = quotient > 0 ? (int64_t)ceill(quotient) : 0;
    return 0;
}

static int eval_range(struct op_call *call)
{
    const struct bounded *in[3];
    for (size_t i = 0; i < 3; i++) {
        if (!(in[i] = call_need(call, i)))
            return -1;
        if (in[i]->count != 1 || in[i]->type != in[0]->type)
            return call_invalid(call, "input %zu is not a scalar of the type of the first input", i);
        if (!in[i]->value)
            return call_unsupported(call, "the shape depends on data (input %zu)", i);
    }
    struct shape shape = {.rank = 1};
    if (range_count(call, in, &shape.dims[0]))
        return -1;
    struct bounded *out = call_output_known(call, 0, in[0]->type, &shape);
    if (!out)
        return -1;
    long double start = in[0]->value[0], delta = in[2]->value[0], u = bounded_unit(out);
    for (size_t i = 0; i < out->count; i++) {
        /*
         * Engines multiply, or add up delta: then every partial sum lies between start and the result, and
         * each addition but the last has rounded.
         */
        long double n = (long double)i, value = start + n * delta;
        bool whole =
            start == truncl(start) && delta == truncl(delta) && (fabsl(start) + fabsl(value)) * u < 1;
        long double size = fmaxl(fabsl(start), fabsl(value)) + fabsl(n * delta);
        long double hard = whole || i < 1 ? 0 : n * u * size;
        bounded_put(out, i, value, hard, hard == 0 ? 0 : u * sqrtl(n) * size);
    }
    return 0;
}

static int sample_range(struct draw *d)
{
    bool real = dtype_is_float(d->type);
    double delta = (double)draw_between(d, 1, 5), start = (double)draw_between(d, -20, 20);
    if (real && draw_chance(d, 0.6)) {
        delta *= rng_uniform(&d->rng, 0.05, 1);
        start = rng_normal(&d->rng);
    }
    if (draw_chance(d, 0.4))
        delta = -delta;
    /* For floats the limit lies between two whole numbers of steps, so that rounding cannot change the number
     * of elements. */
    double steps = (double)draw_between(d, draw_chance(d, 0.1) ? -3 : 0, 30);
    double limit = start + delta * (real ? steps + rng_uniform(&d->rng, 0.1, 0.9) : steps);
    if (!real)
        limit += (double)draw_between(d, -1, 1);
    draw_scalar(d, d->type, start);
    draw_scalar(d, d->type, limit);
    draw_scalar(d, d->type, delta);
    return 0;
}

/* ---- Shape, Size ---- */

static int64_t shape_end(int64_t position, int64_t rank)
{
    if (position < 0)
        position += rank;
    return position < 0 ? 0 : position > rank ? rank : position;
}

static int eval_shape(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (!x)
        return -1;
    int64_t rank = x->shape.rank, from = 0, to = rank;
    if (call->opset >= 15) {
        from = shape_end(call_int(call, "start", 0), rank);
        to = shape_end(call_int(call, "end", rank), rank);
    }
    struct shape shape = {.rank = 1, .dims = {to > from ? to - from : 0}};
    struct bounded *out = call_output_known(call, 0, DTYPE_INT64, &shape);
    if (!out)
        return -1;
    for (int64_t i = from; i < to; i++)
        out->value[i - from] = (long double)x->shape.dims[i];
    return 0;
}

/* In a graph the list must not be empty: libonnx, which follows the values of shapes, takes an empty one for
 * a scalar and calls results computed from it invalid. */
static int sample_shape(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t rank = x.shape.rank, start = draw_between(d, -rank - 2, rank + 2),
            end = draw_between(d, -rank - 2, rank + 2);
    bool has_start = d->opset >= 15 && draw_chance(d, 0.5), has_end = d->opset >= 15 && draw_chance(d, 0.5);
    int64_t from = has_start ? shape_end(start, rank) : 0, to = has_end ? shape_end(end, rank) : rank;
    bool in_graph = d->offer != NULL;
    if (in_graph && rank == 0)
        return -1;
    if (in_graph && to <= from)
        return 0;
    if (has_start)
        draw_int(d, "start", start);
    if (has_end)
        draw_int(d, "end", end);
    return 0;
}

static int eval_size(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct bounded *out = x ? call_output_known(call, 0, DTYPE_INT64, &(struct shape){.rank = 0}) : NULL;
    if (!out)
        return -1;
    out->value[0] = (long double)x->count;
    return 0;
}

static int sample_size(struct draw *d)
{
    draw_primary(d);
    return 0;
}

static const struct op_param of_shape_params[] = {
    {"input", PARAM_INPUT, .input = 0, .legal = "1|2,3", .illegal = "-1|2,-3"},
    {"value", PARAM_TENSOR, .legal = "", .initial = ""},
    {0}};
static const struct op_param eye_params[] = {
    {"dtype", PARAM_INT, .legal = "1|6|7|11", .illegal = "0|8|99|-1"},
    {"k", PARAM_INT, .legal = "-3..3", .initial = "0"},
    {0}};
static const struct op_param range_params[] = {
    {"delta", PARAM_INPUT, .input = 2, .legal = "1|2|-1", .illegal = "0"}, {0}};
static const struct op_param shape_params[] = {
    {"start", PARAM_INT, .since = 15, .legal = "-3..3", .initial = "0"},
    {"end", PARAM_INT, .since = 15, .legal = "-3..3"},
    {0}};

#define RANGE_TYPES                                                                                       \
    (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_INT32) | \
     DTYPE_BIT(DTYPE_INT64))

const struct op ops_creation[] = {
    {OP("Constant", 1), .inputs = {0, 0}, .outputs = {1, 1}, .ranks = {0, 4}, .types = MOVE_TYPES,
     .eval = eval_constant, .sample = sample_constant, .data = DATA_NONE, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_OTHER, .work = WORK_CREATES,
     .slope = SLOPE_NOWHERE, .narrow = {19, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {OP("ConstantOfShape", 9), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {1, 1},
     .types = {{9, DTYPE_BIT(DTYPE_INT64)}}, .params = of_shape_params, .eval = eval_constant_of_shape,
     .sample = sample_constant_of_shape, .data = DATA_NONE, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .result = RESULT_OTHER, .work = WORK_CREATES,
     .slope = SLOPE_NOWHERE, .narrow = {20, DTYPES_NARROW}, .flags = OP_MAKES_NARROW | OP_FIRST_NOT_NARROW,
     .dangers = {{DANGER_NONE}}},
    {OP("EyeLike", 9), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {2, 2},
     .types = {{9, MOVE_ANY_11}, {22, MOVE_ANY}}, .params = eye_params, .eval = eval_eye_like,
     .sample = sample_eye_like, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE},
     .history = {.same_since = 9}, .result = RESULT_OTHER, .work = WORK_SHAPE, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Range", 11), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {0, 0}, .types = {{11, RANGE_TYPES}},
     .params = range_params, .eval = eval_range, .sample = sample_range, .data = DATA_NONE,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .result = RESULT_TYPE, .work = WORK_CREATES,
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("Shape", 1), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .params = shape_params, .eval = eval_shape, .sample = sample_shape, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {0, 1000}}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .result = RESULT_OTHER, .work = WORK_SHAPE, .slope = SLOPE_NOWHERE, .narrow = {19, DTYPES_NARROW},
     .dangers = {{DANGER_NONE}}},
    {OP("Size", 1), .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {0, 6}, .types = MOVE_TYPES,
     .eval = eval_size, .sample = sample_size, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_OTHER, .work = WORK_SHAPE,
     .slope = SLOPE_NOWHERE, .narrow = {19, DTYPES_NARROW}, .dangers = {{DANGER_NONE}}},
    {0},
};
