#include "case/inputs_files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "model/data.h"

#include <string.h>

char *inputs_find_file(const char *folder, const char *stem)
{
    static const char *const endings[] = {"pb", "npy"};
    if (strchr(stem, '/'))
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/%s.%s", folder, stem, endings[i]);
        char *found = file_exists(path.data) ? memory_strdup(path.data) : NULL;
        str_release(&path);
        if (found)
            return found;
    }
    return NULL;
}

int inputs_read_tensor(const char *path, struct tensor *tensor, struct error *err)
{
    struct value value;
    value_init(&value);
    if (data_read(USERS_PATH, path, NULL, &value, err))
        return -1;
    int status = 0;
    if (value.kind == VALUE_TENSOR) {
        *tensor = value.tensors[0];
        tensor_init(&value.tensors[0]);
    } else {
        status = error_set(err, ERROR_FORMAT, "%s does not hold a tensor", path);
    }
    value_release(&value);
    return status;
}

int inputs_declared_rank(const Onnx__TypeProto *type)
{
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type->shape)
        return -1;
    return (int)type->tensor_type->shape->n_dim;
}
