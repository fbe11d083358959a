/* The judge's word in JSON. */
#ifndef REPORT_WORD_H
#define REPORT_WORD_H

#include "base/json.h"
#include "campaign/word.h"

/* A member `name`: see docs/json.md. */
void word_json(struct json *json, const char *name, const struct word *word);

#endif
