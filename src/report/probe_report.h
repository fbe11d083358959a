/* Probe results for people: a table of letters, and a page that compares engines side by side. */
#ifndef REPORT_PROBE_REPORT_H
#define REPORT_PROBE_REPORT_H

#include "base/str.h"
#include "releases/probe.h"

/* Operators by engines, a letter for each type; the first findings; the sums. */
void probe_text(const struct probe_result *results, size_t count, struct str *out, bool colour);

/* {"engines": [...]}, each as in its file. */
void probe_json(const struct probe_result *results, size_t count, struct str *out, bool indent);

/* One HTML page that needs nothing else. */
void probe_html(const struct probe_result *results, size_t count, struct str *out);

#endif
