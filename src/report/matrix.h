/*
 * The results of many cases on many versions of engines, as one HTML page and as a table for spreadsheets:
 * what changed from release to release, and each case's first and last bad version.
 *
 * The columns stand by family: an engine's name with its knobs; inside a family in the order in which they
 * were named, which is the oldest first for name@all. The page holds the rows packed (base/packed.h) and
 * draws only those that are seen, so that hundreds of thousands of verdicts are one small file.
 */
#ifndef REPORT_MATRIX_H
#define REPORT_MATRIX_H

#include "conform/conform.h"

struct matrix {
    const struct conform *conform;
    const struct panel *panel;
    const char *const *labels; /* one for each engine */
    size_t n_absent;
    const char *const *absent; /* labels of engines that did not start */
    bool strict;               /* a form that an engine does not take counts as bad (judge/standing.h) */
};

void matrix_html(const struct matrix *matrix, struct str *out);

/* One line a case: its name, the verdict on each engine, and of each family with several versions the first
 * bad one, the last bad one and the versions at which a case began or ceased to be bad. */
void matrix_csv(const struct matrix *matrix, struct str *out);

#endif
