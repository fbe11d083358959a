/*
 * Decides whether a smaller case, a candidate, still shows the same failure.
 *
 * The reference first evaluates a candidate, in this process. A candidate that is invalid, or that ONNX's
 * checker refuses, never reaches the engine. The checker is that of the newest libonnx that tools/fetch-root
 * brought, else of the system's. When the checker refuses the original case, it may refuse candidates with
 * the same message; when no libonnx here knows the opset, candidates must consist only of things that are in
 * the original case (subject_is_part).
 *
 * The engine's answer is judged as everywhere else, by the hard bound, and settled. The signature then tells
 * whether it is the same failure: the same symptom and message, and the same operators to blame or fewer. For
 * a refusal with a message only the messages are compared; the nodes to blame are found at the end
 * (oracle_confirm), because that takes a run for every part.
 *
 * A case that ONNX forbids (search/forbidden.h) is reduced to a smaller one that is forbidden for the same
 * reason, in the same words and as certainly. The reference cannot evaluate it: values behind the node that
 * breaks the rule are not known, and the engine's answer is judged as one to a forbidden model.
 *
 * A rewritten case is reduced as its original: the rewriting is applied to every candidate anew, and a
 * candidate to which it does not apply does not hold. Both forms are run by trials (trial/trial.h), which
 * judge the pair.
 *
 * Several candidates are under way at once. Of those that hold, the first in the given order is taken, so
 * that the result does not depend on which one is answered first. Crashes and hangs are results like any
 * other.
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
    int companion; /* another setting of the same release and kernels that is run as well (judge.h); -1: none
                    */
    const char *label; /* of the engine */
    double deadline; /* for each request; 0: derived from how long the case itself takes, see oracle_start */
    int64_t end_ns;  /* time after which no new candidates are tried; 0: no limit */
    size_t most;     /* candidates that are made; 0: no limit */
    size_t ahead;    /* candidates under way; 0: 8 */
    void (*alive)(void *context); /* called between runs of the engine; may be NULL */
    void *context;

    /* Of a rewritten case: what is applied to every candidate, as heap text, or NULL. The trials have the
     * engine as their first; the caller makes them and oracle_release frees them. */
    char *rewriting;
    struct trials *trials;
    struct flight *first, *last; /* their candidates under way */

    /* Of a case that ONNX forbids: by whom, and the node that breaks the rule, borrowed; NULL: not known. */
    enum forbidden_by forbidden;
    const char *forbidden_node;

    /* Of a case that asks for gradients: with this seed, of every candidate. */
    bool gradient;
    uint64_t gradient_seed;

    struct panel panel; /* of the pool, for the runner; both made by oracle_start */
    struct runner *runner;
    struct signature keep;   /* signature of the smallest case so far */
    struct verdict verdict;  /* the verdict on it */
    char text[VERDICT_LINE]; /* what is wrong with it, one line */
    size_t *blamed;          /* its nodes to blame */
    size_t n_blamed;
    bool by_companion;       /* the reference lacks an operator: the engine may not refuse what the companion
                                answers */
    enum types types;        /* which types and shapes the model must declare for the failure to show */
    struct checker checker;  /* the checker of a newer libonnx; zeroed: there is none */
    bool starting;           /* the case itself is being run: doubts about it are recorded, not refused */
    unsigned doubts;         /* doubts about the case itself (DOUBT_...) */
    char words[WORDS_LIMIT]; /* the message with which libonnx, or who forbids it, refuses it */
    struct subject origin;   /* the case itself, when no libonnx knows its opset */

    struct refusals *refusals; /* what the engine answered about refusals */
    uint64_t *seen;            /* hashes of candidates that did not hold */
    size_t n_seen, seen_capacity;
    size_t made, invalid, runs, held;
};

/*
 * Runs the subject itself; its failure becomes the one to keep, and its outputs get their types.
 *
 * Candidates are no larger than the subject, so their deadline is twenty times the time it took, at least 2
 * s; when the subject hangs it is 1 s, and the result must be confirmed (oracle_confirm). Where the reference
 * lacks an operator, only refusals and crashes can be kept, and the companion's answer replaces the
 * reference's: what one setting of a release runs, another with the same kernels may not refuse. Fails with
 * ERROR_NOT_FOUND when there is no failure, ERROR_UNSUPPORTED when the reference cannot evaluate the subject.
 */
int oracle_start(struct oracle *oracle, struct subject *subject, struct error *err);
void oracle_release(struct oracle *oracle);

/* Whether the subject shows the failure also with the pool's own deadline instead of the shorter one of the
 * search. Afterwards `blamed` is known. */
bool oracle_confirm(struct oracle *oracle, const struct subject *subject);

/* Leaves out steps of the rewriting that the failure does not need. */
void oracle_shorten(struct oracle *oracle, const struct subject *subject);

/* Makes candidate `number`. Returns 0, or 1 when there is no such candidate. */
typedef int (*oracle_make)(void *context, size_t number, struct subject *candidate);

/*
 * Finds the first candidate, from number `from` on, that shows the failure. Returns its number, with its
 * subject in *found; `count` when there is none; -1 when time is up or the pool fails.
 */
long oracle_search(struct oracle *oracle, size_t from, size_t count, oracle_make make, void *context,
                   struct subject *found);

/* Adds the values that an engine of the pool computes for the subject's nodes, with all of them exposed. When
 * the engine does not show them, the record stays as it is. */
void oracle_record(const struct oracle *oracle, int engine, const struct subject *subject,
                   struct record *record);

#endif
