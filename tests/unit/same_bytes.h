/* Whether two cases have the same model, byte for byte. */
#ifndef UNIT_SAME_BYTES_H
#define UNIT_SAME_BYTES_H

#include "case/test_case.h"

#include <string.h>

static inline bool same_bytes(const struct test_case *a, const struct test_case *b)
{
    const uint8_t *first, *second;
    size_t size, other;
    return !test_case_bytes(a, &first, &size, NULL) && !test_case_bytes(b, &second, &other, NULL) &&
           size == other && memcmp(first, second, size) == 0;
}

#endif
