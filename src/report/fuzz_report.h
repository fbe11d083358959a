/*
 * The status of a campaign, for people and for programs: the screen that is shown on a terminal, one line for
 * a log, and JSON. All functions append to *out.
 */
#ifndef REPORT_FUZZ_REPORT_H
#define REPORT_FUZZ_REPORT_H

#include "base/str.h"
#include "campaign/fuzz.h"
#include "report/engine_settings.h"

/* Several lines, each ended by a newline and cut to `width` columns (0: not cut). metrics: also the figures
 * of the papers, and what the words of the screen mean. */
void fuzz_screen(struct str *out, const struct fuzz_status *status, bool colour, bool metrics, size_t width);

/*
 * What a campaign that ended has found, in words, and on what evidence: two lines. It never says that an
 * engine is right, and names those of which nothing was judged.
 */
void fuzz_answer(struct str *out, const struct fuzz_status *status);

/* One line: "0:01:00  61234 cases (1020/s)  OLC 61.5 %  12 findings (5 known), newest 0:00:07 ago". */
void fuzz_line(struct str *out, const struct fuzz_status *status);

/* One JSON object, as docs/json.md describes it. */
void fuzz_json(struct str *out, const struct fuzz_status *status, const struct standing *standing,
               const struct engine_settings *settings);

#endif
