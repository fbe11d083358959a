#include "case/inputs_random.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/str.h"
#include "case/inputs_ranges.h"
#include "case/inputs_sizes.h"

#include <stdio.h>
#include <string.h>

enum {
    STRING_BYTES = 24, /* of memory while a word of one letter is drawn */
    STEPS_AN_ELEMENT = 16,
};

/* "NAME=SIZE" for a symbol the model uses. */
struct dim_choice {
    const char *name;
    int64_t size;
    bool used;
};

static int parse_dims(struct arena *arena, const char *const *dims, size_t count, struct dim_choice *choices,
                      struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        char *name = arena_strdup(arena, dims[i]);
        char *equals = strrchr(name, '=');
        long long size = -1;
        if (!equals || equals == name || !text_int64(equals + 1, &size) || size < 0)
            return error_set(err, ERROR_USAGE, "--dim takes NAME=SIZE, not '%s'", dims[i]);
        *equals = '\0';
        choices[i] = (struct dim_choice){.name = name, .size = size};
    }
    return 0;
}

/* The number of the open dimension in inputs->sizes, from 1. */
static size_t open_dim(struct inputs *inputs, const char *symbol, size_t axis)
{
    char unnamed[40];
    snprintf(unnamed, sizeof unnamed, "axis %zu", axis);
    const char *name = symbol && *symbol ? symbol : unnamed;
    size_t number = 0;
    while (number < inputs->n_sizes && !text_equal(inputs->sizes[number].name, name))
        number++;
    if (number == inputs->n_sizes)
        inputs->sizes[inputs->n_sizes++] = (struct inputs_size){.name = arena_strdup(&inputs->arena, name)};
    inputs->sizes[number].first |= axis == 0;
    for (size_t row = 0; row < INPUTS_ROWS; row++)
        inputs->sizes[number].rows[row] = inputs->sizes[number].drawn[row] = 1;
    return number + 1;
}

/* The size of a dimension that has one; -1: it is open. */
static int64_t dim_size(const Onnx__TensorShapeProto__Dimension *dim, struct dim_choice *choices,
                        size_t count)
{
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0)
        return dim->dim_value;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) {
        for (size_t i = 0; i < count; i++) {
            if (text_equal(choices[i].name, dim->dim_param ? dim->dim_param : "")) {
                choices[i].used = true;
                return choices[i].size;
            }
        }
    }
    return -1;
}

static int choose_form(struct inputs *inputs, struct inputs_slot *slot, struct dim_choice *choices,
                       size_t count, struct error *err)
{
    const Onnx__TypeProto *type = slot->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return error_set(err, ERROR_UNSUPPORTED, "input %s is not a tensor: give its value with --data",
                         slot->name);
    const Onnx__TypeProto__Tensor *tensor = type->tensor_type;
    if (dtype_check(tensor->elem_type, err))
        return error_prefix(err, "input %s", slot->name);
    if (!tensor->shape)
        return error_set(err, ERROR_UNSUPPORTED, "input %s has no shape: give its value with --data",
                         slot->name);
    if (tensor->shape->n_dim > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "input %s has %zu dimensions", slot->name, tensor->shape->n_dim);
    slot->dtype = (enum dtype)tensor->elem_type;
    slot->shape.rank = (int)tensor->shape->n_dim;
    for (size_t i = 0; i < tensor->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
        bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        int64_t size = dim_size(dim, choices, count);
        slot->shape.dims[i] = size < 0 ? 1 : size;
        slot->open[i] = size < 0 ? open_dim(inputs, named ? dim->dim_param : NULL, i) : 0;
    }
    return 0;
}

