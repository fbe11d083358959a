/*
 * The settings that an engine runs with: everything as its library comes, except for the knobs that the user
 * gives and for what Assay does otherwise, which the engine's registry section declares (departs.NAME,
 * profile.h).
 */
#ifndef ENGINE_SETTINGS_H
#define ENGINE_SETTINGS_H

#include "engine/pool.h"

/* One thing that is not as the library comes. */
struct setting {
    const char *name, *value;
    const struct departure *departure; /* NULL: the user gives it */
};

/* Lists them, those that the user gives first; a departure counts unless the user gives that knob. *settings
 * is in the arena, the strings are the engine's. Returns their number. */
size_t settings_of(const struct engine_info *engine, struct arena *arena, struct setting **settings);

/* The setting of the engine by which it computes in fewer bits; NULL: none, or it has not started yet. */
const struct lowering *settings_lowering(const struct engine_info *engine);

#endif
