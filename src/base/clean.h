/*
 * Text from engines, models, files and databases, made safe to show. A control character can move a
 * terminal's cursor or hide what stands before it, a bidirectional control makes text read otherwise than it
 * is, and a tag is read by programs and seen by nobody.
 *
 * Where such text goes decides what else must be done about it, and each place has one function:
 *   terminal            wrap_print (base/wrap.h), which all output of the command line goes through
 *   a line of its own   clean_line
 *   HTML, XML           markup_escape (base/markup.h)
 *   Markdown            markdown_text, markdown_cell, markdown_code, markdown_block (base/markup.h)
 *   JSON                the writer in base/json.h
 *   a string of a program   clean_quoted
 *   SQL                 parameters of the statement, never its text
 * tools/check-text finds those who go another way.
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

/* The first character that may not be shown, or is no UTF-8, or is a newline or tab, which no name has; NULL:
 * there is none. */
const char *clean_find_hidden(const char *text);

/* Appends the character at `text`, or `instead` when it may not be shown or is no UTF-8. Returns how many
 * bytes of `text` it had. */
size_t clean_add_character(struct str *out, const char *text, const char *instead);

/* Appends the whole text, with '?' for characters that may not be shown. */
void clean_add(struct str *out, const char *text);

/* The same in one line: newlines and tabs become spaces. */
void clean_line(struct str *out, const char *text);

/* Appends bytes as a string literal, quotes included, which C and Python read alike: what is not shown, and a
 * byte that is no UTF-8, stands there as three octal digits. */
void clean_quoted(struct str *out, const void *data, size_t size);

#ifdef __cplusplus
}
#endif
#endif
