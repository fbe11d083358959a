/* Element by element: functions, activations, arithmetic, comparisons. */
#include "emit.h"

#include <math.h>

#define SIGNED_OR_FLOAT (DTYPES_FLOAT | DTYPES_SIGNED)

/* A chain of a two-argument function over all inputs. */
static int write_chain(struct emit *e, const char *function, const char *scale)
{
    const char *sum = emit_in(e, 0);
    for (size_t i = 1; i < e->n_inputs; i++)
        sum = emit_let(e, "torch.%s(%s, %s)", function, sum, emit_in(e, i));
    return scale ? emit_out(e, 0, "torch.div(%s, %s)", sum, scale) : emit_out(e, 0, "%s", sum);
}

static int write_sum(struct emit *e)
{
    return write_chain(e, "add", NULL);
}

static int write_mean(struct emit *e)
{
    return write_chain(e, "add", emit_float(e, (double)e->n_inputs));
}

static int write_max(struct emit *e)
{
    return write_chain(e, "maximum", NULL);
}

static int write_min(struct emit *e)
{
    return write_chain(e, "minimum", NULL);
}

/* Integers are divided towards zero. */
static int write_div(struct emit *e)
{
    const char *mode = emit_is_float(e, 0) ? "" : ", rounding_mode='trunc'";
    return emit_out(e, 0, "torch.div(%s, %s%s)", emit_in(e, 0), emit_in(e, 1), mode);
}

static int write_mod(struct emit *e)
{
    bool fmod = emit_attr(e, "fmod", 0) != 0;
    if (!fmod && emit_is_float(e, 0))
        return emit_invalid(e, "fmod is 0 for floats");
    return emit_out(e, 0, "torch.%s(%s, %s)", fmod ? "fmod" : "remainder", emit_in(e, 0), emit_in(e, 1));
}

static int write_shift(struct emit *e)
{
    bool left = emit_word(e, "direction", "LEFT", "");
    if (!left && !emit_word(e, "direction", "RIGHT", ""))
        return emit_invalid(e, "no direction");
    return emit_out(e, 0, "torch.bitwise_%s_shift(%s, %s)", left ? "left" : "right", emit_in(e, 0),
                    emit_in(e, 1));
}

/* The result has the base's type; the library computes in the wider of both. */
static int write_pow(struct emit *e)
{
    enum dtype base = emit_type(e, 0), exponent = emit_type(e, 1);
    bool kept = base == exponent || (dtype_is_float(base) && dtype_is_integer(exponent)) ||
                (dtype_is_float(base) && dtype_is_float(exponent) && dtype_size(base) > dtype_size(exponent));
    if (!kept)
        return emit_unsupported(e, "%s to the power of %s", dtype_name(base), dtype_name(exponent));
    const char *power = emit_in(e, 1);
    /* A scalar decides no type in the library, a tensor does. */
    if (base != exponent)
        power = emit_let(e, "torch.to(%s, %d)", power, face_scalar_type(base));
    return emit_out(e, 0, "torch.pow(%s, %s)", emit_in(e, 0), power);
}

/* ONNX wants max where min is above it; the library's clamp promises so from 1.10 on. */
static int write_clip(struct emit *e)
{
    const char *x = emit_in(e, 0);
    if (face_is_before(1, 10) && emit_has(e, 1) && emit_has(e, 2))
        return emit_out(e, 0, "torch.min(torch.max(%s, %s), %s)", x, emit_in(e, 1), emit_in(e, 2));
    if (face_is_before(1, 10) && node_attribute(e->node, "min") && node_attribute(e->node, "max"))
        return emit_out(e, 0, "torch.clamp(torch.clamp(%s, min=%s), max=%s)", x,
                        emit_attr_float(e, "min", -INFINITY), emit_attr_float(e, "max", INFINITY));
    if (node_attribute(e->node, "min") || node_attribute(e->node, "max"))
        return emit_out(e, 0, "torch.clamp(%s, %s, %s)", x, emit_attr_float(e, "min", -INFINITY),
                        emit_attr_float(e, "max", INFINITY));
    if (!emit_has(e, 1) && !emit_has(e, 2))
        return emit_out(e, 0, "%s", x);
    return emit_out(e, 0, "torch.clamp(%s, %s, %s)", x, emit_in(e, 1), emit_in(e, 2));
}

/* The library's slope is one number a channel; what else broadcasts is written out. Where x is 0 the library
 * multiplies it with the slope, ONNX does not: infinity would make NaN of it. */
