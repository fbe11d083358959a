#include "recorded/dump.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/inputs_files.h"
#include "model/npz.h"

#include <stdlib.h>
#include <string.h>

enum { MAP_LIMIT = 1 << 20 };

/* While a recording is read. */
struct reader {
    struct dump *recording;
    const struct model *model;
    struct model_index index;
    struct map mapped; /* the name in the recording -> number in targets */
    size_t n_targets, capacity;
    const char **targets; /* values of the model */
    bool *met;            /* each was in the recording */
    size_t room;
};

static const char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* The value that a node of this name gives first; NULL when there is none. */
static const char *of_node(const struct model *model, const char *name)
{
    size_t number = graph_find_node(model->graph, name);
    if (number == model->graph->n_node || model->graph->node[number]->n_output == 0)
        return NULL;
    return model->graph->node[number]->output[0];
}

static int add_target(struct reader *reader, const char *name, const char *target, size_t line,
                      const char *path, struct error *err)
{
    struct arena *arena = &reader->recording->arena;
    const char *value = model_index_find(&reader->index, target) ? target : of_node(reader->model, target);
    if (!value)
        return error_set(err, ERROR_INVALID, "%s:%zu: the model has no value or node %s", path, line, target);
    reader->targets =
        memory_grow(reader->targets, &reader->capacity, reader->n_targets + 1, sizeof *reader->targets);
    reader->targets[reader->n_targets] = arena_strdup(arena, value);
    map_set(&reader->mapped, arena_strdup(arena, name), reader->n_targets++);
    return 0;
}

static int read_line(struct reader *reader, char *line, size_t number, const char *path, struct error *err)
{
    const char *text = trim(line);
    if (!*text || *text == '#')
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return error_set(err, ERROR_INVALID,
                         "%s:%zu: no '=': a line is 'name in the recording = name in the model'", path,
                         number);
    *equals = '\0';
    const char *name = trim(line), *target = trim(equals + 1);
    return add_target(reader, name, target, number, path, err);
}

static int read_map(struct reader *reader, const char *path, struct error *err)
{
    char *data;
    size_t size, number = 0;
    if (file_read(path, MAP_LIMIT, &data, &size, err))
        return -1;
    int status = memchr(data, 0, size) ? error_set(err, ERROR_INVALID, "%s is not text", path) : 0;
    char *text = memory_zeroed(size + 1, 1);
    memcpy(text, data, size);
    for (char *line = text, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        status = read_line(reader, line, ++number, path, err);
    }
    free(text);
    free(data);
    return status;
}

/* "/layer1/layer1.0/conv1/Conv" as the path of its module, layer1.0.conv1, on the heap. */
static char *module_of(const char *name)
{
    struct str path;
    str_init(&path);
    while (*name == '/') {
        const char *part = name + 1, *end = strchr(part, '/');
        if (!end)
            break;
        char *word = memory_zeroed((size_t)(end - part) + 1, 1);
        memcpy(word, part, (size_t)(end - part));
        size_t before = path.length;
        bool whole = before && text_starts(word, path.data) && word[before] == '.';
        if (whole)
            str_clear(&path);
        else if (before)
            str_add(&path, ".");
        str_add(&path, word);
        free(word);
        name = end;
    }
    return str_detach(&path);
}

/* The output of the last node of a module. */
static const char *of_module(const struct reader *reader, const char *name)
{
    const Onnx__GraphProto *graph = reader->model->graph;
    const char *found = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[reader->index.order[i]];
        if (!node->n_output || *model_node_name(node) != '/')
            continue;
        char *module = module_of(model_node_name(node));
        if (module && text_starts(module, name) && (module[length] == '.' || !module[length]))
            found = node->output[0];
        free(module);
    }
    return found;
}

/* The value of the model that an array is of; NULL when it is of none. */
static const char *value_of(struct reader *reader, const char *name)
{
    size_t number;
    long long place;
    const Onnx__GraphProto *graph = reader->model->graph;
    if (map_get(&reader->mapped, name, &number)) {
        reader->met[number] = true;
        return reader->targets[number];
    }
    if (model_index_find(&reader->index, name))
        return name;
    if (text_starts(name, "output_") && text_int64(name + strlen("output_"), &place) && place >= 0 &&
        (size_t)place < graph->n_output)
        return graph->output[place]->name;
    const char *value = of_node(reader->model, name);
    return value ? value : of_module(reader, name);
}

/* Takes over the array, whatever becomes of it. */
static void add_array(struct reader *reader, const char *name, struct tensor *array)
{
    struct dump *recording = reader->recording;
    const char *value = value_of(reader, name);
    const struct index_value *known = value ? model_index_find(&reader->index, value) : NULL;
    if (!known || known->source == SOURCE_INITIALIZER || !dtype_is_real(array->type)) {
        recording->unused[recording->n_unused++] = arena_strdup(&recording->arena, name);
        tensor_release(array);
        return;
    }
    recording->values[recording->count++] =
        (struct recorded_value){.name = arena_strdup(&recording->arena, name),
                                .value = arena_strdup(&recording->arena, known->name),
                                .input = known->source == SOURCE_INPUT,
                                .node = known->source == SOURCE_NODE ? known->number : 0,
                                .array = *array};
}

