#include "base/glob.h"

#include <string.h>

/* Bytes of the set that begins at a [ with the ] that closes it; 0: it is not closed, and no set. */
static size_t set_size(const char *pattern, size_t length)
{
    size_t first = length > 1 && pattern[1] == '!' ? 2 : 1;
    length = length < GLOB_SET ? length : GLOB_SET;
    const char *end = length > first + 1 ? memchr(pattern + first + 1, ']', length - first - 1) : NULL;
    return end ? (size_t)(end - pattern) + 1 : 0;
}

/* set: "[a-z]" or "[!a-z]", which has a byte at least. */
static bool set_has(const char *set, size_t size, unsigned char byte)
{
    bool negated = set[1] == '!', found = false;
    for (size_t i = negated ? 2 : 1; i < size - 1; i++) {
        unsigned char low = (unsigned char)set[i], high = low;
        if (set[i + 1] == '-' && i + 2 < size - 1) {
            high = (unsigned char)set[i + 2];
            i += 2;
        }
        found |= low <= byte && byte <= high;
    }
    return found != negated;
}

/* How many bytes of the pattern, which is not at a star, stand for this byte; 0: they do not. */
static size_t fits_byte(const char *pattern, size_t length, char byte)
{
    size_t set = *pattern == '[' ? set_size(pattern, length) : 0;
    if (set)
        return set_has(pattern, set, (unsigned char)byte) ? set : 0;
    return *pattern == '?' || *pattern == byte ? 1 : 0;
}

bool glob_fits(const char *pattern, size_t length, const char *text)
{
    const char *end = pattern + length, *star = NULL, *resume = NULL;
    while (*text) {
        size_t taken =
            pattern < end && *pattern != '*' ? fits_byte(pattern, (size_t)(end - pattern), *text) : 0;
        if (taken) {
            pattern += taken;
            text++;
        } else if (pattern < end && *pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (star) {
            /* Only the last star is tried again: what an earlier one took, this one can take. */
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}
