/*
 * A growing string. `data` is always NUL-terminated and never NULL after str_init; `length` excludes the NUL.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct str {
    char *data;
    size_t length, capacity;
};

void str_init(struct str *s);
void str_release(struct str *s);
void str_clear(struct str *s);
void str_append(struct str *s, const void *data, size_t size);
void str_add(struct str *s, const char *text);
void str_printf(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Gives the text away as a heap string, which the caller frees; *s is released. */
char *str_detach(struct str *s);

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
bool text_equal(const char *a, const char *b);

/* The order in which people list names: numbers in them by their size, so that 1.9 comes before 1.10. Below
 * 0, 0 or above 0, as strcmp. */
int text_compare(const char *a, const char *b);

/* The number of letters to add, drop, change or swap with their neighbour that turns one text into the other,
 * ignoring case. Names of more than 63 letters are far from everything. */
size_t text_distance(const char *a, const char *b);

/* Parse a whole string as a number; false when it is no number, overflows or is empty. */
bool text_int64(const char *text, long long *value);
bool text_double(const char *text, double *value);

#ifdef __cplusplus
}
#endif
#endif
