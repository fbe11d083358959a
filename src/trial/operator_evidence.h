/*
 * What is known of the operators of a model on one engine, over the samples on which they were checked
 * (locate/operator_check.h): how many samples, which operators could not be judged and why, which of them
 * would hide the largest error, and what no sample exercised.
 */
#ifndef TRIAL_OPERATOR_EVIDENCE_H
#define TRIAL_OPERATOR_EVIDENCE_H

#include "base/str.h"
#include "locate/operator_check.h"

struct node_evidence {
    const char *operator, * name;
    size_t judged;         /* samples on which it was judged */
    size_t elements, left; /* of its outputs on one sample, and those that were not judged, at most */
    size_t vague;          /* ... and those in which an error of the result's own size would have passed */
    bool lowered;          /* computed in fewer bits than its type has */
    bool borrowed;         /* from the reference: it is not the engine's own */
    const char *why;       /* why not, on the first of the others; NULL: there are none */
    double error, visible; /* the largest over the samples (struct verdict) */
    struct exercise exercise;
};

/* All strings and lists are in the arena given to operator_evidence_add. */
struct operator_evidence {
    size_t samples;  /* on which operators were checked */
    size_t complete; /* those of them on which every operator was judged */
    size_t most;     /* operators judged on one sample, at most */
    size_t n_nodes;
    struct node_evidence *nodes; /* by number; NULL: no sample was checked */
    const char *lowering;        /* what is computed in fewer bits how; NULL: nothing */
    size_t failed;               /* samples on which the check could not be made */
    const char *failure;         /* why, on the first of them */
    /* The engine is wrong on some sample. What that sample exercised is not known, as the check of a sample
     * stops at the first fault. */
    bool wrong;
};

void operator_evidence_add(struct operator_evidence *evidence, struct arena *arena, const struct model *model,
                           const struct operator_check *check);
void operator_evidence_fail(struct operator_evidence *evidence, struct arena *arena, const char *why);

/* An operator of which some elements could not be judged; NULL: none. */
const struct node_evidence *operator_evidence_partial(const struct operator_evidence *evidence);

/* The first operator that was judged on no sample; NULL: each was on some. */
const struct node_evidence *operator_evidence_unjudged(const struct operator_evidence *evidence);

/* The operator in which the largest error would have passed, of those without vague elements; NULL: there is
 * none. */
const struct node_evidence *operator_evidence_weakest(const struct operator_evidence *evidence);

/* The first operator with vague elements, and how many have such; NULL: none has. */
const struct node_evidence *operator_evidence_vague(const struct operator_evidence *evidence, size_t *count);

/* Appends the operators that were borrowed: "Softmax sm and Gelu g"; the first few of many. */
void operator_evidence_borrowed(const struct operator_evidence *evidence, struct str *out);

/* The same of those that are computed in fewer bits: "MatMul q, MatMul k and 12 more: " and what is done;
 * only the latter where the whole answer told of it. */
void operator_evidence_lowered(const struct operator_evidence *evidence, struct str *out);

/* The largest error seen in any operator. */
double operator_evidence_error(const struct operator_evidence *evidence);

/* What no sample exercised of the node with that number, as in exercise_missing; NULL: nothing, or an engine
 * that is wrong may have been exercised there. */
const char *operator_evidence_missing(const struct operator_evidence *evidence, size_t number);

/* Appends what no sample exercised, in words: "If choose: its else branch was not taken; Relu r: ..."; the
 * first few of many. Nothing when there is nothing. */
void operator_evidence_idle(const struct operator_evidence *evidence, struct str *out);

#endif
