/*
 * Blocks out of models: connected subgraphs of 2 to 12 nodes, each structure once, with their sizes opened up
 * as far as that leaves them valid, in the text form that block.h reads.
 *
 * From every node, sets are grown towards the inputs and towards the outputs; two sets with the same
 * operators wired alike are one structure. What a set uses from outside becomes an input (data), weights
 * become inputs that are drawn anew, small constants stay. A size that occurs in the inputs becomes a name
 * wherever it occurs; the block is tried out with other sizes, and where that fails with multiples of each
 * other, and at last as it is.
 */
#ifndef GENERATE_HARVEST_H
#define GENERATE_HARVEST_H

#include "model/index.h"

enum { HARVEST_LEAST = 2, HARVEST_MOST = 12 };

struct harvested {
    char *name; /* "cut-Conv-Relu-1a2b3c4d" */
    char *text;
    size_t nodes;
    size_t seen; /* times that the structure occurs */
};

struct harvest {
    struct harvested *blocks;
    size_t count, capacity;
    size_t refused; /* structures that did not become a block */
    struct harvest_state *state;
};

void harvest_init(struct harvest *harvest);
void harvest_release(struct harvest *harvest);

/* Adds what the model has and the harvest has not, up to `most` blocks in all (0: no limit). */
int harvest_model(struct harvest *harvest, const struct model *model, size_t most, struct error *err);

#endif
