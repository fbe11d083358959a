#include "cli/casefile.h"

#include "base/file.h"
#include "base/wrap.h"
#include "case/backend_suite.h"
#include "findings/bundle.h"
#include "locate/excerpt.h"
#include "rules/rewriting.h"

#include <stdio.h>

static int open_model(struct test_case **test, const char *path, const struct input_settings *settings,
                      size_t sample, size_t *samples, struct error *err)
{
    struct inputs inputs = {0};
    struct model *model;
    if (model_open(&model, path, err))
        return -1;
    *test = test_case_new(model);
    test_case_set_name(*test, path);
    int status = inputs_from_settings(&inputs, model, path, settings, err);
    if (!status)
        status = inputs_get(&inputs, sample, &(*test)->inputs, err);
    if (!status) {
        (*test)->n_inputs = inputs.count;
        *samples = inputs.samples;
    }
    inputs_release(&inputs);
    return status;
}

int casefile_open(struct test_case **test, const char *path, const struct input_settings *settings,
                  struct error *err)
{
    return casefile_open_sample(test, path, settings, 0, NULL, err);
}

int casefile_open_sample(struct test_case **test, const char *path, const struct input_settings *settings,
                         size_t sample, size_t *samples, struct error *err)
{
    size_t count = 1;
    *test = NULL;
    int status = file_is_folder(path) ? suite_load_one(path, test, err)
                                      : open_model(test, path, settings, sample, &count, err);
    if (samples)
        *samples = count;
    if (!status) {
        test_case_set_recipe(*test, (*test)->name);
        return 0;
    }
    test_case_free(*test);
    *test = NULL;
    return -1;
}

int casefile_in_one_piece(struct test_case **test, struct pool *pool, int engine, struct error *err)
{
    struct test_case *whole = *test, *part;
    const struct model *model = test_case_model(whole, err);
    if (!model)
        return -1;
    if (model_size(model) <= INT32_MAX)
        return 0;
    wrap_printf(stderr,
                "%s has %.1f GB with its weights, too much for one file: looking for the nodes at fault\n",
                whole->name, (double)model_size(model) / 1e9);
    if (excerpt_make(&part, whole, pool, engine, err))
        return error_prefix(err, "%s", whole->name);
    test_case_set_name(part, whole->name);
    test_case_set_recipe(part, whole->recipe);
    test_case_free(whole);
    *test = part;
    return 0;
}

int casefile_rewrite(struct test_case **test, const char *path, struct error *err)
{
    struct arena arena;
    struct bundle bundle;
    struct test_case *rewritten = NULL;
    arena_init(&arena);
    struct error why = {0};
    int status = file_is_folder(path) ? bundle_read_path(&bundle, path, &arena, &why) : -1;
    bool bare = status && (why.code == ERROR_NONE || why.code == ERROR_NOT_FOUND); /* no bundle */
    if (status && !bare)
        error_set(err, why.code, "%s", why.message);
    else if (bare)
        status = 0;
    else if (*bundle.rewriting && rewriting_apply(*test, bundle.rewriting, &rewritten, err) != 1)
        status = -1;
    if (rewritten) {
        test_case_free(*test);
        *test = rewritten;
    }
    arena_release(&arena);
    return status;
}
