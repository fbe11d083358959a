#include "base/map.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void map_init(struct map *map)
{
    map->slots = NULL;
    map->count = map->capacity = 0;
}

void map_release(struct map *map)
{
    free(map->slots);
    map_init(map);
}

/*
 * Names are short and compared only within one map, so a cheap hash suffices. It begins with where the table
 * lies, which nobody can tell beforehand: else a file could bring names that all have the same hash.
 */
static size_t hash_name(const char *key, const struct map_slot *slots)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)slots;
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ h >> 32);
}

static struct map_slot *find_slot(struct map_slot *slots, size_t capacity, const char *key)
{
    size_t at = hash_name(key, slots) & (capacity - 1);
    while (slots[at].key && strcmp(slots[at].key, key) != 0)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static void enlarge(struct map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : 16;
    struct map_slot *slots = memory_zeroed(capacity, sizeof *slots);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            *find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
}

bool map_set(struct map *map, const char *key, size_t value)
{
    if (map->count * 4 >= map->capacity * 3)
        enlarge(map);
    struct map_slot *slot = find_slot(map->slots, map->capacity, key);
    bool fresh = !slot->key;
    if (fresh) {
        slot->key = key;
        map->count++;
    }
    slot->value = value;
    return fresh;
}

bool map_get(const struct map *map, const char *key, size_t *value)
{
    if (!map->count)
        return false;
    const struct map_slot *slot = find_slot(map->slots, map->capacity, key);
    if (!slot->key)
        return false;
    *value = slot->value;
    return true;
}

bool map_has(const struct map *map, const char *key)
{
    size_t ignored;
    return map_get(map, key, &ignored);
}
