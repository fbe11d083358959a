/*
 * Records the values that the engine really had. The model is run with every value exposed, and its values
 * are returned in groups of bounded size, each with the inputs that its nodes had in the same run.
 */
#ifndef LOCATE_RECORD_VALUES_H
#define LOCATE_RECORD_VALUES_H

#include "engine/handover.h"
#include "locate/memory_groups.h"
#include "locate/whole_answer.h"

struct recording {
    struct under_test *test;
    /* The plain answer, with which exposed values that are outputs too are compared. */
    struct whole_answer *whole;
    struct held_values values;
    struct result held;      /* the values of the present group */
    struct handover exposed; /* the model with every value exposed */
    bool has_exposed;
    size_t group_bytes; /* bytes of values held at once; 128 MiB unless set */
    bool changed; /* an answer with values exposed differs in some bit from the plain one, or a value was not
                     confirmed */
    bool limits;  /* a node that was judged has results that their type cannot hold (type_limits.h) */
    size_t groups, largest, wanted; /* number of groups; bytes of the largest group and of all values */
};

/* test and whole must outlive the recording. */
void recording_init(struct recording *record, struct under_test *test, struct whole_answer *whole);
void recording_release(struct recording *record);

/*
 * Calls `visit` for each group. During the call record->values has the inputs and outputs of all nodes of the
 * group, from one run of the engine. visit returns 0 to go on, 1 to stop, -1 on failure. *outcome is not
 * OUTCOME_OK when the engine does not show its values; it then says how the engine ended.
 */
typedef int (*recording_visit)(void *context, struct recording *record, const struct memory_group *group);
int recording_run(struct recording *record, recording_visit visit, void *context, enum outcome *outcome);

/* Makes sure that the named values are known, all from one run. */
int recording_fetch(struct recording *record, const char *const *names, size_t count);

/* Opens record->exposed unless it is open. */
int recording_expose(struct recording *record);

/* Opens it anew with only these values exposed, by their numbers; forgets what was recorded. What is fetched
 * after recording_close comes from a run with all values exposed again. */
int recording_expose_some(struct recording *record, const bool *exposed);
void recording_close(struct recording *record);

/* One run of record->exposed, of which these values are handed over; all others are forgotten. *outcome says
 * how the engine ended. */
int recording_hold(struct recording *record, const char *const *names, size_t count, enum outcome *outcome);

/* Declares the types and ranks of exposed outputs, because some engines load no model whose outputs have
 * none. The dimensions are left open; the engine computes them. */
void recording_types(const struct held_values *values, struct model *exposed);

#endif
