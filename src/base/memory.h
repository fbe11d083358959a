/*
 * Heap allocation for small, trusted sizes: never returns NULL. arena.h says when that is right.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((noreturn)) void memory_exhausted(size_t wanted);
void *memory_zeroed(size_t count, size_t size);
char *memory_strdup(const char *text);

/*
 * Grows an array to at least `need` items of `size` bytes and returns it; *capacity is updated. The new items
 * are not initialised.
 */
void *memory_grow(void *items, size_t *capacity, size_t need, size_t size);

#ifdef __cplusplus
}
#endif
#endif
