/* For people and programs: whether everything was heard and judged (judge/standing.h). */
#ifndef REPORT_STANDING_H
#define REPORT_STANDING_H

#include "base/json.h"
#include "base/str.h"
#include "judge/standing.h"

/* The line at the top of the output, and an empty one, when not everything was; else nothing. */
void standing_print(const struct standing *standing, struct str *out, bool colour);

/* "complete", and "why_incomplete", which is null when it is. */
void standing_json(const struct standing *standing, struct json *json);

#endif
