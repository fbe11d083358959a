/*
 * report.md: a finding as the engine's maintainers would want it in their tracker. Title, what is expected
 * and what comes, how far beyond rounding, the model as text, which releases show it, which pass or fusion is
 * at fault, and a program of some ten lines that shows it with the engine's own API.
 */
#ifndef FINDINGS_WRITEUP_H
#define FINDINGS_WRITEUP_H

#include "findings/bundle.h"

/* drawn: map.svg lies beside it. Fails when the engine's template of a program is wrong (program.h). */
int writeup(struct str *out, const struct bundle_case *which, const struct model *model, bool drawn,
            struct error *err);

/* "1.10.0 to 1.15.1, 1.20.0 (opt=all)" for the entries whose verdict is a finding, or is none. */
void writeup_versions(struct str *out, const struct bundle_history *history, size_t count, bool bad);

#endif
