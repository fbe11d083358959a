#include "case/backend_suite.h"

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/gradient_files.h"
#include "case/inputs.h"
#include "model/build.h"
#include "model/data.h"
#include "model/index.h"
#include "ops/op.h"

#include <fnmatch.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int add_case(struct suite *suite, const char *name, const char *folder, char **names, size_t count)
{
    suite->cases = memory_grow(suite->cases, &suite->capacity, suite->count + 1, sizeof *suite->cases);
    struct suite_case *entry = &suite->cases[suite->count++];
    *entry = (struct suite_case){.name = arena_strdup(&suite->arena, name),
                                 .folder = arena_strdup(&suite->arena, folder)};
    entry->set = arena_array(&suite->arena, count + 1, sizeof *entry->set);
    for (size_t i = 0; i < count; i++) {
        char *path = file_join(folder, names[i]);
        if (text_starts(names[i], "test_data_set_") && file_is_folder(path))
            entry->set[entry->sets++] = arena_strdup(&suite->arena, path);
        free(path);
    }
    return 0;
}

static bool wanted(const char *name, const char *pattern)
{
    return !pattern || fnmatch(pattern, name, 0) == 0;
}

static int search(struct suite *suite, const char *folder, const char *name, const char *pattern, int depth,
                  size_t *found, struct error *err)
{
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, err))
        return -1;
    char *model = file_join(folder, "model.onnx");
    bool is_case = file_exists(model);
    free(model);
    int status = 0;
    if (is_case) {
        ++*found;
        if (wanted(name, pattern))
            status = add_case(suite, name, folder, names, count);
    }
    for (size_t i = 0; i < count && !is_case && status == 0 && depth < SUITE_MAX_DEPTH; i++) {
        char *below = file_join(folder, names[i]);
        char *below_name = *name ? file_join(name, names[i]) : memory_strdup(names[i]);
        if (file_is_folder(below))
            status = search(suite, below, below_name, pattern, depth + 1, found, err);
        free(below);
        free(below_name);
    }
    file_names_free(names, count);
    return status;
}

/* The last part of a path, without the slashes at its end. */
static char *folder_name(const char *path)
{
    char *copy = memory_strdup(path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    char *name = memory_strdup(file_base(copy));
    free(copy);
    return name;
}

static int open_folder(struct suite *suite, const char *folder, bool several, const char *pattern,
                       struct error *err)
{
    size_t found = 0;
    char *model = file_join(folder, "model.onnx");
    char *name = file_exists(model) || several ? folder_name(folder) : memory_strdup("");
    int status = search(suite, folder, name, pattern, 0, &found, err);
    if (status == 0 && found == 0)
        status = error_set(
            err, ERROR_NOT_FOUND,
            "%s: no model.onnx in or below it; give a folder with model.onnx and test_data_set_0, or a "
            "folder of such",
            folder);
    free(model);
    free(name);
    return status;
}

int suite_open(struct suite *suite, const char *const *folders, size_t count, const char *pattern,
               struct error *err)
{
    *suite = (struct suite){0};
    arena_init(&suite->arena);
    for (size_t i = 0; i < count; i++)
        if (open_folder(suite, folders[i], count > 1, pattern, err))
            return -1;
    if (suite->count == 0)
        return error_set(err, ERROR_NOT_FOUND, "no case matches '%s'; leave out --match to run all",
                         pattern ? pattern : "*");
    return 0;
}

void suite_release(struct suite *suite)
{
    free(suite->cases);
    arena_release(&suite->arena);
}

/*
 * STEM_0.pb, STEM_1.pb ... read as the types of the given graph inputs or outputs. Fewer files than names is
 * normal (optional inputs at the end), more is not. inputs: the names of the model's inputs, when they are
 * these, else NULL.
 */
static int read_values(const char *folder, const char *stem, Onnx__ValueInfoProto *const *infos,
                       size_t n_infos, const struct map *inputs, struct value **values, size_t *count,
                       struct error *err)
{
    size_t capacity = 0;
    for (;;) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/%s_%zu.pb", folder, stem, *count);
        if (!file_exists(path.data)) {
            str_release(&path);
            return 0;
        }
        *values = memory_grow(*values, &capacity, *count + 1, sizeof **values);
        value_init(&(*values)[*count]);
        int status = *count < n_infos ? data_read(path.data, infos[*count]->type, &(*values)[*count], err)
                                      : error_set(err, ERROR_INVALID, "%s: the model has only %zu %s%s",
                                                  path.data, n_infos, stem, n_infos == 1 ? "" : "s");
        if (status == 0 && inputs)
            status = inputs_name_fits(inputs, path.data, (*values)[*count].name, infos[*count]->name, err);
        if (status == 0)
            value_set_name(&(*values)[*count], infos[*count]->name);
        ++*count;
        str_release(&path);
        if (status)
            return -1;
    }
}

