/*
 * The program in a report, which shows the fault with the engine's own API. It is the engine's template
 * (program_template.h) filled in with the case; docs/writing-an-engine.md lists the variables.
 *
 * Every program prints the part of the result that is wrong: "elements from N: ..." or "type T shape D D
 * ...". Where the library refuses the case, it prints the library's message and exits with status 1.
 */
#ifndef FINDINGS_PROGRAM_H
#define FINDINGS_PROGRAM_H

#include "findings/bundle.h"

/*
 * Appends the program as fenced Markdown, with the text around it. Returns
 *
 *      1  if the program was appended;
 *      0  if nothing was appended, because the engine has no template, the template cannot show this case, or
 *         a program cannot write down one of the inputs or outputs;
 *     -1  with an error, if the template cannot be read or is wrong.
 */
int program_write(struct str *out, const struct bundle_case *which, const struct model *model,
                  struct error *err);

#endif
