/*
 * A JSON writer that always writes valid JSON: it places commas and escapes itself and asserts correct
 * nesting. Non-finite numbers, which JSON lacks, are written as the strings "nan", "inf" and "-inf". Bytes
 * that are not UTF-8 (a library's error text, a name from a file) become U+FFFD.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/str.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JSON_MAX_DEPTH = 32 };

struct json {
    struct str *out;
    int depth;
    bool indent;                /* one member per line, for people */
    bool used[JSON_MAX_DEPTH];  /* something was written at this depth */
    char close[JSON_MAX_DEPTH]; /* what closes this depth */
};

/* The length of the well-formed UTF-8 sequence at s; 0 when there is none. The text must end with a zero
 * byte. */
size_t utf8_length(const unsigned char *s);
uint32_t utf8_code(const unsigned char *s, size_t length); /* the character of that sequence */

void json_init(struct json *json, struct str *out, bool indent);

/* name is the member's key inside an object and NULL inside an array or at the top. */
void json_object(struct json *json, const char *name);
void json_array(struct json *json, const char *name);
void json_end(struct json *json); /* closes the innermost object or array */
void json_string(struct json *json, const char *name, const char *value); /* NULL writes null */
void json_int(struct json *json, const char *name, int64_t value);
void json_double(struct json *json, const char *name,
                 double value); /* shortest form that reads back the same */
void json_bool(struct json *json, const char *name, bool value);

#ifdef __cplusplus
}
#endif
#endif
