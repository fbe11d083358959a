/* The libraries of a release of llama.cpp, and their functions by name. */
#include "api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The order in which they need each other. */
enum library { base, ggml, llama, LIBRARIES };
static const char *const files[LIBRARIES] = {"libggml-base.so", "libggml." API_RELEASE ".so",
                                             "libllama." API_RELEASE ".so"};

static const struct {
    enum library library;
    const char *name;
    size_t at;
} functions[] = {
#define ROW(library, name, result, parameters) {library, #name, offsetof(struct api, name)},
    API_FUNCTIONS(ROW)
#undef ROW
};

static void *open_library(const char *folder, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < 0 || (size_t)length >= sizeof path ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

const char *api_open(struct api *api, const char *folder)
{
    void *handles[LIBRARIES];
    for (size_t i = 0; i < LIBRARIES; i++) {
        handles[i] = open_library(folder, files[i]);
        if (!handles[i])
            return files[i];
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(handles[functions[i].library], functions[i].name);
        if (!symbol)
            return functions[i].name;
        memcpy((char *)api + functions[i].at, &symbol, sizeof symbol);
    }
    return NULL;
}

static bool fits_model(const struct llama_model_settings *s)
{
    return !s->devices && !s->buffer_overrides && s->gpu_layers == -1 && s->split_mode == SPLIT_LAYER &&
           s->load_mode == -1 && s->lazy_mode == 1 && s->main_gpu == 0 && !s->tensor_split && !s->progress &&
           !s->overrides && !s->vocab_only && s->extra_buffers && !s->load_mtp;
}

static bool fits_context(const struct llama_context_settings *s)
{
    return s->context == 512 && s->batch == 2048 && s->part == 512 && s->sequences == 1 &&
           s->outputs_each == 1 && s->threads > 0 && s->threads == s->threads_batch &&
           s->flash == FLASH_AUTO && s->rope_base == 0 && s->yarn_ext == -1 && s->yarn_slow == -1 &&
           s->defrag == -1 && !s->watch && !s->watch_data && s->keys == TYPE_FLOAT16 &&
           s->values == TYPE_FLOAT16 && !s->abort && !s->embeddings && s->offload && s->no_perf &&
           s->swa_full && !s->unified && !s->n_samplers && !s->other;
}

bool api_fits(const struct api *api)
{
    struct llama_model_room model = api->llama_model_default_params();
    struct llama_context_room context = api->llama_context_default_params();
    return fits_model(&model.s) && fits_context(&context.s);
}
