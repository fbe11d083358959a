/*
 * Operators that draw numbers. Of their results only type, shape and range are certain: every number of the
 * range passes. They are never drawn by the generator, as two engines need not agree.
 */
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>

/* The type named by the attribute dtype. */
static int named_type(struct op_call *call, enum dtype otherwise, dtype_set set, enum dtype *type)
{
    int64_t number = call_int(call, "dtype", otherwise);
    if (dtype_check(number, call->err))
        return -1;
    if (!dtype_in((enum dtype)number, set))
        return call_invalid(call, "dtype %" PRId64 " is not one of the operator's", number);
    *type = (enum dtype)number;
    return 0;
}

/* ---- Bernoulli ---- */

static void put_bernoulli(struct bounded *out, size_t i, long double p, long double off)
{
    if (!(p >= 0 && p <= 1))
        bounded_put_open(out, i);
    else
        bounded_put_range(out, i, p > 0.5L, p == 1 && off == 0, p > 0 || off > 0);
}

static int eval_bernoulli(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    enum dtype type = DTYPE_NONE;
    if (!x || named_type(call, x->type, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), &type))
        return -1;
    struct bounded *out = call_output(call, 0, type, &x->shape);
    for (size_t i = 0; out && !call->shapes_only && i < out->count; i++)
        put_bernoulli(out, i, x->value[i], bounded_hard(x, i));
    return out ? 0 : -1;
}

/* ---- RandomNormal, RandomUniform ---- */

static int shape_attribute(struct op_call *call, struct shape *shape)
{
    size_t count;
    const int64_t *dims = call_ints(call, "shape", &count);
    if (!call_has(call, "shape"))
        return call_invalid(call, "shape is missing");
    if (count > TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    *shape = (struct shape){.rank = (int)count};
    for (size_t i = 0; i < count; i++) {
        if (dims[i] < 0)
            return call_invalid(call, "dimension %" PRId64 " is negative", dims[i]);
        shape->dims[i] = dims[i];
    }
    return 0;
}

static int put_random(struct op_call *call, enum dtype type, const struct shape *shape, bool uniform)
{
    long double low = (long double)call_float(call, "low", 0),
                high = (long double)call_float(call, "high", 1);
    struct bounded *out = call_output(call, 0, type, shape);
    for (size_t i = 0; out && !call->shapes_only && i < out->count; i++)
        if (uniform && low <= high)
            bounded_put_range(out, i, dtype_round(type, low / 2 + high / 2), dtype_round(type, low),
                              dtype_round(type, high));
        else
            bounded_put_open(out, i);
    return out ? 0 : -1;
}

static int random_shaped(struct op_call *call, bool uniform)
{
    enum dtype type = DTYPE_NONE;
    struct shape shape;
    if (named_type(call, DTYPE_FLOAT, DTYPES_FLOAT, &type) || shape_attribute(call, &shape))
        return -1;
    return put_random(call, type, &shape, uniform);
}

static int random_like(struct op_call *call, bool uniform)
{
    const struct bounded *x = call_need(call, 0);
    enum dtype type = DTYPE_NONE;
    if (!x || named_type(call, x->type, DTYPES_FLOAT, &type))
        return -1;
    return put_random(call, type, &x->shape, uniform);
}

static int eval_normal(struct op_call *call)
{
    return random_shaped(call, false);
}

static int eval_uniform(struct op_call *call)
{
    return random_shaped(call, true);
}

static int eval_normal_like(struct op_call *call)
{
    return random_like(call, false);
}

static int eval_uniform_like(struct op_call *call)
{
    return random_like(call, true);
}

/* ---- Multinomial ---- */

static int eval_multinomial(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int64_t samples = call_int(call, "sample_size", 1);
    enum dtype type = DTYPE_NONE;
    if (!x || named_type(call, DTYPE_INT32, DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64), &type))
        return -1;
    if (x->shape.rank != 2 || x->shape.dims[1] < 1 || samples < 0)
        return call_invalid(call, "the input is no [batch, classes], or sample_size is negative");
    struct bounded *out = call_output(call, 0, type, &(struct shape){2, {x->shape.dims[0], samples}});
    for (size_t i = 0; out && !call->shapes_only && i < out->count; i++)
        bounded_put_range(out, i, 0, 0, (long double)(x->shape.dims[1] - 1));
    return out ? 0 : -1;
}

