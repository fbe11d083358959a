/* An engine's verdict in JSON. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include "base/json.h"
#include "trial/sample_verdicts.h"

/* A member `name`: see docs/json.md. */
void engine_verdict_json(struct json *json, const char *name, const struct engine_verdict *overall);

#endif
