/*
 * Single nodes of a case, for experiments (campaign/experiments.h): a node by itself on the inputs that it
 * should have, and the case without it, with what it should give in its place. All values are the
 * reference's.
 */
#ifndef CAMPAIGN_NODE_ALONE_H
#define CAMPAIGN_NODE_ALONE_H

#include "case/test_case.h"

/* A case with the values of all its nodes. */
struct node_values;

/* NULL when the reference cannot compute them all, or some are no tensors. The case must outlive it. */
struct node_values *node_values_new(const struct test_case *test);
void node_values_free(struct node_values *values);

/* The case that they are of. */
const struct test_case *node_values_case(const struct node_values *values);

/* The value that a node makes, by its name; NULL when none does. */
const struct tensor *node_values_find(const struct node_values *values, const char *name);

/* The place of a node in an order in which every node comes after those that it depends on. */
size_t node_values_at(const struct node_values *values, size_t place);

/* Whether the node computes on constants alone. */
bool node_values_constant(const struct node_values *values, size_t node);

/* The model of one node. What depends on constants alone is a constant of it; a node that has nothing else
 * gives its sum with a variable of zeros (constant_nodes_with_variables), as a model of constants alone may
 * be refused for that. filled: with elements where operands have none. The caller frees it; NULL when it
 * cannot be made, or there is nothing to fill. */
struct test_case *node_alone(const struct node_values *values, size_t node, bool filled);

/* The case with the node's results as inputs, or as constants. The caller frees it; NULL when it cannot be
 * made, and with *nothing set when nothing is left to compute. */
struct test_case *node_replaced(const struct node_values *values, size_t node, bool constant, bool *nothing);

#endif