/* Files are numbered after the inputs proper where those suffice, else after all that the graph lists. */
static int read_inputs(const struct model *model, const char *folder, struct test_case *test,
                       struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    struct map initializers;
    map_init(&initializers);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name)
            map_set(&initializers, graph->initializer[i]->name, i);
    Onnx__ValueInfoProto **infos = memory_zeroed(graph->n_input + 1, sizeof *infos);
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < graph->n_input; i++)
            if ((graph->input[i]->name && map_has(&initializers, graph->input[i]->name)) == (pass == 1))
                infos[count++] = graph->input[i];
    struct map names;
    inputs_names(&names, model);
    int status = read_values(folder, "input", infos, count, &names, &test->inputs, &test->n_inputs, err);
    map_release(&names);
    free(infos);
    map_release(&initializers);
    return status;
}

/* Kept as text: an answer that is as expected passes all the same. */
static void note_misfit(struct suite_loaded *loaded, const struct model *model, const struct test_case *test,
                        const char *folder)
{
    struct error err = {0};
    struct str text;
    if (loaded->misfit || !inputs_fit(model, test->inputs, test->n_inputs, &err))
        return;
    str_init(&text);
    str_printf(&text, "%s: %s", folder, err.message);
    loaded->misfit = str_detach(&text);
    str_release(&text);
}

static int read_set(const struct suite_case *entry, size_t number, const struct model *model,
                    struct suite_loaded *loaded, struct error *err)
{
    struct test_case *test = loaded->tests[number];
    const Onnx__GraphProto *graph = model->graph;
    test_case_set_name(test, entry->name);
    if (read_inputs(model, entry->set[number], test, err) ||
        read_values(entry->set[number], "output", graph->output, graph->n_output, NULL, &test->outputs,
                    &test->n_outputs, err))
        return -1;
    note_misfit(loaded, model, test, entry->set[number]);
    loaded->size += values_size(test->inputs, test->n_inputs) + values_size(test->outputs, test->n_outputs);
    return 0;
}

/* Who forbids a model, in forbidden.txt; the next lines say why and, where it is known, at which node. */
static const char *const forbidders[] = {[FORBIDDEN_BY_CHECKER] = "checker",
                                         [FORBIDDEN_BY_INFERENCE] = "inference",
                                         [FORBIDDEN_BY_REFERENCE] = "reference"};
enum { FORBIDDERS = sizeof forbidders / sizeof *forbidders, FORBIDDEN_SIZE = 4096 };

static int write_forbidden(const char *folder, const struct test_case *test, struct error *err)
{
    struct str text;
    if (!test->forbidden)
        return 0;
    str_init(&text);
    str_printf(&text, "%s\n%s\n", forbidders[test->forbidden], test->forbidden_why);
    if (test->forbidden_node)
        str_printf(&text, "%s\n", test->forbidden_node);
    char *path = file_join(folder, "forbidden.txt");
    int status = file_write(path, text.data, text.length, err);
    free(path);
    str_release(&text);
    return status;
}

