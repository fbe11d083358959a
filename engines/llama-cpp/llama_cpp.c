/*
 * llama.cpp: runs GGUF files, and gives the values that it computes on the way, by the names that it gives
 * them itself: attn_norm-3, l_out-3, result_output. The model is a file; the input is input_ids [1, tokens],
 * run from the first position on, with nothing in the cache. Each output is [rows, numbers], of float32, the
 * first value of its name.
 */
#include "adapter.h"
#include "api.h"

#include "../ggml/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 8192, MOST_ROW = 1 << 24 };

struct llama {
    struct api api;
    int threads;
    struct llama_model *model;
    size_t n_wanted;
    char **wanted;
    struct str said; /* the first error that the library told of this request */
};

/* What it says of errors, which becomes the message; all else goes to stderr. */
static void hear(int level, const char *text, void *data)
{
    struct llama *llama = data;
    fputs(text, stderr);
    if (level != LOG_ERROR || llama->said.length)
        return;
    str_append(&llama->said, text, strcspn(text, "\n"));
}

/* --- Starting --- */

static int open_release(struct adapter_call *call, struct llama *llama, const char *folder,
                        struct str *version)
{
    char package[64], sources[64];
    release_text(folder, "package.json", "version", package, sizeof package);
    release_text(folder, "_nlcBuildMetadata.json", "release", sources, sizeof sources);
    if (strcmp(sources, API_RELEASE) != 0)
        return adapter_fail(
            call, ADAPTER_AT_FAULT,
            "llama.cpp changes its interface with every release, and this adapter knows that of " API_RELEASE
            ", not that of %s",
            sources[0] ? sources : "an unknown one");
    const char *missing = api_open(&llama->api, folder);
    if (missing)
        return adapter_fail(call, ADAPTER_AT_FAULT, "this release has no %s", missing);
    if (!api_fits(&llama->api))
        return adapter_fail(call, ADAPTER_AT_FAULT,
                            "the settings of this build are not those of llama.cpp " API_RELEASE);
    str_printf(version, "%s (llama.cpp %s)", package, sources);
    return 0;
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    const char *path = getenv("ASSAY_LIBRARY"), *slash = path ? strrchr(path, '/') : NULL;
    int threads = adapter_number(call, "threads", 1, 256);
    char folder[4096];
    if (threads < 0)
        return -1;
    if (!slash)
        return adapter_fail(call, ADAPTER_FAILED,
                            "no release of llama.cpp is here: 'assay fetch llama-cpp' brings one");
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    struct llama *llama = calloc(1, sizeof *llama);
    if (!llama)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    llama->threads = threads;
    str_init(&llama->said);
    *engine = llama;
    if (open_release(call, llama, folder, version))
        return -1;
    llama->api.llama_log_set(hear, llama);
    llama->api.llama_backend_init();
    llama->api.ggml_backend_load_all_from_path(folder);
    return 0;
}

/* --- Loading --- */

static void unload(struct adapter_call *call)
{
    struct llama *llama = call->engine;
    if (llama->model)
        llama->api.llama_model_free(llama->model);
    llama->model = NULL;
    for (size_t i = 0; i < llama->n_wanted; i++)
        free(llama->wanted[i]);
    free(llama->wanted);
    llama->wanted = NULL;
    llama->n_wanted = 0;
}

static bool is_gguf(const char *path)
{
    char magic[4] = {0};
    FILE *stream = fopen(path, "rb");
    bool is = stream && fread(magic, 1, sizeof magic, stream) == sizeof magic &&
              memcmp(magic, "GGUF", sizeof magic) == 0;
    if (stream)
        fclose(stream);
    return is;
}

static int want(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    static const char *const logits = "result_output";
    struct llama *llama = call->engine;
    size_t count = model->n_outputs ? model->n_outputs : 1;
    llama->wanted = calloc(count, sizeof *llama->wanted);
    for (size_t i = 0; llama->wanted && i < count; i++) {
        llama->wanted[llama->n_wanted] = strdup(model->n_outputs ? model->outputs[i] : logits);
        if (!llama->wanted[llama->n_wanted++])
            break;
        adapter_list_add(&loaded->outputs, llama->wanted[i]);
    }
    adapter_list_add(&loaded->inputs, "input_ids");
    return llama->n_wanted == count ? 0 : adapter_fail(call, ADAPTER_FAILED, "no memory");
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    struct llama *llama = call->engine;
    if (!model->path || !is_gguf(model->path))
        return adapter_fail(call, ADAPTER_UNSUPPORTED,
                            "llama.cpp reads GGUF files alone: 'assay gguf' makes one of a model, and "
                            "'assay decode --gguf' runs both");
    struct llama_model_room settings = llama->api.llama_model_default_params();
    str_clear(&llama->said);
    settings.s.gpu_layers = 0;
    llama->model = llama->api.llama_model_load_from_file(model->path, settings);
    if (!llama->model)
        return adapter_fail(call, ADAPTER_REJECTED, "%s",
                            llama->said.length ? llama->said.data
                                               : "llama_model_load_from_file gives nothing");
    if (want(call, model, loaded) == 0)
        return 0;
    unload(call);
    return -1;
}

/* --- Running --- */

/* The outputs of a run while they come. */
struct gathering {
    struct llama *llama;
    struct adapter_outputs *outputs;
    bool failed;
    struct error err;
};

