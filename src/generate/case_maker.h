/* A model that grows node by node: what the generators of one-operator cases, graphs and plans share. */
#ifndef GENERATE_CASE_MAKER_H
#define GENERATE_CASE_MAKER_H

#include "generate/operator_case.h"
#include "guide/coverage_record.h"

struct maker_value {
    const char *name;
    struct bounded value; /* type and shape; numbers where they are known */
    bool constant;        /* an initialiser: not offered to other nodes */
    bool made;            /* by a node */
    size_t uses;
    double low, high; /* estimated range of its numbers; only for plans */
};

struct maker {
    struct model *model;
    int opset;
    struct rng rng;
    struct maker_value *values;
    size_t n_values, capacity;
    struct value *inputs; /* of the graph */
    size_t n_inputs, inputs_capacity;
    size_t names;                   /* number of names given so far */
    size_t *by_number;              /* index of a value by the number in its name */
    size_t numbers;                 /* capacity of by_number */
    struct coverage_record *record; /* maker_finish fills it; NULL: not wanted */
    bool sparing;                   /* keep only numbers that shapes may depend on, as plans do */
};

void maker_init(struct maker *m, int opset, struct rng rng);
void maker_release(struct maker *m);

/* How much of the inputs' data is used to infer the outputs of a node. */
enum maker_knowledge {
    KNOW_SMALL, /* lists of integers, and scalars: enough for shapes, and cheap */
    KNOW_ALL    /* everything: the results are computed as well */
};

/*
 * Infers types, shapes and, with KNOW_ALL, numbers of the drawn node's outputs, and names its inputs and
 * outputs in d->node. Fails when the node is not valid. `outputs` has d->n_outputs items, which the caller
 * releases.
 */
int maker_try(struct maker *m, struct draw *d, enum maker_knowledge knowledge, struct bounded *outputs,
              struct error *err);

/* Adds the node that was tried last to the model; takes over the numbers of the outputs. */
void maker_keep(struct maker *m, struct draw *d, struct bounded *outputs);

/* Adds an empty value; pointers to other values become invalid. Names are a letter and a number that is used
 * once: "v12". */
struct maker_value *maker_add(struct maker *m, const char *name);

/* The value so named; NULL when there is none. */
struct maker_value *maker_find(const struct maker *m, const char *name);

/* The state of a maker, and the way back to it: everything added since is removed. */
struct maker_mark {
    size_t values, inputs, names, nodes, graph_inputs, initializers;
};
struct maker_mark maker_mark(const struct maker *m);
void maker_rollback(struct maker *m, const struct maker_mark *mark);

/* The finished case, which takes over model and inputs; its recipe is not set yet. With `shapeless`, the
 * outputs have no shapes; with `show`, what the last operators hide is an output (generate_options). */
struct test_case *maker_finish(struct maker *m, bool shapeless, bool show);

/* Makes the finished case number `index` ask for gradients when the options say so; frees it when that
 * fails. */
int maker_ask(struct test_case **test, uint64_t seed, uint64_t index, const struct generate_options *options,
              struct error *err);

/* Whether the options allow the operator at some opset. */
bool options_allow(const struct generate_options *options, const struct op *op);

/* Types of the first input that an operator takes in a graph: the usual ones, and narrow ones that are asked
 * for. */
dtype_set options_types(const struct generate_options *options, const struct op *op, int opset);

/* Fails unless cases can be drawn with the options: their operators and their opset exist. */
int options_check(const struct generate_options *options, struct error *err);

/* Draws an opset that the options allow, at least `since`; and a type of the set, float32 most often. */
int draw_opset(struct rng *rng, const struct generate_options *options, int since);
enum dtype draw_primary_type(struct rng *rng, dtype_set set);

#endif
