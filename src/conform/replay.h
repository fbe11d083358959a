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
    REPLAY_KNOWN,   /* the same, by an issue that the user accepts (findings/known_issues.h) */
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
    const char *known;   /* what the known issue is written up as; NULL: it is none */
    double seconds;
};

struct replay {
    struct arena arena;
    size_t count, capacity;
    struct replay_row *rows;
    size_t counts[REPLAY_STATES];
};
void replay_init(struct replay *replay);
void replay_release(struct replay *replay);

/* Rows are appended, case by case. */
int replay_run(struct replay *replay, const struct suite *suite, const struct panel *panel,
               const struct conform_options *options, struct error *err);

/* What the rows mean for the exit status. Skipped ones are well, as long as something ran. */
void replay_stands(const struct replay *replay, struct standing *standing);

/* Whether the case that the issue names was replayed and agrees on every engine: the issue is out of date. */
bool replay_agrees_now(const struct replay *replay, const struct known_issue *issue);

#endif
