/*
 * Finds where a state (the verdict) changes along a line of places (releases), looking at few of them.
 *
 * Binary search alone sees one change and assumes that there is no other. So every `step`-th place is looked
 * at first, both ends included; where two neighbours of this grid differ, the places between them are
 * bisected until the change is between neighbouring places. This finds every stretch that is at least `step`
 * long, and a shorter one beside a change that was found. It misses a stretch shorter than `step` between two
 * places of the grid with equal states. Step 1 looks at every place and misses nothing.
 */
#ifndef RELEASES_CHANGE_SEARCH_H
#define RELEASES_CHANGE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks at `count` places at once and sets states[place] of each. Returns 0, or -1 to stop the search. */
typedef int (*change_look)(void *context, const size_t *places, size_t count, uint64_t *states);

/*
 * Fills in the states of places 0 ... n-1; a place that was not looked at gets the state of its neighbours.
 * looked[] (n of them; may be NULL) tells which were. Returns -1 when a look returned -1.
 */
int change_search(uint64_t *states, bool *looked, size_t n, size_t step, change_look look, void *context);

#endif
