/*
 * Localisation by swapping implementations (Gu, Shi, Liu, Wu, Jiang, Zhao, Ma: Chinese Journal of Computers
 * 2022). A node whose implementation can be exchanged is the paper's meta-operator.
 *
 * All nodes start on engine A. From the last to the first, one after the other is bound to engine B; after
 * each, the outputs Y of the model and the gradients G of its parameters are compared with those before:
 *     delta_C = mean |Y_before - Y_after|
 *     delta_G = mean over all parameters of the mean |G_before - G_after|
 * The inputs of the node are the same before and after, so what changes is its doing. Above T_C or T_G its
 * two implementations differ. To verify that nothing else does, the suspects stay on A and everything else
 * goes to B: the results must be close to those of A alone.
 *
 * Beyond the paper, the reference judges both implementations of every node that differs in any bit, on the
 * inputs that it had on A. So it says which engine is wrong, finds what the rest of the model hides (a
 * Softmax of large numbers), and clears nodes whose rounding errors the rest of the model enlarges.
 */
#ifndef LOCATE_SWAP_H
#define LOCATE_SWAP_H

#include "base/arena.h"
#include "locate/swap_graph.h"

#define SWAP_THRESHOLD 1.5e-4

struct swapped_node {
    double delta_c, delta_g; /* infinite: a value is finite on one side only; NAN: not measured */
    bool suspect;            /* above a threshold, or outside its bound on one of the engines */
    bool judged;             /* the verdicts below are set */
    enum verdict_kind verdicts[2];
    double factors[2]; /* largest error divided by its hard bound; NAN when not judged */
    const char *texts[2];
    struct swap_node made; /* which engine ran it */
};

struct swapped {
    const char *engines[2];
    double t_c, t_g;
    bool gradients; /* delta_G was measured */
    size_t n_nodes;
    struct swapped_node *nodes; /* as in the model */
    size_t n_suspects;
    size_t *suspects;   /* the largest delta over its threshold first */
    size_t n_wrong;     /* suspects that are outside their bounds, or on which an engine died */
    size_t n_cleared;   /* suspects whose implementations are both within their bounds */
    size_t n_swapped;   /* nodes that both engines can run */
    size_t n_gradients; /* nodes whose gradient both engines can compute */
    size_t n_parameters;
    bool verified; /* the deltas of the verification are set */
    double verify_c, verify_g;
    bool confirmed; /* both are within their thresholds */
    size_t runs;    /* of nodes on engines */
    const char *text;
};

struct swap_options {
    double t_c, t_g; /* 0: SWAP_THRESHOLD */

    bool progress;
};

/* How far a node's larger delta is above its threshold: a ratio, above 1 for suspects. */
double swap_excess(const struct swapped *swapped, size_t node);

/* Everything in *swapped lives in the arena. */
int swap_localize(struct swapped *swapped, const struct settle_case *which, int second,
                  const struct swap_options *options, struct arena *arena, struct error *err);

#endif
