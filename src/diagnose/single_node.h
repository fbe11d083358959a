/*
 * Single nodes of a case, for experiments (diagnose/table.h): a node by itself on the inputs that it should
 * have, and the case without it, with what it should give in its place. All values are the reference's.
 */
#ifndef DIAGNOSE_SINGLE_NODE_H
#define DIAGNOSE_SINGLE_NODE_H

#include "diagnose/experiment.h"

/* A case with the values of all its nodes. */
struct node_values;

/* NULL when the reference cannot compute all values, or some are no tensors. The case must outlive the
 * result. */
struct node_values *node_values_new(const struct test_case *test);
void node_values_free(struct node_values *values);

/* The case that the values belong to. */
const struct test_case *node_values_case(const struct node_values *values);

/* The value that a node makes, by its name; NULL when none does. */
const struct tensor *node_values_find(const struct node_values *values, const char *name);

/* The place of a node in an order in which every node comes after those that it depends on. */
size_t node_values_at(const struct node_values *values, size_t place);

/* Whether the node computes on constants alone. */
bool node_values_constant(const struct node_values *values, size_t node);

/* The model of one node. Inputs that depend on constants alone are constants of it. If all do, its result is
 * added to a variable of zeros (constants_with_variables), because an engine may refuse a model just for
 * having only constants. filled: operands without elements get some. The caller frees it; NULL when it cannot
 * be made, or there is nothing to fill. */
struct test_case *node_alone(const struct node_values *values, size_t node, bool filled);

/* The case with inputs, or constants, in place of the node's results. The caller frees it; NULL when it
 * cannot be made, and then *nothing tells whether nothing is left to compute. */
struct test_case *node_replaced(const struct node_values *values, size_t node, bool constant, bool *nothing);

/*
 * The node of a model that is at fault by itself. An engine often computes one node wrong and only notices
 * behind it, where a shape does not fit, say. Such a finding is that of the node, whatever stands around it.
 *
 * A node is at fault when it fails as a model of its own, on the inputs that it should have, and the rest of
 * the model does not fail with what the node should give: the first such node, producers first, is taken.
 *
 * Looks for it in a case of several nodes that the engine fails on (how->done), and gives the trial of the
 * node alone, which the caller releases. False when there is none, or not in time.
 */
bool node_at_fault(const struct experiment *how, struct trial_done *alone);

#endif
