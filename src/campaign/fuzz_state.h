/*
 * The state of a campaign as its store holds it: the snapshot from the start of the current range, and the
 * progress within the range.
 */
#ifndef CAMPAIGN_FUZZ_STATE_H
#define CAMPAIGN_FUZZ_STATE_H

#include "campaign/fuzz.h"

struct fuzz_state {
    uint64_t first;             /* first case of the range */
    char marks[FUZZ_RANGE + 1]; /* an enum fuzz_mark for each case, NUL-terminated */
    struct fuzz_status *status; /* counters */
    /* Hashes of the signatures found before the range started, ascending: others are new. */
    uint64_t *known;
    size_t n_known, known_capacity;
};

void fuzz_state_init(struct fuzz_state *state, struct fuzz_status *status);
void fuzz_state_release(struct fuzz_state *state);
bool fuzz_state_knows(const struct fuzz_state *state, uint64_t signature);
void fuzz_state_learn(struct fuzz_state *state, uint64_t signature);

/* Clears the marks, for a new range. */
void fuzz_state_clear(struct fuzz_state *state);

/* Begins a range: clears the marks and saves the snapshot that determines its cases. */
int fuzz_state_begin(struct fuzz_state *state, struct store *store, const struct case_source *source,
                     struct error *err);
/* Saves the progress. */
int fuzz_state_keep(const struct fuzz_state *state, struct store *store, struct error *err);

/* Reads snapshot and progress, and gives the snapshot to the source. The progress of a source whose cases are
 * bred says nothing: its range is run again. *found: false for a new campaign. */
int fuzz_state_load(struct fuzz_state *state, struct store *store, const struct case_source *source,
                    bool *found, struct error *err);

#endif
