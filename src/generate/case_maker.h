/* A model that grows node by node: what generators share. */
#ifndef GENERATE_CASE_MAKER_H
#define GENERATE_CASE_MAKER_H

#include "generate/operator_case.h"
#include "guide/coverage_trace.h"

struct maker_value {
    const char *name;
    struct bounded value; /* type and shape; numbers where they are known */
    bool constant;        /* an initialiser: not offered to other nodes */
    bool made;            /* by a node */
    size_t uses;
    double low, high; /* where its numbers are, as plans estimate it */
};

struct maker {
    struct model *model;
    int opset;
    struct rng rng;
    struct maker_value *values;
    size_t n_values, capacity;
    struct value *inputs; /* of the graph */
    size_t n_inputs, inputs_capacity;
    size_t names;        /* given out so far */
    size_t *by_number;   /* of its name: the value's place */
    size_t numbers;      /* room there */
    struct trace *trace; /* maker_finish fills it; NULL: not wanted */
    bool sparing;        /* keep only such numbers as shapes may depend on: plans compute nothing else */
};

void maker_init(struct maker *m, int opset, struct rng rng);
void maker_release(struct maker *m);

/* How much of the inputs' data a node's shapes are computed from. */
enum maker_knowledge {
    KNOW_SMALL, /* lists of integers and scalars: enough for shapes, and cheap */
    KNOW_ALL    /* everything: results are computed, too */
};

/*
 * Types, shapes (and numbers) of the drawn node's outputs; names for its inputs and outputs are set in
 * d->node. Fails when the node does not fit. `outputs` has d->n_outputs items, which the caller releases.
 */
int maker_try(struct maker *m, struct draw *d, enum maker_knowledge knowledge, struct bounded *outputs,
              struct error *err);

/* Puts the node that was tried last into the model; takes over the outputs' numbers. */
void maker_keep(struct maker *m, struct draw *d, struct bounded *outputs);

/* A new value, otherwise empty; values move when one is added. Names are a letter and a number, each number
 * given once: "v12". */
struct maker_value *maker_add(struct maker *m, const char *name);

/* The value so named; NULL when there is none. */
struct maker_value *maker_find(const struct maker *m, const char *name);

/* Where a maker stands, and back there: what was kept since is gone. */
struct maker_mark {
    size_t values, inputs, names, nodes, graph_inputs, initializers;
};
struct maker_mark maker_mark(const struct maker *m);
void maker_rollback(struct maker *m, const struct maker_mark *mark);

/* The finished case, which takes model and inputs over; its recipe is still to be set. Shapes of outputs are
 * left out when `shapeless`. */
struct test_case *maker_finish(struct maker *m, bool shapeless);

/* An operator allowed by the options at some opset; NULL when there is none. `graph`: one that extends a
 * graph. */
bool options_allow(const struct generate_options *options, const struct op *op);

/* Fails unless something can be drawn by them: operators that there are, an opset that there is. */
int options_check(const struct generate_options *options, struct error *err);

int draw_opset(struct rng *rng, const struct generate_options *options, int since);
enum dtype draw_primary_type(struct rng *rng, dtype_set set);

#endif
