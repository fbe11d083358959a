#include "model/model.h"

#include "base/clean.h"
#include "base/file_format.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/file.h"
#include "model/function.h"
#include "model/scan.h"
#include "model/tree.h"
#include "tensor/narrow.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct model *model_alloc(void)
{
    struct model *model = memory_zeroed(1, sizeof *model);
    arena_init(&model->arena);
    return model;
}

struct model *model_new(int opset)
{
    struct model *model = model_alloc();
    struct arena *arena = &model->arena;
    Onnx__ModelProto *proto = arena_alloc(arena, sizeof *proto);
    onnx__model_proto__init(proto);
    proto->has_ir_version = true;
    proto->ir_version = opset < 20 ? 8 : 10;
    proto->producer_name = arena_strdup(arena, "assay");
    proto->opset_import = arena_array(arena, 1, sizeof *proto->opset_import);
    proto->opset_import[0] = arena_alloc(arena, sizeof **proto->opset_import);
    onnx__operator_set_id_proto__init(proto->opset_import[0]);
    proto->opset_import[0]->domain = arena_strdup(arena, "");
    proto->opset_import[0]->has_version = true;
    proto->opset_import[0]->version = opset;
    proto->n_opset_import = 1;
    proto->graph = graph_new(arena, "assay");
    model->proto = proto;
    model->graph = proto->graph;
    return model;
}

void model_free(struct model *model)
{
    if (!model)
        return;
    model_files_release(model);
    arena_release(&model->arena);
    free(model);
}

static void name_it(char **name)
{
    if (!*name)
        *name = (char *)(uintptr_t) "";
}

static const char *external_location(const Onnx__TensorProto *tensor)
{
    for (size_t i = 0; i < tensor->n_external_data; i++)
        if (text_equal(tensor->external_data[i]->key, "location"))
            return tensor->external_data[i]->value;
    return NULL;
}

