/*
 * The pool's own structures, shared by pool.c (jobs, dispatch, the loop) and supervise.c (what a worker's
 * replies and its end mean for its jobs). Not for others.
 */
#ifndef ENGINE_POOL_STATE_H
#define ENGINE_POOL_STATE_H

#include "base/str.h"
#include "engine/pool.h"
#include "engine/scratch.h"
#include "engine/worker.h"

#include <poll.h>

struct task_result {
    struct result result;
    bool differ;
};

/* A job on its way. Its requests are load, 1 + repeat runs for each set not yet run, unload; `step` is the
 * one not yet answered. */
struct task {
    struct task *next;
    struct job job;
    size_t sets;                 /* at least 1 */
    struct task_result one;      /* results of a single set, */
    struct task_result *results; /* or of several; &one, or on the heap */
    size_t from;                 /* the first set to run: those before it ended with a worker's death */
    size_t given;                /* results already given back */
    size_t step;
};

struct task_list {
    struct task *first, *last;
    size_t count;
};

/* Why we ended a worker; CAUSE_NONE when it ended by itself. */
enum cause { CAUSE_NONE, CAUSE_HANG, CAUSE_GARBAGE, CAUSE_MEMORY, CAUSE_RETIRED };

enum seat_state { SEAT_STARTING, SEAT_READY, SEAT_ENDING };

enum {
    TASKS_AHEAD = 6,  /* the one under way, and what keeps it busy while we are away */
    TASKS_ENOUGH = 3, /* so many keep it busy while we nap */
    NAP_NS = 300000,
};

/* A worker at work for an engine. */
struct seat {
    struct worker worker;
    int engine;
    enum seat_state state;
    enum cause cause;
    char *reason; /* text for the cause; heap, may be NULL */
    struct task *tasks[TASKS_AHEAD];
    size_t n_tasks;
    uint64_t sent, answered;      /* request numbers, hello is 1 */
    int64_t head_since;           /* when the request not yet answered became the next */
    int64_t excused;              /* of the time since, during which it may have waited for us */
    int64_t last_bytes;           /* when its stdout last gave anything */
    int64_t kill_at;              /* when SIGKILL is sent; 0: never */
    int64_t watch_at;             /* next look at its memory */
    uint64_t log_mark;            /* its stderr when the present task began, or a little before */
    uint64_t log_now, log_before; /* its stderr at the last two looks */
    size_t jobs;                  /* finished */
    bool tired;                   /* due for recycling */
    bool succeeded;               /* a successor was started */
    bool finished;                /* to be removed from the pool */
};

struct engine {
    const struct engine_spec *spec;
    struct engine_info info;
    Assay__Welcome *welcome;
    struct task_list queue;
    size_t pending; /* submitted and not yet given back */
    size_t memory;
    int failures; /* to start, in a row */
    bool broken;  /* does not start: jobs fail with `start` */
    struct result start;
    struct pool_counters counters;
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
    struct pollfd *polls;
    size_t poll_room;
    uint8_t *buffer; /* for reading, shared by all workers */
    int64_t left;    /* when the workers were last looked after */
};

enum { POOL_READ = 1 << 20 };

struct task *list_pop(struct task_list *list);
void list_push(struct task_list *list, struct task *task);
void list_push_front(struct task_list *list, struct task *task);

/* pool.c, for supervise.c */
void pool_finish(struct pool *pool, struct task *task);
void pool_dispatch(struct pool *pool, int engine);

/* supervise.c, for pool.c */
void seat_readable(struct pool *pool, struct seat *seat); /* stdout has something, or ended */
void seat_write(struct pool *pool, struct seat *seat);
void seat_end(struct pool *pool, struct seat *seat, enum cause cause, const char *reason);
void seat_conclude(struct pool *pool, struct seat *seat); /* it has ended: blames, hands on, frees */
void seat_check(struct pool *pool, struct seat *seat, int64_t now);
int64_t seat_due(const struct pool *pool, const struct seat *seat); /* when seat_check should come next */
void engine_failed(struct pool *pool, int engine, const struct result *start);

#endif
