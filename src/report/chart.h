/*
 * Lines over the time of a campaign, as an SVG drawing. It stands inside an HTML page, takes its colours from
 * that page's style (report/page.css), and holds numbers and nothing else from outside.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/str.h"

struct chart_point {
    double seconds, value;
};

struct chart_line {
    size_t count;
    const struct chart_point *points; /* by time; what is not finite counts as 0 */
};

/* Appends the drawing of one line, with the area below it, or of several, in the colours a and b. The axis
 * of time ends at `end`; that of values at the next round number, which is at least `least`. */
void chart_svg(struct str *out, const char *label, const struct chart_line *lines, size_t count, double end,
               double least);

#endif
