/* Gives a tensor its place in another file, as exporters write it: without the library's own way of saving.
 */
#ifndef TESTS_EXTERNAL_DATA_H
#define TESTS_EXTERNAL_DATA_H

#include "base/arena.h"
#include "model/model.h"

static inline Onnx__StringStringEntryProto *external_entry(struct arena *arena, const char *key,
                                                           const char *value)
{
    Onnx__StringStringEntryProto *made = arena_alloc(arena, sizeof *made);
    onnx__string_string_entry_proto__init(made);
    made->key = arena_strdup(arena, key);
    made->value = arena_strdup(arena, value);
    return made;
}

static inline void external_place(struct arena *arena, Onnx__TensorProto *tensor, const char *location,
                                  size_t offset, size_t length)
{
    tensor->has_data_location = true;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    tensor->n_external_data = 3;
    tensor->external_data = arena_array(arena, 3, sizeof *tensor->external_data);
    tensor->external_data[0] = external_entry(arena, "location", location);
    tensor->external_data[1] = external_entry(arena, "offset", arena_printf(arena, "%zu", offset));
    tensor->external_data[2] = external_entry(arena, "length", arena_printf(arena, "%zu", length));
}

#endif
