/* The profiles that the engines of the source tree declare, whether or not they were built here. */
#ifndef TESTS_ENGINE_PROFILES_H
#define TESTS_ENGINE_PROFILES_H

#include "base/str.h"
#include "engine/registry.h"

#include <stdlib.h>
#include <string.h>

/* engines/NAME/NAME.EXTENSION of the source tree, as a heap path. */
static inline char *engine_file(const char *name, const char *extension)
{
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/../engines/%s/%s%s", getenv("ASSAY_TEST_DATA"), name, name, extension);
    return str_detach(&path);
}

/* The registry owns the profile; NULL of both where no folder of engines/ has the label's name. */
static inline const struct engine_profile *source_profile(struct registry **registry, const char *label)
{
    const struct engine_spec *spec;
    char *name = strndup(label, strcspn(label, "@:")), *path = engine_file(name, ".ini");
    bool known = registry_open(registry, (const char *[]){path}, 1, NULL) == 0 &&
                 registry_find(*registry, given_typed(registry_arena(*registry), name), &spec, NULL) == 0;
    free(path);
    free(name);
    return known ? spec->profile : NULL;
}

#endif
