/* A model that grows block by block over a plan: what the parts of the plan generator share. */
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
    struct rng rng;   /* choices beside those of samplers */
    struct str skip;  /* questions answered with "lacking", for the recipe */
    size_t questions; /* asked so far */
    /* What the edges bring to the block that is being placed: numbers of values. */
    size_t feeds[PLAN_FEEDS], n_feeds, used_feeds;
};

/* Whether an engine lacks the operator for this type, or the recipe says that it did. */
bool planner_lacks(struct planner *g, const struct op *op, enum dtype type);

/* Values are numbered as in g->m.values: the array moves when it grows. */
static inline struct maker_value *planner_value(struct planner *g, size_t number)
{
    return &g->m.values[number];
}

/* Adds an integer list as a constant and returns its name. */
const char *planner_ints(struct planner *g, const int64_t *values, size_t count);

/* A copy of a tensor as an initialiser, or as a graph input; its number. */
size_t planner_tensor(struct planner *g, const struct tensor *data, bool constant);

/* A constant of one element of a type, rank 0. */
const char *planner_scalar(struct planner *g, enum dtype type, double value);

/*
 * Computes a value's numbers, for operators whose shapes depend on them (NonZero). False when that cannot be
 * done, or when rounding decides which elements are 0.
 */
bool planner_know(struct planner *g, size_t value);

/*
 * Adds a node with one output of known type and shape; inputs by name. Its number is *out. `attributes` may
 * then be set on the node that is returned.
 */
Onnx__NodeProto *planner_node(struct planner *g, const char *op_type, size_t inputs, const char *const *input,
                              enum dtype type, const struct shape *shape, double low, double high,
                              size_t *out);

/*
 * Adds a node whose outputs were inferred, and takes them over. Output i becomes the value that
 * numbers[places[i]] then names; a place of (size_t)-1 is an output that is left out.
 */
void planner_keep(struct planner *g, const Onnx__NodeProto *node, const struct op *op,
                  const char *const *inputs, struct bounded *outputs, const size_t *places, size_t *numbers);

/*
 * Adapters, each false when there is no way (and then nothing was added that matters: an unused node becomes
 * an output). The value in another type; in another shape, by Reshape, Slice and Pad; with numbers within
 * [low, high].
 */
bool adapt_type(struct planner *g, size_t value, enum dtype type, size_t *out);
bool adapt_shape(struct planner *g, size_t value, const struct shape *shape, size_t *out);
bool adapt_rank(struct planner *g, size_t value, int rank, size_t *out);
bool adapt_range(struct planner *g, size_t value, double low, double high, size_t *out);
bool adapt(struct planner *g, size_t value, enum dtype type, const struct shape *shape, size_t *out);

/* Several values into one, by an aggregation; what cannot be made fit is left out. */
bool adapt_join(struct planner *g, const size_t *values, size_t count, size_t *out);

/* Places blocks on g->feeds; the numbers of its outputs go to `outputs` (room for PLAN_OUTPUTS). */
int place_operator(struct planner *g, const struct op *op, struct rng shapes, struct rng params,
                   size_t *outputs, size_t *n_outputs);

struct subgraph;
int place_subgraph(struct planner *g, const struct subgraph *graph, struct rng shapes, struct rng params,
                   struct rng changes, size_t *outputs, size_t *n_outputs, struct error *err);

/*
 * Intervals. What an operator's numbers are like, given those of its inputs: an estimate, not a bound. What
 * its primary input should be like. What is no longer moderate.
 */
void range_of_data(struct maker_value *value, const struct tensor *data);
void range_of_output(struct planner *g, const struct op *op, const Onnx__NodeProto *node,
                     struct maker_value *output);
bool range_wanted(const struct op *op, double *low, double *high);
bool range_wild(const struct maker_value *value);

#endif
