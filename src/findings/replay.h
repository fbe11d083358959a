/*
 * Runs past findings again, for CI: bundles (findings/bundle.h) and other cases in ONNX's backend-test
 * layout. Each case gets one row for each engine.
 *
 * A bundle with a rewriting is run as the pair that it is about: the rewriting is applied to its model again.
 *
 * For a bundle the judge decides, by the reference's bounds. Where the reference cannot judge, and for cases
 * that are not bundles, the expected outputs of the case decide, unless the reference refutes them.
 */
#ifndef FINDINGS_REPLAY_H
#define FINDINGS_REPLAY_H

#include "conform/conform.h"
#include "findings/bundle.h"
#include "findings/known_issues.h"

enum replay_state {
    REPLAY_UNTESTED = 0, /* counts as trouble */
    REPLAY_AGREES,
    REPLAY_WRONG, /* still a finding: wrong, refused, crashed ... */
    REPLAY_KNOWN, /* still a finding, but of a known issue that the user accepts (findings/known_issues.h) */
    REPLAY_SKIPPED,     /* the engine cleanly says that it lacks something, or the answer is random */
    REPLAY_EXPECTATION, /* it is right, and the expected outputs are not those of the model */
    REPLAY_TROUBLE,     /* no engine, unreadable or invalid case, an answer that nobody can judge */
    REPLAY_STATES
};
const char *replay_state_name(enum replay_state state); /* "agrees", "still wrong" ... */

struct replay_row {
    const char *name, *folder;
    const char *title; /* of a bundle, else "" */
    const char *was;   /* the verdict when it was found; "" when the case is no bundle */
    const char *engine;
    enum replay_state state;
    const char *verdict; /* the verdict now */
    const char *text;    /* one line; may be "" */
    const char
        *refuted;      /* how the expected outputs differ from what the model gives, of REPLAY_EXPECTATION */
    const char *known; /* the document of the known issue that it is of; NULL: of none */
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

/* What the rows mean for the exit status. Skipped ones are no trouble as long as some case ran. */
void replay_stands(const struct replay *replay, struct standing *standing);

/*
 * Whether the case that the issue names was replayed and agrees on every engine, so that the issue is
 * outdated.
 */
bool replay_agrees_now(const struct replay *replay, const struct known_issue *issue);

#endif
