#include "tensor/dtype.h"

#include "tensor/narrow.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

struct row {
    const char *name, *onnx_name;
    size_t size;
};

static const struct row rows[DTYPE_COUNT] = {
    [DTYPE_NONE] = {"none", "undefined", 0},
    [DTYPE_FLOAT] = {"float32", "float", 4},
    [DTYPE_UINT8] = {"uint8", "uint8", 1},
    [DTYPE_INT8] = {"int8", "int8", 1},
    [DTYPE_UINT16] = {"uint16", "uint16", 2},
    [DTYPE_INT16] = {"int16", "int16", 2},
    [DTYPE_INT32] = {"int32", "int32", 4},
    [DTYPE_INT64] = {"int64", "int64", 8},
    [DTYPE_STRING] = {"string", "string", 0},
    [DTYPE_BOOL] = {"bool", "bool", 1},
    [DTYPE_FLOAT16] = {"float16", "float16", 2},
    [DTYPE_DOUBLE] = {"float64", "double", 8},
    [DTYPE_UINT32] = {"uint32", "uint32", 4},
    [DTYPE_UINT64] = {"uint64", "uint64", 8},
    [DTYPE_COMPLEX64] = {"complex64", "complex64", 8},
    [DTYPE_COMPLEX128] = {"complex128", "complex128", 16},
    [DTYPE_BFLOAT16] = {"bfloat16", "bfloat16", 2},
    [DTYPE_FLOAT8E4M3FN] = {"float8e4m3fn", "float8e4m3fn", 1},
    [DTYPE_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", "float8e4m3fnuz", 1},
    [DTYPE_FLOAT8E5M2] = {"float8e5m2", "float8e5m2", 1},
    [DTYPE_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", "float8e5m2fnuz", 1},
    [DTYPE_UINT4] = {"uint4", "uint4", 1},
    [DTYPE_INT4] = {"int4", "int4", 1},
    [DTYPE_FLOAT4E2M1] = {"float4e2m1", "float4e2m1", 1},
    [DTYPE_FLOAT8E8M0] = {"float8e8m0", "float8e8m0", 1},
    [DTYPE_UINT2] = {"uint2", "uint2", 1},
    [DTYPE_INT2] = {"int2", "int2", 1},
};

int dtype_check(int64_t number, struct error *err)
{
    if (number > DTYPE_NONE && number < DTYPE_COUNT)
        return 0;
    return error_set(err, ERROR_FORMAT, "no element type has the number %lld", (long long)number);
}

const char *dtype_name(enum dtype type)
{
    return (unsigned)type < DTYPE_COUNT ? rows[type].name : "unknown";
}

const char *dtype_onnx_name(enum dtype type)
{
    return (unsigned)type < DTYPE_COUNT ? rows[type].onnx_name : "unknown";
}

enum dtype dtype_from_name(const char *name)
{
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcasecmp(name, rows[i].name) == 0 || strcasecmp(name, rows[i].onnx_name) == 0)
            return (enum dtype)i;
    return DTYPE_NONE;
}

size_t dtype_size(enum dtype type)
{
    return (unsigned)type < DTYPE_COUNT ? rows[type].size : 0;
}

/* Tables, because the reference asks for every element. */
static const long double highest[DTYPE_COUNT] = {
    [DTYPE_FLOAT] = FLT_MAX,
    [DTYPE_DOUBLE] = DBL_MAX,
    [DTYPE_FLOAT16] = 65504,
    [DTYPE_BFLOAT16] = 0x1.fep127L,
    [DTYPE_BOOL] = 1,
    [DTYPE_UINT8] = UINT8_MAX,
    [DTYPE_INT8] = INT8_MAX,
    [DTYPE_UINT16] = UINT16_MAX,
    [DTYPE_INT16] = INT16_MAX,
    [DTYPE_UINT32] = UINT32_MAX,
    [DTYPE_INT32] = INT32_MAX,
    [DTYPE_UINT64] = (long double)UINT64_MAX,
    [DTYPE_INT64] = (long double)INT64_MAX,
    [DTYPE_FLOAT8E4M3FN] = 448,
    [DTYPE_FLOAT8E4M3FNUZ] = 240,
    [DTYPE_FLOAT8E5M2] = 57344,
    [DTYPE_FLOAT8E5M2FNUZ] = 57344,
    [DTYPE_FLOAT4E2M1] = 6,
    [DTYPE_FLOAT8E8M0] = 0x1p127L,
    [DTYPE_UINT4] = 15,
    [DTYPE_INT4] = 7,
    [DTYPE_UINT2] = 3,
    [DTYPE_INT2] = 1,
};

static const struct dtype_precision precisions[DTYPE_COUNT] = {
    [DTYPE_FLOAT] = {0x1p-24, FLT_MIN, 0x1p-149},    [DTYPE_DOUBLE] = {0x1p-53, DBL_MIN, 0x1p-1074},
    [DTYPE_FLOAT16] = {0x1p-11, 0x1p-14, 0x1p-24},   [DTYPE_BFLOAT16] = {0x1p-8, 0x1p-126, 0x1p-133},
    [DTYPE_FLOAT8E4M3FN] = {0x1p-4, 0x1p-6, 0x1p-9}, [DTYPE_FLOAT8E4M3FNUZ] = {0x1p-4, 0x1p-7, 0x1p-10},
    [DTYPE_FLOAT8E5M2] = {0x1p-3, 0x1p-14, 0x1p-16}, [DTYPE_FLOAT8E5M2FNUZ] = {0x1p-3, 0x1p-15, 0x1p-17},
    [DTYPE_FLOAT4E2M1] = {0x1p-2, 1, 0.5},           [DTYPE_FLOAT8E8M0] = {0x1p-1, 0x1p-127, 0x1p-127},
};

long double dtype_highest(enum dtype type)
{
    return (unsigned)type < DTYPE_COUNT ? highest[type] : 0;
}

long double dtype_lowest(enum dtype type)
{
    if (type == DTYPE_FLOAT8E8M0)
        return 0x1p-127L; /* it has no sign and no zero */
    if (dtype_is_float(type))
        return -dtype_highest(type);
    return dtype_is_signed(type) ? -dtype_highest(type) - 1 : 0;
}

struct dtype_precision dtype_precision(enum dtype type)
{
    return precisions[(unsigned)type < DTYPE_COUNT ? type : DTYPE_NONE];
}

/*
 * A 16-bit float with `mantissa` stored bits and the given exponent bias, from any real number. The value is
 * scaled so that the last kept bit is a unit, rounded there to even by rintl, and packed; carries run into
 * the exponent by themselves.
 */
static uint16_t pack16(long double value, int mantissa, int bias)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)((2 * bias + 1) << mantissa);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
    long double magnitude = fabsl(value);
    if (isinf(value))
        return sign | infinity;
    if (magnitude == 0)
        return sign;
    int exponent = ilogbl(magnitude);
    if (exponent > bias)
        return sign | infinity;
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    long double units = rintl(ldexpl(magnitude, mantissa - exponent));
    uint32_t bits = (uint32_t)units; /* with the leading bit of a normal number */
    uint32_t packed = bits + ((uint32_t)(exponent + bias - 1) << mantissa);
    return sign | (packed >= infinity ? infinity : (uint16_t)packed);
}

