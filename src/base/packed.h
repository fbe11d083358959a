/*
 * Numbers as short text: five bits in each digit of the base64 alphabet, the lowest first, and the sixth bit
 * set on all but the last digit of a number. Nothing stands between numbers.
 */
#ifndef BASE_PACKED_H
#define BASE_PACKED_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

void packed_add(struct str *out, uint64_t number);

/* Takes the next number and goes past it. False when there is none, or it is above `most`. */
bool packed_take(const char **text, uint64_t most, uint64_t *number);

#endif
