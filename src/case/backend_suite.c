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

/* The names of the folders of data sets. One that is no folder of its own, but a link, is told when it is
 * read. */
static size_t find_sets(struct arena *arena, const struct folder *folder, char **names, size_t count,
                        const char ***sets)
{
    size_t found = 0;
    *sets = arena_array(arena, count + 1, sizeof **sets);
    for (size_t i = 0; i < count; i++)
        if (text_starts(names[i], "test_data_set_") && folder_look(folder, names[i]) != ENTRY_FILE)
            (*sets)[found++] = arena_strdup(arena, names[i]);
    return found;
}

/* A folder on the way through those that the user named. */
struct visit {
    const char *root, *within, *name; /* of the case, if it is one; see struct suite_case */
    int depth;
};

static void add_case(struct suite *suite, const struct folder *folder, const struct visit *visit,
                     char **names, size_t count)
{
    suite->cases = memory_grow(suite->cases, &suite->capacity, suite->count + 1, sizeof *suite->cases);
    struct suite_case *entry = &suite->cases[suite->count++];
    *entry = (struct suite_case){.name = arena_strdup(&suite->arena, visit->name),
                                 .folder = arena_strdup(&suite->arena, folder->path),
                                 .root = arena_strdup(&suite->arena, visit->root),
                                 .within = arena_strdup(&suite->arena, visit->within)};
    entry->sets = find_sets(&suite->arena, folder, names, count, &entry->set);
}

static bool wanted(const char *name, const char *pattern)
{
    return !pattern || fnmatch(pattern, name, 0) == 0;
}

static int search(struct suite *suite, const struct folder *folder, const struct visit *visit,
                  const char *pattern, size_t *found, struct error *err);

static int search_below(struct suite *suite, const struct folder *folder, const struct visit *visit,
                        const char *below, const char *pattern, size_t *found, struct error *err)
{
    struct folder inner;
    enum folder_entry kind = folder_look(folder, below);
    char *path = folder_path(folder, below);
    bool is_folder = kind == ENTRY_FOLDER || (kind == ENTRY_OTHER && file_is_folder(path));
    free(path);
    if (!is_folder)
        return 0;
    int status = folder_open(&inner, folder, below, err);
    if (!status) {
        char *within = file_join(visit->within, below), *name = file_join(visit->name, below);
        struct visit next = {visit->root, within, name, visit->depth + 1};
        status = search(suite, &inner, &next, pattern, found, err);
        free(within);
        free(name);
    }
    folder_close(&inner);
    return status;
}

