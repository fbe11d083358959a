/* An engine file: refused with a reason, or its engines can be listed and found. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "engine/registry.h"

static int find(void *context, const char *name, const char *version, const char *path)
{
    struct error err = {0};
    const struct engine_spec *spec;
    char *label = malloc(strlen(name) + (version ? strlen(version) : 0) + 2);
    require(label);
    (void)path;
    sprintf(label, "%s%s%s", name, version ? "@" : "", version ? version : "");
    if (registry_find(context, given_typed(registry_arena(context), label), &spec, &err))
        require(err.message[0] != '\0');
    else
        require(spec->argv && spec->argv[0]);
    free(label);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file file = fuzz_file(data, size);
    const char *files[] = {file.path};
    struct registry *registry = NULL;
    struct error err = {0};
    if (registry_open(&registry, files, 1, &err))
        require(err.message[0] != '\0');
    else
        registry_each(registry, find, registry);
    if (registry)
        registry_free(registry);
    close(file.descriptor);
    return 0;
}
