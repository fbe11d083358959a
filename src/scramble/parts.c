#include "scramble/parts.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/tree.h"
#include "ops/op.h"
#include "scramble/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_LIST = 64 };

/* Values that some node reads as data. */
struct work {
    struct parts *parts;
    struct map data, settings;
};

static bool is_setting(const Onnx__NodeProto *node, size_t input)
{
    const struct op *op = op_of(node);
    if ((op_has(node, OP_BRANCHES) && input == 0) || (op_has(node, OP_LOOPS) && input < 2))
        return true;
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (param->kind == PARAM_INPUT && param->input == input)
            return true;
    return false;
}

static int note_readers(void *context, ProtobufCMessage *message)
{
    struct work *work = context;
    const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
    if (message->descriptor != &onnx__node_proto__descriptor)
        return 0;
    for (size_t i = 0; i < node->n_input; i++)
        map_set(is_setting(node, i) ? &work->settings : &work->data, node->input[i], 0);
    return 0;
}

static struct part *add(struct parts *parts, enum part_kind kind, const char *name)
{
    parts->items = memory_grow(parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items);
    struct part *part = &parts->items[parts->count++];
    *part = (struct part){.kind = kind, .name = name};
    return part;
}

static bool is_short_list(const Onnx__TensorProto *proto)
{
    int64_t count = 1;
    for (size_t i = 0; i < proto->n_dims; i++)
        count *= proto->dims[i] < SHORT_LIST + 1 ? proto->dims[i] : SHORT_LIST + 1;
    return (proto->data_type == DTYPE_INT64 || proto->data_type == DTYPE_INT32) && count <= SHORT_LIST;
}

/* value: by which nodes read it, NULL: by none. */
static void add_tensor(struct work *work, Onnx__TensorProto *proto, const char *name, const char *value)
{
    struct part *part = add(work->parts, PART_TENSOR, name);
    part->proto = proto;
    part->parameter =
        is_short_list(proto) || (value && map_has(&work->settings, value) && !map_has(&work->data, value));
}

static void add_graph(struct work *work, Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        add_tensor(work, graph->initializer[i], graph->initializer[i]->name, graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
        if (values)
            add_tensor(work, values, values->name, values->name);
    }
}

/* Which kind of part an attribute is that holds no tensor; -1: none, it is a setting of its operator. */
static int kind_of(const struct model *model, const Onnx__NodeProto *node,
                   const Onnx__AttributeProto *attribute)
{
    bool constant = node_is_constant(node);
    if (attribute->n_floats)
        return PART_FLOATS;
    if (attribute->has_s &&
        (constant || !is_public_text(model, node, attribute->name, (const char *)attribute->s.data)))
        return PART_STRING;
    for (size_t i = 0; i < attribute->n_strings; i++)
        if (constant ||
            !is_public_text(model, node, attribute->name, (const char *)attribute->strings[i].data))
            return PART_STRINGS;
    if (!constant)
        return -1;
    return attribute->n_ints ? PART_INTS : attribute->has_f ? PART_FLOAT : attribute->has_i ? PART_INT : -1;
}

static void add_node(struct work *work, const Onnx__NodeProto *node)
{
    struct parts *parts = work->parts;
    bool constant = node_is_constant(node);
    const char *value = constant && node->n_output ? node->output[0] : NULL;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = node->attribute[i];
        const char *owner = *node->name ? node->name : node->n_output ? node->output[0] : node->op_type;
        char *name = arena_alloc(&parts->arena, strlen(owner) + strlen(attribute->name) + 2);
        strcpy(name, owner);
        strcat(strcat(name, "."), attribute->name);
        if (attribute->t)
            add_tensor(work, attribute->t, name, value);
        if (attribute->sparse_tensor && attribute->sparse_tensor->values)
            add_tensor(work, attribute->sparse_tensor->values, name, value);
        for (size_t k = 0; k < attribute->n_tensors; k++)
            add_tensor(work, attribute->tensors[k], name, NULL);
        for (size_t k = 0; k < attribute->n_sparse_tensors; k++)
            if (attribute->sparse_tensors[k]->values)
                add_tensor(work, attribute->sparse_tensors[k]->values, name, NULL);
        int kind = kind_of(parts->model, node, attribute);
        if (kind < 0)
            continue;
        struct part *part = add(parts, (enum part_kind)kind, name);
        bool number = kind == PART_FLOATS || (constant && kind != PART_STRING && kind != PART_STRINGS);
        part->attribute = attribute;
        part->parameter =
            number && (constant ? kind == PART_INT || kind == PART_INTS ||
                                      (map_has(&work->settings, value) && !map_has(&work->data, value))
                                : op_of(node) != NULL);
    }
}

