/*
 * Whether an engine failed because of the memory it was allowed, and not by itself. An engine whose
 * allocation fails may crash, exit or report an error, each of which looks like a bug of its own. So a
 * failure that may have come of the limit is seen again before anybody hears of it: without the limit on its
 * address space, where what it takes is watched all the same, and, if it then ends otherwise and had more
 * address space than the limit, with the limit once more. What never had so much was not stopped by it: it
 * fails now and then, as what reads beyond its memory does.
 */
#ifndef ENGINE_LIMIT_CHECK_H
#define ENGINE_LIMIT_CHECK_H

#include "engine/seat.h"

/* A set of inputs of a finished task that is looked at again. */
struct limit_check {
    struct task *of; /* kept back meanwhile */
    size_t set;
    struct task *again; /* the set alone; NULL once the seat has it */
    struct seat *seat;
    bool limited; /* the look is the second one, with the limit */
};

enum limit_answer {
    LIMIT_STANDS, /* the failure is the engine's own, or nothing shows otherwise */
    LIMIT_AGAIN,  /* it is to be seen with the limit once more */
    LIMIT_MEMORY, /* the memory that it is allowed is not enough */
};

/* Whether a result may have come of the limit: a crash, or an error that speaks of memory. */
bool limit_suspected(const struct result *result);

/* What a look showed. */
struct limit_look {
    enum outcome outcome; /* OUTCOME_UNTESTED: it gave none */
    bool limited;         /* it was the second one, with the limit */
    bool within;          /* all its address space was within the limit, although it had none */
};

enum limit_answer limit_conclude(enum outcome first, const struct limit_look *look);

/* One set of a task as a task of its own, on the heap. */
struct task *limit_task(const struct task *task, size_t set);

/* Turns the results of the set, after a failed load of all sets, into OUTCOME_MEMORY. Returns how many. */
size_t limit_blame(struct task *task, size_t set, size_t memory);

/* Where a process crashed, from the stack that it printed, without its addresses; 0: it printed none. */
uint64_t limit_place(const struct result *result);

#endif
