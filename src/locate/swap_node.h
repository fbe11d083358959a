/*
 * One node of a swap graph (swap_graph.h) while all bindings run it: cut out as a model of its own, run by
 * each engine on all the different inputs that it has in any of the bindings, forward or backward, and judged
 * by the reference's bounds.
 */
#ifndef LOCATE_SWAP_NODE_H
#define LOCATE_SWAP_NODE_H

#include "engine/handover.h"
#include "locate/swap_graph.h"

/* The different tensors of one value, in all bindings. */
struct pile {
    size_t count, capacity;
    struct tensor *tensors;
};

/* The number of a tensor in its pile. */
enum { NONE = -1 };

/* Which tensor each value of the index has in one binding; NONE: it has none. */
struct swap_state {
    int *value, *slope;
};

/* One run of a node on one engine, for all bindings that give it the same inputs. */
struct errand {
    int *in;   /* for each part input: number in its pile */
    int *from; /* backward: for each part output, number in the pile of slopes; NONE: nothing arrives */
    int *out;  /* for each part output or, backward, each wanted name: the result's number */
};

/* One node while all bindings run it. */
struct node_run {
    struct swap_graph *graph;
    size_t number;
    struct model *part;
    struct handover handover;
    size_t n_in, n_out, n_wanted;
    size_t *in, *out, *wanted; /* numbers of values: part inputs, part outputs, gradients asked for */
    bool backward;
    size_t n_errands[2];
    struct errand *errands[2]; /* for each engine; room for one a binding */
    size_t *errand_of;         /* for each binding; SIZE_MAX: none */
    struct errand *first;      /* the inputs that the node has in the first binding */
    struct arena arena;
};

/* The tensor's number in the pile, which takes it over or already has it. */
int swap_pile_put(struct swap_graph *graph, struct pile *pile, struct tensor *tensor);
void swap_pile_clear(struct pile *pile);

/* The value's tensor of this number; NULL for NONE. */
const struct tensor *swap_tensor(const struct swap_graph *graph, size_t value, int number);

/* Cuts the node out as a model of its own. Must be closed also after a failure. */
int node_run_open(struct node_run *run, struct swap_graph *graph, size_t number,
                  const struct swap_state *states, size_t n_states);
void node_run_close(struct node_run *run);

/* Finds the values whose gradients the node must give. */
void node_run_find_wanted(struct node_run *run);

/*
 * Runs the node in all bindings: each on its engine or, where that cannot run it, on the other one. Fails
 * when neither can, unless the graph has run before: then only what other bindings give the node is to blame.
 * Afterwards node_run_errand says which errand each binding has; NULL: none, because an input is missing.
 */
int node_run_bindings(struct node_run *run, const struct swap_binding *bindings,
                      const struct swap_state *states, size_t count);
const struct errand *node_run_errand(const struct node_run *run, const struct swap_binding *binding,
                                     size_t b);

/* Judges both engines on the inputs that the node has in the first binding. */
int node_run_judge(struct node_run *run, struct verdict verdicts[2]);

#endif
