/* An engine's verdict in JSON. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include "base/json.h"
#include "trial/sample_verdicts.h"

/* Adds a member `name` (NULL: an element of a list) as docs/json.md describes it. */
void engine_verdict_json(struct json *json, const char *name, const struct engine_verdict *overall);

/* Adds the members "class" and "because", both null when there is nothing to explain. */
void classification_json(struct json *json, const struct classification *classification);

#endif
