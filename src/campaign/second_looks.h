/*
 * Cases of a leased range that are run a second time, in fresh processes, before the range is returned: those
 * that showed something new to the campaign, and those that came to nothing by a mishap (trial/trial.h).
 * Which these are does not depend on the order in which the cases came back.
 */
#ifndef CAMPAIGN_SECOND_LOOKS_H
#define CAMPAIGN_SECOND_LOOKS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct second_look {
    size_t number; /* place in the range */
    const char *recipe;
    bool mishap;        /* the case was neither recorded nor counted */
    uint64_t signature; /* without a mishap: of a finding that the case showed, perhaps one of several */
};

/* All zero but for the arena. */
struct second_looks {
    struct arena arena;
    struct second_look *looks;
    size_t count, capacity;
};

void second_looks_init(struct second_looks *looks);
void second_looks_release(struct second_looks *looks);
void second_looks_clear(struct second_looks *looks);
void second_looks_add(struct second_looks *looks, const struct second_look *look); /* copies the recipe */
void second_looks_sort(struct second_looks *looks); /* by number; then mishaps first */

#endif
