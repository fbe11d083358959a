/*
 * Outcomes and outputs of several engines, and the reference's values with bounds, to a verdict for each
 * engine.
 *
 * With a reference, wrong is decided by the hard bound alone. Without one (an operator it lacks) the engines
 * vote with the published tolerance; then nobody is called wrong, only suspect, and the verdict says so; a
 * single answer is undecided. An
 * engine that crashes, hangs or refuses is judged by that, whatever the reference knows.
 *
 * A refusal is a finding only when the reference can compute the case, nothing in it is open, and the engine
 * could be expected to run it. What one setting of a release runs, another setting of it that selects the
 * same kernels (engine/knobs.h) may not call unsupported: that is a refusal. Settings that select other
 * kernels say nothing about each other. This is by the outcomes alone: whether an engine that refuses lacks
 * an operator all the same, which an optimiser removed in the other setting or did not get to, takes asking
 * it: locate/refusal.h, through which every refusal must go before it is told to anybody.
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "engine/pool.h"
#include "judge/verdict.h"

/* One engine's part of a case. */
struct judge_entry {
    const char *name;    /* of the library, "onnxruntime" */
    const char *version; /* may be NULL */
    const char *kernels; /* the settings that select them, or NULL: not known */
    const struct result *result;
    bool repeats_differ;
};
struct judge_entry judge_entry_of(const struct engine_info *engine, const struct result *result,
                                  bool repeats_differ);

struct judgement {
    bool by_reference;
    bool invalid;     /* the reference calls the model or its inputs invalid */
    char reason[200]; /* why there is no reference, when there is none */
    size_t count;     /* verdicts: one an entry */
    struct verdict *verdicts;
    int culprit; /* the entry to blame, or -1: nobody, or several */
};

/*
 * reference: the reference engine's result with bounds, or NULL. names: output names for the texts, may be
 * NULL. The judgement is released by judgement_release.
 */
void judge_case(struct judgement *judgement, const struct result *reference,
                const struct judge_entry *entries, size_t count);
/* The culprit anew, after verdicts were settled. */
void judge_blame(struct judgement *judgement);
void judgement_release(struct judgement *judgement);

#endif
