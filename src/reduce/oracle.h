/*
 * Does a smaller case still show the same failure?
 *
 * A candidate is evaluated by the reference first, in this process: one that is invalid, or that ONNX's
 * checker refuses, never reaches the engine. The newest libonnx that tools/fetch-root brought is asked, else
 * that of this system. When the case itself is refused, candidates may be refused in the same words; when no
 * libonnx here knows its opset, they must be made of nothing but what the case is made of (subject_is_part).
 * The engine's answer is judged as anywhere else, by the hard bound; what is found is settled, so that the
 * signature tells whether it is the same failure: the same symptom and message, the same operators to blame
 * or fewer of them. Of a refusal in words these must be the same, and who is to blame is only asked in the
 * end (oracle_confirm): that takes a run for every part.
 *
 * Several candidates are under way; of those that hold the first in the order given is taken, so the result
 * does not depend on who answers sooner. Crashes and hangs on the way are answers like any other.
 */
#ifndef REDUCE_ORACLE_H
#define REDUCE_ORACLE_H

#include "engine/runner.h"
#include "findings/signature.h"
#include "reduce/subject.h"

enum { WORDS_LIMIT = 256 };

struct oracle {
    struct pool *pool;
    int engine;
    int companion;     /* another setting of the release with its kernels, run too when not -1: see judge.h */
    const char *label; /* of the engine */
    double deadline;   /* for each request; 0: from how long the case itself takes, see oracle_start */
    int64_t end_ns;    /* clock: no new candidates after it; 0: none */
    size_t ahead;      /* candidates under way; 0: 8 */

    struct panel panel; /* of the pool, for the runner; both made by oracle_start */
    struct runner *runner;
    struct signature keep; /* of the best so far */
    struct verdict verdict;
    char text[320]; /* what is wrong, one line */
    size_t *blamed; /* its nodes */
    size_t n_blamed;
    bool by_companion;      /* the reference lacks an operator: what the companion answers, the engine may not
                               refuse */
    enum types types;       /* what the failure needs the model to say */
    struct checker checker; /* a newer libonnx; all zeros: there is none */
    bool starting;          /* the case itself is under way: whatever is said against it is noted */
    unsigned doubts;        /* what there is to say against the case itself */
    char words[WORDS_LIMIT]; /* in which libonnx refuses it */
    struct subject origin;   /* the case itself, when no libonnx knows its opset */

    struct refusals *refusals; /* what the engine was asked about refusals */
    uint64_t *seen;            /* hashes of candidates that did not hold */
    size_t n_seen, seen_capacity;
    size_t made, invalid, runs, held;
};

/*
 * Where the reference lacks an operator only refusals and deaths can be kept, and the companion's answer
 * takes its place: what one setting of a release runs, another with the same kernels may not refuse.
 *
 * The failure of the subject itself becomes what is kept; its outputs get their types. Candidates are no
 * larger than it, so they get a deadline of twenty times what it took, at least 2 s; where it hangs, 1 s
 * (what is found then must be confirmed). Fails with ERROR_NOT_FOUND when there is none, ERROR_UNSUPPORTED
 * when the reference cannot evaluate it. `engine_record` gets the values the engine itself had, where it
 * shows them.
 */
int oracle_start(struct oracle *oracle, struct subject *subject, struct error *err);
void oracle_release(struct oracle *oracle);

/* Whether the subject shows what is kept under the pool's own deadline, not the shorter one of the search;
 * who is to blame is then known. */
bool oracle_confirm(struct oracle *oracle, const struct subject *subject);

/* Makes candidate `number`: 0, or 1 when there is no such candidate. */
typedef int (*oracle_make)(void *context, size_t number, struct subject *candidate);

/*
 * The first candidate from number `from` on that holds: its number, and *found is its subject; `count` when
 * none does; -1 when time is up or the pool fails.
 */
long oracle_search(struct oracle *oracle, size_t from, size_t count, oracle_make make, void *context,
                   struct subject *found);

/* The values of the subject's nodes as an engine of the pool has them when it shows them all; where it shows
 * none, the record stays as it is. */
void oracle_record(const struct oracle *oracle, int engine, const struct subject *subject,
                   struct record *record);

#endif
