/*
 * Where the cases of a campaign come from: what the campaign's loop (campaign/fuzz.h) asks of a source.
 *
 * A campaign proceeds in ranges of cases. Before a range, the source is written as text; read back, it makes
 * the same range again. `assay fuzz` draws its cases (campaign/fuzz_source.h), always FUZZ_RANGE in a range;
 * `assay search` breeds them (campaign/search_source.h), a generation in a range.
 */
#ifndef CAMPAIGN_CASE_SOURCE_H
#define CAMPAIGN_CASE_SOURCE_H

#include "base/str.h"
#include "findings/work.h"
#include "trial/trial.h"

/* How many cases a range of a campaign in a folder has, and the most that any range may have. */
enum { FUZZ_RANGE = 500, RANGE_MOST = WORK_RANGE_MOST };

/* The state of a case of the range: not run yet, done, no engine took it, something new was found. */
enum fuzz_mark { MARK_TODO = '.', MARK_DONE = 'd', MARK_LACKED = 'l', MARK_NEW = 'n' };

struct fuzz_status;

struct case_range {
    size_t count; /* 1 to RANGE_MOST */
    /* The cases are only looked at by the source: they are not settled, their findings are not recorded, and
     * the source counts them itself. */
    bool rough;
    bool unjudged; /* of a rough range: the reference is not asked, which takes most of the time */
    bool sequel; /* it belongs to the range before it: a campaign neither ends nor is resumed between them */
};

struct case_source_kind {
    const char *command; /* "fuzz" */
    /*
     * The source answers to what becomes of its cases, so a range that was interrupted is run again as a
     * whole. Its cases cannot be made again from their recipes alone: those of new findings are kept as
     * folders (campaign/kept_case.h).
     */
    bool bred;
    void (*plan)(void *source, struct case_range *range);
    /*
     * Makes the case at place `number` of the range, number `index` of the campaign, which the caller frees.
     * Called in ascending order. Fails with ERROR_NOT_FOUND or ERROR_UNSUPPORTED when there is no case at
     * this place.
     */
    int (*make)(void *source, uint64_t index, size_t number, struct test_case **out, struct error *err);
    /* Hears of a finished case. May be NULL. */
    int (*hear)(void *source, size_t number, const struct trial_done *done, struct fuzz_status *status,
                struct error *err);
    /* The range is done; marks has one enum fuzz_mark for each of its cases. */
    int (*end)(void *source, const char *marks, size_t count, struct error *err);
    bool (*over)(const void *source); /* nothing is left to do; NULL: never */
    /* The snapshot before a range: text, and whatever lies in files that it names. `read` checks it and fails
     * when it is damaged. */
    int (*write)(void *source, struct str *out, struct error *err);
    int (*read)(void *source, const char *text, struct error *err);
    /* For campaigns of many workers: what the source learnt since the snapshot, as text, and how another
     * source adds it (campaign/fuzz_source.h). NULL for a source each of whose ranges goes on from the one
     * before. */
    void (*mark)(void *source);
    void (*difference)(const void *source, struct str *out);
    void (*whole)(const void *source, struct str *out);
    int (*fold)(void *source, const char *text, struct error *err);
    void (*clear)(void *source);
    /* The same for bred cases, which live on islands, each of which goes on by itself. `settle` puts the
     * source at the beginning of an island or, with the text of island_write, at the state in which that was
     * written. NULL for other sources. */
    int (*settle)(void *source, uint64_t island, const char *text, struct error *err);
    int (*island_write)(const void *source, struct str *out, struct error *err);
    void (*figures)(const void *source, struct fuzz_status *status); /* for the status screen */
    void (*free)(void *source);
};

/* A source of some kind. `kind` is NULL for none. */
struct case_source {
    const struct case_source_kind *kind;
    void *self;
};

#endif
