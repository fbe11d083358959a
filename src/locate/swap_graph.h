/*
 * A graph whose nodes are each bound to one of two engines, run node by node, forward and backward. A node
 * runs as a model of its own; the chain rule between nodes is ours.
 *
 * All bindings of interest run together, one node after the other: a node is loaded once in an engine, which
 * then runs it on all the different inputs that it has in any of the bindings. Results that are equal in
 * every bit are one result, so that what a changed binding does not reach is computed once.
 *
 * A node that its engine cannot run is run by the other one in all bindings, and the same holds for its
 * gradient. Where a node gives another shape than it should, the nodes behind it may fail: that binding then
 * has no values from there on.
 */
#ifndef LOCATE_SWAP_GRAPH_H
#define LOCATE_SWAP_GRAPH_H

#include "base/progress.h"
#include "engine/runner.h"
#include "locate/under_test.h"

/* What became of a node. */
struct swap_node {
    bool lacks[2];                      /* the engine cannot run it: the other one does */
    bool lacks_gradient[2];             /* the same for its gradient */
    const char *why[2];                 /* what the engine said to that; NULL when it lacks nothing */
    bool died[2];                       /* it crashed or hung on the node */
    bool differs, gradient_differs;     /* the engines gave different answers to the same inputs */
    bool proven[2], proven_gradient[2]; /* it has answered at least once */
    bool differentiated;                /* its gradient was asked for */
    size_t runs, gradients;             /* how often both engines together ran it forward and backward */
};

/* One binding, and what came out of it. The tensors belong to the graph and live until it is run again. */
struct swap_binding {
    unsigned char *engine;           /* for each node: 0 or 1 */
    const struct tensor **outputs;   /* of the graph, in order; NULL: a node failed before it */
    const struct tensor **gradients; /* for each parameter; NULL: the outputs do not depend on it */
};

struct swap_graph {
    struct under_test test; /* the case, its index; its engine is the first one */
    int engines[2];         /* numbers in the pool */
    struct swap_node *nodes;
    bool established;    /* some bindings have run: every node runs on one engine at least */
    size_t n_parameters; /* values by which the outputs are differentiated */
    size_t *parameters;  /* their numbers in test.index.values */
    bool *needed;        /* for each value: a parameter, or computed from one */
    size_t bytes;        /* of all values held */
    struct panel panel;  /* of both engines, for the runner */
    struct runner *runner;
    struct pile *values, *slopes; /* for each value: the different tensors that it has, and its gradients */
    struct arena arena;           /* of the last run */
    struct swap_state *states;    /* of the last run, one for each binding */
    struct progress *progress;    /* one step for each node and direction; NULL: none */
};

/*
 * The scalar that is differentiated is the sum of the means of all outputs, each element times a weight of 1
 * or -1 that follows from its place: so no output of a Softmax is constant in sum. The parameters are the
 * initialisers and graph inputs of floating-point type that are data and no settings. `which` names the case
 * and the first engine; it must outlive the graph. After a failure there is nothing to release.
 */
int swap_graph_init(struct swap_graph *graph, const struct settle_case *which, int second, struct error *err);
void swap_graph_release(struct swap_graph *graph);

/* Makes a binding with every node on the first engine; it lives as long as the graph. */
struct swap_binding swap_binding_make(struct swap_graph *graph);

/*
 * Runs the bindings and forgets those of the run before. Fails, naming the node, when neither engine can run
 * it, and with ERROR_LIMIT when the values of all bindings take more than SWAP_BYTES.
 */
#define SWAP_BYTES ((size_t)1 << 30)
int swap_graph_run(struct swap_graph *graph, struct swap_binding *bindings, size_t count);

/*
 * Judges the answers of both engines to one node, or the gradients that they give, on the inputs that it had
 * in the first binding of the last run, by the reference's bounds. An engine that gave no answer is
 * VERDICT_UNTESTED, and so are both when the reference has none.
 */
int swap_graph_judge(struct swap_graph *graph, size_t node, bool gradients, struct verdict verdicts[2]);

#endif
