/* A campaign's status for people and programs: the screen, the line of a log, the JSON. */
#ifndef REPORT_FUZZ_REPORT_H
#define REPORT_FUZZ_REPORT_H

#include "base/str.h"
#include "campaign/fuzz.h"

/* Some lines, each ended by a newline. At most `width` columns (0: as wide as it is). */
void fuzz_screen(struct str *out, const struct fuzz_status *status, bool colour, size_t width);

/* One line: "0:01:00  61234 cases (1020/s)  OLC 61.5 %  12 findings (5 known), newest 0:00:07 ago". */
void fuzz_line(struct str *out, const struct fuzz_status *status);

void fuzz_json(struct str *out, const struct fuzz_status *status,
               const struct standing *standing); /* docs/json.md */

#endif
