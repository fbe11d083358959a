/*
 * Finds fused groups: nodes that are wrong, or refused, only when the engine computes them together.
 *
 * A part is a set of nodes that is cut out and run as a model of its own (part.h). A graph of up to 24 nodes
 * is searched exhaustively, the smallest parts first, up to the size that the case allows (max_group). In a
 * large one the place is found by bisection before parts are tried. For a wrong answer, the values of all but
 * the first k nodes are exposed: the fault shows as soon as the inner values of the first faulty fusion are
 * among these. Where no part that ends behind them is wrong by itself, the values of the first k nodes are
 * exposed: the fault vanishes as soon as an inner value of the last faulty fusion is among them. For a
 * refusal, the first k nodes are run alone: they are refused as soon as they include the part that the engine
 * cannot run. A refused graph is always bisected first, because a part that contains a refused part and ends
 * at the same node is usually refused too.
 */
#ifndef LOCATE_FUSED_GROUP_H
#define LOCATE_FUSED_GROUP_H

#include "locate/part.h"

struct group_search {
    struct under_test *test;
    struct recording *record;
    const struct refused *refused; /* when the engine refuses the whole model, else NULL */
    const bool *skipped; /* by node number: nodes that are wrong by themselves; parts with such a node are not
                            tried. Or NULL */
    struct result shown; /* in a large graph, the answer of the whole model with all values exposed */
    bool close; /* the answers with values exposed were so far within the published tolerance of the plain
                   ones */
};
void group_search_init(struct group_search *search, struct recording *record);
void group_search_release(struct group_search *search);

/* Searches with the recorded inputs, when exposing values makes the fault vanish. True when a group was
 * found; the settlement then blames it. */
bool fused_group_find(struct group_search *search, struct settlement *settlement);

/* Searches with the reference's values as inputs, when the engine shows no values (or gives no answer at
 * all). Returns 1 when a group was found, 0 when not, -1 when the reference cannot compute the model. */
int fused_group_find_unshown(struct group_search *search, struct settlement *settlement);

/* Drops nodes at the border of a wrong group as long as the rest is wrong too. */
void fused_group_shrink(struct group_search *search, size_t *nodes, size_t *size, struct verdict *verdict);

/* Makes a refused group smaller, as long as the rest is refused too: the node that the engine complains about
 * may come after the one at fault. */
void fused_group_narrow(struct group_search *search, struct settlement *settlement);

/* Adds to a refused group the Constants without which the engine runs it, their values being weights. */
void fused_group_add_constants(struct group_search *search, struct settlement *settlement);

enum { GROUP_BEFORE = 8 }; /* the largest number of nodes that is tried */
struct node_group {
    size_t nodes[GROUP_BEFORE], count;
};

/*
 * For a node that is outside its bound where values are exposed, but right when it is run alone: the engine
 * computes it together with nodes before it, although their values are exposed. *group becomes the group that
 * is wrong as a whole. The verdict becomes mistrusted when another formula for the group explains the
 * difference; otherwise, when no group is found, it stays as it is.
 */
void fused_group_before(struct group_search *search, size_t number, struct node_group *group,
                        struct verdict *verdict);

#endif
