/*
 * Data files: the first byte says which kind the rest is; 'P' begins an archive. What is accepted must be
 * written and read back the same.
 */
#include "model/data.h"
#include "model/npz.h"
#include "tensor/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void try_npy(const uint8_t *data, size_t size)
{
    struct tensor tensor, again;
    struct error err = {0};
    if (npy_parse(data, size, &tensor, &err)) {
        require(err.message[0] != '\0');
        return;
    }
    struct str file;
    str_init(&file);
    require(npy_header(&tensor, &file, &err) == 0);
    str_append(&file, tensor.data, tensor.size);
    require(npy_parse(file.data, file.length, &again, &err) == 0);
    require(tensor_identical(&tensor, &again));
    str_release(&file);
    tensor_release(&tensor);
    tensor_release(&again);
}

/* An archive: each of its arrays is read or refused with words. */
static void try_npz(const uint8_t *data, size_t size)
{
    struct npz npz;
    struct error err = {0};
    if (npz_parse(&npz, data, size, &err))
        require(err.message[0] != '\0');
    for (size_t i = 0; i < npz.count; i++) {
        struct tensor tensor;
        struct error why = {0};
        if (npz_read(&npz, &npz.arrays[i], &tensor, &why))
            require(why.message[0] != '\0');
        tensor_release(&tensor);
    }
    npz_close(&npz);
}

static void try_proto(const uint8_t *data, size_t size, Onnx__TypeProto__ValueCase kind)
{
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    struct value value, again;
    struct error err = {0};
    type.value_case = kind;
    if (data_parse(data, size, &type, &value, &err)) {
        require(err.message[0] != '\0');
        return;
    }
    struct str file;
    str_init(&file);
    require(data_pack(&type, &value, &file, &err) == 0);
    require(data_parse((const uint8_t *)file.data, file.length, &type, &again, &err) == 0);
    require(value.kind == again.kind && value.count == again.count);
    for (size_t i = 0; i < value.count; i++)
        require(tensor_identical(&value.tensors[i], &again.tensors[i]));
    str_release(&file);
    value_release(&value);
    value_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] == 'P') {
        try_npz(data, size);
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        try_npy(data + 1, size - 1);
        break;
    case 1:
        try_proto(data + 1, size - 1, ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE);
        break;
    case 2:
        try_proto(data + 1, size - 1, ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE);
        break;
    default:
        try_proto(data + 1, size - 1, ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE);
    }
    return 0;
}
