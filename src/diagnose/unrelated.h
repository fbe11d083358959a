/*
 * Whether an engine fails on a class of inputs whatever the operator. A finding that needs inputs of such a
 * class is then no bug of its operator (diagnose/table.h).
 *
 * Small models of one operator each are run twice, with an input of the class and with a like one that is not
 * of it. The operators have nothing in common but that they work along the last axis; those that are asked
 * for NaN keep it by their formulas, so that none can lose it alone. The class is at fault when three of them
 * answer the second right and the first not.
 */
#ifndef DIAGNOSE_UNRELATED_H
#define DIAGNOSE_UNRELATED_H

#include "diagnose/experiment.h"
#include "ops/op.h"

enum unrelated_class {
    UNRELATED_CONSTANTS, /* an operator on constants alone; else on a variable */
    UNRELATED_LISTS,     /* tensors of one dimension; else the same as a matrix of one row */
    UNRELATED_NAN,       /* a tensor with NaN; else without */
    UNRELATED_CLASSES
};

enum { UNRELATED_ENOUGH = 3 };

/* The model of an operator with an input of the class or not. The caller frees it; NULL when the operator is
 * not asked for the class (OP_SPECIMEN). */
struct test_case *unrelated_case(enum unrelated_class class, const struct op *op, bool of_class);

/* A model that gives one constant as it is. The caller frees it. */
struct test_case *unrelated_constant(void);

/* Whether the engine fails on lists, or on nodes on constants alone, whatever the operator. Asked only where
 * a cure of the finding is about lists, or where feeding such a node cures it. */
bool unrelated_fail_on_lists(const struct experiment *how);
bool unrelated_fail_on_constants(const struct experiment *how);

/* The same for NaN; asked only where finite numbers cure. */
bool unrelated_fail_on_nan(const struct experiment *how);

#endif
