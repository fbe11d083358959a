/*
 * Writes whether every engine answered and every answer was judged (judge/standing.h), as text and as JSON.
 */
#ifndef REPORT_STANDING_H
#define REPORT_STANDING_H

#include "base/json.h"
#include "base/str.h"
#include "judge/standing.h"

/*
 * Appends the first lines of the output, "Not everything was judged: ..." and "Expectation refuted:
 * ...", and an empty one; nothing when everything was judged and nobody was mistaken.
 */
void standing_print(const struct standing *standing, struct str *out, bool colour);

/* The words before a mistake. */
extern const char standing_mistake_head[];

/* The members "complete", "why_incomplete", which is null when the result is complete, and "mistake", which
 * is null when the user made none. */
void standing_json(const struct standing *standing, struct json *json);

#endif
