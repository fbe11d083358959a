/* The judge's word in JSON. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include "base/json.h"
#include "trial/sample_verdicts.h"

/* A member `name`: see docs/json.md. */
void word_json(struct json *json, const char *name, const struct word *word);

#endif
