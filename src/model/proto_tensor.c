/* TensorProto messages to tensors and back (model_tensor_read and its like in model.h). */
#include "model/model.h"

#include "tensor/narrow.h"

#include <inttypes.h>
#include <string.h>

/* The typed field that holds elements of a type, and how many of its items one element takes. Where elements
 * share bytes, an item is such a byte. */
enum field { FIELD_FLOAT, FIELD_INT32, FIELD_INT64, FIELD_DOUBLE, FIELD_UINT64, FIELD_STRING };

static enum field field_of(enum dtype type, size_t *items)
{
    *items = type == DTYPE_COMPLEX64 || type == DTYPE_COMPLEX128 ? 2 : 1;
    switch (type) {
    case DTYPE_FLOAT:
    case DTYPE_COMPLEX64:
        return FIELD_FLOAT;
    case DTYPE_DOUBLE:
    case DTYPE_COMPLEX128:
        return FIELD_DOUBLE;
    case DTYPE_INT64:
        return FIELD_INT64;
    case DTYPE_UINT32:
    case DTYPE_UINT64:
        return FIELD_UINT64;
    case DTYPE_STRING:
        return FIELD_STRING;
    default:
        return FIELD_INT32;
    }
}

static size_t field_items(const Onnx__TensorProto *proto, enum field field)
{
    switch (field) {
    case FIELD_FLOAT:
        return proto->n_float_data;
    case FIELD_INT32:
        return proto->n_int32_data;
    case FIELD_INT64:
        return proto->n_int64_data;
    case FIELD_DOUBLE:
        return proto->n_double_data;
    case FIELD_UINT64:
        return proto->n_uint64_data;
    default:
        return proto->n_string_data;
    }
}

/* Some writers leave an empty raw_data beside typed data: then the typed data counts. */
bool model_tensor_is_raw(const Onnx__TensorProto *proto)
{
    return proto->has_raw_data && proto->raw_data.len > 0;
}

static int check_packed(const Onnx__TensorProto *proto, enum dtype type, const struct shape *shape,
                        size_t count, struct error *err)
{
    char text[SHAPE_TEXT_SIZE];
    size_t bytes = model_tensor_is_raw(proto) ? proto->raw_data.len : proto->n_int32_data;
    if (bytes == narrow_packed_size(type, count))
        return 0;
    return error_set(err, ERROR_FORMAT, "%s%s needs %zu bytes of packed elements, but there are %zu",
                     dtype_name(type), shape_text(shape, text), narrow_packed_size(type, count), bytes);
}

static int check_amount(const Onnx__TensorProto *proto, enum dtype type, const struct shape *shape,
                        size_t count, struct error *err)
{
    char text[SHAPE_TEXT_SIZE];
    size_t items;
    enum field field = field_of(type, &items);
    if (narrow_is_packed(type))
        return check_packed(proto, type, shape, count, err);
    if (model_tensor_is_raw(proto) && type == DTYPE_STRING)
        return error_set(err, ERROR_FORMAT, "strings must not be stored in raw_data");
    if (model_tensor_is_raw(proto)
            ? proto->raw_data.len / dtype_size(type) == count && proto->raw_data.len % dtype_size(type) == 0
            : field_items(proto, field) / items == count && field_items(proto, field) % items == 0)
        return 0;
    if (model_tensor_is_raw(proto))
        return error_set(err, ERROR_FORMAT, "%s%s needs %zu elements of %zu bytes, but there are %zu bytes",
                         dtype_name(type), shape_text(shape, text), count, dtype_size(type),
                         proto->raw_data.len);
    return error_set(err, ERROR_FORMAT, "%s%s needs %zu elements, but there are %zu", dtype_name(type),
                     shape_text(shape, text), count, field_items(proto, field) / items);
}

/* Checks everything that must hold before memory is allocated. */
static int examine(const Onnx__TensorProto *proto, struct shape *shape, struct error *err)
{
    size_t count;
    if (dtype_check(proto->data_type, err))
        return -1;
    if (proto->n_dims > TENSOR_MAX_RANK)
        return error_set(err, ERROR_LIMIT, "rank %zu is beyond the %d dimensions supported", proto->n_dims,
                         TENSOR_MAX_RANK);
    *shape = shape_make((int)proto->n_dims, proto->dims);
    if (shape_count(shape, &count, err))
        return -1;
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return error_set(err, ERROR_UNSUPPORTED, "a tensor outside a model file cannot have external data");
    return check_amount(proto, (enum dtype)proto->data_type, shape, count, err);
}

