#include "model/tree.h"

#include "model/scan.h"

#include <string.h>

/* Allocates one more byte, which stays zero: attribute strings are bytes and may be read as text. */
static void *take(void *arena, size_t size)
{
    return arena_alloc(arena, size + 1);
}

static void give_back(void *arena, void *data)
{
    (void)arena, (void)data; /* an arena frees all at once */
}

ProtobufCMessage *tree_unpack_checked(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                                      size_t size, struct arena *arena, struct error *err)
{
    ProtobufCAllocator allocator = {take, give_back, arena};
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, size, data);
    if (!message)
        error_set(err, ERROR_FORMAT, "not a protobuf %s", type->short_name);
    return message;
}

ProtobufCMessage *tree_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                              struct arena *arena, struct error *err)
{
    if (scan_check(type, data, size, NULL, err))
        return NULL;
    return tree_unpack_checked(type, data, size, arena, err);
}

static const void *member(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

/* Whether this field is the one that is set of its oneof; true for a field outside a oneof. */
static bool is_chosen(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return true;
    uint32_t chosen;
    memcpy(&chosen, member(message, field->quantifier_offset), sizeof chosen);
    return chosen == field->id;
}

/* The number of messages in a field, and the array of pointers to them. */
static size_t messages_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                          ProtobufCMessage *const **messages)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return 0;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        *messages = *(ProtobufCMessage *const *const *)member(message, field->offset);
        return *(const size_t *)member(message, field->quantifier_offset);
    }
    *messages = member(message, field->offset);
    return is_chosen(message, field) && **messages ? 1 : 0;
}

int tree_each(ProtobufCMessage *message, int (*visit)(void *context, ProtobufCMessage *message),
              void *context)
{
    int result = visit(context, message);
    for (unsigned i = 0; !result && i < message->descriptor->n_fields; i++) {
        ProtobufCMessage *const *inner = NULL;
        size_t count = messages_of(message, &message->descriptor->fields[i], &inner);
        for (size_t k = 0; !result && k < count; k++)
            result = tree_each(inner[k], visit, context);
    }
    return result;
}

int tree_texts(const ProtobufCMessage *message,
               int (*visit)(void *context, const char *field, const char *text), void *context)
{
    int result = 0;
    for (unsigned i = 0; !result && i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->type != PROTOBUF_C_TYPE_STRING)
            continue;
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        const char *const *texts = member(message, field->offset);
        size_t count = is_chosen(message, field);
        if (repeated) {
            count = *(const size_t *)member(message, field->quantifier_offset);
            texts = *(const char *const *const *)member(message, field->offset);
        }
        for (size_t k = 0; !result && k < count; k++)
            result = texts[k] ? visit(context, field->name, texts[k]) : 0;
    }
    return result;
}

struct copier {
    struct arena *arena;
    bool (*share)(const void *context, const ProtobufCBinaryData *bytes);
    const void *context;
};

static size_t item_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    default:
        return 4;
    }
}

static ProtobufCMessage *copy_message(const struct copier *copier, const ProtobufCMessage *message);

/* Copies what an item points to; the item itself was copied already. */
static void copy_item(const struct copier *copier, const ProtobufCFieldDescriptor *field, void *item)
{
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        char **text = item;
        if (*text)
            *text = arena_strdup(copier->arena, *text);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *bytes = item;
        if (bytes->len && !(copier->share && copier->share(copier->context, bytes)))
            bytes->data = arena_copy(copier->arena, bytes->data, bytes->len);
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage **inner = item;
        if (*inner)
            *inner = copy_message(copier, *inner);
    }
}

static void copy_field(const struct copier *copier, ProtobufCMessage *copy,
                       const ProtobufCFieldDescriptor *field)
{
    char *at = (char *)copy + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        if (is_chosen(copy, field))
            copy_item(copier, field, at);
        return;
    }
    size_t count = *(const size_t *)member(copy, field->quantifier_offset), size = item_size(field->type);
    if (!count)
        return;
    char *items = arena_copy(copier->arena, *(void **)(void *)at, count * size);
    *(void **)(void *)at = items;
    for (size_t i = 0; i < count; i++)
        copy_item(copier, field, items + i * size);
}

static ProtobufCMessage *copy_message(const struct copier *copier, const ProtobufCMessage *message)
{
    ProtobufCMessage *copy = arena_copy(copier->arena, message, message->descriptor->sizeof_message);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        copy_field(copier, copy, &message->descriptor->fields[i]);
    if (message->n_unknown_fields) {
        copy->unknown_fields = arena_copy(copier->arena, message->unknown_fields,
                                          message->n_unknown_fields * sizeof *message->unknown_fields);
        for (size_t i = 0; i < message->n_unknown_fields; i++)
            copy->unknown_fields[i].data =
                arena_copy(copier->arena, message->unknown_fields[i].data, message->unknown_fields[i].len);
    }
    return copy;
}

ProtobufCMessage *tree_copy(const ProtobufCMessage *message, struct arena *arena,
                            bool (*share)(const void *context, const ProtobufCBinaryData *bytes),
                            const void *context)
{
    struct copier copier = {arena, share, context};
    return copy_message(&copier, message);
}
