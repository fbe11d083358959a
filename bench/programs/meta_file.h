/*
 * What bench/meta hands to the programs that call libraries directly, and what they hand back: binary files
 * of cases (a model, its inputs, the derivatives of its outputs) and of results (outputs, and the gradients
 * by the inputs of floating-point type). Nothing of Assay is included, so that the direct programs stand
 * alone. What goes wrong ends the program.
 */
#ifndef BENCH_META_FILE_H
#define BENCH_META_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { META_RANK = 12, META_TENSORS = 8 };

/* ONNX's numbers of the types that occur. */
enum { META_FLOAT = 1, META_INT64 = 7, META_BOOL = 9, META_DOUBLE = 11, META_BFLOAT16 = 16 };

struct meta_tensor {
    uint32_t type, rank;
    int64_t dims[META_RANK];
    uint64_t size;
    void *data;
};

struct meta_case {
    char name[64];
    uint64_t model_size;
    void *model;
    uint32_t n_inputs, n_upstream;
    struct meta_tensor inputs[META_TENSORS], upstream[META_TENSORS];
};

/* The library, called directly, refuses the case or its gradients, or is not called as it corrupts memory. */
enum { META_REFUSED = 1, META_REFUSED_GRADIENTS = 2, META_CORRUPTS = 4 };

struct meta_result { /* no outputs: the library was not called for this case, or refused it */
    char name[64];
    uint32_t n_outputs, n_gradients, flags;
    struct meta_tensor outputs[META_TENSORS], gradients[META_TENSORS];
};

static inline void meta_die(const char *what)
{
    fprintf(stderr, "meta: %s\n", what);
    exit(2);
}

static inline void meta_put(FILE *file, const void *data, size_t size)
{
    if (size && fwrite(data, 1, size, file) != size)
        meta_die("cannot write");
}

/* False at the end of the file. */
static inline int meta_get(FILE *file, void *data, size_t size)
{
    size_t got = size ? fread(data, 1, size, file) : 0;
    if (got != 0 && got != size)
        meta_die("a file that ends early");
    return got == size;
}

static inline void *meta_get_bytes(FILE *file, uint64_t size)
{
    void *data = size < (uint64_t)1 << 30 ? malloc(size + 1) : NULL;
    if (!data || (size && !meta_get(file, data, size)))
        meta_die("a file that ends early");
    return data;
}

static inline void meta_put_tensor(FILE *file, const struct meta_tensor *tensor)
{
    meta_put(file, tensor, offsetof(struct meta_tensor, data));
    meta_put(file, tensor->data, tensor->size);
}

static inline void meta_get_tensor(FILE *file, struct meta_tensor *tensor)
{
    if (!meta_get(file, tensor, offsetof(struct meta_tensor, data)) || tensor->rank > META_RANK)
        meta_die("a file that ends early");
    tensor->data = meta_get_bytes(file, tensor->size);
}

static inline void meta_put_case(FILE *file, const struct meta_case *one)
{
    meta_put(file, one->name, sizeof one->name);
    meta_put(file, &one->model_size, sizeof one->model_size);
    meta_put(file, one->model, one->model_size);
    meta_put(file, &one->n_inputs, sizeof one->n_inputs);
    meta_put(file, &one->n_upstream, sizeof one->n_upstream);
    for (uint32_t i = 0; i < one->n_inputs; i++)
        meta_put_tensor(file, &one->inputs[i]);
    for (uint32_t i = 0; i < one->n_upstream; i++)
        meta_put_tensor(file, &one->upstream[i]);
}

static inline int meta_get_case(FILE *file, struct meta_case *one)
{
    memset(one, 0, sizeof *one);
    if (!meta_get(file, one->name, sizeof one->name))
        return 0;
    if (!meta_get(file, &one->model_size, sizeof one->model_size))
        meta_die("a file that ends early");
    one->model = meta_get_bytes(file, one->model_size);
    if (!meta_get(file, &one->n_inputs, sizeof one->n_inputs) ||
        !meta_get(file, &one->n_upstream, sizeof one->n_upstream) || one->n_inputs > META_TENSORS ||
        one->n_upstream > META_TENSORS)
        meta_die("a file that ends early");
    for (uint32_t i = 0; i < one->n_inputs; i++)
        meta_get_tensor(file, &one->inputs[i]);
    for (uint32_t i = 0; i < one->n_upstream; i++)
        meta_get_tensor(file, &one->upstream[i]);
    return 1;
}

static inline void meta_free_case(struct meta_case *one)
{
    for (uint32_t i = 0; i < one->n_inputs; i++)
        free(one->inputs[i].data);
    for (uint32_t i = 0; i < one->n_upstream; i++)
        free(one->upstream[i].data);
    free(one->model);
}

static inline void meta_put_result(FILE *file, const struct meta_result *result)
{
    meta_put(file, result->name, sizeof result->name);
    meta_put(file, &result->n_outputs, sizeof result->n_outputs);
    meta_put(file, &result->n_gradients, sizeof result->n_gradients);
    meta_put(file, &result->flags, sizeof result->flags);
    for (uint32_t i = 0; i < result->n_outputs; i++)
        meta_put_tensor(file, &result->outputs[i]);
    for (uint32_t i = 0; i < result->n_gradients; i++)
        meta_put_tensor(file, &result->gradients[i]);
}

static inline int meta_get_result(FILE *file, struct meta_result *result)
{
    memset(result, 0, sizeof *result);
    if (!meta_get(file, result->name, sizeof result->name))
        return 0;
    if (!meta_get(file, &result->n_outputs, sizeof result->n_outputs) ||
        !meta_get(file, &result->n_gradients, sizeof result->n_gradients) ||
        !meta_get(file, &result->flags, sizeof result->flags) || result->n_outputs > META_TENSORS ||
        result->n_gradients > META_TENSORS)
        meta_die("a file that ends early");
    for (uint32_t i = 0; i < result->n_outputs; i++)
        meta_get_tensor(file, &result->outputs[i]);
    for (uint32_t i = 0; i < result->n_gradients; i++)
        meta_get_tensor(file, &result->gradients[i]);
    return 1;
}

static inline void meta_free_result(struct meta_result *result)
{
    for (uint32_t i = 0; i < result->n_outputs; i++)
        free(result->outputs[i].data);
    for (uint32_t i = 0; i < result->n_gradients; i++)
        free(result->gradients[i].data);
}

/* Calls the function for every case of the file argv[1] and writes the results to argv[2]. */
static inline int meta_main(int argc, char **argv,
                            void (*call)(const struct meta_case *one, struct meta_result *result))
{
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
    struct meta_case one;
    if (!in || !out)
        meta_die("usage: PROGRAM CASES RESULTS");
    while (meta_get_case(in, &one)) {
        struct meta_result result;
        memset(&result, 0, sizeof result);
        memcpy(result.name, one.name, sizeof one.name);
        call(&one, &result);
        meta_put_result(out, &result);
        meta_free_result(&result);
        meta_free_case(&one);
    }
    fclose(in);
    return fclose(out) ? 2 : 0;
}

#endif
