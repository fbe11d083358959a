/* The profiles that the engines of the source tree declare, whether or not they were built here. */
#ifndef TESTS_ENGINE_PROFILES_H
#define TESTS_ENGINE_PROFILES_H

#include "base/str.h"
#include "engine/registry.h"

#include <stdlib.h>
#include <string.h>

/* The registry owns the profile; NULL of both where no folder of engines/ has the label's name. */
static inline const struct engine_profile *source_profile(struct registry **registry, const char *label)
{
    const struct engine_spec *spec;
    struct str path;
    int length = (int)strcspn(label, "@:");
    str_init(&path);
    str_printf(&path, "%s/../engines/%.*s/%.*s.ini", getenv("ASSAY_TEST_DATA"), length, label, length, label);
    bool known = registry_open(registry, (const char *[]){path.data}, 1, NULL) == 0;
    str_clear(&path);
    str_printf(&path, "%.*s", length, label);
    known = known && registry_find(*registry, path.data, &spec, NULL) == 0;
    str_release(&path);
    return known ? spec->profile : NULL;
}

#endif
