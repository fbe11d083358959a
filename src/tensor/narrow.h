/*
 * The narrow element types: floats of 8 and 4 bits, integers of 4 and 2 bits. Operators move and convert
 * them, none but the quantizing ones computes with them.
 *
 * In memory, in the protocol and in all other code an element has a byte of its own: an integer is the number
 * itself (as int8 or uint8), a float is its bits. Readers look only at the low bits that the type has. Two or
 * four elements share a byte, the first one in the lowest bits, only in ONNX files and in the memory of
 * engines; narrow_pack and narrow_unpack stand at these borders.
 */
#ifndef TENSOR_NARROW_H
#define TENSOR_NARROW_H

#include "tensor/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How float8e8m0, which holds powers of two only, is rounded to: away from 0, towards 0, or to the nearest
 * with ties away from 0. */
enum narrow_rounding { NARROW_UP, NARROW_DOWN, NARROW_NEAREST };

/* The number of an element, NaN and infinities included. */
long double narrow_decode(enum dtype type, uint8_t element);

/*
 * The float8 or float4 element of a number, rounded to nearest, ties to even. What is then beyond the largest
 * number becomes that number when `saturate`; otherwise an infinity where the type has one, and else NaN.
 * float4e2m1 always saturates and has no NaN: 6 takes its place. Not for float8e8m0.
 */
uint8_t narrow_encode(enum dtype type, long double value, bool saturate);

/* The float8e8m0 element of a number; its sign is not looked at. What is out of range, 0 too, becomes the
 * nearest end of the range when `saturate`, else NaN. */
uint8_t narrow_encode_power(long double value, enum narrow_rounding rounding, bool saturate);

/* Bits of an element in an ONNX file; 8, 4 or 2 for narrow types, 0 for others. */
int narrow_bits(enum dtype type);

/* Whether elements share bytes in ONNX files. */
static inline bool narrow_is_packed(enum dtype type)
{
    return dtype_in(type, DTYPES_PACKED);
}

/* Bytes of `count` elements in an ONNX file, for any type but strings. */
size_t narrow_packed_size(enum dtype type, size_t count);

/* From a byte each to narrow_packed_size bytes, and back. The bits behind the last element are 0. */
void narrow_pack(enum dtype type, const void *elements, size_t count, void *packed);
void narrow_unpack(enum dtype type, const void *packed, size_t count, void *elements);

#ifdef __cplusplus
}
#endif
#endif
