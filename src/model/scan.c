#include "model/scan.h"

#include "base/memory.h"
#include "model/model.h"
#include "model/newer_fields.h"

#include <inttypes.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Field numbers of onnx.proto that the skeleton is made of. */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9 };

/* A subgraph is three messages deeper than its graph: node, attribute, graph. */
enum { MAX_MESSAGES = 3 * MODEL_MAX_DEPTH };

/* protobuf-c records every field (40 bytes, in slabs that double in size) before it decodes any. */
enum { FIELD_OVERHEAD = 96, ALIGNMENT = 16 };

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift < 64)
            *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static int take_payload(const uint8_t **at, const uint8_t *end, uint64_t size, struct scan_field *field,
                        struct error *err)
{
    size_t left = (size_t)(end - *at);
    if (size > left)
        return error_set(err, ERROR_FORMAT, "needs %" PRIu64 " bytes, but %zu are left", size, left);
    field->data = *at;
    field->size = (size_t)size;
    *at += size;
    return 0;
}

int scan_next(const uint8_t **at, const uint8_t *end, struct scan_field *field, struct error *err)
{
    uint64_t key, size;
    *field = (struct scan_field){.start = *at};
    if (!read_varint(at, end, &key))
        return error_set(err, ERROR_FORMAT, "a field's key is cut off");
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return error_set(err, ERROR_FORMAT, "%" PRIu64 " is not a field number", key >> 3);
    field->number = (uint32_t)(key >> 3);
    field->wire = (int)(key & 7);
    field->data = *at;
    switch (field->wire) {
    case WIRE_VARINT:
        if (!read_varint(at, end, &field->value))
            return error_set(err, ERROR_FORMAT, "a varint is cut off");
        field->size = (size_t)(*at - field->data);
        return 0;
    case WIRE_64:
        return take_payload(at, end, 8, field, err);
    case WIRE_32:
        return take_payload(at, end, 4, field, err);
    case WIRE_BYTES:
        if (!read_varint(at, end, &size))
            return error_set(err, ERROR_FORMAT, "a length is cut off");
        return take_payload(at, end, size, field, err);
    default:
        return error_set(err, ERROR_FORMAT, "wire type %d is not one of protobuf's", field->wire);
    }
}

struct frame {
    const struct frame *parent;
    const char *name;
};

struct scan {
    const ProtobufCMessageDescriptor *root;
    const uint8_t *start;
    size_t memory, detached;
    bool detach;
    struct error *err;
};

static int fail_at(const struct scan *scan, const struct frame *frame, const char *field, const uint8_t *at)
{
    const char *names[MAX_MESSAGES + 2];
    size_t depth = 0;
    for (; frame && depth < MAX_MESSAGES + 2; frame = frame->parent)
        names[depth++] = frame->name;
    struct str path;
    str_init(&path);
    /* The innermost eight levels are enough for a message. */
    for (size_t i = depth > 8 ? 8 : depth; i-- > 0;)
        str_printf(&path, "%s.", names[i]);
    str_add(&path, field ? field : "(unknown field)");
    error_prefix(scan->err, "%s at byte %zu", path.data, (size_t)(at - scan->start));
    str_release(&path);
    return -1;
}

static int wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    default:
        return WIRE_VARINT;
    }
}

/* The number of elements in a packed array; -1 when its size is not a whole number of them. */
static int64_t packed_count(int wire, const uint8_t *data, size_t size)
{
    if (wire != WIRE_VARINT) {
        size_t item = wire == WIRE_32 ? 4 : 8;
        return size % item ? -1 : (int64_t)(size / item);
    }
    int64_t count = 0;
    for (const uint8_t *at = data; at < data + size; count++) {
        uint64_t ignored;
        if (!read_varint(&at, data + size, &ignored))
            return -1;
    }
    return count;
}

/* Checks a length-delimited field that is not a message: text, bytes or packed numbers. Adds what unpacking
 * will allocate. */
static int check_bytes(struct scan *scan, const ProtobufCFieldDescriptor *known,
                       const struct scan_field *field)
{
    int wire = wire_of(known->type);
    if (wire != WIRE_BYTES) {
        int64_t count = packed_count(wire, field->data, field->size);
        if (count < 0)
            return error_set(scan->err, ERROR_FORMAT, "%zu bytes are not a whole number of elements",
                             field->size);
        scan->memory += (size_t)count * 8;
        return 0;
    }
    if (known->type == PROTOBUF_C_TYPE_STRING && memchr(field->data, 0, field->size))
        return error_set(scan->err, ERROR_FORMAT, "a text contains a NUL byte");
    scan->memory += field->size + ALIGNMENT;
    return 0;
}

static int check_wire(const struct scan *scan, const ProtobufCFieldDescriptor *known,
                      const struct scan_field *field)
{
    int wire = wire_of(known->type);
    bool packed = known->label == PROTOBUF_C_LABEL_REPEATED && field->wire == WIRE_BYTES;
    if (field->wire == wire || packed)
        return 0;
    return error_set(scan->err, ERROR_FORMAT, "has wire type %d instead of %d", field->wire, wire);
}

/*
 * Refuses a singular message that occurs twice, which protobuf would merge. No known writer makes such;
 * protobuf-c needs quadratic memory for many of them, and a second graph would start the numbering of
 * initialisers again. `seen` has a bit for each field of the type; no type of onnx.proto has more than 30.
 */
static int check_repetition(const struct scan *scan, const ProtobufCMessageDescriptor *type,
                            const ProtobufCFieldDescriptor *known, uint64_t *seen)
{
    uint64_t bit = (uint64_t)1 << ((known - type->fields) & 63);
    if (known->type != PROTOBUF_C_TYPE_MESSAGE || known->label == PROTOBUF_C_LABEL_REPEATED)
        return 0;
    if (*seen & bit)
        return error_set(scan->err, ERROR_FORMAT, "occurs twice, but is allowed only once");
    *seen |= bit;
    return 0;
}

static bool is_weight(const struct scan *scan, const ProtobufCMessageDescriptor *type, int depth,
                      const struct scan_field *field)
{
    return scan->detach && depth == 2 && type == &onnx__tensor_proto__descriptor &&
           scan->root == &onnx__model_proto__descriptor && field->number == TENSOR_RAW_DATA &&
           field->size > MODEL_INLINE_LIMIT;
}

static int check_message(struct scan *scan, const ProtobufCMessageDescriptor *type, const uint8_t *at,
                         const uint8_t *end, const struct frame *frame, int depth)
{
    uint64_t seen = 0;
    if (depth > MAX_MESSAGES) {
        error_set(scan->err, ERROR_LIMIT, "nested deeper than %d messages", MAX_MESSAGES);
        return fail_at(scan, frame, "...", at);
    }
    scan->memory += type->sizeof_message + 2 * ALIGNMENT;
    while (at < end) {
        struct scan_field field;
        const uint8_t *start = at;
        int bad = scan_next(&at, end, &field, scan->err);
        const ProtobufCFieldDescriptor *known =
            field.number ? protobuf_c_message_descriptor_get_field(type, field.number) : NULL;
        scan->memory += FIELD_OVERHEAD;
        const struct newer_field *newer = newer_field_find(type, field.number);
        const char *name = known ? known->name : newer ? newer->name : NULL;
        if (!bad && known)
            bad = check_wire(scan, known, &field) || check_repetition(scan, type, known, &seen);
        if (!bad && (newer || !known))
            bad = newer_field_check(type, &field, scan->err);
        if (bad)
            return fail_at(scan, frame, name, start);
        const ProtobufCMessageDescriptor *inside =
            known && known->type == PROTOBUF_C_TYPE_MESSAGE ? known->descriptor
            : !known && newer && field.wire == WIRE_BYTES   ? newer->holds
                                                            : NULL;
        if (is_weight(scan, type, depth, &field)) {
            scan->detached++;
        } else if (inside) {
            struct frame inner = {frame, name};
            if (check_message(scan, inside, field.data, at, &inner, depth + 1))
                return -1;
        } else if (!known) {
            scan->memory += field.size + ALIGNMENT;
        } else if (field.wire == WIRE_BYTES && check_bytes(scan, known, &field)) {
            return fail_at(scan, frame, known->name, start);
        }
        if (scan->memory > SCAN_MEMORY_LIMIT) {
            error_set(scan->err, ERROR_LIMIT, "unpacking would take more than the %zu bytes allowed",
                      SCAN_MEMORY_LIMIT);
            return fail_at(scan, frame, name, start);
        }
    }
    return 0;
}

int scan_check(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, size_t *detached,
               struct error *err)
{
    struct scan scan = {.root = type, .start = data, .detach = detached != NULL, .err = err};
    if (size && check_message(&scan, type, data, data + size, NULL, 0))
        return -1;
    if (detached)
        *detached = scan.detached;
    return 0;
}

void scan_put_varint(struct str *out, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        str_append(out, &byte, 1);
        value >>= 7;
    } while (value);
}

void scan_put_bytes(struct str *out, uint32_t number, const void *data, size_t size)
{
    scan_put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    scan_put_varint(out, size);
    str_append(out, data, size);
}

static void put_verbatim(struct str *out, const struct scan_field *field)
{
    str_append(out, field->start, (size_t)(field->data + field->size - field->start));
}

/* Copies a tensor without large raw_data. As in protobuf, the last of several raw_data fields counts. */
static void skeleton_tensor(const struct scan_field *tensor, struct str *out, struct scan_weight *weight)
{
    const uint8_t *at = tensor->data, *end = at + tensor->size;
    struct scan_field field;
    weight->data = NULL;
    while (at < end && scan_next(&at, end, &field, NULL) == 0) {
        bool raw = field.number == TENSOR_RAW_DATA;
        if (raw && field.size > MODEL_INLINE_LIMIT) {
            weight->data = field.data;
            weight->size = field.size;
            continue;
        }
        if (raw)
            weight->data = NULL;
        put_verbatim(out, &field);
    }
}

static void skeleton_graph(const struct scan_field *graph, struct str *out, struct scan_weight **weights,
                           size_t *count)
{
    const uint8_t *at = graph->data, *end = at + graph->size;
    struct scan_field field;
    size_t capacity = 0, initializers = 0;
    struct str body;
    str_init(&body);
    while (at < end && scan_next(&at, end, &field, NULL) == 0) {
        if (field.number != GRAPH_INITIALIZER) {
            put_verbatim(out, &field);
            continue;
        }
        struct scan_weight weight = {.initializer = initializers++};
        str_clear(&body);
        skeleton_tensor(&field, &body, &weight);
        scan_put_bytes(out, GRAPH_INITIALIZER, body.data, body.length);
        if (weight.data) {
            *weights = memory_grow(*weights, &capacity, *count + 1, sizeof **weights);
            (*weights)[(*count)++] = weight;
        }
    }
    str_release(&body);
}

void scan_skeleton(const uint8_t *data, size_t size, struct str *skeleton, struct scan_weight **weights,
                   size_t *count)
{
    const uint8_t *at = data, *end = data + size;
    struct scan_field field;
    *weights = NULL;
    *count = 0;
    while (at < end && scan_next(&at, end, &field, NULL) == 0) {
        if (field.number != MODEL_GRAPH) {
            put_verbatim(skeleton, &field);
            continue;
        }
        struct str graph;
        str_init(&graph);
        skeleton_graph(&field, &graph, weights, count);
        scan_put_bytes(skeleton, MODEL_GRAPH, graph.data, graph.length);
        str_release(&graph);
    }
}
