#include "case/inputs_read.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/idx.h"
#include "case/inputs_expected.h"
#include "case/inputs_files.h"
#include "case/inputs_fit.h"
#include "model/data.h"
#include "model/npz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_LIMIT = 1 << 28, LISTED = 8 };

static char *find_input(const struct inputs *inputs, const char *folder, size_t number)
{
    char stem[40];
    snprintf(stem, sizeof stem, "input_%zu", number);
    char *path = inputs_find_file(folder, stem);
    return path ? path : inputs_find_file(folder, inputs->slots[number].name);
}

/* A file for an input that the model does not have is a mistake of whoever wrote it. */
static int no_more_inputs(const struct inputs *inputs, const char *folder, struct error *err)
{
    char stem[40];
    snprintf(stem, sizeof stem, "input_%zu", inputs->count);
    char *path = inputs_find_file(folder, stem);
    if (!path)
        return 0;
    int status = error_set(err, ERROR_INVALID, "%s: the model has only %zu input%s", path, inputs->count,
                           inputs->count == 1 ? "" : "s");
    free(path);
    return status;
}

/* What is there instead of what was looked for: "; it has a, b and 3 more". */
static void list_found(struct str *out, const char *const *names, size_t count)
{
    str_add(out, count ? "; it has " : "; it is empty");
    for (size_t i = 0; i < count && i < LISTED; i++)
        str_printf(out, "%s%s", i ? ", " : "", names[i]);
    if (count > LISTED)
        str_printf(out, " and %zu more", count - LISTED);
}

static int no_input_file(const struct inputs *inputs, const char *folder, size_t number, struct error *err)
{
    const char *name = inputs->slots[number].name;
    char **names = NULL;
    size_t count = 0;
    struct str found;
    str_init(&found);
    if (file_list(folder, &names, &count, NULL) == 0)
        list_found(&found, (const char *const *)names, count);
    int status = error_set(
        err, ERROR_NOT_FOUND,
        "%s has no data for input %s: looked for input_%zu.pb, input_%zu.npy, %s.pb and %s.npy, for folders "
        "test_data_set_0, test_data_set_1 ... with such files, for samples%s.npy and for MNIST's idx3-ubyte "
        "files%s",
        folder, name, number, number, name, name, inputs->count > 1 ? "_0" : "", found.data);
    file_names_free(names, count);
    str_release(&found);
    return status;
}

/* single: the path is that of one file, for the one input. */
static int read_input(const struct inputs *inputs, const char *folder, bool single, size_t number,
                      const struct map *names, struct value *value, struct error *err)
{
    const struct inputs_slot *slot = &inputs->slots[number];
    char *path = single ? memory_strdup(folder) : find_input(inputs, folder, number);
    if (!path)
        return no_input_file(inputs, folder, number, err);
    int status = data_read(USERS_PATH, path, slot->type, value, err);
    if (status == 0)
        status = inputs_name_fits(names, path, value->name, slot->name, err);
    if (status == 0)
        value_set_name(value, slot->name);
    free(path);
    return status;
}

int inputs_folder(const struct inputs *inputs, const char *folder, struct value *values, struct error *err)
{
    bool single = !file_is_folder(folder);
    struct map names;
    int status = 0;
    inputs_names(&names, inputs->model);
    for (size_t i = 0; i < inputs->count && status == 0; i++)
        status = read_input(inputs, folder, single, i, &names, &values[i], err);
    map_release(&names);
    return status || single ? status : no_more_inputs(inputs, folder, err);
}

/* One sample of the array: without the first axis when the model's input has one axis less, else with it
 * at 1. */
static int choose_samples(struct inputs_slot *slot, const char *path, struct error *err)
{
    const struct shape *shape = &slot->array.shape;
    if (shape->rank < 1 || shape->dims[0] < 1 || slot->array.type == DTYPE_STRING)
        return error_set(err, ERROR_FORMAT, "%s: the first axis must count the samples", path);
    int rank = inputs_declared_rank(slot->type);
    if (rank == shape->rank - 1) {
        slot->element = shape_make(rank, shape->dims + 1);
    } else if (rank == shape->rank || rank == -1) {
        slot->element = *shape;
        slot->element.dims[0] = 1;
    } else {
        return error_set(err, ERROR_INVALID, "%s has %d axes, input %s of the model has %d", path,
                         shape->rank, slot->name, rank);
    }
    return 0;
}

/* The shape the model declares for an input; rank 0 when a dimension behind the first is open. */
static struct shape declared_shape(const Onnx__TypeProto *type)
{
    struct shape shape = {.rank = inputs_declared_rank(type)};
    if (shape.rank < 1 || shape.rank > TENSOR_MAX_RANK)
        return (struct shape){0};
    for (int i = 1; i < shape.rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->tensor_type->shape->dim[i];
        if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || dim->dim_value < 0 ||
            dim->dim_value > INT32_MAX)
            return (struct shape){0};
        shape.dims[i] = dim->dim_value;
    }
    return shape;
}

static int read_samples(const struct inputs_slot *slot, const char *path, struct tensor *tensor,
                        struct error *err)
{
    if (!text_ends(path, "-ubyte"))
        return inputs_read_tensor(path, tensor, err);
    bool floats = slot->type && slot->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                  slot->type->tensor_type->elem_type == DTYPE_FLOAT;
    struct shape like = declared_shape(slot->type);
    return idx_images(path, floats, &like, tensor, err);
}

static int add_array(struct inputs *inputs, size_t number, const char *path, struct error *err)
{
    struct inputs_slot *slot = &inputs->slots[number];
    if (read_samples(slot, path, &slot->array, err) || choose_samples(slot, path, err))
        return -1;
    size_t samples = (size_t)slot->array.shape.dims[0];
    if (number > 0 && samples != inputs->samples)
        return error_set(err, ERROR_INVALID, "%s has %zu samples, the input before it %zu", path, samples,
                         inputs->samples);
    inputs->samples = samples;
    return 0;
}

/* The name of a file without its ending; on the heap. */
static char *stem_of(const char *name)
{
    char *stem = memory_strdup(name), *dot = strrchr(stem, '.');
    if (dot)
        *dot = '\0';
    return stem;
}

/* The only .npy beside labels, on the heap; NULL when there is none or more than one. Expected outputs may be
 * beside it, too, and in place of labels where its name is not that of the input, which is one sample. */
static char *only_array(const struct inputs *inputs, const char *folder, char **names, size_t count)
{
    size_t arrays = 0;
    bool labels = false, expected = false, is_input = false;
    const char *found = NULL;
    struct output_names outputs;
    output_names_init(&outputs, inputs);
    for (size_t i = 0; i < count; i++) {
        char *stem = stem_of(names[i]);
        if (text_starts(names[i], "labels")) {
            labels = true;
        } else if (map_has(&outputs.map, stem)) {
            expected = true;
        } else if (text_ends(names[i], ".npy")) {
            is_input = text_equal(stem, inputs->slots[0].name) || text_equal(stem, "input_0");
            found = names[i];
            arrays++;
        }
        free(stem);
    }
    output_names_release(&outputs);
    return arrays == 1 && (labels || (expected && !is_input)) ? file_join(folder, found) : NULL;
}

/* The IDX file of images or labels, on the heap; the test set where the training set lies beside it. */
static char *idx_file(const char *folder, char **names, size_t count, const char *what)
{
    const char *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (text_ends(names[i], what) && !(found && text_starts(names[i], "train-")))
            found = names[i];
    return found ? file_join(folder, found) : NULL;
}

/* 1 when the folder is a data set of arrays, 0 when it is not. */
static int read_arrays(struct inputs *inputs, const char *folder, char **names, size_t count,
                       struct map *used, struct error *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        char stem[40];
        snprintf(stem, sizeof stem, inputs->count == 1 ? "samples" : "samples_%zu", i);
        char *path = inputs_find_file(folder, stem);
        if (!path && inputs->count == 1)
            path = only_array(inputs, folder, names, count);
        if (!path && inputs->count == 1)
            path = idx_file(folder, names, count, "-images-idx3-ubyte");
        if (!path)
            return 0;
        int status = add_array(inputs, i, path, err);
        map_set(used, arena_strdup(&inputs->arena, file_base(path)), i);
        free(path);
        if (status)
            return -1;
    }
    inputs->kind = INPUTS_ARRAYS;
    return inputs->count > 0 ? inputs_expect_files(inputs, folder, err) ? -1 : 1 : 0;
}

static int read_folders(struct inputs *inputs, const char *folder, char **names, size_t count)
{
    inputs->kind = INPUTS_FOLDERS;
    inputs->folders = arena_array(&inputs->arena, count + 1, sizeof *inputs->folders);
    for (size_t i = 0; i < count; i++)
        if (text_starts(names[i], "test_data_set_"))
            inputs->folders[inputs->samples++] = arena_printf(&inputs->arena, "%s/%s", folder, names[i]);
    if (inputs->samples == 0)
        inputs->folders[inputs->samples++] = arena_strdup(&inputs->arena, folder);
    struct map used;
    map_init(&used);
    for (size_t i = 0; i < inputs->count; i++) {
        char *path = find_input(inputs, inputs->folders[0], i);
        if (path)
            map_set(&used, arena_strdup(&inputs->arena, file_base(path)), i);
        free(path);
    }
    inputs_unused_files(inputs, inputs->folders[0], &used);
    map_release(&used);
    return 0;
}

/* Whole, non-negative numbers, one a sample, are classes; anything else is the true output. */
static int set_truth(struct inputs *inputs, double *numbers, size_t count, const char *path,
                     struct error *err)
{
    if (count == 0 || count % inputs->samples)
        return error_set(err, ERROR_INVALID, "%s: %zu numbers for %zu samples", path, count, inputs->samples);
    inputs->truth = numbers;
    inputs->truth_size = count / inputs->samples;
    return 0;
}

static void truth_to_classes(struct inputs *inputs)
{
    if (inputs->truth_size != 1)
        return;
    for (size_t i = 0; i < inputs->samples; i++)
        if (!(inputs->truth[i] >= 0 && inputs->truth[i] < 1e9 && floor(inputs->truth[i]) == inputs->truth[i]))
            return;
    inputs->classes = memory_zeroed(inputs->samples, sizeof *inputs->classes);
    for (size_t i = 0; i < inputs->samples; i++)
        inputs->classes[i] = (size_t)inputs->truth[i];
    free(inputs->truth);
    inputs->truth = NULL;
    inputs->truth_size = 0;
}

/* floats is set when any number is written like 1.0 or 1e0: a regression whose truths happen to be whole. */
static int read_label_text(struct inputs *inputs, const char *path, bool *floats, struct error *err)
{
    char *text;
    size_t size, count = 0, capacity = 0;
    double *numbers = NULL;
    if (file_read(path, LABELS_LIMIT, &text, &size, err))
        return -1;
    int status = 0;
    for (char *rest = text, *word; status == 0 && (word = strtok_r(rest, " \t\r\n,", &rest));) {
        numbers = memory_grow(numbers, &capacity, count + 1, sizeof *numbers);
        *floats |= strpbrk(word, ".eE") != NULL;
        if (!text_double(word, &numbers[count++]))
            status = error_set(err, ERROR_FORMAT, "%s: '%.40s' is not a number", path, word);
    }
    if (status == 0)
        status = set_truth(inputs, numbers, count, path, err);
    if (status)
        free(numbers);
    free(text);
    return status;
}

static int labels_of(struct inputs *inputs, const struct tensor *tensor, const char *path, struct error *err)
{
    int status = -1;
    double *numbers = malloc(tensor->count ? tensor->count * sizeof *numbers : 1);
    if (!numbers)
        error_set(err, ERROR_MEMORY, "%s: no memory for %zu labels", path, tensor->count);
    else if (!dtype_in(tensor->type, DTYPES_NUMBER))
        error_set(err, ERROR_FORMAT, "%s: labels must be numbers, not %s", path, dtype_name(tensor->type));
    else {
        for (size_t i = 0; i < tensor->count; i++)
            numbers[i] = (double)tensor_get(tensor, i);
        status = set_truth(inputs, numbers, tensor->count, path, err);
    }
    if (status)
        free(numbers);
    return status;
}

static int read_label_array(struct inputs *inputs, const char *path, bool *floats, struct error *err)
{
    struct tensor tensor;
    tensor_init(&tensor);
    if (text_ends(path, "-ubyte") ? idx_read(path, &tensor, err) : inputs_read_tensor(path, &tensor, err))
        return -1;
    *floats = dtype_is_float(tensor.type);
    int status = labels_of(inputs, &tensor, path, err);
    tensor_release(&tensor);
    return status;
}

int inputs_labels(struct inputs *inputs, const char *path, struct error *err)
{
    bool floats = false;
    free(inputs->truth);
    free(inputs->classes);
    inputs->truth = NULL;
    inputs->classes = NULL;
    inputs->truth_size = 0;
    int status = text_ends(path, ".txt") ? read_label_text(inputs, path, &floats, err)
                                         : read_label_array(inputs, path, &floats, err);
    if (status == 0 && inputs->truth && !floats)
        truth_to_classes(inputs);
    return status;
}

