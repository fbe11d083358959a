#include "model/newer_fields.h"

#include "base/str.h"
#include "model/tree.h"

#include <inttypes.h>
#include <string.h>

enum { FUNCTION_ATTRIBUTES = 11 };

static const struct newer_field fields[] = {
    {&onnx__value_info_proto__descriptor, 4, "metadata_props", NULL, false},
    {&onnx__node_proto__descriptor, 8, "overload", NULL, true},
    {&onnx__node_proto__descriptor, 9, "metadata_props", NULL, false},
    {&onnx__node_proto__descriptor, 10, "device_configurations", NULL, false},
    {&onnx__graph_proto__descriptor, 16, "metadata_props", NULL, false},
    {&onnx__tensor_proto__descriptor, 16, "metadata_props", NULL, false},
    {&onnx__model_proto__descriptor, 26, "configuration", NULL, false},
    {&onnx__function_proto__descriptor, FUNCTION_ATTRIBUTES, "attribute_proto",
     &onnx__attribute_proto__descriptor, false},
    {&onnx__function_proto__descriptor, 12, "value_info", NULL, false},
    {&onnx__function_proto__descriptor, 13, "overload", NULL, true},
    {&onnx__function_proto__descriptor, 14, "metadata_props", NULL, false},
};

enum { FIELDS = sizeof fields / sizeof *fields };

const struct newer_field *newer_field_find(const ProtobufCMessageDescriptor *message, uint32_t number)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].message == message && fields[i].number == number)
            return &fields[i];
    return NULL;
}

/* The largest field number of a message, in the build's onnx.proto or in the table. */
static uint32_t largest_number(const ProtobufCMessageDescriptor *message)
{
    uint32_t largest = 0;
    for (unsigned i = 0; i < message->n_fields; i++)
        largest = message->fields[i].id > largest ? message->fields[i].id : largest;
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].message == message && fields[i].number > largest)
            largest = fields[i].number;
    return largest;
}

int newer_field_check(const ProtobufCMessageDescriptor *message, const struct scan_field *field,
                      struct error *err)
{
    const struct newer_field *newer = newer_field_find(message, field->number);
    if (newer && newer->refused && field->size > 0)
        return error_set(err, ERROR_UNSUPPORTED, "the field %s of %s is not supported", newer->name,
                         message->short_name);
    if (newer || !text_equal(message->package_name, "onnx") || field->number <= largest_number(message))
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "the field %" PRIu32 " of %s is newer than ONNX %s, the newest release that Assay knows",
                     field->number, message->short_name, NEWEST_ONNX);
}

/* Where the build's onnx.proto declares the field. */
static Onnx__AttributeProto **declared_defaults(const Onnx__FunctionProto *function,
                                                const ProtobufCFieldDescriptor *field, size_t *count)
{
    Onnx__AttributeProto **list;
    memcpy(count, (const char *)function + field->quantifier_offset, sizeof *count);
    memcpy(&list, (const char *)function + field->offset, sizeof list);
    return list;
}

Onnx__AttributeProto **function_defaults(const Onnx__FunctionProto *function, struct arena *arena,
                                         size_t *count)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&onnx__function_proto__descriptor, FUNCTION_ATTRIBUTES);
    *count = 0;
    if (field)
        return declared_defaults(function, field, count);
    size_t unknown = function->base.n_unknown_fields;
    Onnx__AttributeProto **list = arena_array(arena, unknown + 1, sizeof *list);
    for (size_t i = 0; i < unknown; i++) {
        const ProtobufCMessageUnknownField *raw = &function->base.unknown_fields[i];
        /* protobuf-c keeps the length in front; scan_check has seen it and what it holds. */
        const uint8_t *at = raw->data;
        while (raw->len && at < raw->data + raw->len && *at & 0x80)
            at++;
        if (raw->tag != FUNCTION_ATTRIBUTES || at >= raw->data + raw->len)
            continue;
        at++;
        ProtobufCMessage *read = tree_unpack(&onnx__attribute_proto__descriptor, at,
                                             (size_t)(raw->data + raw->len - at), arena, NULL);
        if (read)
            list[(*count)++] = (Onnx__AttributeProto *)read;
    }
    return list;
}
