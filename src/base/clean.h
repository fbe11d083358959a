/*
 * Text from engines, models and files, made safe to show. A control character can move a terminal's cursor or
 * hide what stands before it, and a bidirectional control makes text read otherwise than it is.
 */
#ifndef BASE_CLEAN_H
#define BASE_CLEAN_H

#include "base/str.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the character of Unicode may be shown as it is; newline and tab may. */
bool clean_is_shown(uint32_t code);

/* Appends the character at `text`, or `instead` when it may not be shown or is no UTF-8. Returns how many
 * bytes of `text` it had. */
size_t clean_add_character(struct str *out, const char *text, const char *instead);

/* Appends the whole text, with '?' for characters that may not be shown. */
void clean_add(struct str *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif
