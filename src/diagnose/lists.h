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

/* Every list among the inputs becomes a matrix of one row; and with them the constants, where all operands
 * are lists, so that they mean the same; and all lists among inputs and constants, in any case. */
struct test_case *lists_given_as_rows(const struct test_case *test);
struct test_case *lists_all_as_rows(const struct test_case *test);
struct test_case *lists_as_rows(const struct test_case *test);

/* Which lists are changed: those among inputs, constants with them, and indices with both, which are a
 * parameter. */
enum list_choice { LISTS_INPUTS, LISTS_CONSTANTS, LISTS_INDICES };

/* The same with one column. *computed: the reference can compute the case; else it is made all the same, and
 * its outputs stay declared as they were. */
struct test_case *lists_as_columns(const struct test_case *test, enum list_choice which, bool *computed);

/* Every tensor that is no scalar gets a dimension of 1 more, the first or the last, so that lists are none
 * any more and all else is brought together as before; indices: these, too. It gives the same elements; NULL
 * when it does not, or there is no list. */
struct test_case *lists_deeper(const struct test_case *test, bool first, bool indices);

enum made_form { MADE_ROWS, MADE_COLUMNS, MADE_LISTS };

/* All nodes of the case, not one of them; and lists among inputs and constants with them. */
#define MADE_BY_ALL ((size_t)-1)
#define MADE_OR_GIVEN ((size_t)-2)

/*
 * The case with the lists that the node makes in that form: a Reshape behind the node makes a row or a column
 * of its list, and the nodes behind take that. A Reshape to the list that it was is the control: it changes
 * nothing but that there is a node more. It gives the same elements as before; NULL when the node makes no
 * list that another takes as data, when it computes on constants alone, and when the case means something
 * else then, or nothing.
 */
struct test_case *lists_made_as(const struct node_values *values, size_t node, enum made_form form);

/*
 * Whether the engine takes lists for matrices of one column. It then computes what is right for columns,
 * which for lists is another result, or none. That is proved when columns in the place of the lists get the
 * same answer and it is right for them; when they cannot be computed, and the engine refuses them as it does
 * lists (in a model of one node, in whatever words), but rows not in that way; and when it refuses lists, and
 * of columns, with which the result has the same elements, makes what is right.
 */
bool lists_taken_for_columns(const struct experiment *how);

/* Whether rows or columns in the place of lists that nodes make are the cure. */
bool lists_made_are_cured(const struct experiment *how);

/* Whether a single node that is refused is right with a dimension more of all its data, where nothing
 * narrower cures. */
bool lists_cured_by_dimension(const struct experiment *how);

/* Whether a cure by rows is about the lists. In a model of several nodes another node's list may be what was
 * changed; what gives a scalar gives none with a row, which may be the cure: Squeeze of a list of one, or the
 * product of two vectors; and the result must be the same. */
bool lists_are_told(const struct experiment *how);

#endif
