/* The reference kernels of TensorFlow Lite, which its C interface does not name. */
#include <tensorflow/lite/kernels/register_ref.h>

extern "C" {
const void *reference_find_builtin(void *user, int32_t code, int32_t version);
const void *reference_find_custom(void *user, const char *name, int32_t version);
}

static const tflite::ops::builtin::BuiltinRefOpResolver &resolver()
{
    static const tflite::ops::builtin::BuiltinRefOpResolver kernels;
    return kernels;
}

const void *reference_find_builtin(void *, int32_t code, int32_t version)
{
    return resolver().FindOp(static_cast<tflite::BuiltinOperator>(code), version);
}

const void *reference_find_custom(void *, const char *name, int32_t version)
{
    return resolver().FindOp(name, version);
}
