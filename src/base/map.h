/*
 * An open-addressing hash map from strings to size_t. Keys are not copied and must outlive the map. Entries
 * cannot be removed.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct map_slot {
    const char *key;
    size_t value;
};

struct map {
    struct map_slot *slots;
    size_t count, capacity; /* capacity is 0 or a power of two */
};

void map_init(struct map *map);
void map_release(struct map *map);

/* Sets key to value; true when the key was new. */
bool map_set(struct map *map, const char *key, size_t value);
bool map_get(const struct map *map, const char *key, size_t *value);
bool map_has(const struct map *map, const char *key);

#ifdef __cplusplus
}
#endif
#endif
