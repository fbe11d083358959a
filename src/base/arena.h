/*
 * Memory that is freed together: a case's graph, names and attributes.
 *
 * Allocations are aligned for any type, zeroed, and freed only all at once. An arena never returns NULL: when
 * a small allocation fails the program ends with a message, because nothing sensible is left to do. A size
 * that comes from a file or an engine must be checked against a limit before it is requested here. Tensor
 * payloads do not belong here at all (tensor/tensor.h).
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t total;               /* bytes handed out since init or clear */
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena);

/* Discards everything that was handed out but keeps the newest block for reuse. */
void arena_clear(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t size);

/* An array of count * size bytes; an overflow of the product ends the program. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* A copy with a zero byte behind it, so that copied text is always terminated. */
void *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
/* Joins text, separator and number: "Relu", "_" and 12 give "Relu_12". */
char *arena_numbered(struct arena *arena, const char *text, const char *between, size_t number);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args);

#ifdef __cplusplus
}
#endif
#endif
