#include "report/page.h"

void page_add_data(struct str *out, const char *json)
{
    for (const char *c = json; *c; c++)
        if (*c == '<')
            str_add(out, "\\u003c");
        else
            str_append(out, c, 1);
}
