/*
 * One search for what is to blame, from the engine's answer to the verdict on a node, a group or the whole:
 * what settling and localising share. They record the values and call search_node for each node as it comes.
 */
#ifndef LOCATE_SEARCH_H
#define LOCATE_SEARCH_H

#include "locate/fused_group.h"

struct search {
    struct under_test test;
    struct whole_answer whole;
    struct recording record;
    struct group_search groups;
    size_t judged; /* nodes, each on the inputs the engine had */
    size_t right;  /* those of them inside their hard bound, and not because nothing could be said */
    struct {       /* what is known of the node judged last */
        size_t number;
        bool alone;              /* it is outside its bound as a model of its own, too */
        struct node_group group; /* with which it is wrong; count 0: none */
    } last;
    struct {                     /* nodes that are wrong by themselves, and not why the answer is */
        bool *nodes;             /* by number; NULL: none */
        struct node_group first; /* the node, or the group, that was met first */
        bool fused;
        struct verdict verdict;
    } spare;
};

/* The search must stay where it is: its parts point to each other. Released also after a failure. */
int search_init(struct search *search, const struct settle_case *which, struct error *err);
void search_release(struct search *search);

/* One recorded node. */
void search_node(struct search *search, size_t number, struct verdict *verdict);

/* Whether what is recorded of the node judged last is what the engine has there (blame_check.h). What was run
 * as a model of its own needs no other proof. */
bool search_confirm(struct search *search, size_t number, size_t output);

/*
 * What speaks for blaming the node judged last, which is outside its bound. A node that is so as a model of
 * its own as well is wrong, whatever the answer is. One that is not is to blame when the answer is as wrong
 * with the inputs that it is said to have had, and right with its output right; else what is recorded of it
 * and its inputs does not belong together, and it is not to blame at all.
 */
enum search_weight {
    WEIGHT_NONE,
    WEIGHT_SPARE, /* wrong, but not why the answer is: only to blame when nobody else is */
    WEIGHT_FULL,
    WEIGHT_TOGETHER, /* with those spared before it, all that is wrong: the first of them is to blame */
};
enum search_weight search_weigh(struct search *search, size_t number, const struct verdict *verdict);

/* Blames whom that says: the node, the group in which it is, or the one spared first; false when nobody yet.
 */
bool search_blame(struct search *search, struct settlement *settlement, const struct verdict *verdict,
                  size_t number, enum search_weight weight);
void search_blame_spare(const struct search *search, struct settlement *settlement); /* the one met first */

/* The engine does not show its values: parts of the model on the reference's, then the whole. */
int search_hidden(struct search *search, struct settlement *settlement);

/* Nothing local is wrong: imprecise, agrees, or (a group larger than any part tried) all are to blame. */
int search_whole(struct search *search, struct settlement *settlement);

/* The smallest part that the engine refuses, or dies on, in the way of the whole. */
int search_refused(struct search *search, const struct verdict *verdict, const struct result *ended,
                   struct settlement *settlement);

#endif
