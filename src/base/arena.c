#include "base/arena.h"

#include "base/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 16 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena)
{
    arena->blocks = NULL;
    arena->total = 0;
}

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena_init(arena);
}

void arena_clear(struct arena *arena)
{
    struct arena_block *keep = arena->blocks;
    if (!keep)
        return;
    arena->blocks = keep->next;
    arena_release(arena);
    keep->next = NULL;
    keep->used = 0;
    arena->blocks = keep;
}

static struct arena_block *add_block(struct arena *arena, size_t need)
{
    size_t capacity = need > BLOCK_SIZE ? need : BLOCK_SIZE;
    struct arena_block *block = malloc(sizeof *block + capacity);
    if (!block)
        memory_exhausted(sizeof *block + capacity);
    block->used = 0;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t mask = alignof(max_align_t) - 1;
    if (size > SIZE_MAX / 2)
        memory_exhausted(size);
    size_t need = (size + mask) & ~mask;
    struct arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < need)
        block = add_block(arena, need);
    void *at = block->data + block->used;
    block->used += need;
    arena->total += need;
    return memset(at, 0, need); /* zeroed here and not with the block: most blocks stay half empty */
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        memory_exhausted(SIZE_MAX);
    return arena_alloc(arena, count * size);
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
    void *copy = arena_alloc(arena, size + 1);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text) + 1);
}

/* Without printf, which would be most of the work of making a model: it has a name for every node and value.
 */
char *arena_numbered(struct arena *arena, const char *text, const char *between, size_t number)
{
    size_t first = strlen(text), length = first + strlen(between), digits = 1;
    for (size_t rest = number; rest >= 10; rest /= 10)
        digits++;
    char *name = arena_alloc(arena, length + digits + 1);
    memcpy(name, text, first);
    memcpy(name + first, between, length - first);
    for (size_t at = length + digits; at > length; number /= 10)
        name[--at] = (char)('0' + number % 10);
    return name;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    char brief[128]; /* most texts fit, and are then printed only once */
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(brief, sizeof brief, format, again);
    va_end(again);
    if (length < 0)
        return arena_strdup(arena, "");
    if ((size_t)length < sizeof brief)
        return arena_copy(arena, brief, (size_t)length);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}