static int settle_tensor(struct model *model, Onnx__TensorProto *tensor, struct error *err)
{
    name_it(&tensor->name);
    int result = 0;
    const char *location = external_location(tensor);
    if (tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        result = model_file_resolve(model, tensor, err);
    if (!result && model_tensor_check(tensor, err))
        result = location ? error_prefix(err, "external data '%s'", location) : -1;
    return result ? error_prefix(err, "tensor '%s'", tensor->name) : 0;
}

struct settling {
    struct model *model;
    struct error *err;
};

/* Names are shown, compared and printed in many places, so none may hide or move what stands beside it. What
 * is said about the model may be anything: nobody shows it. */
static int check_name(void *err, const char *field, const char *name)
{
    const unsigned char *at = (const unsigned char *)clean_find_hidden(name);
    if (!at || text_equal(field, "doc_string"))
        return 0;
    size_t length = utf8_length(at);
    if (!length)
        return error_set(err, ERROR_INVALID, "a %s has the byte 0x%02X, which is no UTF-8", field, *at);
    return error_set(err, ERROR_INVALID,
                     "a %s has the character U+%04X, which hides or moves others when it is shown", field,
                     (unsigned)utf8_code(at, length));
}

/* Checks names, sets missing ones to "" and checks tensors. The entries of external data come after their
 * tensor in the walk, so settle_message of the tensor sets their names first. */
static int settle_message(void *context, ProtobufCMessage *message)
{
    const struct settling *settling = context;
    const ProtobufCMessageDescriptor *type = message->descriptor;
    bool is_note = type == &onnx__string_string_entry_proto__descriptor;
    if (!is_note && tree_texts(message, check_name, settling->err))
        return -1;
    if (type == &onnx__node_proto__descriptor) {
        Onnx__NodeProto *node = (Onnx__NodeProto *)message;
        name_it(&node->name);
        name_it(&node->op_type);
        name_it(&node->domain);
    } else if (type == &onnx__attribute_proto__descriptor) {
        name_it(&((Onnx__AttributeProto *)message)->name);
    } else if (type == &onnx__value_info_proto__descriptor) {
        name_it(&((Onnx__ValueInfoProto *)message)->name);
    } else if (type == &onnx__graph_proto__descriptor) {
        name_it(&((Onnx__GraphProto *)message)->name);
    } else if (type == &onnx__function_proto__descriptor) {
        name_it(&((Onnx__FunctionProto *)message)->name);
        name_it(&((Onnx__FunctionProto *)message)->domain);
    } else if (type == &onnx__operator_set_id_proto__descriptor) {
        name_it(&((Onnx__OperatorSetIdProto *)message)->domain);
    } else if (type == &onnx__tensor_proto__descriptor) {
        Onnx__TensorProto *tensor = (Onnx__TensorProto *)message;
        for (size_t i = 0; i < tensor->n_external_data; i++) {
            name_it(&tensor->external_data[i]->key);
            name_it(&tensor->external_data[i]->value);
        }
        return settle_tensor(settling->model, tensor, settling->err);
    }
    return 0;
}

static int settle(struct model *model, struct error *err)
{
    model->graph = model->proto->graph;
    if (!model->graph)
        return error_set(err, ERROR_INVALID, "the model has no graph");
    struct settling settling = {model, err};
    return tree_each(&model->proto->base, settle_message, &settling) ? -1 : functions_check(model, err);
}

/* `data` must outlive the model when there is something to detach. */
static int unpack_skeleton(struct model *model, const uint8_t *data, size_t size, struct error *err)
{
    struct str skeleton;
    struct scan_weight *weights;
    size_t count;
    int result = -1;
    str_init(&skeleton);
    scan_skeleton(data, size, &skeleton, &weights, &count);
    model->proto = (Onnx__ModelProto *)tree_unpack_checked(
        &onnx__model_proto__descriptor, (const uint8_t *)skeleton.data, skeleton.length, &model->arena, err);
    if (!model->proto)
        goto out;
    for (size_t i = 0; i < count; i++) {
        Onnx__TensorProto *tensor = model->proto->graph->initializer[weights[i].initializer];
        tensor->has_raw_data = true;
        tensor->raw_data.data = (uint8_t *)(uintptr_t)weights[i].data;
        tensor->raw_data.len = weights[i].size;
    }
    result = 0;
out:
    free(weights);
    str_release(&skeleton);
    return result;
}

static int unpack(struct model *model, const uint8_t *data, size_t size, size_t detached, struct error *err)
{
    if (detached) {
        if (unpack_skeleton(model, data, size, err))
            return -1;
    } else {
        model->proto = (Onnx__ModelProto *)tree_unpack_checked(&onnx__model_proto__descriptor, data, size,
                                                               &model->arena, err);
        if (!model->proto)
            return -1;
    }
    return settle(model, err);
}

static void take_folder(struct model *model, const char *path)
{
    model->path = arena_strdup(&model->arena, path);
    const char *slash = strrchr(path, '/');
    if (!slash)
        model->folder = arena_strdup(&model->arena, ".");
    else
        model->folder = arena_printf(&model->arena, "%.*s", (int)(slash - path + 1), path);
}

/* Says what the file is instead, where that is known. */
static int no_model(const char *path, const uint8_t *data, size_t size, struct error *err)
{
    const char *format = file_format(data, size);
    if (format)
        return error_set(err, ERROR_UNSUPPORTED, "%s is not an ONNX model but %s", path, format);
    return error_prefix(err, "%s is not an ONNX model, or is cut off", path);
}

static int load(struct model *model, const struct folder *in, const char *name, struct error *err)
{
    size_t size, detached;
    struct model_file *file = model_file_map(model, in, name, err);
    if (!file)
        return -1;
    const uint8_t *data = model_file_data(file, &size);
    if (size == 0)
        return error_set(err, ERROR_FORMAT, "%s is empty", model->path);
    if (scan_check(&onnx__model_proto__descriptor, data, size, &detached, err))
        return no_model(model->path, data, size, err);
    return unpack(model, data, size, detached, err) ? error_prefix(err, "%s", model->path) : 0;
}

int model_load_in(struct model **model, const struct folder *in, const char *name, struct error *err)
{
    struct folder beside;
    struct model *loaded = model_alloc();
    char *path = folder_path(in, name);
    *model = NULL;
    take_folder(loaded, path);
    loaded->beside = &beside;
    int status = folder_open_around(&beside, in, name, err) || load(loaded, in, name, err) ? -1 : 0;
    loaded->beside = NULL;
    folder_close(&beside);
    free(path);
    if (status)
        model_free(loaded);
    else
        *model = loaded;
    return status;
}

int model_load(struct model **model, const char *path, struct error *err)
{
    return model_load_in(model, USERS_PATH, path, err);
}

int model_parse(struct model **model, const void *data, size_t size, struct error *err)
{
    size_t detached;
    *model = NULL;
    if (scan_check(&onnx__model_proto__descriptor, data, size, &detached, err))
        return -1;
    struct model *parsed = model_alloc();
    if (detached) {
        struct model_file *file = model_file_copy(parsed, data, size, err);
        if (!file)
            goto fail;
        data = model_file_data(file, &size);
    }
    if (unpack(parsed, data, size, detached, err))
        goto fail;
    *model = parsed;
    return 0;
fail:
    model_free(parsed);
    return -1;
}

int model_clone(struct model **copy, const struct model *model, struct error *err)
{
    (void)err;
    struct model *made = model_alloc();
    made->proto = (Onnx__ModelProto *)tree_copy(&model->proto->base, &made->arena, model_file_holds, model);
    made->graph = made->proto->graph;
    if (model->folder)
        made->folder = arena_strdup(&made->arena, model->folder);
    model_file_share(made, model);
    *copy = made;
    return 0;
}

size_t model_size(const struct model *model)
{
    return onnx__model_proto__get_packed_size(model->proto);
}

int model_pack(const struct model *model, uint8_t **data, size_t *size, struct error *err)
{
    *data = NULL;
    *size = model_size(model);
    if (*size > INT32_MAX)
        return error_set(
            err, ERROR_LIMIT,
            "with its weights the model has %zu bytes, more than the 2 GB that fit into one file", *size);
    *data = malloc(*size ? *size : 1);
    if (!*data)
        return error_set(err, ERROR_MEMORY, "no memory for a model of %zu bytes", *size);
    onnx__model_proto__pack(model->proto, *data);
    return 0;
}

static bool is_input(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, name))
            return true;
    return false;
}

