/*
 * A seat is one worker with its work: the tasks it was given, its answers, its limits, and what its end means
 * for its tasks.
 *
 * A seat knows nothing of the pool. It reports in `news`, which the pool reads after each round of polling:
 * finished tasks, tasks that another worker must take over, and whether the engine has started or failed to.
 */
#ifndef ENGINE_SEAT_H
#define ENGINE_SEAT_H

#include "engine/task.h"
#include "engine/worker.h"

/* Why Assay ended the worker; CAUSE_NONE when it ended by itself. */
enum cause { CAUSE_NONE, CAUSE_HANG, CAUSE_GARBAGE, CAUSE_MEMORY, CAUSE_RETIRED };

enum seat_state { SEAT_STARTING, SEAT_READY, SEAT_ENDING };

struct seat_limits {
    double deadline, start_deadline; /* seconds to the last byte of an answer, and of that to hello */
    size_t memory;                   /* bytes */
    size_t recycle;                  /* jobs after which it should be replaced */
};

struct seat_news {
    bool any;
    struct task_list finished; /* tasks with all their results */
    /* Tasks not begun or not completed: another worker takes them before all others. */
    struct task_list returned;
    size_t answers;          /* to runs and gradients */
    Assay__Welcome *welcome; /* its answer to hello, to be freed by the pool; NULL: none came */
    bool start_failed;       /* it did not start */
    bool hopeless;           /* it did not start, and another attempt would fail as well */
    struct result start;     /* why it did not start */
    uint64_t start_ns;       /* processor time of its start, where it tells */
    bool ended;              /* it ended by itself or because of a fault */
    enum outcome outcome;    /* how it ended */
};

/* One half of the shared memory: while the worker is at the request in one, Assay fills the other. */
struct seat_half {
    uint64_t request;       /* the last one that used it; it is free when that one is answered */
    struct wire_place room; /* what that request offered for its reply */
};

struct seat {
    struct worker worker;
    /* Its number in the pool; -1: it is none of the pool's, but runs a case again that failed at a limit
     * (limit_check.h). */
    int engine;
    const struct seat_limits *limits;
    enum seat_state state;
    enum cause cause;
    char *reason;           /* text for the cause; heap, may be NULL */
    struct task_list tasks; /* tasks given and not finished; the first is being worked on */
    struct task *unsent;    /* the first task with requests not yet put into the pipe; NULL: none */
    size_t unsent_step;     /* the first of these requests */
    size_t stays; /* job.stay of the model that is loaded once all requests sent are answered; 0: none */
    struct seat_half halves[2];
    int next_half;
    uint64_t sent, answered;       /* numbers of the last request sent and answered; hello is 1 */
    uint64_t process_ns;           /* processor time that it had told of by its last answer */
    int64_t head_since;            /* when the worker began the request that it has to answer next */
    int64_t excused;               /* the part of the time since then in which it may have waited for Assay */
    int64_t kill_at;               /* when SIGKILL is sent; 0: never */
    int64_t watch_at, watch_every; /* when its memory is checked next, and the time between */
    uint64_t log_mark;            /* position in its stderr when the present task began, or a little before */
    uint64_t log_now, log_before; /* position in its stderr at the last two rounds */
    size_t jobs;                  /* finished */
    int64_t spent, pace;          /* time of the present task so far, and of a task, a running mean */
    bool tired;                   /* it should be replaced */
    bool outdated;                /* it cannot read what was added to the pool's view: no further jobs */
    bool succeeded;               /* the pool has started a successor */
    bool finished;                /* the process has ended and only `news` is left */
    struct seat_news news;
};

/* Starts the worker and sends hello. The limits must outlive the seat. */
int seat_start(struct seat **seat, const struct worker_box *box, const struct seat_limits *limits,
               struct error *err);
void seat_free(struct seat *seat); /* only after the worker's end, when its tasks and news have been taken */

/* Whether it has been started and has neither answered hello nor failed to. */
bool seat_is_starting(const struct seat *seat);

/* Gives it a task. All requests of the task are written at once, so that the worker need not wait for Assay
 * between them. Those that need the shared memory are written one by one, each while the worker is busy with
 * the one before. */
void seat_give(struct seat *seat, struct task *task);

/* To be called at the beginning of each round: `away` is the time since the last round, `readable` whether
 * there is output to read now. A worker with unsent input or unread output may have waited for Assay during
 * that time, which is then not counted against it. */
void seat_look(struct seat *seat, int64_t away, bool readable);

/* Reads stdout, which is readable or at its end. The buffer is used only during the call. */
void seat_read(struct seat *seat, uint8_t *buffer, size_t size);
void seat_write(struct seat *seat); /* writes pending requests, as far as its stdin takes them */

/* seat_check enforces the limits; seat_due says when it should be called next. */
void seat_check(struct seat *seat, int64_t now);
int64_t seat_due(const struct seat *seat);

/* Tells the worker to end, or kills it, depending on the cause. Tasks that it has not begun are returned. */
void seat_end(struct seat *seat, enum cause cause, const char *reason);

/* To be called when the process has ended (worker_reap): gives the task under way its result, returns the
 * other tasks, sets `finished`. */
void seat_conclude(struct seat *seat, uint8_t *buffer, size_t size);

#endif
