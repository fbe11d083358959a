#include "campaign/second_looks.h"

#include "base/memory.h"

#include <stdlib.h>

void second_looks_init(struct second_looks *looks)
{
    *looks = (struct second_looks){0};
    arena_init(&looks->arena);
}

void second_looks_release(struct second_looks *looks)
{
    arena_release(&looks->arena);
    free(looks->looks);
    *looks = (struct second_looks){0};
}

void second_looks_clear(struct second_looks *looks)
{
    arena_release(&looks->arena);
    arena_init(&looks->arena);
    looks->count = 0;
}

void second_looks_add(struct second_looks *looks, const struct second_look *look)
{
    looks->looks = memory_grow(looks->looks, &looks->capacity, looks->count + 1, sizeof *looks->looks);
    struct second_look *added = &looks->looks[looks->count++];
    *added = *look;
    added->recipe = arena_strdup(&looks->arena, look->recipe);
}

static int compare(const void *left, const void *right)
{
    const struct second_look *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->mishap != b->mishap)
        return a->mishap ? -1 : 1;
    return a->signature < b->signature ? -1 : a->signature > b->signature;
}

void second_looks_sort(struct second_looks *looks)
{
    if (looks->count)
        qsort(looks->looks, looks->count, sizeof *looks->looks, compare);
}
