/*
 * Where a campaign stands, as it is kept in its store: a snapshot at the start of each range, and the
 * progress within it.
 */
#ifndef CAMPAIGN_FUZZ_STATE_H
#define CAMPAIGN_FUZZ_STATE_H

#include "campaign/fuzz.h"

enum { FUZZ_RANGE = 500 };

/* What became of a case of the range. */
enum fuzz_mark { MARK_TODO = '.', MARK_DONE = 'd', MARK_NEW = 'n' };

struct fuzz_state {
    uint64_t first;             /* case of the range */
    char marks[FUZZ_RANGE + 1]; /* one a case, NUL-terminated */
    size_t nodes[FUZZ_RANGE];   /* of the search tree; not kept: making the cases again gives them */
    struct fuzz_status *status; /* counters */
    /* Signatures known when the range started, ascending; what is not among them is new. */
    uint64_t *known;
    size_t n_known, known_capacity;
};

void fuzz_state_init(struct fuzz_state *state, struct fuzz_status *status);
void fuzz_state_release(struct fuzz_state *state);
bool fuzz_state_knows(const struct fuzz_state *state, uint64_t signature);
void fuzz_state_learn(struct fuzz_state *state, uint64_t signature);

/* A range begins: marks are cleared, and all is kept that its cases follow from. */
int fuzz_state_begin(struct fuzz_state *state, struct store *store, const struct fuzz_source *source,
                     struct error *err);
int fuzz_state_keep(const struct fuzz_state *state, struct store *store, struct error *err);

/* Reads what is kept, also into the source; *found false: a new campaign. */
int fuzz_state_load(struct fuzz_state *state, struct store *store, struct fuzz_source *source, bool *found,
                    struct error *err);

#endif
