/*
 * A fuzzing campaign: cases are generated, run on all engines and the reference at the same time, judged and
 * settled, and findings are kept.
 *
 * A campaign lives in a folder (findings/store.h) and proceeds in ranges of cases. Before the first case of a
 * range, a snapshot of coverage, search tree and counters is saved, which determines the cases of the range.
 * Which of them are done is saved a few times a second, and at once when something new was found. So a
 * campaign can be killed at any moment: the next start makes the range again from its snapshot and runs the
 * cases that were not done. Nothing counts twice, and the end is the same as without the kill.
 *
 * A campaign of many workers (campaign/fuzz_shared.h) lives in a database instead: ranges are leased, and
 * what a killed worker had of its range is done again by another.
 *
 * The cases come from a source (campaign/case_source.h): generated ones, or those that a search breeds. A
 * search is resumed at its last snapshot, which is at most a few generations old.
 */
#ifndef CAMPAIGN_FUZZ_H
#define CAMPAIGN_FUZZ_H

#include "campaign/fuzz_source.h"
#include "campaign/sweep_source.h"
#include "engine/panel.h"
#include "findings/bundle.h"
#include "findings/store.h"
#include "judge/standing.h"

/* The result of a test in the terms of the graph-fuzzing paper. */
enum paper_status {
    PAPER_NONE, /* not run, or cleanly unsupported */
    PAPER_MCF,  /* model conversion failure: ends at load */
    PAPER_IF,   /* inference failure: ends at run */
    PAPER_DCF,  /* data comparison failure: fewer than 99.9 % of the elements within 0.1 % */
    PAPER_DCP,  /* data comparison pass */
    PAPER_COUNT
};
const char *paper_status_name(enum paper_status status); /* "MCF" ... */

/* What one engine did in the whole campaign. */
struct fuzz_engine {
    const char *label;
    uint64_t verdicts[VERDICT_COUNT];
    uint64_t paper[PAPER_COUNT];
    double busy;          /* seconds between requests and their answers */
    size_t findings;      /* distinct ones that were found on this engine first */
    int64_t stored_cases; /* how many cases the store already counts for it */
    size_t silent;        /* cases in a row on which it did not start */
};

enum { FUZZ_TITLE = VERDICT_LINE + 100 };

/* How a search (campaign/search_source.h) fares on one model. */
struct search_figures {
    char model[60];   /* the name of its file without the ending */
    uint64_t genomes; /* changed samples that were run */
    uint64_t generations, restarts;
    double best;           /* fitness; -INFINITY: none yet */
    uint64_t inconsistent; /* genomes on which two engines have different top classes */
    /* Genomes with a NaN or an infinity in an answer; those of them that the reference was asked about; those
     * where the reference has one as well. */
    uint64_t strange, strange_judged, strange_expected;
    uint64_t findings; /* genomes judged alone in which an engine is wrong */
    bool reached;      /* the goal was reached, first by this genome and after this many seconds */
    uint64_t first_genome;
    double first_seconds;
    char kept[120]; /* where in the folder that case is kept; "": nowhere */
};

struct search_words {
    const char *goal, *level, *fitness;
    char start[300]; /* the samples that the first model is searched from, in words */
};

struct fuzz_status {
    const char *folder;
    uint64_t seed;
    enum fuzz_strategy strategy;
    uint64_t cases;         /* done */
    size_t probe_finds;     /* cases on which the probe saw a failure; they are run first, and not counted */
    double elapsed;         /* seconds, all starts together */
    double session;         /* seconds of this one */
    uint64_t session_cases; /* of this one */
    double last_new;        /* the value of `elapsed` when the newest finding was found; negative: none yet */
    size_t n_engines;       /* the reference is the last one, when there is one */
    size_t judged_engines;  /* their number without the reference */
    struct fuzz_engine *engines;
    size_t findings, known; /* distinct findings; those of them that are known */
    size_t waiting;         /* findings that are not reduced and bundled yet, those listed apart included */
    size_t apart;           /* what is listed apart (finding_is_apart) and is not known; no findings */
    uint64_t kinds[VERDICT_COUNT];
    struct coverage_figures coverage;
    size_t tree;                      /* nodes of the search tree */
    struct search_words search_words; /* of a search only */
    size_t n_searched;                /* models of a search; 0: the cases are generated */
    struct search_figures *searched;
    char last[FUZZ_TITLE];   /* the newest finding */
    size_t bad_rewritings;   /* in this start: rules that the reference itself finds to change the answer */
    char bad_rewriting[200]; /* the recipe of the first */
    size_t suspect_pairs;   /* in this start: rewritten cases that an engine answers otherwise, where there is
                               no   reference to tell whether it may; no findings */
    char suspect_pair[200]; /* the recipe of the first */
    char stopped[300]; /* why the campaign ended before its time: an engine that no longer starts; or "" */
};

void fuzz_status_release(struct fuzz_status *status);

/* How many answers of an engine were judged, for the engine with the fewest. An answer that was only compared
 * with those of other engines does not count. */
uint64_t fuzz_judged(const struct fuzz_status *status);

/*
 * What the campaign means for the exit status. A few answers that are missing or cannot be judged are normal;
 * an engine of which no answer was judged is trouble.
 */
void fuzz_stands(const struct fuzz_status *status, struct standing *standing);

struct search_source_options;
struct fuzz_shared_options;

struct fuzz_options {
    const struct panel *panel;
    const char *folder;
    const struct fuzz_shared_options
        *shared;                       /* take part in a campaign of many workers; then there is no folder */
    struct fuzz_source_options source; /* fuzz_run fills in what engines lack, and their knobs for rules */
    const char *from;                  /* the cases of this folder, and each told again; NULL: do not */
    const struct sweep_options *sweep; /* all values instead of drawn ones; NULL: do not */
    const struct search_source_options *search; /* breed cases instead of those of `source`; NULL: do not */
    double seconds;                             /* of this start; 0: no limit */
    uint64_t count;                             /* cases of the campaign; 0: no limit */
    const char *known; /* a file of known issues besides those that are installed, or NULL */
    bool no_known;     /* do not use the installed ones */
    /*
     * Reduce and bundle new findings between ranges (campaign/follow_up.h), in at most a third of the time.
     * The panel should have fresh workers for it.
     */
    bool reduce;
    bundle_drawing *draw;      /* for the bundles' drawings; may be NULL */
    struct registry *registry; /* for the bundles' programs; may be NULL */
    bool probe;                /* avoid what engines lack, as kept probes or a quick one tell */
    /* Called a few times a second. True ends the campaign cleanly. */
    bool (*watch)(void *context, const struct fuzz_status *status);
    void *context;
};

/*
 * Starts or resumes the campaign. Fails with ERROR_USAGE when the folder holds a campaign with other engines
 * or options; so it does with a shared campaign. Fails before anything is written when an engine does not
 * start. The caller releases *status, also after a failure.
 */
int fuzz_run(const struct fuzz_options *options, struct fuzz_status *status, struct error *err);

#endif
