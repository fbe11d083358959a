/*
 * Which kind of case to draw next, by what the kinds found so far for what they cost.
 *
 * A kind is a number of blocks: a single operator, a small graph, a large one. Each gets a share of the work
 * that grows with the square of its yield, the findings that it was the first to meet for each unit of work,
 * and never less than a small share: what yields nothing now may be all that is left when the others are
 * exhausted. The cost of a case is counted in blocks, not in seconds, so that the same findings lead to the
 * same choices on any machine.
 */
#ifndef GUIDE_YIELD_H
#define GUIDE_YIELD_H

#include "base/error.h"
#include "base/random.h"
#include "base/str.h"

enum { YIELD_KINDS = 3 };

struct yield {
    uint64_t cost[YIELD_KINDS], found[YIELD_KINDS];
};

/* Draws a kind. single: cases of one operator can be made at all. */
size_t yield_choose(const struct yield *yield, bool single, struct rng *rng);

/* How many blocks a case of that kind is to have; 0: it is a single operator. */
size_t yield_blocks(size_t kind, struct rng *rng);

void yield_add_case(struct yield *yield, size_t kind, size_t blocks);
void yield_add_found(struct yield *yield, size_t kind);

/* What was added since `before` (all zero: everything), as short text; yield_fold goes past it, and adds it.
 */
void yield_write(const struct yield *yield, const struct yield *before, struct str *out);
int yield_fold(struct yield *yield, const char **text, struct error *err);

#endif
