#include "base/json.h"

#include "base/clean.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *json, struct str *out, bool indent)
{
    memset(json, 0, sizeof *json);
    json->out = out;
    json->indent = indent;
}

size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80                   ? 1
                    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                    : (s[0] & 0xf0) == 0xe0       ? 3
                    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
        return 0;
    if (length == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
        return 0;
    return length;
}

uint32_t utf8_code(const unsigned char *s, size_t length)
{
    uint32_t code = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3F);
    return code;
}

static void write_text(struct str *out, const char *text)
{
    str_add(out, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t length = utf8_length(s);
        if (!length) {
            str_add(out, "\\ufffd");
            s++;
        } else if (length == 1 && (*s == '"' || *s == '\\')) {
            str_printf(out, "\\%c", *s++);
        } else if (length == 1 && *s == '\n') {
            str_add(out, "\\n");
            s++;
        } else if (*s == '\t' || !clean_is_shown(utf8_code(s, length))) {
            str_printf(out, "\\u%04x", (unsigned)utf8_code(s, length));
            s += length;
        } else {
            str_append(out, s, length);
            s += length;
        }
    }
    str_add(out, "\"");
}

static void new_line(struct json *json)
{
    if (!json->indent)
        return;
    str_add(json->out, "\n");
    for (int i = 0; i < json->depth; i++)
        str_add(json->out, "  ");
}

static void begin_value(struct json *json, const char *name)
{
    if (json->depth) {
        if (json->used[json->depth - 1])
            str_add(json->out, json->indent ? "," : ", ");
        json->used[json->depth - 1] = true;
        new_line(json);
        assert((json->close[json->depth - 1] == '}') == (name != NULL));
    }
    if (name) {
        write_text(json->out, name);
        str_add(json->out, ": ");
    }
}

static void open_level(struct json *json, const char *name, char open, char close)
{
    begin_value(json, name);
    assert(json->depth < JSON_MAX_DEPTH);
    str_append(json->out, &open, 1);
    json->used[json->depth] = false;
    json->close[json->depth++] = close;
}

void json_object(struct json *json, const char *name)
{
    open_level(json, name, '{', '}');
}

void json_array(struct json *json, const char *name)
{
    open_level(json, name, '[', ']');
}

void json_end(struct json *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->used[json->depth])
        new_line(json);
    str_append(json->out, &json->close[json->depth], 1);
    if (!json->depth && json->indent)
        str_add(json->out, "\n");
}

void json_string(struct json *json, const char *name, const char *value)
{
    begin_value(json, name);
    if (value)
        write_text(json->out, value);
    else
        str_add(json->out, "null");
}

void json_int(struct json *json, const char *name, int64_t value)
{
    begin_value(json, name);
    str_printf(json->out, "%" PRId64, value);
}

void json_double(struct json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        json_string(json, name, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    begin_value(json, name);
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    str_add(json->out, text);
}

void json_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    str_add(json->out, value ? "true" : "false");
}
