/*
 * The search for the node or group to blame, which settling and localising share. They record the values and
 * call fault_search_node for each node as its values arrive.
 */
#ifndef LOCATE_FAULT_SEARCH_H
#define LOCATE_FAULT_SEARCH_H

#include "base/side_by_side.h"
#include "locate/fused_group.h"

struct fault_search {
    struct under_test test;
    struct whole_answer whole;
    struct recording record;
    struct group_search groups;
    struct { /* nodes that several processes judged at the same time */
        struct side_by_side run;
        size_t first; /* the place of the first in the order of the index */
    } ahead;
    size_t judged; /* nodes judged, each on the inputs it had */
    size_t right;  /* those of them that were judged to be inside their hard bound */
    struct {       /* the node judged last */
        size_t number;
        bool alone;              /* it is also outside its bound as a model of its own */
        struct node_group group; /* the group with which it is wrong; count 0: none */
    } last;
    struct {         /* nodes that are wrong by themselves but are not the cause of the wrong answer */
        bool *nodes; /* by number; NULL: none */
        struct node_group first; /* the first such node or group */
        size_t at;               /* of the group: the node that goes wrong behind the others */
        struct verdict verdict;
    } spare;
};

/* The search must not be moved: its parts point to each other. Release it also after a failure. */
int fault_search_init(struct fault_search *search, const struct settle_case *which, struct error *err);
void fault_search_release(struct fault_search *search);

/* The values of the group have arrived: where several processes compute, they judge its nodes now, and
 * fault_search_node finds the verdicts until another group is begun. */
void fault_search_group(struct fault_search *search, const struct memory_group *group);

/* Judges one recorded node. */
void fault_search_node(struct fault_search *search, size_t number, struct verdict *verdict);

/* Whether the recorded output of the node judged last is what the engine really had (blame_check.h). A node
 * that is wrong as a model of its own needs no other proof. */
bool fault_search_confirm(struct fault_search *search, size_t number, size_t output);

/*
 * Weighs whether to blame the node judged last, which is outside its bound. A node that is also outside as a
 * model of its own is wrong, whatever the answer is. Any other node is to blame when the answer is as wrong
 * with the recorded values as its inputs, and right with the right values as its outputs; otherwise its
 * recorded inputs and outputs do not belong together, and it is not to blame.
 */
enum fault_search_weight {
    WEIGHT_NONE,
    WEIGHT_SPARE, /* wrong, but not the cause of the wrong answer: to blame only when no other node is */
    WEIGHT_FULL,
    WEIGHT_TOGETHER, /* together with the spare nodes before it, it explains the answer: the first of them is
                        to blame */
};
enum fault_search_weight fault_search_weigh(struct fault_search *search, size_t number,
                                            const struct verdict *verdict);

/* Blames by that weight: the node, the group it belongs to, or the first spare node. False when none is to
 * blame yet. */
bool fault_search_blame(struct fault_search *search, struct settlement *settlement,
                        const struct verdict *verdict, size_t number, enum fault_search_weight weight);
/* Confirms, weighs and blames the node judged last, whose verdict is a finding. False when none is to blame
 * yet. */
bool fault_search_accuse(struct fault_search *search, struct settlement *settlement,
                         const struct verdict *verdict, size_t number);
/* Blames the first spare node or group. */
void fault_search_blame_spare(const struct fault_search *search, struct settlement *settlement);

/* Calls a node that is far beyond its likely bound imprecise. The values shown may not be quite those it had,
 * so it must be as far off as a model of its own. */
void fault_search_blame_suspect(struct fault_search *search, struct settlement *settlement, size_t number);

/* For an engine that does not show its values: judges parts of the model on the reference's values, then the
 * whole. */
int fault_search_hidden(struct fault_search *search, struct settlement *settlement);

/* When no node or part is wrong: the whole is imprecise or agrees, or it is wrong and all nodes are to blame,
 * as a group larger than any part that was tried. */
int fault_search_whole(struct fault_search *search, struct settlement *settlement);

/* Finds the smallest part that the engine refuses, or crashes on, in the same way as the whole model. */
int fault_search_refused(struct fault_search *search, const struct verdict *verdict,
                         const struct result *ended, struct settlement *settlement);

#endif
