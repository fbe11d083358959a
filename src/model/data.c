#include "model/data.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/model.h"
#include "model/scan.h"
#include "model/tree.h"
#include "tensor/narrow.h"
#include "tensor/npy.h"

#include <stdlib.h>
#include <string.h>

/* SequenceProto and OptionalProto of onnx-data.proto, which Debian does not install: the field numbers, the
 * same in both, and the numbers of what an element can be. */
enum { FIELD_NAME = 1, FIELD_KIND = 2, FIELD_TENSOR = 3, FIELD_SEQUENCE = 5 };
enum { KIND_UNDEFINED = 0, KIND_TENSOR = 1, KIND_SEQUENCE = 3 };

static int parse_tensor(const uint8_t *data, size_t size, struct tensor *tensor, char **name,
                        struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    int result = -1;
    Onnx__TensorProto *proto =
        (Onnx__TensorProto *)tree_unpack(&onnx__tensor_proto__descriptor, data, size, &arena, err);
    if (proto)
        result = model_tensor_read(proto, tensor, err);
    if (!result && name && proto->name && proto->name[0])
        *name = memory_strdup(proto->name);
    arena_release(&arena);
    return result;
}

static int parse_tensor_value(const uint8_t *data, size_t size, struct value *value, struct error *err)
{
    struct tensor tensor;
    if (parse_tensor(data, size, &tensor, value->name ? NULL : &value->name, err))
        return -1;
    value_set_tensor(value, &tensor);
    return 0;
}

static void take_name(struct value *value, const struct scan_field *field)
{
    if (!field->size || value->name || memchr(field->data, 0, field->size))
        return;
    value->name = memory_zeroed(field->size + 1, 1);
    memcpy(value->name, field->data, field->size);
}

static int unexpected(const struct scan_field *field, const char *where, struct error *err)
{
    return error_set(err, ERROR_UNSUPPORTED, "%s has a field %u of wire type %d: only tensors are supported",
                     where, (unsigned)field->number, field->wire);
}

static int parse_sequence(const uint8_t *data, size_t size, struct value *value, struct error *err)
{
    const uint8_t *at = data, *end = data + size;
    size_t capacity = 0;
    value->kind = VALUE_SEQUENCE;
    while (at < end) {
        struct scan_field field;
        if (scan_next(&at, end, &field, err))
            return error_prefix(err, "sequence");
        if (field.number == FIELD_NAME && field.wire == 2) {
            take_name(value, &field);
        } else if (field.number == FIELD_TENSOR && field.wire == 2) {
            value->tensors = memory_grow(value->tensors, &capacity, value->count + 1, sizeof *value->tensors);
            if (parse_tensor(field.data, field.size, &value->tensors[value->count], NULL, err))
                return error_prefix(err, "element %zu of the sequence", value->count);
            value->count++;
        } else if (field.number != FIELD_KIND || field.wire != 0) {
            return unexpected(&field, "a sequence", err);
        }
    }
    return 0;
}

static int parse_optional(const uint8_t *data, size_t size, struct value *value, struct error *err)
{
    const uint8_t *at = data, *end = data + size;
    while (at < end) {
        struct scan_field field;
        int result = 0;
        if (scan_next(&at, end, &field, err))
            return error_prefix(err, "optional");
        bool bytes = field.wire == 2, fresh = value->kind == VALUE_NONE;
        if (field.number == FIELD_NAME && bytes)
            take_name(value, &field);
        else if (field.number == FIELD_TENSOR && bytes && fresh)
            result = parse_tensor_value(field.data, field.size, value, err);
        else if (field.number == FIELD_SEQUENCE && bytes && fresh)
            result = parse_sequence(field.data, field.size, value, err);
        else if (field.number != FIELD_KIND || field.wire != 0)
            result = unexpected(&field, "an optional", err);
        if (result)
            return result;
    }
    return 0;
}

/* Takes uint16 as bfloat16, and bytes as narrow elements, where the model wants these: the official tests
 * store bfloat16 so, and .npy files have no other way. */
static void mend_type(const Onnx__TypeProto *type, struct value *value)
{
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || value->kind != VALUE_TENSOR ||
        !type->tensor_type || dtype_check(type->tensor_type->elem_type, NULL))
        return;
    enum dtype wanted = (enum dtype)type->tensor_type->elem_type, *got = &value->tensors[0].type;
    if ((wanted == DTYPE_BFLOAT16 && *got == DTYPE_UINT16) ||
        (dtype_is_narrow(wanted) && (*got == DTYPE_UINT8 || *got == DTYPE_INT8)))
        *got = wanted;
}

int data_parse(const uint8_t *data, size_t size, const Onnx__TypeProto *type, struct value *value,
               struct error *err)
{
    value_init(value);
    int result;
    Onnx__TypeProto__ValueCase kind = type ? type->value_case : ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    switch (kind) {
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        result = parse_sequence(data, size, value, err);
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        result = parse_optional(data, size, value, err);
        break;
    case ONNX__TYPE_PROTO__VALUE__NOT_SET:
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        result = parse_tensor_value(data, size, value, err);
        break;
    default:
        result = error_set(err, ERROR_UNSUPPORTED, "maps and sparse tensors are not supported as data");
    }
    if (result)
        value_release(value);
    else
        mend_type(type, value);
    return result;
}

