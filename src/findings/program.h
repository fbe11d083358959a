/*
 * The program of a report, which shows the fault with the engine's own API: the engine's template
 * (program_template.h) filled in with the case. docs/writing-an-engine.md lists the variables.
 *
 * Every program prints what is wrong with its case: "elements from N: ..." or "type T shape D D ...". It ends
 * with status 1, and the library's own words, where the library refuses.
 */
#ifndef FINDINGS_PROGRAM_H
#define FINDINGS_PROGRAM_H

#include "findings/bundle.h"

/*
 * Appends the program with its fences and what has to be said around them: 1. 0, and nothing appended, where
 * the engine has no template, the template says that it cannot show the case, or an input or output is
 * nothing that a program could write down. -1 for a template that cannot be read or is wrong.
 */
int program_write(struct str *out, const struct bundle_case *which, const struct model *model,
                  struct error *err);

#endif
