#define _GNU_SOURCE
#include "engine/pool.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "engine/cgroup.h"
#include "engine/everyones_knobs.h"
#include "engine/footprint.h"
#include "engine/knobs.h"
#include "engine/limit_check.h"
#include "engine/paths.h"
#include "engine/scratch.h"
#include "engine/seat.h"
#include "engine/views.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const size_t default_recycle = 5000;
static const double patience = 6; /* how many times longer fresh workers may take, as on a busy machine */
static const int64_t farewell = 200000000; /* ns, for idle workers to exit by themselves at the end */

enum {
    TASKS_AHEAD =
        6, /* the task under way, and those that keep the worker busy while Assay does something else */
    TASKS_ENOUGH = 3, /* so many keep it busy while we nap */
    NAP_NS = 300000,
    LONG_NAP_NS = 1000000, /* no longer, as a pace met on a busy machine outlasts it */
    TICK_MS = 50,
    START_FAILURES = 3, /* crashes at the start in a row until an engine counts as broken */
    POOL_READ = 1 << 20,
    NO_ENGINE = -1, /* of seats that look at a failure once more */
};

struct engine {
    const struct engine_spec *spec;
    struct engine_info info;
    Assay__Welcome *welcome;
    struct task_list queue;
    size_t pending;            /* submitted and not yet given back */
    struct seat_limits limits; /* of its workers */
    int failures;              /* to start, in a row */
    bool broken;               /* does not start: jobs fail with `start` */
    struct result start;
    struct str problem; /* `start` in words */
    struct pool_counters counters;
    uint64_t *places; /* of crashes that the memory limit had no part in */
    size_t n_places, place_room;
};

struct pool {
    struct pool_options options;
    struct arena arena; /* what the engines' settings are called, and settings made here */
    struct scratch scratch;
    char *libexec;
    struct engine **engines;
    size_t n_engines, engine_room;
    struct seat **seats;
    size_t n_seats, seat_room;
    struct task_list finished, spare;
    struct limit_check *checks; /* looks under way; their tasks become `finished` later */
    size_t n_checks, check_room;
    struct pollfd *polls;
    size_t poll_room;
    uint8_t *buffer;           /* for reading, shared by all workers */
    size_t cores;              /* that workers may use */
    int64_t left;              /* when the workers were last looked after */
    char *handed;              /* the folder of what is handed over; NULL: none yet */
    struct cgroup_home groups; /* where groups for workers can be made */
    struct views views;        /* what else workers may read */
    struct progress *shown;    /* counts the runs; NULL: nobody does */
};

static size_t count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

struct pool *pool_new(const struct pool_options *options)
{
    struct pool *pool = memory_zeroed(1, sizeof *pool);
    arena_init(&pool->arena);
    if (options)
        pool->options = *options;
    if (pool->options.deadline <= 0)
        pool->options.deadline = POOL_DEADLINE;
    if (pool->options.start_deadline <= 0)
        pool->options.start_deadline =
            pool->options.deadline > POOL_DEADLINE ? pool->options.deadline : POOL_DEADLINE;
    if (!pool->options.memory)
        pool->options.memory = POOL_MEMORY;
    if (pool->options.fresh)
        pool->options.recycle = 1;
    if (!pool->options.recycle)
        pool->options.recycle = default_recycle;
    if (pool->options.workers <= 0)
        pool->options.workers = 1;
    pool->libexec = paths_libexec();
    cgroup_home_find(&pool->groups);
    pool->buffer = memory_zeroed(1, POOL_READ);
    pool->cores = count_cores();
    signal(SIGPIPE, SIG_IGN);
    return pool;
}

struct pool *pool_fresh(const struct pool *pool)
{
    struct pool_options options = pool->options;
    options.fresh = true;
    options.workers = 1;
    options.deadline *= patience;
    options.start_deadline *= patience;
    struct pool *fresh = pool_new(&options);
    for (size_t i = 0; i < pool->n_engines; i++)
        pool_add(fresh, pool->engines[i]->spec);
    return fresh;
}

int pool_add(struct pool *pool, const struct engine_spec *spec)
{
    struct engine *engine = memory_zeroed(1, sizeof *engine);
    engine->spec = spec;
    engine->info.spec = spec;
    engine->info.label = spec->label;
    engine->info.name = spec->name;
    engine->info.profile = spec->profile;
    engine->info.version = spec->version;
    engine->limits =
        (struct seat_limits){.deadline = pool->options.deadline * everyones_patience(spec->hidden_knobs),
                             .start_deadline = pool->options.start_deadline,
                             .memory = spec->memory ? spec->memory : pool->options.memory,
                             .recycle = pool->options.recycle};
    result_init(&engine->start);
    str_init(&engine->problem);
    pool->engines =
        memory_grow(pool->engines, &pool->engine_room, pool->n_engines + 1, sizeof(struct engine *));
    pool->engines[pool->n_engines] = engine;
    return (int)pool->n_engines++;
}

