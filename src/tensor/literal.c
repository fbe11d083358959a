#include "tensor/literal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Writes a finite number with a point or an exponent. As an integer literal, -0 would lose its sign. */
static void add_float(struct str *out, enum dtype type, long double value)
{
    char text[60];
    snprintf(text, sizeof text, type == DTYPE_DOUBLE ? "%.17Lg" : "%.9Lg", value);
    str_printf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void tensor_literal(struct str *out, const struct tensor *tensor, size_t i)
{
    long double value = tensor_get(tensor, i);
    if (tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16) {
        uint16_t bits;
        memcpy(&bits, (const char *)tensor->data + 2 * i, sizeof bits);
        str_printf(out, "0x%04x", bits);
    } else if (dtype_in(tensor->type, DTYPES_NARROW_FLOAT)) {
        str_printf(out, "0x%02x", ((const uint8_t *)tensor->data)[i]);
    } else if (isnan(value)) {
        str_add(out, "NAN");
    } else if (isinf(value)) {
        str_add(out, value > 0 ? "INFINITY" : "-INFINITY");
    } else if (dtype_is_float(tensor->type)) {
        add_float(out, tensor->type, value);
    } else if (tensor->type == DTYPE_INT64 && value == (long double)INT64_MIN) {
        str_add(out, "INT64_MIN");
    } else {
        str_printf(out, "%.0Lf%s", value, tensor->type == DTYPE_UINT64 ? "u" : "");
    }
}

void tensor_python_list(struct str *out, const struct tensor *tensor, size_t from, size_t to)
{
    str_add(out, "[");
    for (size_t i = from; i < to; i++) {
        long double value = tensor_get(tensor, i);
        str_add(out, i > from ? ", " : "");
        if (isnan(value))
            str_add(out, "nan");
        else if (isinf(value))
            str_add(out, value > 0 ? "inf" : "-inf");
        else if (dtype_is_float(tensor->type))
            add_float(out, tensor->type, value);
        else
            str_printf(out, "%.0Lf", value);
    }
    str_add(out, "]");
}
