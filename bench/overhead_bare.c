/*
 * usage: overhead_bare LIBRARY FOLDER
 * The bare loop: create a session, run it once, free it, for every model, with ONNX Runtime's C API and
 * nothing else, at opt=none and one thread. The output is copied out, as any user of it would.
 */
#include "overhead.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bare {
    const OrtApi *api;
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtMemoryInfo *memory;
    float output[4096];
};

static void must(const struct bare *bare, OrtStatus *status)
{
    if (status) {
        fprintf(stderr, "overhead_bare: %s\n", bare->api->GetErrorMessage(status));
        exit(1);
    }
}

static void bare_open(struct bare *bare, const char *path)
{
    const OrtApiBase *(*get_base)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "OrtGetApiBase") : NULL;
    if (!symbol) {
        fprintf(stderr, "overhead_bare: %s\n", dlerror());
        exit(1);
    }
    memcpy(&get_base, &symbol, sizeof symbol);
    const char *version = get_base()->GetVersionString();
    unsigned long minor = strtoul(strchr(version, '.') + 1, NULL, 10);
    bare->api = get_base()->GetApi(minor < ORT_API_VERSION ? (uint32_t)minor : ORT_API_VERSION);
    must(bare, bare->api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bare", &bare->env));
    must(bare, bare->api->CreateSessionOptions(&bare->options));
    must(bare, bare->api->SetSessionGraphOptimizationLevel(bare->options, ORT_DISABLE_ALL));
    must(bare, bare->api->SetIntraOpNumThreads(bare->options, 1));
    must(bare, bare->api->SetInterOpNumThreads(bare->options, 1));
    must(bare, bare->api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &bare->memory));
}

static void bare_case(struct bare *bare, const struct overhead_case *one)
{
    const OrtApi *api = bare->api;
    const char *const input_name = "x", *const output_name = "y";
    OrtSession *session = NULL;
    OrtValue *input = NULL, *output = NULL;
    void *data = NULL;
    must(bare, api->CreateSessionFromArray(bare->env, one->model, one->size, bare->options, &session));
    must(bare, api->CreateTensorWithDataAsOrtValue(bare->memory, one->input.data, one->input.size,
                                                   one->input.shape.dims, (size_t)one->input.shape.rank,
                                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    must(bare,
         api->Run(session, NULL, &input_name, (const OrtValue *const *)&input, 1, &output_name, 1, &output));
    must(bare, api->GetTensorMutableData(output, &data));
    memcpy(bare->output, data, one->input.size < sizeof bare->output ? one->input.size : sizeof bare->output);
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
    bare_open(&bare, argv[1]);
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
