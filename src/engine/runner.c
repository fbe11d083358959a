#include "engine/runner.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AHEAD = 32 };

/* Of which engine a job is; jobs point to it. */
struct ticket {
    struct flight *flight;
    size_t entry; /* place in run.engines; n_engines: the reference */
    int crashes;  /* so far */
};

/* A case under way, in one allocation with all it points to but the results' own. */
struct flight {
    struct run run; /* first: run_free frees the flight */
    enum ask_reference ask;
    size_t left; /* results not back yet */
    struct flight *next, *before;
    struct flight *next_complete;
    struct ticket *tickets;
};

struct runner {
    const struct panel *panel;
    struct runner_options options;
    struct flight *first, *last; /* all under way, in the order of submission */
    struct flight *complete, **complete_end;
    size_t pending, strays;
};

struct runner *runner_new(const struct panel *panel, const struct runner_options *options)
{
    struct runner *runner = memory_zeroed(1, sizeof *runner);
    runner->panel = panel;
    runner->options = *options;
    if (!runner->options.ahead)
        runner->options.ahead = DEFAULT_AHEAD;
    runner->complete_end = &runner->complete;
    return runner;
}

static size_t count_sets(const struct job *job)
{
    return job->n_sets ? job->n_sets : 1;
}

static struct flight *flight_new(const struct job *job, const int *engines, size_t count)
{
    size_t sets = count_sets(job), results = sets * (count + 1);
    struct flight *flight = memory_zeroed(1, sizeof *flight + results * sizeof(struct result) +
                                                 (count + 1) * sizeof(struct ticket) + count * sizeof(int) +
                                                 (count + 1) * sizeof(bool));
    /* What needs the larger alignment stands first. */
    flight->run.results = (struct result *)(void *)(flight + 1);
    flight->tickets = (struct ticket *)(void *)(flight->run.results + results);
    int *numbers = (int *)(void *)(flight->tickets + count + 1);
    flight->run.repeats_differ = (bool *)(void *)(numbers + count);
    flight->run.job = *job;
    flight->run.n_engines = count;
    flight->run.engines = numbers;
    if (count)
        memcpy(numbers, engines, count * sizeof *numbers);
    for (size_t i = 0; i < results; i++)
        result_init(&flight->run.results[i]);
    for (size_t i = 0; i <= count; i++)
        flight->tickets[i] = (struct ticket){.flight = flight, .entry = i};
    return flight;
}

struct result run_take(struct run *run, size_t set, size_t n)
{
    struct result *place = run_result(run, set, n), result = *place;
    result_init(place);
    return result;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < count_sets(&run->job) * (run->n_engines + 1); i++)
        result_release(&run->results[i]);
    free(run);
}

static void link_flight(struct runner *runner, struct flight *flight)
{
    flight->before = runner->last;
    if (runner->last)
        runner->last->next = flight;
    else
        runner->first = flight;
    runner->last = flight;
    runner->pending++;
}

static void unlink_flight(struct runner *runner, struct flight *flight)
{
    if (flight->before)
        flight->before->next = flight->next;
    else
        runner->first = flight->next;
    if (flight->next)
        flight->next->before = flight->before;
    else
        runner->last = flight->before;
    runner->pending--;
}

void runner_free(struct runner *runner)
{
    if (!runner)
        return;
    while (runner->first) {
        struct flight *flight = runner->first;
        unlink_flight(runner, flight);
        run_free(&flight->run);
    }
    free(runner);
}

static void submit_entry(struct runner *runner, struct flight *flight, size_t entry)
{
    bool arbiter = entry == flight->run.n_engines;
    struct job job = flight->run.job;
    job.user = &flight->tickets[entry];
    job.engine = arbiter ? runner->panel->reference : flight->run.engines[entry];
    if (arbiter) {
        job.bounds = true;
        job.repeat = 0;
    }
    flight->left += count_sets(&job);
    pool_submit(runner->panel->pool, &job);
}

static void ask_reference(struct runner *runner, struct flight *flight)
{
    if (flight->run.asked || runner->panel->reference < 0)
        return;
    flight->run.asked = true;
    submit_entry(runner, flight, flight->run.n_engines);
}

static void add_complete(struct runner *runner, struct flight *flight)
{
    if (runner->options.in_order)
        return;
    *runner->complete_end = flight;
    runner->complete_end = &flight->next_complete;
}

void runner_submit_to(struct runner *runner, const struct job *job, const int *engines, size_t count,
                      enum ask_reference ask)
{
    assert(runner->options.crash_tries <= 1 || job->n_sets <= 1);
    struct flight *flight = flight_new(job, engines, count);
    flight->ask = ask;
    link_flight(runner, flight);
    for (size_t i = 0; i < count; i++)
        submit_entry(runner, flight, i);
    if (ask == ASK_ALWAYS)
        ask_reference(runner, flight);
    if (!flight->left)
        add_complete(runner, flight);
}

void runner_submit(struct runner *runner, const struct job *job, enum ask_reference ask)
{
    runner_submit_to(runner, job, runner->panel->engines, runner->panel->count, ask);
}

bool runner_room(const struct runner *runner)
{
    return runner->pending < runner->options.ahead;
}

size_t runner_pending(const struct runner *runner)
{
    return runner->pending;
}

size_t runner_strays(const struct runner *runner)
{
    return runner->strays;
}

/* Whether the case goes to the engine once more, in the worker's successor. */
static bool try_again(struct runner *runner, struct ticket *ticket, const struct result *result)
{
    if (result->outcome != OUTCOME_CRASH) {
        runner->strays += ticket->crashes > 0;
        return false;
    }
    if (++ticket->crashes >= runner->options.crash_tries)
        return false;
    submit_entry(runner, ticket->flight, ticket->entry);
    return true;
}

/* Takes one result from the pool. */
static int receive(struct runner *runner, struct error *err)
{
    struct job job;
    struct result result;
    bool differ = false;
    int status = pool_next(runner->panel->pool, -1, &job, &result, &differ, err);
    if (status < 0)
        return -1;
    if (status == 0)
        return error_set(err, ERROR_IO, "an answer of an engine was lost");
    struct ticket *ticket = job.user;
    struct flight *flight = ticket->flight;
    struct run *run = &flight->run;
    bool from_engine = ticket->entry < run->n_engines;
    flight->left--;
    if (from_engine && flight->ask == ASK_WHEN_NEEDED && result.outcome != OUTCOME_UNSUPPORTED)
        ask_reference(runner, flight);
    if (from_engine && try_again(runner, ticket, &result)) {
        result_release(&result);
        return 0;
    }
    *run_result(run, job.set, ticket->entry) = result;
    if (from_engine)
        run->repeats_differ[ticket->entry] |= differ;
    if (!flight->left)
        add_complete(runner, flight);
    return 0;
}

static struct flight *next_complete(const struct runner *runner)
{
    if (!runner->options.in_order)
        return runner->complete;
    return runner->first->left ? NULL : runner->first;
}

int runner_next(struct runner *runner, struct run **run, struct error *err)
{
    struct flight *flight;
    if (!runner->pending)
        return 0;
    while (!(flight = next_complete(runner)))
        if (receive(runner, err))
            return -1;
    if (!runner->options.in_order) {
        runner->complete = flight->next_complete;
        if (!runner->complete)
            runner->complete_end = &runner->complete;
    }
    unlink_flight(runner, flight);
    *run = &flight->run;
    return 1;
}
