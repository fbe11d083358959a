/*
 * Checks every operator of a model on one sample, also where the answer agrees: what the last operators hide
 * (a saturated Softmax, an ArgMax), or the bounds of the whole are too wide for, shows in the values before.
 *
 * The engine runs the model with all values exposed, and each node is judged on the inputs it had
 * (node_verdict.h); then with few values exposed, so that it can fuse nodes, and each stretch between these
 * is judged (stretches.h). An engine that does not show its values is given each node as a model of its own,
 * on the reference's values. A node that looks wrong is confirmed and weighed before it is blamed, as in
 * settling. Where none is wrong, a node or stretch far beyond its likely bound, in its place and as a model
 * of its own, is imprecise.
 */
#ifndef LOCATE_OPERATOR_CHECK_H
#define LOCATE_OPERATOR_CHECK_H

#include "locate/exercise.h"
#include "locate/settlement.h"

/* How a node was judged. */
enum node_checked {
    CHECKED_NOT = 0,
    CHECKED_NODE,     /* on the inputs it had */
    CHECKED_GROUP,    /* only as a part of a stretch: a value beside it cannot be shown */
    CHECKED_FOLDED,   /* by the nodes that use it: the engine replaces it by a constant */
    CHECKED_ALONE,    /* as a model of its own, on the reference's values */
    CHECKED_TRIVIAL,  /* a Constant */
    CHECKED_BORROWED, /* not the engine's own: the reference computes it for the engine */
};

struct checked_node {
    enum node_checked checked;
    const char *why;              /* it was not judged; NULL: it was */
    bool lowered;                 /* it is computed in fewer bits than its type has (engine/profile.h) */
    size_t elements, left, vague; /* of its outputs; those not judged; as in struct verdict */
    double error, visible;        /* as in struct verdict */
    struct exercise exercise;
};

struct operator_check {
    struct arena arena;
    struct settlement found; /* what is wrong or, its kind tells, imprecise; count 0: nothing */
    size_t n_nodes, n_checked;
    bool partial;      /* some nodes that were judged have elements that could not be */
    bool within_types; /* each node was judged by itself, and every result is within its type */
    struct checked_node *nodes;
    size_t n_lowered;        /* nodes that are computed in fewer bits */
    const char *lowering;    /* in words, with n_lowered: what is computed how; lives as long as the engine */
    size_t stretches, right; /* as in struct stretches */
    size_t runs;             /* of the engine */
};

/* Besides each alone, operators are judged as an engine may fuse them: each product with what follows it, or
 * each two products as well (stretches.h). */
enum operator_fusions { FUSIONS_OF_ONE_PRODUCT, FUSIONS_OF_TWO_PRODUCTS };

/* `answer` is the engine's to the case, which is not run again. The members of *check are set also where
 * something is wrong, as far as the check came. Fails when the case cannot be examined at all. */
int operator_check(struct operator_check *check, const struct settle_case *which, const struct result *answer,
                   enum operator_fusions fusions, struct error *err);
void operator_check_release(struct operator_check *check); /* also after a failure */

#endif