const struct engine_info *pool_engine(const struct pool *pool, int engine)
{
    return &pool->engines[engine]->info;
}

bool pool_same_kernels(const struct engine_info *a, const struct engine_info *b)
{
    return text_equal(a->name, b->name) && a->version && b->version && text_equal(a->version, b->version) &&
           a->kernels && b->kernels && text_equal(a->kernels, b->kernels);
}

int pool_plain(struct pool *pool, int engine)
{
    const struct engine *own = pool->engines[engine];
    if (!own->welcome)
        return -1;
    if (knobs_are_plain(own->spec, own->welcome))
        return engine;
    for (size_t i = 0; i < pool->n_engines; i++) {
        const struct engine *other = pool->engines[i];
        if (other->welcome && knobs_are_plain(other->spec, other->welcome) &&
            pool_same_kernels(&own->info, &other->info))
            return (int)i;
    }
    const struct engine_spec *plain = knobs_plain(&pool->arena, own->spec, own->welcome);
    for (size_t i = 0; i < pool->n_engines; i++) /* added before, and not up yet, or broken */
        if (text_equal(pool->engines[i]->spec->label, plain->label))
            return (int)i;
    return pool_add(pool, plain);
}

/* The releases of an engine that are at hand, in ascending order; NULL is the one that comes without a
 * version. */
struct releases {
    struct arena *arena;
    const struct engine_info *of;
    size_t count, capacity;
    const char **versions;
    size_t own; /* how many are older than the engine itself */
};

static int add_release(void *context, const char *name, const char *version, const char *path)
{
    struct releases *found = context;
    (void)path;
    if (!text_equal(name, found->of->name))
        return 0;
    bool same = version ? text_equal(version, found->of->version) : !found->of->spec->version;
    if (same) {
        found->own = found->count;
        return 0;
    }
    found->versions =
        memory_grow(found->versions, &found->capacity, found->count + 1, sizeof *found->versions);
    found->versions[found->count++] = version ? arena_strdup(found->arena, version) : NULL;
    return 0;
}

int pool_other_release(struct pool *pool, int engine, size_t place)
{
    const struct engine_info *own = &pool->engines[engine]->info;
    struct releases found = {.arena = &pool->arena, .of = own};
    const struct engine_spec *spec;
    int number = -1;
    if (!pool->options.registry || !own->version || (own->spec->writes && *own->spec->writes) ||
        registry_each(pool->options.registry, add_release, &found) || !found.count)
        goto out;
    size_t last = found.count - 1, order[4] = {last, 0, found.own ? found.own - 1 : 0, found.own};
    size_t distinct = 0;
    for (size_t i = 0; i < 4; i++) {
        bool again = order[i] > last;
        for (size_t k = 0; k < distinct; k++)
            again |= order[k] == order[i];
        if (!again)
            order[distinct++] = order[i];
    }
    if (place >= distinct ||
        registry_find(pool->options.registry,
                      given_at(&pool->arena, own->spec->given, found.versions[order[place]]), &spec, NULL))
        goto out;
    for (size_t i = 0; i < pool->n_engines && number < 0; i++)
        if (text_equal(pool->engines[i]->spec->label, spec->label))
            number = (int)i;
    if (number < 0)
        number = pool_add(pool, spec);
out:
    free(found.versions);
    return number;
}

void pool_rest(struct pool *pool, int engine)
{
    if (pool->engines[engine]->pending)
        return;
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        if (seat->engine != engine || seat->state != SEAT_READY || seat->tasks.count)
            continue;
        pool->engines[engine]->counters.recycled++;
        seat_end(seat, CAUSE_RETIRED, NULL);
    }
}

size_t pool_cores(const struct pool *pool)
{
    return pool->cores;
}

struct pool_counters pool_counters(const struct pool *pool, int engine)
{
    return pool->engines[engine]->counters;
}

struct progress *pool_show(struct pool *pool, struct progress *progress)
{
    struct progress *before = pool->shown;
    if (!progress || progress->line)
        pool->shown = progress;
    return before;
}

size_t pool_mishaps(const struct pool *pool)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->n_engines; i++) {
        const struct pool_counters *counters = &pool->engines[i]->counters;
        count += counters->hung + counters->garbage + counters->memory + counters->unserved;
    }
    return count;
}

