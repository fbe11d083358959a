/*
 * Where in a decoder (decoder.h) something happens: layers and heads.
 */
#ifndef DECODE_DECODE_PLACE_H
#define DECODE_DECODE_PLACE_H

#include "base/arena.h"
#include "decode/decoder.h"
#include "locate/localize.h"
#include "model/index.h"

/* A node that is wrong on the inputs it had. */
struct decode_fault {
    bool found;
    size_t step; /* 0: the prompt */
    enum verdict_kind kind;
    const char *operator, * node; /* "" when no single node or group is to blame */
    int layer;                    /* -1: not known */
    int64_t heads;                /* that the node's result has; 0: its result has none, or it is not known */
    size_t n_wrong;               /* heads in which elements are wrong */
    int64_t *wrong;               /* their numbers, ascending */
    const char *text;             /* one line: "MatMul (node m): output y[7] is ..." */
};

/*
 * The layer of a node: the number in its name after "layers.", "layer.", "h." or "block."; in a model that
 * does not name its nodes so, the last layer whose cache the node depends on. -1: before all layers.
 */
int place_layer(const struct decoder *decoder, const struct model_index *index, size_t node);

/* The head to which an element of the node's result belongs, and how many there are; -1: none. */
int64_t place_head(const struct decoder *decoder, const struct model_index *index, size_t node,
                   const struct shape *shape, size_t element, int64_t *heads);

/* Fills in *fault from what localising found. The node is asked for once more, for the heads in which it is
 * wrong. Texts live in the arena. */
void place_fault(struct decode_fault *fault, const struct decoder *decoder, const struct settle_case *which,
                 const struct localization *found, struct arena *arena);

/*
 * Whether the operator that makes the logits may round two of them so that either is the larger, on the
 * inputs that it had on this engine: *gap is the difference of their exact values, *bound what rounding
 * explains of it. False also when that cannot be computed; *gap is then NAN.
 */
bool place_tie(const struct decoder *decoder, const struct settle_case *which, size_t a, size_t b,
               double *gap, double *bound);

/* Where the caches of two answers differ. */
struct decode_apart {
    bool differ;
    int layer; /* of the largest difference, in shares of the largest number of its cache */
    int64_t head;
    size_t position; /* in the text, the prompt included */
    const char *name;
    double share;
    int first_layer; /* of the first difference in any bit: at the first position, in the first layer */
    int64_t first_head;
    size_t first_position;
};
void place_apart(struct decode_apart *apart, const struct decoder *decoder, const struct result *a,
                 const struct result *b);

#endif
