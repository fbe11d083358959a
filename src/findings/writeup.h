/*
 * report.md: a finding as the engine's maintainers would want it in their tracker. It has a title, the
 * expected and the actual result, how much larger the error is than rounding can explain, the model as text,
 * the releases that show it, the pass or fusion at fault, and a program of some ten lines that shows it with
 * the engine's own API.
 */
#ifndef FINDINGS_WRITEUP_H
#define FINDINGS_WRITEUP_H

#include "findings/bundle.h"

/*
 * Appends the report. drawn: the bundle has a map.svg. Fails when the engine's program template is wrong
 * (program.h).
 */
int writeup(struct str *out, const struct bundle_case *which, const struct model *model, bool drawn,
            struct error *err);

#endif
