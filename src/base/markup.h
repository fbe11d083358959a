/*
 * Text from outside (base/clean.h) in HTML, XML and Markdown: it is shown, and never marks up anything.
 */
#ifndef BASE_MARKUP_H
#define BASE_MARKUP_H

#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends text escaped for the content of HTML and XML, and for their attributes, which stand in double
 * quotes. */
void markup_escape(struct str *out, const char *text);

/* Appends text as a part of a line of prose: no HTML, link, image or emphasis comes of it, no heading or list
 * at the start of a line, nor code beyond it. Single backticks in pairs make code. */
void markdown_text(struct str *out, const char *text);

/* Appends text as a part of a table's cell, where nothing is code. */
void markdown_cell(struct str *out, const char *text);

/* Appends text as code within a line. */
void markdown_code(struct str *out, const char *text);

/* Appends lines as a block of code, and an empty line. The language, which may be "", is not escaped. */
void markdown_block(struct str *out, const char *language, const char *text);

#ifdef __cplusplus
}
#endif
#endif
