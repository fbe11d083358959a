/*
 * A language model as ONNX on one engine and as a GGUF file on another, side by side: both decode greedily,
 * each from its own tokens, and their values are judged at the points that both have (points.h).
 *
 * Three questions are asked apart, and together they say why the two part:
 *
 * - is the file the model's? Each weight is what its type makes of the model's, and each setting the one that
 *   the model computes by (llama_weights.h);
 * - does each engine compute what its model says? Each value is held against the reference, which has the
 *   weights that the engine has: those of the file for the one that reads it (course.h);
 * - which tokens do they choose?
 *
 * Where file and engines are right, they part by the format: what its types keep of weights and of what these
 * multiply. Where no weight differs either, by rounding.
 */
#ifndef GGUF_BESIDE_H
#define GGUF_BESIDE_H

#include "engine/panel.h"
#include "gguf/course.h"

struct beside_options {
    const char *file; /* the GGUF file */
    size_t steps, judge, n_prompt;
    const int64_t *prompt;
    bool progress;
};

enum beside_kind {
    BESIDE_ROUNDING, /* nothing but rounding is between them */
    BESIDE_FORMAT,   /* the types of the file */
    BESIDE_LOWERED,  /* the model's engine computes in fewer bits than its types have, as it says of its
                        setting;  the types of the file may come on top */
    BESIDE_FILE,     /* the file has other weights or settings than the model */
    BESIDE_FAULT,    /* an engine computes something else than its model says */
    BESIDE_UNKNOWN,  /* not both could be judged */
};
const char *beside_word(enum beside_kind kind);

/* What is known of a layer; that with number 0 stands for the embedding, the last for the last norm and the
 * product behind it. */
struct beside_layer {
    double apart;     /* the largest difference of what it gives, in shares of the largest number */
    double factor[2]; /* the largest error of a value of each engine, in shares of its bound */
    double share;     /* the largest difference of a weight, in what its type explains; infinite: a type that
                         keeps every number has another */
    size_t differ, beyond, n_weights; /* numbers that differ, and those that differ by more than that */
};

struct beside {
    struct arena arena;
    struct model_index index;
    struct llama_form form;
    struct gguf_file file;
    size_t n_weights;
    const struct llama_weight *weights;
    const struct gguf_tensor **tensors; /* of the file, for each weight */
    struct llama_difference *differences;
    size_t n_settings;
    struct llama_setting settings[LLAMA_SETTINGS];
    struct points points;
    struct course courses[2];
    size_t n_layers; /* of the next, two more than the form has */
    struct beside_layer *layers;
    size_t count[2]; /* tokens chosen */
    int64_t *tokens[2];
    size_t judged[2];     /* steps */
    const char *lowering; /* what the model's engine computes in fewer bits how; NULL: nothing */
    bool parted;
    size_t step; /* at which they chose different tokens first */
    enum outcome ended[2];
    const char *why[2];
    enum beside_kind kind;
    int layer;     /* the first that is at fault; -2: none, or not known */
    size_t weight; /* BESIDE_FILE: the first weight that is not the model's; n_weights: none is */
};

/* The panel's first engine runs the model, its second one the file. Release it also after a failure. */
int beside_run(struct beside *beside, const struct model *model, const struct panel *panel,
               const struct beside_options *options, struct error *err);
void beside_release(struct beside *beside);

#endif
