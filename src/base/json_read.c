#include "base/json_read.h"

#include "base/json.h"
#include "base/str.h"

#include <string.h>

struct reader {
    struct arena *arena;
    const char *start, *at, *end;
    struct str text; /* the string being read */
    struct error *err;
};

static int fail(struct reader *r, const char *what)
{
    return error_set(r->err, ERROR_FORMAT, "not JSON at byte %zu: %s", (size_t)(r->at - r->start), what);
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool next_is(struct reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int read_hex(struct reader *r, unsigned *code)
{
    static const char digits[] = "0123456789abcdef";
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : '\0';
        const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit)
            return fail(r, "expected four hexadecimal digits");
        *code = *code * 16 + (unsigned)(digit - digits);
    }
    return 0;
}

static void add_utf8(struct str *out, unsigned code)
{
    char bytes[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(lead[size] | code);
    str_append(out, bytes, size);
}

/* Reads what follows "\u". */
static int read_unicode(struct reader *r)
{
    unsigned code, low;
    if (read_hex(r, &code))
        return -1;
    if (code == 0)
        return fail(r, "a zero character in a string");
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return fail(r, "half a surrogate pair");
        r->at += 2;
        if (read_hex(r, &low))
            return -1;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(r, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(r, "half a surrogate pair");
    }
    add_utf8(&r->text, code);
    return 0;
}

static int read_escape(struct reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c != 'u' && !letter)
        return fail(r, "unknown escape sequence");
    r->at++;
    if (c == 'u')
        return read_unicode(r);
    str_append(&r->text, &meanings[letter - letters], 1);
    return 0;
}

static bool is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 1;
    for (; *at && length; at += length)
        length = utf8_length(at);
    return length;
}

/* Reads a string from behind its opening quote. */
static int read_string(struct reader *r, const char **text)
{
    str_clear(&r->text);
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at;
        if ((unsigned char)c < 0x20)
            return fail(r, "a control character in a string");
        r->at++;
        if (c != '\\')
            str_append(&r->text, &c, 1);
        else if (read_escape(r))
            return -1;
    }
    if (r->at == r->end)
        return fail(r, "unterminated string");
    r->at++;
    if (!is_utf8(r->text.data))
        return fail(r, "a string that is not UTF-8");
    *text = arena_copy(r->arena, r->text.data, r->text.length);
    return 0;
}

static size_t count_digits(struct reader *r)
{
    size_t count = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        count++;
    return count;
}

static int read_number(struct reader *r, double *number)
{
    const char *from = r->at;
    r->at += *r->at == '-';
    bool zero = r->at < r->end && *r->at == '0';
    size_t digits = count_digits(r);
    bool good = digits && !(zero && digits > 1);
    if (good && r->at < r->end && *r->at == '.') {
        r->at++;
        good = count_digits(r);
    }
    if (good && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        good = count_digits(r);
    }
    char text[64];
    size_t length = (size_t)(r->at - from);
    if (!good || length >= sizeof text)
        return fail(r, "malformed number");
    memcpy(text, from, length);
    text[length] = '\0';
    return text_double(text, number) ? 0 : fail(r, "a number out of range");
}

static bool word(struct reader *r, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static int read_value(struct reader *r, struct json_value *value, int depth);

/* Reads items or members from behind the opening bracket to the closing one. */
static int read_items(struct reader *r, struct json_value *value, char close, int depth)
{
    const struct json_value **link = &value->first;
    if (depth >= JSON_MAX_DEPTH)
        return fail(r, "nested too deeply");
    if (next_is(r, close))
        return 0;
    do {
        struct json_value *item = arena_alloc(r->arena, sizeof *item);
        if (close == '}') {
            if (!next_is(r, '"'))
                return fail(r, "expected the name of a member");
            if (read_string(r, &item->name))
                return -1;
            if (!next_is(r, ':'))
                return fail(r, "expected ':'");
        }
        if (read_value(r, item, depth + 1))
            return -1;
        *link = item;
        link = &item->next;
        value->count++;
    } while (next_is(r, ','));
    return next_is(r, close) ? 0 : fail(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* Recursion is bounded by JSON_MAX_DEPTH. */
static int read_value(struct reader *r, struct json_value *value, int depth)
{
    skip_space(r);
    if (r->at == r->end)
        return fail(r, "expected a value");
    switch (*r->at) {
    case '{':
    case '[':
        value->kind = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
        r->at++;
        return read_items(r, value, value->kind == JSON_OBJECT ? '}' : ']', depth);
    case '"':
        value->kind = JSON_STRING;
        r->at++;
        return read_string(r, &value->text);
    default:
        break;
    }
    if (word(r, "null"))
        return 0;
    value->kind = JSON_BOOL;
    value->truth = word(r, "true");
    if (value->truth || word(r, "false"))
        return 0;
    value->kind = JSON_NUMBER;
    return read_number(r, &value->number);
}

int json_read(struct arena *arena, const char *data, size_t size, const struct json_value **value,
              struct error *err)
{
    struct reader r = {.arena = arena, .start = data, .at = data, .end = data + size, .err = err};
    struct json_value *root = arena_alloc(arena, sizeof *root);
    str_init(&r.text);
    int result = read_value(&r, root, 0);
    skip_space(&r);
    if (!result && r.at != r.end)
        result = fail(&r, "something behind the end");
    str_release(&r.text);
    *value = root;
    return result;
}

const struct json_value *json_member(const struct json_value *object, const char *name)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = object->first; member; member = member->next)
        if (strcmp(member->name, name) == 0)
            return member;
    return NULL;
}

const char *json_text_of(const struct json_value *object, const char *name)
{
    const struct json_value *member = json_member(object, name);
    return member && member->kind == JSON_STRING ? member->text : NULL;
}

double json_number_of(const struct json_value *object, const char *name, double otherwise)
{
    const struct json_value *member = json_member(object, name);
    return member && member->kind == JSON_NUMBER ? member->number : otherwise;
}
