/* OrtValue from and to struct value. */
#include "ort.h"

#include "base/memory.h"
#include "tensor/narrow.h"

#include <stdlib.h>
#include <string.h>

/*
 * ONNX Runtime's element types have the numbers of TensorProto, like ours, but for the last three: its header
 * counts uint2, int2, float8e8m0 from 24 on, and tells types of outputs so. Functions that make a tensor take
 * TensorProto's numbers all the same (1.24 to 1.30).
 */
static int type_out(ONNXTensorElementDataType type)
{
    static const enum dtype last[] = {DTYPE_UINT2, DTYPE_INT2, DTYPE_FLOAT8E8M0};
    return (int)type >= 24 && (int)type <= 26 ? (int)last[(int)type - 24] : (int)type;
}

static int strings_in(struct adapter_call *call, const struct tensor *tensor, OrtValue *value)
{
    const struct ort *ort = call->engine;
    struct error err = {0};
    if (tensor_strings_check(tensor, &err) < 0)
        return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    const char **texts = memory_zeroed(tensor->count, sizeof *texts);
    char *bytes = memory_zeroed(tensor->size + 1, 1); /* each 4-byte length makes room for a NUL */
    const char *from = tensor->data;
    char *to = bytes;
    int result = 0;
    for (size_t i = 0; i < tensor->count && result == 0; i++) {
        uint32_t length;
        memcpy(&length, from, sizeof length);
        texts[i] = memcpy(to, from + sizeof length, length);
        to[length] = '\0';
        if (strlen(to) != length)
            result = adapter_fail(call, ADAPTER_UNSUPPORTED, "a string with a NUL inside cannot be passed");
        from += sizeof length + length;
        to += length + 1;
    }
    if (result == 0)
        result = ort_check(call, ORT_STAGE_RUN, ort->api->FillStringTensor(value, texts, tensor->count));
    free(bytes);
    free(texts);
    return result;
}

/* ONNX Runtime keeps elements of 4 and 2 bits packed as ONNX files do. */
static int packed_in(struct adapter_call *call, const struct tensor *tensor, OrtValue **out)
{
    const struct ort *ort = call->engine;
    void *data = NULL;
    OrtStatus *status =
        ort->api->CreateTensorAsOrtValue(ort->allocator, tensor->shape.dims, (size_t)tensor->shape.rank,
                                         (ONNXTensorElementDataType)tensor->type, out);
    if (ort_check(call, ORT_STAGE_RUN, status) < 0 ||
        ort_check(call, ORT_STAGE_RUN, ort->api->GetTensorMutableData(*out, &data)) < 0)
        return -1;
    narrow_pack(tensor->type, tensor->data, tensor->count, data);
    return 0;
}

static int tensor_in(struct adapter_call *call, const struct tensor *tensor, OrtValue **out)
{
    const struct ort *ort = call->engine;
    const int64_t *dims = tensor->shape.dims;
    size_t rank = (size_t)tensor->shape.rank;
    ONNXTensorElementDataType type = (ONNXTensorElementDataType)tensor->type;
    if (narrow_is_packed(tensor->type))
        return packed_in(call, tensor, out);
    if (tensor->type != DTYPE_STRING) {
        /* An empty tensor still wants an address. */
        void *data = tensor->data ? tensor->data : (void *)out;
        return ort_check(
            call, ORT_STAGE_RUN,
            ort->api->CreateTensorWithDataAsOrtValue(ort->memory, data, tensor->size, dims, rank, type, out));
    }
    OrtStatus *status = ort->api->CreateTensorAsOrtValue(ort->allocator, dims, rank, type, out);
    return ort_check(call, ORT_STAGE_RUN, status) < 0 ? -1 : strings_in(call, tensor, *out);
}

static int sequence_in(struct adapter_call *call, const struct value *value, OrtValue **out)
{
    const struct ort *ort = call->engine;
    if (value->count == 0) {
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "the C API cannot make an empty sequence (input '%s')",
                            value->name);
    }
    OrtValue **parts = memory_zeroed(value->count, sizeof *parts);
    int result = 0;
    for (size_t i = 0; i < value->count && result == 0; i++)
        result = tensor_in(call, &value->tensors[i], &parts[i]);
    if (result == 0) {
        result = ort_check(
            call, ORT_STAGE_RUN,
            ort->api->CreateValue((const OrtValue *const *)parts, value->count, ONNX_TYPE_SEQUENCE, out));
    }
    for (size_t i = 0; i < value->count; i++)
        ort->api->ReleaseValue(parts[i]);
    free(parts);
    return result;
}

int ort_value_in(struct adapter_call *call, const struct value *value, OrtValue **out)
{
    *out = NULL;
    switch (value->kind) {
    case VALUE_TENSOR:
        return tensor_in(call, &value->tensors[0], out);
    case VALUE_SEQUENCE:
        return sequence_in(call, value, out);
    case VALUE_NONE:
        break;
    }
    return adapter_fail(call, ADAPTER_UNSUPPORTED, "the C API cannot pass an absent optional (input '%s')",
                        value->name);
}

