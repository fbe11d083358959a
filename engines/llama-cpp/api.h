/*
 * The part of llama.cpp's C interface that the adapter calls, of one release: v0.5.0, in the package 3.22.1.
 * Its settings are structures that are passed by value and change with releases, so no other release is
 * opened; and these are only used when their defaults are what that release has (api_fits).
 */
#ifndef LLAMA_API_H
#define LLAMA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_RELEASE "v0.5.0"

enum { FLASH_AUTO = -1, FLASH_OFF = 0, SPLIT_LAYER = 1, TYPE_FLOAT32 = 0, TYPE_FLOAT16 = 1, LOG_ERROR = 4 };

struct llama_model;
struct llama_context;
struct ggml_tensor;

struct llama_model_settings {
    void *devices;
    const void *buffer_overrides;
    int32_t gpu_layers, split_mode, load_mode, lazy_mode, main_gpu;
    const float *tensor_split;
    bool (*progress)(float, void *);
    void *progress_data;
    const void *overrides;
    bool vocab_only, check_tensors, extra_buffers, no_host, no_alloc, load_mtp;
};

/* Whether a value is asked for, and then again when it is there; false the second time ends the run. */
typedef bool (*llama_watch)(struct ggml_tensor *tensor, bool asked, void *data);

struct llama_context_settings {
    uint32_t context, batch, part, sequences, recurrent, outputs, outputs_each;
    int32_t threads, threads_batch, kind, rope_scaling, pooling, attention, flash;
    float rope_base, rope_scale, yarn_ext, yarn_attn, yarn_fast, yarn_slow;
    uint32_t yarn_context;
    float defrag;
    llama_watch watch;
    void *watch_data;
    int32_t keys, values; /* types of the cache */
    bool (*abort)(void *);
    void *abort_data;
    bool embeddings, offload, no_perf, offload_ops, swa_full, unified;
    void *samplers;
    size_t n_samplers;
    struct llama_context *other;
};

struct llama_batch {
    int32_t count;
    int32_t *tokens;
    float *embeddings;
    int32_t *positions, *n_sequences;
    int32_t **sequences;
    int8_t *wanted;
};

/* A structure that a release makes larger is returned and passed with room to spare. */
struct llama_model_room {
    struct llama_model_settings s;
    char room[512];
};
struct llama_context_room {
    struct llama_context_settings s;
    char room[512];
};

/* F(library, name, result, parameters) */
#define API_FUNCTIONS(F)                                                                                \
    F(llama, llama_backend_init, void, (void))                                                          \
    F(llama, llama_log_set, void, (void (*)(int, const char *, void *), void *))                        \
    F(llama, llama_model_default_params, struct llama_model_room, (void))                               \
    F(llama, llama_context_default_params, struct llama_context_room, (void))                           \
    F(llama, llama_model_load_from_file, struct llama_model *, (const char *, struct llama_model_room)) \
    F(llama, llama_model_free, void, (struct llama_model *))                                            \
    F(llama, llama_init_from_model, struct llama_context *,                                             \
      (struct llama_model *, struct llama_context_room))                                                \
    F(llama, llama_free, void, (struct llama_context *))                                                \
    F(llama, llama_decode, int32_t, (struct llama_context *, struct llama_batch))                       \
    F(ggml, ggml_backend_load_all_from_path, void, (const char *))                                      \
    F(base, ggml_get_name, const char *, (const struct ggml_tensor *))                                  \
    F(base, ggml_nelements, int64_t, (const struct ggml_tensor *))                                      \
    F(base, ggml_nrows, int64_t, (const struct ggml_tensor *))                                          \
    F(base, ggml_nbytes, size_t, (const struct ggml_tensor *))                                          \
    F(base, ggml_is_contiguous, bool, (const struct ggml_tensor *))                                     \
    F(base, ggml_backend_tensor_get, void, (const struct ggml_tensor *, void *, size_t, size_t))

struct api {
#define MEMBER(library, name, result, parameters) result(*name) parameters;
    API_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Opens the release in a folder and finds the functions. Returns NULL, or what is not there. */
const char *api_open(struct api *api, const char *folder);

/* Whether the settings mean what they mean here, by their defaults. */
bool api_fits(const struct api *api);

#endif