static int write_prelu(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0), *slope = emit_shape(e, 1);
    int64_t count = 1;
    for (int i = 0; i < slope->rank; i++)
        count *= slope->dims[i];
    bool channels =
        x->rank >= 2 && slope->rank == x->rank - 1 && slope->dims[0] == count && count == x->dims[1];
    if (emit_is_float(e, 0) && x->rank >= 1 && (count == 1 || channels) && slope->rank <= x->rank)
        return emit_out(e, 0, "torch.where(torch.eq(%s, 0), %s, torch.prelu(%s, torch.reshape(%s, [%d])))",
                        emit_in(e, 0), emit_in(e, 0), emit_in(e, 0), emit_in(e, 1), (int)count);
    return emit_out(e, 0, "torch.where(torch.lt(%s, 0), torch.mul(%s, %s), %s)", emit_in(e, 0), emit_in(e, 0),
                    emit_in(e, 1), emit_in(e, 0));
}

static int write_shrink(struct emit *e)
{
    double bias = (double)node_float(e->node, "bias", 0.F),
           lambd = (double)node_float(e->node, "lambd", 0.5F);
    const char *x = emit_in(e, 0), *low = emit_float(e, -lambd), *high = emit_float(e, lambd);
    const char *b = emit_float(e, bias);
    return emit_out(e, 0,
                    "torch.where(torch.lt(%s, %s), torch.add(%s, %s), torch.where(torch.gt(%s, %s), "
                    "torch.sub(%s, %s), torch.zeros_like(%s)))",
                    x, low, x, b, x, high, x, b, x);
}

static int write_gelu(struct emit *e)
{
    bool tanh = emit_word(e, "approximate", "tanh", "none");
    return emit_out(e, 0, "torch.gelu(%s, approximate='%s')", emit_in(e, 0), tanh ? "tanh" : "none");
}

static int write_isinf(struct emit *e)
{
    bool positive = emit_attr(e, "detect_positive", 1) != 0,
         negative = emit_attr(e, "detect_negative", 1) != 0;
    const char *x = emit_in(e, 0);
    if (positive && negative)
        return emit_out(e, 0, "torch.isinf(%s)", x);
    if (positive || negative)
        return emit_out(e, 0, "torch.is%sinf(%s)", positive ? "pos" : "neg", x);
    return emit_out(e, 0, "torch.zeros_like(%s, dtype=%d)", x, face_scalar_type(DTYPE_BOOL));
}

static int write_cast_to(struct emit *e, int64_t type)
{
    int number;
    if (dtype_check(type, NULL) < 0)
        return emit_unsupported(e, "to type %d", (int)type);
    if (emit_scalar(e, (enum dtype)type, &number) < 0)
        return -1;
    return emit_out(e, 0, "torch.to(%s, %d)", emit_in(e, 0), number);
}

static int write_cast(struct emit *e)
{
    return write_cast_to(e, emit_attr(e, "to", 0));
}

static int write_cast_like(struct emit *e)
{
    return write_cast_to(e, (int64_t)emit_type(e, 1));
}

static bool is_false(struct emit *e, size_t input, int *result)
{
    long double value = 0;
    if (emit_has(e, input) && emit_scalar_value(e, input, &value) < 0)
        *result = -1;
    return value == 0;
}

/* Inference, or a ratio of 0; what is random cannot be compared. */
static int write_dropout(struct emit *e)
{
    int result = 0;
    if (!is_false(e, 2, &result) && !(emit_has(e, 1) && is_false(e, 1, &result)))
        return emit_unsupported(e, "training mode");
    if (result < 0)
        return -1;
    emit_out(e, 0, "%s", emit_in(e, 0));
    return emit_out(e, 1, "torch.ones_like(%s, dtype=%d)", emit_in(e, 0), face_scalar_type(DTYPE_BOOL));
}