static int strings_out(struct adapter_call *call, const OrtValue *from, const struct shape *shape,
                       size_t count, struct tensor *tensor)
{
    const struct ort *ort = call->engine;
    size_t length = 0;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetStringTensorDataLength(from, &length)) < 0)
        return -1;
    char *bytes = memory_zeroed(length + 1, 1);
    size_t *offsets = memory_zeroed(count + 1, sizeof *offsets);
    struct str payload;
    str_init(&payload);
    int result =
        ort_check(call, ORT_STAGE_RUN, ort->api->GetStringTensorContent(from, bytes, length, offsets, count));
    if (result == 0) {
        struct error err = {0};
        offsets[count] = length;
        for (size_t i = 0; i < count; i++) {
            uint32_t size = (uint32_t)(offsets[i + 1] - offsets[i]);
            str_append(&payload, &size, sizeof size);
            str_append(&payload, bytes + offsets[i], size);
        }
        if (tensor_from_bytes(tensor, DTYPE_STRING, shape, payload.data, payload.length, &err) < 0)
            result = adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    }
    str_release(&payload);
    free(offsets);
    free(bytes);
    return result;
}

static int info_out(struct adapter_call *call, const OrtTensorTypeAndShapeInfo *info, enum dtype *type,
                    struct shape *shape)
{
    const struct ort *ort = call->engine;
    enum ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetTensorElementType(info, &element)) < 0 ||
        ort_check(call, ORT_STAGE_RUN, ort->api->GetDimensionsCount(info, &rank)) < 0)
        return -1;
    struct error err = {0};
    if (dtype_check(type_out(element), &err) < 0)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "%s", err.message);
    if (rank > TENSOR_MAX_RANK)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "an output of rank %zu", rank);
    *type = (enum dtype)type_out(element);
    shape->rank = (int)rank;
    return ort_check(call, ORT_STAGE_RUN, ort->api->GetDimensions(info, shape->dims, rank));
}

static int tensor_out(struct adapter_call *call, const OrtValue *from, struct tensor *tensor)
{
    const struct ort *ort = call->engine;
    OrtTensorTypeAndShapeInfo *info = NULL;
    enum dtype type = DTYPE_NONE;
    struct shape shape = {0};
    size_t count = 0;
    struct error err = {0};
    void *data = NULL;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetTensorTypeAndShape(from, &info)) < 0)
        return -1;
    int result = info_out(call, info, &type, &shape);
    ort->api->ReleaseTensorTypeAndShapeInfo(info);
    if (result < 0)
        return -1;
    if (shape_count(&shape, &count, &err) < 0)
        return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    if (type == DTYPE_STRING)
        return strings_out(call, from, &shape, count, tensor);
    /* Reading needs the same pointer as writing: a const view came only with 1.23. */
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetTensorMutableData((OrtValue *)from, &data)) < 0)
        return -1;
    if (narrow_is_packed(type)) {
        if (tensor_alloc(tensor, type, &shape, 0, &err) < 0)
            return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
        narrow_unpack(type, data, count, tensor->data);
        return 0;
    }
    if (tensor_from_bytes(tensor, type, &shape, data, count * dtype_size(type), &err) < 0)
        return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    return 0;
}

static int sequence_out(struct adapter_call *call, const OrtValue *from, struct value *value)
{
    const struct ort *ort = call->engine;
    size_t count = 0;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetValueCount(from, &count)) < 0)
        return -1;
    value->kind = VALUE_SEQUENCE;
    value->tensors = count > 0 ? memory_zeroed(count, sizeof *value->tensors) : NULL;
    for (size_t i = 0; i < count; i++) {
        OrtValue *part = NULL;
        enum ONNXType kind = ONNX_TYPE_UNKNOWN;
        tensor_init(&value->tensors[i]);
        value->count = i + 1;
        int result = ort_check(call, ORT_STAGE_RUN, ort->api->GetValue(from, (int)i, ort->allocator, &part));
        if (result == 0)
            result = ort_check(call, ORT_STAGE_RUN, ort->api->GetValueType(part, &kind));
        if (result == 0 && kind != ONNX_TYPE_TENSOR)
            result = adapter_fail(call, ADAPTER_UNSUPPORTED, "a sequence of something else than tensors");
        if (result == 0)
            result = tensor_out(call, part, &value->tensors[i]);
        ort->api->ReleaseValue(part);
        if (result < 0)
            return -1;
    }
    return 0;
}

int ort_value_out(struct adapter_call *call, const OrtValue *from, struct value *value)
{
    const struct ort *ort = call->engine;
    enum ONNXType kind = ONNX_TYPE_UNKNOWN;
    int has = 0;
    if (!from)
        return 0;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->HasValue(from, &has)) < 0)
        return -1;
    if (!has)
        return 0;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->GetValueType(from, &kind)) < 0)
        return -1;
    if (kind == ONNX_TYPE_SEQUENCE)
        return sequence_out(call, from, value);
    if (kind != ONNX_TYPE_TENSOR)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "an output that is neither tensor nor sequence");
    struct tensor tensor;
    tensor_init(&tensor);
    if (tensor_out(call, from, &tensor) < 0)
        return -1;
    value_set_tensor(value, &tensor);
    return 0;
}