size_t pool_pending(const struct pool *pool, int engine)
{
    size_t pending = 0;
    for (size_t i = 0; i < pool->n_engines; i++)
        if (engine < 0 || (size_t)engine == i)
            pending += pool->engines[i]->pending;
    return pending;
}

bool pool_is_local(const struct pool *pool)
{
    for (size_t i = 0; i < pool->n_engines; i++)
        if (pool->engines[i]->spec->launcher)
            return false;
    return true;
}

size_t pool_memory(const struct pool *pool)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < pool->n_engines; i++)
        if (pool->engines[i]->limits.memory < least)
            least = pool->engines[i]->limits.memory;
    return least;
}

int pool_folder(struct pool *pool, char **folder, struct error *err)
{
    if (!pool->scratch.folder && scratch_open(&pool->scratch, err))
        return -1;
    return scratch_add_handed(&pool->scratch, folder, err);
}

static bool is_shown(const struct pool *pool, const char *path)
{
    return views_show(&pool->views, path) || (pool->handed && path_is_within(path, pool->handed));
}

struct view *pool_view_open(struct pool *pool, const char *const *paths)
{
    bool all = true;
    for (size_t i = 0; paths[i]; i++)
        all = all && is_shown(pool, paths[i]);
    for (size_t i = 0; !all && i < pool->n_seats; i++)
        pool->seats[i]->outdated = pool->seats[i]->worker.walled;
    return views_open(&pool->views, paths);
}

/* A folder for a worker, in a view that has what was handed over. */
static int worker_folder(struct pool *pool, char **folder, struct error *err)
{
    if (!pool->scratch.folder && scratch_open(&pool->scratch, err))
        return -1;
    if (!pool->handed)
        pool->handed = file_join(pool->scratch.folder, SCRATCH_HANDED);
    return scratch_add(&pool->scratch, folder, err);
}

static void copy_text(char **to, const char *from)
{
    free(*to);
    *to = from ? memory_strdup(from) : NULL;
}

static void engine_failed(struct pool *pool, int number, const struct result *start, bool hopeless)
{
    struct engine *engine = pool->engines[number];
    for (size_t i = 0; i < pool->n_seats; i++)
        if (pool->seats[i]->engine == number)
            pool->seats[i]->succeeded = false; /* the successor did not come; a next one may */
    engine->failures = hopeless ? START_FAILURES : engine->failures + 1;
    engine->start.outcome = OUTCOME_NO_ENGINE;
    engine->start.stage = STAGE_START;
    engine->start.signal = start->signal;
    engine->start.exit_status = start->exit_status;
    copy_text(&engine->start.message, start->message);
    copy_text(&engine->start.log, start->log);
    engine->broken = engine->failures >= START_FAILURES;
    str_clear(&engine->problem);
    result_words(&engine->start, &engine->problem);
    engine->info.problem = engine->broken ? engine->problem.data : NULL;
}

/* A release that tools/build-engine made: sanitizers map terabytes, of which they use little. */
static bool is_sanitized(const struct engine_spec *spec)
{
    return spec->version && text_ends(spec->version, "-asan");
}

/* A new seat, the last of the pool's; watched: see worker_box. */
static int start_seat(struct pool *pool, const struct engine *engine, bool watched, struct seat **seat,
                      struct error *err)
{
    char *scratch = NULL;
    int status = worker_folder(pool, &scratch, err);
    if (!status) {
        const char **seen = views_list(&pool->views, pool->handed);
        char *group = engine->spec->launcher ? NULL : cgroup_make(&pool->groups, engine->limits.memory);
        struct worker_box box = {.spec = engine->spec,
                                 .libexec = pool->libexec,
                                 .scratch = scratch,
                                 .memory = engine->limits.memory,
                                 .watched = watched || is_sanitized(engine->spec),
                                 .times = pool->options.times,
                                 .sandbox = pool->options.sandbox,
                                 .seen = seen,
                                 .group = group};
        status = seat_start(seat, &box, &engine->limits, err);
        if (status && group)
            cgroup_remove(group);
        free(group);
        free(seen);
    }
    free(scratch);
    if (status)
        return -1;
    pool->seats = memory_grow(pool->seats, &pool->seat_room, pool->n_seats + 1, sizeof(struct seat *));
    pool->seats[pool->n_seats++] = *seat;
    return 0;
}