static int read_npy(const struct folder *in, const char *name, const Onnx__TypeProto *type,
                    struct value *value, struct error *err)
{
    struct tensor tensor;
    if (npy_read(in, name, &tensor, err))
        return -1;
    value_set_tensor(value, &tensor);
    mend_type(type, value);
    return 0;
}

int data_read(const struct folder *in, const char *name, const Onnx__TypeProto *type, struct value *value,
              struct error *err)
{
    struct file_map map;
    value_init(value);
    if (text_ends(name, ".npy"))
        return read_npy(in, name, type, value, err);
    if (!text_ends(name, ".pb")) {
        error_set(err, ERROR_USAGE, "unknown suffix; data is read from .pb and .npy files");
        return folder_prefix(in, name, err);
    }
    if (folder_map(&map, in, name, err))
        return -1;
    int result = data_parse(map.data, map.size, type, value, err);
    if (result)
        folder_prefix(in, name, err);
    file_map_close(&map);
    return result;
}

/* A TensorProto that points into the tensor; only strings and packed elements need memory of their own. */
static int pack_tensor(const struct tensor *tensor, const char *name, struct str *out, struct error *err)
{
    struct arena arena;
    struct tensor bare = *tensor;
    bool points = tensor->type != DTYPE_STRING && !narrow_is_packed(tensor->type);
    arena_init(&arena);
    if (points)
        bare.size = 0;
    Onnx__TensorProto *proto = model_tensor_write(&arena, name, &bare);
    if (points)
        proto->raw_data = (ProtobufCBinaryData){tensor->size, tensor->data};
    size_t size = onnx__tensor_proto__get_packed_size(proto);
    int result = 0;
    if (size > INT32_MAX) {
        result =
            error_set(err, ERROR_LIMIT, "a tensor of %zu bytes exceeds the 2 GB limit of protobuf", size);
    } else {
        uint8_t *bytes = memory_zeroed(size, 1);
        onnx__tensor_proto__pack(proto, bytes);
        str_append(out, bytes, size);
        free(bytes);
    }
    arena_release(&arena);
    return result;
}

static void put_head(struct str *out, const char *name, unsigned kind)
{
    if (name && name[0])
        scan_put_bytes(out, FIELD_NAME, name, strlen(name));
    scan_put_varint(out, FIELD_KIND << 3);
    scan_put_varint(out, kind);
}

static int pack_sequence(const struct value *value, struct str *out, struct error *err)
{
    int result = 0;
    struct str item;
    str_init(&item);
    put_head(out, value->name, KIND_TENSOR);
    for (size_t i = 0; !result && i < value->count; i++) {
        str_clear(&item);
        result = pack_tensor(&value->tensors[i], NULL, &item, err);
        scan_put_bytes(out, FIELD_TENSOR, item.data, item.length);
    }
    str_release(&item);
    return result;
}

static int pack_plain(const struct value *value, struct str *out, struct error *err)
{
    switch (value->kind) {
    case VALUE_TENSOR:
        return pack_tensor(&value->tensors[0], value->name, out, err);
    case VALUE_SEQUENCE:
        return pack_sequence(value, out, err);
    default:
        put_head(out, value->name, KIND_UNDEFINED);
        return 0;
    }
}

static int pack_optional(const struct value *value, struct str *out, struct error *err)
{
    if (value->kind == VALUE_NONE)
        return pack_plain(value, out, err);
    bool sequence = value->kind == VALUE_SEQUENCE;
    struct str inner;
    str_init(&inner);
    int result = pack_plain(value, &inner, err);
    put_head(out, value->name, sequence ? KIND_SEQUENCE : KIND_TENSOR);
    scan_put_bytes(out, sequence ? FIELD_SEQUENCE : FIELD_TENSOR, inner.data, inner.length);
    str_release(&inner);
    return result;
}

int data_pack(const Onnx__TypeProto *type, const struct value *value, struct str *out, struct error *err)
{
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
        return pack_optional(value, out, err);
    return pack_plain(value, out, err);
}

int data_write_typed(const struct folder *in, const char *name, const Onnx__TypeProto *type,
                     const struct value *value, struct error *err)
{
    bool npy = text_ends(name, ".npy");
    if (npy && value->kind == VALUE_TENSOR)
        return npy_write(in, name, &value->tensors[0], err);
    struct str bytes;
    str_init(&bytes);
    int result = npy ? error_set(err, ERROR_UNSUPPORTED, "only a tensor can be written as .npy")
                 : text_ends(name, ".pb")
                     ? data_pack(type, value, &bytes, err)
                     : error_set(err, ERROR_USAGE, "unknown suffix; data is written to .pb and .npy files");
    if (!result)
        result = folder_write(in, name, bytes.data, bytes.length, err);
    else
        folder_prefix(in, name, err);
    str_release(&bytes);
    return result;
}

int data_write(const struct folder *in, const char *name, const struct value *value, struct error *err)
{
    return data_write_typed(in, name, NULL, value, err);
}
