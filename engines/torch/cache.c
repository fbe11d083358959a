#include "cache.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 512 };

struct entry {
    char *text; /* the map's key */
    struct face_module *module;
};

struct cache {
    struct map numbers; /* text to entry */
    struct entry *entries;
    size_t count, room;
};

struct cache *cache_new(void)
{
    struct cache *cache = memory_zeroed(1, sizeof *cache);
    map_init(&cache->numbers);
    return cache;
}

static void forget(struct cache *cache)
{
    map_release(&cache->numbers);
    for (size_t i = 0; i < cache->count; i++) {
        free(cache->entries[i].text);
        face_module_free(cache->entries[i].module);
    }
    cache->count = 0;
}

void cache_free(struct cache *cache)
{
    if (!cache)
        return;
    forget(cache);
    free(cache->entries);
    free(cache);
}

void cache_trim(struct cache *cache)
{
    if (cache->count < MANY)
        return;
    forget(cache);
    map_init(&cache->numbers);
}

/* Length of a variable's name at this place, 0 when it is something else: v3, c12, t4_0 (program.c, emit.c).
 */
static size_t variable_at(const char *at)
{
    size_t length = 1;
    if (!strchr("vct", *at) || !isdigit((unsigned char)at[1]))
        return 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

/* Variables by the order of their first appearance: x0, x1, ... */
static void rename_variables(const char *text, struct str *renamed)
{
    struct map names;
    struct arena arena;
    bool inside = false; /* a word */
    map_init(&names);
    arena_init(&arena);
    while (*text) {
        size_t number, length = inside ? 0 : variable_at(text);
        inside = isalnum((unsigned char)*text) || *text == '_' || *text == '.';
        if (!length) {
            str_append(renamed, text++, 1);
            continue;
        }
        const char *name = arena_copy(&arena, text, length);
        if (!map_get(&names, name, &number))
            map_set(&names, name, number = names.count);
        str_printf(renamed, "x%zu", number);
        text += length;
    }
    map_release(&names);
    arena_release(&arena);
}

int cache_module(struct cache *cache, const char *text, struct face_module **module,
                 char message[FACE_MESSAGE_SIZE])
{
    struct str renamed;
    size_t number;
    int result = 0;
    str_init(&renamed);
    rename_variables(text, &renamed);
    if (map_get(&cache->numbers, renamed.data, &number)) {
        *module = cache->entries[number].module;
        str_release(&renamed);
        return 0;
    }
    result = face_module_new(module, renamed.data, 0, NULL, FACE_EAGER, false, message);
    if (result == 0) {
        cache->entries = memory_grow(cache->entries, &cache->room, cache->count + 1, sizeof *cache->entries);
        struct entry *entry = &cache->entries[cache->count];
        *entry = (struct entry){str_detach(&renamed), *module};
        map_set(&cache->numbers, entry->text, cache->count++);
    }
    str_release(&renamed);
    return result;
}
