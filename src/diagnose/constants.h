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
 * NULL, too, when one has no elements: that may be what matters. */
struct test_case *constants_with_variables(const struct test_case *test);

/* Whether the node was added by constants_with_variables. */
bool constants_is_added(const Onnx__NodeProto *node);

/* What nodes compute of constants alone is given as constants in their place, to nodes of one operator, or to
 * all (NULL). *taker: the first operator that takes such a constant, a text of the case. NULL, too, when it
 * is to be given to all and an output is such a constant, or its sum with a variable. */
struct test_case *constants_folded(const struct test_case *test, const char *operator_name,
                                   const char **taker);

/* The constants of float32 of a model without inputs become inputs. */
struct test_case *constants_opened(const struct test_case *test);

/* The first operand of a node, all of whose inputs are constants, becomes an input of the model; with `cast`
 * one of float32, which is cast to the type of the operand. NULL, too, when some input of the node is no
 * constant, or its first operand has no elements: that may be what matters; or the node was added by
 * constants_with_variables: without those in front of it, nothing of the case is left. */
struct test_case *constants_fed(const struct test_case *test, size_t node, bool cast);

/* The case in an equivalent form by a rule (rules/) about one value, as if it had never been another; NULL
 * when the rule does not apply. */
struct test_case *constants_rewritten(struct test_case *test, const char *rule, const char *value);

/*
 * The case for further experiments, a share that the caller gives up; NULL when none is needed, as it is all
 * there is to say that the model computes constants alone. *fed: without an answer, a node that computes on
 * constants alone is what fails: fed a variable, it gives another one. A model whose failure is that of any
 * constant is not looked into.
 */
struct test_case *constants_base(const struct experiment *how, bool *fed);

/* Whether an input in the place of a constant cures, whose type is evidence->constant then; or the same case
 * in another element type. */
bool constants_as_inputs(const struct experiment *how);
bool constants_other_type(const struct experiment *how);

/* Whether the engine reads a constant of integers wrong whatever takes it: the case is right with the
 * constant cast from one of float32. Its type is evidence->constant then. An input in its place tells that,
 * too, but some operators take constants alone there. Constants of 64 bits are left out: they are shapes,
 * axes and indices mostly, which engines want as they are. */
bool constants_misread(const struct experiment *how);

/* Whether the second input of a single node must be a constant, where its data is none: weights, say. Other
 * constants among its inputs, its data say, may hide that: a form in which nothing but the data is given. */
bool constants_wanted(const struct experiment *how);

/* Whether the failure is gone when constants that the engine has to compute are given to the nodes that take
 * them, the first of which is evidence->computed then. */
bool constants_computed(const struct experiment *how);

#endif
