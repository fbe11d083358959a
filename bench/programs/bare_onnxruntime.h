/* ONNX Runtime's C API opened for a bare loop: one thread, no adapter, no protocol. What fails ends the
 * program. */
#ifndef BENCH_BARE_ONNXRUNTIME_H
#define BENCH_BARE_ONNXRUNTIME_H

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
    OrtAllocator *allocator;
};

static void must(const struct bare *bare, OrtStatus *status)
{
    if (status) {
        fprintf(stderr, "bare loop: %s\n", bare->api->GetErrorMessage(status));
        exit(1);
    }
}

static void bare_open(struct bare *bare, const char *path, GraphOptimizationLevel level)
{
    const OrtApiBase *(*get_base)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "OrtGetApiBase") : NULL;
    if (!symbol) {
        fprintf(stderr, "bare loop: %s\n", dlerror());
        exit(1);
    }
    memcpy(&get_base, &symbol, sizeof symbol);
    const char *version = get_base()->GetVersionString();
    unsigned long minor = strtoul(strchr(version, '.') + 1, NULL, 10);
    bare->api = get_base()->GetApi(minor < ORT_API_VERSION ? (uint32_t)minor : ORT_API_VERSION);
    must(bare, bare->api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bare", &bare->env));
    must(bare, bare->api->CreateSessionOptions(&bare->options));
    must(bare, bare->api->SetSessionGraphOptimizationLevel(bare->options, level));
    must(bare, bare->api->SetIntraOpNumThreads(bare->options, 1));
    must(bare, bare->api->SetInterOpNumThreads(bare->options, 1));
    must(bare, bare->api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &bare->memory));
    must(bare, bare->api->GetAllocatorWithDefaultOptions(&bare->allocator));
}

#endif
