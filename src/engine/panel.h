/*
 * A panel: the engines of one command, and the reference that arbitrates between them.
 *
 * A command opens one panel and passes it to everything it calls. Engines are identified by their place in
 * the panel (0 ... count - 1, as on the command line), and by their number in the pool only in calls of the
 * pool. There may be any number of engines. The limits (deadline, memory, workers) are those of the pool.
 *
 * The struct is plain data. A copy may be filled in by hand to use only some of the engines, in another
 * order, or only the fresh workers. Only the panel that panel_open filled in is closed.
 */
#ifndef ENGINE_PANEL_H
#define ENGINE_PANEL_H

#include "engine/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct panel {
    struct pool *pool; /* workers shared by all cases */
    /* The same engines under the same numbers, with a new worker for every case, so that no case sees what
     * another left in memory. NULL unless panel_add_fresh was called. */
    struct pool *fresh;
    size_t count;
    int *engines;  /* their numbers in both pools */
    int reference; /* the reference's number in both pools; -1: there is no reference */
    /* The engine that is asked when an answer is to be called wrong (trial/second_opinion.h): its number in
     * the shared pool plus 1; 0: none is. */
    int second_opinion;
};

/* Finds the engines in the registry, which must outlive the panel. Nothing is started, and there is no
 * reference yet. Close the panel with panel_close, also after a failure. */
int panel_open(struct panel *panel, struct registry *registry, const struct given_labels *labels,
               const struct pool_options *limits, struct error *err);
void panel_close(struct panel *panel);

/* Finds one more engine and returns its place in the panel, or -1 when it is not found. An engine that is
 * already in the panel is added a second time, as an engine of its own. */
long panel_add(struct panel *panel, struct registry *registry, const struct given_label *label,
               struct error *err);

/* Adds the reference engine, without any planted fault, as the one that arbitrates. */
int panel_add_reference(struct panel *panel, struct registry *registry, struct error *err);

/* Adds the engine that gives second opinions. */
int panel_add_second_opinion(struct panel *panel, struct registry *registry, struct error *err);

/* Opens a panel of the reference and of every engine of the registry of which the other panel has no release,
 * each by its plain name. Engines whose section declares no knobs are left out: they are examples, or the
 * user's own. Close it also after a failure. */
int panel_open_others(struct panel *others, struct registry *registry, const struct panel *panel,
                      struct error *err);

/* Makes fresh workers available (pool_fresh), which start when they are needed. */
void panel_add_fresh(struct panel *panel);

/* The pool for a case that must not depend on the cases before it: the fresh workers where there are any,
 * else the shared ones. */
struct pool *panel_fresh(const struct panel *panel);

/* pool_mishaps of both pools. */
size_t panel_mishaps(const struct panel *panel);

const struct engine_info *panel_engine(const struct panel *panel, size_t place);

/* The place of the engine with this label; -1 when there is none. */
long panel_find(const struct panel *panel, const char *label);

#ifdef __cplusplus
}
#endif
#endif
