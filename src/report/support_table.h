/*
 * What engines support, as a table that stands in an engine's own documents: Markdown, or CSV for
 * spreadsheets. Versions, counts and recipes are left out, so that the table changes only with what is
 * supported.
 *
 * Markdown: for each engine a line "<!-- assay probe ENGINE -->", the table and "<!-- end of assay probe
 * -->", so that the table is found again in a page.
 */
#ifndef REPORT_SUPPORT_TABLE_H
#define REPORT_SUPPORT_TABLE_H

#include "base/str.h"
#include "probe/probe.h"

/* Both append the results of `count` engines. */
void support_markdown(const struct probe_result *results, size_t count, struct str *out);
void support_csv(const struct probe_result *results, size_t count, struct str *out);

/*
 * Compares a table with the text of a file: of a Markdown page only what stands between the lines above.
 * Appends to *out what each has that the other lacks, a line each, and returns how many these are.
 */
size_t support_differences(const char *table, const char *page, bool markdown, struct str *out);

#endif
