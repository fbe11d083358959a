/*
 * Sets of nodes that may be to blame together. Nodes go by their numbers in the graph, places (`start`,
 * `end`, `position`) by the topological order of the index.
 */
#ifndef LOCATE_NODE_SETS_H
#define LOCATE_NODE_SETS_H

#include "model/index.h"

bool nodes_contain(const size_t *nodes, size_t count, size_t number);

/* Marks, by position, `end` and what it is computed from, back to position `first`; the caller frees it. */
bool *nodes_ancestors(const struct model_index *index, size_t end, size_t first);

/* Marks, by position, `start` and what is computed from it; the caller frees it. */
bool *nodes_reached(const struct model_index *index, size_t start);

/*
 * The `size` latest nodes among `end` and what it is computed from. Such a set is convex: a path between two
 * members runs only through ancestors of `end` that come later than the earliest member. False when there are
 * fewer nodes than that.
 */
bool nodes_ending_at(const struct model_index *index, size_t end, size_t size, size_t *nodes);

/* The same among the nodes of a set; `end` is the number of a node. */
bool nodes_inside(const struct model_index *index, const size_t *set, size_t count, size_t end, size_t size,
                  size_t *nodes);

/* All nodes on the ways from `start` (reached: what is computed from it) to `end`: convex too. More than
 * `room` of them are not listed. */
size_t nodes_between(const struct model_index *index, const bool *reached, size_t start, size_t end,
                     size_t *nodes, size_t room);

/* All nodes on the ways from those marked to `end`; 0 when they are too many. */
size_t nodes_from(const struct model_index *index, const bool *starts, size_t end, size_t *nodes,
                  size_t room);

/* The node at a position with all who use what it makes; 1 when these are not several. */
size_t nodes_around(const struct model_index *index, size_t position, size_t *nodes, size_t room);

/* Adds the Constant nodes that feed the set: as inputs they would no longer be constants. */
size_t nodes_with_constants(const struct model_index *index, const size_t *nodes, size_t count, size_t *all);

/* Whether node i of the set uses, or is used by, nobody else in it. */
bool nodes_at_border(const struct model_index *index, const size_t *nodes, size_t count, size_t i);

#endif
