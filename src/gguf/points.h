/*
 * The values of a network of llama's form that both its ONNX model and llama.cpp compute, by the names that
 * each of them gives them: what goes into products by weights, what comes out, and the sums. There are
 * fifteen in each layer at most, so that between two of them is hardly more than one operator.
 */
#ifndef GGUF_POINTS_H
#define GGUF_POINTS_H

#include "gguf/llama_weights.h"

struct point {
    const char *value;   /* in the ONNX model */
    const char *name;    /* in llama.cpp */
    int layer;           /* -1: before all; n_layers: behind them */
    int64_t width;       /* numbers of a position */
    int64_t heads;       /* queries and keys: they are turned next, and llama.cpp has them in another order */
    bool multiplied;     /* by weights */
    enum precision read; /* how llama.cpp rounds it before it multiplies it by weights */
};

struct points {
    size_t count;
    struct point *items;
    struct map by_value; /* to their numbers */
    size_t logits;       /* the number of the last one */
};

/* The weights' tensors in a file, in the order of llama_weights, say how what they multiply is rounded. The
 * items are in the arena. Release the points with points_release. */
void points_init(struct points *points, const struct llama_form *form, const struct llama_weight *weights,
                 const struct gguf_tensor *const *tensors, size_t n_weights, struct arena *arena);
void points_release(struct points *points);

/* The value of a point in llama.cpp's answer, of `rows` positions, in the order in which the ONNX model has
 * it; the caller releases it. */
int point_take(const struct point *point, const struct llama_form *form, const struct result *result,
               size_t rows, struct tensor *tensor, struct error *err);

#endif
