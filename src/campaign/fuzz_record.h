/* Records a finished case: adds it to the campaign's counters, and its findings to the store. */
#ifndef CAMPAIGN_FUZZ_RECORD_H
#define CAMPAIGN_FUZZ_RECORD_H

#include "campaign/finding_buffer.h"
#include "campaign/fuzz_state.h"
#include "findings/known_issues.h"
#include "trial/trial.h"

/* An engine's result compared with the reference's, in the paper's terms. */
enum paper_status paper_status_of(const struct result *result, const struct result *reference);

/* Adds one finished case to the counters. */
void fuzz_count(struct fuzz_status *status, const struct trial_done *done);

struct fuzz_recorder {
    struct store *store;
    const struct known_issues *known;
    const struct panel *panel;
    bool only_met;      /* nothing is kept */
    const char *recipe; /* of the findings; NULL: that of their case */
    /* Where they are kept back, unless the state knows them already; NULL: they go to the store at once. */
    struct finding_buffer *buffer;
    const struct fuzz_state *state; /* NULL: it knows none */
    size_t number;                  /* place of the case in its range */
    int64_t first;                  /* number of the first case of that range */
};

/*
 * Adds the case's findings, if it has any, to the store; of a rewritten case also those of its original,
 * which was run as well. Calls met for each, with the hash of its signature and whether it is new in the
 * store. Whether findings that are kept back are new is not known yet.
 */
int fuzz_record(const struct fuzz_recorder *recorder, const struct trial_done *done,
                void (*met)(void *context, uint64_t signature, bool is_new), void *context,
                struct error *err);

/* Counts the distinct findings in the store, by kind and by engine, into the status. */
int fuzz_recount(struct fuzz_status *status, struct store *store, struct error *err);

#endif
