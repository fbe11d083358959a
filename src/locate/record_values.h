/*
 * What the engine really had: the model is run with every value exposed, and its values are handed over in
 * groups of bounded size, each group with the inputs its nodes had in that same run.
 */
#ifndef LOCATE_RECORD_VALUES_H
#define LOCATE_RECORD_VALUES_H

#include "engine/handover.h"
#include "locate/memory_groups.h"
#include "locate/whole_answer.h"

struct recording {
    struct under_test *test;
    struct whole_answer *whole; /* what values that are outputs as well are compared with */
    struct held_values values;
    struct result held;      /* the group of values at hand */
    struct handover exposed; /* the model with every value exposed */
    bool has_exposed;
    size_t group_bytes; /* of values held at once; 32 MiB unless set */
    bool changed; /* an answer with values exposed is not, bit by bit, the plain one (or not confirmed) */
    size_t groups, largest, wanted; /* in which the values came; bytes of the largest and of all */
};

/* test and whole must outlive it. */
void recording_init(struct recording *record, struct under_test *test, struct whole_answer *whole);
void recording_release(struct recording *record);

/*
 * Calls `visit` for each group. Meanwhile record->values has everything that the nodes of the group used and
 * made, all from one run of the engine. visit returns 0 to go on, 1 to stop, -1 on failure. *outcome: how the
 * engine ended when it does not show its values.
 */
typedef int (*recording_visit)(void *context, struct recording *record, const struct memory_group *group);
int recording_run(struct recording *record, recording_visit visit, void *context, enum outcome *outcome);

/* Makes sure that the given values are at hand, all from one run. */
int recording_fetch(struct recording *record, const char *const *names, size_t count);

/* Opens record->exposed, unless it is. */
int recording_expose(struct recording *record);

/* Some engines load no model whose outputs have no type and rank: gives the exposed ones theirs. The dims are
 * left open: they are the engine's to find. */
void recording_types(const struct held_values *values, struct model *exposed);

#endif
