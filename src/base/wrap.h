/*
 * Text for stdout and stderr, which everything that the command line says goes through. It may quote engines,
 * models, files and databases, so characters that hide or move others (base/clean.h) become '?', and of
 * escape sequences only the colours of Assay's own tables are left, and these only on a terminal.
 *
 * On a terminal, long lines are broken between words, because a terminal breaks them anywhere and loses
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
 * Appends the clean text with lines of at most `width` columns; 0 is no terminal, and too few columns to be
 * of use leave the lines as they are. What is left of a line is indented like its beginning or, in a line of
 * a table, whose columns stand two spaces apart, under its last column. A word that is longer than a line
 * stays whole, so that it can be copied. Escape sequences for colours take no columns.
 */
void wrap_text(struct str *out, const char *text, size_t width);

/* Writes the text to stdout or stderr, wrapped where that is a terminal. False when writing fails. */
bool wrap_print(FILE *stream, const char *text);
bool wrap_printf(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with lines as they are: help, tables of their own width, and formats that programs read. */
bool wrap_plain(FILE *stream, const char *text);

/* On a terminal: goes up so many lines, 0 to the top of the screen, and clears what is below. */
void terminal_back(FILE *stream, size_t lines);

/*
 * Copies as much of the text as fits into `size` bytes. Of a longer one the middle is left out, as engines
 * begin with where and end with why.
 */
void text_fit(char *to, size_t size, const char *text);

#ifdef __cplusplus
}
#endif
#endif
