/*
 * The values of the second engine, group by group beside those of the engine under test, for the rate.
 *
 * A real engine runs the whole model for each group. The reference computes the same values however the model
 * is cut, so it runs each group alone on its own values from the groups before: one run in all.
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
    bool pieces;         /* run group by group: the second engine is the reference */
    struct result held;  /* the values of the present group */
    struct tensor *kept; /* for each value of the index: computed in an earlier group and needed later; else
                            data is NULL */
    const struct tensor **known; /* for each value of the index: its tensor when it is known, else NULL */
    struct model *part;
    struct handover handover; /* of `part` */
    struct value *inputs;     /* views */
};

void second_engine_init(struct second_engine *second, struct recording *record, int engine, bool pieces);
void second_engine_release(struct second_engine *second);

/* second_engine_start asks for the group's values, second_engine_finish waits for them and puts them into
 * `known`, which stays empty when the engine does not answer. */
int second_engine_start(struct second_engine *second, const struct memory_group *group);
int second_engine_finish(struct second_engine *second, const struct memory_group *group);

/* To be called at the end of a group: keeps the values that later groups need. */
void second_engine_next(struct second_engine *second, const struct memory_group *group);

#endif
