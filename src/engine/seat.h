/*
 * One worker at work: the tasks it was given, what it says, how long it takes and how it ends, and what that
 * means for its tasks.
 *
 * A seat knows nothing of the pool. Whatever concerns others is left in `news`, which the pool takes after
 * each look: tasks that are finished, tasks to be given to another worker, whether the engine has come up or
 * does not start.
 */
#ifndef ENGINE_SEAT_H
#define ENGINE_SEAT_H

#include "engine/task.h"
#include "engine/worker.h"

/* Why we ended a worker; CAUSE_NONE when it ended by itself. */
enum cause { CAUSE_NONE, CAUSE_HANG, CAUSE_GARBAGE, CAUSE_MEMORY, CAUSE_RETIRED };

enum seat_state { SEAT_STARTING, SEAT_READY, SEAT_ENDING };

struct seat_limits {
    double deadline, start_deadline; /* seconds for a request, and for the answer to hello */
    size_t memory;                   /* bytes */
    size_t recycle;                  /* jobs until it is tired */
};

struct seat_news {
    bool any;
    struct task_list finished; /* with all their results */
    struct task_list returned; /* not begun, or not to the end: for another worker, before all others */
    Assay__Welcome *welcome;   /* it is up; to be freed */
    bool start_failed;         /* it did not come up, */
    bool hopeless;             /* would not the next time, */
    struct result start;       /* and why */
    bool ended;                /* by itself or for a fault, */
    enum outcome outcome;      /* and how */
};

struct seat {
    struct worker worker;
    int engine; /* the pool's number of it */
    const struct seat_limits *limits;
    enum seat_state state;
    enum cause cause;
    char *reason;                 /* text for the cause; heap, may be NULL */
    struct task_list tasks;       /* given and not finished; the first is under way */
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
    bool succeeded;               /* the pool has started a successor */
    bool finished;                /* it is gone, and nothing is left of it but news */
    struct seat_news news;
};

/* Starts the worker and says hello. The limits must outlive it. */
int seat_start(struct seat **seat, const struct worker_box *box, const struct seat_limits *limits,
               struct error *err);
void seat_free(struct seat *seat); /* after the worker's end; tasks and news must have been taken */

/* From its start until hello is answered, or until its failure to do so is known. */
bool seat_is_starting(const struct seat *seat);

/* Writes all requests of a task in one go: the worker need not wait for us between them. */
void seat_give(struct seat *seat, struct task *task);

/* At the beginning of each look: how long nobody looked, and whether it has something to read now. While the
 * caller was away, a worker with unsent input or unread output may have waited for us. */
void seat_look(struct seat *seat, int64_t away, bool readable);

/* Reads stdout, which has something or ended; the buffer is only used meanwhile. */
void seat_read(struct seat *seat, uint8_t *buffer, size_t size);
void seat_write(struct seat *seat); /* what is pending, as far as its stdin takes it */

/* Holds it to its limits. seat_due: when that should be done next. */
void seat_check(struct seat *seat, int64_t now);
int64_t seat_due(const struct seat *seat);

/* Tells the worker to end, or makes it; what it has not begun is returned. */
void seat_end(struct seat *seat, enum cause cause, const char *reason);

/* The process has ended (worker_reap): blames, returns what is left, sets `finished`. */
void seat_conclude(struct seat *seat, uint8_t *buffer, size_t size);

#endif
