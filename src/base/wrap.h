/*
 * Text for a terminal. Long lines are broken between words, because a terminal breaks them anywhere and loses
 * their indentation; nothing is left out, as an engine's message often has its reason at the end. Files and
 * pipes get the lines as they are, so that programs can read them.
 */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include "base/str.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The columns of the terminal behind the descriptor; 0 when it is no terminal. */
size_t terminal_width(int descriptor);

/*
 * Appends the text with lines of at most `width` columns; 0, or too few columns to be of use, leaves it as it
 * is. What is left of a line is indented like its beginning or, in a line of a table, whose columns stand two
 * spaces apart, under its last column. A word that is longer than a line stays whole, so that it can be
 * copied. Escape sequences for colours take no columns.
 */
void wrap_text(struct str *out, const char *text, size_t width);

/* Writes the text to stdout or stderr, wrapped where that is a terminal. False when writing fails. */
bool wrap_print(FILE *stream, const char *text);

/*
 * Copies as much of the text as fits into `size` bytes. Of a longer one the middle is left out, as engines
 * begin with where and end with why.
 */
void text_fit(char *to, size_t size, const char *text);

#ifdef __cplusplus
}
#endif
#endif