static int read_labels(struct inputs *inputs, const char *folder, char **names, size_t count,
                       struct error *err)
{
    char *paths[] = {file_join(folder, "labels.npy"), file_join(folder, "labels.txt"),
                     idx_file(folder, names, count, "-labels-idx1-ubyte")};
    int status = 0;
    for (size_t i = 0; i < 3; i++)
        if (paths[i] && file_exists(paths[i])) {
            status = inputs_labels(inputs, paths[i], err);
            break;
        }
    for (size_t i = 0; i < 3; i++)
        free(paths[i]);
    return status;
}

/* Whether the first dimension is one that may count samples: open, or 1. */
static bool first_is_free(const Onnx__TypeProto *type)
{
    const Onnx__TensorShapeProto__Dimension *dim = type->tensor_type->shape->dim[0];
    return dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || dim->dim_value < 0 ||
           dim->dim_value == 1;
}

/* Whether the first axis of an array that is given by itself counts samples. */
static bool counts_samples(const struct inputs_slot *slot)
{
    int rank = slot->array.shape.rank, declared = inputs_declared_rank(slot->type);
    if (rank < 1 || declared < 0 || slot->array.shape.dims[0] < 1 || slot->array.type == DTYPE_STRING)
        return false;
    return rank == declared + 1 || (rank == declared && rank > 1 && first_is_free(slot->type));
}

/* The arrays as many samples where the first axis of each counts them, and as many in each; else as one
 * sample. */
static int cut_arrays(struct inputs *inputs, const char *path, struct error *err)
{
    bool many = true;
    for (size_t i = 0; i < inputs->count; i++)
        many = many && counts_samples(&inputs->slots[i]) &&
               inputs->slots[i].array.shape.dims[0] == inputs->slots[0].array.shape.dims[0];
    inputs->kind = INPUTS_ARRAYS;
    inputs->samples = many && inputs->count ? (size_t)inputs->slots[0].array.shape.dims[0] : 1;
    for (size_t i = 0; i < inputs->count; i++) {
        inputs->slots[i].element = inputs->slots[i].array.shape;
        if (many && choose_samples(&inputs->slots[i], path, err))
            return -1;
    }
    return 0;
}

/* The array of an input by its name, by its number as a file of ours would have it, or by NumPy's own name;
 * of a single input, whatever there is beside the labels. */
static const struct npz_array *find_array(const struct inputs *inputs, const struct npz *npz,
                                          const struct output_names *outputs, size_t number)
{
    char stems[2][40];
    snprintf(stems[0], sizeof stems[0], "input_%zu", number);
    snprintf(stems[1], sizeof stems[1], "arr_%zu", number);
    const struct npz_array *found = npz_find(npz, inputs->slots[number].name), *only = NULL;
    for (size_t i = 0; i < 2 && !found; i++)
        found = npz_find(npz, stems[i]);
    if (found || inputs->count != 1)
        return found;
    size_t others = 0;
    for (size_t i = 0; i < npz->count; i++)
        if (!text_equal(npz->arrays[i].name, "labels") && !map_has(&outputs->map, npz->arrays[i].name)) {
            only = &npz->arrays[i];
            others++;
        }
    return others == 1 ? only : NULL;
}

static int no_array(const struct inputs *inputs, const struct npz *npz, const char *path, size_t number,
                    struct error *err)
{
    const char **names = memory_zeroed(npz->count + 1, sizeof *names);
    struct str found;
    str_init(&found);
    for (size_t i = 0; i < npz->count; i++)
        names[i] = npz->arrays[i].name;
    list_found(&found, names, npz->count);
    int status = error_set(
        err, ERROR_NOT_FOUND, "%s has no array for input %s: looked for %s, input_%zu and arr_%zu%s", path,
        inputs->slots[number].name, inputs->slots[number].name, number, number, found.data);
    str_release(&found);
    free(names);
    return status;
}

static int npz_labels(struct inputs *inputs, const struct npz *npz, const char *path, bool *used,
                      struct error *err)
{
    const struct npz_array *array = npz_find(npz, "labels");
    struct tensor labels;
    if (!array || used[array - npz->arrays]) /* or it is an input or output of that name */
        return 0;
    used[array - npz->arrays] = true;
    if (npz_read(npz, array, &labels, err))
        return error_prefix(err, "%s", path);
    int status = labels_of(inputs, &labels, path, err);
    if (status == 0 && !dtype_is_float(labels.type))
        truth_to_classes(inputs);
    tensor_release(&labels);
    return status;
}