static char *copy_line(const char *text)
{
    char *line = memory_strdup(text);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* A file that says nothing of use is as good as none: the case is then judged like any other. */
static void read_forbidden(const char *folder, struct test_case *test)
{
    char *path = file_join(folder, "forbidden.txt"), *text = NULL;
    size_t size;
    int status = file_exists(path) ? file_read(path, FORBIDDEN_SIZE, &text, &size, NULL) : -1;
    char *line = status ? NULL : memchr(text, '\n', size);
    for (size_t i = FORBIDDEN_BY_CHECKER; line && i < FORBIDDERS; i++) {
        size_t length = strlen(forbidders[i]);
        if ((size_t)(line - text) != length || memcmp(text, forbidders[i], length) != 0)
            continue;
        test->forbidden = (enum forbidden_by)i;
        test->forbidden_why = copy_line(line + 1);
        line = strchr(line + 1, '\n');
        test->forbidden_node = line && line[1] ? copy_line(line + 1) : NULL;
        break;
    }
    free(text);
    free(path);
}

static int read_sets(const struct suite_case *entry, struct model *model, struct suite_loaded *loaded,
                     struct error *err)
{
    loaded->tests = memory_zeroed(entry->sets, sizeof(struct test_case *));
    loaded->size = model_size(model);
    for (size_t i = 0; i < entry->sets; i++) {
        loaded->tests[i] = i ? test_case_same_model(loaded->tests[0]) : test_case_new(model);
        loaded->sets++;
        if (read_set(entry, i, model, loaded, err))
            return -1;
        read_forbidden(entry->folder, loaded->tests[i]);
        if (gradient_files_read(entry->folder, loaded->tests[i], err))
            return -1;
    }
    bool random = test_case_draws_numbers(loaded->tests[0]);
    for (size_t i = 0; i < loaded->sets; i++)
        loaded->tests[i]->random = random;
    return 0;
}

int suite_load(const struct suite_case *entry, struct suite_loaded *loaded, struct error *err)
{
    *loaded = (struct suite_loaded){0};
    char *path = file_join(entry->folder, "model.onnx"), *absolute = realpath(path, NULL);
    struct model *model;
    int status = absolute ? model_load(&model, absolute, err) : error_errno(err, "%s", path);
    if (!status && entry->sets)
        status = read_sets(entry, model, loaded, err);
    else if (!status) {
        model_free(model);
        status = error_set(err, ERROR_NOT_FOUND, "%s has no test_data_set_0: add it with input_0.pb",
                           entry->folder);
    }
    free(path);
    free(absolute);
    return status;
}

void suite_unload(struct suite_loaded *loaded)
{
    for (size_t i = 0; i < loaded->sets; i++)
        test_case_free(loaded->tests[i]);
    free(loaded->tests);
    free(loaded->misfit);
    *loaded = (struct suite_loaded){0};
}

int suite_load_one(const char *folder, struct test_case **test, struct error *err)
{
    struct suite suite;
    struct suite_loaded loaded = {0};
    *test = NULL;
    int status = suite_open(&suite, &folder, 1, NULL, err);
    if (!status && suite.count != 1)
        status = error_set(err, ERROR_USAGE, "%s holds %zu cases: name one", folder, suite.count);
    if (!status)
        status = suite_load(&suite.cases[0], &loaded, err);
    if (!status && loaded.misfit)
        status = error_set(err, ERROR_INVALID, "%s", loaded.misfit);
    if (!status)
        *test = test_case_share(loaded.tests[0]);
    suite_unload(&loaded);
    suite_release(&suite);
    return status;
}

int suite_write_value(const char *folder, const char *stem, size_t number, const Onnx__TypeProto *type,
                      const struct value *value, struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/%s_%zu.pb", folder, stem, number);
    int status = type ? data_write_typed(path.data, type, value, NULL) : -1;
    if (status)
        status = data_write(path.data, value, err);
    str_release(&path);
    return status;
}

int suite_write_outputs(const char *folder, const struct model *model, const struct value *outputs,
                        size_t count, struct error *err)
{
    int status = file_make_folders(folder, err);
    for (size_t i = 0; i < count && i < model->graph->n_output && !status; i++)
        status = suite_write_value(folder, "output", i, model->graph->output[i]->type, &outputs[i], err);
    return status;
}

static const Onnx__TypeProto *input_type(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (name && strcmp(model->graph->input[i]->name, name) == 0)
            return model->graph->input[i]->type;
    return NULL;
}

int suite_write(const char *folder, const struct test_case *test, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    const uint8_t *bytes;
    size_t size;
    if (!model || test_case_bytes(test, &bytes, &size, err))
        return -1;
    char *path = file_join(folder, "model.onnx"), *set = file_join(folder, "test_data_set_0");
    int status = file_write(path, bytes, size, err);
    if (!status)
        status = suite_write_outputs(set, model, test->outputs, test->gradient ? 0 : test->n_outputs, err);
    for (size_t i = 0; i < test->n_inputs && !status; i++)
        status = suite_write_value(set, "input", i, input_type(model, test->inputs[i].name), &test->inputs[i],
                                   err);
    if (!status)
        status = write_forbidden(folder, test, err) || gradient_files_write(folder, test, err) ? -1 : 0;
    free(path);
    free(set);
    return status;
}
