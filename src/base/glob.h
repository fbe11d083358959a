/*
 * Patterns for names: * stands for any bytes, ? for any one, [a-z] and [!a-z] for one of a set. A [ that is
 * not closed within GLOB_SET bytes stands for itself, and so does everything else.
 *
 * Patterns come from files and databases of others, so the time is at most the product of the two lengths,
 * whatever the pattern: fnmatch of the C library takes time that grows with the power of the stars.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GLOB_SET = 64 };

/* Whether the pattern fits the whole text. The pattern need not end with a NUL. */
bool glob_fits(const char *pattern, size_t length, const char *text);

#ifdef __cplusplus
}
#endif
#endif
