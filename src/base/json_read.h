/*
 * A JSON reader: parses a whole text into a tree that lives in an arena.
 *
 * The input is untrusted: nesting is limited to JSON_MAX_DEPTH, numbers and escapes are checked against the
 * grammar, strings must be UTF-8, a string with a zero character is refused (texts end at one here), and only
 * white space may follow the value. The tree takes at most about 60 times the size of the text, so limit the
 * text.
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    bool truth;                     /* of a bool */
    double number;                  /* of a number */
    const char *text;               /* of a string */
    const char *name;               /* of a member of an object, else NULL */
    const struct json_value *first; /* item or member, in the order of the text */
    const struct json_value *next;  /* sibling */
    size_t count;                   /* items or members */
};

/* ERROR_FORMAT says at which byte the text goes wrong. */
int json_read(struct arena *arena, const char *data, size_t size, const struct json_value **value,
              struct error *err);

/* The first member of that name; NULL when there is none, or when `object` is NULL or not an object. */
const struct json_value *json_member(const struct json_value *object, const char *name);

/* The text of a string member, NULL when it is missing or of another kind; the number of a numeric member,
 * `otherwise` in these cases. */
const char *json_text_of(const struct json_value *object, const char *name);
double json_number_of(const struct json_value *object, const char *name, double otherwise);

#endif
