/*
 * Delta debugging: finds a small set of items with which a property still holds.
 *
 * Chunks of items are left out: first halves, then quarters, down to single items. All candidates of a round
 * are given to the test at once, so that it can work on several of them. Of those that hold, the first in a
 * fixed order is taken, so that the result does not depend on which test finishes first. At the end no single
 * item can be left out, unless the test asked to stop.
 */
#ifndef BASE_DDMIN_H
#define BASE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the first of `count` candidates for which the property holds. A candidate is an array of flags, one
 * for each item: kept or not. Returns its number, `count` when none holds, -1 to stop.
 */
typedef long (*ddmin_test)(void *context, const bool *const *candidates, size_t count);

/* Starts from the items that are set in `kept`, for which the property must hold, and clears those that can
 * be left out. Returns 0, or -1 when the test asked to stop; `kept` is then the smallest set so far. */
int ddmin(bool *kept, size_t n, ddmin_test test, void *context);

#endif
