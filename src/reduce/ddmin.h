/*
 * Delta debugging: a smallest set of items with which something still holds.
 *
 * Chunks of items are left out, half of them first, then quarters, down to single ones. All chunks of a round
 * are asked about at once, so that the one who answers can work on several; of those that hold the first in a
 * fixed order is taken, so the result does not depend on who answers sooner. At the end no single item can be
 * left out (unless a test fails or time is up).
 */
#ifndef REDUCE_DDMIN_H
#define REDUCE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which is the first of `count` candidates with which it still holds? A candidate is an array of flags, one
 * an item: kept or not. Returns its number, `count` when none holds, -1 to stop.
 */
typedef long (*ddmin_test)(void *context, const bool *const *candidates, size_t count);

/* Starts from the items kept in `kept` (with all of which it holds) and clears what can go. 0, or -1 when the
 * test asked to stop: `kept` is then the best so far. */
int ddmin(bool *kept, size_t n, ddmin_test test, void *context);

#endif
