/* An engine's verdict in JSON. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include "base/json.h"
#include "trial/sample_verdicts.h"

/* Adds a member `name` (NULL: an element of a list) as docs/json.md describes it. */
void engine_verdict_json(struct json *json, const char *name, const struct engine_verdict *overall);

/* Adds a member `name`: how often each verdict occurred, of those that did. */
void verdict_counts_json(struct json *json, const char *name, const uint64_t counts[VERDICT_COUNT]);

/* Adds the members "class" and "because", both null when there is nothing to explain. */
void classification_json(struct json *json, const struct classification *classification);

#endif
