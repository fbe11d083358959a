/*
 * The engines of a panel as a rewritten case wants them: with further knobs, in new processes.
 *
 * Engines in other settings are found in the registry and added to the panel's pool when they are first
 * needed. An engine is not asked when it does not know a knob, or does not list the value: a worker that got
 * it all the same would not start, and that would be held against the engine. Nor is it asked for a setting
 * that only the user may choose (engine/given_label.h), as the case may come from anywhere.
 */
#ifndef TRIAL_VARIANTS_H
#define TRIAL_VARIANTS_H

#include "engine/panel.h"

/* One such setting of all engines. */
struct variant {
    char *knobs; /* "opt=none,threads=4"; "": none */
    bool fresh;
    struct pool *pool; /* where it runs */
    int *engines;      /* numbers in that pool, one for each engine of the panel; -1: it is not asked */
    char **why;        /* why it is not asked; NULL where it is */
    bool resting;      /* its workers were ended, as others were needed meanwhile */
    uint64_t used;     /* when it was last asked for */
    struct variant *next;
};

struct variants;

/* `panel` is where cases run that want nothing special. Without a registry no engine gets other knobs. */
struct variants *variants_new(const struct panel *panel, struct registry *registry);
void variants_free(struct variants *variants);

/* The variant lives as long as the variants. A worker stays for each of its engines, so the workers of the
 * variant that was not needed for longest are ended when there are more than VARIANTS_AWAKE. */
enum { VARIANTS_AWAKE = 8 };
const struct variant *variants_find(struct variants *variants, const char *knobs, bool fresh);

/* Whether fewer than VARIANTS_AWAKE variants have cases under way. */
bool variants_room(const struct variants *variants);

#endif