static void start_worker(struct pool *pool, int number)
{
    struct engine *engine = pool->engines[number];
    struct seat *seat;
    struct error err;
    if (!start_seat(pool, engine, false, &seat, &err)) {
        engine->counters.started++;
        seat->engine = number;
        return;
    }
    const char *advice = error_advice(&err);
    size_t length = strlen(err.message);
    if (advice)
        snprintf(err.message + length, sizeof err.message - length, ". %s", advice);
    struct result start = {.exit_status = -1, .message = err.message};
    engine_failed(pool, number, &start, true); /* the system refuses: waiting does not help */
}

static bool can_take(const struct pool *pool, const struct seat *seat)
{
    if (pool->options.fresh)
        return seat->jobs + seat->tasks.count == 0;
    return seat->tasks.count < TASKS_AHEAD;
}

/* The READY worker of this engine with the fewest jobs, if it can take one more. */
static struct seat *least_busy(struct pool *pool, int engine)
{
    struct seat *best = NULL;
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        if (seat->engine == engine && seat->state == SEAT_READY && seat->worker.in >= 0 && !seat->outdated &&
            can_take(pool, seat) && (!best || seat->tasks.count < best->tasks.count))
            best = seat;
    }
    return best;
}

static void fail_task(struct pool *pool, struct task *task, const struct result *start)
{
    pool->engines[task->job.engine]->counters.unserved++;
    for (size_t set = task->from; set < task->sets; set++) {
        struct result *result = &task->results[set].result;
        result_release(result);
        result->outcome = OUTCOME_NO_ENGINE;
        result->stage = STAGE_START;
        result->signal = start->signal;
        result->exit_status = start->exit_status;
        result->message = start->message ? memory_strdup(start->message) : NULL;
        result->log = start->log ? memory_strdup(start->log) : NULL;
    }
    task_list_push(&pool->finished, task);
}

struct staff {
    int active; /* workers that are starting or ready; one and its successor count once */
    int ready;
    size_t tasks;
};

static struct staff count_staff(const struct pool *pool, int engine)
{
    struct staff staff = {0};
    for (size_t i = 0; i < pool->n_seats; i++) {
        const struct seat *seat = pool->seats[i];
        if (seat->engine != engine || seat->finished ||
            (seat->state == SEAT_ENDING && !seat_is_starting(seat)))
            continue;
        staff.active += !seat->succeeded && !seat->outdated;
        staff.ready += seat->state == SEAT_READY && !seat->tired && !seat->outdated;
        staff.tasks += seat->tasks.count;
    }
    return staff;
}

/* A tired worker goes on until its successor is up, then finishes what it has and leaves. */
static void relieve(struct pool *pool, int number)
{
    struct engine *engine = pool->engines[number];
    struct staff staff = count_staff(pool, number);
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        if (seat->engine != number || seat->state != SEAT_READY || (!seat->tired && !seat->outdated))
            continue;
        if (seat->outdated) {
            if (seat->tasks.count)
                continue;
            engine->counters.recycled++;
            seat_end(seat, CAUSE_RETIRED, NULL);
        } else if (pool->options.fresh) {
            engine->counters.recycled++;
            seat_end(seat, CAUSE_RETIRED, NULL);
        } else if (!seat->succeeded && !engine->broken) {
            seat->succeeded = true;
            start_worker(pool, number);
        } else if (staff.ready && seat->tasks.count == 0) {
            engine->counters.recycled++;
            seat_end(seat, CAUSE_RETIRED, NULL);
        }
    }
}

static struct seat *choose_seat(struct pool *pool, int engine)
{
    struct seat *seat = least_busy(pool, engine);
    if (!seat || !seat->tired || !count_staff(pool, engine).ready)
        return seat;
    /* A fresh worker is up: the tired one gets nothing new. */
    struct seat *fresh = NULL;
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *other = pool->seats[i];
        if (other->engine == engine && other->state == SEAT_READY && !other->tired && !other->outdated &&
            other->tasks.count < TASKS_AHEAD && (!fresh || other->tasks.count < fresh->tasks.count))
            fresh = other;
    }
    return fresh;
}

static void dispatch(struct pool *pool, int number)
{
    struct engine *engine = pool->engines[number];
    struct seat *seat;
    while (engine->queue.first && (seat = choose_seat(pool, number)))
        seat_give(seat, task_list_pop(&engine->queue));
    relieve(pool, number);
    if (!engine->queue.first)
        return;
    struct staff staff = count_staff(pool, number);
    size_t wanted = staff.tasks + engine->queue.count;
    for (; !engine->broken && staff.active < pool->options.workers && (size_t)staff.active < wanted;
         staff.active++)
        start_worker(pool, number);
    if (engine->broken && count_staff(pool, number).active == 0)
        while (engine->queue.first)
            fail_task(pool, task_list_pop(&engine->queue), &engine->start);
}

