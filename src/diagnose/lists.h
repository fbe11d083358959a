/*
 * Experiments with lists, tensors of one dimension (diagnose/table.h). Some engines keep a list as a matrix
 * of one column, or bring it together with others as if it were one.
 *
 * What is a parameter of a node, such as axes, stays as it is. The functions that return a case return a new
 * one, which the caller frees; NULL when there is nothing to change, or the reference cannot compute it.
 */
#ifndef DIAGNOSE_LISTS_H
#define DIAGNOSE_LISTS_H

#include "diagnose/experiment.h"
#include "diagnose/single_node.h"

/* Whether a node takes the value as a parameter, such as axes, and not as data. */
bool lists_is_parameter(const struct model *model, const char *name);

/* Lists become matrices of one row: those among the inputs; those among inputs and constants, where all
 * operands are lists, so that the case means the same; all among inputs and constants in any case. */
struct test_case *lists_given_as_rows(const struct test_case *test);
struct test_case *lists_all_as_rows(const struct test_case *test);
struct test_case *lists_as_rows(const struct test_case *test);

/* Which lists are changed: those among the inputs; constants as well; indices, which are a parameter, as
 * well. */
enum list_choice { LISTS_INPUTS, LISTS_CONSTANTS, LISTS_INDICES };

/* The same with matrices of one column. The case is made even if the reference cannot compute it: then
 * *computed is false, and its outputs stay declared as they were. */
struct test_case *lists_as_columns(const struct test_case *test, enum list_choice which, bool *computed);

/* Every tensor but scalars gets one more dimension of size 1, as the first or the last, so that no lists are
 * left and everything broadcasts as before; with `indices` these as well. NULL as well when the case then
 * gives other elements, or has no list. */
struct test_case *lists_deeper(const struct test_case *test, bool first, bool indices);

enum made_form { MADE_ROWS, MADE_COLUMNS, MADE_LISTS };

/* In place of a node: all nodes of the case; and these, with the lists among inputs and constants. */
#define MADE_BY_ALL ((size_t)-1)
#define MADE_OR_GIVEN ((size_t)-2)

/* The case with the lists that the node makes in another form: a Reshape behind the node turns its list into
 * a row or a column, which the following nodes take. A Reshape to the same list is the control: it only adds
 * a node. NULL when the node makes no list that another node takes as data, when it computes on constants
 * alone, and when the changed case gives other elements or is not valid. */
struct test_case *lists_made_as(const struct node_values *values, size_t node, enum made_form form);

/* Whether the engine takes lists for matrices of one column. It then computes what is right for columns,
 * which for lists is another result, or none. There are three proofs. Columns in place of the lists get the
 * same answer, and for them it is right. Or columns cannot be computed, and the engine refuses them as it
 * refuses lists (in a model of one node, in whatever words), but does not refuse rows in that way. Or it
 * refuses lists, but answers columns correctly, where the result has the same elements. */
bool lists_taken_for_columns(const struct experiment *how);

/* Whether rows or columns in place of lists that nodes make are the cure. */
bool lists_made_are_cured(const struct experiment *how);

/* Whether a single node that is refused is right when all its data has one more dimension. Asked only where
 * nothing narrower cures. */
bool lists_cured_by_dimension(const struct experiment *how);

/* Whether a cure by rows shows that lists are the cause. It does not in a model of several nodes, where the
 * list of another node may have been changed; nor where a scalar result (Squeeze of a list of one, the
 * product of two vectors) is none any more with a row, which may be the cure. The result must be the same. */
bool lists_are_told(const struct experiment *how);

#endif