static const struct op_param like_params[] = {{"dtype", PARAM_INT}, {"seed", PARAM_FLOAT}, {0}};
static const struct op_param normal_params[] = {{"dtype", PARAM_INT, .initial = "1"},
                                                {"mean", PARAM_FLOAT, .initial = "0"},
                                                {"scale", PARAM_FLOAT, .initial = "1"},
                                                {"seed", PARAM_FLOAT},
                                                {"shape", PARAM_INTS},
                                                {0}};
static const struct op_param uniform_params[] = {{"dtype", PARAM_INT, .initial = "1"},
                                                 {"high", PARAM_FLOAT, .initial = "1"},
                                                 {"low", PARAM_FLOAT, .initial = "0"},
                                                 {"seed", PARAM_FLOAT},
                                                 {"shape", PARAM_INTS},
                                                 {0}};
static const struct op_param multinomial_params[] = {{"dtype", PARAM_INT, .initial = "6"},
                                                     {"sample_size", PARAM_INT, .initial = "1"},
                                                     {"seed", PARAM_FLOAT},
                                                     {0}};

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

/* Members that the rows have in common. */
#define USUAL                                                                                          \
    .flags = OP_RANDOM | OP_ON_REQUEST, .outputs = {1, 1}, .ranks = {0, 5}, .factors = {FACTORS_NONE}, \
    .range = {RANGE_FIXED, .gives = {-5, 5}}, .result = RESULT_OTHER, .slope = SLOPE_NOWHERE,          \
    .dangers = {{DANGER_NONE}}, .open = "all of it: the numbers are random"

const struct op ops_random[] = {
    {OP("Bernoulli", 15), USUAL, .inputs = {1, 1}, .types = {{15, BASE}, {22, DTYPES_FLOAT}},
     .params = like_params, .eval = eval_bernoulli, .data = DATA_FIRST, .work = WORK_ELEMENTS},
    {OP("Multinomial", 7), USUAL, .inputs = {1, 1}, .types = {{7, BASE}, {22, DTYPES_FLOAT}},
     .params = multinomial_params, .eval = eval_multinomial, .data = DATA_FIRST, .work = WORK_ELEMENTS,
     .history = {.same_since = 7}},
    {OP("RandomNormal", 1), USUAL, .inputs = {0, 0}, .types = {{1, BASE}, {22, DTYPES_FLOAT}},
     .params = normal_params, .eval = eval_normal, .data = DATA_NONE, .work = WORK_CREATES,
     .history = {.same_since = 1}},
    {OP("RandomNormalLike", 1), USUAL, .inputs = {1, 1}, .types = {{1, BASE}, {22, DTYPES_FLOAT}},
     .params = normal_params, .eval = eval_normal_like, .data = DATA_FIRST, .work = WORK_CREATES,
     .history = {.same_since = 1}},
    {OP("RandomUniform", 1), USUAL, .inputs = {0, 0}, .types = {{1, BASE}, {22, DTYPES_FLOAT}},
     .params = uniform_params, .eval = eval_uniform, .data = DATA_NONE, .work = WORK_CREATES,
     .history = {.same_since = 1}},
    {OP("RandomUniformLike", 1), USUAL, .inputs = {1, 1}, .types = {{1, BASE}, {22, DTYPES_FLOAT}},
     .params = uniform_params, .eval = eval_uniform_like, .data = DATA_FIRST, .work = WORK_CREATES,
     .history = {.same_since = 1}},
    {0},
};
