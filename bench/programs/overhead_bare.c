/*
 * usage: overhead_bare LIBRARY FOLDER
 * The bare loop: create a session, run it once, free it, for every model, with ONNX Runtime's C API and
 * nothing else, at opt=none and one thread. The output is copied out, as any user of it would.
 */
#include "bare_onnxruntime.h"
#include "overhead.h"

struct loop {
    struct bare bare;
    struct overhead_case *cases;
};

static void bare_case(void *context, size_t number)
{
    struct loop *loop = context;
    struct bare *bare = &loop->bare;
    const struct overhead_case *one = &loop->cases[number];
    const OrtApi *api = bare->api;
    const char *const input_name = "x", *const output_name = "y";
    OrtSession *session = NULL;
    OrtValue *input = NULL, *output = NULL;
    void *data = NULL;
    float copy[4096];
    must(bare, api->CreateSessionFromArray(bare->env, one->model, one->size, bare->options, &session));
    overhead_loaded();
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
    overhead_ran();
    api->ReleaseSession(session);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct loop loop = {0};
    size_t count = 0;
    if (argc != 3 || overhead_read(argv[2], &loop.cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_bare LIBRARY FOLDER %s\n", err.message);
        return 2;
    }
    struct bare *bare = &loop.bare;
    bare_open(bare, argv[1], ORT_DISABLE_ALL);
    overhead_bare(count, bare_case, &loop);
    bare->api->ReleaseMemoryInfo(bare->memory);
    bare->api->ReleaseSessionOptions(bare->options);
    bare->api->ReleaseEnv(bare->env);
    overhead_free(loop.cases, count);
    return 0;
}
