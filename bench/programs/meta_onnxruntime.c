/*
 * usage: ORT_LIBRARY=PATH meta_onnxruntime CASES RESULTS
 * ONNX Runtime's C API called directly for the cases of bench/meta, without optimisation; it has no
 * gradients. Models that it refuses are left out.
 */
#include "meta_file.h"

#include "bare_onnxruntime.h"

static struct bare bare;

/* True when the call went well. */
static int went(OrtStatus *status)
{
    if (status)
        bare.api->ReleaseStatus(status);
    return !status;
}

static struct meta_tensor taken(OrtValue *value)
{
    struct meta_tensor made = {0};
    OrtTensorTypeAndShapeInfo *info;
    ONNXTensorElementDataType type;
    size_t count;
    void *data;
    must(&bare, bare.api->GetTensorTypeAndShape(value, &info));
    must(&bare, bare.api->GetTensorShapeElementCount(info, &count));
    must(&bare, bare.api->GetTensorElementType(info, &type));
    must(&bare, bare.api->GetTensorMutableData(value, &data));
    bare.api->ReleaseTensorTypeAndShapeInfo(info);
    size_t size = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT      ? 4
                  : type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL     ? 1
                  : type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 ? 2
                                                                   : 8;
    made.size = count * size;
    made.data = malloc(made.size + 1);
    memcpy(made.data, data, made.size);
    return made;
}

static void call(const struct meta_case *one, struct meta_result *result)
{
    OrtSession *session = NULL;
    OrtValue *inputs[META_TENSORS] = {0}, *outputs[META_TENSORS] = {0};
    char *in[META_TENSORS] = {0}, *out[META_TENSORS] = {0};
    size_t n_in = 0, n_out = 0;
    result->flags = META_REFUSED;
    if (!went(
            bare.api->CreateSessionFromArray(bare.env, one->model, one->model_size, bare.options, &session)))
        return;
    must(&bare, bare.api->SessionGetInputCount(session, &n_in));
    must(&bare, bare.api->SessionGetOutputCount(session, &n_out));
    if (n_in != one->n_inputs || n_out > META_TENSORS)
        meta_die("a model with other inputs");
    for (size_t i = 0; i < n_in; i++) {
        const struct meta_tensor *t = &one->inputs[i];
        must(&bare, bare.api->SessionGetInputName(session, i, bare.allocator, &in[i]));
        must(&bare, bare.api->CreateTensorWithDataAsOrtValue(bare.memory, t->data, t->size, t->dims, t->rank,
                                                             (ONNXTensorElementDataType)t->type, &inputs[i]));
    }
    for (size_t i = 0; i < n_out; i++)
        must(&bare, bare.api->SessionGetOutputName(session, i, bare.allocator, &out[i]));
    if (went(bare.api->Run(session, NULL, (const char *const *)in, (const OrtValue *const *)inputs, n_in,
                           (const char *const *)out, n_out, outputs)))
        for (size_t i = 0; i < n_out; i++)
            result->outputs[result->n_outputs++] = taken(outputs[i]);
    result->flags = result->n_outputs ? 0 : META_REFUSED;
    for (size_t i = 0; i < META_TENSORS; i++) {
        bare.api->ReleaseValue(inputs[i]);
        bare.api->ReleaseValue(outputs[i]);
        if (in[i])
            must(&bare, bare.api->AllocatorFree(bare.allocator, in[i]));
        if (out[i])
            must(&bare, bare.api->AllocatorFree(bare.allocator, out[i]));
    }
    bare.api->ReleaseSession(session);
}

int main(int argc, char **argv)
{
    const char *library = getenv("ORT_LIBRARY");
    if (!library)
        meta_die("ORT_LIBRARY names no library");
    bare_open(&bare, library, ORT_DISABLE_ALL);
    return meta_main(argc, argv, call);
}
