#include "engine/spec_hash.h"

#include "base/content_hash.h"
#include "base/file.h"
#include "base/hash.h"

#include <string.h>

/* Files of one folder that count: no package of an engine has more, and a home folder need not be read. */
enum { MOST_FILES = 2000 };

static bool is_program(const char *path)
{
    struct file_map map;
    if (file_map_open(&map, path, NULL))
        return true;
    bool program = map.size >= 4 && memcmp(map.data, "\177ELF", 4) == 0;
    file_map_close(&map);
    return program;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return hash_combine(hash, text ? hash_text(text) : 0);
}

/* A program counts by itself, anything else with all that lies beside it. */
static uint64_t add_path(uint64_t hash, const char *path)
{
    if (is_program(path))
        return content_hash_file(add_text(hash, file_base(path)), USERS_PATH, path);
    struct folder folder = {0};
    hash = add_text(hash, file_base(path));
    if (folder_open_around(&folder, USERS_PATH, path, NULL) == 0)
        hash = content_hash_folder(hash, &folder, MOST_FILES);
    folder_close(&folder);
    return hash;
}

static uint64_t add_word(uint64_t hash, const char *word)
{
    bool path = *word == '/' && file_exists(word) && !file_is_folder(word) && !file_is_special(word);
    return path ? add_path(hash, word) : add_text(hash, word);
}

uint64_t spec_hash(const struct engine_spec *spec, const char *version)
{
    uint64_t hash = add_text(add_text(0, spec->name), version);
    for (size_t i = 0; spec->argv[i]; i++)
        hash = add_word(hash, spec->argv[i]);
    for (size_t i = 0; spec->environment[i]; i++) {
        const char *value = strchr(spec->environment[i], '=');
        hash = value && value[1] == '/' ? add_word(hash, value + 1) : add_text(hash, spec->environment[i]);
    }
    for (size_t i = 0; i < spec->knobs; i++)
        hash = add_text(add_text(hash, spec->knob_names[i]), spec->knob_values[i]);
    for (size_t i = 0; spec->hidden_knobs[i]; i++)
        hash = add_text(hash, spec->hidden_knobs[i]);
    return hash;
}
