/*
 * Harvesting blocks from models: connected subgraphs of 2 to 12 nodes, each structure once, with variable
 * sizes as far as they stay valid, in the text form that block.h reads.
 *
 * From every node, sets of nodes are grown towards the inputs and towards the outputs. Two sets with the same
 * operators connected in the same way are one structure. Values from outside become inputs (data), weights
 * become inputs that are drawn for every case, small constants stay. A size that occurs in the inputs becomes
 * a name wherever it occurs. The block is then tried with other sizes; if that fails, with sizes that are
 * multiples of each other; and at last with its original sizes.
 */
#ifndef GENERATE_HARVEST_H
#define GENERATE_HARVEST_H

#include "model/index.h"

enum { HARVEST_LEAST = 2, HARVEST_MOST = 12 };

struct harvested {
    char *name; /* "cut-Conv-Relu-1a2b3c4d" */
    char *text;
    size_t nodes;
    size_t seen; /* how often the structure occurs */
};

struct harvest {
    struct harvested *blocks;
    size_t count, capacity;
    size_t refused; /* structures of which no valid block could be made */
    struct harvest_state *state;
};

void harvest_init(struct harvest *harvest);
void harvest_release(struct harvest *harvest);

/* Adds the structures of the model that the harvest does not have yet, up to `most` blocks in all (0: no
 * limit). */
int harvest_model(struct harvest *harvest, const struct model *model, size_t most, struct error *err);

#endif
