#include "eval/factor_order.h"

#include "base/str.h"

#include <float.h>
#include <math.h>

enum rule {
    FRESH,  /* no factor of an input is one of the output */
    SUM,    /* each factor of an input is one of the output, but not all at once */
    PRODUCT /* all at once */
};

/* Operators that a factor can be drawn through. */
static const struct {
    const char *name;
    enum rule rule;
} rules[] = {
    {"Add", SUM},
    {"AveragePool", SUM},
    {"BatchNormalization", PRODUCT},
    {"Cast", SUM},
    {"Concat", SUM},
    {"Conv", PRODUCT},
    {"ConvTranspose", PRODUCT},
    {"Div", PRODUCT},
    {"Einsum", PRODUCT},
    {"Expand", SUM},
    {"Flatten", SUM},
    {"Gather", SUM},
    {"Gemm", PRODUCT},
    {"GlobalAveragePool", SUM},
    {"Identity", SUM},
    {"LeakyRelu", SUM},
    {"MatMul", PRODUCT},
    {"Mean", SUM},
    {"Mul", PRODUCT},
    {"Neg", SUM},
    {"Pad", SUM},
    {"ReduceMean", SUM},
    {"ReduceSum", SUM},
    {"Relu", SUM},
    {"Reshape", SUM},
    {"Slice", SUM},
    {"Split", SUM},
    {"Squeeze", SUM},
    {"Sub", SUM},
    {"Sum", SUM},
    {"Transpose", SUM},
    {"Unsqueeze", SUM},
};

static enum rule rule_of(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (text_equal(rules[i].name, name))
            return rules[i].rule;
    return FRESH;
}

struct factors factors_of(const struct bounded *value)
{
    struct factors own = {.count = 1};
    if (!value->value || !dtype_is_float(value->type))
        return own;
    for (size_t i = 0; i < value->count; i++) {
        long double size = fabsl(value->value[i]);
        if (!(size > 0) || isinf(size))
            continue;
        own.most = fmax(own.most, ilogbl(size) + 1);
        own.least = fmin(own.least, ilogbl(size));
    }
    return own;
}

static struct factors times(struct factors a, struct factors b)
{
    return (struct factors){a.most + b.most, a.least + b.least, a.count + b.count};
}

static struct factors either(struct factors a, struct factors b)
{
    return (struct factors){fmax(a.most, b.most), fmin(a.least, b.least),
                            a.count > b.count ? a.count : b.count};
}

/* A division may become a product with the reciprocal, which is a rounding, and an overflow, more. */
static struct factors reciprocal(struct factors a)
{
    return (struct factors){-a.least, -a.most, a.count + 1};
}

static struct factors root(struct factors a)
{
    return (struct factors){a.most / 2, a.least / 2, a.count};
}

/* What input i multiplies the output by, nothing when it is added. */
static struct factors factor_of(const char *name, size_t i, struct factors input)
{
    if (i == 1 && text_equal(name, "Div"))
        return reciprocal(input);
    if (i == 4 && text_equal(name, "BatchNormalization"))
        return reciprocal(root(input));
    return i < 2 || text_equal(name, "Einsum") ? input : (struct factors){0};
}

struct factors factors_through(const struct op_call *call, const struct factors *inputs)
{
    enum rule rule = rule_of(call->op->name);
    struct factors all = {0};
    size_t terms = 0;
    for (size_t i = 0; rule != FRESH && i < call->n_inputs; i++) {
        if (!call->inputs[i] || !dtype_is_float(call->inputs[i]->type))
            continue;
        terms++;
        all = rule == SUM ? either(all, inputs[i]) : times(all, factor_of(call->op->name, i, inputs[i]));
    }
    /* (a + b) * c may become a * c + b * c: of one product come several. */
    if (rule == SUM && terms > 1)
        all.count++;
    /* What cancels in a product of many terms, and the terms' number, show in the value. */
    struct factors own = factors_of(&call->outputs[0]);
    return either(all, own);
}

/* Powers of 2 beyond which a product overflows, or is 0. */
struct range {
    double highest, lowest;
};

/* Most engines compute halves in float32; one that has them in hardware does not, and has their subnormals.
 */
static struct range range_of(enum dtype type)
{
    if (type == DTYPE_DOUBLE)
        return (struct range){DBL_MAX_EXP, DBL_MIN_EXP};
    if (type == DTYPE_FLOAT16)
        return (struct range){16, -24};
    return (struct range){FLT_MAX_EXP, FLT_MIN_EXP};
}

void factors_loosen(struct bounded *value, const struct factors *factors)
{
    struct range range = range_of(value->type);
    /* Of two factors there is one product only, and the node that makes it is judged for it. */
    if (factors->count < 3 || !value->value || !dtype_is_float(value->type))
        return;
    double lost =
        factors->least < range.lowest ? ldexp(1, (int)fmin(factors->most + range.lowest, DBL_MAX_EXP)) : 0;
    for (size_t i = 0; i < value->count; i++) {
        if (factors->most >= range.highest)
            bounded_put_undecided(value, i, value->value[i]);
        else if (lost > 0)
            bounded_set(value, i, value->value[i], bounded_hard(value, i) + lost,
                        bounded_likely(value, i) + lost);
    }
}
