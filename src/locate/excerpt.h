/*
 * The part of a case that is at fault, as a case of its own. For models that are too large to be reduced or
 * reported as a whole.
 *
 * The nodes that localize blames (or that it finds to be refused) are cut out. The values they use from the
 * rest of the model become inputs, with the reference's values. The caller has to check whether the part
 * still fails.
 */
#ifndef LOCATE_EXCERPT_H
#define LOCATE_EXCERPT_H

#include "case/test_case.h"
#include "engine/pool.h"

/* Fails with ERROR_NOT_FOUND when no node is to blame. The caller frees *part, which is NULL after a failure.
 */
int excerpt_make(struct test_case **part, const struct test_case *whole, struct pool *pool, int engine,
                 struct error *err);

#endif
