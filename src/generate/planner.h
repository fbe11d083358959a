/* The model while blocks of a plan are placed: what the parts of the plan generator share (place.c,
 * place_subgraph.c, adapt_type.c, input_ranges.c, known_values.c). */
#ifndef GENERATE_PLANNER_H
#define GENERATE_PLANNER_H

#include "base/str.h"
#include "generate/case_maker.h"
#include "generate/plan.h"

enum {
    PLAN_ELEMENTS = 1000, /* of a value: a case should run in microseconds */
    PLAN_FEEDS = DIGRAPH_NODES,
    PLAN_OUTPUTS = 64 /* of a block */
};

struct planner {
    struct maker m;
    const struct plan *plan;
    const struct generate_options *options;
    enum fill fill;
    struct rng rng;   /* for choices that samplers do not make */
    struct str skip;  /* numbers of the planner_lacks calls that were true, for the recipe */
    size_t questions; /* calls of planner_lacks so far */
    /* The values that the edges bring to the block that is being placed. */
    size_t feeds[PLAN_FEEDS], n_feeds, used_feeds;
};

/* Whether the engine lacks the operator for this type, or did so when the recipe was made. */
bool planner_lacks(struct planner *g, const struct op *op, enum dtype type);

/* Values are referred to by their number in g->m.values, because the array moves when it grows. */
static inline struct maker_value *planner_value(struct planner *g, size_t number)
{
    return &g->m.values[number];
}

/* Adds an integer list as a constant and returns its name. */
const char *planner_ints(struct planner *g, const int64_t *values, size_t count);

/* Adds a copy of a tensor as an initialiser or as a graph input; returns its number. */
size_t planner_tensor(struct planner *g, const struct tensor *data, bool constant);

/* Adds a constant of rank 0 and returns its name. */
const char *planner_scalar(struct planner *g, enum dtype type, double value);

/*
 * Computes a value's numbers, for operators whose shapes depend on them (NonZero). False when that is not
 * possible, or when rounding decides which elements are 0.
 */
bool planner_know(struct planner *g, size_t value);

/*
 * Adds a node with one output of known type, shape and range; inputs are given by name. *out is the number of
 * the output. The caller may set attributes on the returned node.
 */
Onnx__NodeProto *planner_node(struct planner *g, const char *op_type, size_t inputs, const char *const *input,
                              enum dtype type, const struct shape *shape, double low, double high,
                              size_t *out);

/*
 * Adds a node whose outputs were inferred, and takes them over. The number of output i goes to
 * numbers[places[i]]; a place of (size_t)-1 is an output that is left out.
 */
void planner_keep(struct planner *g, const Onnx__NodeProto *node, const struct op *op,
                  const char *const *inputs, struct bounded *outputs, const size_t *places, size_t *numbers);

/*
 * Adapters add nodes that give a value another type, another shape (by Reshape, Slice and Pad), another rank,
 * or numbers within [low, high]. Each is false when there is no way; nodes that it added until then do no
 * harm, as unused values become outputs.
 */
bool adapt_type(struct planner *g, size_t value, enum dtype type, size_t *out);
bool adapt_shape(struct planner *g, size_t value, const struct shape *shape, size_t *out);
bool adapt_rank(struct planner *g, size_t value, int rank, size_t *out);
bool adapt_range(struct planner *g, size_t value, double low, double high, size_t *out);
bool adapt(struct planner *g, size_t value, enum dtype type, const struct shape *shape, size_t *out);

/* Joins several values into one by an aggregation (Sum, Concat ...); values that cannot be adapted are left
 * out. */
bool adapt_join(struct planner *g, const size_t *values, size_t count, size_t *out);

/* Place a block on the values of g->feeds. The numbers of its outputs go to `outputs` (room for
 * PLAN_OUTPUTS). */
int place_operator(struct planner *g, const struct op *op, struct rng shapes, struct rng params,
                   size_t *outputs, size_t *n_outputs);

struct subgraph;
int place_subgraph(struct planner *g, const struct subgraph *graph, struct rng shapes, struct rng params,
                   struct rng changes, size_t *outputs, size_t *n_outputs, struct error *err);

/*
 * Estimated ranges of numbers, which are no bounds: of new data; of an operator's output from the ranges of
 * its inputs; the range that its primary input should have; and whether a range is too large to be useful.
 */
void range_of_data(struct maker_value *value, const struct tensor *data);
void range_of_output(struct planner *g, const struct op *op, const Onnx__NodeProto *node,
                     struct maker_value *output);
bool range_wanted(const struct op *op, double *low, double *high);
bool range_wild(const struct maker_value *value);

#endif
