/*
 * What people want to know of a campaign in PostgreSQL: how far it is, what was found, who works on it. All
 * of it is read in a few statements, none of which waits for a worker or makes one wait.
 *
 * Nothing in the database is trusted: texts are cut by the server to VIEW_TEXT characters, lists have limits,
 * times outside the campaign's own count as none, and a column of another type is an error or a zero.
 * So everything here may be shown after the escaping of whatever shows it, but never used as a path.
 */
#ifndef FINDINGS_CAMPAIGN_VIEW_H
#define FINDINGS_CAMPAIGN_VIEW_H

#include "base/arena.h"
#include "findings/store.h"

enum { VIEW_TEXT = 400, VIEW_WORKERS = 2000, VIEW_FINDINGS = 10000, VIEW_POINTS = 60, VIEW_GROUPS = 300 };

struct campaign_entry {
    const char *name;
    int64_t made; /* seconds since 1970 */
};

/* Visits the campaigns of a database, the oldest first; one of a name that no campaign can have is left out.
 */
int campaign_visit(const char *url,
                   int (*visit)(void *context, const struct campaign_entry *entry, struct error *err),
                   void *context, struct error *err);

enum worker_state {
    WORKER_ALIVE, /* has a lease */
    WORKER_STUCK, /* renews its lease for much longer than ranges usually take */
    WORKER_LOST,  /* its lease is over, and nobody took the range yet */
    WORKER_IDLE,  /* had a lease a moment ago: it waits for work, or has ended */
    WORKER_STATES
};
const char *worker_state_word(enum worker_state state); /* "alive" ... */

struct campaign_worker {
    const char *owner; /* "HOST:PID:START" */
    enum worker_state state;
    const char *reduces;  /* the name of the finding that it reduces; "": it runs a range */
    int64_t first, count; /* cases that it runs; 0, 0: none */
    double since;         /* seconds for which it has done so */
    double cases;         /* that it returned in the last hour */
};

struct campaign_finding {
    const char *name, *title, *engine, *class, *status, *recipe;
    int64_t nodes, first_seen; /* seconds since 1970 */
    bool has_map, has_report;
};

/* Distinct findings of an engine and a class. */
struct campaign_group {
    const char *engine, *class;
    size_t count, known;
};

/* A part of the campaign's time. */
struct campaign_point {
    double seconds;  /* of its end, since the campaign began */
    double rate;     /* cases returned a second */
    size_t findings; /* distinct ones, until then */
};

struct coverage_view {
    double cases, seconds, olc, pairs;
};

struct campaign_view {
    struct arena arena;
    const char *name, *options; /* what makes the cases, in words; "": no worker has begun it */
    bool stopped;
    bool over;          /* all cases are done */
    double count;       /* cases of the campaign; 0: no limit */
    double elapsed;     /* seconds since the first lease */
    double now;         /* the database's clock, since 1970 */
    double cases, rate; /* returned; a second, of late */
    double ranges;      /* returned */
    double usual;       /* seconds that a range takes on average */
    double bytes;       /* of the campaign's tables */
    size_t n_workers, states[WORKER_STATES];
    struct campaign_worker *workers;
    size_t n_findings, known, waiting; /* distinct; known; not reduced yet */
    size_t apart;                      /* of n_findings, those that are not counted (finding_is_apart) */
    struct campaign_finding *findings; /* those that are not known first, the newest of each first */
    size_t n_groups;
    struct campaign_group *groups; /* by engine, then class */
    double last_new;               /* seconds since the newest finding; negative: there is none */
    size_t n_points;
    struct campaign_point *points;
    size_t n_coverage;
    struct coverage_view *coverage;
};

/* Reads it all; the caller releases it, also after a failure. */
int campaign_view_read(struct campaign_view *view, const char *url, const char *name, struct error *err);
void campaign_view_release(struct campaign_view *view);

/*
 * The same of a campaign in a folder, as far as there is a course of it: options, cases, coverage and rates
 * over the time that it ran. It has no workers, and its findings are not read.
 */
int campaign_view_read_folder(struct campaign_view *view, struct store *store, const char *name,
                              struct error *err);

/* One finding by its full name; its texts live in the arena. ERROR_NOT_FOUND: there is none. */
int campaign_finding_read(struct store *store, const char *name, struct campaign_finding *finding,
                          struct arena *arena, struct error *err);

/* Appends the bytes of a file of its bundle; nothing when it has no such file. */
int campaign_finding_file(struct store *store, const char *name, const char *path, struct str *text,
                          struct error *err);

/* Whether a text can be the name of a campaign, or of a finding's folder: plain, short, no dot in front. */
bool campaign_name_is_plain(const char *name);
bool finding_name_is_plain(const char *name);

#endif