int model_tensor_check(const Onnx__TensorProto *proto, struct error *err)
{
    struct shape shape;
    return examine(proto, &shape, err);
}

static void put_length(uint8_t *at, size_t length)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(length >> 8 * i);
}

static int read_strings(const Onnx__TensorProto *proto, const struct shape *shape, struct tensor *tensor,
                        struct error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < proto->n_string_data; i++)
        size += 4 + proto->string_data[i].len;
    if (tensor_alloc(tensor, DTYPE_UINT8, &(struct shape){1, {(int64_t)size}}, 0, err))
        return -1;
    uint8_t *at = tensor->data;
    for (size_t i = 0; i < proto->n_string_data; i++) {
        size_t length = proto->string_data[i].len;
        put_length(at, length);
        if (length)
            memcpy(at + 4, proto->string_data[i].data, length);
        at += 4 + length;
    }
    tensor->type = DTYPE_STRING;
    tensor->shape = *shape;
    tensor->count = proto->n_string_data;
    return 0;
}

/* int32_data holds the small types: integers and bool by value, half floats by their bits. */
static void read_int32s(const Onnx__TensorProto *proto, struct tensor *tensor)
{
    size_t size = dtype_size(tensor->type);
    for (size_t i = 0; i < tensor->count; i++) {
        int32_t value = proto->int32_data[i];
        if (tensor->type == DTYPE_BOOL)
            value = value != 0;
        memcpy((uint8_t *)tensor->data + i * size, &value, size);
    }
}

static void read_uint64s(const Onnx__TensorProto *proto, struct tensor *tensor)
{
    size_t size = dtype_size(tensor->type);
    for (size_t i = 0; i < tensor->count; i++)
        memcpy((uint8_t *)tensor->data + i * size, &proto->uint64_data[i], size);
}

static void read_typed(const Onnx__TensorProto *proto, enum field field, struct tensor *tensor)
{
    switch (field) {
    case FIELD_FLOAT:
        memcpy(tensor->data, proto->float_data, tensor->size);
        break;
    case FIELD_INT64:
        memcpy(tensor->data, proto->int64_data, tensor->size);
        break;
    case FIELD_DOUBLE:
        memcpy(tensor->data, proto->double_data, tensor->size);
        break;
    case FIELD_UINT64:
        read_uint64s(proto, tensor);
        break;
    default:
        read_int32s(proto, tensor);
    }
}

static int read_packed(const Onnx__TensorProto *proto, const struct shape *shape, struct tensor *tensor,
                       struct error *err)
{
    enum dtype type = (enum dtype)proto->data_type;
    if (tensor_alloc(tensor, type, shape, 0, err))
        return -1;
    if (model_tensor_is_raw(proto)) {
        narrow_unpack(type, proto->raw_data.data, tensor->count, tensor->data);
        return 0;
    }
    unsigned each = 8 / (unsigned)narrow_bits(type);
    for (size_t i = 0; i < proto->n_int32_data; i++) {
        uint8_t byte = (uint8_t)proto->int32_data[i];
        size_t at = i * each, left = tensor->count - at;
        narrow_unpack(type, &byte, left < each ? left : each, (uint8_t *)tensor->data + at);
    }
    return 0;
}

int model_tensor_read(const Onnx__TensorProto *proto, struct tensor *tensor, struct error *err)
{
    struct shape shape;
    size_t items;
    tensor_init(tensor);
    if (examine(proto, &shape, err))
        return -1;
    enum dtype type = (enum dtype)proto->data_type;
    enum field field = field_of(type, &items);
    if (field == FIELD_STRING)
        return read_strings(proto, &shape, tensor, err);
    if (narrow_is_packed(type))
        return read_packed(proto, &shape, tensor, err);
    if (model_tensor_is_raw(proto))
        return tensor_from_bytes(tensor, type, &shape, proto->raw_data.data, proto->raw_data.len, err);
    if (tensor_alloc(tensor, type, &shape, 0, err))
        return -1;
    if (tensor->size)
        read_typed(proto, field, tensor);
    return 0;
}

static void write_strings(struct arena *arena, Onnx__TensorProto *proto, const struct tensor *tensor)
{
    const uint8_t *at = tensor->data;
    proto->n_string_data = tensor->count;
    proto->string_data = arena_array(arena, tensor->count, sizeof *proto->string_data);
    for (size_t i = 0; i < tensor->count; i++) {
        size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        proto->string_data[i].len = length;
        proto->string_data[i].data = arena_copy(arena, at + 4, length);
        at += 4 + length;
    }
}

