/*
 * The store of a campaign holds its distinct findings, their occurrences, the verdicts of other engines,
 * coverage over time, and the state from which the campaign is resumed. It is the SQLite file assay.db (in
 * WAL mode) in the campaign's folder, or a schema of a PostgreSQL database that many machines share.
 *
 * Every call is a transaction of its own: if the process is killed, the store holds the effect of all calls
 * that returned, and possibly of the one under way. Running a range of cases again does no harm: a finding is
 * identified by its signature, an occurrence by signature, engine and recipe, and both are written only once.
 *
 * Functions that return an int return 0, or -1 with an error when the database cannot be read or written.
 * Texts passed to visit functions live until the function returns. Only the form of what is read is checked,
 * so it may be shown, but never run or used as a path.
 */
#ifndef FINDINGS_STORE_H
#define FINDINGS_STORE_H

#include "base/error.h"
#include "base/str.h"
#include "findings/database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
#define STORE_FILE "assay.db"                              /* in the campaign's folder */
enum store_mode { STORE_READ, STORE_WRITE, STORE_CREATE }; /* CREATE: for writing; made if missing */

/* Fails unless a campaign may use the folder: it does not exist, is empty, or is a campaign's already. */
int store_check_folder(const char *folder, struct error *err);

/*
 * Opens the store in a campaign's folder; the caller closes it. STORE_CREATE makes folder and store if they
 * do not exist; the other modes then fail with ERROR_NOT_FOUND.
 */
int store_open(struct store **store, const char *folder, enum store_mode mode, struct error *err);
void store_close(struct store *store);

/*
 * Opens the store of a campaign in a PostgreSQL database; see database_open_postgres. Troubles that pass (a
 * lost connection, a server that restarts) are waited out for some minutes.
 */
int store_open_campaign(struct store **store, const char *url, const char *campaign, enum store_mode mode,
                        struct error *err);

/*
 * One occurrence of a finding: a verdict on one case. Texts are borrowed; NULL counts as "".
 *
 * The first occurrence decides what is stored of the finding itself: kind, operators, title and so on. Only
 * store_settle changes them later.
 */
struct finding {
    const char *signature; /* signature.text */
    const char *name;      /* signature.name; the bundle's folder is findings/NAME */
    const char *kind;      /* the verdict's word */
    const char *class;     /* "engine bug" (locate/classify.h); NULL: what follows from the kind */
    const char *engine;    /* label, "onnxruntime@1.12.0:opt=all" */
    const char *version;   /* as the engine reports it */
    const char *operators; /* "Mul+MatMul" */
    const char *title;     /* one line for people */
    const char *recipe;    /* from which the case is made again */
    double factor;         /* the error divided by the hard bound; infinite or 0 where it has no meaning */
    int64_t nodes;         /* of the case */
    const char *known;     /* what a known issue is called that explains it (known_document), or NULL */
    const char *facts;     /* for known_again (findings/known_issues.h), or NULL */
    int64_t number; /* of the case in a campaign of many workers, not -1; only store_add_case reads it */
};

/* The facts of a finding are text under this key and its signature. */
#define STORE_FACTS_KEY "facts "

/* Adds an occurrence. *is_new tells whether the signature was not in the store before; it may be NULL. */
int store_add(struct store *store, const struct finding *finding, bool *is_new, struct error *err);

/* What became of a finding. */
enum finding_state {
    STATE_UNCHANGED = 0, /* in store_settle: keep it; when read: unknown to this version of Assay */
    STATE_NEW,
    STATE_BUNDLED,
    STATE_FAILED, /* could not be reduced or bundled; the detail says why */
    STATE_KNOWN,  /* a known issue; the detail names it */
    STATE_GONE,   /* did not show again in a fresh process */
    STATE_COUNT
};
const char *finding_state_word(enum finding_state state); /* "new", "bundled" ... */

/*
 * What to change in a finding after it was reduced and bundled. `bundle` is the path of its folder within the
 * campaign's. A member that is zero or NULL changes nothing. `detail` is stored together with the state; NULL
 * counts as "" there.
 */
struct settled {
    enum finding_state state;
    const char *detail, *bundle, *title, *recipe;
    int64_t nodes;
};
int store_settle(struct store *store, const char *signature, const struct settled *settled,
                 struct error *err);

/*
 * Merges the finding `signature` into `same_as`, because reduction showed that they are the same bug. Its
 * occurrences stay with it and count for both. Fails with ERROR_NOT_FOUND unless both are in the store and
 * `same_as` is not merged itself.
 */
int store_merge(struct store *store, const char *signature, const char *same_as, struct error *err);

/* Stores the verdict of an engine (a label) on the finding's case, for the list of affected releases. */
int store_history(struct store *store, const char *signature, const char *engine, const char *verdict,
                  struct error *err);

