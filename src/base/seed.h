/* Seeds of random choices as text and JSON. A seed is any number of 64 bits, written with or without a sign:
 * -1 is 2^64 - 1. */
#ifndef BASE_SEED_H
#define BASE_SEED_H

#include "base/json.h"

/* False when the text is no such number. */
bool seed_parse(const char *text, uint64_t *seed);

/* A number; from 2^53 on a string of digits, as readers of JSON may not hold such numbers. */
void seed_json(struct json *json, const char *name, uint64_t seed);

#endif
