/*
 * Writes whether every engine answered and every answer was judged (judge/standing.h), as text and as JSON.
 */
#ifndef REPORT_STANDING_H
#define REPORT_STANDING_H

#include "base/json.h"
#include "base/str.h"
#include "judge/standing.h"

/*
 * Appends the first line of the output, "Not everything was judged: ...", and an empty one; nothing when
 * everything was judged.
 */
void standing_print(const struct standing *standing, struct str *out, bool colour);

/* The members "complete" and "why_incomplete", which is null when the result is complete. */
void standing_json(const struct standing *standing, struct json *json);

#endif
