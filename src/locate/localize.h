/*
 * Where in a model the fault is.
 *
 * Two methods on the same recorded values, into one result.
 *
 * local: every node is evaluated by the reference on the inputs that the engine really gave it and held
 * against its own hard bound. The engine runs the model with all values exposed and hands them over in groups
 * of bounded size, each group with the inputs its nodes had in that same run, so memory stays bounded
 * whatever the model's size. A fault that vanishes when values are exposed sits in a fusion and is narrowed
 * down (locate/fused_group.h).
 *
 * rate: CRADLE's map (locate/rate.h), the engine's hidden states against those of a second engine.
 */
#ifndef LOCATE_LOCALIZE_H
#define LOCATE_LOCALIZE_H

#include "case/test_case.h"
#include "engine/pool.h"
#include "judge/verdict.h"
#include "model/index.h"

/* What a node made on the engine. type DTYPE_NONE: not recorded. */
struct localized_value {
    const char *name; /* in the model */
    enum dtype type;
    struct shape shape;
};

/* One node of the top graph, numbered as in graph->node. */
struct localized_node {
    /* By rate; NAN when not measured (not a number on both sides, or not recorded). A value that is not
     * finite on one side only has delta infinite. */
    double delta, rate;
    bool highlighted; /* rate above the third quartile of all rates */

    /* By local: on its own inputs. */
    enum verdict_kind verdict; /* VERDICT_UNTESTED: not judged, `text` says why when that is known */
    double factor;             /* largest error over its hard bound; NAN when not judged */
    double deviations;         /* largest error in standard deviations of the likely bound; NAN likewise */
    size_t wrong, total;       /* elements */
    const char *text;          /* one line about the verdict, "" when there is nothing to say */

    bool culprit; /* the node, or one of the fused group, that is to blame */
    size_t n_outputs;
    struct localized_value *outputs; /* as in the node, omitted ones included */
};

struct localization {
    struct arena arena; /* holds what it points to, but names, which are the model's */
    const char *engine, *second;
    bool local, rate; /* which methods were used */
    size_t n_nodes;
    struct localized_node *nodes;

    enum verdict_kind kind; /* the verdict on the whole: agrees, imprecise, wrong, nan, shape, crash ... */
    size_t n_culprits;      /* 1, or a fused group; 0 when nobody is to blame */
    size_t *culprits;       /* node numbers, ascending */
    bool fused;             /* the fault vanishes when the values between are exposed */
    struct verdict verdict; /* of the culprit on its own inputs */
    const char *unshown;    /* why the engine did not show its values; NULL when it did */
    size_t n_judged;        /* nodes, each on its own inputs */
    const char *text;       /* one line: "Softmax (node sm3): output y[7] is ..." */

    double quartile;          /* the third, of all rates; NAN when there are none */
    size_t n_wrong;           /* nodes with a finding of their own */
    size_t n_highlighted;     /* by rate */
    size_t first_highlighted; /* the highlighted node that comes first in graph order; n_nodes: none */

    /* Nodes on the shortest way from an input of the model to the (first) culprit, that one last. */
    size_t n_path;
    size_t *path;

    size_t groups;       /* in which the values came */
    size_t largest;      /* bytes of the largest group */
    size_t runs, wanted; /* runs of the engine; bytes of all values together */
};

enum localize_method { LOCALIZE_LOCAL = 1, LOCALIZE_RATE = 2, LOCALIZE_BOTH = 3 };

struct localize_case {
    struct pool *pool;
    int engine, second;       /* second: for rate alone */
    bool second_is_reference; /* it may then be run piece by piece, on its own values, which costs one run */
    const struct test_case *test;
    enum localize_method method;
    size_t group_bytes; /* of values held at once for each engine; 0: 32 MiB */
    size_t max_group;   /* nodes of the largest fused group looked for; 0: 12 */
    bool progress;
};

/* The model must outlive the result. Fails when the engine does not answer, with what it said. */
int localize(struct localization *localization, const struct localize_case *which, struct error *err);
void localization_release(struct localization *localization); /* also after a failed localize */

#endif
