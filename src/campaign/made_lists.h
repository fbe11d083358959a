/*
 * A small case in which lists, tensors of one dimension that nodes make, are written as matrices, for
 * experiments (campaign/experiments.h): a Reshape behind the node makes a row or a column of its list, and
 * the nodes behind take that. A Reshape to the list that it was is the control: it changes nothing but that
 * there is a node more.
 */
#ifndef CAMPAIGN_MADE_LISTS_H
#define CAMPAIGN_MADE_LISTS_H

#include "campaign/node_alone.h"

enum made_form { MADE_ROWS, MADE_COLUMNS, MADE_LISTS };

/* All nodes of the case, not one of them; and lists among inputs and constants with them. */
#define MADE_BY_ALL ((size_t)-1)
#define MADE_OR_GIVEN ((size_t)-2)

/*
 * The case with what the node makes in that form; it gives the same elements as before. The caller frees it;
 * NULL when the node makes no list that another takes as data, when it computes on constants alone, and when
 * the case means something else then, or nothing.
 */
struct test_case *made_lists_as(const struct node_values *values, size_t node, enum made_form form);

#endif
