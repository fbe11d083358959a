/* What a finished case means for a campaign: counters, and findings in the store. */
#ifndef CAMPAIGN_FUZZ_RECORD_H
#define CAMPAIGN_FUZZ_RECORD_H

#include "campaign/fuzz.h"
#include "findings/known_issues.h"
#include "trial/trial.h"

/* An engine's result against the reference's, as the paper would call it. */
enum paper_status paper_status_of(const struct result *result, const struct result *reference);

/* Adds one finished case to the counters. */
void fuzz_count(struct fuzz_status *status, const struct trial_done *done);

struct fuzz_recorder {
    struct store *store;
    const struct known_issues *known;
    const struct panel *panel;
};

/*
 * Keeps the case's findings, if it has any. Calls met for each with the hash of its signature and whether
 * the store had it not yet.
 */
int fuzz_record(const struct fuzz_recorder *recorder, const struct trial_done *done,
                void (*met)(void *context, uint64_t signature, bool is_new), void *context,
                struct error *err);

/* Distinct findings by kind and engine, from the store, into the status. */
int fuzz_recount(struct fuzz_status *status, struct store *store, struct error *err);

#endif
