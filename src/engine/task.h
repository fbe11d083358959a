/*
 * A job on its way through a pool: its place in the dialogue with a worker, and its results so far. Tasks are
 * handed on in lists: queued, at work, finished.
 */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include "engine/job.h"
#include "engine/outcome.h"

struct task_result {
    struct result result;
    bool differ;
};

/* Its requests are load, 1 + repeat runs for each set not yet run, unload; `step` is the
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

/* Makes *task, whatever it was, the beginning of a job. */
void task_init(struct task *task, const struct job *job);
void task_release(struct task *task); /* with the results not given back */

/* The request that unloads, counted from the load, which is 0. */
size_t task_last_step(const struct task *task);

/* The set that the present step is about; the load counts as the first's, the unload as the last's. */
size_t task_set(const struct task *task);

/* Whether the present step, a run, repeats one that has given the result. */
bool task_is_repeat(const struct task *task);

struct task *task_list_pop(struct task_list *list); /* the first, or NULL */
void task_list_push(struct task_list *list, struct task *task);
void task_list_push_front(struct task_list *list, struct task *task);

/* Moves all of `from` behind, or before, those of `list`; `from` is empty then. */
void task_list_append(struct task_list *list, struct task_list *from);
void task_list_prepend(struct task_list *list, struct task_list *from);

#endif
