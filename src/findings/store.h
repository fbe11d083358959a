/*
 * The store of a campaign: distinct findings, where they occurred, what every engine said, coverage over time
 * and where the campaign stands. One machine keeps it in DIR/assay.db (SQLite, WAL); many machines will share
 * a PostgreSQL database through this same interface.
 *
 * Every call is a transaction of its own: after a kill at any point the store holds all calls that returned,
 * and possibly the one under way. Running a range of cases again is harmless: a finding is identified by its
 * signature, an occurrence by signature, engine and recipe, and both are written once.
 *
 * Texts handed to visit functions live until the function returns. What is read from the file is checked for
 * nothing but its form: show it, never run it or take it for a path.
 */
#ifndef FINDINGS_STORE_H
#define FINDINGS_STORE_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
enum store_mode { STORE_READ, STORE_WRITE, STORE_CREATE }; /* CREATE: for writing, made when not there */

/* Fails unless a campaign may live in the folder: it is not there, empty, or a campaign's already. */
int store_check_folder(const char *folder, struct error *err);

/* folder: of the campaign; made when it is to be written. ERROR_NOT_FOUND when there is none to read. */
int store_open(struct store **store, const char *folder, enum store_mode mode, struct error *err);
void store_close(struct store *store);

/*
 * One occurrence of a finding: a verdict on one case. Texts are borrowed; NULL counts as "".
 *
 * Of the finding itself the first occurrence decides: kind, operators, title and so on are kept as they came
 * with it. store_settle changes them.
 */
struct finding {
    const char *signature; /* signature.text */
    const char *name;      /* signature.name; the bundle's folder is findings/NAME */
    const char *kind;      /* the verdict's word */
    const char *engine;    /* label, "onnxruntime@1.12.0:opt=all" */
    const char *version;   /* as the engine says */
    const char *operators; /* "Mul+MatMul" */
    const char *title;     /* one line for people */
    const char *recipe;    /* makes the case again */
    double factor;         /* times the hard bound; infinite or 0 where that says nothing */
    int64_t nodes;         /* of the case */
};

/* *is_new: nobody had this signature before. May be NULL. */
int store_add(struct store *store, const struct finding *finding, bool *is_new, struct error *err);

/* What became of a finding. */
enum finding_state {
    STATE_UNCHANGED = 0, /* for store_settle; read: one that only another version of this program knows */
    STATE_NEW,
    STATE_BUNDLED,
    STATE_FAILED, /* to be reduced or bundled; the detail says why */
    STATE_KNOWN,  /* and written up: the detail is the document */
    STATE_GONE,   /* it did not show in a fresh process */
    STATE_COUNT
};
const char *finding_state_word(enum finding_state state); /* "new", "bundled" ... */

/*
 * What came of reducing and bundling it: bundle is the folder's path within the campaign's. A member that is
 * zero leaves things as they are; detail belongs to the state, "" where it is NULL.
 */
struct settled {
    enum finding_state state;
    const char *detail, *bundle, *title, *recipe;
    int64_t nodes;
};
int store_settle(struct store *store, const char *signature, const struct settled *settled,
                 struct error *err);

/* Reduction showed that `signature` is the bug of `same_as`, which must be in the store (and not be merged
 * itself). Occurrences stay where they are and count for both. */
int store_merge(struct store *store, const char *signature, const char *same_as, struct error *err);

/* The verdict of one engine (label) on a finding's case: for "versions that show it and that do not". */
int store_history(struct store *store, const char *signature, const char *engine, const char *verdict,
                  struct error *err);

/* A finding as it is read. */
struct stored {
    const char *signature, *name, *kind, *engine /* of the first occurrence */, *version, *operators, *title;
    const char *recipe, *bundle, *same_as /* "" unless merged */;
    const char *status; /* the state as it is shown and stored: its word, and behind ": " the detail */
    enum finding_state state;
    const char *detail;
    double factor;
    int64_t nodes;
    int64_t count;                 /* occurrences on the engines asked for, those of merged ones included */
    int64_t first_seen, last_seen; /* seconds since 1970 */
};

/* The findings of a campaign, wherever they are counted or listed, are those of an empty filter.
 * NULL: any. engine matches labels and families of occurrences by prefix ("onnxruntime",
 * "onnxruntime@1.12.0"), op a member of operators, signature a text, a name or the start of a name. */
struct store_filter {
    const char *engine, *op, *kind, *signature;
    bool merged; /* those merged into others, too, each with its own occurrences */
    bool gone;   /* those that were not seen again, too (STATE_GONE) */
};

/* In the order in which they were first seen. A non-zero result of visit ends it and is returned. */
int store_list(struct store *store, const struct store_filter *filter,
               int (*visit)(void *context, const struct stored *stored, struct error *err), void *context,
               struct error *err);

/* The occurrences of one finding and of those merged into it, at most `limit` (0: all), oldest first. */
struct occurrence {
    const char *signature, *engine, *version, *recipe, *title;
    double factor;
    int64_t seen;
};
int store_occurrences(struct store *store, const char *signature, size_t limit,
                      int (*visit)(void *context, const struct occurrence *occurrence, struct error *err),
                      void *context, struct error *err);

int store_history_list(struct store *store, const char *signature,
                       int (*visit)(void *context, const char *engine, const char *verdict,
                                    struct error *err),
                       void *context, struct error *err);

/* Engines that took part; cases are added to what is there. */
int store_engine(struct store *store, const char *label, const char *version, int64_t cases,
                 struct error *err);
struct stored_engine {
    const char *label, *version;
    int64_t cases, first_seen, last_seen;
};
int store_engines(struct store *store,
                  int (*visit)(void *context, const struct stored_engine *engine, struct error *err),
                  void *context, struct error *err);

/* Coverage over time: one number of one name after so many cases and seconds of campaign. */
struct coverage_point {
    const char *name;
    int64_t cases;
    double seconds, value;
};
int store_coverage(struct store *store, const struct coverage_point *point, struct error *err);
int store_coverage_list(struct store *store, const char *name,
                        int (*visit)(void *context, const struct coverage_point *point, struct error *err),
                        void *context, struct error *err);

/* State by key, for resuming. store_get gives false in *found, and *value empty, where there is none. */
int store_set(struct store *store, const char *key, const char *value, struct error *err);
int store_get(struct store *store, const char *key, struct str *value, bool *found, struct error *err);

/*
 * Ranges of case indices, leased to workers. A lease that was not renewed or finished in time goes to the
 * next who asks. snapshot: what the range starts from (search tree, coverage).
 */
struct store_range {
    int64_t first, count;
};
int store_range_add(struct store *store, const struct store_range *range, const char *snapshot,
                    struct error *err);

/* *found false: nothing is left to do now. */
int store_range_lease(struct store *store, const char *owner, double seconds, struct store_range *range,
                      struct str *snapshot, bool *found, struct error *err);

/* Only the owner of the lease can renew or finish it: *held tells. */
int store_range_renew(struct store *store, int64_t first, const char *owner, double seconds, bool *held,
                      struct error *err);
int store_range_done(struct store *store, int64_t first, const char *owner, bool *held, struct error *err);

#endif
