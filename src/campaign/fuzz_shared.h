/*
 * A campaign that many workers share (findings/work.h), as one of them takes part in it: the loop of
 * campaign/fuzz.c gets its ranges here and ends them here. Between them it makes the snapshots of generations
 * when it is their turn. What the range at hand found is kept back and written when the range is returned.
 */
#ifndef CAMPAIGN_FUZZ_SHARED_H
#define CAMPAIGN_FUZZ_SHARED_H

#include "campaign/finding_buffer.h"
#include "campaign/fuzz_state.h"
#include "campaign/second_looks.h"
#include "findings/work.h"

/* Where the campaign is, and how a worker takes part. */
struct fuzz_shared_options {
    const char *database; /* the address of a PostgreSQL database, or the folder of a campaign in SQLite */
    const char *campaign; /* its name in PostgreSQL */
    long long range;      /* cases of a range, when this is the first worker; 0: a good number */
    double lease;         /* seconds after which a range that is not renewed is another's; 0: 60 */
    const char *words;    /* the options of the command line that make the cases, or NULL */
};

/* The key under which the first worker stores these words. */
#define FUZZ_SHARED_WORDS "fuzz-words"

/* Opens the store of a campaign by such an address. */
int fuzz_shared_store(struct store **store, const struct fuzz_shared_options *options, enum store_mode mode,
                      struct error *err);

struct fuzz_shared {
    struct store *store;
    struct work *work;
    struct str owner;
    struct fuzz_state *state; /* of the loop; its counters are `totals` here */
    const struct case_source *source;
    struct fuzz_status *status; /* counters of this worker */
    struct fuzz_status totals;  /* of the last snapshot that was read */
    struct fuzz_status before;  /* counters when the range began */
    struct finding_buffer findings;
    struct second_looks looks; /* of a range of drawn cases */
    struct work_lease lease;
    bool held;                   /* there is a range at hand */
    double began;                /* clock, */
    double renewed;              /* the same for the lease */
    double seconds;              /* of a lease */
    const struct folder *folder; /* on this machine, where a search keeps cases */
    int64_t snapshot;            /* the generation whose snapshot is in `text`; -1: none */
    struct str text;
};

/* Everything is borrowed. fuzz_shared_close hands back what is at hand. */
int fuzz_shared_open(struct fuzz_shared *shared, struct store *store,
                     const struct fuzz_shared_options *options, int64_t count, const struct folder *folder,
                     struct fuzz_state *state, const struct case_source *source, struct fuzz_status *status,
                     struct error *err);
void fuzz_shared_close(struct fuzz_shared *shared);

/* Asks for work, and does it unless it is a range. A range is then at hand: state and source are those of its
 * generation. */
int fuzz_shared_next(struct fuzz_shared *shared, enum work_kind *kind, struct error *err);

/* To be called again and again while a range is run. *held: false when another worker has taken it over. */
int fuzz_shared_renew(struct fuzz_shared *shared, bool *held, struct error *err);

/* Whether a search has more to do in its range, which is several generations of its population. */
bool fuzz_shared_goes_on(const struct fuzz_shared *shared);

/* Hands the range back, if one is at hand: what it counted did not take place. */
void fuzz_shared_drop(struct fuzz_shared *shared);

/* Returns the range, whose source has ended it. *added: findings that the store did not have. */
int fuzz_shared_return(struct fuzz_shared *shared, size_t *added, struct error *err);

/* The counters of all ranges that were returned, by whomever. */
int fuzz_shared_count(struct fuzz_shared *shared, struct fuzz_status *status, struct error *err);

#endif
