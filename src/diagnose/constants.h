/*
 * Experiments with constants and with nodes that compute on constants alone (diagnose/table.h). Constants are
 * weights, the results of Constant, and all that is computed of constants and of shapes.
 *
 * The functions return a new case, which the caller frees; NULL when there is nothing to change, or when the
 * reference cannot compute the case then.
 */
#ifndef DIAGNOSE_CONSTANTS_H
#define DIAGNOSE_CONSTANTS_H

#include "diagnose/experiment.h"
#include "model/index.h"

/* For each node of the model, whether it computes on constants alone. The caller frees the result. */
bool *constants_find(const struct model_index *index);

/* Whether the model computes constants alone. */
bool constants_alone(const struct test_case *test);

/* Every output becomes its sum with an input of zeros, so that the model does not compute constants alone.
 * NULL as well when an output has no elements, as that may be what the failure needs. */
struct test_case *constants_with_variables(const struct test_case *test);

/* Whether the node was added by constants_with_variables. */
bool constants_is_added(const Onnx__NodeProto *node);

/* What nodes compute from constants alone becomes constants in place of these nodes, for the nodes of one
 * operator or for all (NULL). *taker: the first operator that takes such a constant, a text of the case. NULL
 * as well when they are given to all nodes and an output is such a constant, or its sum with a variable. */
struct test_case *constants_folded(const struct test_case *test, const char *operator_name,
                                   const char **taker);

/* The constants of float32 of a model without inputs become inputs. */
struct test_case *constants_opened(const struct test_case *test);

/* The first operand of a node whose inputs are all constants becomes an input of the model; with `cast` an
 * input of float32, which is cast to the operand's type. NULL as well when some input of the node is no
 * constant; when the first operand has no elements, as that may be what the failure needs; and when the node
 * was added by constants_with_variables, as nothing of the case would be left. */
struct test_case *constants_fed(const struct test_case *test, size_t node, bool cast);

/* The case after one rule (rules/) was applied at one value, without a trace of the rewriting; NULL when the
 * rule does not apply. */
struct test_case *constants_rewritten(struct test_case *test, const char *rule, const char *value);

/* The case on which further experiments are made, a share that the caller gives up. NULL when no further ones
 * are needed, because the cause is that the model computes constants alone. *fed: the case gets no answer
 * because a node computes on constants alone; fed a variable, that node behaves differently. A model that
 * fails as one with any constant does is not looked into. */
struct test_case *constants_base(const struct experiment *how, bool *fed);

/* Whether an input in place of a constant cures, whose element type is then evidence->constant; or the same
 * case in another element type. */
bool constants_as_inputs(const struct experiment *how);
bool constants_other_type(const struct experiment *how);

/* Whether the engine misreads a constant of integers, whatever node takes it: the case is right when the
 * constant is cast from one of float32. Its type is then evidence->constant. An input in its place would show
 * that as well, but some operators accept only constants there. Constants of 64 bits are left out: most are
 * shapes, axes and indices, which engines need as they are. */
bool constants_misread(const struct experiment *how);

/* Whether the second input of a single node, such as weights, must be a constant while the data is not. Other
 * constants among the inputs may hide that, so it is tried with only the data as an input. */
bool constants_wanted(const struct experiment *how);

/* Whether the failure is gone when nodes are given the constants that the engine would have to compute for
 * them. The first operator that takes one is then evidence->computed. */
bool constants_computed(const struct experiment *how);

#endif
