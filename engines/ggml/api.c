/* Functions of ggml by their names. */
#include "api.h"

#include <dlfcn.h>
#include <string.h>

const char *const unary_names[UNARIES] = {
    [UNARY_ABS] = "ggml_abs",
    [UNARY_CEIL] = "ggml_ceil",
    [UNARY_COS] = "ggml_cos",
    [UNARY_ELU] = "ggml_elu",
    [UNARY_EXP] = "ggml_exp",
    [UNARY_FLOOR] = "ggml_floor",
    [UNARY_GELU] = "ggml_gelu",
    [UNARY_GELU_ERF] = "ggml_gelu_erf",
    [UNARY_HARDSIGMOID] = "ggml_hardsigmoid",
    [UNARY_HARDSWISH] = "ggml_hardswish",
    [UNARY_LOG] = "ggml_log",
    [UNARY_NEG] = "ggml_neg",
    [UNARY_RELU] = "ggml_relu",
    [UNARY_SGN] = "ggml_sgn",
    [UNARY_SIGMOID] = "ggml_sigmoid",
    [UNARY_SILU] = "ggml_silu",
    [UNARY_SIN] = "ggml_sin",
    [UNARY_SOFTPLUS] = "ggml_softplus",
    [UNARY_SQR] = "ggml_sqr",
    [UNARY_SQRT] = "ggml_sqrt",
    [UNARY_TANH] = "ggml_tanh",
};

const char *const binary_names[BINARIES] = {
    [BINARY_ADD] = "ggml_add",
    [BINARY_DIV] = "ggml_div",
    [BINARY_MUL] = "ggml_mul",
    [BINARY_SUB] = "ggml_sub",
};

struct symbol {
    const char *name;
    size_t at; /* in struct api */
};

#define SYMBOL(name, result, parameters) {"ggml_" #name, offsetof(struct api, name)},
static const struct symbol needed[] = {API_NEEDED(SYMBOL)};
static const struct symbol optional[] = {API_OPTIONAL(SYMBOL)};

/* POSIX lets a function be what dlsym gives; C does not, so the bytes are copied. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

const char *api_find(struct api *api, void *library)
{
    char *base = (char *)api;
    *api = (struct api){0};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!find(library, needed[i].name, base + needed[i].at))
            return needed[i].name;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        find(library, optional[i].name, base + optional[i].at);
    for (size_t i = 0; i < UNARIES; i++)
        find(library, unary_names[i], &api->unary[i]);
    for (size_t i = 0; i < BINARIES; i++)
        find(library, binary_names[i], &api->binary[i]);
    return NULL;
}