static Onnx__TensorProto *write_head(struct arena *arena, const char *name, const struct tensor *tensor)
{
    Onnx__TensorProto *proto = arena_alloc(arena, sizeof *proto);
    onnx__tensor_proto__init(proto);
    proto->name = arena_strdup(arena, name ? name : "");
    proto->has_data_type = true;
    proto->data_type = tensor->type;
    proto->n_dims = (size_t)tensor->shape.rank;
    proto->dims = arena_copy(arena, tensor->shape.dims, proto->n_dims * sizeof *proto->dims);
    return proto;
}

static uint8_t *pack(struct arena *arena, const struct tensor *tensor, size_t *size)
{
    *size = narrow_packed_size(tensor->type, tensor->count);
    uint8_t *packed = arena_alloc(arena, *size + 1);
    narrow_pack(tensor->type, tensor->data, tensor->count, packed);
    return packed;
}

Onnx__TensorProto *model_tensor_write(struct arena *arena, const char *name, const struct tensor *tensor)
{
    Onnx__TensorProto *proto = write_head(arena, name, tensor);
    if (tensor->type == DTYPE_STRING) {
        write_strings(arena, proto, tensor);
    } else if (narrow_is_packed(tensor->type)) {
        proto->has_raw_data = true;
        proto->raw_data.data = pack(arena, tensor, &proto->raw_data.len);
    } else {
        proto->has_raw_data = true;
        proto->raw_data.len = tensor->size;
        proto->raw_data.data = arena_copy(arena, tensor->data, tensor->size);
    }
    return proto;
}

static void write_bytes(struct arena *arena, Onnx__TensorProto *proto, const uint8_t *bytes, size_t count)
{
    proto->n_int32_data = count;
    proto->int32_data = arena_array(arena, count, sizeof *proto->int32_data);
    for (size_t i = 0; i < count; i++)
        proto->int32_data[i] = bytes[i];
}

static void write_int32s(struct arena *arena, Onnx__TensorProto *proto, const struct tensor *tensor)
{
    bool bits = tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16;
    size_t size;
    if (narrow_is_packed(tensor->type)) {
        const uint8_t *packed = pack(arena, tensor, &size);
        write_bytes(arena, proto, packed, size);
        return;
    }
    if (dtype_is_narrow(tensor->type)) {
        write_bytes(arena, proto, tensor->data, tensor->count);
        return;
    }
    proto->n_int32_data = tensor->count;
    proto->int32_data = arena_array(arena, tensor->count, sizeof *proto->int32_data);
    for (size_t i = 0; i < tensor->count; i++)
        proto->int32_data[i] =
            bits ? ((const uint16_t *)tensor->data)[i] : (int32_t)dtype_load(tensor->type, tensor->data, i);
}

static void write_uint64s(struct arena *arena, Onnx__TensorProto *proto, const struct tensor *tensor)
{
    proto->n_uint64_data = tensor->count;
    proto->uint64_data = arena_array(arena, tensor->count, sizeof *proto->uint64_data);
    for (size_t i = 0; i < tensor->count; i++)
        proto->uint64_data[i] = (uint64_t)dtype_load(tensor->type, tensor->data, i);
}

Onnx__TensorProto *model_tensor_write_typed(struct arena *arena, const char *name,
                                            const struct tensor *tensor)
{
    size_t items;
    Onnx__TensorProto *proto = write_head(arena, name, tensor);
    switch (field_of(tensor->type, &items)) {
    case FIELD_FLOAT:
        proto->n_float_data = tensor->count * items;
        proto->float_data = arena_copy(arena, tensor->data, tensor->size);
        break;
    case FIELD_INT64:
        proto->n_int64_data = tensor->count;
        proto->int64_data = arena_copy(arena, tensor->data, tensor->size);
        break;
    case FIELD_DOUBLE:
        proto->n_double_data = tensor->count * items;
        proto->double_data = arena_copy(arena, tensor->data, tensor->size);
        break;
    case FIELD_UINT64:
        write_uint64s(arena, proto, tensor);
        break;
    case FIELD_STRING:
        write_strings(arena, proto, tensor);
        break;
    default:
        write_int32s(arena, proto, tensor);
    }
    return proto;
}
