#include "base/base64.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct str *out, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        uint32_t group =
            (uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (n > 2 ? bytes[i + 2] : 0);
        char four[4];
        for (size_t k = 0; k < 4; k++)
            four[k] = k <= n ? digits[group >> (18 - 6 * k) & 63] : '=';
        str_append(out, four, 4);
    }
}

uint8_t *base64_read(const char *text, size_t *size)
{
    size_t length = strlen(text), padding = 0, made = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    if (length % 4)
        return NULL;
    uint8_t *bytes = memory_zeroed(length / 4 * 3 + 1, 1);
    uint32_t group = 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = i < length - padding && text[i] ? strchr(digits, text[i]) : digits;
        if (!digit) {
            free(bytes);
            return NULL;
        }
        group = group << 6 | (uint32_t)(digit - digits);
        if (i % 4 == 3)
            for (int k = 2; k >= 0; k--)
                bytes[made++] = (uint8_t)(group >> (8 * k));
    }
    *size = made - padding;
    bytes[*size] = 0;
    return bytes;
}