int inputs_random(struct inputs *inputs, const struct model *model, size_t samples, uint64_t seed,
                  const char *const *dims, size_t n_dims, struct error *err)
{
    if (inputs_init(inputs, model, err))
        return -1;
    inputs->kind = INPUTS_RANDOM;
    inputs->samples = samples;
    inputs->seed = seed;
    struct dim_choice *choices = arena_array(&inputs->arena, n_dims + 1, sizeof *choices);
    if (parse_dims(&inputs->arena, dims, n_dims, choices, err))
        return -1;
    inputs->sizes = arena_array(&inputs->arena, inputs->count * TENSOR_MAX_RANK + 1, sizeof *inputs->sizes);
    for (size_t i = 0; i < inputs->count; i++)
        if (choose_form(inputs, &inputs->slots[i], choices, n_dims, err))
            return -1;
    for (size_t i = 0; i < n_dims; i++)
        if (!choices[i].used)
            return error_set(err, ERROR_USAGE, "no input of the model has a dimension called '%s'",
                             choices[i].name);
    inputs_find_ranges(inputs, 0);
    return 0;
}

/* A mask begins with a yes: where nothing is left of a row, most models divide 0 by 0. */
static int64_t draw_whole(const struct tensor *tensor, size_t index, const struct inputs_range *range,
                          struct rng *rng)
{
    int rank = tensor->shape.rank;
    if (!range->limited)
        return (int64_t)rng_below(rng, 10);
    if (range->truth && rank && index % (size_t)tensor->shape.dims[rank - 1] == 0)
        return 1;
    return range->low + (int64_t)rng_below(rng, (uint64_t)(range->high - range->low) + 1);
}

static void fill_element(struct tensor *tensor, size_t index, const struct inputs_range *range,
                         struct rng *rng)
{
    if (dtype_is_float(tensor->type))
        tensor_set(tensor, index, rng_normal(rng));
    else if (tensor->type == DTYPE_BOOL)
        tensor_set(tensor, index, rng_chance(rng, 0.5));
    else if (tensor->type == DTYPE_COMPLEX64)
        for (size_t part = 0; part < 2; part++)
            ((float *)tensor->data)[2 * index + part] = (float)rng_normal(rng);
    else if (tensor->type == DTYPE_COMPLEX128)
        for (size_t part = 0; part < 2; part++)
            ((double *)tensor->data)[2 * index + part] = rng_normal(rng);
    else
        tensor_set(tensor, index, (long double)draw_whole(tensor, index, range, rng));
}

/* Strings are the words "0" to "9", so that they can stand for numbers too. */
static int fill_strings(struct tensor *tensor, const struct rng *stream, struct error *err)
{
    struct str bytes;
    str_init(&bytes);
    for (size_t i = 0; i < tensor->count; i++) {
        struct rng rng = rng_split(stream, i);
        str_append(&bytes, "\1\0\0\0", 4);
        str_printf(&bytes, "%d", (int)rng_below(&rng, 10));
    }
    struct shape shape = tensor->shape;
    tensor_release(tensor);
    int status = tensor_from_bytes(tensor, DTYPE_STRING, &shape, bytes.data, bytes.length, err);
    str_release(&bytes);
    return status;
}

int inputs_random_tensor(const struct inputs *inputs, const struct inputs_slot *slot, size_t sample,
                         struct tensor *tensor, struct error *err)
{
    struct shape shape = inputs_shape(inputs, slot, sample);
    tensor_init(tensor);
    size_t count, item = slot->dtype == DTYPE_STRING ? STRING_BYTES : dtype_size(slot->dtype);
    if (shape_count(&shape, &count, err) || limits_room(count, item, err) ||
        tensor_alloc(tensor, slot->dtype, &shape, 0, err))
        return error_prefix(err, "input %s", slot->name);
    struct rng root = rng_seed(inputs->seed);
    struct rng of_sample = rng_split(&root, sample);
    struct rng stream = rng_split(&of_sample, hash_text(slot->name));
    if (slot->dtype == DTYPE_STRING)
        return fill_strings(tensor, &stream, err);
    limits_begin();
    for (size_t i = 0; i < tensor->count && !limits_late(STEPS_AN_ELEMENT); i++) {
        struct rng rng = rng_split(&stream, i);
        fill_element(tensor, i, &slot->ranges[inputs->rows ? sample % inputs->rows : 0], &rng);
    }
    int status = limits_check(err);
    limits_end();
    return status ? error_prefix(err, "drawing input %s", slot->name) : 0;
}
