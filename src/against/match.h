/*
 * Which values of one model are those of another from which it was made: by quantising, by converting it to
 * another type, by an optimiser, a simplifier or another export.
 *
 * A value that MODEL computes is followed by others that are the same numbers in another form: its levels
 * behind QuantizeLinear, the numbers behind DequantizeLinear, a Cast. Together they are one chain. A chain is
 * matched with one value of OTHER, a *layer*: first by name, then by structure (the same operator on inputs
 * that are matched), then by the values themselves. Where an activation was left out because the range of the
 * levels does its work, the end of the chain is matched with the value behind that activation.
 */
#ifndef AGAINST_MATCH_H
#define AGAINST_MATCH_H

#include "model/index.h"

enum matched_by { MATCHED_BY_NAME, MATCHED_BY_STRUCTURE, MATCHED_BY_VALUES };

/* There is no such value. */
#define NO_VALUE ((size_t)-1)

/* A floating-point value of OTHER, and where MODEL has it. Values are numbers in the two indexes. */
struct match_layer {
    size_t other;
    size_t made; /* as it is computed; NO_VALUE: only the end of a chain is this value */
    size_t
        passed; /* at the end of the chain, as other nodes read it; NO_VALUE: it is read as it is computed */
    enum matched_by by;
};

/* A constant of OTHER, and what MODEL has in its place. */
struct match_weight {
    size_t other, model;
    size_t layer; /* that of the node that reads it */
};

struct match {
    const struct model_index *model, *other;
    size_t n_layers, layers_capacity;
    struct match_layer *layers;
    size_t n_weights, weights_capacity;
    struct match_weight *weights;
    size_t *root;    /* for each value of MODEL the one that its chain begins with */
    size_t *layer;   /* for each value of MODEL the layer whose numbers it has; NO_VALUE */
    size_t *reverse; /* for each value of OTHER its layer; NO_VALUE */
    size_t *weight;  /* for each value of MODEL the weight that it is; NO_VALUE */
};

/* Matches by names and structure. The indexes must outlive the match. */
void match_init(struct match *match, const struct model_index *model, const struct model_index *other);
void match_release(struct match *match);

/*
 * Goes on by values: those that MODEL and OTHER have on one sample, an entry for each value in the index,
 * whose data is NULL where there is none. Also corrects which value the end of a chain is, and drops matches
 * of names that were given to something else.
 */
void match_by_values(struct match *match, const struct tensor *model, const struct tensor *other);

/* Pairs the constants of nodes that are matched. To be called last. */
void match_weights(struct match *match);

/* The node that computes a value; NULL: it is an input or a constant. */
const Onnx__NodeProto *match_maker(const struct model_index *index, size_t value);

/* Whether the value is a constant: an initialiser, or made of one by nodes that only change its form. */
bool match_is_constant(const struct model_index *index, size_t value);

/* The shares of two tensors' numbers that point the same way: 1 for the same up to a factor, NaN where their
 * counts differ or one has no numbers. */
double match_cosine(const struct tensor *a, const struct tensor *b);

#endif
