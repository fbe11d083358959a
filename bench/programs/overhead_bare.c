/*
 * usage: overhead_bare LIBRARY FOLDER
 * The bare loop: create a session, run it once, free it, for every model, with ONNX Runtime's C API and
 * nothing else, at opt=none and one thread. The output is copied out, as any user of it would.
 */
#include "bare_onnxruntime.h"
#include "overhead.h"

#include "base/clock.h"

static void bare_case(struct bare *bare, const struct overhead_case *one)
{
    const OrtApi *api = bare->api;
    const char *const input_name = "x", *const output_name = "y";
    OrtSession *session = NULL;
    OrtValue *input = NULL, *output = NULL;
    void *data = NULL;
    float copy[4096];
    must(bare, api->CreateSessionFromArray(bare->env, one->model, one->size, bare->options, &session));
    must(bare, api->CreateTensorWithDataAsOrtValue(bare->memory, one->input.data, one->input.size,
                                                   one->input.shape.dims, (size_t)one->input.shape.rank,
                                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    must(bare,
         api->Run(session, NULL, &input_name, (const OrtValue *const *)&input, 1, &output_name, 1, &output));
    must(bare, api->GetTensorMutableData(output, &data));
    memcpy(copy, data, one->input.size < sizeof copy ? one->input.size : sizeof copy);
    __asm__ volatile("" : : "r"(copy) : "memory"); /* a copy that nobody reads is a copy still */
    api->ReleaseValue(output);
    api->ReleaseValue(input);
    api->ReleaseSession(session);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct overhead_case *cases = NULL;
    size_t count = 0;
    if (argc != 3 || overhead_read(argv[2], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_bare LIBRARY FOLDER %s\n", err.message);
        return 2;
    }
    struct bare bare = {0};
    bare_open(&bare, argv[1], ORT_DISABLE_ALL);
    bare_case(&bare, &cases[0]);
    double cpu = overhead_cpu(), start = clock_seconds();
    for (size_t i = 0; i < count; i++)
        bare_case(&bare, &cases[i]);
    double wall = clock_seconds() - start;
    cpu = overhead_cpu() - cpu;
    bare.api->ReleaseMemoryInfo(bare.memory);
    bare.api->ReleaseSessionOptions(bare.options);
    bare.api->ReleaseEnv(bare.env);
    overhead_print(wall, cpu, count);
    overhead_free(cases, count);
    return 0;
}
