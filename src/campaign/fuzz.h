/*
 * A fuzzing campaign: cases are made, run on all engines and the reference at once, judged, settled and kept.
 *
 * A campaign lives in a folder (findings/store.h) and goes on in ranges of cases. A range starts from a
 * snapshot of coverage, search tree and counters that is kept before its first case; the cases of the range
 * follow from it. Which of them are done is kept a few times a second, and at once when something new was
 * found. So after a kill at any moment the range is made again, and what was not done is done; nothing counts
 * twice, and the end is the same as without the kill.
 */
#ifndef CAMPAIGN_FUZZ_H
#define CAMPAIGN_FUZZ_H

#include "campaign/fuzz_source.h"
#include "engine/panel.h"
#include "findings/bundle.h"
#include "findings/store.h"
#include "judge/standing.h"

/* The status of a test in the words of the graph-fuzzing paper. */
enum paper_status {
    PAPER_NONE, /* not run, or cleanly unsupported */
    PAPER_MCF,  /* model conversion failure: ends at load */
    PAPER_IF,   /* inference failure: ends at run */
    PAPER_DCF,  /* data comparison failure: fewer than 99.9 % of the elements within 0.1 % */
    PAPER_DCP,  /* data comparison pass */
    PAPER_COUNT
};
const char *paper_status_name(enum paper_status status); /* "MCF" ... */

/* What one engine did: all of the campaign. */
struct fuzz_engine {
    const char *label;
    uint64_t verdicts[VERDICT_COUNT];
    uint64_t paper[PAPER_COUNT];
    double busy;          /* seconds, as seen from here */
    size_t findings;      /* distinct ones met on it first */
    int64_t stored_cases; /* what the store had */
    size_t silent;        /* cases in a row on which it did not start */
};

enum { FUZZ_TITLE = 160 };

struct fuzz_status {
    const char *folder;
    uint64_t seed;
    enum fuzz_strategy strategy;
    uint64_t cases;         /* done */
    double elapsed;         /* seconds of all starts */
    double session;         /* seconds of this one */
    uint64_t session_cases; /* of this one */
    double last_new;        /* of `elapsed`, when the newest finding was met; negative: none yet */
    size_t n_engines;       /* the reference is the last one, when there is one */
    size_t judged_engines;  /* without it */
    struct fuzz_engine *engines;
    size_t findings, known; /* distinct; known ones are among them */
    size_t waiting;         /* findings that are not reduced and bundled yet */
    size_t kinds[VERDICT_COUNT];
    struct coverage_figures coverage;
    size_t tree;           /* nodes of the search tree */
    char last[FUZZ_TITLE]; /* the newest finding */
    char stopped[300]; /* why the campaign ended before its time: an engine that no longer starts; or "" */
};

void fuzz_status_release(struct fuzz_status *status);

/* Whether each engine was heard, and its answers judged: a few that cannot be are normal, all are not. */
void fuzz_stands(const struct fuzz_status *status, struct standing *standing);

struct fuzz_options {
    const struct panel *panel;
    const char *folder;
    struct fuzz_source_options source; /* what engines lack is filled in here */
    double seconds;                    /* of this start; 0: no limit */
    uint64_t count;                    /* cases of the campaign; 0: no limit */
    const char *known;                 /* a file of known issues besides those that are installed, or NULL */
    bool no_known;                     /* without the installed ones */
    /* New findings are made smaller and bundled between ranges, in at most a third of the time, as
     * campaign/follow_up.h says; the panel should have fresh workers for it. */
    bool reduce;
    bundle_drawing *draw;      /* for the bundles' drawings; may be NULL */
    struct registry *registry; /* for the bundles' programs; may be NULL */
    bool probe;                /* know what engines lack, from kept probes or a quick one */
    /* Called a few times a second. True ends the campaign cleanly. */
    bool (*watch)(void *context, const struct fuzz_status *status);
    void *context;
};

/* Fails with ERROR_USAGE when the folder holds a campaign with other engines or options, and before anything
 * is written when an engine does not start. The status is the caller's to release, also after a failure. */
int fuzz_run(const struct fuzz_options *options, struct fuzz_status *status, struct error *err);

#endif
