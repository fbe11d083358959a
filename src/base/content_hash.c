#include "base/content_hash.h"

#include "base/file.h"
#include "base/hash.h"

enum { MAX_DEPTH = 16 };

static const uint64_t unreadable = UINT64_C(0x756e72656164);

uint64_t content_hash_file(uint64_t hash, const struct folder *in, const char *name)
{
    struct file_map map;
    if (folder_map(&map, in, name, NULL))
        return hash_combine(hash, unreadable);
    hash = hash_bytes(hash_combine(hash, map.size), map.data, map.size);
    file_map_close(&map);
    return hash;
}

/* left: how many files may still be read. */
static uint64_t add_folder(uint64_t hash, const struct folder *folder, size_t *left, int depth)
{
    char **names = NULL;
    size_t count = 0;
    if (folder_list(folder, &names, &count, NULL))
        hash = hash_combine(hash, unreadable);
    for (size_t i = 0; i < count && *left; i++) {
        enum folder_entry entry = folder_look(folder, names[i]);
        struct folder inner = {0};
        hash = hash_combine(hash, hash_text(names[i]));
        if (entry == ENTRY_FILE && (*left)--)
            hash = content_hash_file(hash, folder, names[i]);
        else if (entry == ENTRY_FOLDER && depth < MAX_DEPTH &&
                 folder_open(&inner, folder, names[i], NULL) == 0)
            hash = add_folder(hash, &inner, left, depth + 1);
        folder_close(&inner);
    }
    file_names_free(names, count);
    return hash;
}

uint64_t content_hash_folder(uint64_t hash, const struct folder *folder, size_t most)
{
    return add_folder(hash, folder, &most, 0);
}
