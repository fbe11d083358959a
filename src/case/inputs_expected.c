#include "case/inputs_expected.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/inputs_files.h"
#include "model/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void output_names_init(struct output_names *names, const struct inputs *inputs)
{
    const Onnx__GraphProto *graph = inputs->model->graph;
    struct map taken;
    map_init(&taken);
    map_init(&names->map);
    arena_init(&names->arena);
    for (size_t i = 0; i < inputs->count; i++)
        map_set(&taken, inputs->slots[i].name, i);
    /* A name wins over a number that reads like it. */
    for (int named = 0; named < 2; named++)
        for (size_t i = 0; i < graph->n_output; i++) {
            const char *name = named ? graph->output[i]->name : arena_printf(&names->arena, "output_%zu", i);
            if (name && *name && !map_has(&taken, name))
                map_set(&names->map, name, i);
        }
    map_release(&taken);
}

void output_names_release(struct output_names *names)
{
    map_release(&names->map);
    arena_release(&names->arena);
}

/* The names that an output may go by, its own first; NULL where the name is another's. */
struct stems {
    char numbered[40];
    const char *items[2];
};

static void stems_of(struct stems *stems, const struct inputs *inputs, const struct output_names *names,
                     size_t place)
{
    size_t owner;
    snprintf(stems->numbered, sizeof stems->numbered, "output_%zu", place);
    stems->items[0] = inputs->model->graph->output[place]->name;
    stems->items[1] = stems->numbered;
    for (size_t i = 0; i < 2; i++)
        if (!stems->items[i] || !map_get(&names->map, stems->items[i], &owner) || owner != place)
            stems->items[i] = NULL;
}

static char *find_file(const struct inputs *inputs, const struct output_names *names, const char *folder,
                       size_t place)
{
    struct stems stems;
    char *path = NULL;
    stems_of(&stems, inputs, names, place);
    for (size_t i = 0; i < 2 && !path; i++)
        path = stems.items[i] ? inputs_find_file(folder, stems.items[i]) : NULL;
    return path;
}

/* One sample of the array: without the first axis where the model's output has one axis less, else with it
 * at 1.
 */
static int cut(struct inputs *inputs, struct inputs_output *output, const char *path, struct error *err)
{
    const struct shape *shape = &output->array.shape;
    int declared = inputs_declared_rank(output->type);
    output->element = *shape;
    if (inputs->samples == 1 && !(shape->rank == declared + 1 && declared >= 0 && shape->dims[0] == 1))
        return 0;
    if (shape->rank < 1 || shape->dims[0] < 0 || (size_t)shape->dims[0] != inputs->samples ||
        output->array.type == DTYPE_STRING)
        return error_set(err, ERROR_INVALID,
                         "%s: the expected output %s has %" PRId64 " along its first axis, and there are %zu "
                         "samples: give as many of each",
                         path, output->name, shape->rank ? shape->dims[0] : 0, inputs->samples);
    if (declared == shape->rank - 1)
        output->element = shape_make(declared, shape->dims + 1);
    else
        output->element.dims[0] = 1;
    return 0;
}

static struct inputs_output *add_output(struct inputs *inputs, size_t place)
{
    const Onnx__GraphProto *graph = inputs->model->graph;
    const Onnx__ValueInfoProto *info = graph->output[place];
    if (!inputs->outputs)
        inputs->outputs = arena_array(&inputs->arena, graph->n_output, sizeof *inputs->outputs);
    struct inputs_output *output = &inputs->outputs[inputs->n_outputs++];
    *output = (struct inputs_output){.name = arena_strdup(&inputs->arena, info->name ? info->name : ""),
                                     .type = info->type,
                                     .place = place};
    tensor_init(&output->array);
    return output;
}

void inputs_unused(struct inputs *inputs, const char *name)
{
    inputs->unused =
        memory_grow(inputs->unused, &inputs->unused_capacity, inputs->n_unused + 1, sizeof *inputs->unused);
    inputs->unused[inputs->n_unused++] = arena_strdup(&inputs->arena, name);
}

static const struct npz_array *find_array(const struct inputs *inputs, const struct output_names *names,
                                          const struct npz *npz, size_t place)
{
    struct stems stems;
    const struct npz_array *array = NULL;
    stems_of(&stems, inputs, names, place);
    for (size_t i = 0; i < 2 && !array; i++)
        array = stems.items[i] ? npz_find(npz, stems.items[i]) : NULL;
    return array;
}

int inputs_expect_npz(struct inputs *inputs, const struct npz *npz, const char *path, bool *used,
                      struct error *err)
{
    const Onnx__GraphProto *graph = inputs->model->graph;
    struct output_names names;
    int status = 0;
    output_names_init(&names, inputs);
    for (size_t i = 0; i < graph->n_output && status == 0; i++) {
        const struct npz_array *array = find_array(inputs, &names, npz, i);
        if (!array)
            continue;
        struct inputs_output *output = add_output(inputs, i);
        used[array - npz->arrays] = true;
        if (npz_read(npz, array, &output->array, err))
            status = error_prefix(err, "%s", path);
        else
            status = cut(inputs, output, path, err);
    }
    output_names_release(&names);
    return status;
}

