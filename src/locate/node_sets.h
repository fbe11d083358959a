/*
 * Sets of nodes that may be to blame together. `nodes` are numbers of nodes in the graph; `start`, `end`,
 * `first` and `position` are positions in the topological order of the index.
 */
#ifndef LOCATE_NODE_SETS_H
#define LOCATE_NODE_SETS_H

#include "model/index.h"

bool nodes_contain(const size_t *nodes, size_t count, size_t number);

/* Marks, by position, the node at `end` and the nodes it is computed from, back to position `first`. The
 * caller frees the array. */
bool *nodes_ancestors(const struct model_index *index, size_t end, size_t first);

/* Marks, by position, the node at `start` and the nodes that are computed from it. The caller frees the
 * array. */
bool *nodes_reached(const struct model_index *index, size_t start);

/*
 * Lists the last `size` nodes among the one at `end` and those it is computed from. Such a set is convex: a
 * path between two members runs only through ancestors of `end` that come later than the earliest member.
 * False when there are fewer nodes than that.
 */
bool nodes_ending_at(const struct model_index *index, size_t end, size_t size, size_t *nodes);

/* The same among the nodes of a set; `end` is the number of a node. */
bool nodes_inside(const struct model_index *index, const size_t *set, size_t count, size_t end, size_t size,
                  size_t *nodes);

/* Lists all nodes on the paths from `start` to `end`, which is a convex set too; `reached` is what
 * nodes_reached gives for `start`. Returns how many there are; at most `room` of them are listed. */
size_t nodes_between(const struct model_index *index, const bool *reached, size_t start, size_t end,
                     size_t *nodes, size_t room);

/* Lists all nodes on the paths from the marked nodes to `end`. Returns how many there are, 0 when they are
 * more than `room`. */
size_t nodes_from(const struct model_index *index, const bool *starts, size_t end, size_t *nodes,
                  size_t room);

/* Lists the node at a position and all nodes that use its outputs. Returns 1 unless several nodes use them.
 */
size_t nodes_around(const struct model_index *index, size_t position, size_t *nodes, size_t room);

/* Copies the set to `all` and adds the Constant nodes that it uses; as inputs of a part they would no longer
 * be constants. Returns the size. */
size_t nodes_with_constants(const struct model_index *index, const size_t *nodes, size_t count, size_t *all);

/* Whether node i of the set uses no other node of it, or is used by none. */
bool nodes_at_border(const struct model_index *index, const size_t *nodes, size_t count, size_t i);

#endif
