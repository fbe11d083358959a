/*
 * Estimates how large a model's values will be before anything runs, and splits the nodes into consecutive
 * groups whose values fit into a given amount of memory.
 */
#ifndef LOCATE_MEMORY_GROUPS_H
#define LOCATE_MEMORY_GROUPS_H

#include "locate/held_values.h"

struct memory_group {
    size_t first, count; /* positions in index.order */
    size_t bytes;        /* estimated */
    size_t n_names;
    /* Names of the values held; only set during the visit of the group (record_values.h). */
    const char **names;
};

/* Splits the nodes into groups whose inputs and outputs take up to `limit` bytes (a single node may take
 * more). The groups are in the arena. *wanted gets the bytes of all values that the engine is asked for.
 * Fills in values->folded and values->planned. */
void memory_groups_make(struct held_values *values, size_t limit, struct memory_group **groups, size_t *count,
                        size_t *wanted);

/* The bytes of all outputs of nodes. Fills in the same arrays. */
size_t memory_groups_bytes(struct held_values *values);

/* Marks, by value number, the values that are computed from the data of the graph's inputs; an engine cannot
 * replace those by constants, however small they are. Shape and Size do not read the data of their input. The
 * caller frees the array. */
bool *memory_groups_fed(const struct model_index *index);

#endif
