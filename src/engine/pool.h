/*
 * A pool of supervised engine processes: it takes jobs and gives back results.
 *
 * The pool holds one or more workers for each engine added. A job is one case for one engine: load, run
 * (perhaps several times), unload. Jobs of different engines finish in any order. Each job gets exactly one
 * result, or one for each of its input sets. When a worker dies on one set, the sets before it keep their
 * results, that set gets the crash as its result, and the sets after it are run by the worker that replaces
 * it. A failure to load the model is the result of all sets. A few jobs are sent ahead to each worker, so
 * that an engine never waits for Assay; a job that had only been sent ahead when the worker died is given to
 * the next worker.
 *
 * Workers start when they are first needed, or all in parallel by pool_warm. They are restarted after a
 * crash, a hang, a broken protocol or an exceeded memory limit. After `recycle` jobs a worker is replaced by
 * one that was started beforehand, so that there is no pause.
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include "base/progress.h"
#include "engine/job.h"
#include "engine/outcome.h"
#include "engine/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

/* What stands for 0 in the options. */
#define POOL_DEADLINE 30.0
#define POOL_MEMORY ((size_t)4 << 30)

struct pool_options {
    double deadline;       /* seconds for each request; 0: POOL_DEADLINE */
    double start_deadline; /* seconds until hello is answered; 0: the deadline, but at least 30 */
    size_t memory;  /* bytes that a worker may take; 0: POOL_MEMORY; a limit in its spec overrides it */
    size_t recycle; /* jobs before a worker is replaced; 0: 5000 */
    bool fresh;  /* a new worker for every job, none sent ahead: no case sees what another left in memory */
    int workers; /* for each engine; 0: 1 */
    bool times;  /* ask engines what processor time their answers take (result.cpu), for benches */
    enum sandbox_mode sandbox;
    struct registry *registry; /* where other releases are found (pool_other_release); NULL: nowhere */
};

/* What is known about an engine, most of it from its answer to hello. Strings live in the pool. */
struct engine_info {
    const struct engine_spec *spec;
    const char *label, *name, *version;
    const struct engine_profile *profile;
    const Assay__Welcome *welcome; /* NULL until the first worker is up */
    const char *kernels; /* the knobs that select its kernels (engine/knobs.h); NULL until then as well */
    const char *problem; /* why it does not start, or NULL */
};

/* From then on the process ignores SIGPIPE, so that a dying worker does not end it. */
struct pool *pool_new(const struct pool_options *options);
void pool_free(struct pool *pool); /* ends all workers and drops jobs under way; accepts NULL */

/* A pool of the same engines under the same numbers, with a new worker for every job and one worker at a time
 * for each engine. It waits six times as long as `pool` for an answer: what comes then is slow, as on a busy
 * machine, and no hang. It uses engines that `pool` owns (those added by pool_plain), so free it before
 * `pool`. */
struct pool *pool_fresh(const struct pool *pool);

/* Adds an engine and returns its number (>= 0). The spec must outlive the pool. */
int pool_add(struct pool *pool, const struct engine_spec *spec);

/* Starts all workers now and waits until they have answered hello. Engines that do not start are reported by
 * the results of their jobs. */
void pool_warm(struct pool *pool);
void pool_warm_some(struct pool *pool, const int *engines, size_t count); /* these engines' alone */
const struct engine_info *pool_engine(const struct pool *pool, int engine);

/* Whether all engines run on this machine, so that they can read files by path. */
bool pool_is_local(const struct pool *pool);

/* How many cores this process may use. */
size_t pool_cores(const struct pool *pool);

/* The smallest memory limit of the engines in the pool, in bytes. */
size_t pool_memory(const struct pool *pool);

/* From now on workers can read these files and folders (absolute paths, NULL-terminated) in their sandboxes;
 * those that cannot are replaced before the next job. It lasts until view_close (engine/views.h), before or
 * after the pool's end: workers that are started later see them no more. */
struct view *pool_view_open(struct pool *pool, const char *const *paths);

/* Makes a new folder that all workers can read; *folder is a heap path. It is removed with the pool at the
 * latest. */
int pool_folder(struct pool *pool, char **folder, struct error *err);

/* The number of the engine's plain setting, which runs the same kernels of the same release on the graph as
 * it is written ("opt=none"): the engine itself, another one of the pool, or one that is added now. -1 when
 * the engine has not yet said what its knobs are. */
int pool_plain(struct pool *pool, int engine);

/* Another release of the engine in the same setting, as far as there are any and at most four: the newest,
 * the oldest, and its neighbours. Returns the number in the pool of the one with this place in that order; -1
 * when there are no more, or the pool has no registry. */
int pool_other_release(struct pool *pool, int engine, size_t place);

/* Whether two engines are settings of one release that select the same kernels. */
bool pool_same_kernels(const struct engine_info *a, const struct engine_info *b);

/* Starts the engine unless it has been up before. Fails, and says why, when it does not start. */
int pool_starts(struct pool *pool, int engine, struct error *err);

/* Queues a job (copied). Never blocks. */
void pool_submit(struct pool *pool, const struct job *job);

/* How many results pool_next has not returned yet, for one engine, or for all when engine is -1. */
size_t pool_pending(const struct pool *pool, int engine);

/*
 * Waits up to timeout seconds (negative: for ever) for a result. Returns 1 with *job and *result filled in, 0
 * on timeout or when nothing is pending, -1 only when polling itself fails. The caller releases the result.
 * The sets of a job come one after the other, in order. *repeats_differ is set when a repeated run gave
 * different bytes.
 */
int pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *repeats_differ,
              struct error *err);

/* Submits one job with one set of inputs and waits for its result. Results of other jobs are kept for
 * pool_next. */
int pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err);

/* Ends the workers of an engine that has no jobs; its next job starts one again. For settings that are seldom
 * needed. */
void pool_rest(struct pool *pool, int engine);

/* How many workers were started, and how many ended for which reason; for the containment bench and status
 * screens. unserved: jobs that none ran, as the engine does not start. */
struct pool_counters {
    size_t started, crashed, hung, garbage, memory, recycled, unserved;
    uint64_t start_ns; /* processor time of the starts, where pool_options.times asks for it */
};
struct pool_counters pool_counters(const struct pool *pool, int engine);

/* Lets the progress of a command count the runs of all engines, answered or not; it must live as long as it
 * does. NULL: nobody counts. Progress that was not begun leaves the counting to whoever does it. Returns who
 * counted before, to be shown again afterwards. */
struct progress *pool_show(struct pool *pool, struct progress *progress);

/* How often something went wrong so far that may go well another time: a worker passed its deadline or its
 * memory limit, was killed by somebody else, left its answer unfinished, or could not be started. */
size_t pool_mishaps(const struct pool *pool);

#ifdef __cplusplus
}
#endif
#endif
