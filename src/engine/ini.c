#include "engine/ini.h"

#include "base/format.h"
#include "base/str.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 4 << 20 };

/* Cuts white space off both ends, in place. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

static void cut_comment(char *line)
{
    for (char *at = line; *at; at++)
        if (*at == ';' && (at == line || isspace((unsigned char)at[-1]))) {
            *at = '\0';
            return;
        }
}

struct reader {
    ini_visit visit;
    void *context;
    const char *section; /* inside the file's text */
    int line;
};

static int read_section(struct reader *reader, char *line, struct error *err)
{
    size_t length = strlen(line);
    if (line[length - 1] != ']' || length < 3)
        return error_set(err, ERROR_FORMAT, "a section must read [name]");
    line[length - 1] = '\0';
    reader->section = trim(line + 1);
    return reader->visit(reader->context, reader->section, NULL, NULL, reader->line, err);
}

static int read_format(const char *text, struct error *err)
{
    char *end;
    double number = strtod(text, &end);
    return format_check(*end == '\0' ? number : 0, FORMAT_SETTINGS, err);
}

static int read_line(struct reader *reader, char *line, struct error *err)
{
    cut_comment(line);
    line = trim(line);
    if (*line == '\0' || *line == '#')
        return 0;
    if (*line == '[')
        return read_section(reader, line, err);
    char *equals = strchr(line, '=');
    if (!equals)
        return error_set(err, ERROR_FORMAT, "the line is neither [section] nor key = value");
    *equals = '\0';
    if (!reader->section && text_equal(trim(line), "format"))
        return read_format(trim(equals + 1), err);
    if (!reader->section)
        return error_set(err, ERROR_FORMAT, "a key before the first [section]");
    return reader->visit(reader->context, reader->section, trim(line), trim(equals + 1), reader->line, err);
}

static int read_text(struct reader *reader, const char *path, char *text, size_t size, struct error *err)
{
    if (strlen(text) != size)
        return error_set(err, ERROR_FORMAT, "%s: not a text file", path);
    char *line = text;
    for (reader->line = 1; line; reader->line++) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (read_line(reader, line, err))
            return error_prefix(err, "%s:%d", path, reader->line);
        line = next;
    }
    return 0;
}

int ini_read_in(const struct folder *in, const char *name, ini_visit visit, void *context, struct error *err)
{
    struct reader reader = {.visit = visit, .context = context};
    char *text;
    size_t size;
    if (folder_read(in, name, MAX_FILE, &text, &size, err))
        return -1;
    char *path = folder_path(in, name);
    int result = read_text(&reader, path, text, size, err);
    free(path);
    free(text);
    return result;
}

int ini_read(const char *path, ini_visit visit, void *context, struct error *err)
{
    return ini_read_in(USERS_PATH, path, visit, context, err);
}
