#include "report/standing.h"

#include "report/text_table.h"

const char standing_mistake_head[] = "Expectation refuted";

static void line(const char *head, const char *reason, size_t count, struct str *out, bool colour)
{
    if (!count)
        return;
    style_print(out, colour, STYLE_BAD, "%s", head);
    str_add(out, ": ");
    text_print(out, reason, 0);
    if (count > 1)
        str_printf(out, " (and %zu more such)", count - 1);
    str_add(out, "\n");
}

void standing_print(const struct standing *standing, struct str *out, bool colour)
{
    line("Not everything was judged", standing->reason, standing->troubles, out, colour);
    line(standing_mistake_head, standing->mistake, standing->mistakes, out, colour);
    if (standing->troubles || standing->mistakes)
        str_add(out, "\n");
}

void standing_json(const struct standing *standing, struct json *json)
{
    json_bool(json, "complete", !standing->troubles);
    json_string(json, "why_incomplete", standing->troubles ? standing->reason : NULL);
    json_string(json, "mistake", standing->mistakes ? standing->mistake : NULL);
}