static int npz_inputs(struct inputs *inputs, const struct npz *npz, const char *path, bool *used,
                      struct error *err)
{
    struct output_names outputs;
    int status = 0;
    output_names_init(&outputs, inputs);
    for (size_t i = 0; i < inputs->count && status == 0; i++) {
        const struct npz_array *array = find_array(inputs, npz, &outputs, i);
        if (!array)
            status = no_array(inputs, npz, path, i, err);
        else if (npz_read(npz, array, &inputs->slots[i].array, err))
            status = error_prefix(err, "%s", path);
        else
            used[array - npz->arrays] = true;
    }
    output_names_release(&outputs);
    return status ? status : cut_arrays(inputs, path, err);
}

static int read_npz(struct inputs *inputs, const char *path, struct error *err)
{
    struct npz npz;
    int status = npz_open(&npz, path, err);
    bool *used = memory_zeroed(npz.count + 1, sizeof *used);
    if (status == 0)
        status = npz_inputs(inputs, &npz, path, used, err);
    if (status == 0)
        status = inputs_expect_npz(inputs, &npz, path, used, err);
    if (status == 0)
        status = npz_labels(inputs, &npz, path, used, err);
    for (size_t i = 0; i < npz.count && status == 0; i++)
        if (!used[i])
            inputs_unused(inputs, npz.arrays[i].name);
    free(used);
    npz_close(&npz);
    return status;
}

/* A file alone: .npz for any number of inputs, .npy and .pb for a model of one. */
static int read_file(struct inputs *inputs, const char *path, struct error *err)
{
    if (text_ends(path, ".npz"))
        return read_npz(inputs, path, err);
    bool npy = text_ends(path, ".npy");
    if (!npy && !text_ends(path, ".pb"))
        return error_set(err, ERROR_USAGE, "%s: inputs are read from a folder, a .npy, .npz or .pb file",
                         path);
    if (inputs->count != 1)
        return error_set(
            err, ERROR_INVALID,
            "%s is one array, and the model has %zu inputs: give a .npz file or a folder that has "
            "all of them",
            path, inputs->count);
    if (npy)
        return inputs_read_tensor(path, &inputs->slots[0].array, err) ? -1 : cut_arrays(inputs, path, err);
    inputs->kind = INPUTS_FOLDERS;
    inputs->samples = 1;
    inputs->folders = arena_array(&inputs->arena, 1, sizeof *inputs->folders);
    inputs->folders[0] = arena_strdup(&inputs->arena, path);
    return 0;
}

int inputs_read(struct inputs *inputs, const struct model *model, const char *folder, struct error *err)
{
    if (inputs_init(inputs, model, err))
        return -1;
    inputs->from = arena_strdup(&inputs->arena, folder);
    if (file_exists(folder) && !file_is_folder(folder))
        return read_file(inputs, folder, err);
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, err))
        return -1;
    struct map used;
    map_init(&used);
    int status = read_arrays(inputs, folder, names, count, &used, err);
    if (status > 0)
        inputs_unused_files(inputs, folder, &used);
    if (status == 0)
        status = read_folders(inputs, folder, names, count);
    else if (status > 0)
        status = 0;
    if (status == 0)
        status = read_labels(inputs, folder, names, count, err);
    map_release(&used);
    file_names_free(names, count);
    return status;
}

int inputs_of_values(struct inputs *inputs, const struct model *model, const struct value *values,
                     size_t count, struct error *err)
{
    if (inputs_init(inputs, model, err))
        return -1;
    inputs->kind = INPUTS_ARRAYS;
    inputs->samples = 1;
    for (size_t i = 0; i < inputs->count; i++) {
        struct inputs_slot *slot = &inputs->slots[i];
        const struct value *value = value_for_input(values, count, slot->name, i);
        if (!value)
            return error_set(err, ERROR_INVALID, "the model's input %s is not given", slot->name);
        if (value->kind != VALUE_TENSOR)
            return error_set(err, ERROR_UNSUPPORTED, "the input %s is no tensor", slot->name);
        if (tensor_copy(&slot->array, &value->tensors[0], err))
            return -1;
        slot->element = slot->array.shape;
    }
    return 0;
}

int inputs_slice(const struct inputs_slot *slot, size_t samples, size_t sample, struct tensor *tensor,
                 struct error *err)
{
    size_t size = slot->array.size / samples;
    return tensor_from_bytes(tensor, slot->array.type, &slot->element,
                             (const char *)slot->array.data + sample * size, size, err);
}
