/*
 * Nodes of a model that call its own functions, as the nodes inside: a bug of an operator is the same bug
 * where the operator is called as a function, so signatures and facts speak of the operators themselves.
 */
#ifndef FINDINGS_INLINED_NODES_H
#define FINDINGS_INLINED_NODES_H

#include "judge/verdict.h"
#include "model/model.h"

struct inlined_nodes {
    const struct model *model; /* the model, with calls of its functions replaced by their nodes */
    struct model *own;         /* the same where it is a copy; NULL: the model calls no functions */
    size_t count;
    size_t *numbers; /* the chosen nodes in graph->node of `model`, ascending */
    size_t *calls;   /* for each of them, its own number in the given model, or that of the call */
};

/*
 * Finds what became of the nodes `numbers` of a model. Of an engine that died (kind) the calls stay, as it
 * may have died of them, and so they do where functions cannot be inlined. The model is borrowed. Release it
 * with inlined_nodes_release.
 */
void inlined_nodes_init(struct inlined_nodes *inlined, const struct model *model, const size_t *numbers,
                        size_t count, enum verdict_kind kind);
void inlined_nodes_release(struct inlined_nodes *inlined);

#endif
