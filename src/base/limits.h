/*
 * Limits on what this process itself computes from a model or a file: the time of one piece of work (an
 * evaluation, a set of inputs) and the memory of all of them. Engines have the same limits from their pool;
 * those of libonnx, which runs in a fork, are set by model/isolated.h from what is set here.
 *
 * Loops that may be long ask limits_late and leave off; whoever began the work then fails with ERROR_LIMIT.
 * Work that does not ask in time ends the process: nothing goes on for ever.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct limits {
    double seconds; /* for a piece of work; 0: no limit */
    size_t bytes;   /* of the heap; 0: no limit */
};

/* For the whole process, from now on. Without it there are none, as in engines, which their pool watches. */
void limits_set(struct limits limits);
struct limits limits_get(void);

/* A piece of work begins and ends. Within another one, it is a part of that. */
void limits_begin(void);
void limits_end(void);

/* Whether the time of the work is over; cheap. `steps`: roughly how many operations were done since the last
 * call. What a late kernel leaves behind is not a result. */
bool limits_late(size_t steps);

/* Fails when the time of the work is over; looks at the clock. */
int limits_check(struct error *err);

/* Fails when the heap has no room for that many more items within the limit. */
int limits_room(size_t count, size_t size, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
