#include "base/seed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool seed_parse(const char *text, uint64_t *seed)
{
    if (text[0] == '-') {
        long long negative;
        bool good = text_int64(text, &negative);
        *seed = (uint64_t)negative;
        return good;
    }
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

void seed_json(struct json *json, const char *name, uint64_t seed)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    if (seed < (uint64_t)1 << 53)
        json_int(json, name, (int64_t)seed);
    else
        json_string(json, name, text);
}
