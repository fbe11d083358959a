/*
 * Operators that spoil what they read: an engine that computes in place overwrites a value that others read
 * as well, or that is an output. The failure then has the operators of all these readers, whichever they are,
 * though one of them is to blame.
 */
#ifndef DIAGNOSE_SPOILED_H
#define DIAGNOSE_SPOILED_H

#include "diagnose/experiment.h"

/*
 * The case with copies, each the product with an input of ones, in the place of those operands of the node
 * that something else reads, too, or that may be views of such; node SIZE_MAX: of every node. The caller
 * frees it. NULL when there are none of a type that is multiplied, or the reference cannot compute the case.
 */
struct test_case *spoiled_copied(const struct test_case *test, size_t node);

/* Whether wrong numbers are right when one node gets such copies: evidence->spoiler becomes the operator of
 * the last such node. */
bool spoiled_operands(const struct experiment *how);

#endif
