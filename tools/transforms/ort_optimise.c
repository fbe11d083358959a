/*
 * ONNX Runtime's offline optimiser, as a tool for engine files (docs/engines.md):
 *
 *     ort-optimise LIBRARY basic|extended|all IN OUT
 *
 * It makes a session that writes the model that it has optimised, and runs nothing.
 */
#include <onnxruntime_c_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { API = 11 };

static const OrtApi *api;

static void must(OrtStatus *status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", api->GetErrorMessage(status));
    exit(1);
}

static GraphOptimizationLevel level_of(const char *word)
{
    if (strcmp(word, "basic") == 0)
        return ORT_ENABLE_BASIC;
    return strcmp(word, "extended") == 0 ? ORT_ENABLE_EXTENDED : ORT_ENABLE_ALL;
}

int main(int argc, char **argv)
{
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtSession *session;
    const OrtApiBase *(*base)(void);
    if (argc != 5) {
        fprintf(stderr, "usage: ort-optimise LIBRARY basic|extended|all IN OUT\n");
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "OrtGetApiBase") : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    memcpy(&base, &symbol, sizeof base);
    api = base()->GetApi(API);
    must(api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "ort-optimise", &env));
    must(api->CreateSessionOptions(&options));
    must(api->SetIntraOpNumThreads(options, 1));
    must(api->SetSessionGraphOptimizationLevel(options, level_of(argv[2])));
    must(api->SetOptimizedModelFilePath(options, argv[4]));
    must(api->CreateSession(env, argv[3], options, &session));
    return 0;
}
