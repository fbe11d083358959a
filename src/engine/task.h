/*
 * A task is a job inside a pool: how far the exchange with the worker has come, and the results so far. A
 * task is in one list at a time (queued, being worked on, finished), which links tasks by `next` and does not
 * own them.
 */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include "engine/job.h"
#include "engine/outcome.h"

struct task_result {
    struct result result;
    bool differ; /* a repeated run gave different bytes */
};

/* The requests of a task are load, then 1 + repeat runs for each set not yet run, then unload. `step` counts
 * the requests answered, so it is the number of the one to be answered next. The load is left out where the
 * model is still loaded, and the unload where it is to stay so (job.stay). */
struct task {
    struct task *next; /* in its list */
    struct job job;
    size_t sets;                 /* at least 1 */
    struct task_result one;      /* the result of a single set */
    struct task_result *results; /* results of all sets: &one, or an array on the heap */
    size_t from;  /* the first set to run; the sets before it already have results from a worker that died */
    size_t given; /* how many results were already given back */
    size_t step;
    size_t checked; /* sets whose failures are known not to come of the memory limit (limit_check.h) */
};

struct task_list {
    struct task *first, *last;
    size_t count;
};

/* Initialises *task for a job, whatever it held before. */
void task_init(struct task *task, const struct job *job);
void task_release(struct task *task); /* and the results not given back */

/* The number of the unload request, counted from the load, which is 0. */
size_t task_last_step(const struct task *task);

/* The set to which a step, or the present one, belongs; the load belongs to the first set, the unload to the
 * last. */
size_t task_set_at(const struct task *task, size_t step);
size_t task_set(const struct task *task);

/* Whether the present step, which must be a run, repeats an earlier run of the same set. */
bool task_is_repeat(const struct task *task);

struct task *task_list_pop(struct task_list *list); /* the first, or NULL */
void task_list_push(struct task_list *list, struct task *task);
void task_list_push_front(struct task_list *list, struct task *task);

/* Moves all tasks of `from` to the end, or to the front, of `list`; `from` is then empty. */
void task_list_append(struct task_list *list, struct task_list *from);
void task_list_prepend(struct task_list *list, struct task_list *from);

#endif
