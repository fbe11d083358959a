/*
 * The results of a probe: a table of letters, JSON, and an HTML page that compares engines side by side. Each
 * function appends the results of `count` engines to *out.
 */
#ifndef REPORT_PROBE_REPORT_H
#define REPORT_PROBE_REPORT_H

#include "base/str.h"
#include "probe/probe.h"

/*
 * A table with a row for each operator, a column for each engine and a letter for each element type; then the
 * first findings and the totals.
 */
void probe_text(const struct probe_result *results, size_t count, struct str *out, bool colour);

/* {"engines": [...]}, each as in its file (probe/probe_file.h). */
void probe_json(const struct probe_result *results, size_t count, struct str *out, bool indent);

/* One HTML page that loads no other file. */
void probe_html(const struct probe_result *results, size_t count, struct str *out);

#endif