/* A finding as it is read from the store. */
struct stored {
    const char *signature, *name, *kind, *engine /* of the first occurrence */, *version, *operators, *title;
    const char *recipe, *bundle, *same_as /* "" unless merged */;
    const char *class; /* "engine bug"; where a store of an older version has none, what follows from the kind
                        */
    const char *status; /* state and detail as text: "known: DOCUMENT" */
    enum finding_state state;
    const char *detail;
    double factor;
    int64_t nodes;
    int64_t count; /* occurrences on the engines asked for, including those of merged findings */
    int64_t first_seen, last_seen; /* seconds since 1970 */
};

/* Whether what has this class (a word) is listed apart from the findings that are counted. */
bool finding_is_apart(const char *class);

/* The class of a finding by the word that is kept for it, or else by its kind. */
const char *store_class_word(const char *kept, const char *kind);

/*
 * Which findings to list; a member that is NULL matches any. `engine` matches the start of the label of an
 * occurrence ("onnxruntime", "onnxruntime@1.12.0"), `op` one of the operators, `signature` a signature's
 * text, its name or the start of its name. An empty filter gives the findings of a campaign as they are
 * counted and listed everywhere.
 */
struct store_filter {
    const char *engine, *op, *kind, *class, *signature;
    bool merged; /* also those merged into others, each with its own occurrences */
    bool gone;   /* also those that did not show again (STATE_GONE) */
};

/*
 * Visits the findings in the order in which they were first seen. A non-zero result of visit ends this and is
 * returned; the same holds for all functions with a visit function.
 */
int store_list(struct store *store, const struct store_filter *filter,
               int (*visit)(void *context, const struct stored *stored, struct error *err), void *context,
               struct error *err);

struct occurrence {
    const char *signature, *engine, *version, *recipe, *title;
    double factor;
    int64_t seen;
};

/* Visits the occurrences of a finding and of those merged into it, oldest first, at most `limit` (0: all). A
 * case that showed several of them on one engine is one occurrence, also where occurrences are counted. */
int store_occurrences(struct store *store, const char *signature, size_t limit,
                      int (*visit)(void *context, const struct occurrence *occurrence, struct error *err),
                      void *context, struct error *err);

/* Visits the verdicts that store_history stored for a finding. */
int store_history_list(struct store *store, const char *signature,
                       int (*visit)(void *context, const char *engine, const char *verdict,
                                    struct error *err),
                       void *context, struct error *err);

/* Stores an engine that took part, and adds `cases` to the number of its cases. */
int store_engine(struct store *store, const char *label, const char *version, int64_t cases,
                 struct error *err);
struct stored_engine {
    const char *label, *version;
    int64_t cases, first_seen, last_seen;
};
int store_engines(struct store *store,
                  int (*visit)(void *context, const struct stored_engine *engine, struct error *err),
                  void *context, struct error *err);

/* Coverage over time: the value of a measure after so many cases and seconds of the campaign. */
struct coverage_point {
    const char *name;
    int64_t cases;
    double seconds, value;
};
int store_coverage(struct store *store, const struct coverage_point *point, struct error *err);

/*
 * Store and read text by a key, for resuming. If there is none, store_get sets *found to false and leaves
 * *value empty.
 */
int store_set(struct store *store, const char *key, const char *value, struct error *err);
int store_get(struct store *store, const char *key, struct str *value, bool *found, struct error *err);

/* Stores the value unless there is one already, and gives what there is: so several agree that begin at once.
 */
int store_agree(struct store *store, const char *key, const char *value, struct str *agreed,
                struct error *err);

/*
 * For the files of this folder that have tables of their own, and what they do with findings in a transaction
 * of theirs. store_add_inside is store_add. store_add_case is that for the finding of a range's case, so that
 * it does not matter in which order ranges come: the finding becomes that of the case with the lowest number,
 * unless it was followed up, and of its occurrences the `most` with the lowest numbers are kept.
 */
struct database *store_database(struct store *store);
int store_run(struct store *store, const char *sql, const struct cell *params, size_t count,
              database_row *row, void *context, struct error *err); /* database_run */
int store_add_inside(struct store *store, const struct finding *finding, bool *is_new, struct error *err);
int store_add_case(struct store *store, const struct finding *finding, int64_t most, bool *is_new,
                   struct error *err);

/* What the store holds as the status of a finding, "known: DOCUMENT". */
void finding_status_write(struct str *out, enum finding_state state, const char *detail);

/* Keeps facts and class of a finding, in place of what there is. NULL: as it is. */
int store_describe(struct store *store, const char *signature, const char *class, const char *facts,
                   struct error *err);

#endif
