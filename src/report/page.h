/* What the HTML pages share. A page holds its data, style and script itself and loads no other file. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/str.h"

/*
 * Appends JSON so that it can stand inside a script element: each '<', which JSON has only inside strings, is
 * escaped, because "</script>" would end the data.
 */
void page_add_data(struct str *out, const char *json);

/* Appends a page with the JSON in place of its mark, @DATA@. */
void page_fill(struct str *out, const char *page, const char *json);

/* A row of a list of facts (dl). Both texts are escaped. */
void page_add_fact(struct str *out, const char *word, const char *text);

/* The style of the pages about campaigns, live and in files. */
const char *page_style(void);

#endif