/* A knob that the engine does not declare would be passed over in silence by an adapter that does not check
 * them. */
static bool refuse_knobs(struct pool *pool, struct seat *seat, const Assay__Welcome *welcome)
{
    struct error err = {0};
    if (!knobs_check(pool->engines[seat->engine]->spec, welcome, &err))
        return false;
    struct result start = {.exit_status = -1, .message = err.message};
    seat_end(seat, CAUSE_RETIRED, NULL);
    engine_failed(pool, seat->engine, &start, true);
    return true;
}

static void take_welcome(struct pool *pool, struct seat *seat, Assay__Welcome *welcome)
{
    struct engine *engine = pool->engines[seat->engine];
    if (engine->welcome || refuse_knobs(pool, seat, welcome)) {
        engine->failures = engine->welcome ? 0 : engine->failures;
        assay__welcome__free_unpacked(welcome, NULL);
        return;
    }
    engine->failures = 0;
    engine->welcome = welcome;
    engine->info.welcome = welcome;
    engine->info.version = welcome->version;
    engine->info.kernels = knobs_kernels(&pool->arena, engine->spec, welcome);
}

static void count_end(struct pool_counters *counters, enum outcome outcome)
{
    counters->crashed += outcome == OUTCOME_CRASH;
    counters->hung += outcome == OUTCOME_HANG;
    counters->garbage += outcome == OUTCOME_GARBAGE;
    counters->memory += outcome == OUTCOME_MEMORY;
}

/* Whether the memory limit may have caused the failure. */
static bool needs_check(const struct engine *engine, const struct result *result)
{
    if (engine->spec->launcher || !limit_suspected(result))
        return false;
    uint64_t place = limit_place(result);
    for (size_t i = 0; place && i < engine->n_places; i++)
        if (engine->places[i] == place)
            return false;
    return true;
}

/* Starts a look at a set of the task. False: it cannot be. */
static bool start_check(struct pool *pool, struct task *task, size_t set, bool limited)
{
    struct seat *seat;
    if (start_seat(pool, pool->engines[task->job.engine], !limited, &seat, NULL))
        return false;
    seat->engine = NO_ENGINE;
    pool->checks = memory_grow(pool->checks, &pool->check_room, pool->n_checks + 1, sizeof *pool->checks);
    pool->checks[pool->n_checks++] = (struct limit_check){
        .of = task, .set = set, .again = limit_task(task, set), .seat = seat, .limited = limited};
    return true;
}

/* A task has all its results. It is given back when failures that the memory limit may have caused were
 * looked at again. */
static void finish(struct pool *pool, struct task *task)
{
    const struct engine *engine = pool->engines[task->job.engine];
    for (; task->checked < task->sets; task->checked++)
        if (needs_check(engine, &task->results[task->checked].result) &&
            start_check(pool, task, task->checked, false))
            return;
    task_list_push(&pool->finished, task);
}

static void note_place(struct engine *engine, const struct result *result)
{
    uint64_t place = limit_place(result);
    if (!place)
        return;
    engine->places =
        memory_grow(engine->places, &engine->place_room, engine->n_places + 1, sizeof *engine->places);
    engine->places[engine->n_places++] = place;
}

static void conclude_check(struct pool *pool, const struct limit_check *check, const struct limit_look *look)
{
    struct engine *engine = pool->engines[check->of->job.engine];
    const struct result *first = &check->of->results[check->set].result;
    enum limit_answer answer = limit_conclude(first->outcome, look);
    if (answer == LIMIT_AGAIN && start_check(pool, check->of, check->set, true))
        return;
    if (answer == LIMIT_STANDS && first->outcome == OUTCOME_CRASH && look->outcome == OUTCOME_CRASH)
        note_place(engine, first);
    if (answer == LIMIT_MEMORY) {
        bool crashed = first->outcome == OUTCOME_CRASH;
        engine->counters.crashed -= crashed;
        engine->counters.memory++;
        check->of->checked += limit_blame(check->of, check->set, engine->limits.memory) - 1;
    }
    check->of->checked++;
    finish(pool, check->of);
}

static struct limit_check *check_of(struct pool *pool, const struct seat *seat)
{
    for (size_t i = 0; i < pool->n_checks; i++)
        if (pool->checks[i].seat == seat)
            return &pool->checks[i];
    return NULL;
}

