/*
 * com.microsoft: Gelu and its relatives, which other rows compute: Gelu with the error function, FastGelu
 * with tanh, QuickGelu with a sigmoid (Swish), each behind a bias that is added first.
 */
#include "ops/draw.h"
#include "ops/inner.h"

#include <math.h>

/* Gelu of a sum of x and input 1, if there is one. */
static int eval_biased(struct op_call *call, const char *approximate)
{
    const struct bounded *x = call_need(call, 0), *bias = call_input(call, 1), *in[1] = {x};
    struct bounded sum;
    bounded_init(&sum);
    if (!x)
        return -1;
    if (bias && (bias->shape.rank != 1 || x->shape.rank < 1 || bias->type != x->type ||
                 bias->shape.dims[0] != x->shape.dims[x->shape.rank - 1]))
        return call_invalid(call, "the bias is not a vector of the last dimension");
    int result = bias ? inner_simple(call, "Add", x, bias, &sum) : 0;
    if (!result) {
        struct inner gelu;
        in[0] = bias ? &sum : x;
        inner_begin(&gelu, call, "Gelu");
        node_set_string(&gelu.arena, gelu.node, "approximate", approximate);
        result = inner_last(&gelu, in, 1);
    }
    bounded_release(&sum);
    return result;
}

static int eval_gelu(struct op_call *call)
{
    return eval_biased(call, "none");
}

static long double fast_gelu(long double x, long double linear, long double cubic)
{
    return x / 2 * (1 + tanhl(linear * x + cubic * x * x * x));
}

/* The text has the constants of Gelu with six digits; the engine's kernel has more, its function body has
 * not. Both are right. */
static void admit_constants(struct op_call *call)
{
    const struct bounded *x = call->inputs[0], *bias = call_input(call, 1);
    struct bounded *y = &call->outputs[0];
    const long double root = sqrtl(2 / acosl(-1));
    for (size_t i = 0; i < y->count; i++) {
        long double at = x->value[i] + (bias ? bias->value[i % bias->count] : 0);
        long double apart =
            fabsl(fast_gelu(at, root, 0.044715L * root) - fast_gelu(at, 0.797885L, 0.035677L));
        long double unsure = bounded_hard(x, i) + (bias ? bounded_hard(bias, i % bias->count) : 0);
        if (isfinite(apart) && isfinite(bounded_hard(y, i)))
            bounded_put(y, i, y->value[i], (bounded_hard(y, i) + apart) * (1 + 0x1p-40L) + 0x1p-16L * unsure,
                        likely_add(bounded_likely(y, i), apart));
    }
}

static int eval_fast_gelu(struct op_call *call)
{
    if (eval_biased(call, "tanh"))
        return -1;
    if (!call->shapes_only)
        admit_constants(call);
    return 0;
}

static int eval_quick_gelu(struct op_call *call)
{
    struct inner swish;
    inner_begin(&swish, call, "Swish");
    node_set_float(&swish.arena, swish.node, "alpha", (float)call_float(call, "alpha", (double)1.702F));
    return inner_last(&swish, call->inputs, call->n_inputs);
}

static int sample_gelu(struct draw *d)
{
    draw_primary(d);
    return 0;
}

static int sample_quick_gelu(struct draw *d)
{
    draw_primary(d);
    if (draw_chance(d, 0.6))
        draw_float(d, "alpha", (float)draw_between(d, -8, 16) / 8);
    return 0;
}

static int draw_bias(struct draw *d, double chance)
{
    struct drawn x = draw_primary(d);
    struct shape last = {1, {x.shape.rank ? x.shape.dims[x.shape.rank - 1] : 0}};
    /* What becomes of a vector without elements is not said anywhere. */
    if (x.shape.rank < 1 || last.dims[0] == 0)
        return -1;
    if (draw_chance(d, chance))
        draw_data(d, x.type, &last);
    return 0;
}

static int sample_bias_gelu(struct draw *d)
{
    return draw_bias(d, 1);
}

static int sample_fast_gelu(struct draw *d)
{
    return draw_bias(d, 0.6);
}

static const struct op_param quick_params[] = {
    {"alpha", PARAM_FLOAT, .legal = "-1..2", .initial = "1.7020000219345093"}, {0}};
static const struct op_param bias_extras[] = {{"bias", PARAM_INPUT, .input = 1}, {0}};

/* Before opset 13 ONNX computes nothing in bfloat16. */
enum { EARLY = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16) };

/* Members that the rows have in common. */
#define USUAL                                                                             \
    .outputs = {1, 1}, .types = {{1, EARLY}, {13, DTYPES_FLOAT}}, .data = DATA_FIRST,     \
    .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .result = RESULT_LIKE_INPUT, \
    .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE

const struct op ops_microsoft_elementwise[] = {
    {OP_MICROSOFT("BiasGelu"), USUAL, .inputs = {2, 2}, .ranks = {1, 6}, .eval = eval_gelu,
     .sample = sample_bias_gelu, .dangers = {{DANGER_NONE}}},
    {OP_MICROSOFT("FastGelu"), USUAL, .each = {EACH_ALONE}, .inputs = {1, 2}, .ranks = {1, 6},
     .extras = bias_extras, .eval = eval_fast_gelu, .sample = sample_fast_gelu,
     .dangers = {{DANGER_INNER, .power = 3}}},
    {OP_MICROSOFT("Gelu"), USUAL, .each = {EACH_ALONE}, .inputs = {1, 1}, .ranks = {0, 6}, .eval = eval_gelu,
     .sample = sample_gelu, .dangers = {{DANGER_NONE}}},
    {OP_MICROSOFT("QuickGelu"), USUAL, .each = {EACH_ALONE}, .inputs = {1, 1}, .ranks = {0, 6},
     .params = quick_params, .eval = eval_quick_gelu, .sample = sample_quick_gelu, .dangers = {{DANGER_EXP}},
     .open = "an infinity times a sigmoid of 0"},
    {0},
};
