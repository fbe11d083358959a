/*
 * A trial runs one case on several engines and the reference, judges it, and settles it where needed.
 *
 * Cases are submitted as fast as they are made; up to `ahead` of them are under way (engine/runner.h). Each
 * comes back exactly once, with its judgement. A case crashes an engine only when it does so in three runs;
 * other crashes are only counted (trials_strays). The reference is asked unless all engines report that they
 * do not support the case.
 *
 * A rewritten case (test->equivalence) needs the answers to its original as well. The original is run unseen,
 * once for all its rewritten forms that are submitted near each other, and the two answers of each engine are
 * held against each other (judge/pair.h). The rewritten case runs in its own way: with other knobs, in new
 * processes, twice, or from a file.
 */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

#include "case/test_case.h"
#include "engine/runner.h"
#include "engine/registry.h"
#include "judge/judge.h"
#include "locate/settle.h"

struct trial_options {
    const struct panel *panel; /* must outlive the trials */
    /* Cases run on the panel's fresh workers, where it has any. When a model is refused with a message, its
     * parts are still tried on the shared workers, because that takes many runs. */
    bool fresh;
    size_t ahead;  /* cases under way; 0: 32 */
    int repeat;    /* further runs of each case, to find nondeterminism */
    bool memcheck; /* of an answer that follows what memory held, ask valgrind's memcheck, too */
    bool trace;    /* ask engines what they do (result.trace), which takes time */
    /* Settle wrong and suspect verdicts, and find the part of a graph that is refused alone. */
    bool settle;
    /*
     * The reference is asked for narrow bounds first (struct job), and for those of all algorithms only where
     * an answer does not agree with these: who is inside of the narrow bounds is inside of the others. Then
     * the bounds of an answer on which all agree may be narrower than those by which it could be called
     * wrong.
     */
    bool narrow;
    /* For rewritten cases that need engines in other settings, which are added to the panel's pool. NULL: on
     * such cases the verdict is unsupported. */
    struct registry *registry;
    const struct metrics_tolerance *tolerance; /* of pairs that the reference does not judge; NULL: pair.h */
};

struct origin;

/* One finished case. The caller owns it and releases it with trial_done_release. */
struct trial_done {
    struct test_case *test;
    struct result reference;
    bool asked;              /* the reference was asked */
    bool reference_borrowed; /* it is that of the original, which has the same model and inputs */
    struct result *results;  /* one for each engine of the panel */
    struct judgement judgement;
    struct settlement *settlements; /* one for each engine; its kind is untested where nothing was settled */
    bool *repeats_differ;           /* one for each engine: a repeated run gave other bytes */
    size_t n_engines;
    const struct engine_info **engines; /* each engine in the setting in which it ran the case */
    void *user;
    /*
     * Of a rewritten case, one for each engine; else NULL. When a pair is a finding or suspect, and neither
     * of the two forms is so by itself, the verdict of the pair stands in `judgement` (of_pair), and the
     * settlement names the node of the original at which the rule was applied, where there is one.
     */
    struct verdict *pairs;
    const struct trial_done *original;   /* the original, judged and settled by itself; NULL: not rewritten */
    const struct result *origin_results; /* its results and verdicts */
    const struct verdict *origin_verdicts;
    /* An engine or the reference hung, was killed, or did not start while the case was run, judged or
     * settled: on a machine that has too much to do it may come out otherwise the next time. */
    bool mishap;
    bool bad_rewriting;    /* the reference contradicts itself: the rule at hand is wrong */
    struct origin *origin; /* owns the original */
};
void trial_done_release(struct trial_done *done);

/* What the verdict on an engine is about, and the nodes of its settlement are in: the case, or its original
 * where the verdict is that of the pair. */
const struct test_case *trial_done_subject(const struct trial_done *done, size_t engine);

struct trials;
struct trials *trials_new(const struct trial_options *options);
void trials_free(struct trials *trials);

/* Submits a case and takes over the caller's share of it, also after a failure. Fails when the model's bytes
 * cannot be had. Call only while trials_room is true. */
int trials_submit(struct trials *trials, struct test_case *test, void *user, struct error *err);
bool trials_room(const struct trials *trials);
size_t trials_pending(const struct trials *trials);
size_t trials_strays(const struct trials *trials); /* crashes that did not happen again */

/* Waits for the next finished case. Returns 1 with *done, 0 when none is under way, -1 when polling fails. */
int trials_next(struct trials *trials, struct trial_done *done, struct error *err);

/* Where cases come from, and what becomes of finished ones. */
struct trial_source {
    void *context;
    /* Makes the next case. Returns 1 with *test, which the trials take over (NULL: no case this time, ask
     * again), and *user; 0 when there are no more; -1 when it fails. */
    int (*make)(void *context, struct test_case **test, void **user, struct error *err);
    /* Takes a finished case and releases it. Returns 0, or -1 to end with that error. */
    int (*take)(void *context, struct trial_done *done, struct error *err);
};

/* Runs all cases of a source, as many at a time as there is room for. After a failure some may still be under
 * way. */
int trials_run(struct trials *trials, const struct trial_source *source, struct error *err);

/* Judges the answers to a case, one that ONNX forbids (test_case.forbidden) among them: judge_case, and then
 * judge_forbidden. */
void trial_judge(struct judgement *judgement, const struct test_case *test, const struct result *reference,
                 const struct judge_entry *entries, size_t count);

#endif