/* The outcome of the look, once the worker has finished its task or ended without it. */
static enum outcome looked_at(struct seat_news *news)
{
    struct task *again = task_list_pop(&news->finished);
    enum outcome outcome = again ? again->results->result.outcome : OUTCOME_UNTESTED;
    if (again) {
        task_release(again);
        free(again);
    }
    return outcome;
}

static void take_look(struct pool *pool, struct seat *seat)
{
    struct seat_news *news = &seat->news;
    struct limit_check *check = check_of(pool, seat);
    if (check && news->welcome && seat->state == SEAT_READY) {
        seat_give(seat, check->again);
        check->again = NULL;
    } else if (check && (news->finished.first || news->ended || news->start_failed)) {
        struct limit_check done = *check;
        *check = pool->checks[--pool->n_checks];
        size_t peak = footprint_address_peak(seat->worker.pid); /* 0: it is gone */
        struct limit_look look = {.outcome = looked_at(news),
                                  .limited = done.limited,
                                  .within = peak && peak < seat->limits->memory};
        if (done.again) {
            task_release(done.again);
            free(done.again);
        }
        seat_end(seat, CAUSE_RETIRED, NULL);
        conclude_check(pool, &done, &look);
    }
    if (news->welcome)
        assay__welcome__free_unpacked(news->welcome, NULL);
    result_release(&news->start);
    *news = (struct seat_news){0};
    result_init(&news->start);
}

static void take_news(struct pool *pool, struct seat *seat)
{
    if (seat->engine == NO_ENGINE) {
        take_look(pool, seat);
        return;
    }
    struct engine *engine = pool->engines[seat->engine];
    struct seat_news *news = &seat->news;
    if (!news->any)
        return;
    progress_runs(pool->shown, news->answers + news->ended);
    if (news->welcome)
        take_welcome(pool, seat, news->welcome);
    engine->counters.start_ns += news->start_ns;
    if (news->ended)
        count_end(&engine->counters, news->outcome);
    if (news->start_failed) /* an engine that started before may lack time or memory at the moment */
        engine_failed(pool, seat->engine, &news->start, news->hopeless && !engine->welcome);
    for (struct task *task; (task = task_list_pop(&news->finished));)
        finish(pool, task);
    task_list_prepend(&engine->queue, &news->returned);
    result_release(&news->start);
    *news = (struct seat_news){0};
    result_init(&news->start);
    dispatch(pool, seat->engine);
}

static struct task *submit(struct pool *pool, const struct job *job)
{
    struct task *task = task_list_pop(&pool->spare);
    if (!task)
        task = memory_zeroed(1, sizeof *task);
    task_init(task, job);
    struct engine *engine = pool->engines[job->engine];
    engine->pending += task->sets;
    task_list_push(&engine->queue, task);
    dispatch(pool, job->engine);
    return task;
}

void pool_submit(struct pool *pool, const struct job *job)
{
    submit(pool, job);
}

static void add_poll(struct pool *pool, size_t *count, int fd, short events)
{
    pool->polls = memory_grow(pool->polls, &pool->poll_room, *count + 1, sizeof *pool->polls);
    pool->polls[(*count)++] = (struct pollfd){.fd = fd, .events = events};
}

/* Four entries a worker, in order: stdout, stderr, stdin, process. Negative descriptors are passed over by
 * poll. */
static size_t fill_polls(struct pool *pool)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct worker *worker = &pool->seats[i]->worker;
        add_poll(pool, &count, worker->out, POLLIN);
        add_poll(pool, &count, worker->err, POLLIN);
        add_poll(pool, &count, wire_out_empty(&worker->pending) ? -1 : worker->in, POLLOUT);
        add_poll(pool, &count, worker->process, POLLIN);
    }
    return count;
}

static int wait_time(const struct pool *pool, double timeout)
{
    int64_t now = clock_ns(), until = INT64_MAX;
    if (timeout >= 0 && timeout < 1e9)
        until = now + (int64_t)(timeout * 1e9);
    for (size_t i = 0; i < pool->n_seats; i++) {
        const struct seat *seat = pool->seats[i];
        int64_t due = seat_due(seat);
        if (seat->worker.process < 0 && due > now + TICK_MS * 1000000)
            due = now + TICK_MS * 1000000; /* no pidfd: look for its end now and then */
        until = due < until ? due : until;
    }
    if (until == INT64_MAX)
        return -1;
    if (until <= now)
        return 0;
    int64_t wait = (until - now + 999999) / 1000000;
    return wait > 60000 ? 60000 : (int)wait;
}

