#include "engine/everyones_knobs.h"

#include "base/file.h"
#include "engine/registry.h"

#include <stdlib.h>
#include <string.h>

#define TUNABLES "GLIBC_TUNABLES"

static const struct everyones_knob table[] = {
    {KNOB_PERTURB, NULL, "MALLOC_PERTURB_", NULL},
    {"freed", "kept", TUNABLES,
     "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1099511627776:glibc.malloc.tcache_count=0"},
    {"freed", "returned", NULL, NULL},
    {"guard", "on", "ASSAY_GUARD", "on"},
    {"guard", "before", "ASSAY_GUARD", "before"},
    {"guard", "off", NULL, NULL},
    {KNOB_MEMCHECK, "on", "ASSAY_MEMCHECK", "on"},
    {KNOB_MEMCHECK, "off", NULL, NULL},
};
enum { ROWS = sizeof table / sizeof *table };

bool knob_is_everyones(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return true;
    return false;
}

const struct everyones_knob *everyones_knob(const char *name, const char *value)
{
    long long number;
    for (size_t i = 0; i < ROWS; i++) {
        bool means = table[i].value ? text_equal(table[i].value, value)
                                    : text_int64(value, &number) && number >= 1 && number <= 255;
        if (text_equal(table[i].name, name) && means)
            return &table[i];
    }
    return NULL;
}

const char *everyones_values(const char *name)
{
    return text_equal(name, KNOB_PERTURB) ? "a number from 1 to 255"
           : text_equal(name, "freed")    ? "kept or returned"
           : text_equal(name, "guard")    ? "on, before or off"
                                          : "on or off";
}

/* Whether one of the knobs begins with the text: "guard=on", or "perturb=" whatever its value. */
static bool is_given(const char *const *knobs, const char *text)
{
    for (size_t i = 0; knobs[i]; i++)
        if (text_starts(knobs[i], text))
            return true;
    return false;
}

double everyones_patience(const char *const *knobs)
{
    enum { GUARDED = 8, IN_VALGRIND = 30 };
    return !knobs                                 ? 1
           : is_given(knobs, KNOB_MEMCHECK "=on") ? IN_VALGRIND
           : is_given(knobs, "guard=")            ? GUARDED
                                                  : 1;
}

void everyones_environment(const char *const *knobs, const char *libexec, struct str *environment)
{
    /* Small pieces that the C library's cache of each thread hands out again are not filled: there is none
     * then, and none with freed=kept. */
    if (is_given(knobs, KNOB_PERTURB "=") && !is_given(knobs, "freed=kept")) {
        str_add(environment, TUNABLES "=glibc.malloc.tcache_count=0");
        str_append(environment, "", 1);
    }
    /* What makes the engine's memory end where it ends, or begin where it begins, is loaded before its
     * libraries. */
    char *library = file_join(libexec, "assay-guarded-memory.so");
    if ((is_given(knobs, "guard=on") || is_given(knobs, "guard=before")) && file_exists(library)) {
        str_printf(environment, "LD_PRELOAD=%s", library);
        str_append(environment, "", 1);
    }
    free(library);
}

/* Valgrind. Only what is made from the SDK in C asks it about outputs. */
int everyones_command(struct engine_spec *spec, struct arena *arena, struct error *err)
{
    static const char *const before[] = {"valgrind",        "--quiet",   "--trace-children=yes",
                                         "--leak-check=no", "--vgdb=no", "--error-limit=no"};
    enum { BEFORE = sizeof before / sizeof *before };
    if (!is_given(spec->hidden_knobs, KNOB_MEMCHECK "=on"))
        return 0;
    const char *slash = strrchr(spec->argv[0], '/'), *name = slash ? slash + 1 : spec->argv[0];
    size_t count = 0;
    if (strncmp(name, "assay-engine-", strlen("assay-engine-")) != 0)
        return error_set(err, ERROR_UNSUPPORTED,
                         "memcheck=on: the adapter of %s is not made from the SDK in C", spec->name);
    while (spec->argv[count])
        count++;
    const char **argv = arena_array(arena, BEFORE + count + 1, sizeof *argv);
    memcpy(argv, before, sizeof before);
    memcpy(argv + BEFORE, spec->argv, (count + 1) * sizeof *argv);
    spec->argv = argv;
    return 0;
}
