/*
 * Where a state changes along a line of releases, with few looks.
 *
 * Binary search alone sees one change and takes for granted that there is no other. So a grid of evenly
 * spread places is looked at first, both ends included, and every stretch between two that differ is bisected
 * until the change is between neighbours. What cannot be missed: every stretch at least `step` long, and
 * every shorter one that lies at a change. A stretch shorter than that between two equal neighbours of the
 * grid is missed: step 1 looks everywhere and misses nothing.
 */
#ifndef RELEASES_CHANGE_SEARCH_H
#define RELEASES_CHANGE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks at `count` places at once and fills in states[place]; 0, or -1 to stop. */
typedef int (*change_look)(void *context, const size_t *places, size_t count, uint64_t *states);

/*
 * Fills in the states of places 0 ... n-1; places not looked at get those of their neighbours. *looked (of n,
 * may be NULL) tells which were. -1 when a look failed.
 */
int change_search(uint64_t *states, bool *looked, size_t n, size_t step, change_look look, void *context);

#endif
