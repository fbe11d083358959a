#include "engine/task.h"

#include "base/memory.h"

#include <stdlib.h>

void task_init(struct task *task, const struct job *job)
{
    *task = (struct task){.job = *job, .sets = job->n_sets ? job->n_sets : 1};
    task->results = task->sets == 1 ? &task->one : memory_zeroed(task->sets, sizeof *task->results);
    for (size_t i = 0; i < task->sets; i++)
        result_init(&task->results[i].result);
}

void task_release(struct task *task)
{
    for (size_t i = task->given; i < task->sets; i++)
        result_release(&task->results[i].result);
    if (task->results != &task->one)
        free(task->results);
}

static size_t runs_of_a_set(const struct task *task)
{
    return 1 + (size_t)task->job.repeat;
}

size_t task_last_step(const struct task *task)
{
    return 1 + (task->sets - task->from) * runs_of_a_set(task); /* load, runs, unload */
}

size_t task_set_at(const struct task *task, size_t step)
{
    size_t set = task->from + (step ? (step - 1) / runs_of_a_set(task) : 0);
    return set < task->sets ? set : task->sets - 1;
}

size_t task_set(const struct task *task)
{
    return task_set_at(task, task->step);
}

bool task_is_repeat(const struct task *task)
{
    return (task->step - 1) % runs_of_a_set(task) != 0;
}

struct task *task_list_pop(struct task_list *list)
{
    struct task *task = list->first;
    if (task) {
        list->first = task->next;
        list->count--;
        if (!list->first)
            list->last = NULL;
        task->next = NULL;
    }
    return task;
}

void task_list_push(struct task_list *list, struct task *task)
{
    task->next = NULL;
    if (list->last)
        list->last->next = task;
    else
        list->first = task;
    list->last = task;
    list->count++;
}

void task_list_push_front(struct task_list *list, struct task *task)
{
    task->next = list->first;
    list->first = task;
    if (!list->last)
        list->last = task;
    list->count++;
}

void task_list_append(struct task_list *list, struct task_list *from)
{
    if (!from->first)
        return;
    if (list->last)
        list->last->next = from->first;
    else
        list->first = from->first;
    list->last = from->last;
    list->count += from->count;
    *from = (struct task_list){0};
}

void task_list_prepend(struct task_list *list, struct task_list *from)
{
    task_list_append(from, list);
    *list = *from;
    *from = (struct task_list){0};
}
