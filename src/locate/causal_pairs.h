/*
 * Audee's causal localisation (Guo et al., ASE 2020, algorithm 2): pairs of node and parameter whose change
 * makes two engines agree on that node.
 *
 * Nodes are taken in the order of computation. For a node whose rate of change R (locate/rate.h) is above t1,
 * each parameter gets one other legal value, and the changed node alone runs on both engines: first on the
 * inputs it had, then on inputs that a genetic search (search/genetic.h) breeds towards a large distance. A
 * parameter with which R stays below t2 is a cause (the paper's X). One whose change ends an engine or makes
 * a NaN is none; the new value is kept as the source of that (the paper's Y).
 *
 * The paper then fixes the node in the network and runs that again. Here every node is examined on the inputs
 * it had, on which nothing that came before has an influence, so that the pairs need no changed network. The
 * minimal cause (locate/cause.h) is confirmed by one.
 */
#ifndef LOCATE_CAUSAL_PAIRS_H
#define LOCATE_CAUSAL_PAIRS_H

#include "locate/under_test.h"

#define PAIRS_T1 1000.0
#define PAIRS_T2 2.0

struct causal_pair {
    size_t node; /* in the model that was localised */
    const char *parameter, *value, *tried;
    double rate;         /* the largest R with the other value */
    const char *instead; /* what the other value does: "crash", "failed", "nan" ...; NULL: it is a cause */
};

struct causal_pairs {
    double t2; /* the caller sets it */
    size_t count;
    struct causal_pair *items; /* in the arena */
};

/* Examines one node, given as a case of its own, and adds its pairs. second: the other engine of the pool. */
int causal_pairs_add(struct causal_pairs *pairs, struct under_test *test, int second, size_t node,
                     struct test_case *part, struct arena *arena, struct error *err);

#endif