static int search(struct suite *suite, const struct folder *folder, const struct visit *visit,
                  const char *pattern, size_t *found, struct error *err)
{
    char **names;
    size_t count;
    int status = 0;
    if (folder_list(folder, &names, &count, err))
        return -1;
    bool is_case = folder_has(folder, "model.onnx");
    *found += is_case;
    if (is_case && wanted(visit->name, pattern))
        add_case(suite, folder, visit, names, count);
    for (size_t i = 0; i < count && !is_case && status == 0 && visit->depth < SUITE_MAX_DEPTH; i++)
        status = search_below(suite, folder, visit, names[i], pattern, found, err);
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

static int open_folder(struct suite *suite, const char *path, bool several, const char *pattern,
                       struct error *err)
{
    struct folder folder;
    size_t found = 0;
    int status = folder_open(&folder, USERS_PATH, path, err);
    if (!status) {
        char *name = folder_has(&folder, "model.onnx") || several ? folder_name(path) : memory_strdup("");
        struct visit visit = {path, "", name, 0};
        status = search(suite, &folder, &visit, pattern, &found, err);
        free(name);
    }
    folder_close(&folder);
    if (status == 0 && found == 0)
        status = error_set(
            err, ERROR_NOT_FOUND,
            "%s: no model.onnx in or below it; give a folder with model.onnx and test_data_set_0, or a "
            "folder of such",
            path);
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
static int read_values(const struct folder *set, const char *stem, Onnx__ValueInfoProto *const *infos,
                       size_t n_infos, const struct map *inputs, struct value **values, size_t *count,
                       struct error *err)
{
    size_t capacity = 0;
    for (;;) {
        char name[60];
        snprintf(name, sizeof name, "%s_%zu.pb", stem, *count);
        if (!folder_has(set, name))
            return 0;
        *values = memory_grow(*values, &capacity, *count + 1, sizeof **values);
        value_init(&(*values)[*count]);
        char *path = folder_path(set, name);
        int status = *count < n_infos ? data_read(set, name, infos[*count]->type, &(*values)[*count], err)
                                      : error_set(err, ERROR_INVALID, "%s: the model has only %zu %s%s", path,
                                                  n_infos, stem, n_infos == 1 ? "" : "s");
        if (status == 0 && inputs)
            status = inputs_name_fits(inputs, path, (*values)[*count].name, infos[*count]->name, err);
        if (status == 0)
            value_set_name(&(*values)[*count], infos[*count]->name);
        ++*count;
        free(path);
        if (status)
            return -1;
    }
}

/* Files are numbered after the inputs proper where those suffice, else after all that the graph lists. */
static int read_inputs(const struct model *model, const struct folder *set, struct test_case *test,
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
    int status = read_values(set, "input", infos, count, &names, &test->inputs, &test->n_inputs, err);
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

/* A case that is being read: its folder, and what it has there. */
struct reading {
    const struct folder *folder;
    const char *name;
    size_t n_sets;
    const char **sets;
};

static int read_masks(const struct folder *set, struct test_case *test, struct error *err)
{
    for (size_t k = 0; k < test->n_outputs; k++) {
        char name[40];
        const struct value *output = &test->outputs[k];
        snprintf(name, sizeof name, "mask_%zu.pb", k);
        if (!folder_has(set, name))
            continue;
        if (!test->masks)
            test->masks = memory_zeroed(test->n_outputs, sizeof *test->masks);
        struct value *mask = &test->masks[k];
        if (data_read(set, name, NULL, mask, err))
            return -1;
        if (mask->tensors[0].type != DTYPE_BOOL || output->kind != VALUE_TENSOR ||
            !shape_equal(&mask->tensors[0].shape, &output->tensors[0].shape)) {
            error_set(err, ERROR_INVALID, "it is not a bool tensor of the shape of output_%zu.pb", k);
            return folder_prefix(set, name, err);
        }
    }
    return 0;
}

int suite_read_outputs(const struct folder *set, const struct model *model, struct test_case *test,
                       struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    return read_values(set, "output", graph->output, graph->n_output, NULL, &test->outputs, &test->n_outputs,
                       err) ||
                   read_masks(set, test, err)
               ? -1
               : 0;
}

static int read_set(const struct reading *reading, size_t number, const struct model *model,
                    struct suite_loaded *loaded, struct error *err)
{
    struct test_case *test = loaded->tests[number];
    struct folder set;
    test_case_set_name(test, reading->name);
    int status = folder_open(&set, reading->folder, reading->sets[number], err) ||
                 read_inputs(model, &set, test, err) || suite_read_outputs(&set, model, test, err);
    if (!status) {
        note_misfit(loaded, model, test, set.path);
        loaded->size +=
            values_size(test->inputs, test->n_inputs) + values_size(test->outputs, test->n_outputs);
    }
    folder_close(&set);
    return status ? -1 : 0;
}

/* Who forbids a model, in forbidden.txt; the next lines say why and, where it is known, at which node. */
static const char *const forbidders[] = {[FORBIDDEN_BY_CHECKER] = "checker",
                                         [FORBIDDEN_BY_INFERENCE] = "inference",
                                         [FORBIDDEN_BY_REFERENCE] = "reference"};
enum { FORBIDDERS = sizeof forbidders / sizeof *forbidders, FORBIDDEN_SIZE = 4096 };

static int write_forbidden(const struct folder *folder, const struct test_case *test, struct error *err)
{
    struct str text;
    if (!test->forbidden)
        return 0;
    str_init(&text);
    str_printf(&text, "%s\n%s\n", forbidders[test->forbidden], test->forbidden_why);
    if (test->forbidden_node)
        str_printf(&text, "%s\n", test->forbidden_node);
    int status = folder_write(folder, "forbidden.txt", text.data, text.length, err);
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
static int read_forbidden(const struct folder *folder, struct test_case *test, struct error *err)
{
    struct error why = {0};
    char *text = NULL;
    size_t size;
    if (!folder_has(folder, "forbidden.txt"))
        return 0;
    if (folder_read(folder, "forbidden.txt", FORBIDDEN_SIZE, &text, &size, &why))
        return why.code == ERROR_LIMIT ? 0 : error_set(err, why.code, "%s", why.message);
    char *line = memchr(text, '\n', size);
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
    return 0;
}

static int read_sets(const struct reading *reading, struct model *model, struct suite_loaded *loaded,
                     struct error *err)
{
    loaded->tests = memory_zeroed(reading->n_sets, sizeof(struct test_case *));
    loaded->size = model_size(model);
    for (size_t i = 0; i < reading->n_sets; i++) {
        loaded->tests[i] = i ? test_case_same_model(loaded->tests[0]) : test_case_new(model);
        loaded->sets++;
        if (read_set(reading, i, model, loaded, err) ||
            read_forbidden(reading->folder, loaded->tests[i], err) ||
            gradient_files_read(reading->folder, loaded->tests[i], err))
            return -1;
    }
    bool random = test_case_draws_numbers(loaded->tests[0]);
    for (size_t i = 0; i < loaded->sets; i++)
        loaded->tests[i]->random = random;
    return 0;
}

static int load_case(const struct reading *reading, struct suite_loaded *loaded, struct error *err)
{
    struct model *model;
    if (model_load_in(&model, reading->folder, "model.onnx", err))
        return -1;
    if (reading->n_sets)
        return read_sets(reading, model, loaded, err);
    model_free(model);
    return error_set(err, ERROR_NOT_FOUND, "%s has no test_data_set_0: add it with input_0.pb",
                     reading->folder->path);
}

int suite_case_open(struct folder *folder, const struct suite_case *entry, struct error *err)
{
    struct folder root;
    if (!*entry->within)
        return folder_open(folder, USERS_PATH, entry->root, err);
    *folder = (struct folder){0};
    int status = folder_open(&root, USERS_PATH, entry->root, err);
    if (!status)
        status = folder_open(folder, &root, entry->within, err);
    folder_close(&root);
    return status;
}

int suite_load(const struct suite_case *entry, struct suite_loaded *loaded, struct error *err)
{
    struct folder folder;
    *loaded = (struct suite_loaded){0};
    int status = suite_case_open(&folder, entry, err);
    if (!status) {
        struct reading reading = {&folder, entry->name, entry->sets, entry->set};
        status = load_case(&reading, loaded, err);
    }
    folder_close(&folder);
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

/* The first data set of a case that was read without a failure; the case is unloaded in any case. */
static int take_first(struct suite_loaded *loaded, struct test_case **test, int status, struct error *err)
{
    if (!status && loaded->misfit)
        status = error_set(err, ERROR_INVALID, "%s", loaded->misfit);
    if (!status)
        *test = test_case_share(loaded->tests[0]);
    suite_unload(loaded);
    return status;
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
    status = take_first(&loaded, test, status, err);
    suite_release(&suite);
    return status;
}

int suite_load_in(const struct folder *in, const char *name, struct test_case **test, struct error *err)
{
    struct folder folder;
    struct suite_loaded loaded = {0};
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    *test = NULL;
    arena_init(&arena);
    int status = folder_open(&folder, in, name, err) || folder_list(&folder, &names, &count, err) ? -1 : 0;
    if (!status) {
        struct reading reading = {.folder = &folder, .name = file_base(name)};
        reading.n_sets = find_sets(&arena, &folder, names, count, &reading.sets);
        status = load_case(&reading, &loaded, err);
    }
    status = take_first(&loaded, test, status, err);
    file_names_free(names, count);
    folder_close(&folder);
    arena_release(&arena);
    return status;
}

int suite_write_value(const struct folder *in, const char *name, const char *stem, size_t number,
                      const Onnx__TypeProto *type, const struct value *value, struct error *err)
{
    struct str file;
    str_init(&file);
    str_printf(&file, "%s/%s_%zu.pb", name, stem, number);
    int status = type ? data_write_typed(in, file.data, type, value, NULL) : -1;
    if (status)
        status = data_write(in, file.data, value, err);
    str_release(&file);
    return status;
}

int suite_write_outputs(const struct folder *in, const char *name, const struct model *model,
                        const struct value *outputs, size_t count, struct error *err)
{
    int status = folder_make_all(in, name, err);
    for (size_t i = 0; i < count && i < model->graph->n_output && !status; i++)
        status = suite_write_value(in, name, "output", i, model->graph->output[i]->type, &outputs[i], err);
    return status;
}

static const Onnx__TypeProto *input_type(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (name && strcmp(model->graph->input[i]->name, name) == 0)
            return model->graph->input[i]->type;
    return NULL;
}

int suite_write(const struct folder *folder, const struct test_case *test, struct error *err)
{
    static const char set[] = "test_data_set_0";
    const struct model *model = test_case_model(test, err);
    const uint8_t *bytes;
    size_t size;
    if (!model || test_case_bytes(test, &bytes, &size, err))
        return -1;
    int status = folder_write(folder, "model.onnx", bytes, size, err);
    if (!status)
        status =
            suite_write_outputs(folder, set, model, test->outputs, test->gradient ? 0 : test->n_outputs, err);
    for (size_t i = 0; i < test->n_inputs && !status; i++)
        status = suite_write_value(folder, set, "input", i, input_type(model, test->inputs[i].name),
                                   &test->inputs[i], err);
    if (!status)
        status = write_forbidden(folder, test, err) || gradient_files_write(folder, test, err) ? -1 : 0;
    return status;
}

int suite_write_path(const char *path, const struct test_case *test, struct error *err)
{
    struct folder folder;
    int status = folder_make(&folder, USERS_PATH, path, err);
    if (!status)
        status = suite_write(&folder, test, err);
    folder_close(&folder);
    return status;
}
