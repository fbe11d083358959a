/*
 * What the parts of a running campaign share: fuzz.c has the loop and the campaign in a folder,
 * fuzz_finished.c what becomes of a case that was run, fuzz_leased.c ranges of a campaign that many workers
 * share, and fuzz_reduce.c the findings that nobody has looked at yet. Nobody else includes this.
 */
#ifndef CAMPAIGN_FUZZ_RUNNING_H
#define CAMPAIGN_FUZZ_RUNNING_H

#include "campaign/fuzz.h"
#include "campaign/fuzz_probe.h"
#include "campaign/fuzz_record.h"
#include "campaign/fuzz_shared.h"
#include "campaign/fuzz_state.h"

/* When a worker that looks into a finding of a shared campaign dies, another begins after this long. */
#define FOLLOW_UP_SECONDS 60

struct fuzz {
    const struct fuzz_options *options;
    struct fuzz_status *status;
    struct store *store;
    struct case_source source;
    uint64_t count;          /* cases of the campaign; 0: no limit */
    struct case_range range; /* the one at hand */
    struct fuzz_state state;
    struct fuzz_probe probe;
    struct known_issues known;
    struct arena arena; /* settings of the engines */
    struct trials *trials, *rough,
        *unjudged;          /* `rough` and `unjudged` settle nothing, and `unjudged` has no reference */
    struct panel engines;   /* without the reference */
    double started, before; /* clock at the start; elapsed of earlier starts */
    double kept;            /* clock when progress was kept last */
    double snapshot;        /* the same for the snapshot */
    double snapshot_took;   /* seconds */
    struct folder folder;   /* the campaign's, or one of this worker for a while */
    int lock;               /* file, held while the campaign runs */
    double reducing;        /* seconds spent on it in this start */
    bool stop;
    struct fuzz_shared shared; /* of a campaign of many workers, */
    bool sharing;              /* which this is; */
    bool over;                 /* all its cases are done, or it was stopped */
    bool going_on;             /* a search is not done with its range yet, */
    size_t steps;              /* of which so many were run */
    bool lost;                 /* another worker has taken over the present range */
    size_t next;       /* place in the range, or among the probe's finds, of the case to be made next */
    bool fresh, added; /* of the case that is being recorded: new to the range, new to the store */
    const struct trial_done *
        first_run; /* the case that is being recorded, if it is to be run again when it shows something new */
};

/* fuzz.c */
void fuzz_update_status(struct fuzz *fuzz);
bool fuzz_time_is_up(const struct fuzz *fuzz);

/* A leased range counts only as a whole, so when the time is over a worker finishes it first. A signal hands
 * it back at once. */
bool fuzz_time_ends_range(const struct fuzz *fuzz);

/* Progress for the watcher and the store: every so often, and at once when something new was met. */
int fuzz_keep(struct fuzz *fuzz, bool now, struct error *err);

/* Engines as the store shows them. `cases`: of the campaign; negative: not known yet. */
int fuzz_note_engines(struct fuzz *fuzz, int64_t cases, struct error *err);
int fuzz_run_ranges(struct fuzz *fuzz, struct error *err);

/* fuzz_finished.c; number: place in the range, or RANGE_MOST for a find of the probe's. */
int fuzz_take(void *context, struct trial_done *done, struct error *err);
struct fuzz_recorder fuzz_recorder_for(struct fuzz *fuzz, size_t number);
int fuzz_record_and_count(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err);
void fuzz_met(void *context, uint64_t signature, bool is_new);
bool fuzz_looks_twice(const struct fuzz *fuzz, size_t number);

/* fuzz_leased.c */
int fuzz_take_part(struct fuzz *fuzz, struct error *err);
int fuzz_renew(struct fuzz *fuzz, struct error *err);
int fuzz_lease_range(struct fuzz *fuzz, struct error *err);   /* 1, or 0 when there will be none */
int fuzz_finish_leased(struct fuzz *fuzz, struct error *err); /* 1: it may be returned */
int fuzz_return_range(struct fuzz *fuzz, struct error *err);

/* fuzz_reduce.c; while no case is under way: as many new findings as there is time for. */
int fuzz_reduce_findings(struct fuzz *fuzz, struct error *err);

#endif
