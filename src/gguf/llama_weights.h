/*
 * The weights of a network of llama's form, as its ONNX model has them and as a GGUF file does: names,
 * matrices turned round, and the rows of queries and keys in the order in which llama.cpp turns pairs.
 */
#ifndef GGUF_LLAMA_WEIGHTS_H
#define GGUF_LLAMA_WEIGHTS_H

#include "gguf/gguf_file.h"
#include "gguf/llama_form.h"

struct llama_weight {
    const char *name;    /* in the file: "blk.3.attn_q.weight" */
    const char *initial; /* the constant: an initialiser, or what a node makes of one */
    int layer;           /* -1: before all layers, or n_layers: behind them */
    int64_t width, rows; /* of the file's tensor: numbers in a row, and rows; a vector has one */
    bool vector;
    bool across;   /* the file's rows are the initialiser's columns */
    int64_t heads; /* whose rows stand in another order; 0: none */
};

/* All of them, in the order in which they are written; the list is in the arena. */
const struct llama_weight *llama_weights(const struct llama_form *form, struct arena *arena, size_t *count);

/* Which row of the initialiser row `row` of the file is. */
int64_t llama_row(const struct llama_form *form, const struct llama_weight *weight, int64_t row);

/* Where element i of row `row` of the file lies in the initialiser. */
size_t llama_place(const struct llama_form *form, const struct llama_weight *weight, int64_t row, int64_t i);

/* The constant of a weight; the caller releases it. */
int llama_weight_read(const struct model *model, const struct llama_weight *weight, struct tensor *tensor,
                      struct error *err);

/* Writes the model as a GGUF file; matrices get `type` where their rows are whole blocks, else float16, and
 * vectors float32. */
int llama_file_write(const struct model *model, const struct llama_form *form, const struct block_type *type,
                     const char *path, struct error *err);

/* The tensors of a file for these weights, in their order, on the heap. Fails when one is missing, or has
 * another shape or a type that is not read here. A file without output.weight has the table in its place. */
int llama_file_tensors(const struct gguf_file *file, const struct llama_form *form,
                       const struct llama_weight *weights, size_t count, const struct gguf_tensor **tensors,
                       struct error *err);

/* Puts the numbers of a file in the place of the model's constant. */
int llama_file_put(struct model *model, const struct llama_form *form, const struct llama_weight *weight,
                   const struct gguf_tensor *tensor, struct error *err);

/* How the numbers of a file differ from those of a model. */
struct llama_difference {
    size_t differ; /* numbers that are not the same */
    size_t beyond; /* numbers that differ by more than the file's type explains */
    float largest; /* difference */
    float share;   /* the largest difference in what the type explains; infinite where that is nothing */
    int64_t row;   /* of the file's tensor: the first with a number that differs by more */
    int64_t whose; /* the row of the model's that it is instead; -1: it is none of them */
};
int llama_file_compare(const struct model *model, const struct llama_form *form,
                       const struct llama_weight *weight, const struct gguf_tensor *tensor,
                       struct llama_difference *difference, struct error *err);

/* One setting of a file that is not what the model computes by. */
struct llama_setting {
    const char *key;
    double file, model; /* file: NAN where the file does not have it */
};
enum { LLAMA_SETTINGS = 9 };
size_t llama_file_settings(const struct gguf_file *file, const struct llama_form *form,
                           struct llama_setting settings[LLAMA_SETTINGS]);

#endif
