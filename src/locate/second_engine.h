/*
 * The second engine's values beside those of the engine under test, group by group, for the rate. Internal to
 * this folder.
 *
 * An engine runs the whole model for each group. The reference, which computes the same however the model is
 * cut, runs each group alone on its own values from the groups before: one run in all.
 */
#ifndef LOCATE_SECOND_ENGINE_H
#define LOCATE_SECOND_ENGINE_H

#include "engine/runner.h"
#include "locate/record_values.h"

struct second_engine {
    struct recording *record; /* of the engine under test */
    int engine;
    struct panel panel; /* of this engine alone, for the runner */
    struct runner *runner;
    bool pieces;
    struct result held;  /* the group at hand */
    struct tensor *kept; /* for each value of the index: made before, needed later; data NULL when not */
    const struct tensor **known; /* for each value of the index: what is at hand */
    struct model *part;
    struct handover handover; /* of the part */
    struct value *inputs;     /* views */
};

void second_engine_init(struct second_engine *second, struct recording *record, int engine, bool pieces);
void second_engine_release(struct second_engine *second);

/* second_engine_start asks for the group's values, second_engine_finish waits for them. Afterwards known has
 * what came; an engine that does not answer leaves it empty. */
int second_engine_start(struct second_engine *second, const struct memory_group *group);
int second_engine_finish(struct second_engine *second, const struct memory_group *group);

/* The group is done with: keeps what later groups need. */
void second_engine_next(struct second_engine *second, const struct memory_group *group);

#endif
