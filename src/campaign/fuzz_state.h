/*
 * The state of a campaign as its store holds it: the snapshot from the start of the current range, and the
 * progress within the range.
 */
#ifndef CAMPAIGN_FUZZ_STATE_H
#define CAMPAIGN_FUZZ_STATE_H

#include "campaign/fuzz.h"

struct fuzz_state {
    uint64_t first;             /* first case of the range */
    char marks[RANGE_MOST + 1]; /* an enum fuzz_mark for each case, NUL-terminated */
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

/*
 * For campaigns of many workers. The snapshot of a generation holds counters, known signatures and the
 * source; the empty text stands for none of them. The result of a range holds the signatures that were not
 * known before it, and the difference of the source. fuzz_state_fold adds one to a state that holds a
 * snapshot; the counters are added by fuzz_counters_add. Snapshots hold no times, so that they depend on
 * nothing but the cases.
 */
void fuzz_state_write(const struct fuzz_state *state, const struct case_source *source, struct str *out);
int fuzz_state_read(struct fuzz_state *state, const struct case_source *source, const char *text,
                    struct error *err);
void fuzz_result_write(const uint64_t *signatures, size_t count, const struct case_source *source,
                       struct str *out);
int fuzz_state_fold(struct fuzz_state *state, const struct case_source *source, const char *text,
                    struct error *err);

/* The same for an island of a search: the signatures that it knows, and where its source is. The empty text
 * is its beginning. */
int fuzz_island_write(const struct fuzz_state *state, const struct case_source *source, struct str *out,
                      struct error *err);
int fuzz_island_read(struct fuzz_state *state, const struct case_source *source, uint64_t island,
                     const char *text, struct error *err);

/* Counters as text: "cases N", "elapsed SECONDS", "new SECONDS", and a line "engine BUSY ..." for each engine
 * with its verdicts (enum verdict_kind) and paper statuses. fuzz_counters_add adds those of a range, without
 * times. */
void fuzz_counters_write(const struct fuzz_status *status, struct str *out);
int fuzz_counters_add(struct fuzz_status *status, const char *text, struct error *err);

#endif
