#include "generate/sweep_values.h"

#include "base/hash.h"
#include "tensor/narrow.h"

#include <string.h>

/* The parts of a float type of 16 bits or more. */
struct float_parts {
    int exponent, mantissa; /* bits */
};

static struct float_parts parts_of(enum dtype type)
{
    switch (type) {
    case DTYPE_FLOAT16:
        return (struct float_parts){5, 10};
    case DTYPE_BFLOAT16:
        return (struct float_parts){8, 7};
    case DTYPE_FLOAT:
        return (struct float_parts){8, 23};
    case DTYPE_DOUBLE:
        return (struct float_parts){11, 52};
    default:
        return (struct float_parts){0, 0};
    }
}

static int bits_of(enum dtype type)
{
    if (type == DTYPE_BOOL)
        return 1;
    if (dtype_in(type, DTYPES_INT2))
        return 2;
    return dtype_in(type, DTYPES_PACKED) ? 4 : 8 * (int)dtype_size(type);
}

size_t sweep_patterns(enum dtype type)
{
    int bits = bits_of(type);
    return bits <= 16 ? (size_t)1 << bits : 0;
}

size_t sweep_count(enum dtype type)
{
    enum { LEAST = 64 };
    size_t patterns = sweep_patterns(type);
    if (!patterns)
        return SWEEP_VALUES;
    return patterns < LEAST ? LEAST : patterns;
}

/* A pattern of the type's own width. */
static void set_pattern(struct tensor *tensor, size_t index, uint64_t pattern)
{
    uint8_t *at = (uint8_t *)tensor->data + index * dtype_size(tensor->type);
    size_t patterns = sweep_patterns(tensor->type);
    if (patterns)
        pattern %= patterns;
    if (dtype_in(tensor->type, DTYPES_PACKED)) {
        uint8_t packed[1] = {(uint8_t)pattern};
        narrow_unpack(tensor->type, packed, 1, at);
    } else if (dtype_size(tensor->type) == 1) {
        *at = (uint8_t)pattern;
    } else if (dtype_size(tensor->type) == 2) {
        memcpy(at, &(uint16_t){(uint16_t)pattern}, 2);
    } else if (dtype_size(tensor->type) == 4) {
        memcpy(at, &(uint32_t){(uint32_t)pattern}, 4);
    } else {
        memcpy(at, &pattern, 8);
    }
}

static uint64_t pattern_of(struct float_parts parts, uint64_t sign, uint64_t exponent, uint64_t mantissa)
{
    uint64_t mask = ((uint64_t)1 << parts.mantissa) - 1;
    return ((sign << parts.exponent | exponent) << parts.mantissa) | (mantissa & mask);
}

/* 0, the ends, the middle with its neighbours, and then any. */
static uint64_t mantissa_of(struct float_parts parts, uint64_t number, uint64_t random)
{
    const uint64_t half = (uint64_t)1 << (parts.mantissa - 1), all = 2 * half - 1;
    const uint64_t first[] = {0, 1, all, half, all - 1, half - 1, half + 1, 2};
    return number < sizeof first / sizeof *first ? first[number] : random;
}

/* Near powers of two of both signs, and then any, of all sizes. */
static uint64_t wide_integer(uint64_t value, uint64_t random)
{
    enum { NEAR = 32, POWERS = 64, SIGNS = 2 };
    uint64_t near = value % NEAR, power = value / NEAR % POWERS, sign = value / NEAR / POWERS;
    if (sign >= SIGNS)
        return random >> (random & 63);
    uint64_t magnitude = ((uint64_t)1 << power) + near - NEAR / 2;
    return sign ? 0 - magnitude : magnitude;
}

void sweep_set_value(struct tensor *tensor, size_t index, uint64_t value, uint64_t salt)
{
    struct float_parts parts = parts_of(tensor->type);
    uint64_t random = hash_combine(hash_combine(tensor->type, value), salt);
    if (sweep_patterns(tensor->type)) {
        set_pattern(tensor, index, value);
    } else if (parts.mantissa) {
        int samples = 15 - parts.exponent; /* bits that number the mantissas of an exponent */
        uint64_t number = value & (((uint64_t)1 << samples) - 1);
        uint64_t exponent = value >> samples & (((uint64_t)1 << parts.exponent) - 1);
        set_pattern(tensor, index,
                    pattern_of(parts, value >> 15 & 1, exponent, mantissa_of(parts, number, random)));
    } else {
        set_pattern(tensor, index, wide_integer(value, random));
    }
}

/* Half of the samples are at the boundaries of the type and of 1, the others within 2^-8 to 2^8. */
static uint64_t float_sample(struct float_parts parts, uint64_t sample, uint64_t random)
{
    uint64_t last = ((uint64_t)1 << parts.exponent) - 1, one = last / 2;
    const uint64_t exponents[] = {0, 1, one - 1, one, one + 1, one + 3, last - 1, last};
    uint64_t sign = sample & 1, exponent = exponents[sample >> 1 & 7], number = sample >> 4 & 7;
    if (sample >= SWEEP_SAMPLES / 2) {
        exponent = one - 8 + (random >> 56) % 17;
        number = UINT64_MAX;
    }
    return pattern_of(parts, sign, exponent, mantissa_of(parts, number, random));
}

void sweep_set_sample(struct tensor *tensor, size_t index, uint64_t sample, uint64_t salt)
{
    struct float_parts parts = parts_of(tensor->type);
    uint64_t random = hash_combine(hash_combine(tensor->type, sample), salt);
    size_t patterns = sweep_patterns(tensor->type);
    if (patterns && patterns <= SWEEP_SAMPLES)
        set_pattern(tensor, index, sample);
    else
        set_pattern(tensor, index,
                    parts.mantissa ? float_sample(parts, sample, random)
                                   : wide_integer(random % 8192, random));
}
