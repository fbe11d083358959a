#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void memory_exhausted(size_t wanted)
{
    fprintf(stderr, "assay: out of memory (%zu bytes wanted)\n", wanted);
    exit(2);
}

void *memory_zeroed(size_t count, size_t size)
{
    void *data = calloc(count ? count : 1, size ? size : 1);
    if (!data)
        memory_exhausted(size);
    return data;
}

char *memory_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory_zeroed(1, size), text, size);
}

void *memory_grow(void *items, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return items;
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < need) {
        if (grown > SIZE_MAX / 2)
            memory_exhausted(SIZE_MAX);
        grown *= 2;
    }
    if (grown > SIZE_MAX / size)
        memory_exhausted(SIZE_MAX);
    void *moved = realloc(items, grown * size);
    if (!moved)
        memory_exhausted(grown * size);
    *capacity = grown;
    return moved;
}