int inputs_expect_files(struct inputs *inputs, const char *folder, struct error *err)
{
    const Onnx__GraphProto *graph = inputs->model->graph;
    struct output_names names;
    int status = 0;
    output_names_init(&names, inputs);
    for (size_t i = 0; i < graph->n_output && status == 0; i++) {
        char *path = find_file(inputs, &names, folder, i);
        if (path) {
            struct inputs_output *output = add_output(inputs, i);
            status = inputs_read_tensor(path, &output->array, err) || cut(inputs, output, path, err) ? -1 : 0;
        }
        free(path);
    }
    output_names_release(&names);
    return status;
}

/* Files of data, by their ending; labels may be those of another model. */
static bool is_data(const char *name)
{
    return (text_ends(name, ".npy") || text_ends(name, ".npz") || text_ends(name, ".pb")) &&
           !text_starts(name, "labels");
}

void inputs_unused_files(struct inputs *inputs, const char *folder, struct map *used)
{
    struct output_names outputs;
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, NULL))
        return;
    output_names_init(&outputs, inputs);
    for (size_t i = 0; i < inputs->model->graph->n_output; i++) {
        char *path = find_file(inputs, &outputs, folder, i);
        if (path)
            map_set(used, arena_strdup(&inputs->arena, file_base(path)), i);
        free(path);
    }
    for (size_t i = 0; i < count; i++)
        if (is_data(names[i]) && !map_has(used, names[i]))
            inputs_unused(inputs, names[i]);
    output_names_release(&outputs);
    file_names_free(names, count);
}

static int expect_array(const struct inputs *inputs, const struct inputs_output *output, size_t sample,
                        struct value *value, struct error *err)
{
    size_t size = output->array.size / inputs->samples;
    struct tensor tensor;
    if (tensor_from_bytes(&tensor, output->array.type, &output->element,
                          (const char *)output->array.data + sample * size, size, err))
        return -1;
    value_set_tensor(value, &tensor);
    value_set_name(value, output->name);
    return 0;
}

/* A file for an output that the model does not have is a mistake of whoever wrote it. */
static int no_more_outputs(const struct inputs *inputs, const char *folder, struct error *err)
{
    size_t count = inputs->model->graph->n_output;
    char stem[40];
    snprintf(stem, sizeof stem, "output_%zu", count);
    char *path = inputs_find_file(folder, stem);
    if (!path)
        return 0;
    int status = error_set(err, ERROR_INVALID, "%s: the model has only %zu output%s", path, count,
                           count == 1 ? "" : "s");
    free(path);
    return status;
}

static int expect_folder(const struct inputs *inputs, const char *folder, struct inputs_expected *expected,
                         struct error *err)
{
    const Onnx__GraphProto *graph = inputs->model->graph;
    struct output_names names;
    int status = 0;
    if (!file_is_folder(folder))
        return 0;
    output_names_init(&names, inputs);
    for (size_t i = 0; i < graph->n_output && status == 0; i++) {
        char *path = find_file(inputs, &names, folder, i);
        if (path) {
            struct value *value = &expected->values[expected->count];
            expected->places[expected->count++] = i;
            status = data_read(USERS_PATH, path, graph->output[i]->type, value, err);
            value_set_name(value, graph->output[i]->name);
        }
        free(path);
    }
    output_names_release(&names);
    return status ? status : no_more_outputs(inputs, folder, err);
}

int inputs_expected(const struct inputs *inputs, size_t sample, struct inputs_expected *expected,
                    struct error *err)
{
    size_t most = inputs->model->graph->n_output;
    *expected = (struct inputs_expected){0};
    if (inputs->kind == INPUTS_RANDOM)
        return 0;
    expected->values = memory_zeroed(most + 1, sizeof *expected->values);
    expected->places = memory_zeroed(most + 1, sizeof *expected->places);
    for (size_t i = 0; i < most; i++)
        value_init(&expected->values[i]);
    if (inputs->kind == INPUTS_FOLDERS)
        return expect_folder(inputs, inputs->folders[sample], expected, err);
    for (size_t i = 0; i < inputs->n_outputs; i++) {
        expected->places[i] = inputs->outputs[i].place;
        expected->count++;
        if (expect_array(inputs, &inputs->outputs[i], sample, &expected->values[i], err))
            return -1;
    }
    return 0;
}

void inputs_expected_release(struct inputs_expected *expected)
{
    values_free(expected->values, expected->count);
    free(expected->places);
    *expected = (struct inputs_expected){0};
}
