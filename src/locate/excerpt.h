/*
 * The part of a case that is at fault, as a case of its own: for models that are too large to be carried
 * about whole.
 *
 * The nodes that localize blames (or whose refusal it finds) are cut out; what they use of the rest is an
 * input, with the reference's value. Whether the part still fails is for the caller to see.
 */
#ifndef LOCATE_EXCERPT_H
#define LOCATE_EXCERPT_H

#include "case/test_case.h"
#include "engine/pool.h"

/* ERROR_NOT_FOUND when no node is to blame. *part is the caller's to free; NULL after a failure. */
int excerpt_make(struct test_case **part, const struct test_case *whole, struct pool *pool, int engine,
                 struct error *err);

#endif
