/*
 * How large a model's values will be before anything runs, and runs of consecutive nodes whose values fit
 * into a given memory.
 */
#ifndef LOCATE_MEMORY_GROUPS_H
#define LOCATE_MEMORY_GROUPS_H

#include "locate/held_values.h"

struct memory_group {
    size_t first, count; /* positions in index.order */
    size_t bytes;        /* estimated */
    size_t n_names;
    const char **names; /* of the values held; only while it is visited (record_values.h) */
};

/* Parts the nodes into groups whose values, used and made, take up to `limit` bytes (a single node may take
 * more). The groups are in the arena. *wanted: bytes of all values that are asked for. Fills in
 * values->folded and values->planned. */
void memory_groups_make(struct held_values *values, size_t limit, struct memory_group **groups, size_t *count,
                        size_t *wanted);

/* Bytes of all values that nodes make. Fills in the same. */
size_t memory_groups_bytes(struct held_values *values);

/* Marks, by value, what is computed from the data of the graph's inputs: an engine cannot have folded that
 * away, however small it is. Of a value that Shape and Size look at the data does not matter. The caller
 * frees it. */
bool *memory_groups_fed(const struct model_index *index);

#endif