static int add_message(void *context, ProtobufCMessage *message)
{
    if (message->descriptor == &onnx__graph_proto__descriptor)
        add_graph(context, (Onnx__GraphProto *)message);
    else if (message->descriptor == &onnx__node_proto__descriptor)
        add_node(context, (const Onnx__NodeProto *)message);
    return 0;
}

void data_parts_list(struct parts *parts, struct subject *subject)
{
    struct work work = {.parts = parts};
    *parts = (struct parts){.model = subject->model};
    arena_init(&parts->arena);
    map_init(&work.data);
    map_init(&work.settings);
    for (size_t i = 0; i < subject->n_inputs; i++)
        for (size_t k = 0; k < subject->inputs[i].count; k++)
            add(parts, PART_INPUT, subject->inputs[i].name)->tensor = &subject->inputs[i].tensors[k];
    tree_each(&subject->model->proto->base, note_readers, &work);
    tree_each(&subject->model->proto->base, add_message, &work);
    map_release(&work.data);
    map_release(&work.settings);
}

void data_parts_release(struct parts *parts)
{
    free(parts->items);
    arena_release(&parts->arena);
    *parts = (struct parts){0};
}

static int read_texts(const ProtobufCBinaryData *texts, size_t count, struct tensor *tensor,
                      struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    Onnx__TensorProto proto;
    int64_t dim = (int64_t)count;
    onnx__tensor_proto__init(&proto);
    proto.name = arena_strdup(&arena, "");
    proto.has_data_type = true;
    proto.data_type = DTYPE_STRING;
    proto.n_dims = 1;
    proto.dims = &dim;
    proto.n_string_data = count;
    proto.string_data = arena_copy(&arena, texts, count * sizeof *texts);
    int status = model_tensor_read(&proto, tensor, err);
    arena_release(&arena);
    return status;
}

int part_read(const struct part *part, struct tensor *tensor, struct error *err)
{
    const Onnx__AttributeProto *attribute = part->attribute;
    struct shape list = {.rank = 1};
    tensor_init(tensor);
    switch (part->kind) {
    case PART_INPUT:
        return tensor_copy(tensor, part->tensor, err);
    case PART_TENSOR:
        return model_tensor_read(part->proto, tensor, err);
    case PART_FLOAT:
    case PART_INT:
        list.rank = 0;
        return part->kind == PART_FLOAT
                   ? tensor_from_bytes(tensor, DTYPE_FLOAT, &list, &attribute->f, sizeof attribute->f, err)
                   : tensor_from_bytes(tensor, DTYPE_INT64, &list, &attribute->i, sizeof attribute->i, err);
    case PART_FLOATS:
        list.dims[0] = (int64_t)attribute->n_floats;
        return tensor_from_bytes(tensor, DTYPE_FLOAT, &list, attribute->floats,
                                 attribute->n_floats * sizeof *attribute->floats, err);
    case PART_INTS:
        list.dims[0] = (int64_t)attribute->n_ints;
        return tensor_from_bytes(tensor, DTYPE_INT64, &list, attribute->ints,
                                 attribute->n_ints * sizeof *attribute->ints, err);
    case PART_STRING:
        return read_texts(&attribute->s, 1, tensor, err);
    case PART_STRINGS:
        return read_texts(attribute->strings, attribute->n_strings, tensor, err);
    }
    return -1;
}

static int write_texts(const struct parts *parts, Onnx__AttributeProto *attribute,
                       const struct tensor *tensor)
{
    const Onnx__TensorProto *proto = model_tensor_write(&parts->model->arena, "", tensor);
    if (attribute->has_s)
        attribute->s = proto->string_data[0];
    else
        attribute->strings = proto->string_data;
    return 0;
}

int part_write(const struct parts *parts, const struct part *part, const struct tensor *tensor,
               struct error *err)
{
    Onnx__AttributeProto *attribute = part->attribute;
    struct arena *arena = &parts->model->arena;
    struct tensor copy;
    switch (part->kind) {
    case PART_INPUT:
        if (tensor_copy(&copy, tensor, err))
            return -1;
        tensor_release(part->tensor);
        *part->tensor = copy;
        return 0;
    case PART_TENSOR:
        *part->proto =
            *(model_tensor_is_raw(part->proto) ? model_tensor_write(arena, part->proto->name, tensor)
                                               : model_tensor_write_typed(arena, part->proto->name, tensor));
        return 0;
    case PART_FLOAT:
        attribute->f = (float)tensor_get(tensor, 0);
        return 0;
    case PART_INT:
        attribute->i = (int64_t)tensor_get(tensor, 0);
        return 0;
    case PART_FLOATS:
        attribute->floats = arena_copy(arena, tensor->data, tensor->size);
        return 0;
    case PART_INTS:
        attribute->ints = arena_copy(arena, tensor->data, tensor->size);
        return 0;
    case PART_STRING:
    case PART_STRINGS:
        return write_texts(parts, attribute, tensor);
    }
    return -1;
}
