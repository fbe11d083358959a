/* Campaigns in PostgreSQL that nobody works on any more, and their end: all tables of one, in one
 * transaction. */
#ifndef FINDINGS_CAMPAIGN_PRUNE_H
#define FINDINGS_CAMPAIGN_PRUNE_H

#include "base/error.h"

#include <stdbool.h>

struct campaign_rest {
    double seconds; /* for which nobody has worked on it */
    bool at_work;   /* a worker holds a lease */
};

/*
 * How long a campaign has rested; one on which nobody ever worked rests since it was made. With `most_recent`
 * not negative a campaign that has rested so many seconds, and on which nobody works, is removed, with all
 * that was found: *removed tells. It needs the rights of the owner. Tables in its schema that are not Assay's
 * keep it from being removed.
 */
int campaign_prune(const char *url, const char *name, double most_recent, struct campaign_rest *rest,
                   bool *removed, struct error *err);

#endif
