#include "tensor/narrow.h"

#include <math.h>
#include <string.h>

/*
 * A float of sign, exponent and mantissa. Without the sign, the codes of finite numbers ascend from 0 to
 * `highest`; what is behind is `infinity` (0: there is none) or NaN. `nan` is the one that is written (0:
 * there is none). Types with a single zero have NaN in the place of -0.
 */
struct format {
    int bits, mantissa, bias;
    uint8_t highest, infinity, nan;
    bool single_zero;
};

static const struct format formats[DTYPE_COUNT] = {
    [DTYPE_FLOAT8E4M3FN] = {8, 3, 7, 0x7e, 0, 0x7f, false},
    [DTYPE_FLOAT8E4M3FNUZ] = {8, 3, 8, 0x7f, 0, 0x80, true},
    [DTYPE_FLOAT8E5M2] = {8, 2, 15, 0x7b, 0x7c, 0x7e, false},
    [DTYPE_FLOAT8E5M2FNUZ] = {8, 2, 16, 0x7f, 0, 0x80, true},
    [DTYPE_FLOAT4E2M1] = {4, 1, 1, 0x7, 0, 0, false},
};

/* float8e8m0: the exponent alone. */
enum { POWER_BIAS = 127, POWER_HIGHEST = 254, POWER_NAN = 255 };

static long double decode_float(const struct format *f, unsigned code)
{
    unsigned sign = 1U << (f->bits - 1), magnitude = code & (sign - 1);
    if ((f->single_zero && (code & (2 * sign - 1)) == sign) ||
        (magnitude > f->highest && magnitude != f->infinity))
        return NAN;
    unsigned exponent = magnitude >> f->mantissa, one = 1U << f->mantissa, fraction = magnitude & (one - 1);
    long double value = exponent ? ldexpl(one + fraction, (int)exponent - f->bias - f->mantissa)
                                 : ldexpl(fraction, 1 - f->bias - f->mantissa);
    if (magnitude > f->highest)
        value = INFINITY;
    return code & sign ? -value : value;
}

/* The low `bits` of a byte as a number in two's complement. */
static long double decode_signed(unsigned code, int bits)
{
    int half = 1 << (bits - 1), number = (int)code & (2 * half - 1);
    return number < half ? number : number - 2 * half;
}

long double narrow_decode(enum dtype type, uint8_t element)
{
    switch (type) {
    case DTYPE_UINT4:
        return element & 15;
    case DTYPE_UINT2:
        return element & 3;
    case DTYPE_INT4:
        return decode_signed(element, 4);
    case DTYPE_INT2:
        return decode_signed(element, 2);
    case DTYPE_FLOAT8E8M0:
        return element == POWER_NAN ? (long double)NAN : ldexpl(1, element - POWER_BIAS);
    default:
        return formats[type].bits ? decode_float(&formats[type], element) : 0;
    }
}

/* The code of a magnitude as if codes went on behind the highest: the value is scaled so that the last kept
 * bit is a unit and rounded there; carries run into the exponent by themselves. */
static unsigned round_magnitude(const struct format *f, long double magnitude)
{
    if (magnitude == 0)
        return 0;
    int exponent = ilogbl(magnitude);
    if (exponent > f->bias + 1) /* beyond every format's largest number */
        return UINT8_MAX;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    unsigned units = (unsigned)rintl(ldexpl(magnitude, f->mantissa - exponent));
    return units + ((unsigned)(exponent + f->bias - 1) << f->mantissa);
}

uint8_t narrow_encode(enum dtype type, long double value, bool saturate)
{
    const struct format *f = &formats[type];
    uint8_t sign = (uint8_t)(signbit(value) ? 1U << (f->bits - 1) : 0);
    if (isnan(value))
        return f->single_zero ? f->nan : f->nan ? sign | f->nan : f->highest;
    unsigned code = isinf(value) ? UINT8_MAX : round_magnitude(f, fabsl(value));
    if (code <= f->highest)
        return code == 0 && f->single_zero ? 0 : (uint8_t)(sign | code);
    if (saturate || !f->nan)
        return sign | f->highest;
    return f->infinity ? sign | f->infinity : f->single_zero ? f->nan : sign | f->nan;
}

uint8_t narrow_encode_power(long double value, enum narrow_rounding rounding, bool saturate)
{
    long double magnitude = fabsl(value);
    if (isnan(value))
        return POWER_NAN;
    if (magnitude < ldexpl(1, -POWER_BIAS))
        return saturate ? 0 : POWER_NAN;
    if (magnitude > ldexpl(1, POWER_HIGHEST - POWER_BIAS))
        return saturate ? POWER_HIGHEST : POWER_NAN;
    int exponent = ilogbl(magnitude);
    long double fraction = ldexpl(magnitude, -exponent); /* in [1, 2) */
    bool up = rounding == NARROW_UP ? fraction > 1 : rounding == NARROW_NEAREST && fraction >= 1.5L;
    return (uint8_t)(exponent + POWER_BIAS + up);
}

int narrow_bits(enum dtype type)
{
    if (!dtype_in(type, DTYPES_NARROW))
        return 0;
    return !narrow_is_packed(type) ? 8 : type == DTYPE_UINT2 || type == DTYPE_INT2 ? 2 : 4;
}

size_t narrow_packed_size(enum dtype type, size_t count)
{
    size_t each = narrow_is_packed(type) ? 8U / (unsigned)narrow_bits(type) : 1;
    return each > 1 ? count / each + (count % each != 0) : count * dtype_size(type);
}

void narrow_pack(enum dtype type, const void *elements, size_t count, void *packed)
{
    unsigned bits = (unsigned)narrow_bits(type), each = 8 / bits, mask = (1U << bits) - 1;
    const uint8_t *from = elements;
    uint8_t *to = packed;
    if (count)
        memset(to, 0, narrow_packed_size(type, count));
    for (size_t i = 0; i < count; i++)
        to[i / each] |= (uint8_t)((from[i] & mask) << (i % each * bits));
}

void narrow_unpack(enum dtype type, const void *packed, size_t count, void *elements)
{
    unsigned bits = (unsigned)narrow_bits(type), each = 8 / bits, mask = (1U << bits) - 1;
    bool is_signed = type == DTYPE_INT4 || type == DTYPE_INT2;
    const uint8_t *from = packed;
    uint8_t *to = elements;
    for (size_t i = 0; i < count; i++) {
        unsigned code = (unsigned)from[i / each] >> (i % each * bits) & mask;
        to[i] = is_signed ? (uint8_t)(int8_t)decode_signed(code, (int)bits) : (uint8_t)code;
    }
}
