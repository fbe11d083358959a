/*
 * Writing models to files, with their large weights in files beside them (model_save and its like in
 * model.h).
 */
#include "model/model.h"

#include "base/file.h"
#include "base/str.h"
#include "model/file.h"

#include <stdio.h>

/* Weights start at a page, so that readers can map them. */
enum { WEIGHT_ALIGNMENT = 4096 };

struct output {
    ProtobufCBuffer base; /* first: protobuf-c hands this back to append */
    struct fresh_file file;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
    struct output *output = (struct output *)buffer;
    if (size)
        (void)!fwrite(data, 1, size, output->file.stream); /* folder_put tells of failures */
}

static int output_open(struct output *output, const struct folder *in, const char *name, struct error *err)
{
    *output = (struct output){.base = {append}};
    return folder_create(&output->file, in, name, err);
}

static int save_proto(const Onnx__ModelProto *proto, const struct folder *in, const char *name,
                      struct error *err)
{
    struct output output;
    if (output_open(&output, in, name, err))
        return -1;
    onnx__model_proto__pack_to_buffer(proto, &output.base);
    return folder_put(&output.file, err);
}

static Onnx__StringStringEntryProto *make_entry(struct arena *arena, const char *key, char *value)
{
    Onnx__StringStringEntryProto *entry = arena_alloc(arena, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = arena_strdup(arena, key);
    entry->value = value;
    return entry;
}

static Onnx__TensorProto *make_external(struct arena *arena, const Onnx__TensorProto *tensor,
                                        const char *location, size_t offset)
{
    Onnx__TensorProto *outside = arena_copy(arena, tensor, sizeof *tensor);
    outside->has_raw_data = false;
    outside->raw_data = (ProtobufCBinaryData){0, NULL};
    outside->has_data_location = true;
    outside->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    outside->n_external_data = 3;
    outside->external_data = arena_array(arena, 3, sizeof *outside->external_data);
    outside->external_data[0] = make_entry(arena, "location", arena_strdup(arena, location));
    outside->external_data[1] = make_entry(arena, "offset", arena_printf(arena, "%zu", offset));
    outside->external_data[2] = make_entry(arena, "length", arena_printf(arena, "%zu", tensor->raw_data.len));
    return outside;
}

/* Where large weights go. */
struct weights {
    struct arena *arena;
    const struct model *model;
    const struct folder *in;
    const char *name; /* of the file of weights, in it */
    struct output *output;
    size_t offset; /* in it */
    bool link;     /* make hard links to files of external data instead of writing them again */
    bool small;    /* small weights of floating-point types, too */
};

/* The tensor as external data in a hard link to the file that it lies in; NULL when there can be none. */
static Onnx__TensorProto *link_weight(const struct weights *weights, const Onnx__TensorProto *tensor)
{
    size_t number, offset;
    if (!weights->link || !model_file_place(weights->model, &tensor->raw_data, &number, &offset))
        return NULL;
    const char *name = arena_printf(weights->arena, "%s%zu", weights->name, number);
    if (!folder_has(weights->in, name) && model_file_link(weights->model, number, weights->in, name))
        return NULL;
    return make_external(weights->arena, tensor, file_base(name), offset);
}

static Onnx__TensorProto *write_weight(struct weights *weights, const Onnx__TensorProto *tensor)
{
    static const uint8_t zeros[WEIGHT_ALIGNMENT];
    size_t pad = (WEIGHT_ALIGNMENT - weights->offset % WEIGHT_ALIGNMENT) % WEIGHT_ALIGNMENT;
    append(&weights->output->base, pad, zeros);
    append(&weights->output->base, tensor->raw_data.len, tensor->raw_data.data);
    weights->offset += pad + tensor->raw_data.len;
    return make_external(weights->arena, tensor, file_base(weights->name),
                         weights->offset - tensor->raw_data.len);
}

static bool goes_outside(const struct weights *weights, const Onnx__TensorProto *tensor)
{
    if (!tensor->has_raw_data || tensor->raw_data.len == 0)
        return false;
    return tensor->raw_data.len > MODEL_INLINE_LIMIT ||
           (weights->small && dtype_is_float((enum dtype)tensor->data_type));
}

/* Writes large weights to the data file and returns a graph that refers to them; all other parts are shared.
 */
static Onnx__GraphProto *place_weights(struct weights *weights)
{
    const Onnx__GraphProto *graph = weights->model->graph;
    Onnx__GraphProto *thin = arena_copy(weights->arena, graph, sizeof *graph);
    thin->initializer = arena_array(weights->arena, graph->n_initializer, sizeof *thin->initializer);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        Onnx__TensorProto *tensor = graph->initializer[i], *outside = NULL;
        if (goes_outside(weights, tensor)) {
            outside = link_weight(weights, tensor);
            if (!outside)
                outside = write_weight(weights, tensor);
        }
        thin->initializer[i] = outside ? outside : tensor;
    }
    return thin;
}

static int save_outside(const struct model *model, const struct folder *in, const char *name, bool link,
                        bool small, struct error *err)
{
    struct output output;
    struct arena arena;
    Onnx__ModelProto thin = *model->proto;
    arena_init(&arena);
    char *data_name = arena_printf(&arena, "%s.data", name);
    int result = output_open(&output, in, data_name, err);
    if (result)
        goto out;
    struct weights weights = {.arena = &arena,
                              .model = model,
                              .in = in,
                              .name = data_name,
                              .output = &output,
                              .link = link,
                              .small = small};
    thin.graph = place_weights(&weights);
    size_t size = onnx__model_proto__get_packed_size(&thin);
    if (size > INT32_MAX) {
        result = error_set(
            err, ERROR_LIMIT,
            "without its large weights the model still has %zu bytes, more than the 2 GB limit of protobuf",
            size);
        folder_drop(&output.file);
    } else {
        result = folder_put(&output.file, err);
    }
    if (!result)
        result = save_proto(&thin, in, name, err);
out:
    arena_release(&arena);
    return result;
}

int model_save_external(const struct model *model, const struct folder *in, const char *name,
                        struct error *err)
{
    return save_outside(model, in, name, false, false, err);
}

int model_save_apart(const struct model *model, const struct folder *in, const char *name, struct error *err)
{
    return save_outside(model, in, name, false, true, err);
}

int model_save_linked(const struct model *model, const struct folder *in, const char *name, struct error *err)
{
    return save_outside(model, in, name, true, false, err);
}

int model_save(const struct model *model, const struct folder *in, const char *name, struct error *err)
{
    if (model_size(model) > INT32_MAX)
        return model_save_external(model, in, name, err);
    return save_proto(model->proto, in, name, err);
}
