#include "report/page.h"

#include "base/markup.h"

#include <string.h>

static const char style[] =
#include "report/page.inc"
    ;

const char *page_style(void)
{
    return style;
}

void page_add_data(struct str *out, const char *json)
{
    for (const char *c = json; *c; c++)
        if (*c == '<')
            str_add(out, "\\u003c");
        else
            str_append(out, c, 1);
}

void page_fill(struct str *out, const char *page, const char *json)
{
    static const char mark[] = "@DATA@";
    const char *at = strstr(page, mark);
    str_append(out, page, (size_t)(at - page));
    page_add_data(out, json);
    str_add(out, at + strlen(mark));
}

void page_add_fact(struct str *out, const char *word, const char *text)
{
    str_add(out, "<dt>");
    markup_escape(out, word);
    str_add(out, "</dt><dd>");
    markup_escape(out, text);
    str_add(out, "</dd>\n");
}
