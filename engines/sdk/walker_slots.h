/*
 * What the walker's two directions share: the loaded graph, and the values of a run, one slot for each value
 * of the graph's index.
 */
#ifndef SDK_WALKER_SLOTS_H
#define SDK_WALKER_SLOTS_H

#include "graph.h"
#include "walker.h"

struct walker {
    const struct walk_library *library;
    void *engine;
    struct adapter_call *call; /* the adapter's, of which there is one */
    bool borrow;
    struct adapter_graph graph;
    int opset;
    const struct walk_row **rows; /* one for each node; NULL: done by the walker, or borrowed */
};

struct walk_slot {
    struct tensor own;
    const struct tensor *view; /* NULL: not computed yet, or dropped */
    size_t uses_left;
};

/* Slots of a new run. Values are dropped after their last use, unless somebody outside will read them; with
 * `keep` none is. */
struct walk_slot *walker_slots_new(const struct walker *walker, bool keep);
void walker_slots_free(const struct walker *walker, struct walk_slot *slots);
struct walk_slot *walker_slot(const struct walker *walker, struct walk_slot *slots, const char *name);

/* Weights become tensors when they are first used; does nothing for other values. */
int walker_weight(const struct walker *walker, struct walk_slot *slots, size_t value, struct error *err);

/* Computes every node. */
int walker_forward(const struct walker *walker, struct walk_slot *slots, const struct value *inputs,
                   size_t count, struct error *err);

/* Whether the walker computes the node itself, as its first input in another shape. */
bool walker_copies(const Onnx__NodeProto *node);

/* The adapter's callback: the nodes forward, then backward by the chain rule. */
int walker_gradient(struct adapter_call *call, const struct adapter_gradient *request,
                    struct adapter_outputs *outputs);

#endif
