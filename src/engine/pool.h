/*
 * Cases in, results out: supervised engine workers.
 *
 * The pool holds one or more workers for each engine added. A job is one case for one engine: load, run
 * (perhaps several times), unload. Jobs of an engine finish in any order relative to other engines; each gets
 * exactly one result, or one for each of its input sets. When a worker dies on one set, the sets before it
 * keep their results, that set is blamed, and those behind it are run by the successor; what ends the load
 * ends them all. A few jobs are kept ahead in each worker's pipe, so that an engine never waits for us; a job
 * that was only ahead when the worker died is given to its successor and not blamed.
 *
 * Workers start on first use (or by pool_warm, all in parallel), are restarted after a crash, a hang, garbage
 * or a memory death, and are recycled after `recycle` jobs by a successor started beforehand, without a
 * pause.
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include "engine/job.h"
#include "engine/outcome.h"
#include "engine/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

struct pool_options {
    double deadline;       /* seconds for each request; 0: 30 */
    double start_deadline; /* seconds until hello is answered; 0: the deadline, but at least 30 */
    size_t memory;         /* bytes a worker may take; 0: 4 GiB; a spec's own wins */
    size_t recycle;        /* jobs before a worker is replaced; 0: 5000 */
    bool fresh;      /* a worker for every job and none ahead: no case sees what another left in memory */
    int workers;     /* for each engine; 0: 1 */
    bool bubblewrap; /* run workers under bwrap as well */
};

/* What an engine said at hello. Strings live in the pool. */
struct engine_info {
    const struct engine_spec *spec;
    const char *label, *name, *version;
    const struct engine_profile *profile;
    const Assay__Welcome *welcome; /* NULL until the first worker is up */
    const char *kernels; /* the settings that select its kernels (engine/knobs.h); NULL until then as well */
    const char *problem; /* why it does not start, or NULL */
};

/* Makes the process ignore SIGPIPE: a dying worker must not take us along. */
struct pool *pool_new(const struct pool_options *options);
void pool_free(struct pool *pool); /* ends all workers; jobs under way are dropped */

/* A pool of the same engines under the same numbers, with the same limits, but with a worker for every job
 * and one at a time for each engine. The engines that `pool` itself added (pool_plain) must outlive it: free
 * it before `pool`. */
struct pool *pool_fresh(const struct pool *pool);

/* Adds an engine and returns its number (>= 0). The spec must outlive the pool. */
int pool_add(struct pool *pool, const struct engine_spec *spec);

/* Starts all workers now and waits for their hello; engines that fail are reported by their jobs. */
void pool_warm(struct pool *pool);
const struct engine_info *pool_engine(const struct pool *pool, int engine);

/* Whether all engines run on this machine, and can read files by path. */
bool pool_is_local(const struct pool *pool);

/* The least that an engine of the pool may take, in bytes. */
size_t pool_memory(const struct pool *pool);

/* A fresh folder that all workers can read, as a heap path; it goes with the pool at the latest. */
int pool_folder(struct pool *pool, char **folder, struct error *err);

/* The engine that runs the same kernels of the same release on graphs as they are ("opt=none"): itself, one
 * that is there, or one that is added now. -1 when the engine has not yet said what its knobs are. */
int pool_plain(struct pool *pool, int engine);

/* Whether two engines are settings of one release that select the same kernels. */
bool pool_same_kernels(const struct engine_info *a, const struct engine_info *b);

/* Fails, saying why, when the engine has never answered hello and does not do so now. */
int pool_starts(struct pool *pool, int engine, struct error *err);

/* Queues a job (copied). Never blocks. */
void pool_submit(struct pool *pool, const struct job *job);

/* Results not yet returned by pool_next: for one engine, or for all with engine -1. */
size_t pool_pending(const struct pool *pool, int engine);

/*
 * Waits up to timeout seconds (negative: for ever) for a finished job: 1 and *job, *result filled in (result
 * is the caller's to release; the sets of a job come one after the other, in order; *repeats_differ is set
 * when a repeated run gave other bytes), 0 on timeout or when nothing is pending, -1 only when polling itself
 * fails.
 */
int pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *repeats_differ,
              struct error *err);

/* Submits one job of one set and waits for its result alone; other results keep for pool_next. For tools and
 * tests. */
int pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err);

/* Worker restarts since the start, by reason; for the containment bench and status screens. */
struct pool_counters {
    size_t started, crashed, hung, garbage, memory, recycled;
};
struct pool_counters pool_counters(const struct pool *pool, int engine);

#ifdef __cplusplus
}
#endif
#endif
