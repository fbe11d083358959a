/*
 * The answers to an original case, kept while its rewritten forms are under way.
 *
 * An origin is shared: by the cache, by each rewritten case under way and by each finished one. The cache
 * keeps the last few, so that rewritten forms of one case that are submitted one after the other, with others
 * between them, run the original once.
 */
#ifndef TRIAL_ORIGIN_H
#define TRIAL_ORIGIN_H

#include "trial/trial.h"

struct origin {
    struct test_case *test;
    bool back;              /* it has run; else all below is empty */
    struct trial_done done; /* judged and settled like any case */
    size_t shares;          /* beyond the first */
    size_t size;            /* of the results, in bytes */
    uint64_t used;          /* when it was last asked for */
};
void origin_release(struct origin *origin); /* gives up one share; accepts NULL */

/* Takes over the finished original. */
void origin_set(struct origin *origin, const struct trial_done *done);

enum { ORIGINS_KEPT = 64 };

struct origins {
    size_t count;
    struct origin *kept[ORIGINS_KEPT];
    uint64_t clock;
};
void origins_release(struct origins *origins);

/* A share of the origin of this case, which must be run first when *is_new. */
struct origin *origins_find(struct origins *origins, struct test_case *test, bool *is_new);

/* Drops one that could not be run; shares of it stay. */
void origins_forget(struct origins *origins, const struct origin *origin);

#endif
