/*
 * The cases of an exhaustive campaign: all values of all types, operator by operator (generate/sweep.h), in
 * place of drawn ones.
 *
 * Case number i is item i of a list, or of a shard of it, which follows from the options alone. So a campaign
 * goes on where it stopped, and any number of workers share one, as with drawn cases; there is nothing to
 * learn from what becomes of a case.
 */
#ifndef CAMPAIGN_SWEEP_SOURCE_H
#define CAMPAIGN_SWEEP_SOURCE_H

#include "campaign/case_source.h"
#include "generate/sweep.h"

/* Every `of`th item of the list, beginning with number `shard` - 1. */
struct sweep_options {
    size_t shard, of; /* both 0: all */
};

/* Fails with ERROR_NOT_FOUND when the options leave no operator to sweep. *count: how many cases there are.
 */
int sweep_source_new(struct case_source *source, const struct sweep_options *options, uint64_t seed,
                     const struct generate_options *generate, uint64_t *count, struct error *err);

#endif