uint16_t float16_from(long double value)
{
    return pack16(value, 10, 15);
}

uint16_t bfloat16_from(long double value)
{
    return pack16(value, 7, 127);
}

float float16_to(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int mantissa = bits & 1023;
    float magnitude;
    if (exponent == 31)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexpf((float)mantissa, -24);
    else
        magnitude = ldexpf((float)(mantissa + 1024), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

float bfloat16_to(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define LOAD(ctype)                                                              \
    do {                                                                         \
        ctype item_;                                                             \
        memcpy(&item_, (const char *)data + index * sizeof item_, sizeof item_); \
        return (long double)item_;                                               \
    } while (0)

long double dtype_load(enum dtype type, const void *data, size_t index)
{
    uint16_t half;
    switch (type) {
    case DTYPE_FLOAT:
        LOAD(float);
    case DTYPE_DOUBLE:
        LOAD(double);
    case DTYPE_UINT8:
    case DTYPE_BOOL:
        LOAD(uint8_t);
    case DTYPE_INT8:
        LOAD(int8_t);
    case DTYPE_UINT16:
        LOAD(uint16_t);
    case DTYPE_INT16:
        LOAD(int16_t);
    case DTYPE_UINT32:
        LOAD(uint32_t);
    case DTYPE_INT32:
        LOAD(int32_t);
    case DTYPE_UINT64:
        LOAD(uint64_t);
    case DTYPE_INT64:
        LOAD(int64_t);
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
        memcpy(&half, (const char *)data + index * 2, 2);
        return type == DTYPE_FLOAT16 ? float16_to(half) : bfloat16_to(half);
    default:
        return dtype_is_narrow(type) ? narrow_decode(type, ((const uint8_t *)data)[index]) : 0;
    }
}

#define STORE(ctype, value)                                                \
    do {                                                                   \
        ctype item_ = (ctype)(value);                                      \
        memcpy((char *)data + index * sizeof item_, &item_, sizeof item_); \
        return;                                                            \
    } while (0)

/* Truncates towards zero and saturates, so that the C conversion that follows is defined. */
static long double into_range(enum dtype type, long double value)
{
    if (isnan(value))
        return 0;
    long double low = dtype_lowest(type), high = dtype_highest(type);
    return value < low ? low : value > high ? high : truncl(value);
}

/* Overflows to infinity explicitly: C leaves the conversion of finite values out of range undefined. */
static float to_float(long double value)
{
    if (fabsl(value) >= 0x1.ffffffp127L && !isnan(value))
        return signbit(value) ? -INFINITY : INFINITY;
    return (float)value;
}

static double to_double(long double value)
{
    if (fabsl(value) >= 0x1.fffffffffffff8p1023L && !isnan(value))
        return signbit(value) ? -(double)INFINITY : (double)INFINITY;
    return (double)value;
}

void dtype_store(enum dtype type, void *data, size_t index, long double value)
{
    if (dtype_is_integer(type))
        value = into_range(type, value);
    switch (type) {
    case DTYPE_FLOAT:
        STORE(float, to_float(value));
    case DTYPE_DOUBLE:
        STORE(double, to_double(value));
    case DTYPE_BOOL:
        STORE(uint8_t, value != 0);
    case DTYPE_UINT8:
        STORE(uint8_t, value);
    case DTYPE_INT8:
        STORE(int8_t, value);
    case DTYPE_UINT16:
        STORE(uint16_t, value);
    case DTYPE_INT16:
        STORE(int16_t, value);
    case DTYPE_UINT32:
        STORE(uint32_t, value);
    case DTYPE_INT32:
        STORE(int32_t, value);
    case DTYPE_UINT64:
        STORE(uint64_t, value);
    case DTYPE_INT64:
        STORE(int64_t, value);
    case DTYPE_FLOAT16:
        STORE(uint16_t, float16_from(value));
    case DTYPE_BFLOAT16:
        STORE(uint16_t, bfloat16_from(value));
    case DTYPE_UINT4:
    case DTYPE_UINT2:
        STORE(uint8_t, value);
    case DTYPE_INT4:
    case DTYPE_INT2:
        STORE(int8_t, value);
    case DTYPE_FLOAT8E8M0:
        STORE(uint8_t, narrow_encode_power(value, NARROW_NEAREST, true));
    default:
        if (dtype_is_narrow(type))
            /* An infinity stays one, or becomes NaN: only numbers saturate. */
            STORE(uint8_t, narrow_encode(type, value, !isinf(value)));
    }
}

long double dtype_round(enum dtype type, long double value)
{
    unsigned char element[16] = {0};
    if (type == DTYPE_FLOAT)
        return to_float(value);
    if (type == DTYPE_DOUBLE)
        return to_double(value);
    dtype_store(type, element, 0, value);
    return dtype_load(type, element, 0);
}
