/*
 * Experiments with nodes that compute on constants alone (campaign/experiments.h). Constants are weights, the
 * results of Constant, and all that is computed of constants and of shapes.
 *
 * The functions return a new case, which the caller frees; NULL when there is nothing to change, or when the
 * reference cannot compute the case then.
 */
#ifndef CAMPAIGN_CONSTANT_NODES_H
#define CAMPAIGN_CONSTANT_NODES_H

#include "case/test_case.h"
#include "model/index.h"

/* Declares the outputs of a case as the reference computes them, and returns the case; frees it when that
 * cannot be computed. */
struct test_case *constant_nodes_declared(struct test_case *test);

/* For each node of the model, whether it computes on constants alone. The caller frees the result. */
bool *constant_nodes_find(const struct model_index *index);

/* Whether the model computes constants alone. */
bool constant_nodes_alone(const struct test_case *test);

/* Every output becomes its sum with an input of zeros, so that the model does not compute constants alone.
 * NULL, too, when one has no elements: that may be what matters. */
struct test_case *constant_nodes_with_variables(const struct test_case *test);

/* Whether the node was added by constant_nodes_with_variables. */
bool constant_nodes_is_added(const Onnx__NodeProto *node);

/* What nodes compute of constants alone is given as constants in their place, to nodes of one operator, or to
 * all (NULL). *taker: the first operator that takes such a constant, a text of the case. NULL, too, when it
 * is to be given to all and an output is such a constant, or its sum with a variable. */
struct test_case *constant_nodes_folded(const struct test_case *test, const char *operator_name,
                                        const char **taker);

/* The constants of float32 of a model without inputs become inputs. */
struct test_case *constant_nodes_opened(const struct test_case *test);

/* The first operand of a node, all of whose inputs are constants, becomes an input of the model; with `cast`
 * one of float32, which is cast to the type of the operand. NULL, too, when some input of the node is no
 * constant, or its first operand has no elements: that may be what matters; or the node was added by
 * constant_nodes_with_variables: without those in front of it, nothing of the case is left. */
struct test_case *constant_nodes_fed(const struct test_case *test, size_t node, bool cast);

#endif
