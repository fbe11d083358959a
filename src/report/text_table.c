#include "report/text_table.h"

#include "base/clean.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum style verdict_style(enum verdict_kind kind)
{
    static const enum style styles[] = {
        [TONE_WARN] = STYLE_WARN, [TONE_GOOD] = STYLE_GOOD, [TONE_BAD] = STYLE_BAD};
    return styles[verdict_row(kind)->tone];
}

static const char *style_code(enum style style)
{
    switch (style) {
    case STYLE_HEAD:
        return "\033[1m";
    case STYLE_GOOD:
        return "\033[32m";
    case STYLE_BAD:
        return "\033[31m";
    case STYLE_WARN:
        return "\033[33m";
    case STYLE_DIM:
        return "\033[2m";
    case STYLE_PLAIN:
        break;
    }
    return NULL;
}

/* The width in code points: each takes one column of a terminal for all names that occur here. */
static size_t width(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static void spaces(struct str *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_add(out, " ");
}

static void styled(struct str *out, bool colour, enum style style, const char *text)
{
    const char *code = colour && *text ? style_code(style) : NULL;
    if (code)
        str_add(out, code);
    str_add(out, text);
    if (code)
        str_add(out, "\033[0m");
}

void text_print(struct str *out, const char *text, size_t limit)
{
    size_t start = out->length;
    while (*text) {
        if (limit && out->length - start >= limit) {
            str_add(out, "...");
            return;
        }
        if (*text == '\n' || *text == '\t') {
            str_add(out, *text == '\t' ? " " : text[1] ? " / " : "");
            text++;
        } else {
            text += clean_add_character(out, text, "?");
        }
    }
}

void style_print(struct str *out, bool colour, enum style style, const char *format, ...)
{
    struct arena arena;
    arena_init(&arena);
    va_list args;
    va_start(args, format);
    styled(out, colour, style, arena_vprintf(&arena, format, args));
    va_end(args);
    arena_release(&arena);
}

void table_init(struct table *table, const char *align)
{
    *table = (struct table){.columns = strlen(align), .align = align};
    arena_init(&table->arena);
}

void table_release(struct table *table)
{
    arena_release(&table->arena);
    free(table->cells);
}

static void add_text(struct table *table, enum style style, const char *text)
{
    struct str clean;
    str_init(&clean);
    text_print(&clean, text, 0);
    table->cells = memory_grow(table->cells, &table->capacity, table->count + 1, sizeof *table->cells);
    table->cells[table->count++] = (struct table_cell){arena_strdup(&table->arena, clean.data), style};
    str_release(&clean);
}

void table_add(struct table *table, enum style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_text(table, style, arena_vprintf(&table->arena, format, args));
    va_end(args);
}

void table_head(struct table *table, const char *names)
{
    char *rest = arena_strdup(&table->arena, names);
    for (char *name = rest; rest; name = rest) {
        rest = strchr(name, '|');
        if (rest)
            *rest++ = '\0';
        add_text(table, STYLE_HEAD, name);
    }
}

static void print_row(const struct table *table, const struct table_cell *row, const size_t *widths,
                      struct str *out, bool colour)
{
    size_t last = table->columns;
    while (last > 0 && !*row[last - 1].text)
        last--;
    for (size_t column = 0; column < last; column++) {
        size_t pad = widths[column] - width(row[column].text);
        bool right = table->align[column] == 'r';
        if (right)
            spaces(out, pad);
        styled(out, colour, row[column].style, row[column].text);
        if (column + 1 < last)
            spaces(out, (right ? 0 : pad) + 2);
    }
    str_add(out, "\n");
}

void table_print(struct table *table, struct str *out, bool colour, int indent)
{
    while (table->count % table->columns)
        table_add(table, STYLE_PLAIN, "%s", "");
    size_t *widths = arena_array(&table->arena, table->columns, sizeof *widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t w = width(table->cells[i].text);
        if (w > widths[i % table->columns])
            widths[i % table->columns] = w;
    }
    for (size_t i = 0; i < table->count; i += table->columns) {
        spaces(out, (size_t)indent);
        print_row(table, table->cells + i, widths, out, colour);
    }
}
