#include "report/standing.h"

#include "report/text_table.h"

void standing_print(const struct standing *standing, struct str *out, bool colour)
{
    if (!standing->troubles)
        return;
    style_print(out, colour, STYLE_BAD, "Not everything was judged");
    str_add(out, ": ");
    text_print(out, standing->reason, 0);
    if (standing->troubles > 1)
        str_printf(out, " (and %zu more such)", standing->troubles - 1);
    str_add(out, "\n\n");
}

void standing_json(const struct standing *standing, struct json *json)
{
    json_bool(json, "complete", !standing->troubles);
    json_string(json, "why_incomplete", standing->troubles ? standing->reason : NULL);
}
