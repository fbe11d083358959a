/*
 * Text for people: aligned tables, and words that are coloured only where colour is wanted.
 *
 * Whatever comes from a file or an engine goes through here on its way to a terminal, so control characters
 * (an engine's error text may hold escape sequences) are shown as '?'.
 */
#ifndef REPORT_TEXT_TABLE_H
#define REPORT_TEXT_TABLE_H

#include "base/arena.h"
#include "base/str.h"
#include "judge/verdict.h"

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_DIM };
enum style verdict_style(enum verdict_kind kind); /* by the verdict's tone */

struct table_cell {
    const char *text;
    enum style style;
};

/* Cells are added row by row: after every `columns` cells a new row begins. */
struct table {
    struct arena arena;
    size_t columns, count, capacity;
    const char *align; /* one letter for each column: l or r */
    struct table_cell *cells;
};

void table_init(struct table *table, const char *align); /* as many columns as letters */
void table_release(struct table *table);
void table_add(struct table *table, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the heading, from names separated by '|'. */
void table_head(struct table *table, const char *names);

/*
 * Appends the table, `indent` spaces from the left, with two spaces between columns and none after the last.
 * A last row with too few cells is completed with empty ones.
 */
void table_print(struct table *table, struct str *out, bool colour, int indent);

/* Appends a styled word or sentence. */
void style_print(struct str *out, bool colour, enum style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends text with control characters as '?', newlines as " / ", tabs as spaces and about `limit` bytes at
 * most (0: no limit). */
void text_print(struct str *out, const char *text, size_t limit);

#endif
