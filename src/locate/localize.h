/*
 * Finds where in a model the fault is.
 *
 * Two methods, local and rate, use the same recorded values and fill in one result; a third one, swap, runs
 * the model node by node on two engines (locate/swap.h). After local, the cause
 * can be looked for: the parameter that makes the culprit fail (locate/cause.h).
 *
 * local: the reference evaluates every node on the inputs that the engine really gave it, and the node's
 * output is compared with its own hard bound. The engine runs the model with all values exposed and returns
 * them in groups of bounded size, each with the inputs that its nodes had in the same run, so that memory
 * stays bounded whatever the model's size. A fault that vanishes when values are exposed is in a fusion, and
 * the group is searched for (locate/fused_group.h).
 *
 * rate: CRADLE's method (locate/rate.h), which compares the engine's inner values with those of a second
 * engine.
 */
#ifndef LOCATE_LOCALIZE_H
#define LOCATE_LOCALIZE_H

#include "case/test_case.h"
#include "engine/pool.h"
#include "judge/verdict.h"
#include "locate/causal_pairs.h"
#include "locate/cause.h"
#include "locate/swap.h"
#include "model/index.h"

/* An output of a node on the engine. type is DTYPE_NONE when it was not recorded. */
struct localized_value {
    const char *name; /* in the model */
    enum dtype type;
    struct shape shape;
};

/* One node of the top graph, numbered as in graph->node. */
struct localized_node {
    /* From rate; NAN when not measured (NaN on both sides, or not recorded). A value that is finite on one
     * side only makes delta infinite. */
    double delta, rate;
    bool highlighted; /* rate above the third quartile of all rates */

    /* From local: the node judged on the inputs it had. */
    enum verdict_kind verdict; /* VERDICT_UNTESTED: not judged, `text` says why when that is known */
    double factor;             /* largest error divided by its hard bound; NAN when not judged */
    double deviations;         /* largest error in standard deviations of the likely bound; NAN likewise */
    size_t wrong, total;       /* elements */
    const char *text;          /* one line about the verdict, "" when there is nothing to say */

    bool culprit; /* the node is to blame, alone or as part of a fused group */
    size_t n_outputs;
    struct localized_value *outputs; /* one for each output of the node, omitted ones included */
};

struct localization {
    struct arena arena; /* owns everything except names, which belong to the model */
    const char *engine, *second;
    bool local, rate; /* which methods were used */
    size_t n_nodes;
    struct localized_node *nodes;

    enum verdict_kind kind; /* the verdict on the whole: agrees, imprecise, wrong, nan, shape, crash ... */
    size_t n_culprits;      /* nodes to blame: 1, or a fused group; 0 when there are none */
    size_t *culprits;       /* node numbers, ascending */
    bool fused;             /* the fault vanishes when the values between are exposed */
    size_t n_behind; /* nodes behind which alone the culprit goes wrong, though their values are right */
    size_t *behind;  /* their numbers, ascending */
    struct verdict verdict; /* on the culprit, with the inputs it had */
    bool unbounded;         /* it agrees by its nodes alone: the answer as a whole has no finite bound */
    const char *unshown;    /* why the engine did not show its values; NULL when it did */
    const char *lowering; /* it is right by the bounds of fewer bits: what is computed how; NULL: it is not */
    size_t n_judged;      /* number of nodes judged, or replaced by constants, so that their users were */
    const char *text;     /* one line: "Softmax (node sm3): output y[7] is ..." */

    double quartile;          /* the third quartile of all rates; NAN when there are none */
    size_t n_wrong;           /* nodes that are wrong by themselves */
    size_t n_highlighted;     /* by rate */
    size_t first_highlighted; /* the highlighted node that comes first in graph order; n_nodes: none */

    /* The nodes on the shortest path from an input of the model to the (first) culprit, which comes last. */
    size_t n_path;
    size_t *path;

    struct cause cause;        /* of the culprit's failure, with LOCALIZE_CAUSE */
    struct causal_pairs pairs; /* with LOCALIZE_PAIRS */
    bool swap;                 /* LOCALIZE_SWAP was used: the next member is set */
    struct swapped swapped;

    size_t groups;       /* number of groups in which the values were recorded */
    size_t largest;      /* bytes of the largest group */
    size_t runs, wanted; /* runs of the engine; bytes of all values together */
};

enum localize_method {
    LOCALIZE_LOCAL = 1,
    LOCALIZE_RATE = 2,
    LOCALIZE_BOTH = LOCALIZE_LOCAL | LOCALIZE_RATE,
    LOCALIZE_CAUSE = 4,  /* with local: also look for the cause */
    LOCALIZE_PAIRS = 8,  /* with rate: also Audee's pairs of node and parameter */
    LOCALIZE_RERUN = 32, /* with cause: also run the network with the cure */
    LOCALIZE_SWAP = 16,  /* by itself, with `second` as the other engine */
};

struct localize_case {
    struct pool *pool;
    int engine, second;       /* second: used only by rate */
    bool second_is_reference; /* the second engine is the reference: it is run group by group on its own
                                 values, which takes one run in all */
    const struct test_case *test;
    unsigned method;    /* an or of enum localize_method */
    size_t group_bytes; /* bytes of values held at once for each engine; 0: 128 MiB */
    size_t max_group;   /* size of the largest fused group that is searched for, in nodes; 0: 12 */
    bool progress;
    double cause_seconds; /* limit for LOCALIZE_CAUSE; 0: none */
    double t1, t2;        /* thresholds of LOCALIZE_PAIRS; 0: PAIRS_T1, PAIRS_T2 */
    double t_c, t_g;      /* thresholds of LOCALIZE_SWAP; 0: SWAP_THRESHOLD */
};

/* The model must outlive the result. Fails when the engine does not answer, with its message. */
int localize(struct localization *localization, const struct localize_case *which, struct error *err);
void localization_release(struct localization *localization); /* also after a failed localize */

#endif
