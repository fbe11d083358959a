#include "base/packed.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { BITS = 5, MORE = 1 << BITS };

void packed_add(struct str *out, uint64_t number)
{
    do {
        unsigned low = (unsigned)(number & (MORE - 1));
        number >>= BITS;
        str_append(out, &digits[low | (number ? MORE : 0)], 1);
    } while (number);
}

bool packed_take(const char **text, uint64_t most, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64 + BITS; shift += BITS) {
        const char *digit = **text ? strchr(digits, **text) : NULL;
        if (!digit)
            return false;
        uint64_t value = (uint64_t)(digit - digits), low = value & (MORE - 1);
        if (shift >= 64 || (low << shift) >> shift != low)
            return false;
        *number |= low << shift;
        (*text)++;
        if (!(value & MORE))
            return *number <= most;
    }
    return false;
}
