#include "base/str.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_init(struct str *s)
{
    s->capacity = 0;
    s->data = memory_grow(NULL, &s->capacity, 32, 1);
    s->data[0] = '\0';
    s->length = 0;
}

void str_release(struct str *s)
{
    free(s->data);
    s->data = NULL;
    s->length = s->capacity = 0;
}

void str_clear(struct str *s)
{
    s->length = 0;
    s->data[0] = '\0';
}

void str_append(struct str *s, const void *data, size_t size)
{
    s->data = memory_grow(s->data, &s->capacity, s->length + size + 1, 1);
    if (size)
        memcpy(s->data + s->length, data, size);
    s->length += size;
    s->data[s->length] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_append(s, text, strlen(text));
}

void str_printf(struct str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char brief[128]; /* most texts fit, and are then printed only once */
    int length = vsnprintf(brief, sizeof brief, format, args);
    va_end(args);
    if (length < 0)
        return;
    if ((size_t)length < sizeof brief) {
        str_append(s, brief, (size_t)length);
        return;
    }
    s->data = memory_grow(s->data, &s->capacity, s->length + (size_t)length + 1, 1);
    va_start(args, format);
    vsnprintf(s->data + s->length, (size_t)length + 1, format, args);
    va_end(args);
    s->length += (size_t)length;
}

char *str_detach(struct str *s)
{
    char *text = s->data;
    s->data = NULL;
    str_release(s);
    return text;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

int text_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The table of edit distances, of which only the current row and the two before it are kept. */
size_t text_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return n > m ? n : m;
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            size_t *row = rows[i % 3], *before = rows[(i + 2) % 3];
            if (i == 0 || k == 0) {
                row[k] = i + k;
                continue;
            }
            row[k] = least(before[k - 1] + !is_same(a[i - 1], b[k - 1]), least(before[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) && is_same(a[i - 2], b[k - 1]))
                row[k] = least(row[k], rows[(i + 1) % 3][k - 2] + 1);
        }
    return rows[n % 3][m];
}

bool text_int64(const char *text, long long *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

bool text_double(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    bool overflows = errno == ERANGE && isinf(*value); /* a subnormal number sets it too */
    return !overflows && end != text && *end == '\0';
}
