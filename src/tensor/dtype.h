/*
 * Element types. Their numbers are those of TensorProto.DataType in ONNX, so no table translates between the
 * two. narrow.h says how the 8-, 4- and 2-bit ones lie in memory.
 */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dtype {
    DTYPE_NONE = 0,
    DTYPE_FLOAT = 1,
    DTYPE_UINT8 = 2,
    DTYPE_INT8 = 3,
    DTYPE_UINT16 = 4,
    DTYPE_INT16 = 5,
    DTYPE_INT32 = 6,
    DTYPE_INT64 = 7,
    DTYPE_STRING = 8,
    DTYPE_BOOL = 9,
    DTYPE_FLOAT16 = 10,
    DTYPE_DOUBLE = 11,
    DTYPE_UINT32 = 12,
    DTYPE_UINT64 = 13,
    DTYPE_COMPLEX64 = 14,
    DTYPE_COMPLEX128 = 15,
    DTYPE_BFLOAT16 = 16,
    DTYPE_FLOAT8E4M3FN = 17,
    DTYPE_FLOAT8E4M3FNUZ = 18,
    DTYPE_FLOAT8E5M2 = 19,
    DTYPE_FLOAT8E5M2FNUZ = 20,
    DTYPE_UINT4 = 21,
    DTYPE_INT4 = 22,
    DTYPE_FLOAT4E2M1 = 23,
    DTYPE_FLOAT8E8M0 = 24,
    DTYPE_UINT2 = 25,
    DTYPE_INT2 = 26,
    DTYPE_COUNT
};

/* A set of element types, bit 1 << type. */
typedef uint32_t dtype_set;
#define DTYPE_BIT(type) ((dtype_set)1 << (type))

enum {
    DTYPES_FLOAT = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 | 1 << DTYPE_BFLOAT16,
    DTYPES_SIGNED = 1 << DTYPE_INT8 | 1 << DTYPE_INT16 | 1 << DTYPE_INT32 | 1 << DTYPE_INT64,
    DTYPES_UNSIGNED = 1 << DTYPE_UINT8 | 1 << DTYPE_UINT16 | 1 << DTYPE_UINT32 | 1 << DTYPE_UINT64,
    DTYPES_INTEGER = DTYPES_SIGNED | DTYPES_UNSIGNED,
    DTYPES_NUMBER = DTYPES_FLOAT | DTYPES_INTEGER,
    /* The narrow types stand apart from those above, which are the ones that operators compute with. */
    DTYPES_FLOAT8 = 1 << DTYPE_FLOAT8E4M3FN | 1 << DTYPE_FLOAT8E4M3FNUZ | 1 << DTYPE_FLOAT8E5M2 |
                    1 << DTYPE_FLOAT8E5M2FNUZ,
    DTYPES_INT4 = 1 << DTYPE_UINT4 | 1 << DTYPE_INT4,
    DTYPES_INT2 = 1 << DTYPE_UINT2 | 1 << DTYPE_INT2,
    DTYPES_NARROW_FLOAT = DTYPES_FLOAT8 | 1 << DTYPE_FLOAT8E8M0 | 1 << DTYPE_FLOAT4E2M1,
    DTYPES_NARROW = DTYPES_NARROW_FLOAT | DTYPES_INT4 | DTYPES_INT2,
    DTYPES_PACKED = DTYPES_INT4 | DTYPES_INT2 | 1 << DTYPE_FLOAT4E2M1,
};

/* Fails with ERROR_FORMAT unless the number is one of the enum, and not DTYPE_NONE. */
int dtype_check(int64_t number, struct error *err);

/* The name as NumPy has it: "float32", "int8", "bfloat16" ...; "none" for DTYPE_NONE. */
const char *dtype_name(enum dtype type);

/* The name as ONNX's text format has it: "float", "double" ...; "undefined" for DTYPE_NONE. */
const char *dtype_onnx_name(enum dtype type);

/* Accepts NumPy's names and ONNX's ("float" and "double" too); DTYPE_NONE when unknown. */
enum dtype dtype_from_name(const char *name);

/* Bytes of one element in memory; 0 for strings, which have no fixed size. */
size_t dtype_size(enum dtype type);

static inline bool dtype_in(enum dtype type, dtype_set set)
{
    return (set >> type & 1) != 0;
}

static inline bool dtype_is_float(enum dtype type)
{
    return dtype_in(type, DTYPES_FLOAT | DTYPES_NARROW_FLOAT);
}

static inline bool dtype_is_narrow(enum dtype type)
{
    return dtype_in(type, DTYPES_NARROW);
}

/* Whether elements are real numbers or bool, which count as 0 and 1: neither complex nor strings. */
static inline bool dtype_is_real(enum dtype type)
{
    return dtype_in(type, DTYPES_NUMBER | DTYPES_NARROW | DTYPE_BIT(DTYPE_BOOL));
}

/* bool is not an integer */
static inline bool dtype_is_integer(enum dtype type)
{
    return dtype_in(type, DTYPES_INTEGER | DTYPES_INT4 | DTYPES_INT2);
}

static inline bool dtype_is_signed(enum dtype type)
{
    dtype_set narrow = (DTYPES_NARROW_FLOAT & ~(1 << DTYPE_FLOAT8E8M0)) | 1 << DTYPE_INT4 | 1 << DTYPE_INT2;
    return dtype_in(type, DTYPES_SIGNED | DTYPES_FLOAT | narrow);
}

/* Least and greatest finite value of a real type (bool: 0 and 1). */
long double dtype_lowest(enum dtype type);
long double dtype_highest(enum dtype type);

/*
 * Rounding of a float type: unit is half an ulp of 1 (2^-24 for float32), tiny the smallest normal number,
 * smallest the smallest subnormal. All 0 for other types.
 */
struct dtype_precision {
    double unit;
    double tiny;
    double smallest;
};
struct dtype_precision dtype_precision(enum dtype type);

/* Conversion of the 16-bit floats. Rounding is to nearest, ties to even, directly from long double, so
 * nothing is rounded twice. */
uint16_t float16_from(long double value);
uint16_t bfloat16_from(long double value);
float float16_to(uint16_t bits);
float bfloat16_to(uint16_t bits);

/* Reads one element as a number. Complex and string elements read as 0. */
long double dtype_load(enum dtype type, const void *data, size_t index);

/*
 * Writes one element. Floats round to nearest even and overflow to infinity, narrow ones to their largest
 * number. Integers truncate towards zero and saturate, NaN becomes 0. Defined for every value; whether the
 * conversion makes sense is for the caller to decide. No effect on complex and string elements.
 */
void dtype_store(enum dtype type, void *data, size_t index, long double value);

/* What dtype_store followed by dtype_load gives. */
long double dtype_round(enum dtype type, long double value);

#ifdef __cplusplus
}
#endif
#endif
