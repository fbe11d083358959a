#include "campaign/engine_source.h"

#include "base/file.h"
#include "base/folder.h"
#include "engine/scratch.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_LIMIT = 64 << 10 };

static bool has_knob(const struct engine_info *engine)
{
    const Assay__Welcome *welcome = engine->welcome;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strcmp(welcome->knobs[i]->name, "source") == 0)
            return true;
    return false;
}

/* How it ends does not matter: the lines are written before the library gets to see them. */
static void run_once(const struct engine_spec *spec, const struct test_case *test)
{
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(test, &bytes, &size, NULL))
        return;
    struct pool *pool = pool_new(&(struct pool_options){0});
    struct job job = {.engine = pool_add(pool, spec),
                      .model = bytes,
                      .model_size = size,
                      .n_inputs = test->n_inputs,
                      .inputs = test->inputs};
    struct result result;
    pool_run_one(pool, &job, &result, NULL);
    result_release(&result);
    pool_free(pool);
}

/* The engine may have put anything there. */
static char *read_back(const char *path, const char *name)
{
    struct folder folder;
    char *data = NULL;
    size_t size = 0;
    if (!folder_open(&folder, USERS_PATH, path, NULL))
        folder_read(&folder, name, SOURCE_LIMIT, &data, &size, NULL);
    folder_close(&folder);
    if (data && size)
        return data;
    free(data);
    return NULL;
}

char *engine_source_of(struct registry *registry, const struct engine_info *engine,
                       const struct test_case *test)
{
    struct scratch scratch;
    const struct engine_spec *spec;
    char *lines = NULL;
    if (!registry || !has_knob(engine) || scratch_open(&scratch, NULL))
        return NULL;
    char *path = file_join(scratch.folder, "lines");
    const struct given_label *label =
        given_writing(registry_arena(registry), engine->spec->given, "source", path);
    if (registry_find(registry, label, &spec, NULL) == 0) {
        run_once(spec, test);
        lines = read_back(scratch.folder, "lines");
    }
    free(path);
    scratch_close(&scratch);
    return lines;
}
