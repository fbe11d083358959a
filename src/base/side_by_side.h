/*
 * Work on several cores at once: pieces that do not depend on each other, in forks of this process. What a
 * piece changes in memory is lost with its fork; only its result, of a fixed size and without pointers, comes
 * back.
 */
#ifndef BASE_SIDE_BY_SIDE_H
#define BASE_SIDE_BY_SIDE_H

#include <stdbool.h>
#include <stddef.h>

/* How many processes of this program may compute at the same time, from now on; 0: one for each core but one,
 * which the engines have. It is 1 until it is set. */
void side_by_side_use(size_t processes);
size_t side_by_side_processes(void);

/* Computes a piece into *result, which is zeroed. False when it cannot be done in a fork, as it needs an
 * engine. */
typedef bool side_by_side_work(void *context, size_t piece, void *result);

struct side_by_side {
    size_t count, size;
    unsigned char *done; /* by piece; shared by all forks, as the results behind it are */
    unsigned char *results;
    void *shared;
    size_t bytes;
};

/*
 * Has pieces 0 to count - 1 computed, `chunk` that follow each other by the same process, here and in forks.
 * Returns when all have ended. A piece may be missing afterwards: whoever needs it computes it, and so does
 * everybody where there is but one process, or no memory. The caller must have only one thread.
 */
void side_by_side_run(struct side_by_side *run, size_t count, size_t chunk, size_t size,
                      side_by_side_work *work, void *context);

/* The result of a piece; NULL: there is none. */
const void *side_by_side_result(const struct side_by_side *run, size_t piece);

void side_by_side_release(struct side_by_side *run); /* accepts a zeroed one */

#endif
