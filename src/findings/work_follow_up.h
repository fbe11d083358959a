/*
 * Following up what a campaign of many workers found, as leased work: no two workers reduce one finding at
 * the same time, and one that dies is followed by another.
 *
 * What comes of it does not hang on who was first. A finding is followed up from the case with the lowest
 * number, and only when all ranges before it were returned. Each one that was met in a range is followed up
 * by itself, also when another was reduced to it before. Of all that end in one signature the smallest keeps
 * its bundle, of equal ones the one from the lowest case. A finding is merged into the one that it was
 * reduced to, and what was merged into it goes along; of several that are reduced to each other the one from
 * the lowest case stands for all.
 *
 * Functions return 0, or -1 with an error when the database cannot be read or written.
 */
#ifndef FINDINGS_WORK_FOLLOW_UP_H
#define FINDINGS_WORK_FOLLOW_UP_H

#include "findings/work.h"

/* A finding that is to be followed up. */
struct work_finding {
    struct str signature, recipe, engine;
};
void work_finding_init(struct work_finding *finding);
void work_finding_release(struct work_finding *finding);

/*
 * Leases a finding for so many seconds. One that ended several workers is given up: its state becomes
 * STATE_FAILED.
 */
int work_follow_up(struct work *work, double seconds, struct work_finding *finding, bool *found,
                   struct error *err);

/* Renews a lease. *held is false when another has it. */
int work_follow_up_renew(struct work *work, const char *signature, double seconds, bool *held,
                         struct error *err);

/* Gives a lease up, so that the next who asks has it at once. */
int work_follow_up_back(struct work *work, const char *signature, struct error *err);

struct work_verdict {
    const char *engine, *verdict;
};

/* What came of following up a finding. */
struct work_outcome {
    const char *from; /* its signature */
    enum finding_state
        state; /* STATE_BUNDLED: see below; STATE_GONE; STATE_FAILED for a reason: the detail */
    const char *detail;
    /* The smaller case. Its signature may be another than `from`. */
    const struct finding *finding;
    const char *bundle;          /* path of its folder within the campaign's, */
    const struct folder *folder; /* which is open here; NULL: see work_wants_bundle */
    size_t n_history;            /* verdicts of other releases on it */
    const struct work_verdict *history;
};

/*
 * Ends a lease with what came of it, in one transaction. When another has it, nothing is written: what that
 * one will find is the same.
 */
int work_follow_up_done(struct work *work, const struct work_outcome *outcome, struct error *err);

/* Whether the bundle of a case that `from` was reduced to would be kept: none is smaller, or the finding is
 * not written up. Once that is false it stays so. */
int work_wants_bundle(struct work *work, const char *from, const struct finding *finding, bool *wanted,
                      struct error *err);

/* Whether a finding waits to be looked at, or somebody still does. */
int work_follow_ups_left(struct work *work, bool *left, struct error *err);

#endif
