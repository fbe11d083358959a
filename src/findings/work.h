/*
 * The work of many processes on one campaign: which range of cases is whose, and what came of it. Nobody
 * schedules; each worker takes the next piece of work from the database, under a lease that ends by itself.
 *
 * A campaign is cut into ranges of the same number of cases, and ranges into generations. The cases of a
 * range follow from the campaign's options, their indices and the snapshot of its generation, whoever runs
 * them. The snapshot of generation g is that of g-1 and the results of the ranges of g-WORK_LAG, in order of
 * index; those of the first WORK_LAG generations are empty. So a generation can run while the one before it
 * is still going on. The first ones are small, that the snapshots come soon; each later one is a quarter of
 * all before it.
 *
 * What is found is followed up under leases as well (findings/work_follow_up.h).
 *
 * A search has islands in place of generations: range r goes on from the result of range r - islands.
 *
 * A range is a row when it is leased, and is written once more when it is returned, in one transaction with
 * its findings: so what a killed worker had found is found again by whoever takes its range, and nothing
 * counts twice. A lease that was lost returns nothing. All times are of the database's clock.
 *
 * Functions return 0, or -1 with an error when the database cannot be read or written.
 */
#ifndef FINDINGS_WORK_H
#define FINDINGS_WORK_H

#include "findings/store.h"

/* WORK_OCCURRENCES: a finding that is met again and again is stored so often, for the cases with the lowest
 * numbers; counters tell how often it was met. */
enum { WORK_LAG = 2, WORK_RANGE_MOST = 4096, WORK_OCCURRENCES = 5 };

/* How a campaign is cut. The first worker stores it, and all others take what is stored. */
struct work_settings {
    int64_t range;   /* cases of a range: 1 to WORK_RANGE_MOST; 0: a good number */
    int64_t width;   /* ranges of the first generation; 0: 8 */
    int64_t islands; /* of a search; 0: this is none */
    int64_t count;   /* cases of the campaign; 0: no limit */
};
int work_agree(struct store *store, struct work_settings *settings, struct error *err);

/* Reads the settings. *found is false when the campaign has none, as no worker ever began it. */
int work_settings(struct store *store, struct work_settings *settings, bool *found, struct error *err);

/* Where a generation lies: number of its first range, and how many it has. */
void work_generation_span(const struct work_settings *settings, int64_t generation, int64_t *first,
                          int64_t *count);
int64_t work_generation_of(const struct work_settings *settings, int64_t range);

/* A stopped campaign gives out no work, until it is resumed. Workers end when they have returned what they
 * have. */
int work_set_stopped(struct store *store, bool stopped, struct error *err);
int work_is_stopped(struct store *store, bool *stopped, struct error *err);

/* "HOST:PID:START", which no two workers share. */
void work_owner(struct str *owner);

/* One worker's view. Leases are for so many seconds. Store and owner are borrowed. */
struct work;
int work_open(struct work **work, struct store *store, const char *owner, double seconds, struct error *err);
void work_close(struct work *work);
const struct work_settings *work_settings_of(const struct work *work);
struct store *work_store_of(const struct work *work);
const char *work_owner_of(const struct work *work);

enum work_kind {
    WORK_RANGE, /* run these cases, then work_return or work_hand_back */
    WORK_FOLD, /* make the snapshot of `generation` from that before it and the results: work_make_snapshot */
    WORK_WAIT, /* nothing is free at the moment: ask again a little later */
    WORK_OVER, /* all cases of the campaign are done */
    WORK_STOPPED, /* the campaign was stopped */
};
struct work_lease {
    enum work_kind kind;
    int64_t first, count; /* cases */
    int64_t generation;
    int64_t attempts; /* 1: nobody had the range before */
};

/* The next piece of work; an expired lease comes first. */
int work_lease(struct work *work, struct work_lease *lease, struct error *err);

/* Renews a lease. *held is false when another has it, or the campaign lost it: then drop the range. */
int work_renew(struct work *work, int64_t first, bool *held, struct error *err);

/* Gives a lease up, so that the next who asks has it at once. */
int work_hand_back(struct work *work, int64_t first, struct error *err);

/*
 * Ends a range. `counters` and `result` are texts of the caller; counters are for readers, too: see
 * campaign/fuzz_state.h. *held is false when the lease was lost, or the range was returned before: then
 * nothing is written. is_new[i], where it is not NULL, tells whether finding i was not in the store before.
 */
struct work_return {
    int64_t first;
    int64_t cases; /* that were run */
    const char *counters, *result;
    size_t n_findings; /* occurrences */
    const struct finding *findings;
    bool *is_new;
};
int work_return(struct work *work, const struct work_return *range, bool *held, struct error *err);

/*
 * The snapshot of a generation; those of the first WORK_LAG are "". *found is false when it was not made yet,
 * or is not kept any more because all its ranges are done.
 */
int work_snapshot(struct store *store, int64_t generation, struct str *snapshot, bool *found,
                  struct error *err);

/* The newest generation that has a snapshot; WORK_LAG - 1 at first. */
int work_newest_snapshot(struct store *store, int64_t *generation, struct error *err);

/* Stores a snapshot, unless somebody was first, and empties those that nobody can need any more. */
int work_make_snapshot(struct store *store, int64_t generation, const char *snapshot, struct error *err);

/* Seconds since the campaign's first range was leased. */
int work_elapsed(struct store *store, double *seconds, struct error *err);

/* Visits the ranges of a generation that were returned, in order. */
struct work_result {
    int64_t first, cases;
    const char *counters, *result;
};
int work_results(struct store *store, const struct work_settings *settings, int64_t generation,
                 int (*visit)(void *context, const struct work_result *result, struct error *err),
                 void *context, struct error *err);

/* The result of one range. *found is false when it was not returned. */
int work_result_of(struct store *store, int64_t first, struct str *result, bool *found, struct error *err);

/*
 * Something that one worker does for the whole campaign. *mine: this one shall, for so many seconds; false
 * when another does or has done it.
 */
int work_task(struct work *work, const char *name, double seconds, bool *mine, struct error *err);
int work_task_is_done(struct work *work, const char *name, bool *done, struct error *err);

/* Ends it and writes what it found, in one transaction. *held is false when another has taken it over: then
 * nothing is written. With numbers below -1 these findings come before those of all ranges. */
int work_task_return(struct work *work, const char *name, const struct finding *findings, size_t count,
                     bool *held, struct error *err);

#endif
