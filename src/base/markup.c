#include "base/markup.h"

#include "base/clean.h"

#include <ctype.h>
#include <string.h>

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

/* A link is what stands in brackets before a parenthesis or another bracket; anything else in brackets is a
 * shape. HTML begins with a letter, a slash, an exclamation or a question mark. */
static bool marks_up(const char *line, const char *at)
{
    bool link = (*at == '(' || *at == '[') && at > line && at[-1] == ']';
    bool html = *at == '<' && (isalpha((unsigned char)at[1]) || (at[1] && strchr("/!?", at[1])));
    return link || html;
}

void markdown_text(struct str *out, const char *text)
{
    struct str line;
    str_init(&line);
    clean_line(&line, text);
    bool loose = has_loose_ticks(line.data);
    for (const char *at = line.data; *at; at++) {
        if (marks_up(line.data, at) || (loose && *at == '`'))
            str_add(out, "\\");
        str_append(out, at, 1);
    }
    str_release(&line);
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
    const char *gap = ticks > 1 ? " " : ""; /* which does not belong to the code */
    add_ticks(out, ticks);
    str_printf(out, "%s%s%s", gap, line.data, gap);
    add_ticks(out, ticks);
    str_release(&line);
}

void markdown_block(struct str *out, const char *text)
{
    size_t ticks = longest_run(text) + 1;
    ticks = ticks < 3 ? 3 : ticks;
    add_ticks(out, ticks);
    str_add(out, "\n");
    clean_add(out, text);
    if (out->data[out->length - 1] != '\n')
        str_add(out, "\n");
    add_ticks(out, ticks);
    str_add(out, "\n\n");
}