static Onnx__ValueInfoProto *describe(struct arena *arena, const Onnx__TensorProto *tensor)
{
    struct shape shape = {.rank = (int)tensor->n_dims}; /* model_tensor_check bounds it */
    for (size_t i = 0; i < tensor->n_dims; i++)
        shape.dims[i] = tensor->dims[i];
    return value_info_make(arena, tensor->name, type_make(arena, (enum dtype)tensor->data_type, &shape));
}

int model_pack_thin(const struct model *model, uint8_t **data, size_t *size, struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    Onnx__ModelProto proto = *model->proto;
    Onnx__GraphProto graph = *model->graph;
    graph.initializer = arena_array(&arena, graph.n_initializer, sizeof *graph.initializer);
    graph.input = arena_array(&arena, graph.n_input + graph.n_initializer, sizeof *graph.input);
    graph.n_initializer = 0;
    for (size_t i = 0; i < graph.n_input; i++)
        graph.input[i] = model->graph->input[i];
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        Onnx__TensorProto *tensor = model->graph->initializer[i];
        if (!tensor->has_raw_data || tensor->raw_data.len <= MODEL_INLINE_LIMIT)
            graph.initializer[graph.n_initializer++] = tensor;
        else if (!is_input(model->graph, tensor->name))
            graph.input[graph.n_input++] = describe(&arena, tensor);
    }
    proto.graph = &graph;
    struct model thin = {.proto = &proto, .graph = &graph};
    int status = model_pack(&thin, data, size, err);
    arena_release(&arena);
    return status;
}

int model_to_bytes(const struct model *model, uint8_t **data, size_t *size, struct error *err)
{
    const uint8_t *own = model_own_bytes(model, size);
    if (!own)
        return model_pack(model, data, size, err);
    *data = malloc(*size ? *size : 1);
    if (!*data)
        return error_set(err, ERROR_MEMORY, "no memory for a model of %zu bytes", *size);
    memcpy(*data, own, *size);
    return 0;
}

int model_opset(const struct model *model)
{
    for (size_t i = 0; i < model->proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *import = model->proto->opset_import[i];
        if (!import->domain[0] || text_equal(import->domain, "ai.onnx"))
            return import->version < 0 ? 0 : import->version > INT_MAX ? INT_MAX : (int)import->version;
    }
    return 0;
}

int model_weight(const struct model *model, size_t index, struct tensor *tensor, struct error *err)
{
    tensor_init(tensor);
    size_t dense = model->graph->n_initializer, sparse = model->graph->n_sparse_initializer;
    if (index >= dense + sparse)
        return error_set(err, ERROR_NOT_FOUND, "there is no initialiser %zu: the model has %zu", index,
                         dense + sparse);
    if (index >= dense)
        return model_sparse_read(model->graph->sparse_initializer[index - dense], tensor, err);
    const Onnx__TensorProto *proto = model->graph->initializer[index];
    if (model_tensor_read(proto, tensor, err))
        return error_prefix(err, "initialiser '%s'", proto->name);
    return 0;
}

bool model_weight_view(const struct model *model, size_t index, struct tensor *view)
{
    tensor_init(view);
    if (index >= model->graph->n_initializer)
        return false;
    const Onnx__TensorProto *proto = model->graph->initializer[index];
    size_t count;
    if (!proto->has_raw_data || !proto->raw_data.len || model_tensor_check(proto, NULL))
        return false;
    enum dtype type = (enum dtype)proto->data_type;
    struct shape shape = shape_make((int)proto->n_dims, proto->dims);
    if (narrow_is_packed(type))
        return false;
    if ((uintptr_t)proto->raw_data.data % dtype_size(type) || shape_count(&shape, &count, NULL))
        return false;
    *view = (struct tensor){type, shape, count, proto->raw_data.len, proto->raw_data.data};
    return true;
}
