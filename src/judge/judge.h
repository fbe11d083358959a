/*
 * Gives each engine a verdict on a case, from the engines' outcomes and outputs and the reference's values
 * with bounds.
 *
 * With a reference, only the hard bound decides what is wrong. Without one (it lacks an operator) the engines
 * vote: answers that are alike by the published tolerance count together. No engine is then called wrong,
 * only suspect, and the verdict says that it was a vote; a single answer is undecided. An engine that
 * crashes, hangs or refuses is judged by that, whatever the reference knows.
 *
 * A refusal is a finding only when the reference can compute the case, ONNX specifies everything in it, and
 * the engine could be expected to run it. When one setting of a release runs a case, another setting that
 * selects the same kernels (engine/knobs.h) may not call it unsupported; that is judged as a refusal.
 * Settings that select different kernels say nothing about each other. All this uses the outcomes alone. The
 * engine may lack an operator all the same, one that an optimiser removed in the other setting. Only asking
 * the engine can tell, which locate/refusal.h does; every refusal must pass through there before it is
 * reported.
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "engine/pool.h"
#include "judge/verdict.h"

/* One engine's part of a case. */
struct judge_entry {
    const char *name;    /* name of the library, "onnxruntime" */
    const char *version; /* may be NULL */
    const char *kernels; /* the knobs that select its kernels; NULL: not known */
    const struct result *result;
    bool repeats_differ; /* a repeated run gave different bytes */
    bool adapter_reads;  /* the library does not see the model (engine/profile.h) */
    const char *like;    /* the library that it is a build of; NULL: `name` is the library */
};
struct judge_entry judge_entry_of(const struct engine_info *engine, const struct result *result,
                                  bool repeats_differ);

struct judgement {
    bool by_reference;
    bool invalid;              /* the reference calls the model or its inputs invalid */
    char reason[VERDICT_TEXT]; /* why the reference did not judge; "" when it did */
    size_t count;              /* number of verdicts, one for each entry */
    struct verdict *verdicts;
    int culprit; /* the entry to blame; -1: none, or several */
};

/*
 * Judges a case. `reference` is the reference engine's result with bounds, or NULL when it was not asked.
 * Release the judgement with judgement_release.
 */
void judge_case(struct judgement *judgement, const struct result *reference,
                const struct judge_entry *entries, size_t count);

/*
 * Whether the reference's bounds are narrow (struct job) and some answer is not inside of them: then it must
 * be asked for those of all algorithms, and the case judged again. Whoever is inside of the narrow bounds is
 * inside of the others, and what cannot be judged by them cannot be by the others.
 */
bool judge_needs_wider(const struct judgement *judgement, const struct result *reference);

/*
 * Judges a case that ONNX forbids (test_case.forbidden), after judge_case: there is no right answer to it. An
 * engine that refuses it, with whatever error, is right. One that answers has accepted it, which is a finding
 * only if `certain` (libonnx forbids the model) and the library reads the model itself; else it is open. How
 * a process ended was judged before, and lacking something stays what it is.
 */
void judge_forbidden(struct judgement *judgement, const struct judge_entry *entries, bool certain,
                     const char *why);

/* Finds the culprit again, after verdicts were changed by settling. */
void judge_blame(struct judgement *judgement);
void judgement_release(struct judgement *judgement);

#endif