const struct emit_op emit_math[] = {
    {.name = "Abs", .form = "torch.abs($0)"},
    {.name = "Acos", .form = "torch.acos($0)"},
    {.name = "Acosh", .form = "torch.acosh($0)"},
    {.name = "Add", .form = "torch.add($0, $1)"},
    {.name = "And", .form = "torch.logical_and($0, $1)"},
    {.name = "Asin", .form = "torch.asin($0)"},
    {.name = "Asinh", .form = "torch.asinh($0)"},
    {.name = "Atan", .form = "torch.atan($0)"},
    {.name = "Atanh", .form = "torch.atanh($0)"},
    {.name = "BitShift", .write = write_shift},
    {.name = "BitwiseAnd", .form = "torch.bitwise_and($0, $1)"},
    {.name = "BitwiseNot", .form = "torch.bitwise_not($0)"},
    {.name = "BitwiseOr", .form = "torch.bitwise_or($0, $1)"},
    {.name = "BitwiseXor", .form = "torch.bitwise_xor($0, $1)"},
    {.name = "Cast", .write = write_cast},
    {.name = "CastLike", .write = write_cast_like},
    {.name = "Ceil", .form = "torch.ceil($0)"},
    {.name = "Celu", .form = "torch.celu($0, {f:alpha=1})"},
    {.name = "Clip", .write = write_clip},
    {.name = "Cos", .form = "torch.cos($0)"},
    {.name = "Cosh", .form = "torch.cosh($0)"},
    {.name = "Div", .write = write_div},
    {.name = "Dropout", .write = write_dropout},
    {.name = "Elu", .form = "torch.elu($0, {f:alpha=1})"},
    {.name = "Equal", .form = "torch.eq($0, $1)"},
    {.name = "Erf", .form = "torch.erf($0)", .types = DTYPES_FLOAT},
    {.name = "Exp", .form = "torch.exp($0)"},
    {.name = "Floor", .form = "torch.floor($0)"},
    {.name = "Gelu", .write = write_gelu},
    {.name = "Greater", .form = "torch.gt($0, $1)"},
    {.name = "GreaterOrEqual", .form = "torch.ge($0, $1)"},
    {.name = "HardSigmoid",
     .form = "torch.clamp(torch.add(torch.mul($0, {f:alpha=0.20000000298023224}), {f:beta=0.5}), 0, 1)"},
    {.name = "HardSwish", .form = "torch.hardswish($0)"},
    {.name = "Identity", .form = "$0"},
    {.name = "IsInf", .write = write_isinf},
    {.name = "IsNaN", .form = "torch.isnan($0)"},
    {.name = "LeakyRelu", .form = "torch.leaky_relu($0, {f:alpha=0.0099999997764825821})"},
    {.name = "Less", .form = "torch.lt($0, $1)"},
    {.name = "LessOrEqual", .form = "torch.le($0, $1)"},
    {.name = "Log", .form = "torch.log($0)"},
    {.name = "Max", .write = write_max},
    {.name = "Mean", .write = write_mean},
    {.name = "Min", .write = write_min},
    {.name = "Mish", .form = "torch.mish($0)"},
    {.name = "Mod", .write = write_mod},
    {.name = "Mul", .form = "torch.mul($0, $1)"},
    {.name = "Neg", .form = "torch.neg($0)", .types = SIGNED_OR_FLOAT},
    {.name = "Not", .form = "torch.logical_not($0)"},
    {.name = "Or", .form = "torch.logical_or($0, $1)"},
    {.name = "PRelu", .write = write_prelu},
    {.name = "Pow", .write = write_pow},
    {.name = "Reciprocal", .form = "torch.reciprocal($0)"},
    {.name = "Relu", .form = "torch.relu($0)"},
    {.name = "Round", .form = "torch.round($0)"},
    {.name = "Selu", .form = "torch.elu($0, {f:alpha=1.6732631921768188}, {f:gamma=1.0507010221481323})"},
    {.name = "Shrink", .write = write_shrink, .types = DTYPES_FLOAT},
    {.name = "Sigmoid", .form = "torch.sigmoid($0)"},
    {.name = "Sign", .form = "torch.sign($0)"},
    {.name = "Sin", .form = "torch.sin($0)"},
    {.name = "Sinh", .form = "torch.sinh($0)"},
    /* Beyond its threshold the library returns x itself: 20 by default, too early for float64. */
    {.name = "Softplus", .form = "torch.softplus($0, 1, 40)"},
    {.name = "Softsign", .form = "torch.div($0, torch.add(torch.abs($0), 1))"},
    {.name = "Sqrt", .form = "torch.sqrt($0)"},
    {.name = "Sub", .form = "torch.sub($0, $1)"},
    {.name = "Sum", .write = write_sum},
    {.name = "Tan", .form = "torch.tan($0)"},
    {.name = "Tanh", .form = "torch.tanh($0)"},
    /* torch.threshold keeps NaN, which is not greater than alpha. */
    {.name = "ThresholdedRelu", .form = "torch.where(torch.gt($0, {f:alpha=1}), $0, torch.zeros_like($0))"},
    {.name = "Where", .form = "torch.where($0, $1, $2)"},
    {.name = "Xor", .form = "torch.logical_xor($0, $1)"},
    {.name = NULL},
};
