/*
 * Past findings run again: a corpus of bundles (findings/bundle.h) and of backend tests against engines, for
 * CI. Each case gets one row for each engine.
 *
 * Of a bundle the judge's word decides, by the reference's bounds; where the reference cannot judge, and for
 * cases that are no bundles, the answer that the case brings.
 */
#ifndef CONFORM_REPLAY_H
#define CONFORM_REPLAY_H

#include "conform/conform.h"
#include "findings/bundle.h"

enum replay_state {
    REPLAY_UNTESTED = 0, /* counts as trouble */
    REPLAY_AGREES,
    REPLAY_WRONG,   /* wrong, refused, dead: still a finding */
    REPLAY_KNOWN,   /* the same, and known to be: replay_known */
    REPLAY_SKIPPED, /* the engine says cleanly that it lacks this, or the answer is random */
    REPLAY_TROUBLE, /* no engine, unreadable or invalid case, an answer that nobody can judge */
    REPLAY_STATES
};
const char *replay_state_name(enum replay_state state); /* "agrees", "still wrong" ... */

struct replay_row {
    const char *name, *folder;
    const char *title; /* of a bundle, else "" */
    const char *was;   /* the verdict's word when it was found, else "" */
    const char *engine;
    enum replay_state state;
    const char *verdict; /* the word now */
    const char *text;    /* one line; may be "" */
    double seconds;
};

struct replay {
    struct arena arena;
    size_t count, capacity;
    struct replay_row *rows;
    size_t counts[REPLAY_STATES];
    size_t n_known;
    struct replay_name *known; /* NULL: no list was given */
};

/* A case that is known to be wrong still. */
struct replay_name {
    const char *name;
    bool wrong, agrees; /* on some engine */
};
void replay_init(struct replay *replay);
void replay_release(struct replay *replay);

/* Rows are appended, case by case. */
int replay_run(struct replay *replay, const struct suite *suite, const struct panel *panel,
               const struct conform_options *options, struct error *err);

/* What the rows mean for the exit status. Skipped ones are well, as long as something ran. */
void replay_stands(const struct replay *replay, struct standing *standing);

/*
 * Rows that are wrong and whose cases stand in the file, one name a line ('#' starts a comment), become
 * known; what the list says of each name is in replay->known. Called once, after the last run.
 */
int replay_known(struct replay *replay, const char *path, struct error *err);

#endif
