/*
 * A model rewritten as an optimiser may: by formulas that are the same for real numbers. Factors are drawn
 * through products and sums, sums and products taken in another order, what has an operator of its own
 * computed by it.
 */
#ifndef BENCH_REWRITES_H
#define BENCH_REWRITES_H

#include "base/random.h"
#include "bounds/bounded.h"
#include "model/model.h"

/* What is known of a value by its name: type and shape; NULL: nothing. */
typedef const struct bounded *(*rewrites_known)(const void *context, const char *name);

/* Rewrites up to `most` places; which ones go into `told` ("mul-through MatMul v3; ..."). How many there
 * were. */
size_t rewrite(struct model *model, size_t most, struct rng *rng, rewrites_known known, const void *context,
               char *told, size_t size);

#endif
