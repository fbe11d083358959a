/*
 * A panel: the engines of one job, and who arbitrates between them.
 *
 * A command opens one panel and everything it starts passes it on: engines are known by their place in it (0
 * ... count - 1, as on the command line), by their number in the pool only where a pool is asked. There may
 * be any number of engines. The limits (deadline, memory, workers) are those of the pool.
 *
 * The struct is plain data and may be copied or filled in by hand to look at some of the engines, in another
 * order, or at the fresh workers alone; only the panel that panel_open filled in is closed.
 */
#ifndef ENGINE_PANEL_H
#define ENGINE_PANEL_H

#include "engine/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct panel {
    struct pool *pool; /* workers shared by all cases */
    /* The same engines under the same numbers, a worker for every case, so that none sees what another left
     * in memory; NULL when none were asked for (panel_add_fresh). */
    struct pool *fresh;
    size_t count;
    int *engines;  /* their numbers in both pools */
    int reference; /* the arbiter's number in both pools; -1: there is none */
};

/* Finds the engines in the registry, which must outlive the panel. Nothing is started, and there is no
 * arbiter yet. Closed by panel_close, also after a failure. */
int panel_open(struct panel *panel, struct registry *registry, const char *const *labels, size_t count,
               const struct pool_options *limits, struct error *err);
void panel_close(struct panel *panel);

/* Finds one more engine and gives its place in the panel, or -1 when it is not found. One that is there
 * already is added again, as an engine of its own. */
long panel_add(struct panel *panel, struct registry *registry, const char *label, struct error *err);

/* Finds the healthy reference engine, which becomes the arbiter. */
int panel_add_reference(struct panel *panel, struct registry *registry, struct error *err);

/* Makes the fresh workers available. They have the limits of the others and start when they are needed. */
void panel_add_fresh(struct panel *panel);

/* Where a case should run that must not depend on the cases before it: fresh workers, where there are some.
 */
struct pool *panel_fresh(const struct panel *panel);

const struct engine_info *panel_engine(const struct panel *panel, size_t place);

/* The place of the engine with this label; -1: there is none. */
long panel_find(const struct panel *panel, const char *label);

#ifdef __cplusplus
}
#endif
#endif