static bool is_had(const struct gathering *gathering, const char *name)
{
    for (size_t i = 0; i < gathering->outputs->count; i++)
        if (strcmp(gathering->outputs->values[i].name, name) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct gathering *gathering, const char *name)
{
    for (size_t i = 0; i < gathering->llama->n_wanted; i++)
        if (strcmp(gathering->llama->wanted[i], name) == 0)
            return !is_had(gathering, name);
    return false;
}

static int keep(struct gathering *gathering, const struct ggml_tensor *value, const char *name)
{
    const struct api *api = &gathering->llama->api;
    int64_t count = api->ggml_nelements(value), rows = api->ggml_nrows(value);
    struct tensor tensor;
    if (rows < 1 || count / rows > MOST_ROW || !api->ggml_is_contiguous(value) ||
        api->ggml_nbytes(value) != (size_t)count * sizeof(float))
        return error_set(&gathering->err, ERROR_UNSUPPORTED, "%s is not a dense tensor of float32", name);
    struct shape shape = {2, {rows, count / rows}};
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, &gathering->err))
        return -1;
    api->ggml_backend_tensor_get(value, tensor.data, 0, tensor.size);
    value_set_tensor(adapter_output(gathering->outputs, name), &tensor);
    return 0;
}

static bool watch(struct ggml_tensor *value, bool asked, void *data)
{
    struct gathering *gathering = data;
    const char *name = gathering->llama->api.ggml_get_name(value);
    if (!name || !is_wanted(gathering, name))
        return !asked;
    if (!asked)
        gathering->failed |= keep(gathering, value, name) != 0;
    return asked || !gathering->failed;
}

static const struct tensor *find_tokens(const struct value *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (inputs[i].name && strcmp(inputs[i].name, "input_ids") == 0 && inputs[i].kind == VALUE_TENSOR &&
            dtype_is_integer(inputs[i].tensors[0].type))
            return &inputs[i].tensors[0];
    return NULL;
}

/* Runs the tokens in a context of their own. Returns what llama_decode does, or -100 without a context. */
static int decode(struct llama *llama, const struct tensor *tokens, struct gathering *gathering)
{
    struct llama_context_room settings = llama->api.llama_context_default_params();
    uint32_t count = (uint32_t)tokens->count;
    settings.s.context = settings.s.batch = settings.s.part = count;
    settings.s.outputs_each = count;
    settings.s.threads = settings.s.threads_batch = llama->threads;
    settings.s.flash = FLASH_OFF; /* which rounds keys and values to float16 */
    settings.s.keys = settings.s.values = TYPE_FLOAT32;
    settings.s.watch = watch;
    settings.s.watch_data = gathering;
    struct llama_context *context = llama->api.llama_init_from_model(llama->model, settings);
    if (!context)
        return -100;
    int32_t *numbers = calloc(3 * (size_t)count, sizeof *numbers), zero = 0, *sequence = &zero;
    int32_t **sequences = calloc(count, sizeof *sequences);
    int8_t *wanted = calloc(count, 1);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = (int32_t)tensor_get(tokens, i);
        numbers[count + i] = (int32_t)i;
        numbers[2 * count + i] = 1;
        sequences[i] = sequence;
        wanted[i] = 1;
    }
    struct llama_batch batch = {(int32_t)count,      numbers,   NULL,  numbers + count,
                                numbers + 2 * count, sequences, wanted};
    int result = llama->api.llama_decode(context, batch);
    llama->api.llama_free(context);
    free(numbers);
    free(sequences);
    free(wanted);
    return result;
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct llama *llama = call->engine;
    const struct tensor *tokens = find_tokens(inputs, count);
    struct gathering gathering = {.llama = llama, .outputs = outputs};
    (void)bounds;
    if (!tokens || tokens->count < 1 || tokens->count > MOST_TOKENS)
        return adapter_fail(call, ADAPTER_REJECTED, "it takes input_ids, 1 to %d whole numbers", MOST_TOKENS);
    str_clear(&llama->said);
    int result = decode(llama, tokens, &gathering);
    if (gathering.failed)
        return adapter_fail(call, ADAPTER_AT_FAULT, "%s", gathering.err.message);
    if (result)
        return adapter_fail(call, ADAPTER_FAILED, "llama_decode returns %d: %s", result, llama->said.data);
    for (size_t i = 0; i < llama->n_wanted; i++)
        if (!is_had(&gathering, llama->wanted[i]))
            return adapter_fail(call, ADAPTER_UNSUPPORTED, "llama.cpp computes nothing that it calls %s",
                                llama->wanted[i]);
    return 0;
}

static void stop(void *engine)
{
    struct llama *llama = engine;
    str_release(&llama->said);
    free(llama);
}

static struct adapter_knob knobs[] = {
    {.name = "threads", .values = "1..256", .value = "1", .help = "number of threads", .kind = KNOB_SCHEDULE},
    {0},
};

int main(int argc, char **argv)
{
    static const char *const operators[] = {NULL};
    struct adapter adapter = {.name = "llama-cpp",
                              .knobs = knobs,
                              .operators = operators,
                              .start = start,
                              .load = load,
                              .run = run,
                              .unload = unload,
                              .stop = stop};
    return adapter_main(&adapter, argc, argv);
}
