#include "base/markup.h"

#include "base/clean.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char replacement[] = "\xEF\xBF\xBD";

void markup_escape(struct str *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '<')
            str_add(out, "&lt;");
        else if (*p == '>')
            str_add(out, "&gt;");
        else if (*p == '&')
            str_add(out, "&amp;");
        else if (*p == '"')
            str_add(out, "&quot;");
        else if (*p == '\n' || *p == '\t')
            str_printf(out, "&#%d;", *p);
        else
            p += clean_add_character(out, p, replacement) - 1;
    }
}

/* Single backticks in pairs are code, which harms nothing; others would make code of what follows. */
static bool has_loose_ticks(const char *line)
{
    size_t count = 0;
    for (const char *at = line; *at; at++)
        count += *at == '`';
    return count % 2 || strstr(line, "``");
}

/* A link is what stands in brackets before a parenthesis, another bracket or, where links are defined, a
 * colon; anything else in brackets is a shape. Some pages make links of bare addresses, too. */
static bool links(const char *line, const char *at)
{
    char before = at > line ? at[-1] : '\0';
    if (*at == '(' || *at == '[' || *at == ':')
        return before == ']';
    if (*at == '/')
        return before == ':' && at[1] == '/';
    if (*at == '.')
        return at - line >= 3 && strncasecmp(at - 3, "www", 3) == 0;
    return *at == ']' && !at[1];
}

/* HTML begins with a letter, a slash, an exclamation or a question mark, and an entity with a letter or #. An
 * underscore within a word emphasises nothing. */
static bool marks_up(const char *line, const char *at)
{
    bool letter = isalpha((unsigned char)at[1]);
    switch (*at) {
    case '\\':
    case '*':
    case '~':
        return true;
    case '_':
        return at == line || !isalnum((unsigned char)at[-1]) || !isalnum((unsigned char)at[1]);
    case '<':
        return letter || (at[1] && strchr("/!?", at[1]));
    case '&':
        return letter || at[1] == '#';
    default:
        return links(line, at);
    }
}

/* What makes a heading, a list, a quotation or a line of its own of text at the start of a line. */
static bool begins_block(const char *line, const char *at)
{
    if (*at == '.' || *at == ')')
        return at > line && line + strspn(line, "0123456789") == at;
    return at == line && *at && strchr("#>-+=|", *at);
}

/* In a cell of a table nothing is code, and no bar ends the cell. */
static void add_inline(struct str *out, const char *text, bool cell)
{
    struct str clean;
    str_init(&clean);
    clean_line(&clean, text);
    bool starts = !out->length || out->data[out->length - 1] == '\n';
    const char *line = clean.data + (starts ? strspn(clean.data, " ") : 0);
    bool loose = cell || has_loose_ticks(line), code = false;
    for (const char *at = line; *at; at++) {
        bool tick = *at == '`';
        code ^= tick && !loose;
        bool escaped = tick ? loose
                            : !code && (marks_up(line, at) || (starts && begins_block(line, at)) ||
                                        (cell && *at == '|'));
        if (escaped)
            str_add(out, "\\");
        str_append(out, at, 1);
    }
    str_release(&clean);
}

void markdown_text(struct str *out, const char *text)
{
    add_inline(out, text, false);
}

void markdown_cell(struct str *out, const char *text)
{
    add_inline(out, text, true);
}

/* The longest run of backticks. */
static size_t longest_run(const char *text)
{
    size_t longest = 0;
    while ((text = strchr(text, '`'))) {
        size_t run = strspn(text, "`");
        longest = run > longest ? run : longest;
        text += run;
    }
    return longest;
}

static void add_ticks(struct str *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_add(out, "`");
}

void markdown_code(struct str *out, const char *text)
{
    struct str line;
    str_init(&line);
    clean_line(&line, text);
    size_t ticks = longest_run(line.data) + 1;
    /* Which does not belong to the code. Without anything between them the ticks would begin code. */
    const char *gap = ticks > 1 || !line.length ? " " : "";
    add_ticks(out, ticks);
    str_printf(out, "%s%s%s", gap, line.data, gap);
    add_ticks(out, ticks);
    str_release(&line);
}

void markdown_block(struct str *out, const char *language, const char *text)
{
    size_t ticks = longest_run(text) + 1;
    ticks = ticks < 3 ? 3 : ticks;
    add_ticks(out, ticks);
    str_printf(out, "%s\n", language);
    clean_add(out, text);
    if (out->data[out->length - 1] != '\n')
        str_add(out, "\n");
    add_ticks(out, ticks);
    str_add(out, "\n\n");
}
