#include "base/wrap.h"

#include "base/arena.h"
#include "base/clean.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_WIDTH = 20, USUAL_WIDTH = 80 };

size_t terminal_width(int descriptor)
{
    struct winsize size;
    if (!isatty(descriptor))
        return 0;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_WIDTH;
}

/* The bytes of the character at `at`, and in *columns how many columns it takes: a code point is one, the
 * sequence that sets a colour none. */
static size_t character(const char *at, size_t *columns)
{
    if (at[0] == '\033' && at[1] == '[') {
        size_t length = 2 + strspn(at + 2, "0123456789;");
        *columns = 0;
        return length + (at[length] == 'm');
    }
    size_t length = 1;
    while (((unsigned char)at[length] & 0xC0) == 0x80)
        length++;
    *columns = 1;
    return length;
}

/* The columns that `length` bytes take. */
static size_t columns_of(const char *text, size_t length)
{
    size_t sum = 0, columns;
    for (size_t i = 0; i < length; sum += columns)
        i += character(text + i, &columns);
    return sum;
}

/* Where the rest of a line is continued: under its last column that begins in the left half, else two spaces
 * behind its beginning. */
static size_t indentation(const char *line, size_t length, size_t width)
{
    size_t start = strspn(line, " "), column = start, found = start + 2;
    for (size_t i = start, columns; i < length && column <= width / 2; column += columns) {
        if (line[i] != ' ' && i >= start + 2 && line[i - 1] == ' ' && line[i - 2] == ' ')
            found = column;
        i += character(line + i, &columns);
    }
    return found < width / 2 ? found : start < width / 2 ? start : 0;
}

/* The length of the first part of the line: up to the last space before the width, or one long word. */
static size_t first_part(const char *line, size_t length, size_t width)
{
    size_t part = 0, column = 0, columns, lead = strspn(line, " ");
    for (size_t i = 0; i < length; column += columns) {
        if (i > lead && line[i] == ' ' && (column <= width || !part))
            part = i;
        if (column >= width && part)
            break;
        i += character(line + i, &columns);
    }
    while (part > lead && line[part - 1] == ' ')
        part--;
    return part ? part : length;
}

static void wrap_line(struct str *out, const char *line, size_t length, size_t width)
{
    size_t indent = indentation(line, length, width);
    for (size_t room = width; length; room = width - indent) {
        size_t part = columns_of(line, length) <= room ? length : first_part(line, length, room);
        str_append(out, line, part);
        line += part;
        length -= part;
        size_t gap = strspn(line, " ");
        gap = gap < length ? gap : length;
        line += gap;
        length -= gap;
        if (length)
            str_printf(out, "\n%*s", (int)indent, "");
    }
}

/* The length of the sequence when it is one that style_print writes, else 0. */
static size_t own_colour(const char *at)
{
    static const char *const own[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_starts(at, own[i]))
            return strlen(own[i]);
    return 0;
}

static void add_clean(struct str *out, const char *text, bool colours)
{
    while (*text) {
        size_t colour = colours ? own_colour(text) : 0;
        str_append(out, text, colour);
        text += colour ? colour : clean_add_character(out, text, "?");
    }
}

static void wrap_lines(struct str *out, const char *text, size_t width)
{
    if (width < LEAST_WIDTH) {
        str_add(out, text);
        return;
    }
    while (*text) {
        size_t length = strcspn(text, "\n");
        wrap_line(out, text, length, width);
        text += length;
        if (*text) {
            str_add(out, "\n");
            text++;
        }
    }
}

void wrap_text(struct str *out, const char *text, size_t width)
{
    struct str clean;
    str_init(&clean);
    add_clean(&clean, text, width > 0);
    wrap_lines(out, clean.data, width);
    str_release(&clean);
}

static bool put(FILE *stream, const struct str *text)
{
    return fwrite(text->data, 1, text->length, stream) == text->length && !fflush(stream);
}

bool wrap_print(FILE *stream, const char *text)
{
    struct str wrapped;
    str_init(&wrapped);
    wrap_text(&wrapped, text, terminal_width(fileno(stream)));
    bool written = put(stream, &wrapped);
    str_release(&wrapped);
    return written;
}

bool wrap_plain(FILE *stream, const char *text)
{
    struct str clean;
    str_init(&clean);
    add_clean(&clean, text, isatty(fileno(stream)));
    bool written = put(stream, &clean);
    str_release(&clean);
    return written;
}

bool wrap_printf(FILE *stream, const char *format, ...)
{
    struct arena arena;
    va_list args;
    arena_init(&arena);
    va_start(args, format);
    bool written = wrap_print(stream, arena_vprintf(&arena, format, args));
    va_end(args);
    arena_release(&arena);
    return written;
}

void terminal_back(FILE *stream, size_t lines)
{
    if (!isatty(fileno(stream)))
        return;
    if (lines)
        fprintf(stream, "\033[%zuA\033[J", lines);
    else
        fputs("\033[H\033[J", stream);
}

void text_fit(char *to, size_t size, const char *text)
{
    static const char gap[] = " ... ";
    size_t length = strlen(text);
    if (length < size) {
        memcpy(to, text, length + 1);
        return;
    }
    size_t keep = size > sizeof gap ? (size - sizeof gap) / 2 : 0, end = length - keep;
    while (end < length && ((unsigned char)text[end] & 0xC0) == 0x80)
        end++;
    while (keep && ((unsigned char)text[keep] & 0xC0) == 0x80)
        keep--;
    snprintf(to, size, "%.*s%s%s", (int)keep, text, gap, text + end);
}
