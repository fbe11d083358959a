/*
 * Faults of the narrow element types (tensor/narrow.h): one for each, in how it is read or written, and one
 * of how elements share bytes. No paper reports them.
 */
#include "fault.h"
#include "patch.h"

#include <math.h>
#include <string.h>

typedef long double (*change)(long double value);

static void change_all(struct bounded *b, change each)
{
    for (size_t i = 0; i < b->count; i++)
        b->value[i] = each(b->value[i]);
}

/* Elements of the type become others when they are read as the first input. */
static int read_as(struct op_call *call, enum dtype type, change each)
{
    const struct bounded *x = call_input(call, 0);
    struct patch patch;
    if (!x || x->type != type || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *input = patch_input(&patch, 0);
    if (input)
        change_all(input, each);
    return patch_eval(&patch);
}

/* The same, and when they are written as the first output. */
static int kept_as(struct op_call *call, enum dtype type, change each)
{
    int result = read_as(call, type, each);
    struct bounded *out = &call->outputs[0];
    if (!result && !call->shapes_only && out->type == type && out->value)
        change_all(out, each);
    return result;
}

#define FAULT(function, way, type, each)                                       \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return way(call, type, each);                                          \
    }

static long double no_subnormal(long double v)
{
    return fabsl(v) < 0x1p-6L ? copysignl(0, v) : v;
}

static long double doubled(long double v)
{
    return fabsl(v) <= 120 ? 2 * v : v;
}

static long double not_infinite(long double v)
{
    return isinf(v) ? copysignl(57344, v) : v;
}

static long double no_nan(long double v)
{
    return isnan(v) ? 0 : v;
}

static long double halved(long double v)
{
    return v > 0x1p-127L ? v / 2 : v;
}

static long double no_half(long double v)
{
    return fabsl(v) == 0.5L ? copysignl(0, v) : v;
}

static long double unsigned4(long double v)
{
    return v < 0 ? v + 16 : v;
}

static long double signed4(long double v)
{
    return v > 7 ? v - 16 : v;
}

static long double unsigned2(long double v)
{
    return v < 0 ? v + 4 : v;
}

static long double signed2(long double v)
{
    return v > 1 ? v - 4 : v;
}

FAULT(e4m3fn_subnormals, kept_as, DTYPE_FLOAT8E4M3FN, no_subnormal)
FAULT(e4m3fnuz_bias, kept_as, DTYPE_FLOAT8E4M3FNUZ, doubled)
FAULT(e5m2_infinity, kept_as, DTYPE_FLOAT8E5M2, not_infinite)
FAULT(e5m2fnuz_nan, kept_as, DTYPE_FLOAT8E5M2FNUZ, no_nan)
FAULT(e8m0_bias, kept_as, DTYPE_FLOAT8E8M0, halved)
FAULT(e2m1_subnormal, kept_as, DTYPE_FLOAT4E2M1, no_half)
FAULT(int4_unsigned, read_as, DTYPE_INT4, unsigned4)
FAULT(uint4_signed, read_as, DTYPE_UINT4, signed4)
FAULT(int2_unsigned, read_as, DTYPE_INT2, unsigned2)
FAULT(uint2_signed, read_as, DTYPE_UINT2, signed2)

/* An element that has a byte for itself at the end, as bytes are counted by dividing. */
static int packed_tail(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (!call->shapes_only && out->value && dtype_in(out->type, DTYPES_PACKED) && out->count % 2)
        out->value[out->count - 1] = 0;
    return 0;
}

#define CONVERTS "Cast|CastLike|QuantizeLinear|DequantizeLinear"
#define READS "Cast|CastLike|DequantizeLinear"

/* clang-format off */
const struct fault faults_narrow[] = {
    FAULT_OF_DATA("e4m3fn-subnormals", CONVERTS, "subnormals of float8e4m3fn are 0", e4m3fn_subnormals),
    FAULT_OF_DATA("e4m3fnuz-bias", CONVERTS, "float8e4m3fnuz has the exponents of float8e4m3fn", e4m3fnuz_bias),
    FAULT_OF_DATA("e5m2-infinity", CONVERTS, "the infinities of float8e5m2 are its largest numbers", e5m2_infinity),
    FAULT_OF_DATA("e5m2fnuz-nan", CONVERTS, "NaN of float8e5m2fnuz is 0", e5m2fnuz_nan),
    FAULT_OF_DATA("e8m0-bias", CONVERTS, "float8e8m0 has the bias 128", e8m0_bias),
    FAULT_OF_DATA("e2m1-subnormal", CONVERTS, "the subnormal of float4e2m1 is 0", e2m1_subnormal),
    FAULT_OF_DATA("int4-unsigned", READS, "int4 is read as uint4", int4_unsigned),
    FAULT_OF_DATA("uint4-signed", READS, "uint4 is read as int4", uint4_signed),
    FAULT_OF_DATA("int2-unsigned", READS, "int2 is read as uint2", int2_unsigned),
    FAULT_OF_DATA("uint2-signed", READS, "uint2 is read as int2", uint2_signed),
    FAULT_OF_DATA("packed-tail", "any", "the last of an odd number of elements that share bytes is 0", packed_tail),
    {0},
};
/* clang-format on */