static void remove_finished(struct pool *pool)
{
    size_t kept = 0;
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        if (!seat->finished) {
            pool->seats[kept++] = seat;
            continue;
        }
        seat_free(seat);
    }
    pool->n_seats = kept;
}

/*
 * Waking us costs a worker more than its answer does, and takes a core from another one; nothing is lost by
 * looking later while workers have enough to do: a nap lets answers gather. That is so when every worker that
 * has work has enough of it, or as many as there are cores do: others, as those of the reference, which gets
 * its cases one by one, may then be idle for a while. A nap is half of the time after which the first of them
 * would be at its last task.
 */
static int64_t nap_time(const struct pool *pool)
{
    size_t busy = 0, supplied = 0;
    int64_t time = LONG_NAP_NS;
    for (size_t i = 0; i < pool->n_seats; i++) {
        const struct seat *seat = pool->seats[i];
        if (seat->state == SEAT_ENDING)
            return 0;
        busy += seat->tasks.count > 0;
        if (seat->tasks.count < TASKS_ENOUGH)
            continue;
        supplied++;
        int64_t half = (int64_t)(seat->tasks.count - 1) * seat->pace / 2;
        time = half < time ? half : time;
    }
    if (!supplied || (supplied < busy && supplied < pool->cores))
        return 0;
    return time > NAP_NS ? time : NAP_NS;
}

/* Looks at every worker once, perhaps after a nap: not where somebody waits for one answer. Workers started
 * meanwhile stand behind those that were polled. */
static int pump(struct pool *pool, double timeout, bool naps, struct error *err)
{
    size_t polled = pool->n_seats, entries = fill_polls(pool);
    int64_t away = pool->left ? clock_ns() - pool->left : 0, time = naps ? nap_time(pool) : 0;
    if (time)
        nanosleep(&(struct timespec){.tv_nsec = time}, NULL);
    if (poll(pool->polls, (nfds_t)entries, wait_time(pool, timeout)) < 0 && errno != EINTR)
        return error_errno(err, "cannot poll");
    for (size_t i = 0; i < polled; i++) {
        struct seat *seat = pool->seats[i];
        const struct pollfd *polls = &pool->polls[4 * i];
        seat_look(seat, away, polls[0].revents != 0);
        bool ended = polls[3].revents || seat->worker.process < 0 || seat->worker.out < 0;
        if (polls[0].revents)
            seat_read(seat, pool->buffer, POOL_READ);
        if (polls[1].revents)
            worker_read_log(&seat->worker, pool->buffer, POOL_READ);
        if (polls[2].revents)
            seat_write(seat);
        if (ended && worker_reap(&seat->worker))
            seat_conclude(seat, pool->buffer, POOL_READ);
        else
            seat_check(seat, clock_ns());
        take_news(pool, seat);
    }
    remove_finished(pool);
    pool->left = clock_ns();
    return 0;
}

static void start_staff(struct pool *pool, int engine)
{
    for (int active = count_staff(pool, engine).active;
         active < pool->options.workers && !pool->engines[engine]->broken; active++)
        start_worker(pool, engine);
}

/* Waits until all workers that were started have answered hello. */
static void await_staff(struct pool *pool)
{
    bool starting = true;
    while (starting) {
        starting = false;
        for (size_t i = 0; i < pool->n_seats; i++)
            starting = starting || seat_is_starting(pool->seats[i]);
        if (starting && pump(pool, -1, false, NULL))
            return;
    }
}

void pool_warm(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_engines; i++)
        start_staff(pool, (int)i);
    await_staff(pool);
}

void pool_warm_some(struct pool *pool, const int *engines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        start_staff(pool, engines[i]);
    await_staff(pool);
}

static void give_back(struct pool *pool, struct task *task, struct job *job, struct result *result,
                      bool *differ)
{
    const struct task_result *next = &task->results[task->given];
    pool->engines[task->job.engine]->pending--;
    if (job) {
        *job = task->job;
        job->set = task->given;
    }
    *result = next->result;
    if (differ)
        *differ = next->differ;
    if (++task->given < task->sets) {
        task_list_push_front(&pool->finished, task);
        return;
    }
    if (task->results != &task->one)
        free(task->results);
    task_list_push_front(&pool->spare, task);
}

int pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *repeats_differ,
              struct error *err)
{
    int64_t until = timeout < 0 ? INT64_MAX : clock_ns() + (int64_t)(timeout * 1e9);
    result_init(result);
    while (pool_pending(pool, -1)) {
        double left = timeout < 0 ? -1 : (double)(until - clock_ns()) / 1e9;
        bool waiting = pool->finished.first == NULL;
        /* Even when a result waits, the workers are looked after first, unless that was just now: the caller
         * may be long away with it. */
        bool fresh = !waiting && clock_ns() - pool->left < NAP_NS;
        if (!fresh && pump(pool, !waiting || (timeout >= 0 && left < 0) ? 0 : left, waiting, err))
            return -1;
        if (pool->finished.first) {
            give_back(pool, task_list_pop(&pool->finished), job, result, repeats_differ);
            return 1;
        }
        if (timeout >= 0 && left <= 0)
            return 0;
    }
    return 0;
}

static bool take_finished(struct pool *pool, const struct task *task)
{
    struct task *before = NULL;
    for (struct task *at = pool->finished.first; at; before = at, at = at->next) {
        if (at != task)
            continue;
        if (before)
            before->next = at->next;
        else
            pool->finished.first = at->next;
        if (pool->finished.last == at)
            pool->finished.last = before;
        pool->finished.count--;
        return true;
    }
    return false;
}

int pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err)
{
    assert(job->n_sets <= 1);
    struct task *task = submit(pool, job);
    result_init(result);
    while (!take_finished(pool, task))
        if (pump(pool, -1, false, err))
            return -1;
    give_back(pool, task, NULL, result, NULL);
    return 0;
}

int pool_starts(struct pool *pool, int engine, struct error *err)
{
    const struct engine_info *info = pool_engine(pool, engine);
    if (info->welcome)
        return 0;
    /* An engine that does not start tells why in the result of its next job. A worker that starts now does
     * not see this view. */
    struct job job = {.engine = engine};
    struct result result;
    result_init(&result);
    int status = pool_run_one(pool, &job, &result, err);
    if (status == 0 && !info->welcome) {
        struct str words;
        str_init(&words);
        result_words(&result, &words);
        status = error_set(err, ERROR_NOT_FOUND, "%s", words.data);
        str_release(&words);
    }
    result_release(&result);
    return status;
}

/* Idle workers are asked to leave, busy ones are killed; then all are, and waited for. */
static void end_workers(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        if (seat->tasks.count || seat->state == SEAT_STARTING)
            worker_signal(&seat->worker, SIGKILL);
        worker_close_input(&seat->worker);
    }
    int64_t now = clock_ns(), polite = now + farewell, last = now + 25 * farewell;
    size_t alive = pool->n_seats;
    while (alive && clock_ns() < last) {
        alive = 0;
        for (size_t i = 0; i < pool->n_seats; i++) {
            struct worker *worker = &pool->seats[i]->worker;
            worker_read_log(worker, pool->buffer, POOL_READ); /* so that none blocks on a full pipe */
            if (worker_reap(worker))
                continue;
            alive++;
            if (clock_ns() > polite)
                worker_signal(worker, SIGKILL);
            poll(&(struct pollfd){.fd = worker->process, .events = POLLIN}, 1, 5);
        }
    }
}

static void free_tasks(struct task_list *list)
{
    struct task *task;
    while ((task = task_list_pop(list))) {
        task_release(task);
        free(task);
    }
}

static void free_engine(struct engine *engine)
{
    free_tasks(&engine->queue);
    if (engine->welcome)
        assay__welcome__free_unpacked(engine->welcome, NULL);
    result_release(&engine->start);
    str_release(&engine->problem);
    free(engine->places);
    free(engine);
}

static void free_checks(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_checks; i++) {
        struct task *both[] = {pool->checks[i].of, pool->checks[i].again};
        for (int k = 0; k < 2; k++)
            if (both[k]) {
                task_release(both[k]);
                free(both[k]);
            }
    }
    free(pool->checks);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    end_workers(pool);
    for (size_t i = 0; i < pool->n_seats; i++) {
        struct seat *seat = pool->seats[i];
        free_tasks(&seat->tasks);
        free_tasks(&seat->news.finished);
        free_tasks(&seat->news.returned);
        seat->finished = true;
    }
    remove_finished(pool);
    free_checks(pool);
    for (size_t i = 0; i < pool->n_engines; i++)
        free_engine(pool->engines[i]);
    free_tasks(&pool->finished);
    while (pool->spare.first)
        free(task_list_pop(&pool->spare));
    scratch_close(&pool->scratch);
    free(pool->engines);
    free(pool->seats);
    views_release(&pool->views);
    free(pool->handed);
    cgroup_home_release(&pool->groups);
    free(pool->polls);
    free(pool->buffer);
    free(pool->libexec);
    arena_release(&pool->arena);
    free(pool);
}
