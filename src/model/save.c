#include "model/model.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Weights start at a page, so that readers can map them. */
enum { WEIGHT_ALIGNMENT = 4096 };

/* A file under a temporary name until it is whole. */
struct output {
    ProtobufCBuffer base; /* first: protobuf-c hands this back to append */
    FILE *file;
    bool failed;
    const char *path;
    struct str temporary;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
    struct output *output = (struct output *)buffer;
    if (size && !output->failed)
        output->failed = fwrite(data, 1, size, output->file) != size;
}

static int output_open(struct output *output, const char *path, struct error *err)
{
    *output = (struct output){.base = {append}, .path = path};
    str_init(&output->temporary);
    str_printf(&output->temporary, "%s.tmp%ld", path, (long)getpid());
    output->file = fopen(output->temporary.data, "wbe");
    if (output->file)
        return 0;
    str_release(&output->temporary);
    return error_errno(err, "cannot write %s", path);
}

/* Closes; keep: and gives the file its name, unless writing failed. */
static int output_close(struct output *output, bool keep, struct error *err)
{
    int result = 0;
    bool failed = fclose(output->file) != 0 || output->failed;
    if (keep && (failed || rename(output->temporary.data, output->path) < 0))
        result = error_errno(err, "cannot write %s", output->path);
    if (!keep || result)
        unlink(output->temporary.data);
    str_release(&output->temporary);
    return result;
}

static int save_proto(const Onnx__ModelProto *proto, const char *path, struct error *err)
{
    struct output output;
    if (output_open(&output, path, err))
        return -1;
    onnx__model_proto__pack_to_buffer(proto, &output.base);
    return output_close(&output, true, err);
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

/* Writes large weights out and returns a graph that refers to them; all other parts are shared. */
static Onnx__GraphProto *write_weights(struct arena *arena, const Onnx__GraphProto *graph,
                                       struct output *output)
{
    static const uint8_t zeros[WEIGHT_ALIGNMENT];
    const char *location = file_base(output->path);
    Onnx__GraphProto *thin = arena_copy(arena, graph, sizeof *graph);
    thin->initializer = arena_array(arena, graph->n_initializer, sizeof *thin->initializer);
    size_t offset = 0;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        Onnx__TensorProto *tensor = graph->initializer[i];
        thin->initializer[i] = tensor;
        if (!tensor->has_raw_data || tensor->raw_data.len <= MODEL_INLINE_LIMIT)
            continue;
        size_t pad = (WEIGHT_ALIGNMENT - offset % WEIGHT_ALIGNMENT) % WEIGHT_ALIGNMENT;
        append(&output->base, pad, zeros);
        append(&output->base, tensor->raw_data.len, tensor->raw_data.data);
        thin->initializer[i] = make_external(arena, tensor, location, offset + pad);
        offset += pad + tensor->raw_data.len;
    }
    return thin;
}

int model_save_external(const struct model *model, const char *path, struct error *err)
{
    struct output output;
    struct arena arena;
    Onnx__ModelProto thin = *model->proto;
    arena_init(&arena);
    char *data_path = arena_printf(&arena, "%s.data", path);
    int result = output_open(&output, data_path, err);
    if (result)
        goto out;
    thin.graph = write_weights(&arena, model->graph, &output);
    size_t size = onnx__model_proto__get_packed_size(&thin);
    if (size > INT32_MAX)
        result = error_set(err, ERROR_LIMIT,
                           "without its large weights the model still has %zu bytes, beyond protobuf's 2 GB",
                           size);
    if (output_close(&output, !result, err))
        result = -1;
    if (!result)
        result = save_proto(&thin, path, err);
out:
    arena_release(&arena);
    return result;
}

int model_save(const struct model *model, const char *path, struct error *err)
{
    if (onnx__model_proto__get_packed_size(model->proto) > INT32_MAX)
        return model_save_external(model, path, err);
    return save_proto(model->proto, path, err);
}