static void make_room(struct dump *recording, size_t count)
{
    recording->values = arena_array(&recording->arena, count, sizeof *recording->values);
    recording->unused = arena_array(&recording->arena, count, sizeof *recording->unused);
}

static int read_arrays(struct reader *reader, const char *path, struct error *err)
{
    struct npz npz;
    int status = npz_open(&npz, path, err);
    if (!status)
        make_room(reader->recording, npz.count);
    for (size_t i = 0; !status && i < npz.count; i++) {
        struct tensor array;
        status = npz_read(&npz, &npz.arrays[i], &array, err);
        if (!status)
            add_array(reader, npz.arrays[i].name, &array);
    }
    npz_close(&npz);
    return status;
}

static int read_one(struct reader *reader, const char *path, struct error *err)
{
    struct tensor array;
    if (inputs_read_tensor(path, &array, err))
        return -1;
    make_room(reader->recording, 1);
    add_array(reader, "output_0", &array);
    return 0;
}

/* Where the model computes it: inputs before all nodes. */
static size_t place_of(const struct model_index *index, const struct recorded_value *value)
{
    return value->input ? 0 : 1 + index->position[value->node];
}

/* Whether a comes after b: by where the model computes them, and by the outputs of one node. */
static bool is_after(const struct model_index *index, const struct recorded_value *a,
                     const struct recorded_value *b)
{
    size_t x = place_of(index, a), y = place_of(index, b);
    return x != y ? x > y : text_compare(a->value, b->value) > 0;
}

static void sort(struct reader *reader)
{
    struct recorded_value *values = reader->recording->values;
    for (size_t i = 1; i < reader->recording->count; i++)
        for (size_t k = i; k && is_after(&reader->index, &values[k - 1], &values[k]); k--) {
            struct recorded_value kept = values[k];
            values[k] = values[k - 1];
            values[k - 1] = kept;
        }
}

static int check_use(const struct reader *reader, const char *map, struct error *err)
{
    for (size_t i = 0; i < reader->n_targets; i++)
        if (!reader->met[i])
            return error_set(err, ERROR_INVALID, "%s: the recording %s has nothing for %s of the model", map,
                             reader->recording->path, reader->targets[i]);
    if (reader->recording->count == 0)
        return error_set(err, ERROR_INVALID,
                         "%s has no value of the model: call arrays as its values or outputs (output_0), or "
                         "give --map FILE with lines 'name in the recording = name in the model'",
                         reader->recording->path);
    return 0;
}

static int begin_reader(struct reader *reader, struct dump *recording, const struct model *model,
                        const char *path, struct error *err)
{
    *reader = (struct reader){.recording = recording, .model = model};
    *recording = (struct dump){0};
    arena_init(&recording->arena);
    recording->path = arena_strdup(&recording->arena, path);
    if (model_index_init(&reader->index, model, err))
        return -1;
    map_init(&reader->mapped);
    return 0;
}

static int end_reader(struct reader *reader, int status, const char *map, struct error *err)
{
    if (!status)
        status = check_use(reader, map, err);
    if (!status)
        sort(reader);
    map_release(&reader->mapped);
    free(reader->targets);
    free(reader->met);
    model_index_release(&reader->index);
    return status;
}

int dump_open(struct dump *recording, const struct model *model, const char *path, const char *map,
              struct error *err)
{
    struct reader reader;
    if (begin_reader(&reader, recording, model, path, err))
        return -1;
    int status = map ? read_map(&reader, map, err) : 0;
    reader.met = memory_zeroed(reader.n_targets + 1, sizeof *reader.met);
    if (!status)
        status = text_ends(path, ".npz") ? read_arrays(&reader, path, err) : read_one(&reader, path, err);
    return end_reader(&reader, status, map, err);
}

int dump_of_values(struct dump *recording, const struct model *model, const struct value *values,
                   size_t count, struct error *err)
{
    struct reader reader;
    int status = 0;
    if (begin_reader(&reader, recording, model, "the list of values", err))
        return -1;
    make_room(recording, count);
    for (size_t i = 0; i < count && !status; i++) {
        char number[40];
        struct tensor array;
        snprintf(number, sizeof number, "output_%zu", i);
        status = tensor_copy(&array, &values[i].tensors[0], err);
        if (!status)
            add_array(&reader, values[i].name ? values[i].name : number, &array);
    }
    return end_reader(&reader, status, NULL, err);
}

void dump_close(struct dump *recording)
{
    for (size_t i = 0; i < recording->count; i++)
        tensor_release(&recording->values[i].array);
    arena_release(&recording->arena);
}

bool dump_sample(const struct recorded_value *value, size_t sample, size_t samples, size_t count,
                 struct tensor *tensor)
{
    const struct tensor *array = &value->array;
    struct shape shape = array->shape;
    if (samples == 1 && array->count == count)
        return !tensor_copy(tensor, array, NULL);
    if (shape.rank < 1 || (size_t)shape.dims[0] != samples || array->count != samples * count)
        return false;
    shape.dims[0] = 1;
    size_t bytes = array->size / samples;
    return !tensor_from_bytes(tensor, array->type, &shape, (const char *)array->data + sample * bytes, bytes,
                              NULL);
}
