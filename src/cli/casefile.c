#include "cli/casefile.h"

#include "base/file.h"
#include "base/memory.h"
#include "locate/excerpt.h"

#include <stdio.h>

static int open_folder(struct casefile *file, const char *path, struct error *err)
{
    if (suite_open(&file->suite, &path, 1, NULL, err))
        return -1;
    if (file->suite.count != 1)
        return error_set(err, ERROR_USAGE, "%s holds %zu cases: name one", path, file->suite.count);
    const struct suite_case *entry = &file->suite.cases[0];
    if (suite_load(entry, &file->loaded, err))
        return -1;
    struct suite_loaded *loaded = &file->loaded;
    if (!loaded->sets)
        return error_set(err, ERROR_NOT_FOUND,
                         "%s has no test_data_set_0: name its model.onnx and say --data", path);
    if (loaded->misfit)
        return error_set(err, ERROR_INVALID, "%s", loaded->misfit);
    file->name = entry->name;
    file->model = loaded->model;
    file->random = loaded->random;
    file->n_inputs = loaded->data[0].n_inputs;
    file->inputs = loaded->data[0].inputs;
    file->n_answers = loaded->data[0].n_outputs;
    file->answers = loaded->data[0].outputs;
    return 0;
}

static int open_model(struct casefile *file, const char *path, const struct input_settings *settings,
                      struct error *err)
{
    struct inputs inputs = {0};
    if (model_open(&file->model, path, err))
        return -1;
    file->name = path;
    int status = inputs_from_settings(&inputs, file->model, settings, err);
    if (!status)
        status = inputs_get(&inputs, 0, &file->drawn, err);
    file->inputs = file->drawn;
    file->n_inputs = status ? 0 : inputs.count;
    inputs_release(&inputs);
    return status;
}

int casefile_open(struct casefile *file, const char *path, const struct input_settings *settings,
                  struct error *err)
{
    *file = (struct casefile){0};
    return file_is_folder(path) ? open_folder(file, path, err) : open_model(file, path, settings, err);
}

static int copy_whole(struct test_case **copy, const struct casefile *file, struct error *err)
{
    uint8_t *bytes;
    size_t size;
    if (model_to_bytes(file->model, &bytes, &size, err))
        return -1;
    *copy = test_case_from_bytes(bytes, size);
    return test_case_add_inputs(*copy, file->inputs, file->n_inputs, err);
}

static int copy_part(struct test_case **copy, const struct casefile *file, struct pool *pool, int engine,
                     struct error *err)
{
    struct excerpt_case which = {
        .pool = pool,
        .engine = engine,
        .model = file->model,
        .inputs = file->inputs,
        .n_inputs = file->n_inputs,
    };
    fprintf(stderr,
            "%s: with its weights it has %.1f GB, which do not fit into one file: looking for the nodes at "
            "fault\n",
            file->name, (double)model_size(file->model) / 1e9);
    return excerpt_make(copy, &which, err);
}

int casefile_copy(struct test_case **copy, const struct casefile *file, struct pool *pool, int engine,
                  struct error *err)
{
    int status = model_size(file->model) > INT32_MAX ? copy_part(copy, file, pool, engine, err)
                                                     : copy_whole(copy, file, err);
    if (!status)
        test_case_set_recipe(*copy, file->name);
    return status ? error_prefix(err, "%s", file->name) : 0;
}

void casefile_close(struct casefile *file)
{
    if (file->drawn)
        values_free(file->drawn, file->n_inputs);
    if (file->model && file->model != file->loaded.model)
        model_free(file->model);
    if (file->suite.cases) {
        suite_unload(&file->loaded);
        suite_release(&file->suite);
    }
}
