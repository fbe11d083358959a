#include "tensor/tensor.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_count = (size_t)1 << 60;

int shape_count(const struct shape *shape, size_t *count, struct error *err)
{
    if (shape->rank < 0 || shape->rank > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "rank %d is beyond the %d dimensions supported", shape->rank,
                         TENSOR_MAX_RANK);
    size_t product = 1;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return error_set(err, ERROR_FORMAT, "dimension %d is negative (%" PRId64 ")", i, shape->dims[i]);
        size_t dim = (size_t)shape->dims[i];
        if (dim == 0)
            empty = true;
        else if (product > max_count / dim)
            return error_set(err, ERROR_LIMIT, "a shape has more than 2^60 elements");
        else
            product *= dim;
    }
    *count = empty ? 0 : product;
    return 0;
}

struct shape shape_make(int rank, const int64_t *dims)
{
    struct shape shape = {.rank = rank};
    for (int i = 0; i < rank && i < TENSOR_MAX_RANK; i++)
        shape.dims[i] = dims[i];
    return shape;
}

struct shape shape_insert(const struct shape *shape, int axis, int64_t dim)
{
    struct shape made = {.rank = shape->rank + 1};
    for (int i = 0; i < made.rank; i++)
        made.dims[i] = i < axis ? shape->dims[i] : i == axis ? dim : shape->dims[i - 1];
    return made;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

const char *shape_text(const struct shape *shape, char buffer[SHAPE_TEXT_SIZE])
{
    size_t used = (size_t)snprintf(buffer, SHAPE_TEXT_SIZE, "[");
    for (int i = 0; i < shape->rank && used < SHAPE_TEXT_SIZE; i++)
        used += (size_t)snprintf(buffer + used, SHAPE_TEXT_SIZE - used, i ? ",%" PRId64 : "%" PRId64,
                                 shape->dims[i]);
    if (used < SHAPE_TEXT_SIZE)
        snprintf(buffer + used, SHAPE_TEXT_SIZE - used, "]");
    return buffer;
}

void tensor_init(struct tensor *tensor)
{
    *tensor = (struct tensor){.type = DTYPE_FLOAT, .shape = {.rank = 1}};
}

int tensor_alloc(struct tensor *tensor, enum dtype type, const struct shape *shape, size_t limit,
                 struct error *err)
{
    tensor_init(tensor);
    size_t count;
    if (dtype_check(type, err) || shape_count(shape, &count, err))
        return -1;
    size_t item = type == DTYPE_STRING ? 4 : dtype_size(type);
    if (!limit)
        limit = TENSOR_DEFAULT_LIMIT;
    if (count > limit / item) {
        char text[SHAPE_TEXT_SIZE];
        return error_set(err, ERROR_LIMIT, "a %s tensor of shape %s needs more than the %zu bytes allowed",
                         dtype_name(type), shape_text(shape, text), limit);
    }
    void *data = NULL;
    if (count && !(data = calloc(count, item)))
        return error_set(err, ERROR_MEMORY, "no memory for a tensor of %zu bytes", count * item);
    tensor->type = type;
    tensor->shape = *shape;
    tensor->count = count;
    tensor->size = count * item;
    tensor->data = data;
    return 0;
}

static int strings_from_bytes(struct tensor *tensor, const void *data, size_t size, struct error *err)
{
    void *copy = size ? malloc(size) : NULL;
    if (size && !copy)
        return error_set(err, ERROR_MEMORY, "no memory for a tensor of %zu bytes", size);
    if (size)
        memcpy(copy, data, size);
    free(tensor->data);
    tensor->data = copy;
    tensor->size = size;
    return tensor_strings_check(tensor, err);
}

int tensor_from_bytes(struct tensor *tensor, enum dtype type, const struct shape *shape, const void *data,
                      size_t size, struct error *err)
{
    if (tensor_alloc(tensor, type, shape, 0, err))
        return -1;
    int result = 0;
    if (type == DTYPE_STRING) {
        result = strings_from_bytes(tensor, data, size, err);
    } else if (size != tensor->size) {
        char text[SHAPE_TEXT_SIZE];
        result = error_set(err, ERROR_FORMAT,
                           "there are %zu bytes of data for a %s tensor of shape %s, which needs %zu", size,
                           dtype_name(type), shape_text(shape, text), tensor->size);
    } else if (size) {
        memcpy(tensor->data, data, size);
    }
    if (result)
        tensor_release(tensor);
    return result;
}

int tensor_copy(struct tensor *to, const struct tensor *from, struct error *err)
{
    return tensor_from_bytes(to, from->type, &from->shape, from->data, from->size, err);
}

void tensor_release(struct tensor *tensor)
{
    free(tensor->data);
    tensor_init(tensor);
}

int tensor_strings_check(const struct tensor *tensor, struct error *err)
{
    const unsigned char *at = tensor->data;
    size_t left = tensor->size;
    for (size_t i = 0; i < tensor->count; i++) {
        if (left < 4)
            return error_set(err, ERROR_FORMAT, "string %zu of %zu is cut off", i, tensor->count);
        size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        if (length > left - 4)
            return error_set(err, ERROR_FORMAT, "string %zu of %zu is cut off", i, tensor->count);
        at += 4 + length;
        left -= 4 + length;
    }
    if (left)
        return error_set(err, ERROR_FORMAT, "there are %zu bytes after the last string", left);
    return 0;
}

bool tensor_identical(const struct tensor *a, const struct tensor *b)
{
    return a->type == b->type && shape_equal(&a->shape, &b->shape) && a->size == b->size &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

long double tensor_get(const struct tensor *tensor, size_t index)
{
    return dtype_load(tensor->type, tensor->data, index);
}

void tensor_set(struct tensor *tensor, size_t index, long double value)
{
    dtype_store(tensor->type, tensor->data, index, value);
}

void value_init(struct value *value)
{
    *value = (struct value){.kind = VALUE_NONE};
}

void value_set_name(struct value *value, const char *name)
{
    free(value->name);
    value->name = name ? memory_strdup(name) : NULL;
}

void value_set_tensor(struct value *value, struct tensor *tensor)
{
    value->kind = VALUE_TENSOR;
    value->count = 1;
    value->tensors = memory_zeroed(1, sizeof *value->tensors);
    value->tensors[0] = *tensor;
    tensor_init(tensor);
}

int value_copy(struct value *to, const struct value *from, struct error *err)
{
    value_init(to);
    value_set_name(to, from->name);
    to->kind = from->kind;
    to->tensors = memory_zeroed(from->count, sizeof *to->tensors);
    for (size_t i = 0; i < from->count; i++) {
        if (tensor_copy(&to->tensors[i], &from->tensors[i], err)) {
            value_release(to);
            return -1;
        }
        to->count++;
    }
    return 0;
}

void value_release(struct value *value)
{
    for (size_t i = 0; i < value->count; i++)
        tensor_release(&value->tensors[i]);
    free(value->tensors);
    free(value->name);
    value_init(value);
}

size_t values_size(const struct value *values, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < values[i].count; k++)
            size += values[i].tensors[k].size;
    return size;
}

void values_free(struct value *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        value_release(&values[i]);
    free(values);
}

struct value value_view(const char *name, const struct tensor *tensor)
{
    return (struct value){.name = (char *)(uintptr_t)name,
                          .kind = VALUE_TENSOR,
                          .count = 1,
                          .tensors = (struct tensor *)(uintptr_t)tensor};
}

const struct value *value_for_input(const struct value *values, size_t count, const char *name,
                                    size_t position)
{
    /* Values come in the order of the inputs, and some may be missing: so the value is at `position`, or as
     * many places before it as are missing, and the search goes from there to the front. */
    size_t start = position < count ? position + 1 : count;
    for (size_t i = start; i-- > 0;)
        if (values[i].name && strcmp(values[i].name, name) == 0)
            return &values[i];
    for (size_t i = start; i < count; i++)
        if (values[i].name && strcmp(values[i].name, name) == 0)
            return &values[i];
    return position < count && !values[position].name ? &values[position] : NULL;
}
